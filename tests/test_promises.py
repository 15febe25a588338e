"""What docs/promises.md says of the tests is so."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(tests/[\w/]+(?:\.py)?/?)?(?:::(\w+))?`")


FINDINGS = [*(f"F{number}" for number in range(1, 8)), "F7b", *(f"F{number}" for number in range(8, 27))]
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
