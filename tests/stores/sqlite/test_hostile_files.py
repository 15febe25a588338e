"""Files that somebody else wrote, or that are damaged: clear errors, and none of their code runs."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.early_files import with_vectors_beside, with_vectors_inside
from typer.testing import CliRunner

from retrivex.cli import app
from retrivex.encoders.encoder import HashingEncoder
from retrivex.errors import StoreError
from retrivex.evaluation.run.vector_cache import VectorCache
from retrivex.model.chunk import Chunk, ChunkMetadata
from retrivex.model.document import Document
from retrivex.model.window import Window
from retrivex.stores import SQLiteStore
from retrivex.stores.sqlite.schema import COUNT_COLUMNS
from retrivex.stores.sqlite.shared_file import SharedFile

TEXT = "Bees sleep at night."


def write_store(path: Path, *, vectors: bool = True) -> Path:
    meta = ChunkMetadata("d", 0, 0, 20, "p", ("Bees",), 1, {"a": 1}, 1.0, 1, None, (("d", 0),))
    parent = Chunk(TEXT, ChunkMetadata("d", 0, 0, 20, heading_path=("Bees",)))
    with SQLiteStore(path) as store:
        rows = np.ones((1, 4)) if vectors else None
        store.put(
            Document("d", TEXT, page_starts=(0,)), [Chunk(TEXT, meta)], {"p": parent, "q": "text"}, rows, encoder="e"
        )
    return path


def change(path: Path, sql: str, *values: Any) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(sql, values)
    connection.close()


def read_everything(path: Path) -> None:
    with SQLiteStore(path, read_only=True) as store:
        list(store.documents())
        store.info()
        _ = store.vector_model, store.model_folder
        store.get_document("d")
        for chunk, _ in store.fetch_counted([Window("d", 0, 9)], tokenizer="t"):
            assert chunk.embedding is None or chunk.embedding.shape == (4,)
        store.fetch_parents(["p", "q"])
        store.search_text("bees")
        if store.vector_model:
            store.search_vector([1.0, 0.0, 0.0, 0.0])


def test_a_whole_file_is_read(tmp_path: Path) -> None:
    read_everything(write_store(tmp_path / "s.db"))


BRACKETS = "[" * 100_000
DAMAGE = [
    ("chunks", "heading_path", "{"),
    ("chunks", "heading_path", BRACKETS),
    ("chunks", "heading_path", "5"),
    ("chunks", "links", "5"),
    ("chunks", "links", "[[1]]"),
    ("chunks", "sequence_kinds", "x"),
    ("chunks", "custom_metadata", '{"n": ' + "9" * 5000 + "}"),
    ("chunks", "custom_metadata", "[]"),
    ("chunks", "chunk_count", "many"),
    ("chunks", "timestamp", "soon"),
    ("chunks", "page", b"\x00"),
    ("chunks", "char_start", 99),
    ("chunks", "text", b"\xff"),
    ("chunks", "text", ""),
    ("parents", "text", b"\xff"),
    ("parents", "heading_path", "{"),
    ("documents", "page_starts", "{"),
    ("documents", "page_starts", '["a"]'),
    ("documents", "metadata", BRACKETS),
    ("documents", "text", b"\xff"),
    ("documents", "chunk_count", "x"),
    ("documents", "title", b"\xff"),
    ("documents", "tokenizer", b"\xff"),
    ("document_vectors", "first", 99),
    ("document_vectors", "first", -99),
    ("document_vectors", "first", "text"),
    ("document_vectors", "first", 2**62),
    ("document_vectors", "vectors", b"\x00" * 8),
    ("document_vectors", "vectors", b"\x00" * 3),
    ("document_vectors", "vectors", "text"),
    ("scopes", "scope", b"\xff"),
]


@pytest.mark.parametrize(("table", "column", "value"), DAMAGE)
def test_damage_is_told_with_the_file_and_the_way_out(tmp_path: Path, table: str, column: str, value: Any) -> None:
    path = write_store(tmp_path / "s.db")
    change(path, f"UPDATE {table} SET {column} = ?", value)
    with pytest.raises(StoreError, match=r"s\.db: .*(restore a copy, or index again into a new file|the store could)"):
        read_everything(path)


@pytest.mark.parametrize("read_only", [True, False])
def test_a_schema_that_sqlite_cannot_even_quote_is_damage(tmp_path: Path, read_only: bool) -> None:
    path = write_store(tmp_path / "s.db")
    raw = path.read_bytes()
    assert b"CREATE INDEX chunks_scope ON" in raw
    path.write_bytes(raw.replace(b"CREATE INDEX chunks_scope ON", b"CREATE INDEX chunks_scope \xceN"))
    with pytest.raises(StoreError, match=r"s\.db: the file is damaged: restore a copy"):
        SQLiteStore(path, read_only=read_only)


@pytest.mark.parametrize("value", [b"\x00" * 8, b"\x00" * 3, "text"])
def test_a_damaged_vector_of_an_earlier_version_is_told(tmp_path: Path, value: Any) -> None:
    path = with_vectors_inside(write_store(tmp_path / "s.db"))
    change(path, "UPDATE vectors SET vector = ?", value)
    with pytest.raises(StoreError, match=r"s\.db: .*restore a copy, or index again into a new file"):
        read_everything_once_opened(path)


@pytest.mark.parametrize("value", [-1, 2**62, "text", "../../x", None])
@pytest.mark.parametrize("key", ["vector_generation", "vector_identity", "vector_rows", "vector_dimension"])
def test_a_wrong_note_of_an_earlier_version_is_damage(tmp_path: Path, key: str, value: Any) -> None:
    path = with_vectors_beside(write_store(tmp_path / "s.db"))
    change(path, "UPDATE meta SET value = ? WHERE key = ?", value, key)
    with pytest.raises(StoreError, match="index again"):
        read_everything_once_opened(path)


def read_everything_once_opened(path: Path) -> None:
    SQLiteStore(path).close()
    read_everything(path)


@pytest.mark.parametrize("key", ["vector_model", "vector_dimension", "vector_changes"])
def test_half_a_note_about_the_vectors_is_damage(tmp_path: Path, key: str) -> None:
    path = write_store(tmp_path / "s.db")
    change(path, "DELETE FROM meta WHERE key = ?", key)
    with pytest.raises(StoreError, match="index again into a new file"):
        read_everything(path)


@given(
    st.sampled_from([(table, column) for table, column, _ in DAMAGE]),
    st.one_of(st.integers(-(2**63), 2**63 - 1), st.floats(), st.binary(max_size=20), st.text(max_size=20), st.none()),
)
def test_any_value_anywhere_is_read_or_a_store_error(
    tmp_path_factory: pytest.TempPathFactory, place: tuple[str, str], value: Any
) -> None:
    path = write_store(tmp_path_factory.mktemp("damaged") / "s.db")
    try:
        change(path, f"UPDATE {place[0]} SET {place[1]} = ?", value)
    except (sqlite3.IntegrityError, UnicodeEncodeError):
        return  # NULL where the table has none
    with suppress(StoreError):
        read_everything(path)


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TRIGGER t AFTER INSERT ON chunks BEGIN DELETE FROM documents; END",
        "CREATE VIEW v AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT * FROM n",
        "CREATE VIRTUAL TABLE v USING fts5(a)",
    ],
)
@pytest.mark.parametrize("read_only", [True, False])
def test_code_of_others_is_refused(tmp_path: Path, sql: str, read_only: bool) -> None:
    path = write_store(tmp_path / "s.db")
    change(path, sql)
    with pytest.raises(StoreError, match=r"has the (trigger|view|virtual table) '.', which RetriVex did not make"):
        SQLiteStore(path, read_only=read_only)


def test_a_changed_view_of_ours_is_refused(tmp_path: Path) -> None:
    path = write_store(tmp_path / "s.db")
    change(path, "DROP VIEW chunk_terms")
    change(path, "CREATE VIEW chunk_terms AS SELECT id, document, 'x' AS body, '' AS heading FROM chunks")
    with pytest.raises(StoreError, match="has the view 'chunk_terms', which RetriVex did not make"):
        SQLiteStore(path)


def test_a_table_that_is_a_view_is_refused(tmp_path: Path) -> None:
    path = write_store(tmp_path / "s.db")
    change(path, "ALTER TABLE documents RENAME TO others")
    change(path, "CREATE VIEW documents AS SELECT * FROM others")
    with pytest.raises(StoreError, match="has the view 'documents'"):
        SQLiteStore(path)


def rewrite_schema(path: Path, name: str, old: str, new: str) -> None:
    """Change the SQL of a table, as only who means harm does."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        done = connection.execute(
            "UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = ? AND instr(sql, ?)", (old, new, name, old)
        )
        assert done.rowcount == 1


COMPUTED = [
    ("chunks", "text TEXT NOT NULL", "text TEXT GENERATED ALWAYS AS (printf('%.*c', 100000000, 'x')) VIRTUAL"),
    ("chunks", "terms TEXT,", "terms TEXT CHECK (length(printf('%.*c', 100000000, 'x')) > 0),"),
    ("chunks", "terms TEXT,", "terms TEXT DEFAULT (zeroblob(900000000)),"),
    ("chunks", "terms TEXT,", "terms TEXT COLLATE NOCASE,"),
    ("chunks", "UNIQUE (document, chunk_id)", "UNIQUE (document, chunk_id) ON CONFLICT REPLACE"),
    ("chunks", "document INTEGER NOT NULL", "document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE"),
    ("documents", "title TEXT", "title TEXT GENERATED ALWAYS AS (replace(hex(zeroblob(9)), '0', text)) VIRTUAL"),
    ("parents", "text TEXT NOT NULL", "text TEXT GENERATED ALWAYS AS (printf('%.*c', 100000000, 'x')) VIRTUAL"),
    ("document_vectors", "first INTEGER NOT NULL", "first INTEGER NOT NULL CHECK (first < length(hex(zeroblob(9))))"),
    ("chunks_scope", "(scope)", "(length(printf('%.*c', 100000000, scope)))"),
    ("chunks_scope", "(scope)", "(scope) WHERE length(printf('%.*c', 100000000, scope)) > 0"),
]


@pytest.mark.parametrize(("name", "old", "new"), COMPUTED)
@pytest.mark.parametrize("read_only", [True, False])
def test_what_a_schema_computes_is_refused(tmp_path: Path, name: str, old: str, new: str, read_only: bool) -> None:
    path = write_store(tmp_path / "s.db")
    rewrite_schema(path, name, old, new)
    with pytest.raises(
        StoreError, match=rf"s\.db(: the file is damaged| has the (table|index) '{name}', which .* did)"
    ):
        SQLiteStore(path, read_only=read_only)


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("CREATE INDEX i ON chunks (length(printf('%.*c', 100000000, text)))", "index 'i'"),
        ("CREATE TABLE t (document REFERENCES documents ON DELETE CASCADE)", "table 't'"),
    ],
)
def test_what_others_added_is_refused(tmp_path: Path, sql: str, what: str) -> None:
    path = write_store(tmp_path / "s.db", vectors=False)
    change(path, "DELETE FROM chunks")  # an index computes what is in its table
    change(path, sql)
    for read_only in (True, False):
        with pytest.raises(StoreError, match=f"has the {what}, which RetriVex did not make"):
            SQLiteStore(path, read_only=read_only)


def test_statistics_of_sqlite_are_no_code(tmp_path: Path) -> None:
    path = write_store(tmp_path / "s.db")
    change(path, "ANALYZE")
    read_everything(path)


@pytest.mark.parametrize("added", [[], ["tokens_checksum", "unit_cuts"]])
@pytest.mark.parametrize("vectors", [True, False])
def test_a_file_of_each_version_is_read_and_written(tmp_path: Path, added: list[str], vectors: bool) -> None:
    shutil.copy(Path(__file__).parents[2] / "golden" / "0.2.0" / "index.db", tmp_path / "s.db")
    for name in added:
        change(tmp_path / "s.db", f"ALTER TABLE chunks ADD COLUMN {name} {COUNT_COLUMNS[name]}")
    with SQLiteStore(tmp_path / "s.db") as store:
        assert store.check() == []
        store.drop_vectors()
    for _ in range(2):
        write_store(tmp_path / "s.db", vectors=vectors)


def test_functions_that_reach_outside_do_not_run(tmp_path: Path) -> None:
    """`trusted_schema` is off: an index of the file calls harmless functions only."""
    path = write_store(tmp_path / "s.db")
    with SQLiteStore(path) as store, store._transaction() as connection:
        assert connection.execute("PRAGMA trusted_schema").fetchone() == (0,)
    with SQLiteStore(path, read_only=True) as store, store._readers.connection() as connection:
        assert connection.execute("PRAGMA trusted_schema").fetchone() == (0,)


def test_a_shared_file_computes_nothing(tmp_path: Path) -> None:
    """Not even while its tables are made: an index computes what is in its table."""
    schema = "CREATE TABLE IF NOT EXISTS item (name TEXT); CREATE INDEX IF NOT EXISTS names ON item (name)"
    huge = "name TEXT GENERATED ALWAYS AS (printf('%.*c', 100000000, 'x')) VIRTUAL"
    with closing(sqlite3.connect(tmp_path / "c.db")) as connection, connection:
        connection.execute(f"CREATE TABLE item (id INTEGER PRIMARY KEY, {huge})")
        connection.executemany("INSERT INTO item (id) VALUES (?)", [(at,) for at in range(9)])
    with pytest.raises(StoreError, match=r"c\.db has the table 'item', which RetriVex did not make"):
        SharedFile(tmp_path / "c.db", schema, busy_timeout_s=1)


def test_no_other_database_computes_anything(tmp_path: Path) -> None:
    """Nor vectors kept for an evaluation."""

    def encode() -> None:
        VectorCache(HashingEncoder(16), tmp_path).encode(["Bees."])

    encode()
    (path,) = (file for file in tmp_path.iterdir() if not file.name.endswith(("-wal", "-shm")))
    with closing(sqlite3.connect(path)) as connection:
        (table,) = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' LIMIT 1").fetchone()
    change(path, f"CREATE INDEX i ON {table} (printf('%.*c', 1000000000, 'x')) WHERE 0")
    with pytest.raises(StoreError, match="has the index 'i', which RetriVex did not make"):
        encode()


def test_a_shared_file_with_a_trigger_is_refused(tmp_path: Path) -> None:
    schema = "CREATE TABLE IF NOT EXISTS item (name TEXT)"
    SharedFile(tmp_path / "c.db", schema, busy_timeout_s=1).close()
    change(tmp_path / "c.db", "CREATE TRIGGER t AFTER INSERT ON item BEGIN DELETE FROM item; END")
    with pytest.raises(StoreError, match="has the trigger 't'"):
        SharedFile(tmp_path / "c.db", schema, busy_timeout_s=1)


@pytest.mark.parametrize("args", [["query", "bees", "--mode", "bm25"], ["inspect"], ["inspect", "--document", "d"]])
@pytest.mark.parametrize(("table", "column", "value"), [DAMAGE[1], DAMAGE[6], ("documents", "title", b"\xff")])
def test_the_shell_prints_one_line(tmp_path: Path, args: list[str], table: str, column: str, value: Any) -> None:
    path = write_store(tmp_path / "s.db", vectors=False)
    change(path, f"UPDATE {table} SET {column} = ?", value)
    done = CliRunner().invoke(app, [*args, "--db", str(path)])
    assert done.exception is None or isinstance(done.exception, SystemExit)
    if done.exit_code:  # some commands do not read that column
        assert done.exit_code == 3
        assert "index again into a new file" in done.stderr
        assert done.stderr.count("\n") == 1


def without_shared_memory(path: Path) -> None:
    """Make it impossible to create the `-shm` file, as on a read-only file system."""
    Path(f"{path}-shm").unlink(missing_ok=True)
    Path(f"{path}-shm").symlink_to(path.parent / "nowhere" / "shm")


def in_a_read_only_folder(path: Path) -> None:
    path.parent.chmod(0o555)


READ_ONLY = [
    without_shared_memory,
    pytest.param(
        in_a_read_only_folder,
        marks=pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root writes everywhere"),
    ),
]


@pytest.mark.parametrize("forbid", READ_ONLY)
def test_a_database_is_read_where_nothing_can_be_written(tmp_path: Path, forbid: Callable[[Path], None]) -> None:
    path = write_store(tmp_path / "s.db")
    forbid(path)
    read_everything(path)
    with pytest.raises(StoreError, match=r"read-only|cannot be opened"):
        write_store(path)
    tmp_path.chmod(0o755)


def test_a_log_that_cannot_be_read_is_not_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with SQLiteStore(path) as store:
        store.put(Document("d", TEXT), [Chunk(TEXT, ChunkMetadata("d", 0, 0, 20))])
        content, log = path.read_bytes(), Path(f"{path}-wal").read_bytes()
    copy = tmp_path / "copy.db"
    copy.write_bytes(content)
    Path(f"{copy}-wal").write_bytes(log)
    without_shared_memory(copy)
    with pytest.raises(StoreError, match="has a write-ahead log, which cannot be read where no file can be made: open"):
        SQLiteStore(copy, read_only=True)


def test_words_of_chunks_that_are_gone_lead_nowhere(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "made.db") as store:
        for doc_id in "abcd":
            store.put(Document(doc_id, TEXT), [Chunk(TEXT, ChunkMetadata(doc_id, 0))])
    change(tmp_path / "made.db", "DELETE FROM chunks WHERE rowid % 2 = 0")
    with SQLiteStore(tmp_path / "made.db") as store:
        assert [hit.key for hit in store.search_text("bees", 1)] == [("a", 0)]
        assert len(store.search_text("bees", 3)) <= 2
        assert store.check()
