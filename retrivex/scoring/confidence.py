"""Confidence: how probable it is that the candidates hold evidence for the question at all.

A logistic model over a few numbers of the whole question, fitted beside the scorer, also on questions asked where
nothing answers them (`make calibrate`). There is one for each kind of hits for which it tells the two apart well
enough: hits with embeddings, and hits with unbounded scores of words, as of BM25. For others there is no confidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from retrivex.expansion.seeds import Seed
from retrivex.scoring.features import NAMES, UnitTable

Floats = NDArray[np.float64]

CONFIDENCE_FEATURES = (
    "best log-odds", "share of the question's words among the candidates", "share of words, best unit",
    "share of words, mean of the five best units", "score of the best hit against the tenth",
)  # fmt: skip

HitKind: TypeAlias = Literal["embeddings", "words", "other"]
"""Hits whose chunks have embeddings; hits without, with scores above 1; and all others."""

MAX_DROP = 2.0
"""Largest logarithm of the ratio of two hits' scores."""

_SHARE = NAMES.index("share of words")
_FEW = 5  # units
_TENTH = 9


def kind_of_hits(seeds: Sequence[Seed], *, embedded: bool) -> HitKind:
    """Return what kind of hits seeds are."""
    if embedded:
        return "embeddings"
    return "words" if seeds and seeds[0].score > 1 else "other"


def describe_question(table: UnitTable, seeds: Sequence[Seed]) -> Floats:
    """Return what the confidence reads of a question, shape (4,): all of `CONFIDENCE_FEATURES` but the first."""
    shares = np.sort(table.values[:, _SHARE])[::-1][:_FEW] if len(table.values) else np.zeros(1)
    return np.array([table.coverage, shares[0], shares.mean(), _drop(seeds)])


def _drop(seeds: Sequence[Seed]) -> float:
    """Return the logarithm of the best score over the tenth; 0 where scores are not positive, or rise with distance."""
    scores = [seed.score for seed in seeds[: _TENTH + 1]]
    if not scores or scores[-1] <= 0 or scores[0] <= scores[-1]:
        return 0.0
    return min(log(scores[0] / scores[-1]), MAX_DROP)
