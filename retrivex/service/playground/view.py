"""An answer as the page shows it: plain JSON, written here and nowhere else.

`write_view` gives `{"schema", "answers": [...]}` with one answer, or two side by side. Texts come in pieces (see
`pieces`), reasons in words, and what would make the page too long is left out and counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from retrivex.composer.reasons import DROP_REASONS, PassageReasons, explain_unit
from retrivex.composition.composition import Composition
from retrivex.composition.headings import cite_headings
from retrivex.composition.trace import ChunkNote, UnitNote
from retrivex.config import RetrievalConfig
from retrivex.model.chunk import Chunk, ChunkKey, Scope
from retrivex.model.span import Span
from retrivex.model.window import Window
from retrivex.service.playground.pieces import Mark, cut_chunk, cut_context, marks_by_chunk, place_unit
from retrivex.service.playground.settings import settings_of
from retrivex.stores import ChunkStore

SCHEMA = "retrivex.view/1"
"""Name and version of what `write_view` returns."""

MAX_CHUNKS = 1_500
"""Chunks that are drawn, in all documents together."""

MAX_CHARACTERS = 250_000
"""Characters of chunks that are carried, shown ones and hits first: the rest is drawn without its text."""

MAX_GROUPS = 400
"""Groups of sentences whose score is explained, shown ones first."""

MAX_DROPPED = 100
"""Hits left out that are listed one by one."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A composition, what made it, and the chunks that it looked at.

    Parameters
    ----------
    composition : with its trace
    config : what it was composed with
    chunks : the chunks of the trace, by key; those that are missing are drawn without text
    code : what gives the same answer elsewhere, as text to copy, by its kind
    """

    composition: Composition
    config: RetrievalConfig
    chunks: Mapping[ChunkKey, Chunk]
    code: Mapping[str, str] = field(default_factory=dict)


def fetch_chunks(composition: Composition, store: ChunkStore, scope: Scope = None) -> dict[ChunkKey, Chunk]:
    """Return the chunks that a composition looked at, in one request to its store; shown ones as they were used.

    Parameters
    ----------
    composition : with its trace
    store, scope : those that it was composed from
    """
    seen = [note for note in composition.trace.notes if note.outcome != "refused"]
    windows = [Window(note.doc_id, note.chunk_id, note.chunk_id + 1) for note in seen[: 2 * MAX_CHUNKS]]
    wanted = {(note.doc_id, note.chunk_id) for note in seen}  # a store may give more
    received = store.fetch(windows, scope) if windows else []
    fetched = {chunk.key: chunk for chunk in received if chunk.key in wanted}
    return fetched | {chunk.key: chunk for span in composition.spans for chunk in span.chunks}


def write_view(answers: Sequence[Answer]) -> dict[str, Any]:
    """Return one answer, or two to be compared, as plain JSON types.

    Examples
    --------
    >>> from retrivex import SeedHit, SpanComposer
    >>> from retrivex.model.chunk import ChunkMetadata
    >>> chunk = Chunk("Bees sleep.", ChunkMetadata("bees", 0, 0, 11))
    >>> config = RetrievalConfig(window=0)
    >>> made = SpanComposer(config).compose([SeedHit(chunk, 1.0)], {chunk.key: chunk}, query="Do bees sleep?")
    >>> [answer] = write_view([Answer(made, config, {chunk.key: chunk})])["answers"]
    >>> [piece["text"] for piece in answer["context"]], answer["documents"][0]["chunks"][0]["role"]
    (['[1] ', 'Bees sleep.'], 'seed')
    """
    others = [answers[1].composition, answers[0].composition] if len(answers) == 2 else [None]
    return {
        "schema": SCHEMA,
        "answers": [_write_answer(answer, other) for answer, other in zip(answers, others, strict=True)],
    }


def _write_answer(answer: Answer, other: Composition | None) -> dict[str, Any]:
    made, reasons = answer.composition, PassageReasons(answer.composition)
    passages = [_write_passage(number, span, reasons) for number, span in enumerate(made.spans, start=1)]
    groups = sorted(made.trace.units, key=lambda note: not note.selected)[:MAX_GROUPS]
    drawn = _choose_notes(made)
    return {
        "question": made.question,
        "settings": settings_of(answer.config),
        "figures": _write_figures(made, passages),
        "context": cut_context(made, other),
        "passages": passages,
        "curve": _write_curve(passages),
        "documents": _write_documents(answer, drawn, groups),
        "groups": [_write_group(note) for note in groups],
        "left_out": [
            {"doc_id": hit.doc_id, "chunk_id": hit.chunk_id, "score": hit.similarity_score}
            | {"reason": DROP_REASONS[hit.reason], "detail": hit.detail}
            for hit in made.dropped[:MAX_DROPPED]
        ],
        "omitted": {
            "chunks": len(made.trace.notes) - len(drawn),
            "groups": len(made.trace.units) - len(groups),
            "hits": max(0, len(made.dropped) - MAX_DROPPED),
        },
        "warnings": list(made.warnings),
        "order": dict(made.trace.order).get("reason"),
        "prompt": "" if made.question is None else made.prompt(),
        "code": dict(answer.code),
    }


def _write_figures(made: Composition, passages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    known = [passage["evidence"] for passage in passages if passage["evidence"] is not None]
    share = min(sum(known), 1.0)
    return {
        "tokens": made.tokens,
        "token_budget": made.token_budget,
        "tokenizer": made.tokenizer,
        "passages": len(made.spans),
        "documents": len({span.doc_id for span in made.spans}),
        "scorer": made.trace.scorer,
        "confidence": made.confidence,
        "expected_recall": made.expected_recall,
        "evidence_per_100_tokens": 100 * share / made.tokens if known and made.tokens else None,
    }


def _write_passage(number: int, span: Span, reasons: PassageReasons) -> dict[str, Any]:
    first, last = span.span_range
    known = [note.expected for note in reasons.find_units(span) if note.expected is not None]
    places = [chunk.metadata for chunk in span.chunks]
    return {
        "number": number,
        "doc_id": span.doc_id,
        "chunks": [first, last],
        "characters": None if span.char_start is None else [span.char_start, span.char_end],
        "pages": sorted({place.page for place in places if place.page is not None}),
        "heading": cite_headings(place.heading_path or () for place in places),
        "tokens": span.token_count,
        "evidence": sum(known) if known else None,
        "why": list(reasons.explain(span)),
    }


def _write_curve(passages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return tokens spent and share of the evidence reached after each passage, those with most of it a token first."""
    known = [passage for passage in passages if passage["evidence"] is not None]
    known.sort(key=lambda passage: -passage["evidence"] / max(passage["tokens"], 1))
    tokens, evidence, curve = 0, 0.0, []
    for passage in known:
        tokens, evidence = tokens + passage["tokens"], min(evidence + passage["evidence"], 1.0)
        curve.append({"number": passage["number"], "tokens": tokens, "evidence": evidence})
    return curve


def _write_group(note: UnitNote) -> dict[str, Any]:
    return {
        "probability": note.probability,
        "evidence": note.expected,
        "selected": note.selected,
        "why": list(explain_unit(note)),
    }


# ---- documents as strips of chunks


def _rank(note: ChunkNote) -> tuple[bool, bool, float]:
    return note.outcome != "selected", note.role != "seed", -(note.value or 0.0)


def _choose_notes(made: Composition) -> list[ChunkNote]:
    """Return the notes that are drawn: shown chunks, hits and the best of the rest."""
    return sorted(made.trace.notes, key=_rank)[:MAX_CHUNKS]


def _write_documents(answer: Answer, drawn: Sequence[ChunkNote], groups: Sequence[UnitNote]) -> list[dict[str, Any]]:
    made = answer.composition
    texts = _cut_texts(answer, drawn, groups)
    details = {(hit.doc_id, hit.chunk_id): hit.detail for hit in made.dropped}
    coverage = {one.doc_id: one for one in made.coverage}
    by_document: dict[str, list[ChunkNote]] = {doc_id: [] for doc_id in coverage}  # the best document first
    for note in drawn:
        by_document.setdefault(note.doc_id, []).append(note)
    return [
        {
            "doc_id": doc_id,
            "shown": str(coverage[doc_id]) if doc_id in coverage else None,
            "chunk_count": _count_chunks(answer.chunks, notes),
            "chunks": [
                _write_chunk(note, answer.chunks.get((doc_id, note.chunk_id)), texts, details)
                for note in sorted(notes, key=lambda note: note.chunk_id)
            ],
        }
        for doc_id, notes in by_document.items()
        if notes
    ]


def _count_chunks(chunks: Mapping[ChunkKey, Chunk], notes: Sequence[ChunkNote]) -> int | None:
    known = (chunks.get((note.doc_id, note.chunk_id)) for note in notes)
    return next((chunk.metadata.chunk_count for chunk in known if chunk and chunk.metadata.chunk_count), None)


def _write_chunk(
    note: ChunkNote,
    chunk: Chunk | None,
    texts: Mapping[ChunkKey, list[dict[str, Any]]],
    details: Mapping[ChunkKey, str],
) -> dict[str, Any]:
    key = (note.doc_id, note.chunk_id)
    place = chunk.metadata if chunk is not None else None
    return {
        "chunk_id": note.chunk_id,
        "role": note.role,
        "outcome": note.outcome,
        "reason": _explain_outcome(note, details.get(key)),
        "value": note.value,
        "relevance": note.relevance,
        "page": place.page if place else None,
        "heading": list(place.heading_path or ()) if place else [],
        "pieces": texts.get(key),
    }


def _explain_outcome(note: ChunkNote, detail: str | None) -> str | None:
    if note.outcome == "selected" or note.reason is None:
        return None
    if note.outcome == "refused":
        return f"the window stopped here: {note.reason}"
    return detail or DROP_REASONS.get(note.reason, note.reason)


def _cut_texts(
    answer: Answer, drawn: Sequence[ChunkNote], groups: Sequence[UnitNote]
) -> dict[ChunkKey, list[dict[str, Any]]]:
    """Return the texts of the chunks that are drawn, in pieces, until `MAX_CHARACTERS` is reached."""
    units: dict[ChunkKey, list[Mark]] = {}
    for key, mark in _place_groups(answer.chunks, groups):
        units.setdefault(key, []).append(mark)
    cited = marks_by_chunk(answer.composition, answer.chunks)
    made, room = {}, MAX_CHARACTERS
    for note in drawn:
        key = (note.doc_id, note.chunk_id)
        chunk = answer.chunks.get(key)
        if chunk is not None and len(chunk.text) <= room:
            room -= len(chunk.text)
            made[key] = cut_chunk(chunk, units.get(key, ()), cited.get(key, ()))
    return made


def _place_groups(chunks: Mapping[ChunkKey, Chunk], groups: Sequence[UnitNote]) -> Iterator[tuple[ChunkKey, Mark]]:
    for number, note in enumerate(groups):
        for chunk_id in note.chunk_ids:
            key = (note.doc_id, chunk_id)
            mark = place_unit(note, number, chunks[key]) if key in chunks else None
            if mark is not None:
                yield key, mark
