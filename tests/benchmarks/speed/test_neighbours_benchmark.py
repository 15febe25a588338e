"""The benchmark of vector stores measures what runs, and names what does not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.report import adapters_tables

ROOT = Path(__file__).parents[3]


def environment(folder: Path, command: str) -> None:
    """Make what stands for the Python of an environment."""
    python = folder / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\n{command}\n", encoding="utf-8")
    python.chmod(0o755)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("environments")
    environment(
        folder / "engines", f'case "$*" in *chroma*) echo no server >&2; exit 3;; esac\nexec {sys.executable} "$@"'
    )
    out = folder / "adapters.json"
    stores = ["SQLiteStore", "Chroma server", "Haystack in memory"]
    command = [sys.executable, "-m", "benchmarks.speed.adapters", "--chunks", "200", "--out", str(out)]
    paths = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    more = {"RETRIVEX_ENVIRONMENTS": str(folder), "PYTHONPATH": paths}
    subprocess.run([*command, "--only", *stores], env=os.environ | more, check=True, capture_output=True)
    made: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return made


def test_what_runs_is_measured(result: dict[str, Any]) -> None:
    measured = result["rows"][0]
    [way] = measured["ways"]
    assert measured["chunks"] == 200
    assert way["requests"] == 1
    assert way["other"]["requests"] == way["neighbours"] > 20


def test_what_does_not_run_is_named_with_the_reason(result: dict[str, Any]) -> None:
    assert [row.get("missing") for row in result["rows"]] == [
        None,
        "no server (exit status 3)",
        "no environment 'frameworks'",
    ]


def test_the_table_shows_both(result: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "adapters.json"
    path.write_text(json.dumps(result), encoding="utf-8")
    monkeypatch.setattr(adapters_tables, "RESULTS", path)
    lines = adapters_tables.neighbours().splitlines()
    assert lines[0].startswith("| store of 200 chunks | asked by |")
    assert lines[2].startswith("| SQLiteStore (SQLite")
    assert lines[3].startswith("| Chroma server | not measured: no server")
    assert len({line.count("|") for line in lines}) == 1
