"""From coarse to fine: what is cut, what is not, and that nothing of it is lost silently."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.strategies import compose, count_words, tile

from retrivex import Chunk, ChunkMetadata, SeedHit, SpanComposer
from retrivex.merging.cutter import Fineness, UnitCutter
from retrivex.merging.exclusions import Exclusions
from retrivex.merging.offsets import OffsetIndex
from retrivex.merging.torn import EdgeRules
from retrivex.model.chunk import ChunkKey
from retrivex.model.run import stitch
from retrivex.scoring.knn_fallback import Capacity
from retrivex.scoring.narrowing import FEWEST, MARGIN, choose_fine
from retrivex.selection.pieces import cut_runs

TOWNS = {
    key: chunk
    for doc in range(8)
    for key, chunk in tile(
        f"d{doc}",
        [
            "The drawbridge was mended by Ottilie. "
            if (doc, at) == (3, 17)
            else f"In hall {at} town {doc} talked of roads. "
            for at in range(30)
        ],
    ).items()
}
QUESTION = "Who mended the drawbridge?"


def axis_of(*chunks: Chunk) -> OffsetIndex:
    return OffsetIndex(stitch(list(chunks)).runs)


def fine(axis: OffsetIndex, tokens: int = 10, **said: Any) -> list[int]:
    """Numbers of the chunks that are cut, the first being worth most."""
    sizes = np.full(len(axis.chunks), tokens)
    values = -np.arange(len(axis.chunks), dtype=np.float64)
    return np.flatnonzero(choose_fine(axis, sizes, values, Capacity(100, **said), ())).tolist()


def test_as_many_as_have_several_budgets_together_are_cut() -> None:
    axis = axis_of(*tile("d", [f"Number {at} of many. " for at in range(200)]).values())
    assert fine(axis, tokens=10) == list(range(10 * MARGIN))
    assert fine(axis, tokens=100) == list(range(FEWEST))


def test_copies_take_the_room_of_one() -> None:
    axis = axis_of(*tile("d", ["The same again. "] * 40 + [f"Number {at}. " for at in range(40)]).values())
    assert fine(axis, tokens=100, once=True) == [0, *range(40, 39 + FEWEST)]
    assert fine(axis, tokens=100, once=False) == list(range(FEWEST))


def test_a_document_takes_no_more_room_than_it_may_have_in_the_context() -> None:
    runs = [stitch(list(tile(name, [f"{name} says {at}. " for at in range(40)]).values())).runs[0] for name in "ab"]
    made = fine(OffsetIndex(runs), tokens=20, per_document=20)
    assert made == [*range(MARGIN), *range(40, 40 + MARGIN)]


def test_what_is_not_cut_is_not_shown_and_is_accounted_for() -> None:
    axis = axis_of(
        *tile("d", ["One two. Three four. ", "Five six. Seven eight. ", "Nine ten. Eleven twelve. "]).values()
    )
    fineness = Fineness(np.array([True, False, True]), np.array([4, 9, 4]))
    units = UnitCutter(size=10).cut(axis, EdgeRules(), fineness)
    assert [(unit.first, unit.tokens) for unit in units] == [(0, 2), (0, 2), (1, 9), (2, 2), (2, 2)]
    assert units.hidden is not None
    assert units.hidden.tolist() == [False, False, True, False, False]
    for shown_before in ([], [Chunk("Wasps build.", ChunkMetadata("e", 0))]):  # nothing, and what is elsewhere
        pieces = cut_runs(axis.runs, units, Exclusions.of(shown_before))
        assert [(piece.first, joined) for piece, joined in zip(pieces.pieces, pieces.joined.tolist(), strict=True)] == [
            (0, False), (0, True), (2, False), (2, True)
        ]  # fmt: skip
    hits = [SeedHit(TOWNS[f"d{doc}", at], 0.9 - doc / 100 - at / 1000) for doc in range(8) for at in range(0, 30, 5)]
    made = compose(hits, TOWNS, query=QUESTION, token_budget=40)
    named = {(hit.doc_id, hit.chunk_id) for hit in made.dropped if not hit.shown}
    shown: set[ChunkKey] = {chunk.key for span in made.spans for chunk in span.chunks}
    assert {hit.key for hit in hits} <= named | shown


def test_of_what_completes_a_sentence_nothing_else_is_shown() -> None:
    axis = axis_of(*tile("d", ["One two. Three four ", "five. Six seven ", "eight. Nine ten. "]).values())
    units = UnitCutter(size=10).cut(axis, EdgeRules(), Fineness(np.array([True, False, False]), np.array([4, 3, 3])))
    shown = [axis.runs[0].text[units[at].start : units[at].end] for at in units.whole.tolist()]
    assert shown == ["One two. ", "Three four five. "]


@pytest.mark.parametrize("budget", [30, 100])
def test_the_best_are_found_among_many(budget: int) -> None:
    hits = [SeedHit(TOWNS[f"d{doc}", at], 0.5 + doc / 100) for doc in range(8) for at in range(0, 30, 3)]
    assert "Ottilie" in compose(hits, TOWNS, query=QUESTION, token_budget=budget).text


def test_whoever_values_units_gets_all_of_them() -> None:
    hits = [SeedHit(chunk, 0.5) for chunk in TOWNS.values()]
    valued = SpanComposer(tokenizer=count_words).value_units(hits, TOWNS, query=QUESTION, token_budget=20)
    assert valued.scores.units is not None
    assert valued.scores.units.hidden is None
