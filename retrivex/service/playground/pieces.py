"""Texts cut into pieces, so that who shows them counts no characters: languages disagree on what one is."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from retrivex.composition.composition import Citation, Composition
from retrivex.composition.trace import UnitNote
from retrivex.model.chunk import Chunk, ChunkKey
from retrivex.text.ranges import merge_ranges, remaining


class Mark(NamedTuple):
    """A stretch of a text, `text[start:end]`, and what is there."""

    start: int
    end: int
    what: Any


def cut(length: int, *layers: Sequence[Mark]) -> Iterator[tuple[int, int, list[Any]]]:
    """Yield the pieces between all marks: start, end, and of each layer what is there, or None.

    Where marks of a layer overlap, the one that begins last counts.

    Examples
    --------
    >>> list(cut(9, [Mark(2, 5, "a")], [Mark(4, 9, "b")]))
    [(0, 2, [None, None]), (2, 4, ['a', None]), (4, 5, ['a', 'b']), (5, 9, [None, 'b'])]
    """
    ordered = [sorted(layer, key=lambda mark: mark.start) for layer in layers]
    starts = [[mark.start for mark in layer] for layer in ordered]
    edges = {0, length, *(edge for layer in layers for mark in layer for edge in mark[:2] if 0 <= edge <= length)}
    for low, high in pairwise(sorted(edges)):
        last = [bisect_right(begun, low) - 1 for begun in starts]
        there = [layer[at] if at >= 0 else None for layer, at in zip(ordered, last, strict=True)]
        yield low, high, [mark.what if mark and mark.end > low else None for mark in there]


def place_citation(citation: Citation, quoted: str, chunk: Chunk) -> Mark | None:
    """Return where in its chunk a quoted stretch stands; None where that is not known."""
    start = chunk.metadata.char_start
    if start is not None and citation.char_start is not None:
        low = citation.char_start - start
        if chunk.text[max(low, 0) : low + len(quoted)] == quoted:
            return Mark(low, low + len(quoted), citation.number)
    low = chunk.text.find(quoted)
    return None if low < 0 else Mark(low, low + len(quoted), citation.number)


def place_unit(note: UnitNote, number: int, chunk: Chunk) -> Mark | None:
    """Return where in a chunk a group of sentences stands; None where that is not known, or elsewhere."""
    start = chunk.metadata.char_start
    if start is not None and note.char_start is not None:
        low, high = max(note.char_start - start, 0), min(note.char_start + note.length - start, len(chunk.text))
        return Mark(low, high, number) if low < high else None
    low = chunk.text.find(note.beginning)
    return None if low < 0 else Mark(low, min(low + note.length, len(chunk.text)), number)


def cut_chunk(chunk: Chunk, units: Sequence[Mark], cited: Sequence[Mark]) -> list[dict[str, Any]]:
    """Return a chunk's text in pieces: `text`, `group` and `number`, where they are known."""
    return [
        {"text": chunk.text[low:high]}
        | ({} if group is None else {"group": group})
        | ({} if number is None else {"number": number})
        for low, high, (group, number) in cut(len(chunk.text), units, cited)
    ]


def cut_context(composition: Composition, other: Composition | None) -> list[dict[str, Any]]:
    """Return the context in pieces: `text`, its source where it has one, and `only` where `other` does not show it."""
    text = composition.text
    cited = [Mark(citation.start, citation.end, citation) for citation in composition.citations]
    alone = [] if other is None else _find_own(composition, other)
    return [
        {"text": text[low:high]}
        | ({} if citation is None else _source(citation))
        | ({} if only is None else {"only": True})
        for low, high, (citation, only) in cut(len(text), cited, alone)
    ]


def _source(citation: Citation) -> dict[str, Any]:
    return {
        "number": citation.number,
        "doc_id": citation.doc_id,
        "chunk_id": citation.chunk_id,
        "char_start": citation.char_start,
        "char_end": citation.char_end,
    }


def _find_own(composition: Composition, other: Composition) -> list[Mark]:
    """Return the stretches of a context that another one does not show: by offsets, else by the words themselves."""
    theirs: Mapping[str, list[tuple[int, int]]] = _ranges_by_document(other.citations)
    marks = []
    for citation in composition.citations:
        low, high = citation.char_start, citation.char_end
        if low is None or high is None:
            if composition.text[citation.start : citation.end] not in other.text:
                marks.append(Mark(citation.start, citation.end, True))
            continue
        shift = citation.start - low
        rest = remaining(low, high, theirs.get(citation.doc_id, ()))
        marks += [Mark(start + shift, end + shift, True) for start, end in rest]
    return marks


def _ranges_by_document(citations: Sequence[Citation]) -> dict[str, list[tuple[int, int]]]:
    made: dict[str, list[tuple[int, int]]] = {}
    for citation in citations:
        if citation.char_start is not None and citation.char_end is not None:
            made.setdefault(citation.doc_id, []).append((citation.char_start, citation.char_end))
    return {doc_id: merge_ranges(ranges) for doc_id, ranges in made.items()}


def marks_by_chunk(composition: Composition, chunks: Mapping[ChunkKey, Chunk]) -> dict[ChunkKey, list[Mark]]:
    """Return where in their chunks the citations of a composition stand."""
    made: dict[ChunkKey, list[Mark]] = {}
    for citation in composition.citations:
        key = (citation.doc_id, citation.chunk_id)
        if key in chunks:
            mark = place_citation(citation, composition.text[citation.start : citation.end], chunks[key])
            made.setdefault(key, []).extend([mark] if mark else [])
    return made
