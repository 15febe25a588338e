"""Shows nothing twice: chunks that repeat a better one, in other words or the same, and spans that overlap."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from retrivex.config import RetrievalConfig
from retrivex.merging.exclusions import MIN_REPEATED
from retrivex.model.chunk import ChunkKey
from retrivex.model.run import Run
from retrivex.model.span import Span, cut_span
from retrivex.scoring.scores import Scores
from retrivex.similarity.near_duplicates import repeats
from retrivex.text.ranges import merge_ranges, remaining
from retrivex.text.words import read_text
from retrivex.tokens.cache import TokenCache

# ---- before the selection: chunks


class Repeats(NamedTuple):
    """Chunks whose text stands in a better one.

    Parameters
    ----------
    of : the better chunk, by key
    similarity : of those that differ from it, by key
    """

    of: dict[ChunkKey, ChunkKey]
    similarity: dict[ChunkKey, float]


def find_repeats(runs: Sequence[Run], scores: Scores, config: RetrievalConfig) -> Repeats:
    """Find chunks whose text stands in a better one, as `dedupe_overlaps` and `near_duplicate_threshold` ask for."""
    repeated = repeated_chunks(runs, scores) if config.dedupe_overlaps and len(runs) > 1 else {}
    threshold = config.near_duplicate_threshold
    if threshold is None or len(runs) < 2:
        return Repeats(repeated, {})
    copies = near_copies(runs, scores, threshold, repeated)
    # a copy of a near copy is one itself
    copies |= {key: copies[other] for key, other in repeated.items() if other in copies}
    return Repeats(
        repeated | {key: copy.of for key, copy in copies.items()},
        {key: copy.similarity for key, copy in copies.items()},
    )


def repeated_chunks(runs: Sequence[Run], scores: Scores) -> dict[ChunkKey, ChunkKey]:
    """Chunks with the same text as a chunk of another run that is worth more, mapped to that one."""
    texts = [chunk.text for run in runs for chunk in run.chunks]
    if len(set(texts)) == len(texts):
        return {}
    values = scores.chunks
    best: dict[str, tuple[float, int, ChunkKey]] = {}
    repeated: dict[ChunkKey, ChunkKey] = {}
    for number, (run, row) in enumerate(zip(runs, values, strict=True)):
        for chunk, value in zip(run.chunks, row, strict=True):
            if len(chunk.text) < MIN_REPEATED:
                continue
            known = best.get(chunk.text)
            if known is None or known[1] == number:
                best.setdefault(chunk.text, (value, number, chunk.key))
            elif known[0] >= value:
                repeated[chunk.key] = known[2]
            else:
                repeated[known[2]] = chunk.key
                best[chunk.text] = (value, number, chunk.key)
    return repeated


class NearDuplicate(NamedTuple):
    """The chunk that another one repeats almost word for word.

    Parameters
    ----------
    of : the better chunk
    similarity : Jaccard similarity of the character trigrams of both, as their words are read
    """

    of: ChunkKey
    similarity: float


def near_copies(
    runs: Sequence[Run], scores: Scores, threshold: float, taken: Collection[ChunkKey]
) -> dict[ChunkKey, NearDuplicate]:
    """Find chunks that repeat almost word for word one of another document that is worth more.

    The best chunk is taken first, so that no two that are left repeat each other.

    Parameters
    ----------
    runs : m of them
    scores : of their chunks
    threshold : least similarity, in (0, 1]
    taken : chunks that do not count, being left out anyway
    """
    scored = [
        (value, chunk)
        for run, row in zip(runs, scores.chunks, strict=True)
        for chunk, value in zip(run.chunks, row, strict=True)
        if chunk.key not in taken and len(chunk.text) >= MIN_REPEATED
    ]
    scored.sort(key=lambda pair: (-pair[0], pair[1].key))
    keys = [chunk.key for _, chunk in scored]
    read = [read_text(chunk.text, join=True, cased=True) for _, chunk in scored]
    found = repeats(read, threshold, [doc_id for doc_id, _ in keys])
    return {
        keys[position]: NearDuplicate(keys[other], found.similarity[position].item())
        for position, other in enumerate(found.of.tolist())
        if other != position
    }


def unshown_repeats(repeated: Mapping[ChunkKey, ChunkKey], shown: Collection[ChunkKey]) -> set[ChunkKey]:
    """Return repeated chunks whose better copy was not chosen: they count again."""
    return {key for key, other in repeated.items() if other not in shown}


# ---- after the selection: spans


def once_only(spans: Sequence[Span], counter: TokenCache) -> list[Span]:
    """Cut from each span what a longer one shows of the same document, so that nothing is shown twice.

    Overlapping chunks end up in different runs where a chunk between them is missing or was refused. Only text that
    really is the same is cut: offsets may lie.
    """
    if len({span.doc_id for span in spans}) == len(spans):
        return list(spans)
    if not _may_repeat(spans):
        return list(spans)
    shown: dict[str, list[tuple[int, str]]] = {}
    kept: dict[int, list[Span]] = {}
    for at in sorted(range(len(spans)), key=lambda at: -len(spans[at].text)):
        span = spans[at]
        known = shown.setdefault(span.doc_id, [])
        repeated = _find_repeated(span, known)
        known += [(s.char_start, span.text[s.start : s.end]) for s in span.segments if s.char_start is not None]
        parts = remaining(0, len(span.text), merge_ranges(repeated)) if repeated else []
        kept[at] = [span] if not repeated else []
        for low, high in parts:
            start, end = _tighten(span, low, high)
            if span.text[start:end].strip():
                kept[at].append(cut_span(span, start, end, counter.tokenizer.count(span.text[start:end])))
    return [part for at in range(len(spans)) for part in kept[at]]


def _may_repeat(spans: Sequence[Span]) -> bool:
    """Whether two spans of one document say that they hold the same places."""
    places: list[tuple[str, int, int]] = []
    for span in spans:
        known = [(s.char_start, s.char_start + s.end - s.start) for s in span.segments if s.char_start is not None]
        if known:
            places.append((span.doc_id, min(known)[0], max([end for _, end in known])))
    places.sort()
    return any(a[0] == b[0] and b[1] < a[2] for a, b in itertools.pairwise(places))


def _find_repeated(span: Span, shown: Sequence[tuple[int, str]]) -> list[tuple[int, int]]:
    """Stretches of a span's text that stand among the shown texts, each given with its document offset."""
    found: list[tuple[int, int]] = []
    for segment in span.segments:
        source, size = segment.char_start, segment.end - segment.start
        if source is None:
            continue
        for other, text in shown:
            low, high = max(source, other), min(source + size, other + len(text))
            start = segment.start + low - source
            if low < high and span.text[start : start + high - low] == text[low - other : high - other]:
                found.append((start, start + high - low))
    return found


def _tighten(span: Span, start: int, end: int) -> tuple[int, int]:
    """Leave off a joiner at either end of a stretch: it has nothing to join any more."""
    inside = [s for s in span.segments if s.start < end and s.end > start]
    return (max(start, inside[0].start), min(end, inside[-1].end)) if inside else (start, start)
