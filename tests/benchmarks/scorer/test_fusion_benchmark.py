"""The fusions that the benchmark compares, by hand, and that the default is the one it calls shipped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.scorer import fusion
from retrivex import Chunk, ChunkMetadata, Document, SeedHit
from retrivex.retrieval.local import LocalRetriever
from retrivex.stores import SQLiteStore


def hits(**scores: float) -> list[SeedHit]:
    return [SeedHit(Chunk(f"text of {name}", ChunkMetadata(name, 0)), score) for name, score in scores.items()]


WORDS, DENSE = hits(a=8.0, b=6.0, c=4.0), hits(b=0.75, d=0.25)
SPREAD = np.std([8.0, 6.0, 4.0])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("words", {"a": 8.0, "b": 6.0, "c": 4.0}),
        ("dense", {"b": 0.75, "d": 0.25}),
        ("ranks, k = 60", {"b": 1 / 62 + 1 / 61, "a": 1 / 61, "d": 1 / 62, "c": 1 / 63}),
        ("ranks, k = 60, dense 3:1", {"b": 1 / 62 + 3 / 61, "d": 3 / 62, "a": 1 / 61, "c": 1 / 63}),
        ("relative scores, 0.5", {"b": 0.75, "a": 0.5, "c": 0.0, "d": 0.0}),
        ("BM25 from 0, 0.5", {"b": 0.5 * 0.75 + 0.5, "a": 0.5, "c": 0.25, "d": 0.0}),
        # above the last of their list, in standard deviations
        ("standard scores, 0.5", {"b": 0.5 * 2 / SPREAD + 0.5 * 2, "a": 0.5 * 4 / SPREAD, "c": 0.0, "d": 0.0}),
        ("three sigma, 0.5", {"b": 0.25 + 0.5 * 2 / 3, "a": 0.25 + 1 / (6 * SPREAD), "d": 0.5 / 3,
                              "c": 0.25 - 1 / (6 * SPREAD)}),
    ],
)  # fmt: skip
def test_fusions_by_hand(name: str, expected: dict[str, float]) -> None:
    made = {hit.chunk.metadata.doc_id: hit.similarity_score for hit in fusion.FUSIONS[name](WORDS, DENSE)}
    assert made == pytest.approx(expected)
    assert sorted(made, key=lambda doc_id: (-made[doc_id], doc_id)) == list(made)


@pytest.mark.parametrize("name", fusion.FUSIONS)
def test_a_list_may_be_empty(name: str) -> None:
    keys = [hit.key for hit in fusion.FUSIONS[name](WORDS, [])]
    assert keys == ([] if name == "dense" else [hit.key for hit in WORDS])
    assert fusion.FUSIONS[name]([], []) == []


def test_the_default_is_what_is_called_shipped(tmp_path: Path) -> None:
    class Lengths:
        name = "lengths"

        def encode(self, texts: Any) -> Any:
            return np.array([[1.0, len(text)] for text in texts])

    with SQLiteStore(tmp_path / "store.db") as store:
        for text in ("bees sleep", "bees sleep and work all day", "ants", "bees"):
            chunk = Chunk(text, ChunkMetadata(text, 0, 0, len(text)))
            store.put(Document(text, text), [chunk], embeddings=Lengths().encode([text]), encoder="lengths")
        words, dense, hybrid = (
            LocalRetriever(store, Lengths(), mode).retrieve("do bees sleep?") for mode in ("bm25", "dense", "hybrid")
        )
    assert hybrid == fusion.FUSIONS[fusion.SHIPPED](words, dense)


def test_a_set_has_no_say_in_what_is_chosen_for_it() -> None:
    cuts = fusion.CUTS
    made = {
        name: {cut: {s: [0.5 if s != fusion.SETS[0] else score] for s in fusion.SETS} for cut in cuts}
        for name, score in ((fusion.SHIPPED, 0.2), (fusion.BEFORE, 0.9))
    }
    found = fusion.chosen_without(made)
    assert found["chosen"][fusion.SETS[0]] == fusion.SHIPPED  # the first of equals
    assert found["chosen"][fusion.SETS[1]] == fusion.BEFORE
    assert found["reached"][fusion.SETS[0]] == 0.2
