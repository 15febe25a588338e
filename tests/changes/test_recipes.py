"""The recipes for contributors, followed to the letter in a copy of the checkout."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from support.checkout import ROOT, copy_checkout

PAGE = ROOT / "docs" / "contribute" / "recipes.md"
READ = ("adapters", "retrivex", "tests", "pyproject.toml")
BLOCK = re.compile(r"^`([\w./]+)`:\n\n```(python|diff)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^Run `python ([^`]+)`\.$", re.MULTILINE)

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="no checkout, as beside an unpacked wheel")


def _recipes() -> dict[str, str]:
    if not PAGE.exists():
        return {}
    parts = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {part.partition("\n")[0]: part for part in parts}


def _follow(recipe: str, folder: Path) -> None:
    """Write the files of a recipe, and make its changes: lines that stay and go are found exactly once."""
    for name, kind, source in BLOCK.findall(recipe):
        path = folder / name
        if kind == "python":
            assert not path.exists(), f"{name} is there already: show the change to it"
            path.write_text(source, encoding="utf-8")
            continue
        text = path.read_text(encoding="utf-8")
        lines = source.splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] != "+")
        assert text.count(before) == 1, f"{name} has these lines {text.count(before)} times:\n{before}"
        path.write_text(text.replace(before, "".join(line[1:] for line in lines if line[0] != "-")), encoding="utf-8")


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a copy of the checkout in which every recipe was followed, one after the other."""
    folder = copy_checkout(tmp_path_factory.mktemp("followed") / "copy", READ, "changes")
    for recipe in _recipes().values():
        _follow(recipe, folder)
    return folder


@pytest.mark.parametrize("title", ["An order", "A guard", "A store", "A chunker"])
def test_a_recipe_works_as_it_stands(changed: Path, title: str) -> None:
    [command] = COMMAND.findall(_recipes()[title])
    ran = [sys.executable, *shlex.split(command), "-p", "no:cacheprovider", "-p", "no:xdist"]
    environment = {**os.environ, "PYTHONPATH": str(changed)}
    done = subprocess.run(ran, cwd=changed, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert " passed" in done.stdout or re.search(r"^\.+", done.stdout), done.stdout


def test_there_is_no_other_recipe() -> None:
    assert list(_recipes()) == ["An order", "A guard", "A store", "A chunker"]


def test_what_a_recipe_adds_keeps_the_style(changed: Path) -> None:
    added = [
        str(changed / name) for name, kind, _ in BLOCK.findall(PAGE.read_text(encoding="utf-8")) if kind == "python"
    ]
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--config", str(changed / "pyproject.toml"), *added]
    done = subprocess.run(command, cwd=changed, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
