"""Exact nearest-neighbour search over float32 unit vectors, stored as bytes and read in blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retrivex.errors import StoreError
from retrivex.similarity.vectors import as_array
from retrivex.stores.sqlite.connection import decoding

_BLOCK_BYTES = 1024 * 1024  # what stays in the processor's cache: four times as fast as blocks of 32 MB

Floats = NDArray[np.float32]


def unit_rows(vectors: ArrayLike, *, what: str) -> Floats:
    """Return `vectors` as float32 rows of length one; a row of zeros stays as it is and is similar to nothing.

    Parameters
    ----------
    vectors : shape (n, d)
    what : what they belong to, for the error

    Raises
    ------
    StoreError
        If `vectors` are not a table of finite numbers.
    """
    try:
        rows = as_array(vectors)
    except ValueError as error:
        raise StoreError(
            f"vectors of {what} are not one table of numbers ({error}): give rows of one length"
        ) from error
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise StoreError(f"vectors of {what} have the shape {rows.shape}: give one row a text, shape (n, d)")
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if bad.size:
        raise StoreError(f"vector {bad[0]} of {what} holds NaN or infinity: leave the text out or encode it again")
    peak = np.abs(rows).max(axis=1, keepdims=True)
    # first by the largest entry: the squares of huge ones would overflow
    rows = np.divide(rows, peak, out=np.zeros_like(rows), where=peak > 0)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Floats = np.divide(rows, length, out=rows, where=length > 0).astype(np.float32)
    return unit


def row_blocks(rows: Any, dimension: int) -> Iterator[tuple[NDArray[np.int64], Floats]]:
    """Yield ids and matrix, shape (n, dimension), of a cursor over (id, bytes), some 1 MB at a time."""
    per_block = max(1, _BLOCK_BYTES // (4 * dimension))
    while block := rows.fetchmany(per_block):
        ids, blobs = zip(*block, strict=True)
        with decoding(f"the vectors of {dimension} dimensions"):
            rows_of_block = np.frombuffer(b"".join(blobs), dtype="<f4").reshape(len(ids), dimension)
        yield np.array(ids, dtype=np.int64), rows_of_block


def nearest(
    blocks: Iterable[tuple[NDArray[np.int64], Floats]], query: Floats, k: int
) -> tuple[NDArray[np.int64], Floats]:
    """Return ids and cosines of the `k` rows most similar to `query`, plus all that tie with the last of them.

    Scores are rounded to six decimals, what float32 sums are good for: equal texts then tie, wherever they lie.

    Parameters
    ----------
    blocks : ids, shape (n,), and unit rows, shape (n, d)
    query : shape (d,), of length one
    k : at least 1

    Examples
    --------
    >>> rows = np.array([[1, 0], [0, 1], [0.6, 0.8]], dtype=np.float32)
    >>> ids, scores = nearest([(np.array([7, 8, 9]), rows)], rows[0], 2)
    >>> sorted(zip(ids.tolist(), scores.round(2).tolist()))
    [(7, 1.0), (9, 0.6000000238418579)]
    """
    best_ids = np.empty(0, dtype=np.int64)
    best: Floats = np.empty(0, dtype=np.float32)
    cut = -np.inf
    for ids, rows in blocks:
        scores = np.round(rows @ query, 6)
        good = scores >= cut
        best_ids, best = np.concatenate([best_ids, ids[good]]), np.concatenate([best, scores[good]])
        if len(best) > k:
            cut = np.partition(best, len(best) - k)[len(best) - k]
            good = best >= cut
            best_ids, best = best_ids[good], best[good]
    return best_ids, best


def to_blobs(rows: Floats) -> Sequence[bytes]:
    """Return the bytes of each row, little-endian on every machine."""
    return [row.tobytes() for row in rows.astype("<f4")]


def from_blob(blob: bytes) -> Floats:
    """Return the row that `to_blobs` wrote, read-only."""
    return np.frombuffer(blob, dtype="<f4")
