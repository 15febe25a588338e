"""The hits' own scores as a signal along the chunks, which falls from chunk to chunk, and how far the next hit is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from retrivex.expansion.seeds import Seed
from retrivex.merging.offsets import OffsetIndex
from retrivex.model.chunk import ChunkKey

Floats = NDArray[np.float64]

DECAY = 0.6
"""What is left of a hit's score one chunk away, above the worst hit's."""

_FARTHEST = 8  # chunks from a hit; beyond that it makes no difference


def standard_scores(signals: Floats) -> Floats:
    """Return standard scores of signals over the units of the query, shape (..., n); all 0 where they are equal."""
    level = signals - _mean(signals)
    spread = np.sqrt(_mean(level * level))
    flat = spread <= 1e-9
    return np.where(flat, 0.0, level / np.where(flat, 1.0, spread)) if np.count_nonzero(flat) else level / spread


def _mean(signals: Floats) -> Floats:
    # the method `mean` does the same, and takes twice as long for what is as short as this
    return np.asarray(np.add.reduce(signals, axis=-1, keepdims=True) / signals.shape[-1], dtype=np.float64)


def hit_signal(
    axis: OffsetIndex, seeds: Sequence[Seed], linked: Mapping[ChunkKey, float]
) -> tuple[Floats, NDArray[np.int64]]:
    """Return the score of every chunk, decayed from the hits of its run, and its distance from them, shape (c,)."""
    if not seeds:
        return np.zeros(len(axis.chunks)), np.full(len(axis.chunks), _FARTHEST)
    standard = standard_scores(np.array([seed.relevance for seed in seeds]))
    floor = float(standard.min()) - 0.5
    lifted = dict(zip([seed.key for seed in seeds], (standard - floor).tolist(), strict=True))
    highest = max(lifted.values(), default=0.0)
    for key, strength in linked.items():
        lifted.setdefault(key, strength * highest)
    numbers = axis.numbers
    score, is_hit = [0.0] * len(axis.chunks), np.zeros(len(axis.chunks), dtype=np.bool_)
    for key, strength in lifted.items():
        at = numbers.get(key)
        if at is not None:
            score[at], is_hit[at] = strength, True
    decayed = np.array(_decay(score, [0.0 if begins else DECAY for begins in axis.is_first.tolist()]))
    return decayed + floor, _steps(is_hit, axis)


def _decay(row: Sequence[float], factors: Sequence[float]) -> list[float]:
    """Carry values, none negative, from chunk to chunk of a run, both ways; each keeps the largest that reaches it.

    `factors` is what is left of a value between a chunk and the one before it: nothing where a run begins.
    """
    onward, back, carry = [], [], 0.0
    for value, factor in zip(row, factors, strict=True):
        carry *= factor
        if value > carry:
            carry = value
        onward.append(carry)
    carry = 0.0
    for value, factor in zip(reversed(onward), reversed(factors), strict=True):
        if value > carry:
            carry = value
        back.append(carry)
        carry *= factor
    return back[::-1]


def _steps(is_hit: NDArray[np.bool_], axis: OffsetIndex) -> NDArray[np.int64]:
    """Return the chunks to the nearest hit of the run, `_FARTHEST` at most, shape (c,)."""
    at = np.arange(len(is_hit))
    before = np.maximum.accumulate(np.where(is_hit, at, -1))
    after = np.minimum.accumulate(np.where(is_hit, at, len(at))[::-1])[::-1]
    first = axis.firsts[axis.run]
    onward = np.where(before >= first, at - before, _FARTHEST)
    back = np.where(after < first + axis.sizes[axis.run], after - at, _FARTHEST)
    return np.minimum(np.minimum(onward, back), _FARTHEST)
