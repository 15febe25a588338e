"""Picked pieces -> spans with exact offsets, scores and token counts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from retrivex.config import RetrievalConfig, ScorerName
from retrivex.expansion.continuity import Continuity
from retrivex.expansion.seeds import Seed
from retrivex.merging.parents import PlacedParent, holds_whole
from retrivex.model.chunk import ChunkKey
from retrivex.model.run import Run, Segment
from retrivex.model.span import Span
from retrivex.scoring.weighted import span_factors
from retrivex.selection.picks import Pick
from retrivex.text.leads import Prefixes
from retrivex.tokens.cache import TokenCache

_EMPTY_LINES = re.compile(r"(?:[^\S\n]*\n)+")


@dataclass(frozen=True, slots=True)
class SpanScorer:
    """What is needed to score a span.

    Parameters
    ----------
    relevance : of the seeds, in [0, 1], by key
    seed_ids : positions of the seeds, by document, ascending
    continuity : of each chunk with the one before it, by key
    parents : by parent_id
    config : the weights
    scorer : whose score a span carries: `calibrated` leaves it at its best unit's probability
    """

    relevance: Mapping[ChunkKey, float]
    seed_ids: Mapping[str, Sequence[int]]
    continuity: Mapping[ChunkKey, Continuity]
    parents: Mapping[str, PlacedParent]
    config: RetrievalConfig
    scorer: ScorerName = "weighted"

    @classmethod
    def of(
        cls,
        seeds: Sequence[Seed],
        continuity: Mapping[ChunkKey, Continuity],
        parents: Mapping[str, PlacedParent],
        config: RetrievalConfig,
        scorer: ScorerName,
    ) -> SpanScorer:
        """Gather what is needed from the seeds."""
        seed_ids: dict[str, list[int]] = {}
        for seed in seeds:
            seed_ids.setdefault(seed.key[0], []).append(seed.key[1])
        for places in seed_ids.values():
            places.sort()
        return cls({seed.key: seed.relevance for seed in seeds}, seed_ids, continuity, parents, config, scorer)

    def score(self, span: Span) -> Span:
        """Return the span with its factors and score."""
        keys = [(span.doc_id, chunk_id) for chunk_id in span.chunk_ids]
        whole = bool(self.parents) and holds_whole(span, self.parents)
        seed_ids = self.seed_ids.get(span.doc_id, ())
        made = span_factors(keys, self.relevance, seed_ids, self.continuity, whole, self.config)
        score = made.score if self.scorer == "weighted" else span.score
        # written out, as every span of every answer passes here: `replace` takes three times as long
        return Span(
            span.doc_id, span.chunk_ids, span.chunks, score, span.char_start, span.char_end, span.token_count,
            made.similarity, made.adjacency, made.continuity, made.parent, span.text, span.value, span.exact,
            span.segments, span.pinned, span.parent_id, span.prefix,
        )  # fmt: skip


def span_of(pick: Pick, run: Run, counter: TokenCache) -> Span:
    """Make the span of a picked stretch, without the white space and joiners at its ends, not yet scored."""
    segments = run.segments(pick.first, pick.last, pick.start, pick.end)
    start, end = _trim_white_space(segments, pick, run)
    text = run.text[start:end]
    if start > pick.start or end <= pick.start + segments[-1].start:
        segments = run.segments(pick.first, pick.last, start, end)
    elif end < pick.end:
        cut = segments[-1]
        segments = (*segments[:-1], Segment(cut.start, end - start, cut.chunk_id, cut.char_start))
    chunks = list(run.chunks[pick.first : pick.last + 1])
    first, last = segments[0], segments[-1]
    base = chunks[0].metadata.chunk_id
    return Span(
        doc_id=run.doc_id,
        chunk_ids=[chunk.metadata.chunk_id for chunk in chunks],
        chunks=chunks,
        score=0.0 if pick.score is None else pick.score,
        char_start=first.char_start,
        char_end=None if last.char_start is None else last.char_start + last.end - last.start,
        token_count=counter.count(text),
        text=text,
        value=pick.value,
        exact=run.is_exact(pick.first + first.chunk_id - base, pick.first + last.chunk_id - base),
        segments=segments,
        prefix=chunks[0].metadata.prefix,
    )


def with_lead(span: Span, pick: Pick, run: Run, prefixes: Prefixes) -> Span:
    """Return a span with the head of the table, or the line in front of the list, that it begins in, as its prefix."""
    prefix = prefixes.at(run.ranges[pick.first][0], pick.start, span.prefix)
    return span if prefix == span.prefix else replace(span, prefix=prefix)


def _trim_white_space(segments: Sequence[Segment], pick: Pick, run: Run) -> tuple[int, int]:
    """Where a picked stretch begins and ends, less empty lines, white space at its end and joiners of nothing."""
    start, end = pick.start + segments[0].start, pick.start + segments[-1].end
    for segment in reversed(segments):
        text = run.text[pick.start + segment.start : pick.start + segment.end].rstrip()
        if text:
            end = pick.start + segment.start + len(text)
            empty = _EMPTY_LINES.match(run.text, start, end)  # what indents the first line with text belongs to it
            return start if empty is None else _leave_joiner(empty.end() - pick.start, segments) + pick.start, end
    return start, end


def _leave_joiner(at: int, segments: Sequence[Segment]) -> int:
    """Where a stretch that would begin at `at` begins: a joiner in front of its first text joins nothing."""
    return next((max(at, segment.start) for segment in segments if at < segment.end), at)


def best_first(spans: Sequence[Span]) -> list[Span]:
    """Sort by score; equal scores by document and place, so that the order hits came in does not matter."""
    return sorted(spans, key=lambda span: (-span.score, span.doc_id, span.chunk_ids[0], span.char_start or 0))
