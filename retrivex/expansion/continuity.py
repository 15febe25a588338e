"""Continuity of neighbouring chunks: cosine of their embeddings, or word overlap where there are none."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from weakref import ref

import numpy as np

from retrivex.model.chunk import Chunk, ChunkKey
from retrivex.similarity.vectors import Floats, as_matrix, finite_vector, unit_vector, with_norms
from retrivex.text.word_overlap import SignatureCache


class Continuity(NamedTuple):
    """Continuity of two neighbouring chunks.

    Parameters
    ----------
    value : cosine of the embeddings in [-1, 1], or the share of common words in [0, 1]
    lexical : whether it is the share of common words
    """

    value: float
    lexical: bool


class SharedWords(Mapping[ChunkKey, Continuity]):
    """Word overlap of each chunk in a row with the one before it, computed when it is asked for.

    Most guards and the calibrated scorer do not ask: only the overlaps of neighbours that are shown are computed.

    Parameters
    ----------
    keys, texts : of n chunks in a row
    signatures : remembers words, and what was compared; it is not kept alive, as contexts outlive their composer

    Examples
    --------
    >>> row = SharedWords([("d", 0), ("d", 1)], ["Honey bees store honey", "Their honey feeds bees"], SignatureCache())
    >>> list(row), row["d", 1].value
    ([('d', 1)], 0.6666666666666666)
    """

    def __init__(self, keys: Sequence[ChunkKey], texts: Sequence[str], signatures: SignatureCache) -> None:
        self._pairs = dict(zip(keys[1:], itertools.pairwise(texts), strict=True))
        self._signatures = ref(signatures)

    def __getitem__(self, key: ChunkKey) -> Continuity:
        return Continuity((self._signatures() or SignatureCache()).between(*self._pairs[key]), True)

    def __contains__(self, key: object) -> bool:
        return key in self._pairs

    def __iter__(self) -> Iterator[ChunkKey]:
        return iter(self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)

    def __reduce__(self) -> tuple[type[dict[ChunkKey, Continuity]], tuple[dict[ChunkKey, Continuity]]]:
        # what is written to a file is what was compared, without all that the cache knows beside it
        return dict, (dict(self),)


def _by_rows(chunks: Sequence[Chunk]) -> Floats | None:
    """Return the cosines of all neighbours at once; None where an embedding is missing, zero, malformed or longer."""
    embeddings = [chunk.embedding for chunk in chunks]
    if any(embedding is None for embedding in embeddings):
        return None
    try:
        size = len(embeddings[0])  # type: ignore[arg-type]
        if not size or any(len(embedding) != size for embedding in embeddings):  # type: ignore[arg-type]
            return None
    except TypeError:
        return None  # some embedding is no row: the caller looks at each by itself
    if (matrix := as_matrix(embeddings)) is None:
        return None
    matrix, norms = with_norms(matrix)
    if not norms.all():
        return None
    cosines: Floats = np.einsum("ij,ij->i", matrix[:-1], matrix[1:])
    cosines /= norms[:-1] * norms[1:]
    return cosines


def neighbour_continuity(chunks: Sequence[Chunk], signatures: SignatureCache) -> tuple[list[Continuity], bool]:
    """Continuity of each chunk with the next.

    Parameters
    ----------
    chunks : n of them in a row
    signatures : for the pairs that lack comparable embeddings

    Returns
    -------
    continuities
        n - 1 of them.
    mixed
        Whether embeddings of different sizes met, or one was no row of finite numbers, so that words were compared
        instead.
    """
    if len(chunks) < 2:
        return [], False
    cosines = _by_rows(chunks)
    if cosines is not None:
        return [Continuity(value, False) for value in cosines.tolist()], False
    made: list[Continuity] = []
    vectors = [finite_vector(chunk.embedding) for chunk in chunks]
    mixed = any(vector is None and chunk.embedding is not None for chunk, vector in zip(chunks, vectors, strict=True))
    units = [None if vector is None else unit_vector(vector) for vector in vectors]
    for i in range(len(chunks) - 1):
        left, right = units[i], units[i + 1]
        if left is not None and right is not None and left.shape == right.shape:
            made.append(Continuity(float(left @ right), False))
            continue
        mixed = mixed or (left is not None and right is not None)
        made.append(Continuity(signatures.between(chunks[i].text, chunks[i + 1].text), True))
    return made, mixed
