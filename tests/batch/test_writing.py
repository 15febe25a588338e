from __future__ import annotations

import json
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.batch_world import make_table
from typer.testing import CliRunner

from retrivex import Document, Window
from retrivex.adapters.base.collection import Collection
from retrivex.adapters.base.fields import field_map
from retrivex.batch import (
    ChunkWork,
    FilesWork,
    Job,
    OutputFolder,
    StoreAddress,
    file_source,
    open_writer,
    parquet_source,
    write_parts,
)
from retrivex.batch.job import Failed
from retrivex.cli import app
from retrivex.errors import BatchError, StoreError
from retrivex.loading import LoadReport
from retrivex.stores import SQLiteStore

WORK = FilesWork(ChunkWork(size=20, tokenizer="estimate"))


def make_files(folder: Path, count: int = 7) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        (folder / f"{number}.txt").write_text(f"Document {number} tells of bees. " * (number + 1))
    return folder


def make_parts(folder: Path) -> Job:
    job = Job(file_source([folder / "docs"], LoadReport(), files_per_part=3), WORK, OutputFolder(folder / "out"))
    with job.open() as missing:
        assert not any(isinstance(job.make_part(number), Failed) for number in missing)
    return job


def test_files_are_in_parts_in_their_order_and_another_file_is_another_job(tmp_path: Path) -> None:
    make_files(tmp_path / "docs")
    source = file_source([tmp_path / "docs"], LoadReport(), files_per_part=3)
    assert [source.read(n).column("doc_id").to_pylist() for n in range(source.parts)] == [
        ["0.txt", "1.txt", "2.txt"], ["3.txt", "4.txt", "5.txt"], ["6.txt"],
    ]  # fmt: skip
    (tmp_path / "docs" / "0.txt").write_text("Another one.")
    assert file_source([tmp_path / "docs"], LoadReport(), files_per_part=3).describe() != source.describe()
    with pytest.raises(BatchError, match="no file of a known kind"):
        file_source([tmp_path / "docs"], LoadReport(), include=["*.pdf"])


def test_a_file_that_changed_and_kept_its_size_and_time_is_another_job(tmp_path: Path) -> None:
    path = make_files(tmp_path / "docs") / "0.txt"
    status, first = path.stat(), file_source([tmp_path / "docs"], LoadReport()).describe()
    path.write_text(path.read_text().replace("bees", "ants"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size
    assert file_source([tmp_path / "docs"], LoadReport()).describe() != first
    path.write_text(path.read_text().replace("ants", "bees"))
    assert file_source([tmp_path / "docs"], LoadReport()).describe() == first


def test_large_files_make_parts_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrivex.batch.files.BYTES_PER_PART", 100)
    source = file_source([make_files(tmp_path)], LoadReport())
    assert [source.read(n).num_rows for n in range(source.parts)] == [2, 1, 1, 1, 1, 1]


def test_parts_are_written_once_and_a_document_of_a_name_that_is_taken_is_reported(tmp_path: Path) -> None:
    make_files(tmp_path / "docs")
    (tmp_path / "docs" / "lines.jsonl").write_text('{"doc_id": "0.txt", "text": "Taken."}\n')
    job = make_parts(tmp_path)
    address = StoreAddress("sqlite", str(tmp_path / "store.db"))
    told: list[tuple[int, int]] = []
    for again in (False, True):
        writer = open_writer(address)
        made = write_parts(job.folder, job.source.parts, writer, lambda done, total: told.append((done, total)))
        writer.close()
        assert (made.documents, len(made.problems)) == (7, 1), again
        assert "doc_id '0.txt' was used before" in made.problems[0][1]
    assert told[:3] == [(1, 3), (2, 3), (3, 3)]
    with SQLiteStore(tmp_path / "store.db", read_only=True) as store:
        assert sum(info.chunk_count for info in store.documents()) == made.chunks
        assert store.fetch([Window("0.txt", 0, 1)])[0].text.startswith("Document 0 tells")


def write_all(job: Job, address: StoreAddress) -> None:
    writer = open_writer(address)
    try:
        write_parts(job.folder, job.source.parts, writer)
    finally:
        writer.close()


def stored(path: Path) -> dict[str, int]:
    with SQLiteStore(path, read_only=True) as store:
        return {info.doc_id: info.chunk_count for info in store.documents()}


def test_a_store_that_was_deleted_between_two_runs_is_filled_anew(tmp_path: Path) -> None:
    make_files(tmp_path / "docs")
    job, path = make_parts(tmp_path), tmp_path / "store.db"
    write_all(job, StoreAddress("sqlite", str(path)))
    whole = stored(path)
    for file in tmp_path.glob("store.db*"):
        file.unlink()
    write_all(job, StoreAddress("sqlite", str(path)))
    assert stored(path) == whole
    assert len(whole) == 7


@pytest.mark.parametrize("lost", [["0.txt"], ["1.txt"], ["4.txt"], ["1.txt", "2.txt", "3.txt", "4.txt"]])
def test_a_store_that_lost_any_documents_of_a_part_gets_them_back_and_keeps_what_was_added(
    tmp_path: Path, lost: list[str]
) -> None:
    path, out = tmp_path / "store.db", str(tmp_path / "out")
    docs = str(make_files(tmp_path / "docs", 5))
    said = ["batch", "index", docs, "-o", out, "--store", "sqlite", "--address", str(path), "--json"]

    def run() -> dict[str, Any]:
        result = CliRunner().invoke(app, said)
        assert result.exit_code == 0, result.output
        counts: dict[str, Any] = json.loads(result.stdout)
        return counts

    assert (run()["parts"], run()["documents"]) == (1, 5)
    whole = stored(path)
    with SQLiteStore(path) as store:
        for doc_id in lost:
            store.delete(doc_id)
        store.put(Document("own", "Of somebody else."), [])
    assert run()["documents"] == 5
    assert stored(path) == whole | {"own": 0}


def test_a_store_of_a_newer_version_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    make_files(tmp_path / "docs")
    path, out = tmp_path / "store.db", str(tmp_path / "out")
    SQLiteStore(path).close()
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA user_version = 99")
    before = path.read_bytes()
    said = ["batch", "index", str(tmp_path / "docs"), "-o", out, "--store", "sqlite", "--address", str(path)]
    result = CliRunner().invoke(app, said, env={"COLUMNS": "300"})
    assert result.exit_code == 3, result.output
    assert "was written by a newer RetriVex (schema version 99, this one reads 4): upgrade" in result.stderr
    assert not (tmp_path / "out").exists()
    assert path.read_bytes() == before
    pq.write_table(make_table(3), tmp_path / "requests.parquet")
    said = ["batch", "compose", str(tmp_path / "requests.parquet"), "-o", f"{out}2"]
    result = CliRunner().invoke(app, [*said, "--store", "sqlite", "--address", str(path)], env={"COLUMNS": "300"})
    assert result.exit_code == 3, result.output
    assert "was written by a newer RetriVex" in result.stderr
    assert not list(tmp_path.glob("out2/part-*"))


def index(folder: Path, *more: str, embed: str = "hashing") -> Any:
    said = ["batch", "index", str(folder / "docs"), "-o", str(folder / "out"), "--embed", embed, "--json"]
    return CliRunner().invoke(app, [*said, "--workers", "1", "--tokenizer", "estimate", *more], env={"COLUMNS": "300"})


@pytest.mark.parametrize("where", ["missing/store.db", "store.db", "docs"])
def test_a_store_that_cannot_be_written_is_said_before_anything_is_cut(tmp_path: Path, where: str) -> None:
    make_files(tmp_path / "docs", 2)
    (tmp_path / "store.db").write_text("Dear bees, this is no database.")
    before = sorted(tmp_path.rglob("*"))
    result = index(tmp_path, "--store", "sqlite", "--address", str(tmp_path / where))
    assert result.exit_code == 3, result.output
    assert where in result.stderr
    assert sorted(tmp_path.rglob("*")) == before


class OnlyRead(Collection):
    """A collection that RetriVex does not fill, or whose server is gone."""

    name = "Shelf 'docs'"
    fields = field_map("retrivex")
    batch_limit = 9
    is_sync = True

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    def ask(self, request: Any) -> Any:
        raise AssertionError("nothing is to be asked")

    def failure(self, error: Exception) -> Any:
        return "down"

    def put(self, *given: Any, **more: Any) -> None:
        if self.error is not None:
            raise self.error
        super().put(*given, **more)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (None, "Shelf 'docs' is not filled from here: write the chunks with its own client"),
        (OSError("no route to host"), "Shelf 'docs' is down, asked 3 times (OSError: no route to host)"),
        (OSError("wrong key sesame"), "is down, asked 3 times (OSError: wrong key ***)"),
    ],
)
def test_a_vector_store_is_looked_at_before_anything_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception | None, message: str
) -> None:
    monkeypatch.setattr("retrivex.adapters.base.opening.open_collection", lambda *_: OnlyRead(error))
    monkeypatch.setenv("RETRIVEX_API_KEY", "sesame")
    make_files(tmp_path / "docs", 2)
    result = index(tmp_path, "--store", "qdrant", "--address", "http://me:word@nowhere", "--collection", "docs")
    assert (result.exit_code, message in result.stderr) == (3, True), result.output
    assert not (tmp_path / "out").exists()


def test_a_client_that_is_missing_is_said_before_anything_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "lancedb", None)
    for name in [name for name in sys.modules if name.startswith("retrivex.adapters.lancedb")]:
        monkeypatch.delitem(sys.modules, name)
    make_files(tmp_path / "docs", 2)
    result = index(tmp_path, "--store", "lancedb", "--address", str(tmp_path / "lance"), "--collection", "docs")
    assert (result.exit_code, "pip install 'retrivex-rag[lancedb]'" in result.stderr) == (3, True), result.output
    assert not (tmp_path / "out").exists()


def test_parts_are_kept_where_the_store_is_another_one_which_gets_all_of_them(tmp_path: Path) -> None:
    make_files(tmp_path / "docs")
    for name, made in (("a.db", 4), ("b.db", 0), ("a.db", 0)):
        result = index(tmp_path, "--files", "2", "--store", "sqlite", "--address", str(tmp_path / name))
        assert result.exit_code == 0, result.output
        assert (json.loads(result.stdout)["made"], json.loads(result.stdout)["documents"]) == (made, 7)
        assert len(stored(tmp_path / name)) == 7
    assert json.loads(index(tmp_path, "--files", "2").stdout)["made"] == 0


def test_documents_without_chunks_are_there_again_in_a_store_that_was_begun_anew(tmp_path: Path) -> None:
    pq.write_table(pa.table({"doc_id": ["empty-0", "empty-1"], "text": ["", ""]}), tmp_path / "documents.parquet")
    work, path = ChunkWork(size=20, tokenizer="estimate"), tmp_path / "store.db"
    job = Job(parquet_source(tmp_path / "documents.parquet", work), work, OutputFolder(tmp_path / "out"))
    with job.open():
        assert not isinstance(job.make_part(0), Failed)
    for _ in range(2):
        write_all(job, StoreAddress("sqlite", str(path)))
        assert stored(path) == {"empty-0": 0, "empty-1": 0}
        for file in tmp_path.glob("store.db*"):
            file.unlink()


def test_a_path_is_the_same_wherever_a_worker_or_the_next_run_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    made = [StoreAddress("sqlite", "a.db"), StoreAddress("lancedb", "lance/", "docs")]
    monkeypatch.chdir(tmp_path / "other")
    assert [address.address for address in made] == [str(tmp_path / "a.db"), str(tmp_path / "lance")]
    assert str(made[0]) == f"sqlite {tmp_path / 'a.db'}"
    kept = [("qdrant", "http://host:6333"), ("pgvector", "dbname=docs"), ("lancedb", "s3://bucket/docs")]
    assert [StoreAddress(kind, address, "docs").address for kind, address in kept] == [address for _, address in kept]


def test_addresses_that_cannot_be_are_refused_and_secrets_stay_hidden() -> None:
    with pytest.raises(StoreError, match="store is 'redis': it must be one of sqlite, qdrant"):
        StoreAddress("redis", "x")
    address = StoreAddress("pgvector", "postgresql://me:secret@host/rag", "docs")
    assert "secret" not in f"{address} {address!r}"
    assert "host" in str(address)


def test_a_table_of_chunks_has_a_schema_with_its_version(tmp_path: Path) -> None:
    make_files(tmp_path / "docs", 1)
    job = make_parts(tmp_path)
    table = WORK(job.source.read(0))
    assert table.schema.metadata[b"retrivex.schema"] == b"retrivex.batch.chunks/1"
    assert isinstance(table, pa.Table)


def test_a_part_that_was_damaged_is_named_before_anything_of_it_is_in_the_store(tmp_path: Path) -> None:
    make_files(tmp_path / "docs")
    job = make_parts(tmp_path)
    part = tmp_path / "out" / "part-00001.parquet"
    whole = part.read_bytes()
    part.write_bytes(whole[:40] + b"\xff" * 40 + whole[80:])
    store = open_writer(StoreAddress("sqlite", str(tmp_path / "store.db")))
    with pytest.raises(
        BatchError, match=r"part-00001.parquet is not a part of a batch .*: delete it, and run the job again"
    ):
        write_parts(job.folder, 3, store)
    part.unlink()
    assert not isinstance(job.make_part(1), Failed)
    assert write_parts(job.folder, 3, store).documents == 7
    store.close()
