"""BM25 that scores only what can be among the best finds what scoring every match finds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from retrivex.model.chunk import Chunk, ChunkMetadata
from retrivex.model.document import Document
from retrivex.stores import SQLiteStore
from retrivex.stores.sqlite import text_ranking

DOCUMENTS, CHUNKS, WORDS, VOCABULARY = 60, 20, 25, 400


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Chunks of words with frequencies after Zipf's law."""
    rng = np.random.default_rng(5)
    shares = 1 / np.arange(1, VOCABULARY + 1)
    drawn = rng.choice(VOCABULARY, (DOCUMENTS, CHUNKS, WORDS), p=shares / shares.sum())
    path = tmp_path_factory.mktemp("ranking") / "store.db"
    with SQLiteStore(path) as store, store.batch():
        for number, rows in enumerate(drawn):
            doc_id, scope = f"d{number}", "acme" if number % 10 == 0 else None
            texts = [" ".join(f"word{word}" for word in row[: 5 + number % 20]) for row in rows]
            chunks = [Chunk(text, ChunkMetadata(doc_id, i, page=i, scope=scope)) for i, text in enumerate(texts)]
            store.put(Document(doc_id, "", scope=scope), chunks)
    return path


@pytest.fixture
def store(path: Path) -> Iterator[SQLiteStore]:
    with SQLiteStore(path, read_only=True) as store:
        yield store


def questions() -> list[str]:
    rng = np.random.default_rng(6)
    kinds = [(0, 20, 4), (5, 60, 6), (20, 400, 3), (0, 400, 20), (0, 2, 2)]
    return [
        " ".join(f"word{word}" for word in rng.integers(low, high, count))
        for low, high, count in kinds
        for _ in range(8)
    ]


def scored(store: SQLiteStore, question: str, k: int = 10, **options: Any) -> list[tuple[Any, float]]:
    return [(hit.key, hit.similarity_score) for hit in store.search_text(question, k, **options)]


@pytest.fixture
def pruned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Treat the index as a large one; the expressions by which rows were chosen."""
    monkeypatch.setattr(text_ranking, "SMALL_INDEX", 0)
    monkeypatch.setattr(text_ranking, "_FEW", 30)
    monkeypatch.setattr(text_ranking, "_COUNTED", 50)
    monkeypatch.setattr(text_ranking, "_MIN_HITS", 5)
    chosen: list[str] = []
    expression = text_ranking._expression

    def record(terms: Any, least: float) -> str:
        chosen.append(expression(terms, least))
        return chosen[-1]

    monkeypatch.setattr(text_ranking, "_expression", record)
    return chosen


@pytest.mark.parametrize(
    "options", [{}, {"scope": "acme"}, {"where": {"page": {"max": 3}}}, {"where": {"doc_id": "d7"}}]
)
def test_the_best_are_those_of_scoring_all(
    path: Path, store: SQLiteStore, pruned: list[str], options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = total = 0
    for question in questions():
        found = scored(store, question, **options)
        with monkeypatch.context() as patch:
            patch.setattr(text_ranking, "SMALL_INDEX", 10**9)
            everything = dict(scored(store, question, 10_000, **options))
            expected = scored(store, question, **options)
        assert all(everything[key] == pytest.approx(score) for key, score in found)
        assert found == sorted(found, key=lambda hit: (-hit[1], hit[0]))
        assert len(found) == len(expected)
        shared += len({key for key, _ in found} & {key for key, _ in expected})
        total += len(expected)
    assert shared / total >= 0.95
    assert pruned


def test_a_small_index_scores_every_match(store: SQLiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> float:
        raise AssertionError("the frequency of a word is of no interest here")

    monkeypatch.setattr(text_ranking, "_frequency", fail)
    assert len(scored(store, "word0 word1 word2", 1000)) == 1000


def test_words_that_exclude_each_other_are_still_found(tmp_path: Path, pruned: list[str]) -> None:
    """No row holds two of the words, as independent ones would: the next combinations are tried."""
    with SQLiteStore(tmp_path / "s.db") as store:
        for number in range(4):
            chunks = [Chunk(f"animal{number} filler{i}", ChunkMetadata(f"d{number}", i)) for i in range(100)]
            store.put(Document(f"d{number}", ""), chunks)
        found = store.search_text("animal0 animal1 animal2 animal3", 20)
    assert len(found) == 20
    assert len(pruned) == 2


def test_rows_that_tie_are_in_the_order_of_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["bees sleep", "bees sleep", "ants walk"]
    for ties in (1000, 2):
        monkeypatch.setattr("retrivex.stores.sqlite.reading._TIES", ties)
        with SQLiteStore(tmp_path / f"{ties}.db") as store:
            for name in "zyxwv":
                chunks = [Chunk(text, ChunkMetadata(name, i)) for i, text in enumerate(texts)]
                store.put(Document(name, ""), chunks)
            assert [hit.key for hit in store.search_text("bees", 3)] == [("v", 0), ("v", 1), ("w", 0)]
            assert [hit.key for hit in store.search_text("bees", 3, where={"page": None})] == [
                ("v", 0), ("v", 1), ("w", 0)
            ]  # fmt: skip
