"""Cosine of candidates with the question, where both are embedded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from retrivex.errors import RetrivexError
from retrivex.model.chunk import ChunkKey, Embedding
from retrivex.model.run import Run
from retrivex.similarity.vectors import Floats, as_array, as_matrix, as_vector, unit_vector, with_norms


def query_vector(embedding: Embedding) -> Floats:
    """Return the question's embedding at unit length, shape (d,).

    Raises
    ------
    RetrivexError
        If it is not one finite, non-zero vector.
    """
    try:
        query = as_array(embedding)
    except ValueError as error:
        raise RetrivexError(
            f"query_embedding is {type(embedding).__name__} and no vector of numbers ({error}); "
            "pass what the retriever's model made of the question"
        ) from error
    if query.ndim == 1 and (unit := unit_vector(query)) is not None:
        return unit
    norm = float(np.linalg.norm(query))
    raise RetrivexError(
        f"query_embedding has shape {query.shape} and norm {norm:g}: it must be one finite, non-zero vector; "
        "pass what the retriever's model made of the question"
    )


def cosines(runs: Sequence[Run], embedding: Embedding) -> tuple[dict[ChunkKey, float], list[str]]:
    """Compare every candidate that carries an embedding with the question.

    Returns
    -------
    dict
        Cosine in [-1, 1] by key; chunks without a usable embedding are not in it.
    list of str
        Warnings.

    Raises
    ------
    RetrivexError
        If the question's embedding is not one finite, non-zero vector.
    """
    query = query_vector(embedding)
    embedded = [chunk for run in runs for chunk in run.chunks if chunk.embedding is not None]
    rows, unlike = _rows([chunk.embedding for chunk in embedded], len(query))
    warnings = (
        [f"{unlike} candidates have embeddings of another size than the query's {len(query)}: left uncompared"]
        if unlike
        else []
    )
    matrix, norms = with_norms(rows)
    usable = norms > 0  # an all-zero or non-finite embedding says nothing
    if not usable.all():
        broken = int((~np.isfinite(rows)).any(axis=1).sum())
        if broken:
            warnings.append(
                f"{broken} candidates have embeddings with NaN or infinity: left uncompared; embed them again"
            )
        embedded = [chunk for chunk, use in zip(embedded, usable.tolist(), strict=True) if use]
        matrix, norms = matrix[usable], norms[usable]
    found = (matrix @ query / norms).tolist()
    return {chunk.key: cosine for chunk, cosine in zip(embedded, found, strict=True)}, warnings


def _rows(embeddings: Sequence[Embedding | None], size: int) -> tuple[Floats, int]:
    """Return embeddings as rows, shape (n, size), and how many are no row of so many numbers: theirs are all zero."""
    matrix = as_matrix(embeddings)  # at once, where all are as they should be
    if matrix is not None and matrix.shape == (len(embeddings), size):
        return matrix, 0
    rows = np.zeros((len(embeddings), size))
    unlike = 0
    for at, embedding in enumerate(embeddings):
        vector = as_vector(embedding, size)
        if vector is None:
            unlike += 1
        else:
            rows[at] = vector
    return rows, unlike


def share_of_best(found: Mapping[ChunkKey, float]) -> dict[ChunkKey, float]:
    """Bring cosines to [0, 1], 1 for the best; empty where none is positive."""
    best = max(found.values(), default=0.0)
    return {key: max(value, 0.0) / best for key, value in found.items()} if best > 0 else {}
