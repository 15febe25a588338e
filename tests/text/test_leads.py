"""Heads of tables and lines in front of lists."""

from __future__ import annotations

import pytest
from support.known_documents import make_document
from support.operations import growth

from retrivex.text.leads import Prefixes, lead_at, leads_of

TABLE = "| a | b |\n|---|---|\n"
TEXT = f"Bees sleep.\n\n{TABLE}| c | d |\n| e | f |\n\nThey rest. They need:\n\n- wax\n- more\n  food\n\nThe end."


@pytest.mark.parametrize(
    ("begins", "lead"),
    [
        ("| c", TABLE),
        ("| e", TABLE),
        ("| a", None),
        ("- wax", "They need:\n"),
        ("- more", "They need:\n"),
        ("Bees", None),
        ("The end", None),
        ("f |", None),
    ],
)
def test_what_stands_before_rows_and_items(begins: str, lead: str | None) -> None:
    assert lead_at(TEXT, TEXT.index(begins)) == lead


def test_heads_of_known_tables_are_found() -> None:
    known = make_document(1)
    assert known.heads
    for row, (start, end) in known.heads.items():
        assert lead_at(known.text, row, leads_of(known.text)) == known.text[start:end] + "\n"


def test_the_prefix_of_a_chunk_holds_as_far_as_its_table_or_fence() -> None:
    assert Prefixes(TEXT).at(0, TEXT.index("| e"), "Bees: ") == "Bees: "
    rows = "| c | d |\n\nBees sleep."
    assert Prefixes(rows).at(0, 0, TABLE) == TABLE
    assert Prefixes(rows).at(0, rows.index("Bees"), TABLE) is None
    asked = Prefixes(rows)  # passages are asked for in any order
    assert [asked.at(0, at, TABLE) for at in (rows.index("Bees"), 0)] == [None, TABLE]
    code = f"x = 1\n```\n\n{TABLE}| c | d |"
    assert Prefixes(code).at(0, 0, "```python\n") == "```python\n"
    assert Prefixes(code).at(0, code.index("| c"), "```python\n") == TABLE


@pytest.mark.parametrize("unit", [" ", "\n", "- ", "- bees\n", "| a "])
def test_work_to_find_what_passages_begin_with_grows_with_the_length(unit: str) -> None:
    def find(units: int) -> None:
        prefixes = Prefixes(TEXT + unit * units)
        for at in range(0, len(unit) * units, 50):
            prefixes.at(len(TEXT), len(TEXT) + at, TABLE)

    assert growth(find, 1_000) < 5
