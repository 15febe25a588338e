"""Deduplication of passages: equal texts, or near-duplicates by character trigrams."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, TypeAlias, TypeVar, get_args

import numpy as np

from retrivex.errors import RetrivexError, quoted
from retrivex.model.fields import Field, as_list, scores_of, texts_of
from retrivex.similarity.near_duplicates import Repeats, repeats
from retrivex.text.words import read_text

T = TypeVar("T")

Keep: TypeAlias = Literal["highest_score", "first", "last"]
CompareWith: TypeAlias = Literal["first", "kept"]


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A passage that is left out because it repeats another.

    Parameters
    ----------
    position : of the passage
    kept : position of the passage that is kept in its place
    like : position of the passage that it was compared with
    similarity : of the texts of `position` and `like`, at least the threshold
    """

    position: int
    kept: int
    like: int
    similarity: float


def deduplicate(
    passages: Iterable[T],
    threshold: float = 1.0,
    keep: Keep = "highest_score",
    *,
    compare_with: CompareWith = "first",
    text: Field = "text",
    score: Field = "score",
) -> list[T]:
    """Return the passages without duplicates, in the order given.

    Passages are taken in order. One that is like none before it opens a group, every later one that is like it joins,
    and of each group one is kept. The result is that of comparing all pairs; few are compared. The semantics are those
    of rag-chunk-reorder 0.1.7, with characters instead of UTF-16 units.

    Parameters
    ----------
    passages : dictionaries or objects with a text and a score, seed hits, or plain texts
    threshold : least similarity of duplicates, in [0, 1]: the Jaccard similarity of their character trigrams, as words
        are read apart from case. 1.0 leaves out equal texts alone; 0.85 also those in which some words differ; below
        0.4 or so it is slow, as most pairs have to be read
    keep : of a group, the passage with the highest score (the earliest of several), the first or the last
    compare_with : `first` takes passages in the order given, so that each is compared with the first of a group even
        where a better one is kept. `kept` takes them in the order of `keep`, the best, the first or the last to begin
        with: each is compared with what is kept, and no two that are kept are alike
    text, score : names of fields, or functions that read them; a dictionary's `metadata` is looked through too

    Raises
    ------
    PassageError
        If a passage has no text, or, where the highest score is kept, no score that is a finite number.
    RetrivexError
        If the threshold, `keep` or `compare_with` is not one of those above.

    Examples
    --------
    >>> deduplicate(["Bees sleep.", "Ants do not.", "Bees sleep."])
    ['Bees sleep.', 'Ants do not.']
    >>> found = [{"text": "A hive has one queen.", "score": 0.5}, {"text": "A hive has one queen!", "score": 0.9}]
    >>> deduplicate(found, threshold=0.85)
    [{'text': 'A hive has one queen!', 'score': 0.9}]
    """
    given = as_list(passages)
    gone = {
        duplicate.position
        for duplicate in find_duplicates(given, threshold, keep, compare_with=compare_with, text=text, score=score)
    }
    return [passage for position, passage in enumerate(given) if position not in gone]


def find_duplicates(
    passages: Iterable[Any],
    threshold: float = 1.0,
    keep: Keep = "highest_score",
    *,
    compare_with: CompareWith = "first",
    text: Field = "text",
    score: Field = "score",
) -> list[Duplicate]:
    """Return what `deduplicate` would leave out, and why, in the order given; arguments as there.

    Examples
    --------
    >>> found = find_duplicates(["A hive has one queen.", "Ants.", "A hive has one queen!"], 0.85)
    >>> [(duplicate.position, duplicate.kept, round(duplicate.similarity, 2)) for duplicate in found]
    [(2, 0, 0.9)]
    """
    _check(threshold, keep, compare_with)
    given = as_list(passages)
    texts = texts_of(given, text)
    scores = scores_of(given, score) if keep == "highest_score" else [0.0] * len(given)
    # best first; of equals the earliest
    ranked = sorted(range(len(given)), key=lambda i: -i if keep == "last" else i)
    ranked.sort(key=lambda i: -scores[i])
    if compare_with == "kept":
        found = _repeats([texts[i] for i in ranked], threshold)
        pairs = [(ranked[i], ranked[other]) for i, other in enumerate(found.of.tolist())]
        similarity = dict(zip(ranked, found.similarity.tolist(), strict=True))
        return sorted(
            (Duplicate(i, other, other, similarity[i]) for i, other in pairs if i != other), key=lambda d: d.position
        )
    return _of_groups(_repeats(texts, threshold), ranked)


def _of_groups(found: Repeats, ranked: Sequence[int]) -> list[Duplicate]:
    """Return the duplicates where groups were opened by the first of them and the best ranked is kept."""
    first, similarity = found.of.tolist(), found.similarity.tolist()
    kept: dict[int, int] = {}
    for position in ranked:
        kept.setdefault(first[position], position)
    made = []
    for position, opener in enumerate(first):
        other = kept[opener]
        if position == opener and position != other:
            # the first of a group gives way to one that was compared with it
            made.append(Duplicate(position, other, other, similarity[other]))
        elif position != other:
            made.append(Duplicate(position, other, opener, similarity[position]))
    return made


def _repeats(texts: Sequence[str], threshold: float) -> Repeats:
    if threshold < 1:
        return repeats([read_text(text, join=True, cased=True) for text in texts], threshold)
    first: dict[str, int] = {}
    of = [first.setdefault(text, position) for position, text in enumerate(texts)]
    return Repeats(np.array(of, dtype=np.int64), np.ones(len(texts)))


def _check(threshold: float, keep: str, compare_with: str) -> None:
    if isinstance(threshold, bool) or not isinstance(threshold, Real) or not 0 <= threshold <= 1:
        raise RetrivexError(f"threshold is {quoted(threshold)}: it must be a similarity from 0 to 1, e.g. 0.85")
    for name, value, allowed in (("keep", keep, get_args(Keep)), ("compare_with", compare_with, get_args(CompareWith))):
        if not isinstance(value, str) or value not in allowed:
            raise RetrivexError(f"{name} is {quoted(value)}: choose one of {', '.join(allowed)}")
