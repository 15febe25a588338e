"""What the trace says of units and documents, and how much of the evidence spans are expected to show."""

from __future__ import annotations

from collections.abc import Sequence

from retrivex.composition.trace import UnitNote
from retrivex.model.run import Run, Segment
from retrivex.model.span import Span
from retrivex.scoring.scores import Scores

MAX_QUOTED = 80
"""Characters of a unit that its note quotes."""


def _is_shown(begin: Segment, text: str, spans: Sequence[Span]) -> bool:
    """Whether spans of its document show a unit: its first character, or its text where there are no offsets."""
    if begin.char_start is None:
        return bool(text) and any(text in span.text for span in spans)
    return any(
        segment.char_start is not None
        and segment.char_start <= begin.char_start < segment.char_start + segment.end - segment.start
        for span in spans
        for segment in span.segments
    )


def expected_recall(runs: Sequence[Run], scores: Scores, spans: Sequence[Span]) -> float | None:
    """Return the share of the evidence that spans are expected to show; None with the weighted scorer."""
    if scores.table is None or scores.expected is None or scores.confidence is None:
        return None
    shown: dict[str, list[Span]] = {}
    for span in spans:
        shown.setdefault(span.doc_id, []).append(span)
    total = 0.0
    for unit, expected in zip(scores.table.units, scores.expected.tolist(), strict=True):
        run = runs[unit.run]
        if run.doc_id in shown:
            begin = run.segments(unit.first, unit.last, unit.start, unit.end)[0]
            if _is_shown(begin, run.text[unit.start : unit.end].strip(), shown[run.doc_id]):
                total += expected
    return scores.confidence * min(total, 1.0)


def explain_documents(scores: Scores, question: str) -> dict[str, object]:
    """Return which document the question names, and which ones passages of others name."""
    made = {} if scores.match is None else scores.match.explain(question)
    if scores.named:
        made["named"] = {doc_id: list(others) for doc_id, others in scores.named.items()}
    return made


def unit_notes(runs: Sequence[Run], scores: Scores, spans: Sequence[Span]) -> tuple[UnitNote, ...]:
    """Why each unit got its value, best first."""
    if scores.table is None:
        return ()
    shown: dict[str, list[Span]] = {}
    for span in spans:
        shown.setdefault(span.doc_id, []).append(span)
    notes = []
    for number, unit in enumerate(scores.table.units):
        run = runs[unit.run]
        segments = run.segments(unit.first, unit.last, unit.start, unit.end)
        text = run.text[unit.start : unit.end].strip()
        notes.append(
            UnitNote(
                doc_id=run.doc_id,
                chunk_ids=tuple(chunk.metadata.chunk_id for chunk in run.chunks[unit.first : unit.last + 1]),
                char_start=segments[0].char_start,
                length=unit.end - unit.start,
                beginning=text[:MAX_QUOTED],
                probability=scores.probabilities[number],
                value=scores.values[number],
                selected=_is_shown(segments[0], text, shown.get(run.doc_id, ())),
                reasons=scores.reasons(number),
                hedged=scores.hedged is not None and bool(scores.hedged[number]),
                expected=None if scores.expected is None else float(scores.expected[number]),
                question=scores.questions[number] if scores.questions else None,
            )
        )
    return tuple(sorted(notes, key=lambda note: -note.probability))
