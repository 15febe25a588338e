"""Exclusions: passages that must not be shown again, because they are pinned or were shown in earlier turns."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from retrivex.errors import RetrivexError, quoted
from retrivex.merging.parents import PlacedParent
from retrivex.model.chunk import Chunk, ChunkKey
from retrivex.model.run import Run, Segment
from retrivex.model.span import Span, ids_without_place
from retrivex.text.occurrences import TextIndex
from retrivex.text.ranges import add_range, merge_ranges, overlapping, remaining
from retrivex.text.sentences import sentence_ranges

MIN_SENTENCE = 24
"""Characters from which on a sentence that was shown before counts as a repetition; shorter ones recur by chance."""


MIN_REPEATED = 40
"""Characters from which on two equal chunks count as the same passage indexed twice; shorter ones recur by chance."""


@dataclass(slots=True)
class Exclusions:
    """Texts and document ranges that are taken out of the candidates.

    Parameters
    ----------
    ranges : per document, `(char_start, char_end)`
    texts : shown texts whose place in a document is not known
    keys : chunks that are taken out whole
    unplaced : chunks of shown spans of which it is not known where they stand
    """

    ranges: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    texts: set[str] = field(default_factory=set)
    keys: set[ChunkKey] = field(default_factory=set)
    unplaced: set[ChunkKey] = field(default_factory=set)
    _merged: dict[str, list[tuple[int, int]]] = field(default_factory=dict, init=False, repr=False)
    _in_chunks: dict[tuple[ChunkKey, str | None], list[tuple[int, int]]] = field(
        default_factory=dict, init=False, repr=False
    )  # what is shown of chunks in `unplaced`, as ranges of their texts

    def __bool__(self) -> bool:
        return bool(self.ranges or self.texts or self.keys)

    @classmethod
    def of(cls, items: Sequence[Any]) -> Exclusions:
        """Take in what `add` takes, or one bare `(doc_id, char_start, char_end)`."""
        made = cls()
        match items:
            case (str(), int(), int()):
                made.add(tuple(items))
            case _:
                for item in items:
                    made.add(item)
        return made

    def add(self, item: Any) -> None:
        """Take in a text, a Span, a Chunk, a `(doc_id, char_start, char_end)`, or anything with `spans`.

        Raises
        ------
        RetrivexError
            If it is something else.
        """
        match item:
            case str():
                if item:
                    self.texts.add(item)
            case Span():
                for segment, start in _placed(item):
                    self._add_range(item.doc_id, start, start + segment.end - segment.start)
                if not (item.exact and item.char_start is not None):
                    self.texts.add(item.text)
                self.unplaced.update((item.doc_id, chunk_id) for chunk_id in ids_without_place(item))
                for segment, key, start in _places_in_chunks(item):
                    add_range(self._in_chunks.setdefault(key, []), start, start + segment.end - segment.start)
            case Chunk():
                self._add_chunk(item)
            case (str() as doc_id, int() as start, int() as end):
                self._add_range(doc_id, start, end)
            case _ if hasattr(item, "spans"):
                for span in item.spans:
                    self.add(span)
            case _:
                raise RetrivexError(
                    f"exclude holds {quoted(item)}: give texts, spans, chunks, compositions or "
                    "(doc_id, char_start, char_end)"
                )

    def _add_chunk(self, item: Chunk) -> None:
        metadata = item.metadata
        self.keys.add(item.key)
        start, end = metadata.char_start, metadata.char_end
        if start is not None and end is not None and end - start == len(item.text):
            self._add_range(metadata.doc_id, start, end)
        else:
            self.texts.add(item.text)

    def _add_range(self, doc_id: str, start: int, end: int) -> None:
        self.ranges.setdefault(doc_id, []).append((start, end))
        if start <= end:
            add_range(self._merged.setdefault(doc_id, []), start, end)

    def left_of(self, span: Span) -> list[tuple[int, int]]:
        """Return what a span shows that is not excluded, as ranges of its text."""
        if not span.exact and span.text in self.texts:
            return []
        by_place = [(segment, self._merged.get(span.doc_id, ()), start) for segment, start in _placed(span)]
        by_chunk = [(segment, self._in_chunks.get(key, ()), start) for segment, key, start in _places_in_chunks(span)]
        cuts = [
            (segment.start + max(low - start, 0), segment.start + min(high - start, segment.end - segment.start))
            for segment, shown, start in [*by_place, *by_chunk]
            for low, high in overlapping(shown, start, start + segment.end - segment.start)
        ]
        whole = (0, len(span.text))
        parts = remaining(*whole, merge_ranges(cuts))
        if parts == [whole]:
            return parts
        # what joined passages is no passage, and goes with what it joined
        passages = merge_ranges([(segment.start, segment.end) for segment in span.segments]) or [whole]
        parts = [_trim(part, overlapping(passages, *part)) for part in parts]
        return [part for part in parts if any(c.isalnum() for c in span.text[slice(*part)])]

    def touch(self, passages: Sequence[tuple[str, int | None, str]]) -> list[bool]:
        """Whether each passage, a `(doc_id, char_start, text)`, repeats any of what is excluded."""
        reach = {doc_id: _Reach(ranges) for doc_id, ranges in self.ranges.items()}
        touched = [
            start is not None and doc_id in reach and reach[doc_id].meets(start, start + len(text))
            for doc_id, start, text in passages
        ]
        if self.texts and not all(touched):
            texts = [text for _, _, text in passages]
            repeats = _repeats_any(self.texts)
            touched = [found or repeats(text) for found, text in zip(touched, texts, strict=True)]
            for number, _, _ in _find_whole(self.texts, texts):
                touched[number] = True
        return touched

    def touch_parents(self, parents: Sequence[PlacedParent]) -> list[bool]:
        """Whether each parent shows any of what is excluded: by itself, or by a chunk or sentence that stands in it."""
        if not self:
            return [False for _ in parents]
        touched = self.touch([(parent.doc_id, parent.char_start, parent.text) for parent in parents])
        gone = self.keys | self.unplaced
        passages: list[tuple[int, tuple[str, int | None, str]]] = []
        for number, parent in enumerate(parents):
            touched[number] = touched[number] or any(chunk.key in gone for chunk in parent.held)
            if not touched[number]:
                passages += [(number, passage) for passage in self._passages_in(parent)]
        for (number, _), found in zip(passages, self.touch([passage for _, passage in passages]), strict=True):
            touched[number] = touched[number] or found
        return touched

    def _passages_in(self, parent: PlacedParent) -> Iterator[tuple[str, int | None, str]]:
        """Yield what of a parent may be excluded by itself, where that is not said by the place of the parent."""
        for chunk in parent.held:
            start = chunk.metadata.char_start if parent.char_start is None else None
            yield parent.doc_id, start, chunk.text
        if self.texts:
            for text in (parent.text, *(chunk.text for chunk in parent.held)):
                for start, end in sentence_ranges(text):
                    yield parent.doc_id, None, text[start:end]

    def cuts(self, runs: Sequence[Run]) -> list[list[tuple[int, int]]]:
        """Return what to take out of the text of each run: merged `(start, end)` ranges, ascending."""
        if not self:
            return [[] for _ in runs]
        found = [[*self._cuts_by_place(run)] for run in runs]
        if self.texts:
            for number, start, end in _find_repeats(runs, self.texts):
                found[number].append((start, end))
        return [merge_ranges(ranges) for ranges in found]

    def _cuts_by_place(self, run: Run) -> Iterator[tuple[int, int]]:
        shown = self._merged.get(run.doc_id, ())
        for (start, end), source, chunk in zip(run.ranges, run.sources, run.chunks, strict=True):
            if chunk.key in self.keys:
                yield start, end
            elif source is not None:
                for low, high in overlapping(shown, source, source + end - start):
                    if low < high:
                        yield start + max(low - source, 0), start + min(high - source, end - start)


class _Reach:
    """Ranges of one document, in any order, among which one that meets another is soon found."""

    def __init__(self, ranges: Sequence[tuple[int, int]]) -> None:
        ordered = sorted(ranges)
        self.starts = [start for start, _ in ordered]
        self.furthest = [*accumulate((end for _, end in ordered), max)]

    def meets(self, start: int, end: int) -> bool:
        """Whether any of them has something of `start..end`."""
        before = bisect_left(self.starts, end)
        return before > 0 and self.furthest[before - 1] > start


def _trim(part: tuple[int, int], passages: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return a range from the first to the last of the passages that it holds; empty where it holds none."""
    if not passages:
        return (part[0], part[0])
    return max(part[0], passages[0][0]), min(part[1], passages[-1][1])


def _placed(span: Span) -> list[tuple[Segment, int]]:
    """Return the stretches of a span whose place in the document is known, and where each begins there.

    A span that is not exact has white space between them of which that is not known.
    """
    if span.exact and span.char_start is not None:
        return [(Segment(0, len(span.text), span.chunk_ids[0], span.char_start), span.char_start)]
    return [(segment, segment.char_start) for segment in span.segments if segment.char_start is not None]


def _places_in_chunks(span: Span) -> Iterator[tuple[Segment, tuple[ChunkKey, str | None], int]]:
    """Yield the stretches of a span whose place in the document is not known: of which chunk, and from where in it."""
    if span.exact and span.char_start is not None:
        return
    chunks = {chunk.metadata.chunk_id: chunk for chunk in span.chunks}
    for segment in span.segments:
        chunk = chunks.get(segment.chunk_id) if segment.char_start is None else None
        start = -1 if chunk is None else chunk.text.find(span.text[segment.start : segment.end])
        if chunk is not None and start >= 0 and segment.start < segment.end:
            yield segment, ((span.doc_id, segment.chunk_id), chunk.metadata.scope), start


def _find_repeats(runs: Sequence[Run], shown: Collection[str]) -> Iterator[tuple[int, int, int]]:
    """Ranges of runs, each after the number of its run, that repeat all of a shown text, or a whole chunk or sentence.

    What is shorter than `MIN_SENTENCE` repeats only what is the same as a whole: "cat" must not cut "concatenate".
    """
    yield from _find_whole(shown, [run.text for run in runs])
    repeats = _repeats_any(shown)
    for number, run in enumerate(runs):
        for (start, end), chunk in zip(run.ranges, run.chunks, strict=True):
            if repeats(chunk.text):
                yield number, start, end
                continue
            for first, last in sentence_ranges(chunk.text):
                if repeats(chunk.text[first:last]):
                    yield number, start + first, start + last


def _find_whole(shown: Collection[str], texts: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Where all of a shown text stands in other texts: the number of the text, start and end."""
    index = TextIndex(texts)
    for text in shown:
        if len(text) >= MIN_SENTENCE:
            for number, at in index.places(text):
                yield number, at, at + len(text)


def _repeats_any(shown: Collection[str]) -> Callable[[str], bool]:
    """Return whether a text is the same as a shown text or stands in one."""
    same = {text.strip() for text in shown}
    index = TextIndex([text for text in shown if len(text) >= MIN_SENTENCE])
    return lambda text: text.strip() in same or (len(text) >= MIN_SENTENCE and index.holds(text))
