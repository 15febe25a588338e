"""What a client of the service gets: results beside those of the library, and the error of a request that failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from retrivex.errors import RetrivexError, quoted

T = TypeVar("T")


@dataclass(eq=False)
class ServiceError(RetrivexError):
    """The service refused a request, failed, could not be reached, or gave something that is no answer of it.

    Parameters
    ----------
    message : what happened, the rule and the way out
    status : of HTTP; None where no answer came
    kind : of the problem, e.g. `limit` of `urn:retrivex:problem:limit`; None where the answer was no problem document
    title : of every problem of the kind
    detail : the value, the rule and the way out, in the words of the service
    request_id : under which the log of the service has it
    retry_after_s : seconds after which asking again may help; None where the service does not say
    """

    message: str
    status: int | None = None
    kind: str | None = None
    title: str | None = None
    detail: str | None = None
    request_id: str | None = None
    retry_after_s: float | None = None

    def __post_init__(self) -> None:
        super().__init__(self.message)


@dataclass(frozen=True, slots=True)
class Item(Generic[T]):
    """What became of one request of a batch: its answer, or the error that belongs to it."""

    answer: T | None
    error: ServiceError | None

    def unwrap(self) -> T:
        """Return the answer, or raise the error."""
        if self.answer is None:
            raise self.error or RetrivexError("the item is empty: it has neither an answer nor an error")
        return self.answer


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a citation points to.

    Parameters
    ----------
    doc_id, title : of the document
    characters : of the whole document; None in a vector store, which knows no documents
    char_start, char_end : offsets in it, end exclusive; None where the citation has none
    page : on which it begins, as far as known
    text : that is cited
    before, after : what stands around it
    """

    doc_id: str
    title: str | None
    characters: int | None
    char_start: int | None
    char_end: int | None
    page: int | None
    text: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Added:
    """What became of a document of an upload.

    Parameters
    ----------
    doc_id : its name in the index
    result : `added`, `updated` or `unchanged`
    chunks, tokens : that were written
    """

    doc_id: str
    result: Literal["added", "updated", "unchanged"]
    chunks: int
    tokens: int


@dataclass(frozen=True, slots=True)
class ListedIndex:
    """An index that questions go to.

    Parameters
    ----------
    name : that requests name it by
    keeps_documents : whether it lists its documents and reads them as a whole: a collection of a vector store does not
    read_only : whether it takes no documents
    """

    name: str
    keeps_documents: bool
    read_only: bool


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """A document of an index, without its text.

    Parameters
    ----------
    doc_id : its name
    title, format, scope : as far as known
    timestamp : Unix seconds
    characters, chunks : how many it has
    """

    doc_id: str
    title: str | None
    format: str
    scope: str | None
    timestamp: float | None
    characters: int
    chunks: int


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """A page of a list of documents.

    Parameters
    ----------
    documents : by name
    next : the `after` of the next page; None on the last one
    """

    documents: tuple[ListedDocument, ...]
    next: str | None


def error_of(problem: Mapping[str, Any], who: str, *, retry_after_s: float | None = None) -> ServiceError:
    """Return the error that a problem document says.

    Parameters
    ----------
    problem : by RFC 9457
    who : answered
    retry_after_s : as the answer's header says

    Raises
    ------
    TypeError
        If it is no problem document.

    Examples
    --------
    >>> problem = {"type": "urn:retrivex:problem:limit", "title": "Too much", "status": 422, "detail": "k is 5,000"}
    >>> print(error_of(problem, "the service"))
    the service answered with status 422 (limit): k is 5,000
    """
    status, detail = problem["status"], problem["detail"]
    if not isinstance(status, int) or not isinstance(detail, str):
        raise TypeError(f"status {status!r} and detail {quoted(detail)} are no problem document")
    kind, request_id = str(problem.get("type")).rpartition(":")[2], problem.get("request_id")
    known = f"; request {request_id}" if request_id else ""
    return ServiceError(
        f"{who} answered with status {status} ({kind}{known}): {detail}",
        status=status,
        kind=kind,
        title=problem.get("title"),
        detail=detail,
        request_id=request_id,
        retry_after_s=retry_after_s,
    )
