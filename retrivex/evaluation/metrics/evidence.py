r"""The share of the evidence that a context shows, and its cost in tokens.

A context is a set of ranges of characters, as is the evidence. With :math:`G` the gold characters, :math:`S` the shown
and :math:`H` those of the hits' own chunks:

- *recall* :math:`|S \cap G| / |G|`, *precision* :math:`|S \cap G| / |S|`, *IoU* :math:`|S \cap G| / |S \cup G|`
  (as in Smith & Troynikov, "Evaluating Chunking Strategies for Retrieval", 2024, on characters);
- *complete*: whether every passage of evidence is shown to 99 %;
- *rescued* :math:`|(S \setminus H) \cap G| / |G|`: evidence that no hit held, shown all the same;
- *lost* :math:`|(H \setminus S) \cap G| / |G|`: evidence that the hits held and the context does not show.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from retrivex.errors import RetrivexError
from retrivex.evaluation.questions.evidence import Evidence

Range: TypeAlias = tuple[str, int, int]
"""`(doc_id, start, end)`: characters of a document, end exclusive."""

Shown: TypeAlias = Mapping[str, Sequence[tuple[int, int]]]
"""By document: ranges in ascending order, neither overlapping nor touching."""

COMPLETE = 0.99
"""Share of a passage from which on it counts as shown: white space at its edges must not decide."""


@dataclass(frozen=True, slots=True)
class ContextScores:
    """The scores of one context for one question.

    Parameters
    ----------
    recall, precision, iou : in [0, 1], on characters
    complete : whether every passage of evidence is shown
    rescued, lost : shares of the evidence: shown without a hit on it; hit and not shown
    spans : contiguous ranges of text shown
    duplicate_share : share of the tokens given that repeat text already shown
    tokens : tokens of the text shown
    """

    recall: float
    precision: float
    iou: float
    complete: bool
    rescued: float
    lost: float
    spans: int
    duplicate_share: float
    tokens: int


def united(ranges: Iterable[Range]) -> dict[str, list[tuple[int, int]]]:
    """Return the ranges by document, joined where they overlap or touch; empty ones vanish.

    Examples
    --------
    >>> united([("d", 4, 6), ("d", 0, 3), ("d", 2, 4), ("e", 5, 5)])
    {'d': [(0, 6)]}
    """
    joined: dict[str, list[tuple[int, int]]] = {}
    for doc_id, start, end in sorted(part for part in ranges if part[1] < part[2]):
        parts = joined.setdefault(doc_id, [])
        if parts and start <= parts[-1][1]:
            parts[-1] = (parts[-1][0], max(end, parts[-1][1]))
        else:
            parts.append((start, end))
    return joined


def covered(part: Range, shown: Shown) -> int:
    """Return how many characters of a range are shown.

    Examples
    --------
    >>> covered(("d", 2, 10), {"d": [(0, 4), (8, 20)]})
    4
    """
    doc_id, start, end = part
    return sum(max(0, min(end, high) - max(start, low)) for low, high in shown.get(doc_id, ()))


def uncovered(part: Range, shown: Shown) -> list[Range]:
    """Return the pieces of a range that are not shown, in order.

    Examples
    --------
    >>> uncovered(("d", 2, 10), {"d": [(0, 4), (6, 8)]})
    [('d', 4, 6), ('d', 8, 10)]
    """
    doc_id, start, end = part
    pieces = []
    for low, high in shown.get(doc_id, ()):
        if start < min(low, end):
            pieces.append((doc_id, start, min(low, end)))
        start = max(start, min(high, end))
    return [*pieces, (doc_id, start, end)] if start < end else pieces


def score_context(
    ranges: Iterable[Range],
    evidence: Sequence[Evidence],
    hits: Iterable[Range] = (),
    *,
    tokens: int = 0,
    duplicate_tokens: int = 0,
) -> ContextScores:
    """Return what a context is worth.

    Parameters
    ----------
    ranges : the characters shown, in any order; they may overlap
    evidence : every passage that answers the question
    hits : the characters of the chunks that the retriever found
    tokens : tokens of the text shown
    duplicate_tokens : tokens that the method would have shown a second time

    Raises
    ------
    RetrivexError
        If there is no evidence, or only empty: nothing can be measured.

    Examples
    --------
    >>> found = score_context([("d", 0, 60)], [Evidence("d", 40, 80)], [("d", 0, 50)], tokens=12)
    >>> found.recall, round(found.precision, 2), found.complete, found.rescued, found.lost
    (0.5, 0.33, False, 0.25, 0.0)
    """
    asked = [(part.doc_id, part.start, part.end) for part in evidence]
    shown, found = united(ranges), united(hits)
    gold = [(doc_id, *part) for doc_id, parts in united(asked).items() for part in parts]
    if not gold:
        raise RetrivexError("evidence is empty: leave out questions that the documents do not answer")
    wanted = sum(end - start for _, start, end in gold)
    right = sum(covered(part, shown) for part in gold)
    size = sum(high - low for parts in shown.values() for low, high in parts)
    rescued = sum(covered(piece, shown) for part in gold for piece in uncovered(part, found))
    lost = sum(covered(piece, found) for part in gold for piece in uncovered(part, shown))
    return ContextScores(
        recall=right / wanted,
        precision=right / size if size else 0.0,
        iou=right / (size + wanted - right),
        complete=all(covered(part, shown) / (part[2] - part[1]) >= COMPLETE for part in asked if part[1] < part[2]),
        rescued=rescued / wanted,
        lost=lost / wanted,
        spans=sum(map(len, shown.values())),
        duplicate_share=duplicate_tokens / (tokens + duplicate_tokens) if duplicate_tokens else 0.0,
        tokens=tokens,
    )
