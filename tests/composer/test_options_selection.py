"""Options of the choice: whole parents, the budget, and what is worth a place in it."""

from __future__ import annotations

from typing import Any

from support.option_builders import TEN, ids, made
from support.strategies import bare, compose, hits_of, make_chunk, make_store, sentences, shown_ids, tile

from retrivex import SeedHit

TEXTS = sentences("d", 3)
CHILDREN = tile("d", TEXTS, parent_id="p")


def with_parent(**options: Any) -> str | None:
    hits = hits_of(CHILDREN, {0: 0.9, 1: 0.8})
    return compose(hits, CHILDREN, {"p": "".join(TEXTS)}, window=0, **options).spans[0].parent_id


def test_return_parents() -> None:
    assert (with_parent(return_parents="auto"), with_parent()) == ("p", None)
    assert (with_parent(return_parents=0.6), with_parent(return_parents=0.9)) == ("p", None)


def test_max_parent_chars() -> None:
    assert with_parent(return_parents="auto", max_parent_chars=40) is None


def test_token_budget() -> None:
    assert made({5: 1.0}, token_budget=9).tokens <= 9
    assert ids({5: 1.0}, token_budget=9) == [5]


def test_selection_unit() -> None:
    assert ids({5: 1.0}, token_budget=16, selection_unit="chunk") != [3, 4, 5, 6, 7]
    assert ids({5: 1.0}, token_budget=40, selection_unit="span") == [3, 4, 5, 6, 7]
    assert len(made({5: 1.0, 9: 0.1}, token_budget=45, window=1, selection_unit="span").spans) in (1, 2)


SCATTERED = {2: 1.0, 4: 1.0, 8: 1.0}
ROOM_FOR_THREE: dict[str, Any] = {"window": 1, "token_budget": 21, "numbered": False, "gap_markers": False}


def test_run_cost() -> None:
    # neighbours are worth less than other hits, and open no span
    assert ids(SCATTERED, run_cost=0.0, **ROOM_FOR_THREE) == [2, 4, 8]
    assert ids(SCATTERED, run_cost=1.0, **ROOM_FOR_THREE) == [1, 2, 3]


def test_min_value() -> None:
    assert len(ids({5: 1.0})) == 5
    assert ids({5: 1.0}, min_value=0.9) == [5]


def test_effort() -> None:
    texts = ["Bees live on honey in winter. ", *[f"Ships of {year} sailed to the cold north. " for year in range(60)]]
    store = tile("d", texts)
    hits = hits_of(store, {at: 9.0 if at == 0 else 1.0 for at in range(len(texts))})
    tokens = [
        compose(hits, store, query="What do bees live on in winter?", window=0, effort=effort).tokens
        for effort in ("lean", "standard", "full")
    ]
    assert tokens == sorted(tokens)
    assert tokens[1] < tokens[2]


def test_max_spans() -> None:
    assert ids({1: 0.9, 5: 0.8, 8: 0.7}, window=0, max_spans=2) == [1, 5]


def test_max_tokens_per_document() -> None:
    store = {**TEN, **bare("e", sentences("e", 3))}
    hits = [*hits_of(store, {1: 0.9, 5: 0.8}), *hits_of(store, {1: 0.1}, "e")]
    assert [len(shown_ids(compose(hits, store, window=0).spans, doc_id)) for doc_id in "de"] == [2, 1]
    capped = compose(hits, store, window=0, max_tokens_per_document=12, gap_markers=False)
    assert [shown_ids(capped.spans, doc_id) for doc_id in "de"] == [[1], [1]]


def test_keep_top() -> None:
    # what opening a passage costs beside its own text is spent better on a long one
    store = make_store(make_chunk("d", 0, "short"), make_chunk("d", 5, "long " * 10))
    said: dict[str, Any] = {"window": 0, "token_budget": 11, "score_scale": "unit"}
    assert ids({0: 1.0, 5: 0.9}, store, **said) == [5]
    assert ids({0: 1.0, 5: 0.9}, store, keep_top=1, **said) == [0]


def test_diversity() -> None:
    text = "Bees {} in the hive at night, and by day they fly."
    store = make_store(
        make_chunk("a", 0, text.format("sleep")), make_chunk("b", 0, text.format("rest")),
        make_chunk("c", 0, "Wasps build their nests of paper that they make of old wood."),
    )  # fmt: skip
    hits = [SeedHit(store[key, 0], score) for key, score in (("a", 1.0), ("b", 0.9), ("c", 0.6))]
    said: dict[str, Any] = {"max_spans": 2, "window": 0, "score_scale": "unit"}
    assert {span.doc_id for span in compose(hits, store, **said).spans} == {"a", "b"}
    assert {span.doc_id for span in compose(hits, store, diversity=0.9, **said).spans} == {"a", "c"}
