"""Example patches: how many files a change of each kind touches, and that it works where it is made."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.checkout import ROOT, copy_checkout

HERE = Path(__file__).parent
MOST_FILES = {"budget_rule": 6, "order": 4, "guard": 6, "store": 6}
READ = ("adapters", "benchmarks", "docs", "examples", "retrivex", "tests", "pyproject.toml")

pytestmark = pytest.mark.skipif(not (ROOT / "adapters").is_dir(), reason="no checkout, as beside an unpacked wheel")


def _apply(patch: Path, folder: Path) -> None:
    # a folder that is no repository, so that the patch is taken as it is
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    subprocess.run(["git", "apply", str(patch)], cwd=folder, env=environment, check=True)


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a copy of the checkout with all patches applied, one after the other."""
    folder = copy_checkout(tmp_path_factory.mktemp("changed") / "copy", READ, "changes")
    for kind in MOST_FILES:
        _apply(HERE / f"{kind}.patch", folder)
    return folder


@pytest.mark.parametrize("kind", MOST_FILES)
def test_a_change_touches_few_files(kind: str) -> None:
    text = (HERE / f"{kind}.patch").read_text(encoding="utf-8")
    assert len(re.findall(r"^diff --git ", text, re.MULTILINE)) <= MOST_FILES[kind]


def test_there_is_a_patch_of_each_kind_and_no_other() -> None:
    assert {path.stem for path in HERE.glob("*.patch")} == set(MOST_FILES)


def test_the_tests_that_the_patches_bring_pass(changed: Path) -> None:
    brought = []
    for kind in MOST_FILES:
        text = (HERE / f"{kind}.patch").read_text(encoding="utf-8")
        for path, part in re.findall(r"^\+\+\+ b/(tests/\S+test_\S+\.py)\n(.*?)(?=^diff |\Z)", text, re.M | re.S):
            brought += [f"{path}::{name}" for name in re.findall(r"^\+def (test_\w+)", part, re.MULTILINE)]
    assert len(brought) >= len(MOST_FILES)
    environment = {**os.environ, "PYTHONPATH": str(changed)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *brought]
    done = subprocess.run(command, cwd=changed, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
