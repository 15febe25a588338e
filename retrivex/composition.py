"""The answer: ordered spans, the text made of them, and an account of where everything came from or went."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import networkx as nx

from retrivex.chunk_json import chunk_from_dict, chunk_to_dict
from retrivex.errors import RetrivexError
from retrivex.intervals import Window, interval_graph
from retrivex.prompts import DEFAULT_TEMPLATE, fit_prompt
from retrivex.quotes import find_quote
from retrivex.rendering import Style
from retrivex.seed import DroppedHit
from retrivex.span import Span
from retrivex.stitching import Segment
from retrivex.tokens import Tokenizer, get_tokenizer
from retrivex.tracing import ChunkNote, Step, Trace

SCHEMA = "retrivex.composition/1"
"""Name and version of what `to_dict` writes; `schemas/composition-1.json` describes it."""

_MARKERS = re.compile(r"\s*(\[\d+\][\s,;]*)+")


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


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a document is shown.

    Parameters
    ----------
    doc_id : the document
    ranges : shown chunks as inclusive `(first, last)` pairs
    chunk_count : chunks in the whole document; None where unknown
    matched : hits that are shown, as `(chunk_id, similarity_score)`
    max_score, mean_score : of the matched; None where only neighbours or links are shown
    """

    doc_id: str
    ranges: tuple[tuple[int, int], ...]
    chunk_count: int | None
    matched: tuple[tuple[int, float], ...]
    max_score: float | None
    mean_score: float | None

    def __str__(self) -> str:
        shown = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in self.ranges)
        return f"chunks {shown}" + (f" of {self.chunk_count}" if self.chunk_count else "")


@dataclass(frozen=True, slots=True)
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
    trace : each step and chunk
    style : how `text` is written down
    """

    text: str
    spans: tuple[Span, ...]
    tokens: int
    token_budget: int
    tokenizer: str
    question: str | None
    citations: tuple[Citation, ...]
    coverage: tuple[Coverage, ...]
    dropped: tuple[DroppedHit, ...]
    warnings: tuple[str, ...]
    trace: Trace = field(repr=False, compare=False)
    style: Style = field(default_factory=Style, repr=False)
    counter: Tokenizer | None = field(default=None, repr=False, compare=False)

    def resolve(self, reference: str | int) -> list[Citation]:
        """Return where a reference in a model's answer comes from.

        Parameters
        ----------
        reference : a number, markers like `[2]` or `[1], [3]`, or words quoted from the context

        Returns
        -------
        list of Citation
            Every place, cut to what was referred to; empty where there is none. White space, case and the shape
            of quotation marks do not matter in a quote.
        """
        if isinstance(reference, int):
            return [citation for citation in self.citations if citation.number == reference]
        if _MARKERS.fullmatch(reference):
            numbers = dict.fromkeys(int(number) for number in re.findall(r"\d+", reference))
            return [citation for number in numbers for citation in self.resolve(number)]
        places = find_quote(self.text, reference)
        return [part for start, end in places for part in self._between(start, end)]

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
                    cited.page, cited.heading_path,
                )
            )  # fmt: skip
        return parts

    def prompt(
        self,
        question: str | None = None,
        *,
        template: str = DEFAULT_TEMPLATE,
        history: str = "",
        max_tokens: int | None = None,
        answer_reserve: int = 0,
    ) -> str:
        """Return a whole prompt of at most `max_tokens - answer_reserve` tokens.

        Parameters
        ----------
        question : defaults to the one the context was composed for
        template : with `{context}`, `{question}` and, where wanted, `{history}`
        history : earlier turns
        max_tokens : the model's window; None does not limit
        answer_reserve : tokens kept free for the answer

        Raises
        ------
        RetrivexError
            Without a question, or with a template that lacks a part.
        BudgetError
            If it does not fit even without any context.
        """
        asked = question if question is not None else self.question
        if asked is None:
            raise RetrivexError("question is None: the context was composed without one; pass prompt(question)")
        counter = self.counter if self.counter is not None else get_tokenizer(self.tokenizer)
        return fit_prompt(
            self.spans, self.style, counter, asked,
            template=template, history=history, max_tokens=max_tokens, answer_reserve=answer_reserve,
        )  # fmt: skip

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

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON types, by the schema `SCHEMA`; embeddings are left out."""
        return {
            "schema": SCHEMA,
            "question": self.question,
            "text": self.text,
            "tokens": self.tokens,
            "token_budget": self.token_budget,
            "tokenizer": self.tokenizer,
            "style": asdict(self.style),
            "spans": [_span_to_dict(span) for span in self.spans],
            "citations": [asdict(citation) for citation in self.citations],
            "coverage": [{**asdict(coverage), "summary": str(coverage)} for coverage in self.coverage],
            "dropped": [asdict(hit) for hit in self.dropped],
            "warnings": list(self.warnings),
            "trace": {
                "steps": [asdict(step) for step in self.trace.steps],
                "requests": self.trace.requests,
                "windows": [asdict(window) for window in self.trace.windows],
                "links": [[list(source), list(target)] for source, target in self.trace.links],
                "scorer": self.trace.scorer,
                "selection": dict(self.trace.selection),
                "chunks": [asdict(note) for note in self.trace.notes],
            },
        }

    def to_json(self, *, indent: int | None = None) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Composition:
        """Read what `to_dict` wrote.

        Raises
        ------
        RetrivexError
            If it is of another schema or lacks a part.
        """
        if data.get("schema") != SCHEMA:
            raise RetrivexError(
                f"schema is {data.get('schema')!r}: this version reads {SCHEMA!r}; use the version that wrote it"
            )
        try:
            return cls(
                text=data["text"],
                spans=tuple(_span_from_dict(span) for span in data["spans"]),
                tokens=data["tokens"],
                token_budget=data["token_budget"],
                tokenizer=data["tokenizer"],
                question=data["question"],
                citations=tuple(
                    Citation(**{**citation, "heading_path": tuple(citation["heading_path"])})
                    for citation in data["citations"]
                ),
                coverage=tuple(_coverage_from_dict(coverage) for coverage in data["coverage"]),
                dropped=tuple(DroppedHit(**hit) for hit in data["dropped"]),
                warnings=tuple(data["warnings"]),
                trace=_trace_from_dict(data["trace"]),
                style=Style(**data["style"]),
            )
        except (KeyError, TypeError) as error:
            raise RetrivexError(f"not a composition by {SCHEMA}: {error!r}; pass what to_dict returned") from error


def _span_to_dict(span: Span) -> dict[str, Any]:
    plain = {f.name: getattr(span, f.name) for f in fields(span) if f.name not in ("chunks", "segments")}
    return {
        **plain,
        "chunk_ids": list(span.chunk_ids),
        "chunks": [chunk_to_dict(chunk, embedding=False) for chunk in span.chunks],
        "segments": [asdict(segment) for segment in span.segments],
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


def _trace_from_dict(data: Mapping[str, Any]) -> Trace:
    notes = tuple(ChunkNote(**note) for note in data["chunks"])
    return Trace(
        steps=tuple(Step(**step) for step in data["steps"]),
        requests=data["requests"],
        windows=tuple(Window(**window) for window in data["windows"]),
        links=tuple((tuple(source), tuple(target)) for source, target in data["links"]),
        scorer=data["scorer"],
        selection=data["selection"],
        make_notes=lambda: notes,
    )
