"""Files of settings: regular ones, up to a size."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from retrivex import RetrievalConfig
from retrivex.errors import RetrivexError
from retrivex.ordering import PositionProfile
from retrivex.scoring.calibrated import load_coefficients
from retrivex.text import files
from retrivex.text.files import read_small_file

READERS: list[Callable[[Path], Any]] = [load_coefficients, PositionProfile.load, RetrievalConfig.from_file]


def test_a_small_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"bees")
    assert read_small_file(tmp_path / "a", most=4) == b"bees"
    with pytest.raises(OSError, match="it has more than 3 bytes, the limit"):
        read_small_file(tmp_path / "a", most=3)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes and devices")
def test_pipes_devices_and_large_files_are_refused(
    tmp_path: Path, read: Callable[[Path], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "large.json").write_bytes(b" " * 2000)
    monkeypatch.setattr(read_small_file, "__defaults__", (1000,))
    assert files.MAX_BYTES > 1000
    for path in (tmp_path / "pipe.json", Path("/dev/zero"), tmp_path):
        with pytest.raises(RetrivexError, match=r"cannot be read: .*it is not a regular file"):
            read(path)
    with pytest.raises(RetrivexError, match=r"cannot be read: .*it has more than 1,000 bytes, the limit"):
        read(tmp_path / "large.json")


@pytest.mark.parametrize("read", READERS)
def test_nested_brackets_are_no_settings(tmp_path: Path, read: Callable[[Path], Any]) -> None:
    (tmp_path / "deep.json").write_text("[" * 200_000)
    with pytest.raises(RetrivexError, match="cannot be read"):
        read(tmp_path / "deep.json")
