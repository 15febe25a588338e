"""The list of planted bugs fits the code, and what plants them tells a caught bug from one that survives."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mutants.run import Bug, planted, read_bugs, try_bugs
from support.checkout import ROOT

BUGS = read_bugs()

pytestmark = pytest.mark.skipif(not (ROOT / "adapters").is_dir(), reason="no checkout, as beside an unpacked wheel")


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_every_planted_bug_still_has_its_place_and_its_test(bug: Bug) -> None:
    assert (ROOT / bug.file).read_text(encoding="utf-8").count(bug.old) == 1
    path, name = re.fullmatch(r"(tests/[\w/]+\.py)::(\w+)", bug.test).groups()  # type: ignore[union-attr]
    assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")


def test_every_planted_bug_has_a_name_of_its_own() -> None:
    assert len({bug.name for bug in BUGS}) == len(BUGS)


def test_every_finding_of_the_hostile_test_has_a_planted_bug() -> None:
    page = (ROOT / "docs" / "contribute" / "promises.md").read_text(encoding="utf-8")
    findings = set(re.findall(r"^\| (F\d+b?) \|", page, re.MULTILINE))
    assert len(findings) == 26
    assert {bug.finding for bug in BUGS if bug.finding} == findings


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Make a folder with a module and its tests."""
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    (tmp_path / "sums.py").write_text("def double(n):\n    return 2 * n\n")
    (tmp_path / "test_sums.py").write_text(
        "from sums import double\n\ndef test_zero():\n    assert double(0) == 0\n\n"
        "def test_two():\n    assert double(3) == 6\n"
    )
    return tmp_path


def bug(name: str, new: str, test: str) -> Bug:
    return Bug(name, "sums.py", "2 * n", new, f"test_sums.py::{test}")


def test_a_bug_is_caught_or_survives(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bugs = [bug("tripled", "3 * n", "test_two"), bug("squared", "n * n", "test_zero"), bug("torn", "2 *", "test_two")]
    assert try_bugs(bugs, checkout) == bugs[1:]
    said = capsys.readouterr().out
    assert re.search(r"caught +tripled", said)
    assert re.search(r"SURVIVED +squared", said)
    assert re.search(r"ERROR \d +torn", said)
    assert "2 * n" in (checkout / "sums.py").read_text()


def test_nothing_is_planted_where_a_test_fails_by_itself(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bugs = [bug("tripled", "3 * n", "test_that_is_not_there")]
    assert try_bugs(bugs, checkout) == bugs
    assert "no bug was planted" in capsys.readouterr().out


def test_a_bug_without_a_place_is_an_error(checkout: Path) -> None:
    with (
        pytest.raises(ValueError, match=r"tripled: its text stands 0 times in sums\.py"),
        planted(Bug("tripled", "sums.py", "4 * n", "3 * n", "test_sums.py::test_two"), checkout),
    ):
        pass
