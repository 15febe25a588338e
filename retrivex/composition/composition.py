"""The answer: ordered spans, the text made of them, and an account of where everything came from or went."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar, cast, overload

from retrivex.composition.documents import ContextDocument, Coverage, documents_of
from retrivex.composition.trace import AbsentTrace, ChunkNote, Step, Trace, UnitNote
from retrivex.errors import RetrivexError, TokenizerError
from retrivex.merging.intervals import interval_graph
from retrivex.model.hit import DroppedHit
from retrivex.model.media import Media, media_metadata, media_within
from retrivex.model.question import takes_both_names
from retrivex.model.run import Segment
from retrivex.model.serialization import (
    check_metadata,
    check_types,
    chunk_from_dict,
    chunk_to_dict,
    escape_halves,
    fits,
    listing,
)
from retrivex.model.span import Span
from retrivex.model.window import Window
from retrivex.prompts import DEFAULT_TEMPLATE
from retrivex.rendering.render import Style
from retrivex.text.quotes import find_quote
from retrivex.tokens.tokenizer import Tokenizer, TokenizerSpec, get_tokenizer

if TYPE_CHECKING:
    import networkx as nx

    from retrivex.prompts import ChatStyle, Pictures, Place, Prompt
    from retrivex.prompts.apis import Api
    from retrivex.prompts.fitting import SourceTemplate

SCHEMA = "retrivex.composition/1"
"""Name and version of what `to_dict` writes; `schemas/composition-1.json` describes it."""

_NUMBERS = r"\d+(?:\s*[-\u2013]\s*\d+)?"
_MARKERS = re.compile(rf"\s*(?:\[\s*{_NUMBERS}(?:\s*[,;]\s*{_NUMBERS})*\s*\][\s,;]*)+")
_NUMBER_OR_RANGE = re.compile(r"(\d+)(?:\s*[-\u2013]\s*(\d+))?")
_MAX_DIGITS = 18  # no context has so many spans, and Python refuses to read numbers of thousands of digits

_MOST_QUESTION = 60  # characters of the question in the one line that `print` shows
_MOST_UNITS = 100  # best units that are written out: every unit of many hits would outweigh the context manifold


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a stretch of the context comes from.

    Parameters
    ----------
    number : of the span, as in `[2]`
    start, end : offsets in `Composition.text`, end exclusive
    doc_id, chunk_id : the source
    char_start, char_end : offsets in the document; None where its splitter kept none
    page, heading_path : as far as known
    media : pictures and others that stand in the stretch, by reference
    """

    number: int
    start: int
    end: int
    doc_id: str
    chunk_id: int
    char_start: int | None
    char_end: int | None
    page: int | None = None
    heading_path: tuple[str, ...] = ()
    media: tuple[Media, ...] = ()


_PARTS: Mapping[str, Any] = {
    "text": str,
    "tokens": int,
    "token_budget": int,
    "tokenizer": str,
    "question": str | None,
    "style": Style,
    "spans": tuple[Span, ...],
    "citations": tuple[Citation, ...],
    "coverage": tuple[Coverage, ...],
    "dropped": tuple[DroppedHit, ...],
    "warnings": tuple[str, ...],
    "confidence": float | None,
    "expected_recall": float | None,
}
"""Types of the parts of a composition that JSON gives."""

_T = TypeVar("_T")


class _WhenRead(Generic[_T]):
    """A field that is given as it is, or as what makes it: that is called once, when somebody reads the field.

    Parameters
    ----------
    default : what it is where it is not given; without one it has to be
    """

    def __init__(self, *default: object) -> None:
        self.default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, made: None, owner: type) -> NoReturn: ...
    @overload
    def __get__(self, made: object, owner: type) -> _T: ...
    def __get__(self, made: object | None, owner: type) -> _T:
        if made is None:  # a dataclass asks for the default
            if not self.default:
                raise AttributeError(self.name)
            return cast(_T, self.default[0])
        value: _T | Callable[[], _T] = made.__dict__[self.name]
        if callable(value):
            value = value()
            made.__dict__[self.name] = value
        return value

    def __set__(self, made: object, value: _T | Callable[[], _T]) -> None:
        made.__dict__[self.name] = value


@dataclass(frozen=True, repr=False)
class Composition:
    """A context inside its budget, and its whole account.

    Parameters
    ----------
    text : what the model gets to read
    spans : in the order of `text`
    tokens : of `text`, by `tokenizer`; never above `token_budget`
    token_budget : as asked for
    tokenizer : whose tokens were counted; `estimate` where no vocabulary could be had
    question : as asked; None where the caller gave none
    citations : every stretch of source text in `text`, in order
    coverage : per document, best first
    dropped : hits that are not shown, and why
    warnings : everything that went otherwise than asked for
    trace : each step and chunk; an `AbsentTrace` where the composition was read from JSON without it
    confidence : probability, in [0, 1], that the candidates hold evidence at all, so that a caller can abstain; None
        with the weighted scorer, which cannot tell
    expected_recall : share of the evidence that is expected to be shown, in [0, 1]: the confidence, times the share of
        what the candidates hold that `text` shows; None with the weighted scorer
    style : how `text` is written down
    """

    text: str
    spans: tuple[Span, ...]
    tokens: int
    token_budget: int
    tokenizer: str
    question: str | None
    # most callers read the text and the spans alone
    citations: _WhenRead[tuple[Citation, ...]] = _WhenRead()
    coverage: _WhenRead[tuple[Coverage, ...]] = _WhenRead()
    dropped: _WhenRead[tuple[DroppedHit, ...]] = _WhenRead()
    warnings: tuple[str, ...]  # type: ignore[misc]  # the three before it have no default
    trace: Trace = field(compare=False)  # type: ignore[misc]
    confidence: float | None = None
    expected_recall: _WhenRead[float | None] = _WhenRead(None)
    style: Style = field(default_factory=Style)
    counter: Tokenizer | None = field(default=None, compare=False)

    def resolve(self, reference: str | int | Place) -> list[Citation]:
        """Return where a reference in a model's answer comes from.

        Parameters
        ----------
        reference : a number, markers like `[2]`, `[1], [3]`, `[1, 3]` or `[1-3]`, words quoted from the context, or a
            place that `Prompt.places` found

        Returns
        -------
        list of Citation
            Every place, cut to what was referred to; empty where there is none. White space, case and the shape
            of quotation marks do not matter in a quote.

        Raises
        ------
        RetrivexError
            If `reference` is neither a number nor text nor a place.
        """
        if isinstance(reference, int):
            return [citation for citation in self.citations if citation.number == reference]
        if not isinstance(reference, str):
            return self._resolve_place(reference)
        if _MARKERS.fullmatch(reference):
            known = dict.fromkeys(citation.number for citation in self.citations)
            return [citation for number in _numbers(reference, known) for citation in self.resolve(number)]
        places = find_quote(self.text, reference)
        return [part for start, end in places for part in self._between(start, end)]

    @property
    def questions(self) -> tuple[str | None, ...]:
        """Of each span the question that it answers, where hits were given by question: that of its best unit.

        None for all with the weighted scorer, and where hits have no questions of their own.
        """
        shown = [note for note in self.trace.units if note.selected]
        best = [max((n for n in shown if n.is_in(span)), key=lambda n: n.value, default=None) for span in self.spans]
        return tuple(None if note is None else note.question for note in best)

    def media(self, reference: str | int | Place | Citation) -> tuple[Media, ...]:
        """Return the pictures and other media in what a citation, or a reference as `resolve` takes it, shows."""
        cited = [reference] if isinstance(reference, Citation) else self.resolve(reference)
        return tuple(dict.fromkeys(one for citation in cited for one in citation.media))

    def documents(self) -> tuple[ContextDocument, ...]:
        """Return the documents of the context, best first: coverage, hits, title and metadata, and the passages."""
        return documents_of(self.coverage, self.spans)

    def _resolve_place(self, place: Place) -> list[Citation]:
        from retrivex.prompts.citations import Place  # noqa: PLC0415 - prompts are imported on first use

        if not isinstance(place, Place):
            raise RetrivexError(f"reference is {place!r}: give a number, a marker like '[2]', or words of the text")
        whole = self.resolve(place.number)
        first = min((citation.start for citation in whole), default=0)
        last = max((citation.end for citation in whole), default=0)
        parts = self._between(first + place.start, last if place.end is None else first + place.end)
        return [citation for citation in parts if citation.number == place.number]

    def _between(self, start: int, end: int) -> list[Citation]:
        parts = []
        for cited in self.citations:
            low, high = max(start, cited.start), min(end, cited.end)
            if low >= high:
                continue
            source = None if cited.char_start is None else cited.char_start + low - cited.start
            source_end = None if source is None else source + high - low
            parts.append(
                Citation(
                    cited.number, low, high, cited.doc_id, cited.chunk_id, source, source_end,
                    cited.page, cited.heading_path, media_within(cited.media, source, source_end),
                )
            )  # fmt: skip
        return parts

    @takes_both_names
    def prompt(
        self,
        question: str | None = None,
        *,
        template: str | SourceTemplate = DEFAULT_TEMPLATE,
        history: str = "",
        max_tokens: int | None = None,
        answer_reserve: int = 0,
        tokenizer: TokenizerSpec = None,
    ) -> str:
        """Return a whole prompt of at most `max_tokens - answer_reserve` tokens.

        Parameters
        ----------
        question : defaults to the one the context was composed for
        template : with `{context}`, `{question}` and, where wanted, `{history}`; or a `JinjaTemplate`
        history : earlier turns
        max_tokens : the model's window; None does not limit
        answer_reserve : tokens kept free for the answer
        tokenizer : counts for `max_tokens`; None takes the one that counted the context

        Raises
        ------
        RetrivexError
            Without a question, with a template that lacks a part, or with an argument of another type.
        TokenizerError
            If the tokenizer cannot be had by its name, e.g. a function of a composition that was read from a file.
        BudgetError
            If it does not fit even without any context.
        """
        from retrivex.prompts.fitting import fit_prompt  # noqa: PLC0415 - prompts are imported on first use

        asked = self._asked(question, "prompt")
        counter = self._counter(tokenizer, max_tokens)
        return fit_prompt(
            self.spans, self.style, counter, asked,
            template=template, history=history, max_tokens=max_tokens, answer_reserve=answer_reserve,
        )  # fmt: skip

    @takes_both_names
    def chat(
        self,
        question: str | None = None,
        *,
        api: Api = "plain",
        style: ChatStyle | None = None,
        history: Sequence[Mapping[str, str]] = (),
        max_tokens: int | None = None,
        answer_reserve: int = 0,
        tokenizer: TokenizerSpec = None,
        pictures: Pictures | None = None,
    ) -> Prompt:
        """Return a whole prompt as messages of at most `max_tokens - answer_reserve` tokens.

        Parameters
        ----------
        question, max_tokens, answer_reserve, tokenizer : as in `prompt`
        api : `plain` messages with numbered sources, or one block a source, made to be cited: `openai` (Responses API),
            `openai_chat` (Chat Completions), `anthropic`
        style : language, where the question stands, what is said of the sources
        history : earlier turns, `{"role": "user" or "assistant", "content": text}`
        pictures : which pictures of the sources are shown behind them, and from where; None shows none

        Raises
        ------
        RetrivexError
            Without a question, or with an argument that breaks its rule.
        BudgetError
            If it does not fit even without any context.
        """
        from retrivex.prompts.chat import write_chat  # noqa: PLC0415 - prompts are imported on first use

        asked = self._asked(question, "chat")
        counter = self._counter(tokenizer, max_tokens)
        return write_chat(
            self.spans, asked, counter,
            api=api, style=style, history=history, max_tokens=max_tokens, answer_reserve=answer_reserve,
            pictures=pictures,
        )  # fmt: skip

    def _asked(self, question: str | None, method: str) -> str:
        asked = question if question is not None else self.question
        if asked is None:
            raise RetrivexError(f"question is None: the context was composed without one; pass {method}(question)")
        return asked

    def _counter(self, tokenizer: TokenizerSpec, max_tokens: int | None) -> Tokenizer:
        if max_tokens is None:  # without a limit nothing is counted, so that any counter will do
            return get_tokenizer("estimate")
        if tokenizer is not None:
            return get_tokenizer(tokenizer)
        if self.counter is not None:
            return self.counter
        try:
            return get_tokenizer(self.tokenizer)
        except TokenizerError as error:
            raise TokenizerError(
                f"tokenizer {self.tokenizer!r} of this composition cannot be had by its name: pass prompt(..., "
                f"tokenizer=...) what counted it; {error}"
            ) from error

    def graph(self) -> nx.Graph[Window]:
        """Return the windows as a graph: edges where they overlap, touch or are linked.

        Nodes carry `seeds` (chunk ids of the hits in them) and `shown` (chunk ids that are in the context); edges
        carry `kind`: `overlap`, `adjacent` or `link`.
        """
        graph = interval_graph(self.trace.windows)
        notes = self.trace.notes
        for window in graph:
            inside = [note for note in notes if note.doc_id == window.doc_id and note.chunk_id in window]
            graph.nodes[window]["seeds"] = [note.chunk_id for note in inside if note.role == "seed"]
            graph.nodes[window]["shown"] = [note.chunk_id for note in inside if note.outcome == "selected"]
        for source, target in self.trace.links:
            ends = [[w for w in graph if w.doc_id == doc_id and chunk_id in w] for doc_id, chunk_id in (source, target)]
            graph.add_edges_from(((a, b) for a in ends[0] for b in ends[1] if a != b), kind="link")
        return graph

    def __str__(self) -> str:
        documents = len({span.doc_id for span in self.spans})
        parts = [
            _counted(len(self.spans), "passage") + f" of {_counted(documents, 'document')}",
            f"{self.tokens:,} of {self.token_budget:,} tokens",
            *([_counted(len(self.warnings), "warning")] if self.warnings else []),
        ]
        asked = "" if self.question is None else f" for {_one_line(self.question)!r}"
        return f"Composition{asked}: {', '.join(parts)}"

    def __repr__(self) -> str:
        return f"<{self}>"

    def _repr_html_(self) -> str:
        """Return the passages with their sources, the budget as a bar, and what is left out, for notebooks."""
        from retrivex.composition.html import to_html  # noqa: PLC0415 - only notebooks ask for it

        return to_html(str(self), self.spans, self.tokens, self.token_budget, self.dropped, self.warnings)

    def to_dict(self, *, trace: bool = False) -> dict[str, Any]:
        """Return the answer as plain JSON types, by the schema `SCHEMA`; embeddings are left out.

        Parameters
        ----------
        trace : whether to include the trace, which is often thirty times as long as the context

        Raises
        ------
        RetrivexError
            If the custom metadata of a shown chunk holds something that JSON cannot.
        """
        return {
            "schema": SCHEMA,
            "question": self.question,
            "text": self.text,
            "tokens": self.tokens,
            "token_budget": self.token_budget,
            "tokenizer": self.tokenizer,
            "style": _record(self.style),
            "spans": [_span_to_dict(span) for span in self.spans],
            "citations": [_citation_to_dict(citation) for citation in self.citations],
            "coverage": [{**_record(coverage), "summary": str(coverage)} for coverage in self.coverage],
            "dropped": [_record(hit) for hit in self.dropped],
            "warnings": list(self.warnings),
            "confidence": self.confidence,
            "expected_recall": self.expected_recall,
            **({"trace": _trace_to_dict(self.trace)} if trace else {}),
        }

    def to_json(self, *, indent: int | None = None, trace: bool = False) -> str:
        """Return `to_dict` as JSON text, which UTF-8 can always write.

        JSON cannot tell two halves of a surrogate pair that follow each other from the character that they make.
        """
        return escape_halves(json.dumps(self.to_dict(trace=trace), ensure_ascii=False, indent=indent))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Composition:
        """Read what `to_dict` wrote; one that was written without its trace has none to read.

        Raises
        ------
        RetrivexError
            If it is of another schema, lacks a part or has one of another type.
        """
        if not isinstance(data, Mapping):
            raise RetrivexError(f"a composition is {type(data).__name__}: pass the mapping that to_dict returned")
        if data.get("schema") != SCHEMA:
            raise RetrivexError(
                f"schema is {data.get('schema')!r}: this version reads {SCHEMA!r}; use the version that wrote it"
            )
        try:
            made = cls(
                text=data["text"],
                spans=tuple(_span_from_dict(span) for span in data["spans"]),
                tokens=data["tokens"],
                token_budget=data["token_budget"],
                tokenizer=data["tokenizer"],
                question=data["question"],
                citations=tuple(map(_citation_from_dict, data["citations"])),
                coverage=tuple(_coverage_from_dict(coverage) for coverage in data["coverage"]),
                dropped=tuple(DroppedHit(**hit) for hit in data["dropped"]),
                warnings=tuple(listing(data["warnings"], "warnings of the composition", RetrivexError)),
                trace=_trace_from_dict(data["trace"]) if "trace" in data else AbsentTrace(),
                confidence=data["confidence"],
                expected_recall=data.get("expected_recall"),
                style=Style(**data["style"]),
            )
            _check_made(made)
        except RetrivexError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise RetrivexError(f"not a composition by {SCHEMA}: {error!r}; pass what to_dict returned") from error
        return made


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _one_line(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _MOST_QUESTION else f"{plain[: _MOST_QUESTION - 3]}..."


def _numbers(reference: str, known: Iterable[int]) -> list[int]:
    """Return the numbers of `known` that markers name, in the markers' order, each once."""
    named: dict[int, None] = {}
    for first, last in _NUMBER_OR_RANGE.findall(reference):
        if max(len(first), len(last)) <= _MAX_DIGITS:
            low, high = int(first), int(last or first)
            named.update(dict.fromkeys(number for number in known if low <= number <= high))
    return list(named)


def _check_made(made: Composition) -> None:
    """Refuse values of the wrong type within the parts, too."""
    for name, hint in _PARTS.items():
        value = getattr(made, name)
        if not fits(value, hint, f"composition.{name}"):
            raise RetrivexError(f"{name} of the composition is {value!r}: it must be {hint}; see {SCHEMA}")


def _record(made: Any) -> dict[str, Any]:
    """Return the fields of a flat dataclass; `dataclasses.asdict` copies each value, and takes ten times as long."""
    return {name: getattr(made, name) for name in made.__dataclass_fields__}


def _citation_to_dict(citation: Citation) -> dict[str, Any]:
    made = _record(citation)
    media = made.pop("media")
    return {**made, **media_metadata(media)}


def _citation_from_dict(data: Mapping[str, Any]) -> Citation:
    media = tuple(Media(**one) for one in data.get("media", ()))
    return Citation(**{**data, "heading_path": tuple(data["heading_path"]), "media": media})


def _span_to_dict(span: Span) -> dict[str, Any]:
    for chunk in span.chunks:
        check_metadata(chunk)
    plain = {f.name: getattr(span, f.name) for f in fields(span) if f.name not in ("chunks", "segments")}
    return {
        **plain,
        "chunk_ids": list(span.chunk_ids),
        "chunks": [chunk_to_dict(chunk, embedding=False) for chunk in span.chunks],
        "segments": [_record(segment) for segment in span.segments],
    }


def _span_from_dict(data: Mapping[str, Any]) -> Span:
    return Span(
        **{
            **data,
            "chunks": [chunk_from_dict(chunk) for chunk in data["chunks"]],
            "segments": tuple(Segment(**segment) for segment in data["segments"]),
        }
    )


def _coverage_from_dict(data: Mapping[str, Any]) -> Coverage:
    known = {name: value for name, value in data.items() if name != "summary"}
    pairs = {name: tuple(tuple(pair) for pair in data[name]) for name in ("ranges", "matched")}
    return Coverage(**{**known, **pairs})


def _unit_to_dict(note: UnitNote) -> dict[str, Any]:
    made = _record(note)
    if note.question is None:
        del made["question"]
    return {**made, "chunk_ids": list(note.chunk_ids), "reasons": [list(reason) for reason in note.reasons]}


def _unit_from_dict(data: Mapping[str, Any]) -> UnitNote:
    reasons = tuple((name, moved) for name, moved in data["reasons"])
    return UnitNote(**{**data, "chunk_ids": tuple(data["chunk_ids"]), "reasons": reasons})


def _trace_to_dict(trace: Trace) -> dict[str, Any]:
    return {
        "steps": [_record(step) for step in trace.steps],
        "requests": trace.requests,
        "windows": [_record(window) for window in trace.windows],
        "links": [[list(source), list(target)] for source, target in trace.links],
        "scorer": trace.scorer,
        "selection": dict(trace.selection),
        "order": dict(trace.order),
        "document": dict(trace.document),
        "chunks": [_record(note) for note in trace.notes],
        "units": [_unit_to_dict(note) for note in trace.units[:_MOST_UNITS]],
    }


def _trace_from_dict(data: Mapping[str, Any]) -> Trace:
    notes = tuple(ChunkNote(**note) for note in data["chunks"])
    units = tuple(_unit_from_dict(note) for note in data["units"])
    made = Trace(
        steps=tuple(Step(**step) for step in data["steps"]),
        requests=data["requests"],
        windows=tuple(Window(**window) for window in data["windows"]),
        links=tuple((tuple(source), tuple(target)) for source, target in data["links"]),
        scorer=data["scorer"],
        selection=data["selection"],
        order=data["order"],
        document=data.get("document", {}),
        make_notes=lambda: notes,
        make_unit_notes=lambda: units,
    )
    check_types(made, "trace")
    for number, note in enumerate((*notes, *units)):
        check_types(note, f"trace.notes[{number}]")
    return made
