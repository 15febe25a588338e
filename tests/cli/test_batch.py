from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.batch_world import compose_loop, make_rows, make_table, write_requests, write_store
from typer.testing import CliRunner

from retrivex import RetrievalConfig
from retrivex.batch import record_of
from retrivex.cli import app

run = CliRunner().invoke

OPTIONS = ("--budget", "60", "--set", "tokenizer=estimate", "--workers", "1", "--rows", "10")


def compose(folder: Path, *more: str) -> Any:
    return run(app, ["batch", "compose", str(folder / "requests.parquet"), "-o", str(folder / "out"), *OPTIONS, *more])


def over_store(folder: Path, *more: str) -> Any:
    return compose(folder, "--store", "sqlite", "--address", str(folder / "store.db"), *more)


def test_a_file_of_requests_becomes_a_folder_of_compositions_and_is_gone_on_with(tmp_path: Path) -> None:
    write_requests(tmp_path / "requests.parquet", 25)
    write_store(tmp_path / "store.db")
    first, again = over_store(tmp_path), over_store(tmp_path, "--json")
    assert (first.exit_code, again.exit_code) == (0, 0), first.stderr
    assert "25 rows in 3 parts" in first.stdout
    said = json.loads(again.stdout)
    assert (said["parts"], said["made"], said["rows"], said["failed"]) == (3, 0, 25, 0)
    rows = pq.read_table(tmp_path / "out").to_pylist()
    config = RetrievalConfig(token_budget=60, tokenizer="estimate")
    assert [json.dumps(record_of(row)) for row in rows] == compose_loop(make_rows(25), config)


def test_rows_that_fail_are_counted_and_the_exit_code_says_so(tmp_path: Path) -> None:
    write_requests(tmp_path / "requests.parquet", 12)
    result = compose(tmp_path)
    assert result.exit_code == 1
    assert "12 rows, 12 failed in 2 parts" in result.stdout
    assert "12 rows failed: the column error says why" in result.stderr


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--budget", "-1"), 2, "token_budget is -1"),
        (("--store", "sqlite"), 2, "--store and --address go together"),
        (("--store", "sqlite", "--address", "nothing.db"), 3, "nothing.db"),
        (("--store", "sqlite", "--address", "a.db", "--collection", "bees"), 3, "sqlite has no collections"),
        (("--store", "qdrant", "--address", "http://localhost:6333"), 3, "qdrant needs the name of a collection"),
        (("--engine", "flink"), 2, "--engine: 'flink' is not one of"),
        (("--rows", "0"), 2, "--rows: "),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_is_written(
    tmp_path: Path, options: tuple[str, ...], code: int, message: str
) -> None:
    write_requests(tmp_path / "requests.parquet", 3)
    result = compose(tmp_path, *options)
    assert (result.exit_code, message in result.stderr) == (code, True), result.stderr
    assert not list(tmp_path.glob("out/part*"))


def test_a_file_that_is_no_parquet_or_holds_something_else_is_named(tmp_path: Path) -> None:
    (tmp_path / "requests.parquet").write_text("id,question\n")
    assert "it is no Parquet file" in compose(tmp_path).stderr
    pq.write_table(pa.table({"text": ["Bees"]}), tmp_path / "requests.parquet")
    result = compose(tmp_path)
    assert (result.exit_code, "column 'text' of the requests is unknown" in result.stderr) == (3, True)
    assert not (tmp_path / "out").exists()


def test_a_folder_of_another_job_is_refused_with_the_way_out(tmp_path: Path) -> None:
    write_requests(tmp_path / "requests.parquet", 3)
    write_store(tmp_path / "store.db")
    assert over_store(tmp_path).exit_code == 0
    result = over_store(tmp_path, "--window", "1")
    assert result.exit_code == 3
    assert "which differs in config" in result.stderr
    assert "name another folder, or delete this one" in result.stderr


@pytest.mark.parametrize("engine", ["ray", "spark"])
def test_an_engine_that_is_missing_names_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    for name in ("ray", "pyspark"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, f"retrivex.batch.{engine}", raising=False)
    write_requests(tmp_path / "requests.parquet", 3)
    result = compose(tmp_path, "--engine", engine)
    assert result.exit_code == 3
    assert f"pip install 'retrivex-rag[{engine}]'" in result.stderr


def test_the_extra_is_named_where_pyarrow_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("retrivex.batch")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    pq.write_table(make_table(1), tmp_path / "requests.parquet")
    result = compose(tmp_path)
    assert (result.exit_code, "pip install 'retrivex-rag[batch]'" in result.stderr) == (3, True)


# ---- index


def index(folder: Path, *more: str) -> Any:
    options = ("--tokenizer", "estimate", "--workers", "1", "--files", "2")
    return run(app, ["batch", "index", str(folder / "docs"), "-o", str(folder / "chunks"), *options, *more])


def make_documents(folder: Path) -> None:
    (folder / "docs").mkdir()
    for number in range(3):
        (folder / "docs" / f"{number}.md").write_text(f"# Bees {number}\n\nBees of hive {number} sleep at night.")


def test_files_become_an_index_that_query_reads(tmp_path: Path) -> None:
    make_documents(tmp_path)
    database = str(tmp_path / "docs.db")
    first = index(tmp_path, "--store", "sqlite", "--address", database)
    assert first.exit_code == 0, first.stderr
    assert "3 documents, 3 chunks" in first.stdout
    again = json.loads(index(tmp_path, "--store", "sqlite", "--address", database, "--json").stdout)
    assert (again["parts"], again["made"], again["documents"], again["problems"]) == (2, 0, 3, [])
    asked = run(app, ["query", "Which hive sleeps at night?", "--db", database, "--set", "tokenizer=estimate"])
    assert "sleep at night" in asked.stdout


def test_what_batches_wrote_among_the_files_is_not_read(tmp_path: Path) -> None:
    make_documents(tmp_path)
    inside = ("-o", str(tmp_path / "docs" / "chunks"), "--store", "sqlite", "--address", str(tmp_path / "a.db"))
    assert index(tmp_path, *inside).exit_code == 0
    again = index(tmp_path, *inside, "--json")
    assert again.exit_code == 0, again.stderr
    assert (json.loads(again.stdout)["made"], json.loads(again.stdout)["documents"]) == (0, 3)


def test_files_that_cannot_be_read_are_listed_and_the_others_are_in_the_store(tmp_path: Path) -> None:
    make_documents(tmp_path)
    (tmp_path / "docs" / "broken.pdf").write_bytes(b"no pdf")
    result = index(tmp_path, "--store", "sqlite", "--address", str(tmp_path / "docs.db"))
    assert result.exit_code == 1
    assert "3 documents" in result.stdout
    assert "broken.pdf" in result.stderr


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--store", "sqlite"), 2, "--store and --address go together"),
        (
            ("--store", "qdrant", "--address", "x", "--collection", "docs"),
            2,
            "keeps vectors: name a model with --embed",
        ),
        (("--chunker", "knife"), 2, "knife"),
        (("--include", "*.pdf"), 3, "no file of a known kind"),
    ],
)
def test_an_index_that_cannot_be_made_is_refused(
    tmp_path: Path, options: tuple[str, ...], code: int, message: str
) -> None:
    make_documents(tmp_path)
    result = index(tmp_path, *options)
    assert (result.exit_code, message in result.stderr) == (code, True), result.stderr
