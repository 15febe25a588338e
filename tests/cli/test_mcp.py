from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from retrivex.cli import app

run = CliRunner().invoke


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that prints a configuration in a folder with documents, and returns the server in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "handbook.db").touch()
    (tmp_path / "options.toml").touch()

    def printed(*arguments: str) -> Any:
        done = run(app, ["mcp", *arguments, "--print-config"])
        assert done.exit_code == 0, done.stderr
        [(name, servers)] = json.loads(done.stdout).items()
        assert name == ("servers" if "vscode" in arguments else "mcpServers")
        assert len(done.stderr.splitlines()) == 1
        return servers["retrivex"]

    return printed


def test_the_configuration_names_whole_paths(server: Any, tmp_path: Path) -> None:
    folder = server("docs")
    assert Path(folder["command"]).is_absolute()
    assert os.access(folder["command"], os.X_OK)
    assert folder["args"][-4:] == ["mcp", str(tmp_path / "docs"), "--db", str(tmp_path / "retrivex.db")]
    database = server("handbook.db", "--scope", "acme", "--scope", "", "--config", "options.toml", "--embed", "hashing")
    options = ["--scope", "acme", "--scope", "", "--config", str(tmp_path / "options.toml"), "--embed", "hashing"]
    assert database["args"][-10:] == ["mcp", str(tmp_path / "handbook.db"), *options][-10:]
    assert server("--db", "handbook.db")["args"][-3:] == ["mcp", "--db", str(tmp_path / "handbook.db")]
    assert server()["args"][-3:] == ["mcp", "--db", str(tmp_path / "retrivex.db")]


def test_each_program_gets_the_block_that_it_reads(server: Any) -> None:
    assert server("docs") == server("docs", "--client", "claude") == server("docs", "--client", "cursor")
    assert server("docs", "--client", "vscode") == {"type": "stdio", **server("docs")}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["docs", "--client", "cursor"], "--client cursor says what --print-config prints: give both"),
        (["docs", "--client", "emacs", "--print-config"], "'emacs'"),
        (["nowhere", "--print-config"], "nowhere does not exist: name a folder of documents, or a database"),
        (["handbook.db", "--db", "other.db", "--print-config"], "are two databases: give one of them"),
    ],
)
def test_what_cannot_be_is_one_line(server: Any, arguments: list[str], words: str) -> None:
    done = run(app, ["mcp", *arguments])
    assert done.exit_code in (2, 3)
    assert words in " ".join(done.stderr.split())
    assert done.stdout == ""


@pytest.mark.skipif(importlib.util.find_spec("mcp") is not None, reason="the extra serve is installed")
def test_a_missing_extra_is_one_line_that_names_it(tmp_path: Path) -> None:
    done = run(app, ["mcp", str(tmp_path)])
    assert done.exit_code == 3
    assert "retrivex-rag[serve]" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_help_needs_no_extra_and_loads_no_server() -> None:
    program = (
        "import sys; from typer.testing import CliRunner; from retrivex.cli import app;"
        "done = CliRunner().invoke(app, ['mcp', '--help']); assert done.exit_code == 0, done.output;"
        "assert not {'fastapi', 'mcp', 'anyio'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
