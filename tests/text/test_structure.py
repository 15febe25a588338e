"""Where texts may be cut: sentences, headings, rows, items and fences stay whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.known_documents import make_document
from support.strategies import texts

from retrivex.text.structure import WHOLE, Begin, End, edges_of, fence_at_start, line_ranges, structure_of


def parts(text: str, fence: str = "") -> list[str]:
    return [text[part.start : part.end].strip() for part in structure_of(text, fence).parts]


@given(texts, st.sampled_from(["", "```"]))
def test_parts_tile_the_text(text: str, fence: str) -> None:
    found = structure_of(text, fence).parts
    assert "".join(text[part.start : part.end] for part in found) == text
    assert all(part.start < part.end for part in found)


@pytest.mark.parametrize("seed", range(6))
def test_the_parts_of_a_known_document_are_found(seed: int) -> None:
    known = make_document(seed)
    starts = {part.start for part in structure_of(known.text).parts}
    assert {start for start, _, kind in known.parts if kind in ("heading", "head", "row", "fence", "item")} <= starts
    inside = [
        (start, end, at)
        for start, end, kind in known.parts
        for at in starts
        if start < at < end and (kind != "fence" or end - start <= WHOLE)
    ]
    assert inside == []


def test_a_bold_lead_in_is_part_of_its_sentence() -> None:
    assert parts("**Order.** The best is first. Then it ends.") == ["**Order.** The best is first.", "Then it ends."]
    assert parts("It is **very big.** Then it ends.") == ["It is **very big.**", "Then it ends."]
    assert parts("- **Wax.** Bees make it. More.") == ["- **Wax.** Bees make it.", "More."]


def test_code_and_links_are_not_cut() -> None:
    assert parts("See `a. B` and [c. D](http://e.f). Then.") == ["See `a. B` and [c. D](http://e.f).", "Then."]


def test_wrapped_lines_are_one_sentence_however_long() -> None:
    line = "one of the biggest problems faced by the founders of the hive in the north of Paris was the\n"
    text = "They solved " + line * 8 + "isolation. Then it ended."
    assert len(text) > 700
    assert [len(part) for part in parts(text)] == [len(text) - len(" Then it ended."), len("Then it ended.")]


def test_items_rows_headings_and_fences_are_parts() -> None:
    text = "Bees need:\n- wax\n- food and\n  water\n# Hive\n| a |\n|---|\n| b |\n```\nx. Y\n\nz\n```\nEnd."
    found = structure_of(text).parts
    assert [text[part.start : part.end].strip() for part in found] == [
        "Bees need:", "- wax", "- food and\n  water", "# Hive", "| a |\n|---|", "| b |", "```\nx. Y\n\nz\n```", "End.",
    ]  # fmt: skip
    assert [part.binds for part in found] == [True, False, False, True, True, False, False, False]


def test_long_fences_are_cut_at_lines() -> None:
    text = "```\n" + "x = 1\n" * (WHOLE // 6 + 1) + "```"
    assert set(parts(text)) == {"```", "x = 1"}
    assert line_ranges("```\nx\n```") == [(0, 3), (4, 5), (6, 9)]


def test_a_fence_may_have_begun_before() -> None:
    assert parts("x = 1\n```\n\nBees sleep. They rest.", "```") == ["x = 1\n```", "Bees sleep.", "They rest."]
    assert fence_at_start("x = 1\ny = 2\n```\n\nBees sleep.") == "```"
    assert fence_at_start("Bees sleep:\n\n```\nx = 1") == ""
    assert fence_at_start("```python\nx = 1\n```") == ""
    assert structure_of("Bees:\n\n```\nx = 1").fence == "```"


@pytest.mark.parametrize(
    ("text", "begin", "end"),
    [
        ("Bees sleep. They rest.", Begin.WHOLE, End.DONE),
        ("in the hive. They rest", Begin.LOWER, End.OPEN),
        ("Anna came. They rest in", Begin.SUSPECT, End.OPEN),
        (", they rest. Ants work.", Begin.TORN, End.DONE),
        ("** They rest. **Ants.", Begin.TORN, End.OPEN),
        ("They rest. So did Dr.", Begin.SUSPECT, End.OPEN),
        ("They rest on Mill St.", Begin.WHOLE, End.ABBREVIATED),
        ("They rest, cf. Fig.", Begin.SUSPECT, End.OPEN),
        ("They rest.\n\n# Ants", Begin.WHOLE, End.BINDS),
        ("They rest.\n\n```\nx", Begin.WHOLE, End.FENCE),
        ("| c | d |\n| e |", Begin.WHOLE, End.OPEN),
        ("d |\n| e | f |", Begin.TORN, End.DONE),
        ("a title without a mark", Begin.LOWER, End.LOOSE),
        ("A title without a mark\n", Begin.WHOLE, End.DONE),
        ("", Begin.WHOLE, End.BLANK),
    ],
)
def test_how_texts_begin_and_end(text: str, begin: Begin, end: End) -> None:
    edges = edges_of(text, structure_of(text))
    assert (edges.begin, edges.end) == (begin, end)
