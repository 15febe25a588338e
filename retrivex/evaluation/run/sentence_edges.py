"""Whether a passage begins or ends inside a sentence of its document.

A line break is an edge, too: what it parts are paragraphs, turns, rows or list items in most documents. In text that is
wrapped at a width, sentences that are broken at the end of a line are not seen.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

from retrivex.text.sentences import sentence_ranges, trim_range


class SentenceEdges:
    """The sentence boundaries of documents, each read on first use.

    Parameters
    ----------
    documents : doc_id -> text

    Examples
    --------
    >>> edges = SentenceEdges({"d": "Bees sleep. Ants work."})
    >>> edges.breaks("d", 0, 12), edges.breaks("d", 5, 22)
    (False, True)
    """

    def __init__(self, documents: Mapping[str, str]) -> None:
        self._documents = documents
        self._known: dict[str, tuple[list[int], list[int]]] = {}

    def breaks(self, doc_id: str, start: int, end: int) -> bool:
        """Return whether a range begins or ends inside a sentence; white space at its edges does not matter."""
        low, high = trim_range(self._documents[doc_id], start, end)
        return low < high and (self._is_inside(doc_id, low) or self._is_inside(doc_id, high))

    def _is_inside(self, doc_id: str, place: int) -> bool:
        if _is_at_line_break(self._documents[doc_id], place):
            return False
        if doc_id not in self._known:
            ranges = sentence_ranges(self._documents[doc_id])
            self._known[doc_id] = [start for start, _ in ranges], [end for _, end in ranges]
        starts, ends = self._known[doc_id]
        before = bisect_left(starts, place) - 1  # the last sentence that begins before the place
        return before >= 0 and place < ends[before]


def _is_at_line_break(text: str, place: int) -> bool:
    """Return whether there is a line break in the white space around a place."""
    low = high = place
    while low > 0 and text[low - 1].isspace():
        low -= 1
    while high < len(text) and text[high].isspace():
        high += 1
    return "\n" in text[low:high] or "\r" in text[low:high]
