"""Which scorer values what, and how the caller's own features join in."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.strategies import count_words, hits_of, tile

from retrivex import Chunk, RetrievalConfig, RetrivexError, SeedHit, SpanComposer
from retrivex.scoring.calibrated import Coefficients
from retrivex.scoring.features import NAMES
from retrivex.scoring.knn_fallback import Capacity, is_mismatched
from retrivex.scoring.scorer import Scorer
from retrivex.scoring.scores import Scores

QUESTION = "What do bees live on in winter?"
STORE = tile("d", [
    "A hive has one queen. She lays many eggs a day. ",
    "Bees form a cluster in winter. They live on honey until spring. ",
    "Drones leave the hive in summer. They do not return. ",
])  # fmt: skip


def scores_of(query: str = QUESTION, scores: dict[int, float] | None = None, **said: Any) -> Scores:
    hits = hits_of(STORE, scores or {0: 0.9, 1: 0.5, 2: 0.1})
    return SpanComposer(tokenizer=count_words).value_units(hits, STORE, query=query, **said).scores


def test_auto_is_calibrated_with_a_question_and_weighted_without() -> None:
    assert scores_of().scorer == "calibrated"
    assert scores_of(scoring="calibrated").scorer == "calibrated"
    assert scores_of(scoring="weighted").scorer == "weighted"
    composed = SpanComposer(tokenizer=count_words).compose(hits_of(STORE, {0: 1.0}), STORE, query=" \n")
    assert composed.trace.scorer == "weighted"
    assert SpanComposer(tokenizer=count_words).compose(hits_of(STORE, {0: 1.0}), STORE).trace.scorer == "weighted"


@pytest.mark.parametrize("query", [None, "", "  \n"])
def test_calibrated_needs_a_question(query: str | None) -> None:
    with pytest.raises(RetrivexError, match=r"scoring='calibrated' without a question: pass query="):
        SpanComposer(tokenizer=count_words).compose(hits_of(STORE, {0: 1.0}), STORE, query=query, scoring="calibrated")


def test_a_question_of_signs_alone_is_one() -> None:
    assert scores_of("?!").scorer == "calibrated"


def test_values_are_shares_of_the_best() -> None:
    made = scores_of()
    assert max(made.values) == 1.0
    assert all(0.0 <= value <= 1.0 for value in made.values)
    assert all(0.0 <= score <= 1.0 for score in made.probabilities)
    assert max(value for row in made.chunks for value in row) == 1.0
    assert [len(row) for row in made.chunk_probabilities] == [len(row) for row in made.chunks]
    assert max(score for row in made.chunk_probabilities for score in row) == max(made.probabilities)


def test_the_weighted_scorer_knows_no_probabilities() -> None:
    made = scores_of(scoring="weighted")
    assert (made.probabilities, made.confidence, made.reasons(0)) == ([], None, ())


@pytest.mark.parametrize(
    ("scoring", "unit", "cut"),
    [("calibrated", "auto", True), ("calibrated", "unit", True), ("calibrated", "chunk", False),
     ("calibrated", "span", False), ("weighted", "auto", False), ("weighted", "unit", True),
     ("weighted", "chunk", False), ("weighted", "span", False)],
)  # fmt: skip
def test_what_is_picked(scoring: str, unit: str, cut: bool) -> None:
    made = scores_of(scoring=scoring, selection_unit=unit)
    assert (made.units is not None) is cut
    assert max(value for row in made.chunks for value in row) == 1.0
    if made.units is not None:
        assert len(made.values) == len(made.units)


def test_units_take_the_value_of_their_chunk_from_the_weighted_scorer() -> None:
    made = scores_of(scoring="weighted", selection_unit="unit")
    assert made.units is not None
    assert made.values == [max(made.chunks[u.run][u.first : u.last + 1]) for u in made.units]


def test_no_candidates() -> None:
    made = SpanComposer(tokenizer=count_words).value_units([], STORE, query=QUESTION).scores
    assert (made.units, made.values, made.probabilities, made.confidence) == ([], [], [], None)


# ---- boosts


def test_a_boost_adds_to_the_log_odds_of_its_chunk() -> None:
    def trusted(chunk: Chunk) -> float:
        return 2.0 if chunk.metadata.chunk_id == 2 else 0.0

    plain, boosted = scores_of(), scores_of(boosts=trusted)
    assert plain.log_odds is not None
    assert boosted.log_odds is not None
    assert plain.units is not None
    added = boosted.log_odds - plain.log_odds
    assert added.tolist() == pytest.approx([2.0 if u.last == 2 else 0.0 for u in plain.units])
    twice = scores_of(boosts=(trusted, trusted)).log_odds
    assert twice is not None
    assert (twice - plain.log_odds).max() == pytest.approx(4.0)


def test_a_boost_may_be_a_number_of_numpy() -> None:
    assert scores_of(boosts=lambda chunk: np.float32(0.5)).scorer == "calibrated"
    assert scores_of(boosts=lambda chunk: 1).scorer == "calibrated"


@pytest.mark.parametrize("bad", [None, "much", math.nan, math.inf, True, [1.0], np.complex64(1 + 2j)])
def test_a_boost_that_is_no_number_is_refused(bad: Any) -> None:
    with pytest.raises(RetrivexError, match=r"a boost gave .* for chunk \('d', 0\): it must be a finite number"):
        scores_of(boosts=lambda chunk: bad)


def test_what_a_boost_raises_reaches_the_caller() -> None:
    def broken(chunk: Chunk) -> float:
        raise LookupError("no date")

    with pytest.raises(LookupError, match="no date"):
        scores_of(boosts=broken)


def test_a_boost_that_cannot_be_called_is_refused_by_the_config() -> None:
    with pytest.raises(ValueError, match="boosts"):
        RetrievalConfig.model_validate({"boosts": (3.0,)})


def test_the_weighted_scorer_asks_no_boost() -> None:
    def broken(chunk: Chunk) -> float:
        raise LookupError("never asked")

    assert scores_of(boosts=broken, scoring="weighted").scorer == "weighted"


@pytest.fixture
def only_words(tmp_path: Path) -> Path:
    """Write coefficients that know nothing but words."""
    weights = np.array([10.0 if name == "words" else 0.0 for name in NAMES])
    path = tmp_path / "only_words.json"
    path.write_text(json.dumps(Coefficients(weights, -10.0, np.zeros(len(NAMES))).to_dict()))
    return path


def favoured(chunk: Chunk) -> float:
    """Make the scorer favour two documents."""
    return 20.0 if chunk.metadata.doc_id in ("queen", "rook") else 0.0


FAVOURED = {
    "queen": ["Queen of a hive of bees in the old garden."],
    "rook": ["Rook on the wall over the gate of the town."],
}


def values(coefficients: Path, budget: int, scale: float = 1.0, **said: Any) -> dict[str, float]:
    """Return what three nearest hits and two favoured ones are worth, each a document of its own."""
    texts = {
        "first": ["One two three four five."],
        "long": ["A b c d e f g h i."],
        "third": ["Six seven eight nine ten."],
        **FAVOURED,
    }
    store = {key: chunk for name, parts in texts.items() for key, chunk in tile(name, parts).items()}
    hits = [SeedHit(store[name, 0], scale * (0.9 - at / 10)) for at, name in enumerate(texts)]
    asked = {
        "query": "bishop",
        "run_cost": 0.0,
        "effort": "full",
        **said,
    }  # where opening is free, a short hit needs no help
    made = SpanComposer(tokenizer=count_words).value_units(
        hits, store, token_budget=budget, coefficients=coefficients, boosts=favoured, **asked
    )
    return {made.runs[unit.run].doc_id: made.scores.values[at] for at, unit in enumerate(made.scores.units or ())}


def worth(**near: float) -> dict[str, float]:
    """Return what is expected where nothing of the question is found: the scorer's own favourites, and the nearest."""
    return {"first": 0.0, "long": 0.0, "third": 0.0, "queen": 1.0, "rook": 1.0} | near


def test_where_the_question_s_words_stand_nowhere_the_nearest_hits_count(only_words: Path) -> None:
    assert values(only_words, 4) == pytest.approx(worth(), abs=1e-3)
    assert values(only_words, 5) == pytest.approx(worth(first=0.9), abs=0.01)
    # the second hit has nine words and is passed over, the third is not; half of the room is filled before it
    assert values(only_words, 10) == pytest.approx(worth(first=0.9, third=0.9 * 0.8), abs=0.01)
    assert values(only_words, 19) == pytest.approx(worth(first=0.9, long=0.9 * 0.89, third=0.9 * 0.7), abs=0.01)


@pytest.mark.parametrize("hedge", [0.0, 0.3, 1.0])
def test_how_much_a_near_hit_counts_is_an_option(only_words: Path, hedge: float) -> None:
    assert values(only_words, 5, hedge=hedge) == pytest.approx(worth(first=hedge), abs=0.01)


@pytest.mark.parametrize(
    ("question", "words", "counted"),
    [
        ("king queen", (0, 0, 1, 1, 0, 0), 0.9),  # half of the words are missing
        ("queen number", (0, 0, 1, 1, 0, 0), 0.0),  # none is
        ("king queen number", (0, 0, 1, 1, 0, 0), 0.0),  # a short one is: three quarters are there
        ("bishop castle queen", (0, 1, 1, 0, 0, 0), 0.9),  # nearly all are
    ],
)
def test_near_hits_count_where_words_lead_nowhere(
    only_words: Path, question: str, words: tuple[int, ...], counted: float
) -> None:
    texts = [f"Queen number {at}." if word else f"Pawn {at} moves." for at, word in enumerate(words)]
    store = {key: chunk for at, text in enumerate(texts) for key, chunk in tile(f"d{at}", [text]).items()}
    hits = [SeedHit(store[f"d{at}", 0], 0.9 - at / 10) for at in range(len(texts))]
    found = SpanComposer(tokenizer=count_words).value_units(
        hits, store, query=question, token_budget=4, effort="full", coefficients=only_words
    )
    hedged = [value for value, near in zip(found.scores.values, found.scores.hedged, strict=True) if near]
    assert max(hedged, default=0.0) == pytest.approx(counted, abs=0.1)


@pytest.mark.parametrize(("question", "missing"), [("queen hive sleeps", False), ("bishop takes a pawn", True)])
def test_words_of_all_passages_are_no_mismatch(question: str, missing: bool) -> None:
    texts = [f"The queen of hive {at} sleeps." for at in range(40)]
    store = {key: chunk for at, text in enumerate(texts) for key, chunk in tile(f"d{at}", [text]).items()}
    hits = [SeedHit(chunk, 0.9 - at / 100) for at, chunk in enumerate(store.values())]
    made = SpanComposer(tokenizer=count_words).value_units(hits, store, query=question, token_budget=20)
    assert is_mismatched(made.scores.table) is missing


def test_hits_of_one_score_are_judged_by_their_words(only_words: Path) -> None:
    texts = [f"Pawn {at} moves." for at in range(9)] + ["Queen takes pawn.", "Queen moves on."]
    store = {key: chunk for at, text in enumerate(texts) for key, chunk in tile(f"d{at}", [text]).items()}
    made = SpanComposer(tokenizer=count_words).compose(
        [SeedHit(chunk, 1.0) for chunk in store.values()], store, query="queen", token_budget=12,
        coefficients=only_words,
    )  # fmt: skip
    assert {"d9", "d10"} <= {span.doc_id for span in made.spans}
    assert not any(unit.hedged for unit in made.trace.units)


# ---- which hits are the nearest that fit


def hedged(texts: dict[str, list[str]], hits: list[tuple[str, int]], coefficients: Path, **said: Any) -> set[str]:
    """Return the texts of the units that count for being near; hits come best first, two favoured ones behind them."""
    store = {key: chunk for name, parts in {**texts, **FAVOURED}.items() for key, chunk in tile(name, parts).items()}
    keys = [*hits, *((name, 0) for name in FAVOURED)]
    composed = SpanComposer(tokenizer=count_words).compose(
        [SeedHit(store[key], 0.9 - at / 10) for at, key in enumerate(keys)],
        store,
        query="bishop",
        coefficients=coefficients,
        boosts=favoured,
        **{"effort": "full", **said},
    )
    plain = [unit for unit in composed.trace.units if unit.probability < 0.2]
    for unit in plain:
        assert unit.hedged is (unit.value > 0.2)
    return {unit.beginning for unit in plain if unit.hedged}


LEAVES = {"a": ["One two three four."], "b": ["Five six seven eight."], "c": ["Nine ten eleven twelve."]}
NEAR = [("a", 0), ("b", 0), ("c", 0)]


def test_a_hit_that_melts_into_the_chunk_before_it_is_near(only_words: Path) -> None:
    texts = {"d": ["Alpha beta gamma ", "delta epsilon zeta."]}
    found = hedged(texts, [("d", 1)], only_words, token_budget=20)
    assert found == {"Alpha beta gamma delta epsilon zeta."}


def test_what_is_excluded_takes_no_room_from_the_nearest(only_words: Path) -> None:
    assert hedged(LEAVES, NEAR, only_words, token_budget=8) == {LEAVES["a"][0], LEAVES["b"][0]}
    found = hedged(LEAVES, NEAR, only_words, token_budget=8, exclude=[("a", 0, 100)])
    assert found == {LEAVES["b"][0], LEAVES["c"][0]}


def test_what_is_pinned_leaves_less_room_for_the_nearest(only_words: Path) -> None:
    pinned = tile("a", LEAVES["a"])["a", 0]
    found = hedged(LEAVES, NEAR, only_words, token_budget=16, pinned=[pinned])
    assert found == {LEAVES["b"][0], LEAVES["c"][0]}
    found = hedged(LEAVES, NEAR, only_words, token_budget=11, pinned=[pinned])
    assert found == {LEAVES["b"][0]}


def test_a_document_is_near_up_to_its_cap(only_words: Path) -> None:
    texts = {"a": ["One two three four. ", "Five six seven eight."], "b": LEAVES["c"]}
    hits = [("a", 0), ("a", 1), ("b", 0)]
    found = hedged(texts, hits, only_words, token_budget=9, max_tokens_per_document=4)
    assert found == {"One two three four.", "Nine ten eleven twelve."}


@pytest.mark.parametrize(("max_spans", "near"), [(1, "a"), (2, "ab"), (None, "abc")])
def test_no_more_hits_are_near_than_spans_may_be_shown(only_words: Path, max_spans: int | None, near: str) -> None:
    found = hedged(LEAVES, NEAR, only_words, token_budget=40, max_spans=max_spans)
    assert found == {LEAVES[name][0] for name in near}


def test_hits_side_by_side_are_one_span(only_words: Path) -> None:
    texts = {"a": ["One two three four. ", "Five six seven eight."], "b": LEAVES["c"]}
    found = hedged(texts, [("a", 1), ("b", 0), ("a", 0)], only_words, token_budget=40, max_spans=1)
    assert found == {"One two three four.", "Five six seven eight."}


def test_copies_take_room_once(only_words: Path) -> None:
    copied = ["Alpha beta gamma delta epsilon zeta eta theta."]
    texts = {"a": copied, "b": copied, "c": LEAVES["a"]}
    hits = [("a", 0), ("b", 0), ("c", 0)]
    assert hedged(texts, hits, only_words, token_budget=12) == {copied[0], LEAVES["a"][0]}
    assert hedged(texts, hits, only_words, token_budget=12, dedupe_overlaps=False) == {copied[0], LEAVES["a"][0]}
    assert hedged(texts, hits, only_words, token_budget=16) == {copied[0], LEAVES["a"][0]}
    assert hedged(texts, hits, only_words, token_budget=16, dedupe_overlaps=False) == {copied[0]}


@pytest.mark.parametrize("effort", ["full", "standard", "lean"])
def test_the_nearest_may_fill_the_budget_at_every_effort(effort: str, only_words: Path) -> None:
    texts = {name: [f"{name}1 {name}2 {name}3 {name}4."] for name in "abcd"}
    hits = [(name, 0) for name in "abcd"]
    found = hedged(texts, hits, only_words, token_budget=16, effort=effort)
    assert found == {text for [text] in texts.values()}


@pytest.mark.parametrize(
    ("score", "effort", "counted"), [(9.0, "standard", False), (9.0, "full", True), (0.9, "standard", True)]
)
def test_hits_of_words_alone_are_no_guide_where_the_words_are_missing(
    score: float, effort: str, counted: bool, only_words: Path
) -> None:
    store = {**tile("pawn", ["Pawn moves."]), **tile("king", ["King waits."]), **tile("rook", FAVOURED["rook"])}
    hits = [SeedHit(chunk, score - at / 10) for at, chunk in enumerate(store.values())]
    made = SpanComposer(tokenizer=count_words).compose(
        hits, store, query="bishop castle", coefficients=only_words, boosts=favoured, effort=effort
    )
    assert any(unit.hedged for unit in made.trace.units) is counted


def test_each_hit_list_has_its_share_of_the_room() -> None:
    store = {key: chunk for name in "abcd" for key, chunk in tile(name, [f"{name}1 {name}2 {name}3 {name}4."]).items()}
    rooms: list[int] = []
    score = Scorer.score

    def noted(self: Scorer, *args: Any) -> Scores:
        rooms.append(next(arg.tokens for arg in args if isinstance(arg, Capacity)))
        return score(self, *args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Scorer, "score", noted)
        lists = [[SeedHit(store[name, 0], 0.9)] for name in "ab"]
        SpanComposer(tokenizer=count_words).compose(lists, store, query="a1", quotas=(1.0, 3.0), token_budget=20)
    assert rooms == [20, 5, 15]
