"""Seeds grow to their neighbours until a guard refuses, and never step over a refusal."""

from __future__ import annotations

from typing import Any

import pytest
from fuzz.checks import check_windows
from fuzz.compositions import Bench
from hypothesis import given
from support.properties import try_examples
from support.strategies import bare, cases, compose, hits_of, make_chunk, make_store, sentences

from retrivex.model.chunk import MAX_CHUNK_ID
from retrivex.stores.memory import InMemoryChunkStore

TEN = bare("d", sentences("d", 10))


def grown(scores: dict[int, float], store: Any = TEN, **options: Any) -> list[tuple[int, int]]:
    """First and last chunk of each window, best seed first."""
    made = compose(hits_of({**TEN, **(store if isinstance(store, dict) else {})}, scores), store, **options)
    return [(window.start, window.end - 1) for window in made.trace.windows]


@pytest.mark.parametrize(
    ("options", "window"),
    [
        ({}, (3, 7)),
        ({"window": 0}, (5, 5)),
        ({"window": 1}, (4, 6)),
        ({"window": 20}, (0, 9)),
        ({"window": (0, 2)}, (5, 7)),
        ({"window": (2, 0)}, (3, 5)),
        ({"window": (1, 3)}, (4, 8)),
        ({"window": (2, 2)}, (3, 7)),
    ],
)
def test_reach(options: dict[str, Any], window: tuple[int, int]) -> None:
    assert grown({5: 1.0}, **options) == [window]


def test_windows_end_at_the_edges_of_the_document() -> None:
    assert grown({0: 1.0}) == [(0, 2)]
    assert grown({9: 1.0}) == [(7, 9)]


def test_growth_stops_for_good_at_a_missing_chunk() -> None:
    store = {key: chunk for key, chunk in TEN.items() if key[1] != 6}
    made = compose(hits_of(TEN, {5: 1.0}), store, window=3)
    assert [(w.start, w.end) for w in made.trace.windows] == [(2, 6)]
    assert [note.reason for note in made.trace.notes if note.chunk_id == 6] == ["missing"]


def test_a_missing_neighbour_before_a_seed_is_warned_of() -> None:
    store = {key: chunk for key, chunk in TEN.items() if key[1] != 4}
    made = compose(hits_of(TEN, {5: 1.0}), store)
    assert "('d', 4)" in " ".join(made.warnings)


class Rows(InMemoryChunkStore):
    """Two rows, and a chunk of the second one that is really missing."""

    row_ends = frozenset({("d", 4)})

    def __init__(self) -> None:
        super().__init__(chunk for key, chunk in TEN.items() if key[1] not in (4, 7))


def test_where_a_store_says_that_nothing_is_missing_there_is_no_warning() -> None:
    made = compose(hits_of(TEN, {5: 1.0}), Rows())
    assert made.warnings == ()
    assert [note.reason for note in made.trace.notes if note.chunk_id == 4] == ["document end"]
    assert "('d', 7)" in " ".join(compose(hits_of(TEN, {8: 1.0}), Rows()).warnings)


def test_the_end_of_a_document_is_no_warning() -> None:
    assert compose(hits_of(TEN, {9: 1.0}), TEN).warnings == ()


def test_with_a_chunk_count_a_missing_end_is_warned_of() -> None:
    store = make_store(*(make_chunk("d", i, f"part {i}", chunk_count=9) for i in range(3)))
    assert "('d', 3)" in " ".join(compose(hits_of(store, {2: 1.0}), store).warnings)
    store = make_store(*(make_chunk("d", i, f"part {i}", chunk_count=3) for i in range(3)))
    assert compose(hits_of(store, {2: 1.0}), store).warnings == ()


def test_only_the_best_hits_grow() -> None:
    assert grown({1: 3.0, 5: 2.0, 8: 1.0}, expand_top=1, window=1) == [(0, 2), (5, 5), (8, 8)]
    assert grown({1: 3.0, 5: 2.0}, expand_top=0) == [(1, 1), (5, 5)]


def test_only_hits_of_the_best_documents_grow() -> None:
    store = {**TEN, **bare("e", sentences("e", 5))}
    hits = [*hits_of(store, {5: 3.0, 8: 1.0}), *hits_of(store, {2: 2.0}, "e")]
    made = compose(hits, store, window=1, expand_top_documents=1)
    assert [(w.doc_id, len(w)) for w in made.trace.windows] == [("d", 3), ("e", 1), ("d", 3)]


def test_another_scope_ends_a_window_as_a_missing_chunk_does() -> None:
    store = make_store(*(make_chunk("d", i, f"t{i}", scope="zeta" if i == 2 else "acme") for i in range(5)))
    made = compose(hits_of(store, {3: 1.0}), store, scope="acme")
    assert [(w.start, w.end) for w in made.trace.windows] == [(3, 5)]
    assert [note.reason for note in made.trace.notes if note.chunk_id == 2] == ["missing"]
    (warning,) = made.warnings
    assert "neighbours missing from the chunk store, or not for this call" in warning


def test_ids_at_the_upper_end_work() -> None:
    store = make_store(*(make_chunk("d", MAX_CHUNK_ID - i, f"t{i}") for i in range(3)))
    made = compose(hits_of(store, {MAX_CHUNK_ID: 1.0}), store)
    assert [(w.start, w.end) for w in made.trace.windows] == [(MAX_CHUNK_ID - 2, MAX_CHUNK_ID + 1)]


@try_examples(500)
@given(cases())
def test_windows_are_what_a_plain_walk_reaches(case: Any) -> None:
    composer, count = Bench()(case.tokenizer)
    said = {"query": case.query, "scope": case.scope, **case.options}
    made = composer.compose(case.hits, case.store, case.parent_store, **said)
    check_windows(case, composer.config.override(**case.options), made, count)


def asked(scores: dict[int, float], **options: Any) -> list[tuple[int, int]]:
    """Windows in a document of 100 chunks of 2 words, with a question, as the calibrated scorer has them."""
    return grown(scores, bare("d", ["two words"] * 100), query="which words?", **options)


@pytest.mark.parametrize(
    ("options", "reach"),
    [
        ({"token_budget": 1, "pool_factor": 8.0}, (2, 2)),  # 8 wanted: the window is enough
        ({"token_budget": 4, "pool_factor": 8.0}, (8, 8)),  # 32 wanted, the seed is 2: 30 / 4 on each side
        ({"token_budget": 4}, (8, 8)),
        ({"token_budget": 4, "pool_factor": 4.0}, (4, 4)),
        ({"token_budget": 4, "pool_factor": None}, (2, 2)),
        ({"token_budget": 4, "window": 1}, (1, 1)),
        ({"token_budget": 4, "window": 1, "pool_factor": 8.0}, (8, 8)),
        ({"token_budget": 4, "window": (0, 2), "pool_factor": 8.0}, (0, 8)),
        ({"token_budget": 4, "window": 0, "pool_factor": 8.0}, (0, 0)),
        ({"token_budget": 4, "expand_top": 0}, (0, 0)),
        ({"token_budget": 10**6}, (40, 40)),
        ({"token_budget": 0}, (2, 2)),
        ({"token_budget": 4, "scoring": "weighted"}, (2, 2)),
    ],
)
def test_windows_widen_until_the_pool_holds_the_budget_so_many_times(
    options: dict[str, Any], reach: tuple[int, int]
) -> None:
    assert asked({50: 1.0}, **options) == [(50 - reach[0], 50 + reach[1])]


def test_many_hits_need_no_wider_windows() -> None:
    assert asked({10 * i: 1.0 for i in range(10)}, token_budget=4)[0] == (0, 2)


def test_numbers_that_begin_at_one_are_no_hole() -> None:
    store = make_store(*(make_chunk("d", n, f"text {n}") for n in range(1, 20)))
    made = compose(hits_of(store, {5: 1.0}), store, query="which text?")
    assert made.trace.windows[0].start == 1
    assert made.warnings == ()
    gap = {key: chunk for key, chunk in store.items() if key[1] != 3}
    assert "missing from the chunk store" in compose(hits_of(gap, {5: 1.0}), gap, query="which text?").warnings[0]


def test_what_does_not_grow_counts_for_the_pool_too() -> None:
    """2 tokens each: 20 that stay as they are and one that grows hold 42; 64 want 22 more, 11 on each side of 2."""
    scores = {50: 1.0} | {2 * i: 0.5 for i in range(20)}
    store = bare("d", ["two words"] * 100)
    said = {"query": "which words?", "token_budget": 8, "expand_top": 1}
    assert grown(scores, store, **said)[0] == (44, 56)
