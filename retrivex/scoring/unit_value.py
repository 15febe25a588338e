r"""What a unit is worth to the selection: its own probability and that of its surroundings.

.. math:: v_i = \frac{1}{|R|} \sum_{r \in R} \frac{1}{|N_{i,r}|} \sum_{j \in N_{i,r}} p_j

over the reaches :math:`R`, with the units :math:`N_{i,r}` of the same run up to :math:`r` places away, the unit itself
among them. Evidence seldom ends where a unit does, and what stands beside it is needed to read it: so few, whole
passages are chosen, and not many fragments.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

REACHES = (0, 1, 4, 12)
"""Units on each side: the unit alone, its neighbours, a paragraph or two, a section. Other widths, and a mean that is
not arithmetic, make no measurable difference."""

TORN = 0.5
"""What is left of the worth of a sentence that the end of a hit cuts, and whose rest cannot be had."""


def unit_values(p: Floats, joined: Flags, torn: Flags | None = None) -> Floats:
    """Return what each unit is worth as a share of the best, shape (n,).

    Parameters
    ----------
    p : shape (n,), probabilities
    joined : shape (n,), whether each goes on from the one before it
    torn : shape (n,), whether each is part of a sentence; None where none is

    Examples
    --------
    >>> joined = np.array([False, True, False])
    >>> unit_values(np.array([0.8, 0.2, 0.5]), joined).round(2).tolist()
    [1.0, 0.74, 0.87]
    """
    if not len(p):
        return p
    values = np.mean(_means_around(p, joined), axis=0)
    if torn is not None:
        values = np.where(torn, TORN * values, values)
    best = float(values.max())
    return values / best if best > 0 else np.ones(len(p))


def _means_around(p: Floats, joined: Flags) -> list[Floats]:
    """Return, for each of `REACHES`, the mean over each unit and those so many places away in its run."""
    sums = np.concatenate(([0.0], p.cumsum()))
    starts = np.flatnonzero(~joined)
    sizes = np.diff(np.append(starts, len(p)))
    at = np.arange(len(p))
    lowest, highest = starts.repeat(sizes), (starts + sizes).repeat(sizes)
    ends = [(np.maximum(at - reach, lowest), np.minimum(at + reach + 1, highest)) for reach in REACHES]
    return [(sums[high] - sums[low]) / (high - low) for low, high in ends]
