"""The page names every option, every field and every preset, with its default."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from retrivex.reorder import FieldNames, ReorderOptions
from retrivex.reorder.presets import PRESETS

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "reorder.md"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="no docs here, as in an unpacked wheel")


def first_cells(heading: str) -> set[str]:
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*?`) \|", section, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


def test_every_option_is_there() -> None:
    assert first_cells("Options") == set(ReorderOptions.model_fields)


def test_every_field_and_preset_is_there() -> None:
    assert first_cells("Fields") == set(FieldNames.model_fields)
    assert first_cells("Presets") == set(PRESETS)
