"""Exclusions: passages that must not be shown again, because they are pinned or were shown in earlier turns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from retrivex.errors import RetrivexError
from retrivex.model.chunk import Chunk, ChunkKey
from retrivex.model.run import Run, Segment
from retrivex.model.span import Span
from retrivex.text.ranges import merge_ranges, remaining
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
    """

    ranges: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    keys: set[ChunkKey] = field(default_factory=set)

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
                    self.texts.append(item)
            case Span():
                for segment, start in _placed(item):
                    self._add_range(item.doc_id, start, start + segment.end - segment.start)
                if not (item.exact and item.char_start is not None):
                    self.texts.append(item.text)
            case Chunk():
                self._add_chunk(item)
            case (str() as doc_id, int() as start, int() as end):
                self._add_range(doc_id, start, end)
            case _ if hasattr(item, "spans"):
                for span in item.spans:
                    self.add(span)
            case _:
                raise RetrivexError(
                    f"exclude holds {item!r:.80}: give texts, spans, chunks, compositions or "
                    "(doc_id, char_start, char_end)"
                )

    def _add_chunk(self, item: Chunk) -> None:
        metadata = item.metadata
        self.keys.add(item.key)
        start, end = metadata.char_start, metadata.char_end
        if start is not None and end is not None and end - start == len(item.text):
            self._add_range(metadata.doc_id, start, end)
        else:
            self.texts.append(item.text)

    def _add_range(self, doc_id: str, start: int, end: int) -> None:
        self.ranges.setdefault(doc_id, []).append((start, end))

    def left_of(self, span: Span) -> list[tuple[int, int]]:
        """Return what a span shows that is not excluded, as ranges of its text."""
        if not span.exact and span.text in self.texts:
            return []
        shown = self.ranges.get(span.doc_id, ())
        cuts = [
            (segment.start + max(low - start, 0), segment.start + min(high - start, segment.end - segment.start))
            for segment, start in _placed(span)
            for low, high in shown
            if low < start + segment.end - segment.start and high > start
        ]
        whole = (0, len(span.text))
        parts = remaining(*whole, merge_ranges(cuts))
        # what joined passages is no passage
        return [part for part in parts if part == whole or any(c.isalnum() for c in span.text[slice(*part)])]

    def touch(self, doc_id: str, char_start: int | None, text: str) -> bool:
        """Whether a passage repeats any of what is excluded."""
        if char_start is not None:
            end = char_start + len(text)
            if any(low < end and high > char_start for low, high in self.ranges.get(doc_id, ())):
                return True
        return any(_repeats(shown, text) or _repeats(text, shown) for shown in self.texts)

    def cuts(self, run: Run) -> list[tuple[int, int]]:
        """Return what to take out of a run's text: merged `(start, end)` ranges, ascending."""
        found: list[tuple[int, int]] = []
        for source_start, source_end in self.ranges.get(run.doc_id, ()):
            for (start, end), source in zip(run.ranges, run.sources, strict=True):
                if source is None:
                    continue
                low = max(start, start + source_start - source)
                high = min(end, start + source_end - source)
                if low < high:
                    found.append((low, high))
        if self.keys:
            found += [place for place, chunk in zip(run.ranges, run.chunks, strict=True) if chunk.key in self.keys]
        for text in self.texts:
            found += _find_repeats(run, text)
        return merge_ranges(found)


def _placed(span: Span) -> list[tuple[Segment, int]]:
    """Return the stretches of a span whose place in the document is known, and where each begins there.

    A span that is not exact has white space between them of which that is not known.
    """
    if span.exact and span.char_start is not None:
        return [(Segment(0, len(span.text), span.chunk_ids[0], span.char_start), span.char_start)]
    return [(segment, segment.char_start) for segment in span.segments if segment.char_start is not None]


def _find_repeats(run: Run, shown: str) -> Iterable[tuple[int, int]]:
    """Ranges of a run that repeat `shown`: all of it, whole chunks of it, or whole sentences of it.

    What is shorter than `MIN_SENTENCE` repeats only what is the same as a whole: "cat" must not cut "concatenate".
    """
    long = len(shown) >= MIN_SENTENCE
    at = run.text.find(shown) if long else -1
    while at != -1:
        yield (at, at + len(shown))
        at = run.text.find(shown, at + len(shown))
    for (start, end), chunk in zip(run.ranges, run.chunks, strict=True):
        if _repeats(chunk.text, shown):
            yield (start, end)
            continue
        for first, last in sentence_ranges(chunk.text):
            if _repeats(chunk.text[first:last], shown):
                yield (start + first, start + last)


def _repeats(text: str, shown: str) -> bool:
    return text.strip() == shown.strip() or (len(text) >= MIN_SENTENCE and text in shown)
