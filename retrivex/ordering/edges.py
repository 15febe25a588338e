"""Orders that put the best passages at the edges, where a model with u-shaped attention reads best.

Liu et al., "Lost in the Middle", TACL 2024, arXiv 2307.03172. How much that helps depends on the model.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from retrivex.errors import OrderingError, quoted
from retrivex.model.fields import Field
from retrivex.ordering.ranking import score_desc

T = TypeVar("T")


def edge_balanced(
    items: Iterable[T],
    *,
    ranked: bool = False,
    score: Field = "score",
    start_count: int | None = None,
    end_count: int | None = None,
) -> list[T]:
    """Best first, second best last, and so on inwards: the weakest stand in the middle.

    The same for odd and even numbers of items: rank 1 is always first and rank 2 always last.

    Parameters
    ----------
    items, ranked, score : as in `score_desc`
    start_count, end_count : both given, the best `start_count` come first, best first, the next `end_count` come
        last, best of them first, and the rest stand between by score; without effect where that is all of them

    Raises
    ------
    OrderingError
        If a score is missing, no number, NaN or infinite, or only one count is given, or one is negative.

    Examples
    --------
    >>> edge_balanced(range(1, 10), ranked=True)
    [1, 3, 5, 7, 9, 8, 6, 4, 2]
    >>> edge_balanced(range(1, 10), ranked=True, start_count=3, end_count=2)
    [1, 2, 3, 6, 7, 8, 9, 4, 5]
    """
    best_first = score_desc(items, ranked=ranked, score=score)
    if start_count is not None or end_count is not None:
        head, tail = (_check_count(count) for count in (start_count, end_count))
        if head + tail < len(best_first):
            return best_first[:head] + best_first[head + tail :] + best_first[head : head + tail]
    return best_first[0::2] + best_first[1::2][::-1]


def _check_count(count: int | None) -> int:
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise OrderingError(f"a count of the edges is {quoted(count)}: give both as whole numbers from 0, or neither")
    return count


def alternating(items: Iterable[T], *, ranked: bool = False, score: Field = "score") -> list[T]:
    """Best, worst, second best, second worst, and so on: strong and weak passages take turns.

    A published rule of thumb. What it does is what it says: only its first place follows attention; the second best
    stands third and the worst second, so that on a u-shaped curve it is worse than `edge_balanced`.

    Examples
    --------
    >>> alternating(["Doc1", "Doc2", "Doc3", "Doc4", "Doc5"], ranked=True)
    ['Doc1', 'Doc5', 'Doc2', 'Doc4', 'Doc3']
    """
    best_first = score_desc(items, ranked=ranked, score=score)
    half = (len(best_first) + 1) // 2
    best_first[0::2], best_first[1::2] = best_first[:half], best_first[: half - 1 : -1]
    return best_first
