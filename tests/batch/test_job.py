from __future__ import annotations

import errno
import json
import os
import pickle
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.batch_world import CONFIG, FailingStore, MadeStore, make_job, make_table, write_requests

from retrivex import RetrievalConfig
from retrivex.batch import ComposeWork, Job, OutputFolder, parquet_source
from retrivex.batch.folder import Done
from retrivex.batch.job import Failed
from retrivex.errors import BatchError
from retrivex.tokens import get_tokenizer
from retrivex.tokens import tokenizer as tokenizers

WORK = ComposeWork(CONFIG, MadeStore)


@given(st.integers(0, 40), st.integers(1, 11), st.integers(1, 9), st.randoms(use_true_random=False))
def test_parts_are_the_rows_in_their_order_wherever_row_groups_end(
    tmp_path_factory: pytest.TempPathFactory, rows: int, part: int, group: int, rng: object
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    table = make_table(41).slice(0, rows)
    pq.write_table(table, folder / "a.parquet", row_group_size=group)
    source = parquet_source(folder, WORK, part)
    order = list(range(source.parts))
    rng.shuffle(order)  # type: ignore[attr-defined]
    read = {number: source.read(number) for number in order}
    assert all(piece.num_rows <= part for piece in read.values())
    assert pa.concat_tables([read[number] for number in sorted(read)]).equals(table)


def test_files_of_a_folder_follow_each_other_and_no_part_spans_two(tmp_path: Path) -> None:
    write_requests(tmp_path / "b.parquet", 5)
    write_requests(tmp_path / "a.parquet", 12)
    (tmp_path / "_notes.parquet").write_text("passed over")
    source = pickle.loads(pickle.dumps(parquet_source(tmp_path, WORK, 10)))
    assert [source.read(number).num_rows for number in range(source.parts)] == [10, 2, 5]


@pytest.mark.parametrize("content", [b"", b"PAR1 and no more", b"id,question\n1,why\n"])
def test_a_file_that_is_no_parquet_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "requests.parquet"
    path.write_bytes(content)
    with pytest.raises(BatchError, match=r"requests.parquet cannot be read .*: it is no Parquet file or damaged"):
        parquet_source(path, WORK)


def test_a_file_that_is_not_there_and_a_folder_without_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(BatchError, match=r"nothing.parquet is no regular file: name a Parquet file"):
        parquet_source(tmp_path / "nothing.parquet", WORK)
    with pytest.raises(BatchError, match=r"is a folder without \*.parquet files"):
        parquet_source(tmp_path, WORK)


def test_files_of_other_columns_are_refused_before_anything_is_made(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["Bees"]}), tmp_path / "a.parquet")
    with pytest.raises(BatchError, match="'text' of the requests is unknown"):
        parquet_source(tmp_path, WORK)
    write_requests(tmp_path / "a.parquet", 2)
    table = make_table(2)
    pq.write_table(table.set_column(0, "id", table["id"].cast(pa.string())), tmp_path / "b.parquet")
    with pytest.raises(BatchError, match="ids of different types"):
        parquet_source(tmp_path, WORK)
    with pytest.raises(BatchError, match="rows_per_part is 0"):
        parquet_source(tmp_path / "a.parquet", WORK, 0)


def test_other_rows_of_the_same_number_are_another_job(tmp_path: Path) -> None:
    job = make_job(tmp_path, 12)
    with job.open() as missing:
        assert missing == [0, 1]
        assert job.make_part(1) == Done(1, 2, 0, 0)
    with make_job(tmp_path, 12).open() as missing:
        assert missing == [0]
    table = pq.read_table(tmp_path / "requests.parquet")
    pq.write_table(table.slice(1), tmp_path / "requests.parquet")
    with pytest.raises(BatchError, match="differs in input"):
        make_job(tmp_path, 12).open().__enter__()


def write_alike(path: Path, middle: str, score: float) -> None:
    """Write a file whose size, least and largest values are the same whatever the middle is."""
    hits = [[{"doc_id": "doc-0", "chunk_id": 1, "score": value}] for value in (0.9, score, 0.1)]
    table = pa.Table.from_pylist(
        [{"question": said, "hits": hit} for said, hit in zip(["aaaa", middle, "zzzz"] * 50, hits * 50, strict=True)]
    )
    pq.write_table(table, path)


@pytest.mark.parametrize("other", [("bird", 0.5), ("meal", 0.6)])
def test_other_rows_of_the_same_size_with_the_same_bounds_are_another_job(
    tmp_path: Path, other: tuple[str, float]
) -> None:
    path = tmp_path / "requests.parquet"
    write_alike(path, "meal", 0.5)
    size = path.stat().st_size
    with make_job(tmp_path, 0).open():
        pass
    write_alike(path, *other)
    assert path.stat().st_size == size
    with pytest.raises(BatchError, match=r"differs in input.files"):
        make_job(tmp_path, 0).open().__enter__()
    write_alike(path, "meal", 0.5)
    with make_job(tmp_path, 0).open() as missing:
        assert len(missing) == 15


def test_a_job_does_not_go_on_with_another_tokenizer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    auto = RetrievalConfig(token_budget=60)
    monkeypatch.setitem(tokenizers._named, "auto", (get_tokenizer("cl100k_base"), ()))
    path = write_requests(tmp_path / "requests.parquet", 12)
    for estimated in (False, True):
        if estimated:  # as where the file of `auto` cannot be had
            monkeypatch.setitem(tokenizers._named, "auto", (get_tokenizer("estimate"), ()))
        work = ComposeWork(auto, MadeStore)
        job = Job(parquet_source(path, work, 10), work, OutputFolder(tmp_path / "out"))
        if estimated:
            with pytest.raises(BatchError, match=r"of another job, which differs in config.tokenizer"):
                job.open().__enter__()
        else:
            with job.open() as missing:
                assert missing == [0, 1]


def test_what_a_job_is_described_by_has_no_secret_and_all_options() -> None:
    described = json.dumps(WORK.describe())
    assert "token_budget" in described
    assert ComposeWork(CONFIG).describe()["config"] == CONFIG.model_dump(mode="json")


def test_a_store_that_fails_fails_its_part(tmp_path: Path) -> None:
    dead = make_job(tmp_path, 12, open_store=FailingStore)
    with dead.open():
        failed = dead.make_part(0)
    assert isinstance(failed, Failed)
    assert failed.kind == "StoreError"
    error = str(dead.stop(failed))
    assert error.startswith(
        "part-00000.parquet: StoreError: the store failed: ConnectionError: no route to host; 0 of 2"
    )
    assert not dead.folder.has(0)


def test_a_full_disk_ends_the_job_and_leaves_no_half_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    job = make_job(tmp_path, 12)
    with job.open():
        assert isinstance(job.make_part(0), Done)
        monkeypatch.setattr(os, "fsync", full)
        failed = job.make_part(1)
    said = "No space left on device; make room, or name another folder"
    assert failed == Failed(1, "OSError", f"{tmp_path / 'out' / 'part-00001.parquet'}: {said}")
    assert "1 of 2 parts are done" in str(job.stop(failed))
    assert not list((tmp_path / "out").glob(".part*"))
    monkeypatch.undo()
    with job.open() as missing:
        assert missing == [1]


def test_a_folder_or_a_pipe_in_the_place_of_a_file_is_named(tmp_path: Path) -> None:
    write_requests(tmp_path / "a.parquet", 2)
    (tmp_path / "x.parquet").mkdir()
    with pytest.raises(BatchError, match=r"x.parquet is no regular file: name a Parquet file, or a folder with such"):
        parquet_source(tmp_path, WORK)
    (tmp_path / "x.parquet").rmdir()
    os.mkfifo(tmp_path / "x.parquet")
    with pytest.raises(BatchError, match=r"x.parquet is no regular file: name a Parquet file"):
        parquet_source(tmp_path, WORK)


@pytest.mark.parametrize("place", [0.001, 0.02, 0.4])
def test_a_damaged_body_names_its_file_and_the_parts_before_it_stay(tmp_path: Path, place: float) -> None:
    job = make_job(tmp_path, 12)
    path = tmp_path / "requests.parquet"
    whole = path.read_bytes()
    at = 4 + int(len(whole) * place)
    path.write_bytes(whole[:at] + b"\xff" * 40 + whole[at + 40 :])
    with job.open():
        failed = job.make_part(0)
        assert isinstance(failed, Failed)
        assert failed.kind == "BatchError"
        assert f"{path} cannot be read (" in failed.message
        assert failed.message.endswith("or was changed since the job began; write it anew")
        path.write_bytes(whole)
        assert isinstance(job.make_part(0), Done)


def test_a_file_that_is_gone_since_the_job_began_is_named(tmp_path: Path) -> None:
    job = make_job(tmp_path, 12)
    (tmp_path / "requests.parquet").unlink()
    with pytest.raises(BatchError, match=r"requests.parquet cannot be read .*changed since the job began"):
        job.source.read(0)


def test_an_id_that_is_too_large_does_not_lose_the_job(tmp_path: Path) -> None:
    table = make_table(3)
    ids = pa.array([1, 2**64 - 1, 3], pa.uint64())
    pq.write_table(table.set_column(0, "id", ids), tmp_path / "requests.parquet")
    job = make_job(tmp_path, 3)
    with job.open():
        assert job.make_part(0) == Done(0, 3, 1, 0)
    assert pq.read_table(tmp_path / "out")["id"].to_pylist() == [1, None, 3]
