"""The file of vectors beside a database: in step with it, whatever happens to either."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from support.early_files import with_vectors_inside
from support.properties import try_examples

from retrivex.errors import StoreError
from retrivex.model.chunk import Chunk, ChunkMetadata
from retrivex.model.document import Document
from retrivex.model.window import Window
from retrivex.stores import SQLiteStore
from retrivex.stores.sqlite import vector_file, vector_runs
from retrivex.stores.sqlite.vector_file import vector_files

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


def version(path: Path) -> int:
    connection = sqlite3.connect(path)
    found: int = connection.execute("PRAGMA user_version").fetchone()[0]
    connection.close()
    return found


def test_words_alone_are_one_file(path: Path) -> None:
    with SQLiteStore(path) as store:
        store.put(Document("d", ""), [Chunk("bees", ChunkMetadata("d", 0))])
        assert store.info().schema_version == 3
    assert names(path) == ["store.db"]


def test_vectors_lie_beside_the_database_and_go_with_them(path: Path) -> None:
    with SQLiteStore(path) as store:
        put(store, "d")
        store.drop_vectors()
        assert vector_files(path) == []
        put(store, "d", 2)
        assert store.check() == []
    assert names(path) == ["store.db", "store.db-vectors-2"]


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


# -- damage


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def scribble(path: Path) -> None:
    path.write_bytes(b"dear diary, " * 100)


def age(path: Path) -> None:
    path.write_bytes(b"RVXVEC99" + path.read_bytes()[8:])


def exchange(path: Path) -> None:
    other = path.with_name("other.db")
    with SQLiteStore(other) as store:
        put(store, "d")
    shutil.move(vector_files(other)[0], path)


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (Path.unlink, "store.db-vectors-1 is missing, which holds the vectors of store.db: copy it together with"),
        (cut, r"vectors-1 is damaged, it has 159 bytes in place of 160: copy it together with the database"),
        (scribble, "vectors-1 is damaged, or no file of vectors: .*drop_vectors"),
        (age, "vectors-1 was written by a newer RetriVex: upgrade retrivex-rag"),
        (exchange, "vectors-1 holds the vectors of another database: .*index again"),
    ],
)
def test_a_damaged_file_is_one_clear_error_and_words_are_still_found(
    path: Path, damage: Callable[[Path], None], complaint: str
) -> None:
    with SQLiteStore(path) as store:
        put(store, "d")
    damage(vector_files(path)[0])
    with SQLiteStore(path) as store:
        for ask in (found, lambda store: store.fetch([Window("d", 0, 9)]), lambda store: put(store, "e")):
            with pytest.raises(StoreError, match=complaint):
                ask(store)
        assert any(complaint.split(" ")[0][-9:] in problem for problem in store.check())
    with SQLiteStore(path, with_embeddings=False) as store:
        assert len(store.search_text("d")) == 3
        store.drop_vectors()
        put(store, "d", seed=7)
        assert len(found(store)) == 3
        assert store.check() == []


def test_check_finds_a_vector_that_changed(path: Path) -> None:
    with SQLiteStore(path) as store:
        put(store, "d")
        put(store, "e")
    [file] = vector_files(path)
    content = bytearray(file.read_bytes())
    content[-5] ^= 1
    file.write_bytes(content)
    with SQLiteStore(path) as store:
        assert store.check() == ["vector rows 3 to 6 are not those that were written; index again into a new file"]


def test_an_older_copy_of_the_database_takes_nothing_away(path: Path, tmp_path: Path) -> None:
    with SQLiteStore(path) as store:
        put(store, "d")
    shutil.copy(path, tmp_path / "copy.db")
    with SQLiteStore(path) as store:
        store.drop_vectors()
        put(store, "d")
    newer = path.read_bytes()
    shutil.copy(tmp_path / "copy.db", path)
    with SQLiteStore(path) as store, pytest.raises(StoreError, match="vectors-1 is missing"):
        put(store, "e")
    path.write_bytes(newer)
    with SQLiteStore(path) as store:
        assert len(found(store)) == 3


# -- full disks


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EFBIG])
@pytest.mark.parametrize("where", ["_write_at", "_sync"])
def test_a_full_disk_leaves_what_was_there(path: Path, code: int, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> int:
        raise OSError(code, os.strerror(code))

    with SQLiteStore(path) as store:
        put(store, "d")
        before = found(store)
        with monkeypatch.context() as patch:
            patch.setattr(*((vector_file, "_write_at") if where == "_write_at" else (os, "fsync")), full)
            with pytest.raises(StoreError, match=r"vectors-1: the disk is full \(or the file may not grow\): free"):
                put(store, "e")
        assert found(store) == before
        assert store.check() == []
        put(store, "e")
        assert len(found(store)) == 6
        assert store.check() == []


def test_a_disk_that_fills_up_inside_a_batch_leaves_no_half_document(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, "no space")

    with SQLiteStore(path) as store:
        put(store, "d")
        with store.batch():
            put(store, "e")
            with monkeypatch.context() as patch:
                patch.setattr(vector_file, "_write_at", full)
                with pytest.raises(StoreError, match="the disk is full"):
                    put(store, "f")
            put(store, "g", seed=1)
        # e went with the batch that failed, as with a full disk of SQLite's own
        assert sorted({key[0] for key, _ in found(store)}) == ["d", "g"]
        assert [info.doc_id for info in store.documents()] == ["d", "g"]
        assert store.check() == []


def test_what_is_written_in_parts_is_whole(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = vector_file._write_at
    monkeypatch.setattr(vector_file, "_write_at", lambda file, data, at: write(file, data[:7], at))
    with SQLiteStore(path) as store:
        put(store, "d")
        assert store.check() == []


def test_a_change_that_fails_leaves_a_tail_that_the_next_one_writes_over(path: Path) -> None:
    with SQLiteStore(path) as store:
        put(store, "d")
        raw = sqlite3.connect(path)
        raw.execute("CREATE TRIGGER stop BEFORE UPDATE ON meta BEGIN SELECT RAISE(ABORT, 'stop'); END")
        raw.execute("CREATE TRIGGER halt BEFORE INSERT ON meta BEGIN SELECT RAISE(ABORT, 'stop'); END")
        raw.commit()
        with pytest.raises(StoreError, match="stop"):
            put(store, "e", 9)
        assert vector_files(path)[0].stat().st_size == 64 + 12 * 4 * DIMENSION
        raw.execute("DROP TRIGGER stop")
        raw.execute("DROP TRIGGER halt")
        raw.commit()
        raw.close()
        put(store, "f", 2, seed=1)
        assert sorted(key for key, _ in found(store)) == [("d", 0), ("d", 1), ("d", 2), ("f", 0), ("f", 1)]
        assert store.check() == []


# -- compaction


@pytest.fixture
def small_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_runs, "MIN_GAPS", 4)


@pytest.mark.usefixtures("small_gaps")
def test_deleted_rows_go_once_they_are_many_and_readers_go_on(path: Path) -> None:
    with SQLiteStore(path) as store, SQLiteStore(path, read_only=True) as reader:
        for number in range(6):
            put(store, f"d{number}", seed=number)
        before = found(reader)
        store.delete("d0")
        assert vector_files(path) == [path.with_name("store.db-vectors-1")]
        assert found(store) == found(reader) == [hit for hit in before if hit[0][0] != "d0"]
        store.delete("d3")
        assert vector_files(path) == [path.with_name("store.db-vectors-2")]
        assert vector_files(path)[0].stat().st_size == 64 + 12 * 4 * DIMENSION
        kept = [hit for hit in before if hit[0][0] not in ("d0", "d3")]
        assert found(store) == found(reader) == kept
        put(store, "d0", seed=0)
        assert found(store) == found(reader) == [hit for hit in before if hit[0][0] != "d3"]
        assert store.check() == []


@pytest.mark.usefixtures("small_gaps")
def test_a_reader_whose_file_has_just_been_replaced_asks_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SQLiteStore(path) as store, SQLiteStore(path, read_only=True) as reader:
        for number in range(4):
            put(store, f"d{number}", seed=number)
        map_file, compacted = vector_file._map, []

        def map_late(*args: Any) -> Any:
            if not compacted:  # between the reader's look into the database and its opening of the file
                compacted.append(True)
                store.delete("d0")
                store.delete("d1")
            return map_file(*args)

        monkeypatch.setattr(vector_file, "_map", map_late)
        assert {key[0] for key, _ in found(reader)} == {"d2", "d3"}
        assert len(vector_files(path)) == 1


def test_what_a_killed_process_left_beside_the_file_goes(path: Path) -> None:
    with SQLiteStore(path) as store:
        put(store, "d")
    [file] = vector_files(path)
    shutil.copy(file, path.with_name("store.db-vectors-2"))
    path.with_name("store.db-vectors-3").touch()
    path.with_name("store.db-vectors-4").write_bytes(b"somebody else's")
    with SQLiteStore(path) as store:
        put(store, "e")
        assert len(found(store)) == 6
    assert names(path) == ["store.db", "store.db-vectors-1", "store.db-vectors-4"]


# -- vectors inside the database, as version 0.2 had them


def test_vectors_inside_the_database_are_read_and_move_out_with_the_first_change(path: Path) -> None:
    with SQLiteStore(path) as store:
        for number in range(3):
            put(store, f"d{number}", 4, number, scope="acme" if number == 1 else None)
        expected = [found(store), found(store, scope="acme"), found(store, where={"page": 2}), found(store, k=3)]
    with_vectors_inside(path)
    assert names(path) == ["store.db"]

    def answers(store: SQLiteStore) -> list[list[tuple[Any, float]]]:
        return [found(store), found(store, scope="acme"), found(store, where={"page": 2}), found(store, k=3)]

    with SQLiteStore(path, read_only=True) as store:
        assert answers(store) == expected
    with SQLiteStore(path) as store:
        assert answers(store) == expected
        assert store.check() == []
    assert (names(path), version(path)) == (["store.db"], 1)
    with SQLiteStore(path) as store:
        put(store, "new", 1, 9)
        assert [hit for hit in found(store) if hit[0][0] != "new"] == expected[0]
        assert store.check() == []
    assert (names(path), version(path)) == (["store.db", "store.db-vectors-1"], 3)


def test_a_disk_too_full_to_move_them_out_leaves_them_inside(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SQLiteStore(path) as store:
        put(store, "d")
        before = found(store)
    with_vectors_inside(path)

    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, "no space")

    with SQLiteStore(path) as store:
        with monkeypatch.context() as patch:
            patch.setattr(vector_file, "_write_at", full)
            with pytest.raises(StoreError, match="the disk is full"):
                put(store, "e")
        assert found(store) == before
        assert (vector_files(path), version(path)) == ([], 1)
        put(store, "e")
        assert len(found(store)) == 6


# -- the same as a table of all vectors in memory

CHANGE = st.tuples(st.integers(0, 4), st.integers(0, 5), st.integers(0, 3))


@try_examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(CHANGE, min_size=1, max_size=12), st.integers(1, 12), st.booleans())
def test_search_is_that_of_a_table_in_memory(
    tmp_path_factory: pytest.TempPathFactory, changes: Sequence[tuple[int, int, int]], k: int, inside: bool
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
    if inside:
        store.close()
        store = SQLiteStore(with_vectors_inside(path))
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
