"""Vectors of texts that are encoded in groups."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.evidence.embeddings import GroupedVectorCache


class Beside:
    """Gives vectors that depend on the texts encoded in the same call, as padding makes them; no length is one."""

    name = "beside"

    def __init__(self) -> None:
        self.calls: list[int] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls.append(len(texts))
        return np.array([[len(text), sum(map(len, texts))] for text in texts], dtype=np.float32)


def test_texts_in_groups_keep_the_vectors_of_their_group(tmp_path: Path) -> None:
    encoder = Beside()
    cache = GroupedVectorCache(encoder, tmp_path, 2)
    first = cache.encode(["a", "bb", "a", "cccc"])
    assert first.tolist() == [[1, 3], [2, 3], [1, 5], [4, 5]]
    assert cache.encode(["a", "bb"]).tolist() == [[1, 3], [2, 3]]
    assert cache.encode(["bb", "a"]).tolist() == [[2, 3], [1, 3]]
    assert cache.encode(["x", "yy", "a", "cccc", "z"]).tolist() == [[1, 3], [2, 3], [1, 5], [4, 5], [1, 1]]
    assert encoder.calls == [2, 2, 2, 2, 1]


def test_a_stopped_run_keeps_the_groups_that_were_finished(tmp_path: Path) -> None:
    class Stopping(Beside):
        def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
            if len(self.calls) == 1:
                raise KeyboardInterrupt
            return super().encode(texts)

    texts = ["a", "bb", "ccc"]
    with pytest.raises(KeyboardInterrupt):
        GroupedVectorCache(Stopping(), tmp_path, 2).encode(texts)
    encoder = Beside()
    assert GroupedVectorCache(encoder, tmp_path, 2).encode(texts).tolist() == [[1, 3], [2, 3], [3, 3]]
    assert encoder.calls == [1]
