"""Files that are no store, disks that are full, and other programs in the way."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import pytest

from retrivex.errors import StoreError
from retrivex.model.chunk import Chunk, ChunkMetadata
from retrivex.model.document import Document
from retrivex.model.window import Window
from retrivex.stores import SQLiteStore
from retrivex.stores.sqlite import store as sqlite_store


def page(doc_id: str, size: int = 1) -> tuple[Document, list[Chunk]]:
    text = "words " * 200
    return Document(doc_id, ""), [Chunk(f"{i} {text}", ChunkMetadata(doc_id, i)) for i in range(size)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def raw(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path, isolation_level=None)
    yield connection
    connection.close()


def test_a_file_that_is_no_database_is_refused_and_left_alone(path: Path) -> None:
    path.write_text("dear diary, " * 1000, encoding="utf-8")
    with pytest.raises(StoreError, match="it is not an SQLite database: name another file for the store"):
        SQLiteStore(path)
    assert path.read_text(encoding="utf-8").startswith("dear diary")


def test_another_applications_database_is_refused_and_left_alone(path: Path, raw: sqlite3.Connection) -> None:
    raw.execute("CREATE TABLE theirs (a)")
    with pytest.raises(StoreError, match="is an SQLite database of another application: name a new file"):
        SQLiteStore(path)
    assert raw.execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]


def test_a_newer_file_is_refused(path: Path, raw: sqlite3.Connection) -> None:
    SQLiteStore(path).close()
    raw.execute("PRAGMA user_version = 99")
    with pytest.raises(
        StoreError, match=r"written by a newer RetriVex \(schema version 99, this one reads 4\): upgrade"
    ):
        SQLiteStore(path)


def test_a_damaged_file_says_so(path: Path) -> None:
    with SQLiteStore(path) as store:
        store.put(*page("d", 50))
    content = bytearray(path.read_bytes())
    content[8192:-4096] = b"\xff" * (len(content) - 8192 - 4096)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="the file is damaged: restore a copy, or index again"):
        read_all(path)


def read_all(path: Path) -> None:
    with SQLiteStore(path) as store:
        store.fetch([Window("d", 0, 50)])
        store.search_text("words")


@pytest.mark.parametrize("name", ["", ":memory:"])
def test_a_store_needs_a_file(name: str) -> None:
    with pytest.raises(StoreError, match="is no file: name one, or use InMemoryChunkStore"):
        SQLiteStore(name)


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"is a folder: name a file in it, such as .*retrivex\.db"):
        SQLiteStore(tmp_path)


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize(
    "name",
    ["x\0y.db", "a" * 300, "\ud800.db", 5, None, b"x.db"],
    ids=["NUL", "long", "half", "number", "None", "bytes"],
)
def test_what_is_no_name_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: Any, read_only: bool) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").write_bytes(b"")
    with pytest.raises(StoreError, match=r"name another file|is no file: name one"):
        SQLiteStore(name, read_only=read_only)
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("read_only", [True, False])
def test_a_pipe_is_no_store(tmp_path: Path, read_only: bool) -> None:
    os.mkfifo(tmp_path / "pipe.db")
    with pytest.raises(StoreError, match=r"pipe\.db is a pipe or a device: name a regular file"):
        SQLiteStore(tmp_path / "pipe.db", read_only=read_only)


def test_the_folder_must_exist(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot be created: the folder .*nowhere does not exist"):
        SQLiteStore(tmp_path / "nowhere" / "store.db")


@pytest.mark.parametrize("name", ["a b.db", "what?.db", "50%.db", "#1.db", "日本.db", "a&mode=memory.db"])
def test_any_file_name_will_do(tmp_path: Path, name: str) -> None:
    with SQLiteStore(tmp_path / name) as store:
        store.put(*page("d"))
        assert store.info().chunks == 1
    assert (tmp_path / name).is_file()


def test_reading_only_needs_a_file_with_something_in_it(path: Path) -> None:
    with pytest.raises(StoreError, match="does not exist: index documents into it first"):
        SQLiteStore(path, read_only=True)
    assert not path.exists()
    path.touch()
    with pytest.raises(StoreError, match="is empty: there is nothing to read"):
        SQLiteStore(path, read_only=True)


def test_a_store_opened_read_only_reads_and_does_not_write(path: Path) -> None:
    with SQLiteStore(path) as store:
        store.put(*page("d"))
    with SQLiteStore(path, read_only=True) as store:
        assert len(store.fetch([Window("d", 0, 9)])) == 1
        for write in (lambda: store.put(*page("e")), lambda: store.delete("d"), store.drop_vectors):
            with pytest.raises(StoreError, match="opened read-only: open it with read_only=False"):
                write()


def files(path: Path) -> list[str]:
    return sorted(found.name.removeprefix(path.name) for found in path.parent.iterdir())


def test_who_reads_leaves_no_files_and_takes_none_away(path: Path) -> None:
    with SQLiteStore(path) as store:
        store.put(*page("d"))
    whole = path.read_bytes()
    with SQLiteStore(path, read_only=True) as store, SQLiteStore(path, read_only=True) as other:
        assert len(store.fetch([Window("d", 0, 9)])) == len(other.fetch([Window("d", 0, 9)])) == 1
        store.close()
        assert len(other.fetch([Window("d", 0, 9)])) == 1
    assert files(path) == [""]
    assert path.read_bytes() == whole

    with SQLiteStore(path) as writer:
        writer.put(*page("e"))
        with SQLiteStore(path, read_only=True) as store:
            assert len(store.fetch([Window("e", 0, 9)])) == 1
        assert files(path) == ["", "-shm", "-wal"]
        writer.put(*page("f"))
    assert files(path) == [""]


def test_a_log_with_something_in_it_is_read_and_left(path: Path, tmp_path: Path) -> None:
    with SQLiteStore(path) as store:
        store.put(*page("d"))
    with SQLiteStore(path) as writer:
        writer.put(*page("e"))
        killed = tmp_path / "killed" / path.name  # what a killed writer leaves
        killed.parent.mkdir()
        for suffix in ("", "-wal", "-shm"):
            Path(f"{killed}{suffix}").write_bytes(Path(f"{path}{suffix}").read_bytes())
    left = {suffix: Path(f"{killed}{suffix}").read_bytes() for suffix in ("", "-wal")}
    assert left["-wal"]
    for _ in range(2):
        with SQLiteStore(killed, read_only=True) as store:
            assert len(store.fetch([Window("e", 0, 9)])) == 1
        assert {suffix: Path(f"{killed}{suffix}").read_bytes() for suffix in left} == left


def test_a_foreign_file_that_is_only_read_gets_no_files_beside_it(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE other (a)")
        connection.commit()
    with pytest.raises(StoreError):
        SQLiteStore(path, read_only=True)
    assert files(path) == [""]


def test_a_file_that_became_read_only_says_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SQLiteStore(path) as store:
        store.put(*page("d"))
    monkeypatch.setattr(sqlite_store, "connect", _with_pragma("query_only = ON"))
    with SQLiteStore(path) as store, pytest.raises(StoreError, match="the file is read-only: open it with"):
        store.put(*page("e"))


def _with_pragma(pragma: str) -> Any:
    """Return `connect` that sets `pragma` on the writing connection."""
    connect = sqlite_store.connect

    def connect_with_pragma(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        connection = connect(*args, **kwargs)
        connection.execute(f"PRAGMA {pragma}")
        return connection

    return connect_with_pragma


def test_a_full_disk_leaves_the_old_version_and_says_what_to_do(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SQLiteStore(path) as store:
        store.put(*page("d", 2))
        before = store.fetch([Window("d", 0, 99)])
    monkeypatch.setattr(sqlite_store, "connect", _with_pragma("max_page_count = 60"))
    with SQLiteStore(path) as store:
        with pytest.raises(StoreError, match=r"the disk is full \(or the file may not grow\): free space"):
            store.put(*page("d", 500))
        assert store.fetch([Window("d", 0, 99)]) == before
        assert store.check() == []
        assert store.put(*page("e", 1)) == "added"


@pytest.mark.parametrize("batch", [False, True])
def test_a_write_that_fails_half_way_leaves_nothing_for_the_next_to_commit(
    path: Path, raw: sqlite3.Connection, batch: bool
) -> None:
    with SQLiteStore(path) as store:
        # an error of a statement, which does not end the transaction by itself
        raw.execute(
            "CREATE TRIGGER stop BEFORE INSERT ON chunks WHEN NEW.chunk_id = 7 BEGIN SELECT RAISE(ABORT, 'seven'); END"
        )
        with store.batch() if batch else nullcontext():
            with pytest.raises(StoreError, match="seven"):
                store.put(*page("half", 9))
            assert store.put(*page("whole", 2)) == "added"
    raw.execute("DROP TRIGGER stop")
    with SQLiteStore(path) as store:
        assert [info.doc_id for info in store.documents()] == ["whole"]
        assert store.fetch([Window("half", 0, 9)]) == []


def test_a_disk_that_fills_up_inside_a_batch_leaves_whole_documents(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    SQLiteStore(path).close()
    monkeypatch.setattr(sqlite_store, "connect", _with_pragma("max_page_count = 200"))
    with SQLiteStore(path) as store:

        def fill() -> None:
            with store.batch(chunks=20):
                for i in range(1000):
                    store.put(*page(f"d{i}", 10))

        with pytest.raises(StoreError, match="the disk is full"):
            fill()
        assert store.check() == []
        documents = list(store.documents())
        assert documents
        assert all(info.chunk_count == 10 for info in documents)


def test_a_locked_file_is_waited_for_and_then_reported(path: Path, raw: sqlite3.Connection) -> None:
    with SQLiteStore(path, busy_timeout_s=0.05) as store:
        raw.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"another program holds the write lock: wait .* or raise busy_timeout_s"):
            store.put(*page("d"))
        assert store.fetch([Window("d", 0, 9)]) == []  # reading goes on
        raw.execute("ROLLBACK")
        assert store.put(*page("d")) == "added"


def test_a_closed_store_says_so(path: Path) -> None:
    store = SQLiteStore(path)
    store.close()
    store.close()
    with pytest.raises(StoreError, match="the store is closed; open it again"):
        store.fetch([])
    with pytest.raises(StoreError, match="is closed or was opened read-only"):
        store.put(*page("d"))


def test_a_file_deleted_underneath_is_not_made_anew(path: Path) -> None:
    with SQLiteStore(path) as store:
        path.unlink()
        with pytest.raises(StoreError, match="it cannot be opened: check that the folder exists"):
            store.fetch([Window("d", 0, 1)])
    assert not path.exists()
