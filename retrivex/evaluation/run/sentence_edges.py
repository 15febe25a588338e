"""Whether a passage begins or ends inside a sentence of its document, or parts what is read together.

So does a passage that begins or ends inside a row, a fence of code or emphasis, that ends in a heading or the head of a
table, or that begins with a row without the head of its table. A line break ends a sentence, unless the text is wrapped
at a width.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping

from retrivex.text.leads import Lead, lead_at, leads_of
from retrivex.text.sentences import trim_range
from retrivex.text.structure import Part, is_wrapped, structure_of


class SentenceEdges:
    r"""The boundaries of the sentences, rows, fences and headings of documents, each read on first use.

    Parameters
    ----------
    documents : doc_id -> text

    Examples
    --------
    >>> edges = SentenceEdges({"d": "# Insects\nBees sleep. Ants work."})
    >>> edges.breaks("d", 0, 22), edges.breaks("d", 15, 32), edges.breaks("d", 0, 9)
    (False, True, True)
    """

    def __init__(self, documents: Mapping[str, str]) -> None:
        self._documents = documents
        self._known: dict[str, tuple[list[Part], list[Lead]]] = {}

    def breaks(self, doc_id: str, start: int, end: int, prefix: str | None = None) -> bool:
        """Return whether a range parts what is read together; white space at its edges does not matter.

        Parameters
        ----------
        doc_id : its document
        start, end : offsets
        prefix : what is shown in front of it, such as the head of a table
        """
        text = self._documents[doc_id]
        low, high = trim_range(text, start, end)
        if low >= high:
            return False
        if doc_id not in self._known:
            self._known[doc_id] = structure_of(text).parts, leads_of(text)
        parts, leads = self._known[doc_id]
        first = parts[bisect_right(parts, low, key=lambda part: part.start) - 1]
        last = parts[bisect_left(parts, high, key=lambda part: part.start) - 1]
        if last.kind in ("heading", "head") or _is_inside(text, last, high):
            return True
        own_prefix = (prefix or "").lstrip()
        if _is_inside(text, first, low):
            return not (first.kind == "code" and own_prefix.startswith(text[first.start : first.end].lstrip()[:3]))
        return first.kind == "row" and not own_prefix.startswith("|") and lead_at(text, low, leads) is not None


def _is_inside(text: str, part: Part, place: int) -> bool:
    """Whether a place parts a part, at no line break that ends a sentence."""
    low, high = trim_range(text, part.start, part.end)
    if not low < place < high:
        return False
    before, following = place, place
    while text[before - 1].isspace():
        before -= 1
    while text[following].isspace():
        following += 1
    line_break = text.find("\n", before, following)
    return part.kind != "text" or line_break < 0 or is_wrapped(text, line_break)
