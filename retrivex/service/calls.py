"""The operations of the service as a client calls them: what is sent, and how the answer is read.

Nothing here sends anything: `client.py` does, in a thread or in an event loop.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypedDict, TypeVar, Unpack

from retrivex.composition.composition import Citation, Composition
from retrivex.errors import HitError, LoadError, RetrivexError, quoted
from retrivex.model.chunk import Chunk, Scope
from retrivex.model.hit import SeedHit
from retrivex.model.serialization import chunk_to_dict
from retrivex.prompts.apis import Api
from retrivex.reorder.diagnostics import DroppedPassage, ReorderDiagnostics
from retrivex.reorder.presets import PresetName
from retrivex.retrieval.local import RetrievalMode
from retrivex.service.answers import (
    Added,
    Deduplicated,
    DocumentPage,
    Item,
    ListedDocument,
    ListedIndex,
    Reordered,
    Resolved,
    StreamedSpan,
    WrittenPrompt,
    error_of,
)
from retrivex.similarity.deduplicate import CompareWith, Duplicate, Keep

T = TypeVar("T")
Options: TypeAlias = Mapping[str, Any]
Hits: TypeAlias = Sequence[SeedHit | Mapping[str, Any]] | Sequence[Sequence[SeedHit | Mapping[str, Any]]]

_DOCUMENTS = "/v1/documents"
_POSITION = "position in the request"
_ANY_REFUSAL = frozenset((429, 503))
_REFUSED_BEFORE = frozenset((429,))
"""Statuses after which nothing was done for sure: a write that took too long may still end well."""


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request, and how its answer is read.

    Parameters
    ----------
    method, path : of the request
    read : makes the result of the JSON that comes back
    body : that is sent as JSON
    parameters : in the address
    form : fields of a form
    file : of a form: its name and its bytes
    streams : whether events come back, which `read` gets as they are
    repeated_after : statuses after which it may be sent again, where the service says when
    """

    method: str
    path: str
    read: Callable[[Any], T]
    body: Mapping[str, Any] | None = None
    parameters: Mapping[str, Any] | None = None
    form: Mapping[str, str] | None = None
    file: tuple[str, bytes] | None = None
    streams: bool = False
    repeated_after: frozenset[int] = _ANY_REFUSAL

    def content(self) -> bytes | None:
        """Return the body as JSON.

        Raises
        ------
        RetrivexError
            If JSON has no form for it.
        """
        try:
            return None if self.body is None else json.dumps(self.body, allow_nan=False).encode()
        except (ValueError, TypeError, RecursionError) as error:
            raise RetrivexError(
                f"the request cannot be written as JSON: {error}; give plain types, and finite numbers"
            ) from error


class Asked(TypedDict, total=False):
    """What a question may come with; what is left out, the service decides.

    Parameters
    ----------
    index : its name; left out, the one called `default`
    k : hits to start from
    mode : by words (`bm25`), by meaning (`dense`), both (`hybrid`), or `auto`
    scope : narrows what the key may see; None in a collection stands for what has no scope
    where : field to value, list of values, or `{"min": ..., "max": ...}`
    config : options of `RetrievalConfig` for this question
    """

    index: str | None
    k: int | None
    mode: RetrievalMode | None
    scope: Scope
    where: Mapping[str, Any] | None
    config: Options | None


def _given(**fields: Any) -> dict[str, Any]:
    """Return the fields that are given: what the others are, the service decides."""
    return {name: value for name, value in fields.items() if value is not None}


def _scope(scope: Scope) -> str | list[str | None] | None:
    return scope if scope is None or isinstance(scope, str) else list(scope)


# ---- contexts


def query(question: str, *, trace: bool = False, **asked: Unpack[Asked]) -> Call[Composition]:
    """Return the context for a question to an index.

    Parameters
    ----------
    question : in the asker's own words
    trace : whether the composition comes with its trace
    **asked : see `Asked`: index, k, mode, scope, where, config

    Raises
    ------
    ServiceError
        If there is no such index, an option is wrong, or the service does not answer.
    """
    fields = _given(**{**asked, "scope": _scope(asked.get("scope"))}, trace=trace or None)
    return Call("POST", "/v1/query", Composition.from_dict, {"question": question, **fields})


def stream(question: str, **asked: Unpack[Asked]) -> Call[list[StreamedSpan | Composition]]:
    """Return the passages of the context for a question, one after the other, and at last the composition."""
    body = {**(query(question, **asked).body or {}), "stream": True}
    return Call("POST", "/v1/query", _read_events, body, streams=True)


def _read_events(content: bytes) -> list[StreamedSpan | Composition]:
    """Return what server-sent events hold.

    Lines end in a line feed alone: texts hold other characters that Python takes for the end of a line.
    """
    *events, rest = content.split(b"\n\n")
    fields = [dict(line.split(b": ", 1) for line in event.split(b"\n")) for event in events]
    if rest or not fields or fields[-1][b"event"] != b"composition":
        raise ValueError("it broke off before the composition")
    *spans, composition = (json.loads(event[b"data"]) for event in fields)
    return [*map(_read_span, spans), Composition.from_dict(composition)]


def _read_span(record: Mapping[str, Any]) -> StreamedSpan:
    citations = (Citation(**{**one, "heading_path": tuple(one["heading_path"])}) for one in record["citations"])
    return StreamedSpan(record["number"], record["doc_id"], record["text"], tuple(citations))


def compose(
    hits: Hits,
    chunks: Iterable[Chunk | Mapping[str, Any]] = (),
    *,
    question: str | None = None,
    parents: Mapping[str, Chunk | str] | None = None,
    query_embedding: Iterable[float] | None = None,
    scope: Scope = None,
    config: Options | None = None,
) -> Call[Composition]:
    """Return the context that hits make.

    Parameters
    ----------
    hits : one list of hits, or several; seed hits, or objects with doc_id, chunk_id and score
    chunks : where their neighbours are
    question : None composes without one
    parents : by parent id
    query_embedding : of the question
    scope : narrows what the key may see
    config : options of `RetrievalConfig`

    Raises
    ------
    HitError
        If a hit is unplaced.
    ServiceError
        If it cannot be composed, or the service does not answer.
    """
    fields = _given(
        question=question,
        parents=None if parents is None else {name: _write_chunk(parent) for name, parent in parents.items()},
        query_embedding=None if query_embedding is None else [float(number) for number in query_embedding],
        scope=_scope(scope),
        config=config,
    )
    record = {"hits": [_write_hit(hit) for hit in hits], "chunks": [_write_chunk(chunk) for chunk in chunks], **fields}
    return Call("POST", "/v1/compose", Composition.from_dict, record)


def _write_hit(hit: Any) -> Any:
    if isinstance(hit, Mapping):
        return hit
    if not isinstance(hit, SeedHit):
        return [_write_hit(one) for one in hit]  # one list of several
    if hit.unplaced is not None:
        raise HitError(
            f"hit {hit.key!r} has no place in its document ({hit.unplaced}): send it as an object with doc_id, score, "
            "text, and a name as chunk_id"
        )
    return {**chunk_to_dict(hit.chunk), "score": hit.similarity_score}


def _write_chunk(chunk: Any) -> Any:
    return chunk_to_dict(chunk) if isinstance(chunk, Chunk) else chunk


def prompt(
    source: Composition | str | Mapping[str, Any],
    *,
    question: str | None = None,
    api: Api | None = None,
    history: Sequence[Mapping[str, str]] | None = None,
    max_tokens: int | None = None,
    answer_reserve: int | None = None,
) -> Call[WrittenPrompt]:
    """Return the messages of a prompt.

    Parameters
    ----------
    source : a composition, a question to the index, or the arguments of `query`, or those of `compose`
    question : None takes that of the source
    api : whose shape the messages have: `plain`, `openai`, `openai_chat` or `anthropic`
    history : earlier turns, each with role and content
    max_tokens : of the whole prompt
    answer_reserve : tokens kept free for the answer

    Raises
    ------
    ServiceError
        If the prompt does not fit its tokens, or the service does not answer.
    """
    fields = _given(
        question=question, api=api, history=history, max_tokens=max_tokens, answer_reserve=answer_reserve
    )  # fmt: skip
    return Call("POST", "/v1/prompt", _read_prompt, {**_write_source(source), **fields})


def _write_source(source: Composition | str | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(source, Composition):
        return {"composition": source.to_dict()}
    if isinstance(source, Mapping) and "hits" in source:
        return {"compose": _call(compose, source).body}
    return {"query": _call(query, source).body}


def _read_prompt(record: Any) -> WrittenPrompt:
    composition = Composition.from_dict(record["composition"])
    return WrittenPrompt(**{**record, "left_out": tuple(record["left_out"]), "composition": composition})


# ---- passages


def reorder(
    passages: Iterable[T],
    *,
    question: str | None = None,
    preset: PresetName | None = None,
    options: Options | None = None,
) -> Call[Reordered[T]]:
    """Return passages in a better order, filtered and within a budget where that is asked for.

    Parameters
    ----------
    passages : `Passage`s, or objects with id, text, score and, where wanted, metadata
    question : for options that read it
    preset : options to start from
    options : of `Reorderer`

    Raises
    ------
    ServiceError
        If an option is wrong, or the service does not answer.
    """
    own = [*passages]

    def read(record: Any) -> Reordered[T]:
        diagnostics = record["diagnostics"]
        dropped = tuple(DroppedPassage(**passage) for passage in diagnostics["dropped"])
        reported = {**diagnostics, "dropped": dropped, "warnings": tuple(diagnostics["warnings"])}
        return Reordered([own[passage[_POSITION]] for passage in record["passages"]], ReorderDiagnostics(**reported))

    # what a passage holds beside text and score comes back with it
    sent = [{**_write_passage(passage), _POSITION: position} for position, passage in enumerate(own)]
    return Call(
        "POST", "/v1/reorder", read, {"passages": sent, **_given(question=question, preset=preset, options=options)}
    )


def deduplicate(
    passages: Iterable[T],
    *,
    threshold: float | None = None,
    keep: Keep | None = None,
    compare_with: CompareWith | None = None,
) -> Call[Deduplicated[T]]:
    """Return passages without repetitions.

    Parameters
    ----------
    passages : texts, `Passage`s, or objects with text and score
    threshold : least similarity of duplicates; None leaves out equal texts alone
    keep : which one of those that are alike; None keeps the first
    compare_with : as for `retrivex.deduplicate`

    Raises
    ------
    ServiceError
        If an argument breaks its rule, or the service does not answer.
    """
    own = [*passages]

    def read(record: Any) -> Deduplicated[T]:
        found = tuple(Duplicate(**duplicate) for duplicate in record["duplicates"])
        gone = {duplicate.position for duplicate in found}
        return Deduplicated([passage for position, passage in enumerate(own) if position not in gone], found)

    fields = _given(threshold=threshold, keep=keep, compare_with=compare_with)
    sent = [_write_passage(passage) for passage in own]
    return Call("POST", "/v1/deduplicate", read, {"passages": sent, **fields})


def _write_passage(passage: Any) -> Any:
    if is_dataclass(passage) and not isinstance(passage, type):
        return _given(**asdict(passage))
    return passage


# ---- documents


def resolve(
    citation: Citation | Mapping[str, Any], *, around: int | None = None, index: str | None = None, scope: Scope = None
) -> Call[Resolved]:
    """Return what a citation points to, with the text around it.

    Parameters
    ----------
    citation : of a composition, or an object with doc_id, char_start and char_end
    around : characters of the document on each side
    index : where the document is
    scope : narrows what the key may see

    Raises
    ------
    ServiceError
        If there is no such document, or the citation points outside it, or the service does not answer.
    """
    record = asdict(citation) if isinstance(citation, Citation) else citation
    fields = _given(around=around, index=index, scope=_scope(scope))
    return Call("POST", "/v1/resolve", lambda found: Resolved(**found), {**_given(**record), **fields})


def add_document(
    file: str | os.PathLike[str] | bytes, *, name: str | None = None, index: str | None = None, scope: str | None = None
) -> Call[tuple[Added, ...]]:
    """Add the documents of a file, each in place of its older version.

    Parameters
    ----------
    file : its path, or its bytes
    name : of the file, whose ending says its type; needed with bytes
    index : where it goes
    scope : that it gets; None where the key carries one

    Raises
    ------
    LoadError
        If the file cannot be read here, or bytes have no name.
    ServiceError
        If the service cannot read it, may not write it, or does not answer.
    """
    if isinstance(file, bytes):
        content, known = file, name
    else:
        content, known = _read_file(Path(file)), name or Path(file).name
    if not known:
        raise LoadError(
            f"{len(content):,} bytes have no name: pass name=, such as 'notes.md', whose ending says their type"
        )

    def read(record: Any) -> tuple[Added, ...]:
        return tuple(Added(**document) for document in record["documents"])

    form = _given(index=index, scope=scope)
    return Call("POST", _DOCUMENTS, read, form=form, file=(known, content), repeated_after=_REFUSED_BEFORE)


def _read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise LoadError(f"{str(path)!r} cannot be read ({error.strerror}): give the path of a file") from error


def list_indexes() -> Call[tuple[ListedIndex, ...]]:
    """Return the indexes that questions go to.

    Raises
    ------
    ServiceError
        If the service does not answer.
    """
    return Call("GET", "/v1/indexes", lambda found: tuple(ListedIndex(**index) for index in found["indexes"]))


def list_documents(
    *, index: str | None = None, scope: Scope = None, after: str | None = None, limit: int | None = None
) -> Call[DocumentPage]:
    """Return a page of the documents that the key may see, by name.

    Parameters
    ----------
    index : its name; None for the one called `default`
    scope : narrows what the key may see
    after : `next` of the page before
    limit : documents of a page

    Raises
    ------
    ServiceError
        If there is no such index, or the service does not answer.
    """

    def read(record: Any) -> DocumentPage:
        return DocumentPage(tuple(ListedDocument(**document) for document in record["documents"]), record["next"])

    fields = _given(index=index, scope=_write_scopes(scope), after=after, limit=limit)
    return Call("GET", _DOCUMENTS, read, parameters=fields)


def delete_document(doc_id: str, *, index: str | None = None, scope: Scope = None) -> Call[None]:
    """Delete a document.

    Parameters
    ----------
    doc_id : its name
    index : where it is
    scope : narrows what the key may see

    Raises
    ------
    ServiceError
        If there is none that the key may see, or the service does not answer.
    """
    fields = {"doc_id": doc_id, **_given(index=index, scope=_write_scopes(scope))}
    return Call("DELETE", _DOCUMENTS, _read_nothing, parameters=fields, repeated_after=_REFUSED_BEFORE)


def _write_scopes(scope: Scope) -> list[str] | None:
    """Return scopes for an address, where an empty one stands for none."""
    return None if scope is None else [name or "" for name in ([scope] if isinstance(scope, str) else scope)]


# ---- operation


def check_ready() -> Call[None]:
    """Return where the service can answer.

    Raises
    ------
    ServiceError
        If it cannot: it ends, an index does not answer, or nothing answers there. It is asked once.
    """
    return Call("GET", "/readyz", _read_nothing, repeated_after=frozenset())


def _read_nothing(record: Any) -> None:
    if not isinstance(record, dict):
        raise TypeError(f"{quoted(record)} is no object")


# ---- many at once


def _each(requests: Any) -> Iterable[Any]:
    if isinstance(requests, str | bytes | Mapping):
        raise RetrivexError(f"requests are {quoted(requests)}: give a list of requests")
    given: Iterable[Any] = requests
    return given


def _call(make: Callable[..., Call[T]], request: Any) -> Call[T]:
    """Return the call that arguments by name make, or one argument alone."""
    return make(**request) if isinstance(request, Mapping) else make(request)


def _many(name: str, calls: Sequence[Call[T]], **shared: Any) -> Call[list[Item[T]]]:
    def read_item(call: Call[T], answer: Mapping[str, Any]) -> Item[T]:
        if "problem" in answer:
            return Item(None, error_of(answer["problem"], "the service"))
        return Item(call.read(answer["answer"]), None)

    def read(record: Any) -> list[Item[T]]:
        return list(map(read_item, calls, record["answers"]))

    return Call("POST", f"/v1/{name}/batch", read, {"requests": [call.body for call in calls], **_given(**shared)})


def _batch_of(make: Callable[..., Call[T]]) -> Callable[[Iterable[Any]], Call[list[Item[T]]]]:
    """Return the operation that does many of these, each given by one argument, or by its arguments by name."""

    def batch(requests: Iterable[Any]) -> Call[list[Item[T]]]:
        return _many(make.__name__, [_call(make, request) for request in _each(requests)])

    batch.__doc__ = f"Do many at once: requests as for `{make.__name__}`; the error of one is in its item."
    return batch


query_batch = _batch_of(query)
prompt_batch = _batch_of(prompt)
reorder_batch = _batch_of(reorder)
deduplicate_batch = _batch_of(deduplicate)


def compose_batch(
    requests: Iterable[Mapping[str, Any]], chunks: Iterable[Chunk | Mapping[str, Any]] = ()
) -> Call[list[Item[Composition]]]:
    """Compose many contexts.

    Parameters
    ----------
    requests : arguments of `compose` by name
    chunks : shared by all of them

    Raises
    ------
    ServiceError
        If there are too many, or the service does not answer. The error of one request is in its item.
    """
    calls = [_call(compose, request) for request in _each(requests)]
    return _many("compose", calls, chunks=[_write_chunk(chunk) for chunk in chunks] or None)


def resolve_batch(
    citations: Iterable[Citation | Mapping[str, Any]],
    *,
    around: int | None = None,
    index: str | None = None,
    scope: Scope = None,
) -> Call[list[Item[Resolved]]]:
    """Look up many citations; arguments as for `resolve`.

    Raises
    ------
    ServiceError
        As for `compose_batch`.
    """
    calls = [resolve(citation, around=around, index=index, scope=scope) for citation in _each(citations)]
    return _many("resolve", calls)
