"""A smoke run says what it did not measure, and fails for it in CI."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.suites import offline

NEEDS_NOTHING, NEEDS_TEXTS = "ruler/vt/4096/1", "niah/4096"


@pytest.fixture(autouse=True)
def _no_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(offline, "DATA", tmp_path)
    monkeypatch.delenv("CI", raising=False)


def test_what_cannot_be_read_is_skipped_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert offline.readable("ruler", [NEEDS_NOTHING, NEEDS_TEXTS]) == [NEEDS_NOTHING]
    said = capsys.readouterr().err
    assert f"{NEEDS_TEXTS} skipped: " in said
    assert "ruler: 1 of 2 sets were not measured; RETRIVEX_DATA names the folder of data" in said


def test_in_ci_nothing_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "1")
    assert offline.readable("ruler", [NEEDS_NOTHING]) == [NEEDS_NOTHING]
    with pytest.raises(SystemExit, match=r"niah: 1 of 1 sets were not measured; .*in CI every set has to be there"):
        offline.readable("niah", [NEEDS_TEXTS])
