"""Explains an answer: why hits were dropped, and notes on every chunk and unit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from retrivex.composer.score import ScoredCandidates
from retrivex.composer.select import token_cap
from retrivex.composition.trace import ChunkNote, ChunkRole, UnitNote
from retrivex.config import RetrievalConfig
from retrivex.expansion.seeds import Seed
from retrivex.merging.units import Units
from retrivex.model.chunk import Chunk, ChunkKey
from retrivex.model.hit import DroppedHit, DropReason
from retrivex.model.run import Run, Segment
from retrivex.model.span import Span
from retrivex.scoring.scores import Scores
from retrivex.selection.candidates import CandidateSet
from retrivex.text.ranges import merge_ranges, remaining

MAX_QUOTED = 80
"""Characters of a unit that its note quotes."""


@dataclass
class Explainer:
    """Explains what became of every chunk that a query touched, when somebody asks.

    Parameters
    ----------
    scored : hits, what they grew to, and the values of the candidates
    candidates : what the selection saw
    spans : what is shown
    swaps : spans that a parent replaced, and the parent's
    config : the options
    stopped : whether there was room for more, which is not expected to hold anything
    """

    scored: ScoredCandidates
    candidates: CandidateSet
    spans: Sequence[Span]
    swaps: Sequence[tuple[Span, Span]]
    config: RetrievalConfig
    stopped: bool = False
    _parts: dict[ChunkKey, list[str]] = field(default_factory=dict)

    @property
    def seeds(self) -> Sequence[Seed]:
        """Hits that were used."""
        return self.scored.expanded.seeds

    @property
    def runs(self) -> Sequence[Run]:
        """The candidates."""
        return self.scored.runs

    @property
    def found(self) -> Mapping[ChunkKey, Chunk]:
        """Chunks by key, as they were used."""
        return self.scored.expanded.found

    @cached_property
    def shown(self) -> set[ChunkKey]:
        """Chunks of which the context holds any text; that of replaced spans is in the parent's."""
        shown: set[ChunkKey] = set()
        for span in [*self.spans, *(replaced for replaced, _ in self.swaps)]:
            shown.update((span.doc_id, segment.chunk_id) for segment in span.segments)
            if len(span.segments) < len(span.chunks):
                # a chunk that lies within others has no segment of its own
                shown.update(chunk.key for chunk in span.chunks if chunk.text in span.text)
        unseen = [seed.key for seed in self.seeds if seed.key not in shown]
        return shown.union([key for key in unseen if not self._list_unshown_parts(key)])

    @cached_property
    def _spans(self) -> dict[str, list[str]]:
        """Texts of the spans, by document."""
        made: dict[str, list[str]] = {}
        for span in self.spans:
            made.setdefault(span.doc_id, []).append(span.text)
        return made

    @cached_property
    def _texts(self) -> dict[str, list[tuple[int, str]]]:
        """Shown texts whose place is known, with their document offsets, by document."""
        made: dict[str, list[tuple[int, str]]] = {}
        for span in self.spans:
            for segment in span.segments:
                if segment.char_start is not None:
                    text = span.text[segment.start : segment.end]
                    made.setdefault(span.doc_id, []).append((segment.char_start, text))
        return made

    def _list_unshown_parts(self, key: ChunkKey) -> list[str]:
        """Parts of a chunk that no other chunk of its document shows; all of it where its place is not known."""
        parts = self._parts.get(key)
        if parts is None:
            parts = self._parts[key] = _list_unshown(self.found[key], self._texts.get(key[0], ()))
        return parts

    def dropped(self, tokens: int) -> tuple[DroppedHit, ...]:
        """Hits that are not shown, or not all of them, in the order of their scores."""
        gone = [
            hit
            for hit in self.scored.expanded.dropped
            if hit.reason == "duplicate_id" or (hit.doc_id, hit.chunk_id) not in self.shown
        ]
        shares = {seed.key: self._share_shown(seed.key) if seed.key in self.shown else 0.0 for seed in self.seeds}
        lost = [seed for seed in self.seeds if shares[seed.key] < 1]
        places = self._find_pieces({seed.key for seed in lost})
        for seed in lost:
            share = shares[seed.key]
            reason, detail = self._explain_drop(seed.key, places.get(seed.key, ()), tokens)
            if share:
                detail = f"{share:.0%} of it is shown; of the rest: {detail}"
            gone.append(DroppedHit(*seed.key, seed.score, reason, detail, share))
        return tuple(gone)

    def _share_shown(self, key: ChunkKey) -> float:
        """Share of a shown chunk's letters and digits that the context holds; 1 where its place is not known."""
        chunk = self.found[key]
        start = chunk.metadata.char_start
        if start is None or chunk.metadata.char_end != start + len(chunk.text):
            return 1.0
        hidden = sum(map(str.isalnum, "".join(self._list_unshown_parts(key))))
        return 1.0 - hidden / max(1, sum(map(str.isalnum, chunk.text)))

    def _find_pieces(self, wanted: Collection[ChunkKey]) -> Mapping[ChunkKey, Sequence[int]]:
        """Numbers of the candidates that each of the wanted chunks is part of."""
        pieces = self.candidates.pieces
        if isinstance(pieces, Units):
            return {key: pieces.touching(at) for key, at in pieces.axis.numbers.items() if key in wanted}
        places: dict[ChunkKey, list[int]] = {}
        looked_for = [
            {at: key for at, chunk in enumerate(run.chunks) if (key := chunk.key) in wanted} for run in self.runs
        ]
        for number, piece in enumerate(pieces):
            here = looked_for[piece.run]
            if here:
                for at in range(piece.first, piece.last + 1):
                    if at in here:
                        places.setdefault(here[at], []).append(number)
        return places

    def _explain_drop(self, key: ChunkKey, own: Sequence[int], tokens: int) -> tuple[DropReason, str]:
        """Why a chunk is not shown, that `own` candidates hold."""
        candidates, config = self.candidates, self.config
        if key in candidates.excluded:
            return "excluded", "pinned, or shown in an earlier turn"
        if key in candidates.repeated:
            other, alike = candidates.repeated[key], candidates.near.get(key)
            if alike is not None:
                return "near_duplicate", f"almost the same text stands in {other!r}: similarity {alike:.2f}"
            return "duplicate_text", f"the same text stands in {other!r}"
        problem = candidates.problem
        if not "".join(self._list_unshown_parts(key)).strip():
            return "no_value", "nothing of it is left to read"
        if not own:
            return "budget", "part of a longer chunk that is not shown"
        left_out = self._list_left_out(key, own)
        if not left_out:
            return "no_value", "what can be shown of it stands in passages of its document"
        valuable = [i for i in left_out if problem.values[i] > 0]
        if not valuable:
            return "no_value", f"its value is not above min_value={config.min_value:g}"
        cheapest = min([int(problem.costs[i] + problem.openings[i]) for i in valuable])
        if cheapest > config.token_budget:
            return "budget", f"{cheapest} tokens, more than the {config.token_budget} of the budget"
        if config.max_spans is not None and cheapest <= config.token_budget - tokens:
            spans = sum(not span.pinned for span in self.spans)
            if spans >= config.max_spans:
                return "max_spans", f"max_spans={config.max_spans} better spans are shown"
        cap = token_cap(config)
        if cap is not None and cheapest <= config.token_budget - tokens:
            return "budget", f"{cheapest} tokens; {cap[0]}={cap[1]} of {key[0]!r} hold better text"
        if self.stopped:
            return "no_value", f"all that is left out is expected to hold next to nothing, by effort={config.effort!r}"
        return "budget", f"{cheapest} tokens; the {config.token_budget} of the budget hold better text"

    def _list_left_out(self, key: ChunkKey, own: Sequence[int]) -> Sequence[int]:
        """Candidates of a hit whose text is not shown: of one that others overlap, some can be."""
        texts, chunk = self._spans.get(key[0]), self.found[key]
        if texts is None:
            return own
        stretches = [self.runs[p.run].text[p.start : p.end].strip() for p in self.candidates.some(own)]
        left = [i for i, part in zip(own, stretches, strict=True) if not any(part in text for text in texts)]
        is_unshown = chunk.metadata.char_start is not None and self._list_unshown_parts(key) == [chunk.text]
        # where nothing of it is shown, the same words stand elsewhere; a shown one may touch it with white space alone
        return left or own if is_unshown else left

    def notes(self) -> tuple[ChunkNote, ...]:
        """Return what became of every chunk that was touched, by document and position."""
        expanded = self.scored.expanded
        dropped = {(hit.doc_id, hit.chunk_id): hit.reason for hit in self.dropped(0)}
        places = self._find_pieces(self.found)
        relevance = {seed.key: seed.relevance for seed in self.seeds}
        made: dict[ChunkKey, ChunkNote] = {}
        for run, row in zip(self.runs, self.scored.scores.chunks, strict=True):
            for chunk, value in zip(run.chunks, row, strict=True):
                key = chunk.key
                role: ChunkRole = "seed" if key in relevance else "link" if key in expanded.linked else "neighbour"
                flow = expanded.expansion.continuity.get(key)
                made[key] = ChunkNote(
                    *key,
                    role=role,
                    outcome="selected" if key in self.shown else "dropped",
                    reason=None
                    if key in self.shown
                    else dropped.get(key) or self._explain_drop(key, places.get(key, ()), 0)[0],
                    value=value,
                    relevance=relevance.get(key),
                    continuity=None if flow is None else flow.value,
                )
        for key, reason in expanded.expansion.refused.items():
            if key not in made:
                made[key] = ChunkNote(*key, role="beyond", outcome="refused", reason=reason)
        return tuple(made[key] for key in sorted(made))


def _list_unshown(chunk: Chunk, texts: Sequence[tuple[int, str]]) -> list[str]:
    """Parts of a chunk that are not among the texts of its document, which are given with their offsets."""
    start, text = chunk.metadata.char_start, chunk.text
    if not texts or start is None or chunk.metadata.char_end != start + len(text):
        return [text]
    covered: list[tuple[int, int]] = []
    for place, other in texts:
        low, high = max(start, place), min(start + len(text), place + len(other))
        # offsets may lie: only the same text counts
        if low < high and text[low - start : high - start] == other[low - place : high - place]:
            covered.append((low - start, high - start))
    return [text[low:high] for low, high in remaining(0, len(text), merge_ranges(covered))]


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
            )
        )
    return tuple(sorted(notes, key=lambda note: -note.probability))
