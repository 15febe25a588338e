"""The page on the architecture names today's folders, files and floors."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "contribute" / "architecture.md"

pytestmark = pytest.mark.skipif(not (ROOT / "adapters").is_dir(), reason="no checkout, as beside an unpacked wheel")


def _floors_of_the_contract() -> list[list[str]]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    [floors] = [contract["layers"] for contract in contracts["contracts"] if contract["type"] == "layers"]
    return [re.findall(r"\w+", floor) for floor in floors]


def _floors_of_the_page() -> list[list[str]]:
    section = PAGE.read_text(encoding="utf-8").split("## Folders and floors")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]*) \|", section, re.MULTILINE)
    return [re.findall(r"`(\w+)`", row) for row in rows]


def test_the_floors_are_those_that_the_linter_keeps() -> None:
    assert _floors_of_the_page() == _floors_of_the_contract()


def test_every_folder_and_module_of_the_package_is_on_a_floor() -> None:
    found = {path.stem for path in (ROOT / "retrivex").iterdir() if path.is_dir() or path.suffix == ".py"}
    named = {name for floor in _floors_of_the_page() for name in floor}
    later = {"service", "batch"}
    assert named - later == (found | {"adapters"}) - {"__init__", "__pycache__"} - later


def test_every_path_exists() -> None:
    paths = re.findall(r"`([\w./]+(?:\.py|\.toml|/))`", PAGE.read_text(encoding="utf-8"))
    places = [ROOT, ROOT / "benchmarks", ROOT / "adapters"]
    assert len(paths) > 15
    assert [path for path in paths if not any((place / path).exists() for place in places)] == []


def _unguarded_nexts(path: Path) -> list[str]:
    """Calls of `next` without a default that no `except StopIteration` around them answers."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    guarded = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.Try) and any("StopIteration" in ast.dump(handler) for handler in node.handlers)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    return [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "next"
        if len(node.args) < 2 and id(node) not in guarded
    ]


def test_next_has_a_default_everywhere() -> None:
    """Inside `map` the end of an inner iterator would pass for the end of the outer one; in a generator it fails."""
    found = [place for path in sorted((ROOT / "retrivex").rglob("*.py")) for place in _unguarded_nexts(path)]
    assert found == []
