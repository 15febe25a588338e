"""The bodies of requests beside those of `compose`, and how what is wrong with one is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from retrivex.composer.requests import RequestError
from retrivex.errors import quoted
from retrivex.model.question import Name, name_question
from retrivex.prompts.apis import Api
from retrivex.reorder.presets import PresetName
from retrivex.retrieval.local import RetrievalMode
from retrivex.service.bounds import check_nesting
from retrivex.similarity.deduplicate import CompareWith, Keep

DEFAULT_INDEX = "default"

_Model = TypeVar("_Model", bound="Body")

IndexName = Annotated[
    str, Field(description="one of the indexes of this service; an unknown name is answered with those there are")
]
SubQuestions = Annotated[
    list[Annotated[str, Field(pattern=r"\S")]] | None,
    Field(
        min_length=1,
        description="each is searched for in place of the question; a passage is valued by the one that its hits were "
        "found for",
    ),
]
ScopeOf = Annotated[
    str | list[str | None] | None,
    Field(description="narrows what the key may see; null in a list stands for what has no scope"),
]


class Body(BaseModel):
    """A JSON object whose keys are all known and of their types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class QueryBody(Body):
    """A question to an index."""

    question: str = Field(min_length=1, description="in the asker's own words; `query` means the same")
    index: IndexName = DEFAULT_INDEX
    k: int = Field(50, ge=1, description="hits to start from")
    mode: RetrievalMode = Field("auto", description="by words (bm25), by meaning (dense), or both (hybrid)")
    scope: ScopeOf = None
    where: dict[str, Any] | None = Field(
        None, description="field to value, list of values, or {min, max}: doc_id, source, page, metadata.<key>, ..."
    )
    sub_questions: SubQuestions = None
    whole_documents: int | None = Field(None, ge=1, description="documents of at most so many tokens are shown whole")
    config: dict[str, Any] = Field({}, description="options of RetrievalConfig for this question, e.g. token_budget")
    trace: bool = Field(False, description="answer with the trace, often 30 times the context")
    id: Any = Field(None, description="anything; comes back with the answer")


class ReorderBody(Body):
    """Passages to put in order."""

    passages: list[dict[str, Any]] = Field(description="each with id, text, score and, where wanted, metadata")
    question: str | None = None
    preset: PresetName | None = Field(None, description="options to start from")
    options: dict[str, Any] = Field({}, description="options of Reorderer, e.g. strategy and top_k")


class DeduplicateBody(Body):
    """Passages of which repetitions are left out."""

    passages: list[str | dict[str, Any]] = Field(description="texts, or objects with text and score")
    threshold: float = Field(1.0, ge=0.4, le=1, strict=False, description="least similarity of duplicates")
    keep: Keep = Field("first", description="which one of those that are alike")
    compare_with: CompareWith = "first"


class PromptBody(Body):
    """What a prompt is made of: a composition, or the request that makes one."""

    composition: dict[str, Any] | None = Field(None, description="as /v1/compose and /v1/query answer it")
    query: dict[str, Any] | None = Field(None, description="or a body of /v1/query")
    compose: dict[str, Any] | None = Field(None, description="or a body of /v1/compose")
    question: str | None = Field(None, description="left out: that of the composition")
    api: Api = Field("plain", description="whose shape the messages have")
    history: list[dict[str, str]] = Field([], description="earlier turns, each with role and content")
    max_tokens: int | None = Field(None, ge=0, description="of the whole prompt")
    answer_reserve: int = Field(0, ge=0, description="tokens kept free for the answer")

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        given = [self.composition, self.query, self.compose]
        if sum(one is not None for one in given) != 1:
            raise ValueError("give one of composition, query and compose, and only one")
        return self


class ResolveBody(Body):
    """A citation: what it points to is looked up. A citation of an answer can be sent as it is."""

    doc_id: str = Field(min_length=1)
    index: IndexName = DEFAULT_INDEX
    chunk_id: int | None = Field(None, ge=0, lt=2**62, description="needed where there are no offsets")
    char_start: int | None = Field(None, ge=0, lt=2**62, description="offset in the document, in Unicode code points")
    char_end: int | None = Field(None, ge=0, lt=2**62, description="end, exclusive")
    around: int = Field(300, ge=0, le=10_000, description="characters of the document on each side")
    scope: ScopeOf = None
    number: int | None = Field(None, description="of a citation; not needed")
    start: int | None = Field(None, description="of a citation; not needed")
    end: int | None = Field(None, description="of a citation; not needed")
    page: int | None = Field(None, description="of a citation; not needed")
    heading_path: Sequence[str] = Field((), description="of a citation; not needed")
    media: Sequence[dict[str, Any]] = Field((), description="of a citation; not needed")

    @model_validator(mode="after")
    def _does_not_end_before_it_starts(self) -> Self:
        start, end = self.char_start, self.char_end
        if start is not None and end is not None and end < start:
            raise ValueError(f"characters {start}-{end} end before they start: give the smaller first, {end}-{start}")
        return self


class ViewBody(Body):
    """A question of the page, with its settings; twice where two settings are compared."""

    question: str = Field(min_length=1)
    settings: dict[str, Any] = Field({}, description="of the page: token_budget, window, effort, order, scoring")
    compare: dict[str, Any] | None = Field(None, description="settings of the other side")
    index: IndexName = DEFAULT_INDEX
    scope: ScopeOf = None


def read_body(model: type[_Model], record: Any) -> _Model:
    """Return the body that a JSON object holds.

    Raises
    ------
    RequestError
        If it is no object, a key is unknown or missing, or a value of the wrong type.
    LimitError
        If it is nested too deep.
    """
    if not isinstance(record, Mapping):
        raise RequestError(f"the body is a {type(record).__name__}: it must be a JSON object")
    check_nesting(record)
    try:
        return model.model_validate(_with_own_name(model, record))
    except ValidationError as error:
        known = ", ".join(model.model_fields)
        raise RequestError("; ".join(describe_fault(fault, known=known) for fault in error.errors()[:5])) from None


def _with_own_name(model: type[Body], record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a record with its question under the name that the body has; the other one may be a field of its own."""
    own: Name = "question" if "question" in model.model_fields else "query"
    other = "query" if own == "question" else "question"
    has_own = own in model.model_fields and model.model_config.get("extra") == "forbid"
    is_other = isinstance(record.get(other), str) or other not in model.model_fields
    return name_question(record, own) if has_own and other in record and is_other else record


def describe_fault(problem: Mapping[str, Any], skip: int = 0, known: str = "") -> str:
    """Return one fault that pydantic found, as value and rule.

    Parameters
    ----------
    problem : of `ValidationError.errors()`
    skip : parts of its place that say where in the request it is
    known : keys of the body
    """
    name = ".".join(str(part) for part in problem["loc"][skip:])
    if problem["type"] == "extra_forbidden":
        return f"the key {quoted(name)} is unknown: known are {known}"
    if problem["type"] == "missing":
        return f"{name!r} is missing: it must be given"
    rule = problem["msg"].removeprefix("Value error, ").replace("Input should", "it should", 1)
    return f"{name} is {quoted(problem['input'])}: {rule}" if name else rule
