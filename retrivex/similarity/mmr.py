r"""Maximal marginal relevance: passages chosen for their relevance and against repetition.

Maximal marginal relevance picks one passage after another, each time the one with the largest

.. math:: \lambda r - (1 - \lambda) \max_{s \in S} \mathrm{sim}(p, s) - \sigma n

with r its relevance, brought to [0, 1], S what is picked, and n how many in S are of its source. Source: Carbonell &
Goldstein, "The use of MMR, diversity-based reranking for reordering documents and producing summaries", 1998; the
source penalty :math:`\sigma` as in rag-chunk-reorder.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retrivex.errors import PassageError, RetrivexError, quoted
from retrivex.model.fields import Field, as_list, read_passages, scores_of, texts_of
from retrivex.similarity.pairwise import EmbeddingSimilarity, Similarity, TextSimilarity
from retrivex.similarity.vectors import Floats, finite_vector

T = TypeVar("T")


def diversify(
    passages: Iterable[T],
    *,
    relevance_weight: float = 0.7,
    source_penalty: float = 0.15,
    most: int | None = None,
    text: Field = "text",
    score: Field = "score",
    source: Field = "source_id",
    embedding: Field | None = None,
) -> list[T]:
    """Return all passages, those first that are relevant and repeat nothing before them.

    Parameters
    ----------
    passages : dictionaries or objects with a text and a score, or seed hits
    relevance_weight : lambda: 1 looks at scores alone, 0 at difference alone
    source_penalty : what a passage loses for each one before it of the same source; 0 for nothing. Passages without a
        source lose nothing
    most : only the best n are picked from, the others follow by score; None for all. Time grows with n squared
    text, score, source : names of fields, or functions that read them; `metadata` is looked through too
    embedding : the field of the embeddings, to compare by cosine; None compares texts by their character trigrams

    Raises
    ------
    PassageError
        If a passage has no text (or no embedding, where they are compared) or no finite score.
    RetrivexError
        If a weight is out of range.

    Examples
    --------
    >>> found = [{"text": "Bees sleep at night.", "score": 0.9}, {"text": "Bees sleep at night!", "score": 0.8},
    ...          {"text": "A hive has one queen.", "score": 0.6}]
    >>> [passage["score"] for passage in diversify(found, relevance_weight=0.5)]
    [0.9, 0.6, 0.8]
    """
    relevance_weight, source_penalty = _weights(relevance_weight, source_penalty)
    _check_most(most)
    given = as_list(passages)
    scores = scores_of(given, score)
    ranked = sorted(range(len(given)), key=lambda i: -scores[i])
    top = sorted(ranked[:most])  # of equals, the first in the order given is picked
    chosen = [given[i] for i in top]
    similarity = TextSimilarity(texts_of(chosen, text)) if embedding is None else _embeddings(chosen, embedding)
    picked = pick_diverse(
        [scores[i] for i in top],
        similarity,
        relevance_weight=relevance_weight,
        sources=_sources(chosen, source),
        source_penalty=source_penalty,
    )
    return [given[top[i]] for i in picked.order] + [given[i] for i in ranked[len(top) :]]


@dataclass(frozen=True, slots=True)
class Picks:
    """The choice of maximal marginal relevance.

    Parameters
    ----------
    order : positions of n passages, in the order in which they are picked
    repeated : shape (n,), of each passage how alike the most similar one is that was picked before it
    """

    order: list[int]
    repeated: Floats


def pick_diverse(
    relevance: ArrayLike,
    similarity: Similarity,
    *,
    relevance_weight: float,
    sources: Sequence[Hashable | None] | None = None,
    source_penalty: float = 0.0,
) -> Picks:
    """Pick one passage after another by maximal marginal relevance; of equals, the first.

    Parameters
    ----------
    relevance : shape (n,), on any scale: the least counts as 0, the best as 1
    similarity : of the same passages
    relevance_weight : lambda, in [0, 1]
    sources : n values; None for a passage without one
    source_penalty : sigma

    Raises
    ------
    RetrivexError
        If a weight is out of range, the relevance is no row of finite numbers, or there are not as many sources.
    """
    relevance_weight, source_penalty = _weights(relevance_weight, source_penalty)
    values = finite_vector(relevance)
    if values is None:
        raise RetrivexError(f"relevance is {quoted(relevance)}: give one finite number a passage")
    if not callable(getattr(similarity, "of", None)):
        raise RetrivexError(
            f"similarity is {quoted(similarity)}: give a TextSimilarity or an EmbeddingSimilarity of the passages"
        )
    value = relevance_weight * _brought_to_unit(values)
    count = len(value)
    family = _families([None] * count if sources is None else as_list(sources))
    if len(family) != count:
        raise RetrivexError(f"{len(family)} sources for {count} passages: give one for each, None where it has none")
    repeated, penalty = np.zeros(count), np.zeros(count)
    waiting = np.ones(count, dtype=bool)
    order = []
    for _ in range(count):
        marginal = value - (1 - relevance_weight) * repeated - penalty
        best = int(np.where(waiting, marginal, -np.inf).argmax())
        order.append(best)
        waiting[best] = False
        repeated[waiting] = np.maximum(repeated, similarity.of(best))[waiting]
        penalty[(family == family[best]) & (family >= 0)] += source_penalty
    return Picks(order, repeated)


def _brought_to_unit(values: Floats) -> Floats:
    values = values / max(float(np.abs(values).max(initial=0.0)), 1.0)  # so that no difference is too large
    low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
    unit: Floats = (values - low) / (high - low) if high > low else np.ones(len(values))
    return unit


def _sources(passages: Sequence[Any], field: Field) -> list[Hashable | None]:
    sources = read_passages(passages, field)
    for position, found in enumerate(sources):
        try:
            hash(found)
        except Exception as error:  # a class of the caller's may raise anything
            raise PassageError(
                f"passage {position} has {quoted(found)} as its source: it must be one value that can be compared, as "
                "a string or a number; name the field that holds it, as in source='url', or give a function that reads "
                "it"
            ) from error
    return sources


def _families(sources: Sequence[Hashable | None]) -> NDArray[np.int64]:
    """Return the number of each source; -1 for none."""
    numbers: dict[Hashable, int] = {}
    return np.array([-1 if one is None else numbers.setdefault(one, len(numbers)) for one in sources], dtype=np.int64)


def _embeddings(passages: Sequence[Any], field: Field) -> EmbeddingSimilarity:
    rows = [finite_vector(value) for value in read_passages(passages, field)]
    sizes = [0 if row is None else len(row) for row in rows]
    for position, size in enumerate(sizes):
        if not size or size != sizes[0]:
            raise PassageError(
                f"passage {position} has {size or 'no'} finite numbers in a row as its embedding, the first one has "
                f"{sizes[0]}: each needs one, of the same model; leave `embedding` out to compare texts"
            )
    return EmbeddingSimilarity(
        np.array([row for row in rows if row is not None]).reshape(len(rows), max(sizes, default=0))
    )


def _weights(relevance_weight: float, source_penalty: float) -> tuple[float, float]:
    if not _is_number(relevance_weight) or not 0 <= relevance_weight <= 1:
        raise RetrivexError(f"relevance_weight is {quoted(relevance_weight)}: it must be a number from 0 to 1")
    if not _is_number(source_penalty) or not 0 <= source_penalty <= sys.float_info.max:
        raise RetrivexError(f"source_penalty is {quoted(source_penalty)}: it must be a finite number, 0 or more")
    return float(relevance_weight), float(source_penalty)


def _check_most(most: int | None) -> None:
    if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
        raise RetrivexError(f"most is {quoted(most)}: it must be a whole number of at least 1, or None for all")


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
