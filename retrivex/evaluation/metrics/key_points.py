"""Recall and precision of key points, found in texts by their exact words."""

from __future__ import annotations

from collections.abc import Sequence

from retrivex.errors import RetrivexError, quoted
from retrivex.evaluation.metrics.arguments import list_of
from retrivex.evaluation.metrics.words import finder


def key_point_recall(key_points: Sequence[str], texts: Sequence[str], *, ignore_case: bool = False) -> float:
    """Return the share of key points that stand in some text, word for word: "hen" does not stand in "then".

    In Chinese, Japanese and other scripts without spaces between words, any characters of the text will do.

    Parameters
    ----------
    key_points : not empty, none blank
    texts : of the passages shown
    ignore_case : whether "Bees" is the same as "bees"

    Raises
    ------
    RetrivexError
        If there are no key points, one is blank (it would stand in every text), or an argument is no list of texts.

    Examples
    --------
    >>> key_point_recall(["one queen", "no king"], ["A hive has one queen.", "Ants do too."])
    0.5
    """
    points, shown = _points(key_points, ignore_case), _texts(texts, ignore_case)
    return sum(any(map(stands, shown)) for stands in map(finder, points)) / len(points)


def key_point_precision(key_points: Sequence[str], texts: Sequence[str], *, ignore_case: bool = False) -> float:
    """Return the share of texts in which some key point stands; 0 without texts. Arguments as `key_point_recall`.

    Examples
    --------
    >>> key_point_precision(["one queen", "no king"], ["A hive has one queen.", "Ants do too."])
    0.5
    """
    points = [finder(point) for point in _points(key_points, ignore_case)]
    shown = _texts(texts, ignore_case)
    return sum(any(stands(text) for stands in points) for text in shown) / len(shown) if shown else 0.0


def _points(key_points: Sequence[str], ignore_case: bool) -> list[str]:
    points = list_of(key_points, "key_points")
    if not points or not all(map(str.strip, points)):
        raise RetrivexError(f"key points are {quoted(points)}: give a list of texts, at least one and none blank")
    return _texts(points, ignore_case)


def _texts(texts: Sequence[str], ignore_case: bool) -> list[str]:
    given = list_of(texts, "texts")
    return [text.casefold() for text in given] if ignore_case else given
