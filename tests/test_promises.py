"""What docs/promises.md says of the tests is so."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(tests/[\w/]+(?:\.py)?/?)?(?:::(\w+))?`")


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
