"""What docs/contribute/promises.md says of the tests is so."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "contribute" / "promises.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(tests/[\w/]+(?:\.py)?/?)?(?:::(\w+))?`")


FINDINGS = ["F1", "F2", "F3", "F5", "F6", "F7", "F7b", *(f"F{number}" for number in range(8, 27))]
"""Of the hostile test of version 0.2.0."""


def test_every_test_that_the_page_names_is_there() -> None:
    missing, seen = [], 0
    for row in PAGE.splitlines():
        path = ROOT
        for place, name in NAMED.findall(row):
            path = ROOT / place if place else path
            if not path.exists() or (name and f"def {name}(" not in path.read_text(encoding="utf-8")):
                missing.append(f"{place}::{name}")
            seen += 1
    assert seen > 40
    assert missing == []


def test_every_finding_has_its_test() -> None:
    rows = [row.split(" | ") for row in PAGE.splitlines() if re.match(r"\| F\d", row)]
    assert [row[0].removeprefix("| ") for row in rows] == FINDINGS
    for _, _, _, tests in rows:
        path, names = ROOT, NAMED.findall(tests)
        assert any(name for _, name in names), tests
        for place, name in names:
            path = ROOT / place if place else path
            assert f"def {name}(" in path.read_text(encoding="utf-8"), f"{place}::{name}"


# ---- determinism


@pytest.fixture
def determinism(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """`.ci/determinism.py`, which makes no environments and compares nothing."""
    spec = importlib.util.spec_from_file_location("determinism", ROOT / ".ci" / "determinism.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = {"versions": {"python": "3", "numpy": "2"}, "compositions": {}}
    monkeypatch.setattr(module, "RESULTS", tmp_path / "determinism.json")
    monkeypatch.setattr(module, "find_pythons", lambda: {"3.99": "python3.99"})
    monkeypatch.setattr(module, "compose", lambda *_: made)
    monkeypatch.setattr(sys, "argv", ["determinism.py"])
    return module


def _without(missing: str) -> Any:
    def make_environment(name: str, *_: str) -> Path:
        if name == missing:
            raise subprocess.CalledProcessError(1, "pip")
        return Path(sys.executable)

    return make_environment


@pytest.mark.parametrize(("missing", "code"), [("numpy-oldest", 1), ("python-3.99", 0), ("", 0)])
def test_determinism_is_not_shown_without_the_oldest_numpy(
    missing: str,
    code: int,
    determinism: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(determinism, "make_environment", _without(missing))
    assert determinism.main() == code
    assert determinism.RESULTS.exists() == (code == 0)  # what was found before stays
    assert ("oldest numpy (numpy==2.0.*) must be compared with" in capsys.readouterr().out) == (code == 1)
