from __future__ import annotations

import errno
import json
import os
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from retrivex.batch import OutputFolder
from retrivex.batch.folder import Done
from retrivex.errors import BatchError

TABLE = pa.table(
    {
        "warnings": pa.array([["w"], [], None], pa.list_(pa.string())),
        "error": pa.array([None, {"type": "E"}, None], pa.struct([("type", pa.string())])),
    }
)


def test_a_part_is_there_whole_with_its_counts(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path / "out")
    with folder.open({"work": "compose"}):
        assert not folder.has(3)
        done = folder.write(3, TABLE)
    assert folder.has(3)
    assert done == folder.read_done(3) == Done(3, 3, 1, 1)
    assert pq.read_table(tmp_path / "out").equals(TABLE)  # readers pass over the manifest
    assert sorted(os.listdir(tmp_path / "out")) == ["_lock", "_manifest.json", "part-00003.parquet"]


def test_the_same_part_written_twice_has_the_same_bytes(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path)
    folder.write(0, TABLE)
    first = (tmp_path / "part-00000.parquet").read_bytes()
    folder.write(0, TABLE)
    assert (tmp_path / "part-00000.parquet").read_bytes() == first


def test_a_folder_is_gone_on_with_only_for_the_same_job(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path)
    with folder.open({"config": {"window": 1, "k": None}}):
        folder.write(0, TABLE)
    with folder.open({"config": {"window": 1, "k": None}}):
        assert folder.has(0)
    with pytest.raises(BatchError, match=r"another job, which differs in config.window: .*name another folder"):
        folder.open({"config": {"window": 2, "k": None}}).__enter__()
    assert folder.has(0)


def test_a_folder_with_other_files_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letters.txt").write_text("Dear bees")
    with pytest.raises(BatchError, match=r"holds 'letters.txt' and no _manifest.json.*name another folder"):
        OutputFolder(tmp_path).open({}).__enter__()
    assert os.listdir(tmp_path) == ["letters.txt"]


def test_two_jobs_do_not_write_to_one_folder(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path)
    with folder.open({}), pytest.raises(BatchError, match="is being written by another job"):
        folder.open({}).__enter__()
    with folder.open({}):
        pass


def test_what_killed_workers_left_is_removed(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path)
    with folder.open({}):
        (tmp_path / ".part-00000.parquet.99.abc.tmp").write_text("half")
    with folder.open({}):
        assert not list(tmp_path.glob(".part*"))


def test_a_full_disk_leaves_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    folder = OutputFolder(tmp_path)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        folder.write(0, TABLE)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("content", [b"", b"PAR1", None])
def test_a_part_that_is_none_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "part-00000.parquet"
    if content is None:
        pq.write_table(TABLE, path)
    else:
        path.write_bytes(content)
    with pytest.raises(BatchError, match=r"part-00000.parquet is not a part of a batch"):
        OutputFolder(tmp_path).read_done(0)


def test_the_manifest_says_what_the_parts_depend_on(tmp_path: Path) -> None:
    given: dict[str, Any] = {"work": "compose", "config": {"window": 1}}
    with OutputFolder(tmp_path).open(given):
        written = json.loads((tmp_path / "_manifest.json").read_text())
    assert given.items() <= written.items()
    assert written["format"] == "retrivex.batch/1"


def test_a_full_disk_leaves_no_half_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left on device"):
            OutputFolder(tmp_path).open({}).__enter__()
    assert os.listdir(tmp_path) == ["_lock"]
    with OutputFolder(tmp_path).open({}):
        pass


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ("{]", "is no manifest that this version"),
        ("[1]", "is no manifest that this version"),
        (
            '{"format": "retrivex.batch/9", "retrivex": "9.1"}',
            "it is of the format 'retrivex.batch/9', of RetriVex 9.1",
        ),
    ],
)
def test_a_manifest_of_another_kind_or_format_is_named(tmp_path: Path, manifest: str, message: str) -> None:
    (tmp_path / "_manifest.json").write_text(manifest)
    with pytest.raises(BatchError, match=re.escape(message)):
        OutputFolder(tmp_path).open({}).__enter__()
    assert (tmp_path / "_manifest.json").read_text() == manifest


def test_a_folder_in_the_place_of_a_part_is_named(tmp_path: Path) -> None:
    (tmp_path / "part-00000.parquet").mkdir()
    with pytest.raises(BatchError, match=r"part-00000.parquet is not a part of a batch"):
        OutputFolder(tmp_path).read_done(0)
