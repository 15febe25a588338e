"""Every knob does something: one effect each, and a test that fails for a knob that has none here."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from strategies import bare, compose, hits_of, make_chunk, make_store, sentences, shown_ids, tile

from retrivex import Composition, RetrivexError, SeedHit, SpanComposer
from retrivex.config import RetrievalConfig
from retrivex.ordering import AutoSettings, PositionProfile
from retrivex.scoring.calibrated import shipped_coefficients

EFFECTS: dict[str, Callable[[], None]] = {}
TEN = bare("d", sentences("d", 10))


def shows(knob: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Say which knob a function shows."""

    def register(function: Callable[[], None]) -> Callable[[], None]:
        EFFECTS[knob] = function
        return function

    return register


def made(scores: dict[int, float], store: Any = TEN, **knobs: Any) -> Composition:
    """Compose hits on the document `d` of a store."""
    return compose(hits_of(store, scores), store, **knobs)


def ids(scores: dict[int, float], store: Any = TEN, **knobs: Any) -> list[int]:
    """Chunks that are shown."""
    return shown_ids(made(scores, store, **knobs).spans)


def windows(scores: dict[int, float], store: Any = TEN, **knobs: Any) -> list[tuple[int, int]]:
    """First and last chunk of each window."""
    return [(w.start, w.end - 1) for w in made(scores, store, **knobs).trace.windows]


@pytest.mark.parametrize("knob", sorted(RetrievalConfig.model_fields))
def test_a_knob_has_its_effect(knob: str) -> None:
    assert knob in EFFECTS, f"no test shows what {knob} does: add one here"
    EFFECTS[knob]()


def test_no_effect_is_of_a_knob_that_is_gone() -> None:
    assert set(EFFECTS) == set(RetrievalConfig.model_fields)


@shows("k")
def _k() -> None:
    assert ids({1: 0.9, 5: 0.8, 8: 0.7}, window=0) == [1, 5, 8]
    assert ids({1: 0.9, 5: 0.8, 8: 0.7}, window=0, k=2) == [1, 5]


@shows("score_kind")
def _score_kind() -> None:
    assert made({1: 0.9, 5: 0.1}, window=0, score_kind="similarity").spans[0].chunk_ids == [1]
    assert made({1: 0.9, 5: 0.1}, window=0, score_kind="distance").spans[0].chunk_ids == [5]


@shows("score_scale")
def _score_scale() -> None:
    assert made({1: 0.9, 5: 3.0}, score_scale="unbounded").dropped == ()
    assert [hit.reason for hit in made({1: 0.9, 5: 3.0}, score_scale="cosine").dropped] == ["out_of_scale"]
    assert [hit.chunk_id for hit in made({1: 0.9, 5: -0.5}, score_scale="unit").dropped] == [5]
    relevance = {n.chunk_id: n.relevance for n in made({1: 0.8, 5: 0.4}, window=0, score_scale="cosine").trace.notes}
    assert relevance == {1: 1.0, 5: 0.5}  # of the best; by range it would be 0


@shows("fusion")
def _fusion() -> None:
    lists = [hits_of(TEN, {i: 0.9 - i / 10 for i in range(0, 8, 2)}), hits_of(TEN, {9: 0.1})]
    said: dict[str, Any] = {"window": 0, "token_budget": 30, "run_cost": 0.0, "gap_markers": False}
    assert 9 in shown_ids(compose(lists, TEN, fusion="quota", **said).spans)
    equal = [hits_of(TEN, {0: 0.9, 2: 0.8, 4: 0.7}), hits_of(TEN, {0: 0.9, 2: 0.8, 9: 0.1})]
    assert shown_ids(compose(equal, TEN, fusion="rrf", **{**said, "token_budget": 18}).spans) == [0, 2]


@shows("rrf_k")
def _rrf_k() -> None:
    # chunk 8 is third twice, 0 and 12 are first once: the smaller the constant, the more a first rank counts
    store = bare("d", sentences("d", 15))
    lists = [hits_of(store, {0: 0.9, 2: 0.8, 8: 0.7}), hits_of(store, {12: 0.9, 14: 0.8, 8: 0.7})]
    said: dict[str, Any] = {"window": 0, "ordering_strategy": "score_desc"}
    assert [span.chunk_ids for span in compose(lists, store, rrf_k=0, **said).spans][:3] == [[0], [12], [8]]
    assert compose(lists, store, rrf_k=60, **said).spans[0].chunk_ids == [8]


@shows("quotas")
def _quotas() -> None:
    lists = [hits_of(TEN, {0: 0.9}), hits_of(TEN, {5: 0.9})]
    said: dict[str, Any] = {"window": 0, "fusion": "quota", "token_budget": 16}
    assert shown_ids(compose(lists, TEN, quotas=(1.0, 0.0), **said).spans) == [0]
    assert shown_ids(compose(lists, TEN, quotas=(0.0, 1.0), **said).spans) == [5]


@shows("window")
def _window() -> None:
    assert windows({5: 1.0}, window=0) == [(5, 5)]
    assert windows({5: 1.0}, window=3) == [(2, 8)]


@shows("before")
def _before() -> None:
    assert windows({5: 1.0}, before=0) == [(5, 7)]


@shows("after")
def _after() -> None:
    assert windows({5: 1.0}, after=4) == [(3, 9)]


@shows("expand_top")
def _expand_top() -> None:
    assert windows({2: 0.9, 7: 0.5}, window=1, expand_top=1) == [(1, 3), (7, 7)]


@shows("expand_top_documents")
def _expand_top_documents() -> None:
    store = {**TEN, **bare("e", sentences("e", 9))}
    hits = [*hits_of(store, {2: 0.9}), *hits_of(store, {4: 0.5}, "e")]
    sizes = [len(w) for w in compose(hits, store, window=1, expand_top_documents=1).trace.windows]
    assert sizes == [3, 1]


LIST = bare("d", ["Prose.", "- a", "- b", "- c", "- d", "- e", "Prose."])


@shows("pool_factor")
def _pool_factor() -> None:
    asked: dict[str, Any] = {"query": "anything", "token_budget": 20, "window": 1}
    narrow, wide = windows({4: 1.0}, **asked), windows({4: 1.0}, **asked, pool_factor=2)
    assert narrow == [(3, 5)]
    assert wide[0][0] < 3
    assert wide[0][1] > 5


@shows("grow_until")
def _grow_until() -> None:
    assert windows({2: 1.0}, LIST, window=0) == [(2, 2)]
    assert windows({2: 1.0}, LIST, window=0, grow_until="list") == [(1, 5)]


@shows("max_window")
def _max_window() -> None:
    assert windows({2: 1.0}, LIST, window=0, grow_until=["list"], max_window=2) == [(1, 4)]


@shows("follow_links")
def _follow_links() -> None:
    store = make_store(make_chunk("d", 0, "See there.", links=[("e", 4)]), make_chunk("e", 4, "There."))
    assert {span.doc_id for span in made({0: 1.0}, store, run_cost=0.0).spans} == {"d"}
    assert {span.doc_id for span in made({0: 1.0}, store, run_cost=0.0, follow_links=1).spans} == {"d", "e"}


@shows("store_timeout_s")
def _store_timeout_s() -> None:
    class Slow:
        def fetch(self, windows: Any, scope: Any = None) -> Any:
            time.sleep(0.3)
            return [TEN["d", 4]]

    hits = hits_of(TEN, {5: 1.0})
    assert shown_ids(compose(hits, Slow(), store_timeout_s=0.02).spans) == [5]
    assert shown_ids(compose(hits, Slow(), store_timeout_s=None).spans) == [4, 5]


HEADED = make_store(*(make_chunk("d", i, f"t{i}", heading_path=("A", "xy"[i // 2])) for i in range(4)))


@shows("stop_on_heading_change")
def _stop_on_heading_change() -> None:
    assert windows({1: 1.0}, HEADED) == [(0, 1)]
    assert windows({1: 1.0}, HEADED, stop_on_heading_change=False) == [(0, 3)]


@shows("heading_level")
def _heading_level() -> None:
    assert windows({1: 1.0}, HEADED, heading_level=2) == [(0, 1)]
    assert windows({1: 1.0}, HEADED, heading_level=1) == [(0, 3)]


VECTORS = [[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]]
EMBEDDED = make_store(
    *(make_chunk("d", i, f"t{i}", heading_path=(f"H{i}",), embedding=vector) for i, vector in enumerate(VECTORS))
)


@shows("min_continuity")
def _min_continuity() -> None:
    # cosines 0.8 and 0.6
    assert windows({0: 1.0}, EMBEDDED, min_continuity=0.5) == [(0, 2)]
    assert windows({0: 1.0}, EMBEDDED, min_continuity=0.7) == [(0, 1)]
    assert windows({0: 1.0}, EMBEDDED, min_continuity=0.9) == [(0, 0)]


WORDS = make_store(
    make_chunk("d", 0, "Honey bees store nectar.", heading_path=("A",)),
    make_chunk("d", 1, "Nectar makes honey sweet.", heading_path=("B",)),
)


@shows("min_lexical_continuity")
def _min_lexical_continuity() -> None:
    # honey, nectar of four words each: 0.5
    assert windows({0: 1.0}, WORDS, min_lexical_continuity=0.5) == [(0, 1)]
    assert windows({0: 1.0}, WORDS, min_lexical_continuity=0.6) == [(0, 0)]


@shows("stop_on_page_change")
def _stop_on_page_change() -> None:
    store = make_store(*(make_chunk("d", i, f"t{i}", page=i // 2) for i in range(4)))
    assert windows({1: 1.0}, store) == [(0, 3)]
    assert windows({1: 1.0}, store, stop_on_page_change=True) == [(0, 1)]


@shows("continuity_floor")
def _continuity_floor() -> None:
    said: dict[str, Any] = {"stop_on_heading_change": False}
    assert windows({0: 1.0}, EMBEDDED, **said) == [(0, 2)]
    assert windows({0: 1.0}, EMBEDDED, continuity_floor=0.7, **said) == [(0, 1)]


@shows("lexical_continuity_floor")
def _lexical_continuity_floor() -> None:
    said: dict[str, Any] = {"stop_on_heading_change": False}
    assert windows({0: 1.0}, WORDS, lexical_continuity_floor=0.5, **said) == [(0, 1)]
    assert windows({0: 1.0}, WORDS, lexical_continuity_floor=0.6, **said) == [(0, 0)]


GAPPED = make_store(make_chunk("d", 0, "The bird", 0), make_chunk("d", 1, "sings.", 10))


@shows("joiner")
def _joiner() -> None:
    assert made({0: 1.0}, GAPPED, run_cost=0.0, joiner=" ").spans[0].text == "The bird sings."
    assert made({0: 1.0}, GAPPED, run_cost=0.0, joiner="\n").spans[0].text == "The bird\nsings."


@shows("max_gap_chars")
def _max_gap_chars() -> None:
    assert len(made({0: 0.9, 1: 0.8}, GAPPED, max_gap_chars=2).spans) == 1
    assert len(made({0: 0.9, 1: 0.8}, GAPPED, max_gap_chars=1).spans) == 2


def factors(**knobs: Any) -> Any:
    return made({5: 1.0}, window=1, run_cost=0.0, **knobs).spans[0]


HONEY = bare("d", ["Wasps build with paper.", "Bees live on honey in winter.", "Ants carry leaves home."])


def asked(**knobs: Any) -> Composition:
    """Compose equal hits on three sentences for a question."""
    hits = hits_of(HONEY, dict.fromkeys(range(3), 0.5))
    return compose(hits, HONEY, query="What do bees live on?", window=0, **knobs)


@shows("scoring")
def _scoring() -> None:
    assert asked(scoring="auto").trace.units[0].beginning == "Bees live on honey in winter."
    assert asked(scoring="calibrated").confidence is not None
    assert asked(scoring="weighted").confidence is None


@shows("coefficients")
def _coefficients() -> None:
    model = shipped_coefficients().to_dict()
    for feature in model["features"].values():
        feature["weight"] = 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        path.write_text(json.dumps({**model, "intercept": -30.0}), encoding="utf-8")
        made = asked(coefficients=path)
    assert made.confidence is not None
    assert made.confidence < asked().confidence  # type: ignore[operator]
    with pytest.raises(RetrivexError, match="cannot be read"):
        asked(coefficients=path)


@shows("boosts")
def _boosts() -> None:
    best = asked(boosts=lambda chunk: 20.0 if chunk.metadata.chunk_id == 2 else 0.0).trace.units[0]
    assert best.beginning == "Ants carry leaves home."


@shows("hedge")
def _hedge() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "doubting.json"
        path.write_text(json.dumps({**shipped_coefficients().to_dict(), "confidence": [0.0, -30.0]}), encoding="utf-8")
        near = {hedge: asked(coefficients=path, hedge=hedge) for hedge in (0.0, 0.9, 5.0)}
    assert near[0.0].confidence == pytest.approx(0.0, abs=1e-6)
    least = {hedge: min(unit.value for unit in made.trace.units) for hedge, made in near.items()}
    assert least[0.0] < least[0.9] == pytest.approx(0.9)
    assert least[5.0] == pytest.approx(1.0)
    assert not any(unit.hedged for unit in near[0.0].trace.units)


@shows("similarity_weight")
def _similarity_weight() -> None:
    assert factors(similarity_weight=2.0).score == pytest.approx(factors().score + 1.0)


@shows("adjacency_weight")
def _adjacency_weight() -> None:
    span = factors()
    assert factors(adjacency_weight=1.6).score == pytest.approx(span.score + span.adjacency_score)


@shows("continuity_weight")
def _continuity_weight() -> None:
    assert made({5: 1.0}, window=0, continuity_weight=1.2).spans[0].score == pytest.approx(1.0 + 0.6 + 1.2 * 0.5)


@shows("parent_weight")
def _parent_weight() -> None:
    store = bare("d", ["A whole parent."], parent_id="p")
    span = compose(hits_of(store, {0: 1.0}), store, {"p": "A whole parent."}, parent_weight=3.0).spans[0]
    assert span.score == pytest.approx(1.0 + 0.6 + 0.1 + 3.0)


@shows("distance_decay_beta")
def _distance_decay_beta() -> None:
    assert factors(distance_decay_beta=0.0).adjacency_score == 1.0
    assert factors(distance_decay_beta=5.0).adjacency_score < factors().adjacency_score


TEXTS = sentences("d", 3)
CHILDREN = tile("d", TEXTS, parent_id="p")


def with_parent(**knobs: Any) -> str | None:
    hits = hits_of(CHILDREN, {0: 0.9, 1: 0.8})
    return compose(hits, CHILDREN, {"p": "".join(TEXTS)}, window=0, **knobs).spans[0].parent_id


@shows("return_parents")
def _return_parents() -> None:
    assert (with_parent(return_parents="auto"), with_parent()) == ("p", None)


@shows("parent_coverage")
def _parent_coverage() -> None:
    assert with_parent(return_parents="auto", parent_coverage=0.9) is None


@shows("max_parent_chars")
def _max_parent_chars() -> None:
    assert with_parent(return_parents="auto", max_parent_chars=40) is None


@shows("token_budget")
def _token_budget() -> None:
    assert made({5: 1.0}, token_budget=9).tokens <= 9
    assert ids({5: 1.0}, token_budget=9) == [5]


# one long good chunk, or two short ones that are worth more together
KNAPSACK = make_store(
    make_chunk("d", 0, "long " * 10), make_chunk("d", 5, "short " * 6), make_chunk("d", 9, "brief " * 6)
)  # fmt: skip


@shows("selection")
def _selection() -> None:
    said: dict[str, Any] = {"window": 0, "token_budget": 13, "run_cost": 0.0, "numbered": False, "gap_markers": False}
    scores = {0: 1.0, 5: 0.99, 9: 0.99}
    assert ids(scores, KNAPSACK, selection="greedy", score_scale="unit", **said) == [0]
    assert ids(scores, KNAPSACK, selection="exact", score_scale="unit", **said) == [5, 9]


@shows("selection_unit")
def _selection_unit() -> None:
    assert ids({5: 1.0}, token_budget=16, selection_unit="chunk") != [3, 4, 5, 6, 7]
    assert ids({5: 1.0}, token_budget=40, selection_unit="span") == [3, 4, 5, 6, 7]
    assert len(made({5: 1.0, 9: 0.1}, token_budget=45, window=1, selection_unit="span").spans) in (1, 2)


SCATTERED = {2: 1.0, 4: 1.0, 8: 1.0}
ROOM_FOR_THREE: dict[str, Any] = {"window": 1, "token_budget": 21, "numbered": False, "gap_markers": False}


@shows("run_cost")
def _run_cost() -> None:
    # the neighbour between two hits is worth less than a third hit, and saves a span
    assert ids(SCATTERED, run_cost=0.0, **ROOM_FOR_THREE) == [2, 4, 8]
    assert ids(SCATTERED, run_cost=1.0, **ROOM_FOR_THREE) == [2, 3, 4]


@shows("prefer_fewer_spans")
def _prefer_fewer_spans() -> None:
    said = {**ROOM_FOR_THREE, "run_cost": 1.0}
    assert ids(SCATTERED, **said) == [2, 3, 4]
    assert ids(SCATTERED, prefer_fewer_spans=False, **said) == [2, 4, 8]


@shows("min_value")
def _min_value() -> None:
    assert len(ids({5: 1.0})) == 5
    assert ids({5: 1.0}, min_value=0.9) == [5]


@shows("max_spans")
def _max_spans() -> None:
    assert ids({1: 0.9, 5: 0.8, 8: 0.7}, window=0, max_spans=2) == [1, 5]


@shows("max_tokens_per_document")
def _max_tokens_per_document() -> None:
    store = {**TEN, **bare("e", sentences("e", 3))}
    hits = [*hits_of(store, {1: 0.9, 5: 0.8}), *hits_of(store, {1: 0.1}, "e")]
    assert [len(shown_ids(compose(hits, store, window=0).spans, doc_id)) for doc_id in "de"] == [2, 1]
    capped = compose(hits, store, window=0, max_tokens_per_document=12, gap_markers=False)
    assert [shown_ids(capped.spans, doc_id) for doc_id in "de"] == [[1], [1]]


@shows("keep_top")
def _keep_top() -> None:
    # the best hit is long, and the two others together are worth more
    said: dict[str, Any] = {"window": 0, "token_budget": 13, "run_cost": 0.0, "numbered": False, "gap_markers": False}
    scores = {0: 1.0, 5: 0.99, 9: 0.99}
    assert ids(scores, KNAPSACK, score_scale="unit", **said) == [5, 9]
    assert ids(scores, KNAPSACK, score_scale="unit", keep_top=1, **said) == [0]


@shows("dedupe_overlaps")
def _dedupe_overlaps() -> None:
    text = "The very same long sentence was indexed under two names."
    store = make_store(make_chunk("d", 0, text), make_chunk("copy", 0, text))
    hits = [SeedHit(chunk, 1.0) for chunk in store.values()]
    assert len(compose(hits, store).spans) == 1
    assert len(compose(hits, store, dedupe_overlaps=False).spans) == 2


@shows("near_duplicate_threshold")
def _near_duplicate_threshold() -> None:
    text = "A long sentence stands on a page, and on a mirror of that page with {} footer below it."
    store = make_store(make_chunk("d", 0, text.format("one")), make_chunk("mirror", 0, text.format("its own")))
    hits = [SeedHit(store["d", 0], 1.0), SeedHit(store["mirror", 0], 0.9)]
    assert len(compose(hits, store).spans) == len(compose(hits, store, near_duplicate_threshold=0.99).spans) == 2
    made = compose(hits, store, near_duplicate_threshold=0.8)
    assert [span.doc_id for span in made.spans] == ["d"]
    assert [(hit.doc_id, hit.reason) for hit in made.dropped] == [("mirror", "near_duplicate")]
    assert "('d', 0): similarity 0.8" in made.dropped[0].detail


@shows("diversity")
def _diversity() -> None:
    text = "Bees {} in the hive at night, and by day they fly."
    store = make_store(
        make_chunk("a", 0, text.format("sleep")), make_chunk("b", 0, text.format("rest")),
        make_chunk("c", 0, "Wasps build their nests of paper that they make of old wood."),
    )  # fmt: skip
    hits = [SeedHit(store[key, 0], score) for key, score in (("a", 1.0), ("b", 0.9), ("c", 0.6))]
    said: dict[str, Any] = {"max_spans": 2, "window": 0, "score_scale": "unit"}
    assert {span.doc_id for span in compose(hits, store, **said).spans} == {"a", "b"}
    assert {span.doc_id for span in compose(hits, store, diversity=0.9, **said).spans} == {"a", "c"}


@shows("pinned")
def _pinned() -> None:
    assert made({5: 1.0}, window=0, pinned=[TEN["d", 1]]).spans[0].chunk_ids == [1]


@shows("exclude")
def _exclude() -> None:
    assert ids({1: 0.9, 5: 0.5}, window=0, exclude=[TEN["d", 1]]) == [5]


@shows("ordering_strategy")
def _ordering_strategy() -> None:
    orders = {
        strategy: [s.chunk_ids[0] for s in made({8: 0.9, 5: 0.8, 2: 0.7}, window=0, ordering_strategy=strategy).spans]
        for strategy in ("edge_balanced", "score_desc", "front_first", "back_first", "document")
    }
    assert orders == {
        "edge_balanced": [8, 2, 5], "score_desc": [8, 5, 2], "front_first": [8, 5, 2], "back_first": [2, 5, 8],
        "document": [2, 5, 8],
    }  # fmt: skip


def spans_in_order(strategy: str, store: Any = TEN, **knobs: Any) -> list[int]:
    """Chunks in reading order; the scores of their hits fall from 8 to 0."""
    found = made({8: 0.9, 6: 0.8, 4: 0.7, 2: 0.6, 0: 0.5}, store, window=0, ordering_strategy=strategy, **knobs)
    return [span.chunk_ids[0] for span in found.spans]


@shows("start_count")
def _start_count() -> None:
    assert spans_in_order("edge_balanced") == [8, 4, 0, 2, 6]
    assert spans_in_order("edge_balanced", start_count=2, end_count=1) == [8, 6, 2, 0, 4]
    with pytest.raises(ValueError, match="give both of them, or neither"):
        RetrievalConfig(start_count=2)


@shows("end_count")
def _end_count() -> None:
    assert spans_in_order("edge_balanced", start_count=1, end_count=3) == [8, 0, 6, 4, 2]


@shows("position_profile")
def _position_profile() -> None:
    assert spans_in_order("profile", position_profile="recency") == [0, 2, 4, 6, 8]
    falling = PositionProfile((0.0, 1.0), (1.0, 0.0), "falling")
    assert spans_in_order("profile", position_profile=falling) == [8, 6, 4, 2, 0]


@shows("chronological_order")
def _chronological_order() -> None:
    dated = make_store(*(make_chunk("d", i, f"d{i} text", timestamp=float(i)) for i in range(10)))
    assert spans_in_order("chronological", dated) == [0, 2, 4, 6, 8]
    assert spans_in_order("chronological", dated, chronological_order="desc") == [8, 6, 4, 2, 0]


@shows("high_relevance")
def _high_relevance() -> None:
    scores = made({8: 0.9, 6: 0.8, 4: 0.7, 2: 0.6, 0: 0.5}, window=0, ordering_strategy="score_desc").spans
    third, lowest = scores[2].score, scores[4].score
    said: dict[str, Any] = {"medium_relevance": lowest}
    assert spans_in_order("relevance_groups", high_relevance=third, **said) == [8, 6, 0, 2, 4]
    assert spans_in_order("relevance_groups", high_relevance=99.0, **said) == [0, 2, 4, 6, 8]
    with pytest.raises(ValueError, match="must be at least medium_relevance"):
        RetrievalConfig(high_relevance=0.1)


@shows("medium_relevance")
def _medium_relevance() -> None:
    scores = made({8: 0.9, 6: 0.8, 4: 0.7, 2: 0.6, 0: 0.5}, window=0, ordering_strategy="score_desc").spans
    second, third = scores[1].score, scores[2].score
    assert spans_in_order("relevance_groups", high_relevance=99.0, medium_relevance=second) == [6, 8, 0, 2, 4]
    assert spans_in_order("relevance_groups", high_relevance=99.0, medium_relevance=third) == [4, 6, 8, 0, 2]
    with pytest.raises(ValueError, match="must be at least medium_relevance"):
        RetrievalConfig(medium_relevance=0.8)


@shows("group_by")
def _group_by() -> None:
    pages = make_store(*(make_chunk("d", i, f"d{i} text", page=1 + i % 4) for i in range(10)))
    assert spans_in_order("group_by", pages, group_by="page") == [8, 0, 4, 6, 2]
    assert spans_in_order("group_by", pages, group_by=lambda span: span.chunk_ids[0] > 4) == [8, 6, 4, 0, 2]


@shows("order_key")
def _order_key() -> None:
    assert spans_in_order("custom", order_key=lambda span: -span.chunk_ids[0] % 5) == [0, 4, 8, 2, 6]
    with pytest.raises(ValueError, match="without an order_key"):
        RetrievalConfig(ordering_strategy="custom")


@shows("order_seed")
def _order_seed() -> None:
    orders = {tuple(spans_in_order("shuffle", order_seed=seed)) for seed in range(6)}
    assert len(orders) > 1
    assert spans_in_order("shuffle", order_seed=3) == spans_in_order("shuffle", order_seed=3)


@shows("auto_order")
def _auto_order() -> None:
    assert spans_in_order("auto") == [8, 4, 0, 2, 6]
    assert spans_in_order("auto", auto_order={"context_window": 1}) == [0, 2, 4, 6, 8]
    told = AutoSettings(detector=lambda question: "narrative")
    found = made({8: 0.9, 2: 0.8}, window=0, ordering_strategy="auto", query="Who?", auto_order=told)
    assert [span.chunk_ids[0] for span in found.spans] == [2, 8]


@shows("context_format")
def _context_format() -> None:
    starts = [made({5: 1.0}, window=0, context_format=name).text[:7] for name in ("text", "markdown", "xml")]
    assert starts == ["[1] d5a", "**[1]**", "<source"]


@shows("numbered")
def _numbered() -> None:
    assert made({5: 1.0}, window=0, numbered=False).text.startswith("d5a")


@shows("span_header")
def _span_header() -> None:
    assert made({5: 1.0}, window=0, span_header="document").text.startswith("[1] d\nd5a")


@shows("gap_markers")
def _gap_markers() -> None:
    said: dict[str, Any] = {"window": 0, "ordering_strategy": "document"}
    assert "[... 3 chunks omitted ...]" in made({1: 0.9, 5: 0.5}, **said).text
    assert "omitted" not in made({1: 0.9, 5: 0.5}, gap_markers=False, **said).text


@shows("tokenizer")
def _tokenizer() -> None:
    config = RetrievalConfig(tokenizer="estimate")
    assert SpanComposer(config).compose(hits_of(TEN, {5: 1.0}), TEN).tokenizer == "estimate"
    with pytest.raises(RetrivexError, match="no-such-model"):
        SpanComposer(RetrievalConfig(tokenizer="no-such-model"))


@shows("strict")
def _strict() -> None:
    hits = [SeedHit(make_chunk("unknown", 0, "Nowhere else."), 1.0)]
    assert compose(hits, TEN).warnings
    with pytest.raises(RetrivexError, match="not in the chunk store"):
        compose(hits, TEN, strict=True)
