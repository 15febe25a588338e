"""What is known of each unit: finite, and the same whatever scale, order or language the hits come in."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from fuzz.cases import Case
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.properties import try_examples
from support.strategies import bare, cases, count_words, hits_of, make_chunk, make_store, tile

from retrivex import SeedHit, SpanComposer
from retrivex.composer.score import ScoredCandidates
from retrivex.scoring.features import NAMES

QUESTION = "What do bees live on in winter?"
TEXTS = [
    "A hive has one queen. She lays many eggs a day. ",
    "Bees form a cluster in winter. They live on honey until spring. ",
    "Drones leave the hive in summer. They do not return. ",
    "Varroa is a mite. It weakens the colony in winter. ",
]
STORE = tile("d", TEXTS)


def valued(hits: Any, store: Any = STORE, query: str = QUESTION, **said: Any) -> ScoredCandidates:
    return SpanComposer(tokenizer=count_words).value_units(hits, store, query=query, **said)


def features(hits: Any, store: Any = STORE, query: str = QUESTION, **said: Any) -> NDArray[np.float64]:
    """Of the candidates, shape (n, f), after the checks that always hold."""
    table = valued(hits, store, query, **said).scores.table
    assert table is not None
    assert table.values.shape == (len(table.units), len(NAMES))
    assert np.isfinite(table.values).all()
    return table.values


def column(values: NDArray[np.float64], name: str) -> list[float]:
    return [float(value) for value in values[:, NAMES.index(name)]]


def test_names_are_distinct() -> None:
    assert len(set(NAMES)) == len(NAMES)


@try_examples(600)
@given(cases())
def test_features_are_finite_whatever_comes(case: Case) -> None:
    composer = SpanComposer(tokenizer=count_words)
    options = {**case.options, "scoring": "calibrated"}
    query = case.query or QUESTION
    made = composer.value_units(
        case.hits, case.store, query=query, query_embedding=case.query_embedding, scope=case.scope, **options
    )
    table = made.scores.table
    assert table is not None
    assert table.values.shape == (len(table.units), len(NAMES))
    assert np.isfinite(table.values).all()
    assert len(made.scores.probabilities) == len(table.units)


@pytest.mark.parametrize("query", [QUESTION, "?!", "xylophone", "蜜蜂", "x" * 5000])
@pytest.mark.parametrize("embedded", ["none", "some", "all", "odd", "equal"])
def test_little_is_known(query: str, embedded: str) -> None:
    vectors: dict[str, list[Any]] = {
        "none": [None] * 4,
        "some": [[1.0, 0.0], None, [0.0, 1.0], None],
        "all": [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [-1.0, 0.1]],
        "odd": [[0.0, 0.0], [float("nan"), 1.0], [1.0, 2.0, 3.0], "no vector"],
        "equal": [[1.0, 1.0]] * 4,
    }
    chunks = [make_chunk("d", i, text, embedding=vectors[embedded][i]) for i, text in enumerate(TEXTS)]
    store = make_store(*chunks)
    for scores in ({0: 1.0}, {0: 0.5, 2: 0.5}, {0: 3.0, 3: -1e300}):
        features(hits_of(store, scores), store, query, query_embedding=[1.0, 0.2])
        features(hits_of(store, scores), store, query, window=0)


def test_one_unit() -> None:
    store = bare("d", ["Bees."])
    values = features(hits_of(store, {0: 0.3}), store)
    assert values.shape[0] == 1
    assert column(values, "similarity") == [0.0]
    assert column(values, "is a hit") == [1.0]


def test_no_hits_are_no_rows() -> None:
    assert features([]).shape == (0, len(NAMES))


@given(st.floats(0.1, 100), st.floats(-50, 50))
def test_the_scale_of_scores_does_not_matter(scale: float, shift: float) -> None:
    plain = {0: 0.9, 2: 0.4, 3: 0.1}
    moved = {key: score * scale + shift for key, score in plain.items()}
    np.testing.assert_allclose(features(hits_of(STORE, plain)), features(hits_of(STORE, moved)), atol=1e-6)


@given(st.randoms(use_true_random=False))
def test_the_order_of_equal_hits_does_not_matter(rng: random.Random) -> None:
    hits = hits_of(STORE, dict.fromkeys(range(4), 0.5))
    shuffled = rng.sample(hits, len(hits))
    np.testing.assert_array_equal(features(hits), features(shuffled))


def test_words_of_the_question_tell_units_apart() -> None:
    values = features(hits_of(STORE, dict.fromkeys(range(4), 0.5)))
    assert int(np.argmax(column(values, "words"))) == 1
    assert int(np.argmax(column(values, "share of words"))) == 1
    nothing = features(hits_of(STORE, dict.fromkeys(range(4), 0.5)), query="xylophone")
    assert set(column(nothing, "words")) == {0.0}


def test_a_word_counts_for_more_in_a_shorter_unit() -> None:
    texts = ["Honey keeps.", f"Honey {'and more of other matters ' * 8}keeps.", "Drones leave."]
    store = make_store(*(make_chunk("abc"[at], 0, text, 0) for at, text in enumerate(texts)))
    hits = [SeedHit(chunk, 1.0) for chunk in store.values()]
    short, long, _ = column(features(hits, store, "honey", window=0), "words")
    assert short > long


def test_similarity_is_of_all_candidates_where_they_are_embedded() -> None:
    vectors = [[1.0, 0.0], [0.0, 1.0], [0.2, 1.0], [1.0, 0.1]]
    store = make_store(*(make_chunk("d", i, text, embedding=vectors[i]) for i, text in enumerate(TEXTS)))
    values = features(hits_of(store, {0: 0.9}), store, query_embedding=[0.0, 1.0], window=3)
    assert int(np.argmax(column(values, "similarity"))) == 1  # a neighbour, more alike than the hit
    assert int(np.argmax(column(values, "hit score"))) == 0
    without = features(hits_of(store, {0: 0.9}), store, window=3)
    assert int(np.argmax(column(without, "similarity"))) == 0


def test_a_hit_fades_with_distance() -> None:
    values = features(hits_of(STORE, {0: 0.9}), window=3)
    fading = column(values, "hit score")
    assert fading == sorted(fading, reverse=True)
    assert column(values, "chunks from a hit") == [0.0, 1.0, 2.0, 3.0]
    assert column(values, "is a hit") == [1.0, 0.0, 0.0, 0.0]


def test_links_count_as_a_way_to_a_chunk() -> None:
    store = {**bare("d", TEXTS[:1], links=(("e", 0),)), **bare("e", TEXTS[1:2])}
    values = features([SeedHit(store["d", 0], 1.0)], store, follow_links=1)
    assert column(values, "chunks from a hit") == [0.0, 0.0]


def test_a_hit_inside_another_chunk_raises_what_stands_around_it() -> None:
    sentences = [" ".join([f"{word}{at}" for at in range(40)]).capitalize() + ". " for word in ("bee", "ant", "wasp")]
    store = make_store(
        make_chunk("d", 0, "".join(sentences), 0),
        make_chunk("d", 1, sentences[0], 0),
        make_chunk("d", 2, "Moths fly at night.", len("".join(sentences))),
    )
    score = column(features(hits_of(store, {1: 0.9, 2: 0.1}), store, window=1), "hit score")
    assert len(score) == 4
    assert score == sorted(score, reverse=True)
    assert score[0] > score[2]
