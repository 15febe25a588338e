"""What `retrivex probe` says before it asks anything; it asks in tests/evaluation/probe/test_probe_endpoint.py."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from retrivex.cli import app
from retrivex.errors import install_hint

run = CliRunner().invoke


def command(out: Path, *more: str) -> list[str]:
    return ["probe", "--model-url", "http://127.0.0.1:9/v1", "--model", "m", "--out", str(out), *more]


def test_the_extra_is_named_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    for name in ("completions", "endpoint"):
        monkeypatch.delitem(sys.modules, f"retrivex.evaluation.answers.{name}", raising=False)
    done = run(app, command(tmp_path / "m.json"))
    assert done.exit_code == 3
    assert f"asking a model needs openai: {install_hint('evaluate')}" in done.stderr


@pytest.mark.parametrize("lengths", ["many", "1000;2000", ""])
def test_lengths_are_numbers(tmp_path: Path, lengths: str) -> None:
    done = run(app, command(tmp_path / "m.json", "--lengths", lengths))
    assert done.exit_code == 2
    assert "give whole numbers with commas between" in done.stderr


def test_what_it_costs_is_said_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    done = run(app, command(tmp_path / "m.json", "--lengths", "1000", "--depths", "3", "--needles", "2"))
    assert "note: 6 questions, at most about 6,672 tokens" in done.stderr


def test_a_folder_is_no_file_to_write(tmp_path: Path) -> None:
    done = run(app, command(tmp_path))
    assert done.exit_code == 2
    assert "is a directory" in done.stderr
