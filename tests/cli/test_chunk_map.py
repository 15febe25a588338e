from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from retrivex import Chunk, ChunkMetadata, Composition, DroppedHit, RetrievalConfig, SeedHit, SpanComposer
from retrivex.cli.chunk_map import MAX_ROWS, ChunkMap, chunk_maps, legend
from retrivex.cli.explain import Explanation
from retrivex.composition.trace import ChunkNote, ChunkOutcome, ChunkRole
from retrivex.scoring.calibrated import Coefficients
from retrivex.scoring.feature_words import describe_feature
from retrivex.scoring.features import NAMES


def draw(item: object, width: int = 80, *, color: bool = False, encoding: str = "utf-8") -> str:
    class Page(StringIO):
        pass

    Page.encoding = encoding  # type: ignore[assignment]
    page = Page()
    console = Console(file=page, width=width, force_terminal=color, markup=False, highlight=False, legacy_windows=False)
    console.print(item)
    return page.getvalue()


def seed(chunk_id: int, outcome: Any = "selected") -> ChunkNote:
    return ChunkNote("d", chunk_id, "seed", outcome)


def neighbour(chunk_id: int, outcome: Any = "selected") -> ChunkNote:
    return ChunkNote("d", chunk_id, "neighbour", outcome)


def refused(chunk_id: int, reason: str) -> ChunkNote:
    return ChunkNote("d", chunk_id, "beyond", "refused", reason)


GUIDE = ChunkMap(
    "guide.md",
    "chunks 4-6 of 20",
    (
        neighbour(2, "dropped"),
        refused(3, "heading"),
        neighbour(4),
        seed(5),
        neighbour(6),
        seed(12, "dropped"),
        refused(13, "missing"),
    ),
    {4: "1"},
)


def test_the_picture() -> None:
    assert draw(GUIDE).splitlines() == [
        "guide.md  chunks 4-6 of 20",
        "           [1]",
        "   ⋯  ·  h ▒▒▒███▒▒▒ ⋯  ○  m",
        "      2  3  4  5  6     12 13",
    ]


def test_colours_come_on_top_of_the_glyphs() -> None:
    plain, coloured = draw(GUIDE), draw(GUIDE, color=True)
    assert "\x1b" not in plain
    assert "\x1b[1;32m███" in coloured


@pytest.mark.parametrize(
    ("reason", "letter"),
    [("heading", "h"), ("page", "p"), ("missing", "m"), ("document end", "e"), ("unheard of", "x")],
)
def test_each_guard_has_its_letter(reason: str, letter: str) -> None:
    cells = draw(ChunkMap("d", "", (refused(0, reason),))).splitlines()[1]
    assert cells.strip() == letter


def test_every_kind_of_cell_looks_different_without_colour() -> None:
    roles: tuple[ChunkRole, ...] = ("seed", "neighbour", "link")
    outcomes: tuple[ChunkOutcome, ...] = ("selected", "dropped")
    kinds = [ChunkNote("d", 0, role, outcome) for role in roles for outcome in outcomes]
    for encoding in ("utf-8", "ascii"):
        drawn = {draw(ChunkMap("d", "", (cell,)), encoding=encoding).splitlines()[1] for cell in kinds}
        assert len(drawn) == len(kinds)


def test_the_legend_tells_what_occurs_and_keeps_the_width() -> None:
    lines = draw(legend([GUIDE]), 50).splitlines()
    assert max(map(len, lines)) <= 50
    for word in (
        "█ hit, shown",
        "▒ neighbour, shown",
        "○ hit, left out",
        "· neighbour, left out",
        "m stopped by missing",
    ):
        assert word in "\n".join(lines)


def test_rows_break_at_the_width_of_the_terminal() -> None:
    chunk_map = ChunkMap("d", "", tuple(neighbour(i, "dropped") for i in range(12)))
    assert draw(chunk_map, width=20).splitlines()[2:5:2] == ["   0  1  2  3  4  5", "   6  7  8  9  10 11"]


@pytest.mark.parametrize("width", [1, 5, 10, 20, 40, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    for line in draw(ChunkMap("a-long-name-of-a-document.md", "chunks 4-6 of 20", GUIDE.notes), width).splitlines():
        assert len(line) <= width


def test_far_parts_of_a_long_document_stand_side_by_side() -> None:
    cells = (seed(0), seed(5_000), neighbour(5_001), seed(9_999, "dropped"))
    lines = draw(ChunkMap("long.txt", "chunks 0, 5000-5001 of 10000", cells, {0: "1", 5_000: "2"})).splitlines()
    assert lines == [
        "long.txt  chunks 0, 5000-5001 of 10000",
        "  [1]       [2]",
        "  █████  ⋯  █████▒▒▒▒▒  ⋯    ○",
        "    0        5000 5001      9999",
    ]


def test_of_thousands_of_cells_the_shown_ones_are_drawn_and_the_others_counted() -> None:
    cells = [neighbour(i, "dropped") for i in range(10_000)]
    cells[7_000] = seed(7_000)
    lines = draw(ChunkMap("long.txt", "", tuple(cells), {7_000: "1"})).splitlines()
    assert len(lines) <= 2 + 3 * MAX_ROWS
    assert "7000" in lines[3]
    assert lines[-1] == "  and 9,999 more chunks"
    crowd = draw(ChunkMap("long.txt", "", tuple(seed(i) for i in range(10_000)))).splitlines()
    assert len(crowd) == 2 + 2 * MAX_ROWS


@given(
    st.lists(st.tuples(st.integers(0, 400), st.sampled_from(["selected", "dropped"])), unique_by=lambda pair: pair[0]),
    st.integers(1, 120),
)
def test_every_chunk_is_drawn_once_or_counted(found: list[tuple[int, str]], width: int) -> None:
    cells = tuple(neighbour(chunk_id, outcome) for chunk_id, outcome in sorted(found))
    lines = draw(ChunkMap("", "", cells), width).splitlines()
    counted = [line for line in lines if line.strip().startswith("and ")]
    drawn = [int(word) for line in lines for word in line.split() if word.isdigit()]
    if width >= 12 and not counted:
        assert drawn == sorted(chunk_id for chunk_id, _ in found)
    assert all(len(line) <= width for line in lines)


def test_a_hostile_name_stays_on_its_line() -> None:
    assert draw(ChunkMap("evil\x1b[31m\nname", "", ())).splitlines() == ["evil�[31m name"]


def composition(**options: object) -> Composition:
    texts = [f"{chr(97 + i % 26) * 5} {chr(97 + i // 3) * 6} {chr(98 + i // 2) * 7}" for i in range(40)]
    chunks = [
        Chunk(text, ChunkMetadata("bees", i, heading_path=(f"part {i // 8}",), chunk_count=40))
        for i, text in enumerate(texts)
    ]
    store = {chunk.key: chunk for chunk in chunks if chunk.key[1] != 30}
    hits = [SeedHit(chunks[i], score) for i, score in ((5, 0.9), (6, 0.7), (29, 0.6), (20, 0.1))]
    config = RetrievalConfig.model_validate(
        {"tokenizer": "estimate", "token_budget": 90, "min_continuity": 1.0, **options}
    )
    return SpanComposer(config).compose(hits, store, query="bees")


def test_chunk_maps_are_made_of_what_the_composer_noted() -> None:
    made = composition()
    (chunk_map,) = chunk_maps(made)
    assert chunk_map.caption == f"shown: {made.coverage[0]}"
    assert chunk_map.notes == tuple(made.trace.notes)
    assert {note.reason for note in chunk_map.notes if note.outcome == "refused"} == {"heading", "missing"}
    assert chunk_map.labels == {span.chunk_ids[0]: str(number) for number, span in enumerate(made.spans, start=1)}


def test_documents_with_something_shown_come_first() -> None:
    chunks = {(name, 0): Chunk(f"text of {name}", ChunkMetadata(name, 0)) for name in "abcdefgh"}
    hits = [SeedHit(chunk, score) for chunk, score in zip(chunks.values(), range(8), strict=True)]
    config = RetrievalConfig(tokenizer="estimate", max_spans=2)
    made = SpanComposer(config).compose(hits, chunks)
    maps = chunk_maps(made)
    assert [chunk_map.doc_id for chunk_map in maps[:3]] == ["h", "g", "f"]
    assert [chunk_map.caption for chunk_map in maps[2:]] == ["nothing shown"] * 6
    assert "more documents" not in draw(Explanation(made))


@pytest.mark.parametrize("width", [24, 40, 80, 120])
def test_the_explanation_has_all_parts_at_every_width(width: int) -> None:
    text = draw(Explanation(composition(token_budget=30)), width)
    for word in ("Chunks", "Passages", "Steps", "render", "Hits left out", "budget", "Warnings", "missing"):
        assert word in text
    assert all(len(line) <= width for line in text.splitlines())


def asked(**options: object) -> Composition:
    """Compose for a question that one chunk of five answers, with the scorer that reads questions."""
    texts = [
        "Drones do not work, and leave in the autumn.",
        "Bees sleep at night, and winter bees sleep for longer than summer bees do.",
        "The hive is closed when it is cold.",
        "A smoker calms the bees.",
        "Honey is made of nectar.",
    ]
    chunks = [Chunk(text, ChunkMetadata("hives", i, chunk_count=5)) for i, text in enumerate(texts)]
    hits = [SeedHit(chunks[1], 0.9), SeedHit(chunks[3], 0.4)]
    composer = SpanComposer(RetrievalConfig.model_validate({"tokenizer": "estimate", **options}))
    return composer.compose(hits, {chunk.key: chunk for chunk in chunks}, query="How long do winter bees sleep?")


def test_the_explanation_names_only_what_the_scorer_reads() -> None:
    calibrated, weighted = (draw(Explanation(asked(scoring=name)), 200) for name in ("calibrated", "weighted"))
    assert "likely to hold evidence: " in calibrated
    assert "for it: " in calibrated
    assert "distance to a hit" not in calibrated
    span = asked(scoring="weighted").spans[0]
    assert f"score {span.score:.2f}" in weighted
    assert f"made of: score of its best hit {span.sim_score:.2f}, distance to a hit" in weighted
    assert "likely to hold evidence" not in weighted


@pytest.mark.parametrize(("embedded", "named"), [(True, "similarity"), (False, "hit score")])
def test_closeness_in_meaning_is_named_only_where_there_are_vectors(tmp_path: Path, embedded: bool, named: str) -> None:
    weights = np.array([1.0 if name == "similarity" else 0.0 for name in NAMES])
    path = tmp_path / "similarity.json"
    path.write_text(json.dumps(Coefficients(weights, 0.0, np.zeros(len(NAMES))).to_dict()))
    texts = ["Bees sleep at night.", "Drones leave in the autumn.", "Honey is made of nectar."]
    chunks = [
        Chunk(text, ChunkMetadata("hives", at), np.array([1.0, at]) if embedded else None)
        for at, text in enumerate(texts)
    ]
    made = SpanComposer(RetrievalConfig(tokenizer="estimate", coefficients=path)).compose(
        [SeedHit(chunk, score) for chunk, score in zip(chunks, (9.0, 1.0, 2.0), strict=True)],
        {chunk.key: chunk for chunk in chunks},
        query="When do bees sleep?",
        query_embedding=np.array([1.0, 0.0]) if embedded else None,
    )

    assert {unit.reasons[0][0] for unit in made.trace.units} == {named}
    told = draw(Explanation(made), 200)
    assert ("closeness in meaning to the question" in told) is embedded
    assert ("the retriever's score" in told) is not embedded


def test_every_passage_says_where_it_comes_from() -> None:
    text = draw(Explanation(asked(window=0, ordering_strategy="score_desc")), 120)
    assert "[1] hives, chunk 1, " in text
    assert "    hit 1 of 2; likely to hold evidence: " in text
    pinned = asked(window=0, pinned=(Chunk("Wasps sting.", ChunkMetadata("wasps", 0)),))
    assert "    pinned by the caller; " in draw(Explanation(pinned), 120)


def test_a_passage_without_evidence_is_said_to_fill_the_room() -> None:
    made = asked(window=0)
    units = tuple(replace(unit, probability=0.004) for unit in made.trace.units)
    told = replace(made, trace=replace(made.trace, make_unit_notes=lambda: units))
    assert "likely to hold evidence: 0%, so it only fills the room that is left" in draw(Explanation(told), 120)


def test_what_is_said_of_all_hits_is_said_once() -> None:
    alike = "of the budget hold what is worth more"
    dropped = tuple(DroppedHit("bees", i, 0.5, "budget", f"{i + 9} tokens; the 30 {alike}") for i in range(8))
    text = draw(Explanation(replace(composition(), dropped=dropped)), 80)
    assert text.count(alike) == 1
    assert f"budget, 8 hits: the 30 {alike}" in text
    assert "  bees, chunk 0 (score 0.5): 9 tokens\n" in text.replace("tokens ", "tokens")
    assert "  and 3 more" in text


@pytest.mark.parametrize("width", [80, 200])
def test_words_are_not_cut(width: int) -> None:
    made = composition(token_budget=30, ordering_strategy="auto")
    words = set(draw(Explanation(made), width).split())
    assert words <= set(draw(Explanation(made), 2000).split())
    assert "…" not in words


def test_every_feature_has_words_and_unknown_ones_stay() -> None:
    assert len({describe_feature(name) for name in NAMES}) == len(NAMES)
    assert all(describe_feature(name) != name for name in NAMES)
    assert describe_feature("moon phase") == "moon phase"


def test_an_empty_composition_is_explained_too() -> None:
    made = SpanComposer(RetrievalConfig(tokenizer="estimate")).compose([], {})
    text = draw(Explanation(made))
    assert "Steps" in text
    assert "Passages" not in text


def test_the_explanation_says_what_auto_chose_and_why() -> None:
    made = composition(ordering_strategy="auto")
    assert "edge_balanced: factual question" in draw(Explanation(made))
    assert "Order" not in draw(Explanation(composition()))


def test_units_that_count_for_being_near_are_told() -> None:
    chunk = Chunk("Bees sleep in the cold months and eat what they have.", ChunkMetadata("d", 0))
    made = SpanComposer().compose([SeedHit(chunk, 0.9)], {chunk.key: chunk}, query="Bees?")
    units = tuple(replace(unit, hedged=True, value=0.56) for unit in made.trace.units)
    told = replace(made, trace=replace(made.trace, make_unit_notes=lambda: units))
    assert "kept because it is among the nearest hits" in draw(Explanation(told), 200)
    assert "nearest hits" not in draw(Explanation(made), 200)
