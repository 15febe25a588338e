"""Every shell block of README and docs runs as written, in a copy of the examples, or its page says what it needs."""

from __future__ import annotations

import doctest
import re
import shutil
from pathlib import Path

import pytest
from support.examples import PAGES as DOCS
from support.examples import ROOT, run_commands

_README = ROOT / "README.md"
PAGES = [*DOCS, *([_README] if _README.exists() else [])]
_BLOCK = re.compile(
    r"(?:^\*Needs (?P<needs>[^\n]+)\.\*\n\n)?^```(?P<kind>bash|sh|console)\n(?P<source>.*?)^```$", re.M | re.S
)

_NETWORK = "a network, to download packages"
_ENDPOINT = "a model behind an endpoint"
_SERVICE = "a running service"
NOT_RUN = {
    "howto/batch.md": ["the extras `ray` and `spark`"],
    "reference/cli.md": ["files of your own"] * 19,
    "reference/http.md": ["a free port", *[_SERVICE] * 20],
    "howto/command_line.md": ["a model from the Hugging Face hub, a server or a key"],
    "howto/tune.md": ["twenty questions or more of your own"],
    "explain/budget.md": [_ENDPOINT],
    "howto/chunk_numbers.md": ["a Qdrant server"] * 2,
    "howto/elasticsearch.md": ["Docker"],
    "howto/evaluation_run.md": [_ENDPOINT],
    "howto/mcp.md": [_NETWORK],
    "compare/migrating.md": [_NETWORK],
    "howto/service.md": [_NETWORK, "a free port", *[_SERVICE] * 3],
    "howto/service_clients.md": [_SERVICE, _NETWORK, _SERVICE, _SERVICE],
    "howto/service_conventions.md": [_SERVICE] * 2,
    "howto/service_keys.md": [_SERVICE],
    "explain/store_speed.md": [_NETWORK],
    "start/folder.md": [_NETWORK],
    "start/haystack.md": [_NETWORK],
    "start/http.md": [_NETWORK, "a free port", _SERVICE, _SERVICE],
    "start/langchain.md": [_NETWORK],
    "start/llamaindex.md": [_NETWORK],
    "start/mcp.md": [_NETWORK],
    "start/python.md": [_NETWORK],
    "learn/playground.md": ["a free port"],
    "howto/probe.md": [_ENDPOINT, _ENDPOINT],
    "explain/scale.md": ["a checkout with its environment"],
}
"""Blocks that are not run, and the reason that their page gives, in the order of the page."""


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix().removeprefix("docs/")


def _blocks(path: Path) -> list[re.Match[str]]:
    return list(_BLOCK.finditer(path.read_text(encoding="utf-8")))


def _console(source: str) -> list[tuple[str, str]]:
    """Return the commands of a session, after `$`, with what stands under each."""
    parts = re.split(r"^\$ ", source, flags=re.MULTILINE)[1:]
    return [(command, output) for command, _, output in (part.partition("\n") for part in parts)]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_block_of_a_shell_runs_or_says_why_not(path: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for block in _blocks(path):
        if block["needs"] is not None:
            continue
        session = _console(block["source"]) if block["kind"] == "console" else [(block["source"], "")]
        for command, shown in session:
            printed = run_commands(command, path.name, tmp_path)
            flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            assert not shown or doctest.OutputChecker().check_output(shown, printed, flags), printed


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_block_that_is_not_run_is_listed(path: Path) -> None:
    reasons = [block["needs"] for block in _blocks(path)]
    assert [reason for reason in reasons if reason is not None] == NOT_RUN.get(_name(path), [])


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_commands_stand_in_blocks_of_a_shell(path: Path) -> None:
    """A command under another label would not be run."""
    text = path.read_text(encoding="utf-8")
    others = re.findall(r"^```(?:text)?\n((?:\$ )?(?:retrivex|pip|make|python) .*)", text, flags=re.MULTILINE)
    assert others == []
