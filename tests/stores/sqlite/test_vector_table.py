"""The vectors of a store: in step with its documents, and searched as a table in memory would be."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from support.early_files import with_vectors_beside, with_vectors_inside
from support.properties import try_examples

from retrivex.model.chunk import Chunk, ChunkMetadata
from retrivex.model.document import Document
from retrivex.model.window import Window
from retrivex.stores import SQLiteStore
from retrivex.stores.sqlite import vector_table

DIMENSION = 8


def vectors_of(seed: int, count: int) -> Any:
    return np.random.default_rng(seed).standard_normal((count, DIMENSION)).astype(np.float32)


def put(store: SQLiteStore, doc_id: str, count: int = 3, seed: int = 0, scope: str | None = None) -> None:
    chunks = [Chunk(f"{doc_id} {i} {seed}", ChunkMetadata(doc_id, i, scope=scope, page=i)) for i in range(count)]
    store.put(Document(doc_id, "", scope=scope), chunks, embeddings=vectors_of(seed, count), encoder="m")


def found(store: SQLiteStore, **options: Any) -> list[tuple[Any, float]]:
    hits = store.search_vector(np.ones(DIMENSION), **{"k": 1000, **options})
    return [(hit.key, hit.similarity_score) for hit in hits]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def names(path: Path) -> list[str]:
    return sorted(file.name for file in path.parent.iterdir())


def test_everything_is_one_file(path: Path) -> None:
    with SQLiteStore(path) as store:
        put(store, "d")
        assert len(found(store)) == 3
        store.drop_vectors()
        put(store, "d", 2)
        assert store.check() == []
    assert names(path) == ["store.db"]


@pytest.mark.parametrize("read_only", [True, False])
def test_a_store_opened_again_finds_the_same(path: Path, read_only: bool) -> None:
    with SQLiteStore(path) as store:
        put(store, "d", 5)
        put(store, "e", 5, seed=1)
        before, chunks = found(store), store.fetch([Window("d", 0, 9)])
    with SQLiteStore(path, read_only=read_only) as store:
        assert found(store) == before
        again = store.fetch([Window("d", 0, 9)])
    assert [tuple(chunk.embedding) for chunk in again] == [tuple(chunk.embedding) for chunk in chunks]  # type: ignore[arg-type]


def test_vectors_are_read_once_while_none_changes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, states = vector_table._read_matrix, []

    def counted(connection: Any, space: Any) -> Any:
        states.append(space.changes)
        return read(connection, space)

    monkeypatch.setattr(vector_table, "_read_matrix", counted)
    with SQLiteStore(path) as store, SQLiteStore(path, read_only=True) as reader:
        put(store, "d")
        put(store, "e", seed=1)
        for _ in range(3):
            assert len(found(reader)) == 6
            reader.fetch([Window("d", 0, 9)])
        store.put(Document("words", ""), [Chunk("no vector", ChunkMetadata("words", 0))])
        assert len(found(reader)) == 6
        assert states == [2]
        store.delete("d")
        assert [key for key, _ in sorted(found(reader))] == [("e", 0), ("e", 1), ("e", 2)]
        assert states == [2, 3]


def test_chunks_without_a_vector_have_none(path: Path) -> None:
    with SQLiteStore(path) as store:
        store.put(Document("a", ""), [Chunk("no vector", ChunkMetadata("a", 0))])
        put(store, "d", 1)
        store.put(Document("z", ""), [Chunk("nor this", ChunkMetadata("z", 0))])
        chunks = store.fetch([Window(doc_id, 0, 9) for doc_id in "adz"])
        assert [chunk.embedding is None for chunk in chunks] == [True, False, True]
        assert [key for key, _ in found(store)] == [("d", 0)]
        store.delete("d")
        assert found(store) == []
        assert [chunk.embedding for chunk in store.fetch([Window("a", 0, 9)])] == [None]


# -- the same as a table of all vectors in memory

CHANGE = st.tuples(st.integers(0, 4), st.integers(0, 5), st.integers(0, 3))


@try_examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(CHANGE, min_size=1, max_size=12), st.integers(1, 12), st.integers(0, 2))
def test_search_is_that_of_a_table_in_memory(
    tmp_path_factory: pytest.TempPathFactory, changes: Sequence[tuple[int, int, int]], k: int, early: int
) -> None:
    path = tmp_path_factory.mktemp("model") / "store.db"
    model: dict[str, tuple[int, int]] = {}
    store = SQLiteStore(path)
    put(store, "first", 2, 99)
    model["first"] = (2, 99)
    for number, count, seed in changes:
        doc_id = f"d{number}"
        if count:
            put(store, doc_id, count, seed)
            model[doc_id] = (count, seed)
        else:
            store.delete(doc_id)
            model.pop(doc_id, None)
    if early:
        store.close()
        store = SQLiteStore((with_vectors_inside, with_vectors_beside)[early - 1](path))
    query = np.ones(DIMENSION) / np.sqrt(DIMENSION)
    scored = []
    for doc_id, (count, seed) in model.items():
        rows = vectors_of(seed, count).astype(np.float64)
        cosines = (rows / np.linalg.norm(rows, axis=1, keepdims=True)) @ query
        scored += [(-round(float(cosine), 5), (doc_id, i)) for i, cosine in enumerate(cosines)]
    for where, kept in ((None, lambda key: True), ({"page": {"min": 1}}, lambda key: key[1] >= 1)):
        expected = sorted(item for item in scored if kept(item[1]))[:k]
        got = found(store, k=k, where=where)
        assert [round(score, 5) for _, score in got] == pytest.approx([-score for score, _ in expected], abs=2e-5)
        assert len(got) == len(expected)
        assert got == sorted(got, key=lambda hit: (-hit[1], hit[0]))
    assert store.check() == []
    store.close()


def test_other_processes_read_while_one_writes(path: Path) -> None:
    code = (
        "import sys, numpy as np\n"
        "from retrivex.stores import SQLiteStore\n"
        "with SQLiteStore(sys.argv[1], read_only=True) as store:\n"
        "    for line in sys.stdin:\n"
        "        print(len(store.search_vector(np.ones(8), 1000)), flush=True)\n"
    )
    with SQLiteStore(path) as store:
        put(store, "d0")
        with subprocess.Popen(
            [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as reader:
            assert reader.stdin is not None
            assert reader.stdout is not None
            for number in range(1, 6):
                reader.stdin.write("ask\n")
                reader.stdin.flush()
                assert int(reader.stdout.readline()) == 3 * number
                put(store, f"d{number}", seed=number)
            store.drop_vectors()
            put(store, "d0", 1)
            reader.stdin.write("ask\n")
            reader.stdin.close()
            assert int(reader.stdout.readline()) == 1
