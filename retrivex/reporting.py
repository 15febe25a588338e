"""Where everything came from or went: citations, coverage, dropped hits, notes on every chunk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from retrivex.candidates import CandidateSet
from retrivex.chunk import Chunk, ChunkKey
from retrivex.composition import Citation, Coverage
from retrivex.config import RetrievalConfig
from retrivex.expansion import Expansion
from retrivex.intervals import window_coverage
from retrivex.ranges import merge_ranges, remaining
from retrivex.rendering import Rendered
from retrivex.seed import DroppedHit, DropReason
from retrivex.seeding import Seed
from retrivex.span import Span
from retrivex.stitching import Run
from retrivex.tracing import ChunkNote, ChunkRole


def citations_of(spans: Sequence[Span], rendered: Rendered) -> tuple[Citation, ...]:
    """One citation for every stretch of source text in the context, in order."""
    made: list[Citation] = []
    for number, (span, start) in enumerate(zip(spans, rendered.starts, strict=True), start=1):
        places = {chunk.metadata.chunk_id: chunk.metadata for chunk in span.chunks}
        for segment in span.segments:
            metadata = places[segment.chunk_id]
            source = segment.char_start
            # a parent that was swapped in also shows text between the chunks that are known
            own = source is None or metadata.char_end is None or source < metadata.char_end
            made.append(
                Citation(
                    number=number,
                    start=start + segment.start,
                    end=start + segment.end,
                    doc_id=span.doc_id,
                    chunk_id=segment.chunk_id,
                    char_start=source,
                    char_end=None if source is None else source + segment.end - segment.start,
                    page=metadata.page if own else None,
                    heading_path=tuple(metadata.heading_path or ()) if own else (),
                )
            )
    return tuple(made)


def coverage_of(spans: Sequence[Span], seeds: Sequence[Seed]) -> tuple[Coverage, ...]:
    """Return what is shown of each document, those with the best hits first."""
    shown: dict[str, set[int]] = {}
    counts: dict[str, int] = {}
    for span in spans:
        shown.setdefault(span.doc_id, set()).update(span.chunk_ids)
        for chunk in span.chunks:
            if chunk.metadata.chunk_count is not None:
                counts[span.doc_id] = chunk.metadata.chunk_count
    matched: dict[str, list[tuple[int, float]]] = {}
    best: dict[str, float] = {}
    for seed in seeds:
        doc_id, chunk_id = seed.key
        if chunk_id in shown.get(doc_id, ()):
            matched.setdefault(doc_id, []).append((chunk_id, seed.score))
            best[doc_id] = max(seed.relevance, best.get(doc_id, 0.0))
    made = []
    for doc_id, chunk_ids in shown.items():
        hits = matched.get(doc_id, [])
        scores = [score for _, score in hits]
        made.append(
            Coverage(
                doc_id=doc_id,
                ranges=tuple(window_coverage(chunk_ids)),
                chunk_count=counts.get(doc_id),
                matched=tuple(sorted(hits)),
                max_score=max(scores) if scores else None,
                mean_score=sum(scores) / len(scores) if scores else None,
            )
        )
    return tuple(sorted(made, key=lambda c: (-best.get(c.doc_id, -1.0), c.doc_id)))


@dataclass(slots=True)
class Account:
    """Everything a query touched, kept to explain it when somebody asks.

    Parameters
    ----------
    seeds : hits that were used
    found : chunks by key, as they were used
    unusable : hits that were not, with their reasons
    expansion : what the seeds grew to
    linked : chunks reached over links
    runs, values : candidates and their values
    candidates : what the selection saw
    spans : what is shown
    config : the knobs
    """

    seeds: Sequence[Seed]
    found: Mapping[ChunkKey, Chunk]
    unusable: Sequence[DroppedHit]
    expansion: Expansion
    linked: Mapping[ChunkKey, float]
    runs: Sequence[Run]
    values: Sequence[Sequence[float]]
    candidates: CandidateSet
    spans: Sequence[Span]
    config: RetrievalConfig
    shown: set[ChunkKey] = field(default_factory=set)
    _places: dict[ChunkKey, list[int]] = field(default_factory=dict)
    _texts: dict[str, list[tuple[int, str]]] | None = None

    @property
    def places(self) -> dict[ChunkKey, list[int]]:
        """Numbers of the candidates that each chunk is part of."""
        if not self._places:
            for number, (run, first, last, _, _) in enumerate(self.candidates.pieces):
                for position in range(first, last + 1):
                    self._places.setdefault(self.runs[run].chunks[position].key, []).append(number)
        return self._places

    def __post_init__(self) -> None:
        for span in self.spans:
            self._count_in(span)
        hidden = [seed.key for seed in self.seeds if seed.key not in self.shown]
        self.shown.update(key for key in hidden if not self._hidden(self.found[key]))

    def _count_in(self, span: Span) -> None:
        """Count the chunks as shown of which a span holds any text."""
        self.shown.update((span.doc_id, segment.chunk_id) for segment in span.segments)
        if len(span.segments) < len(span.chunks):
            # a chunk that lies within others has no segment of its own
            self.shown.update(chunk.key for chunk in span.chunks if chunk.text in span.text)

    def _hidden(self, chunk: Chunk) -> list[str]:
        """Parts of a chunk that no other chunk of its document shows; all of it where its place is not known."""
        start = chunk.metadata.char_start
        if chunk.metadata.doc_id not in self._shown_texts():
            return [chunk.text]
        if start is None or chunk.metadata.char_end != start + len(chunk.text):
            return [chunk.text]
        covered: list[tuple[int, int]] = []
        for place, text in self._shown_texts().get(chunk.metadata.doc_id, ()):
            low, high = max(start, place), min(start + len(chunk.text), place + len(text))
            # offsets may lie: only the same text counts
            if low < high and chunk.text[low - start : high - start] == text[low - place : high - place]:
                covered.append((low - start, high - start))
        return [chunk.text[low:high] for low, high in remaining(0, len(chunk.text), merge_ranges(covered))]

    def _shown_texts(self) -> dict[str, list[tuple[int, str]]]:
        """Return what is shown of each document: texts with their offsets."""
        if self._texts is None:
            self._texts = {}
            for span in self.spans:
                for segment in span.segments:
                    if segment.char_start is not None:
                        text = span.text[segment.start : segment.end]
                        self._texts.setdefault(span.doc_id, []).append((segment.char_start, text))
        return self._texts

    def absorb(self, swaps: Sequence[tuple[Span, Span]]) -> None:
        """Count the chunks of spans that a parent replaced as shown: their text is in the parent's."""
        for span, _ in swaps:
            self._count_in(span)

    def dropped(self, tokens: int) -> tuple[DroppedHit, ...]:
        """Hits that are not shown, in the order of their scores."""
        gone = [
            hit for hit in self.unusable if hit.reason == "duplicate_id" or (hit.doc_id, hit.chunk_id) not in self.shown
        ]
        for seed in self.seeds:
            if seed.key not in self.shown:
                reason, detail = self._why(seed.key, tokens)
                gone.append(DroppedHit(*seed.key, seed.score, reason, detail))
        return tuple(gone)

    def _why(self, key: ChunkKey, tokens: int) -> tuple[DropReason, str]:
        candidates, config = self.candidates, self.config
        if key in candidates.excluded:
            return "excluded", "pinned, or shown in an earlier turn"
        if key in candidates.repeated:
            return "duplicate_text", f"the same text stands in {candidates.repeated[key]!r}"
        own = self.places.get(key, [])
        numbers = candidates.numbers
        if not any(part.strip() for part in self._hidden(self.found[key])):
            return "no_value", "nothing of it is left to read"
        if not own:
            return "budget", "part of a longer chunk that is not shown"
        if all(numbers.gains[i] <= 0 for i in own):
            return "no_value", f"worth no more than min_value={config.min_value:g}"
        cheapest = min(numbers.costs[i] + numbers.openings[i] for i in own)
        spans = sum(not span.pinned for span in self.spans)
        if config.max_spans is not None and spans >= config.max_spans and cheapest <= config.token_budget - tokens:
            return "max_spans", f"max_spans={config.max_spans} better spans are shown"
        return "budget", f"{cheapest} tokens; the {config.token_budget} of the budget hold what is worth more"

    def notes(self) -> tuple[ChunkNote, ...]:
        """Return what became of every chunk that was touched, by document and position."""
        dropped = {(hit.doc_id, hit.chunk_id): hit.reason for hit in self.dropped(0)}
        relevance = {seed.key: seed.relevance for seed in self.seeds}
        made: dict[ChunkKey, ChunkNote] = {}
        for run, row in zip(self.runs, self.values, strict=True):
            for chunk, value in zip(run.chunks, row, strict=True):
                key = chunk.key
                role: ChunkRole = "seed" if key in relevance else "link" if key in self.linked else "neighbour"
                flow = self.expansion.continuity.get(key)
                made[key] = ChunkNote(
                    *key,
                    role=role,
                    outcome="selected" if key in self.shown else "dropped",
                    reason=None if key in self.shown else dropped.get(key) or self._why(key, 0)[0],
                    value=value,
                    relevance=relevance.get(key),
                    continuity=None if flow is None else flow.value,
                )
        for key, reason in self.expansion.refused.items():
            if key not in made:
                made[key] = ChunkNote(*key, role="beyond", outcome="refused", reason=reason)
        return tuple(made[key] for key in sorted(made))
