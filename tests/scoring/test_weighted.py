"""The published formula, by hand, with its edge cases."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import bare, compose, hits_of, make_chunk, make_store, retrieve, sentences

from retrivex.expansion.continuity import neighbour_continuity
from retrivex.expansion.seeds import WORST_SEED
from retrivex.scoring.weighted import adjacency
from retrivex.text.word_overlap import SignatureCache

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "scores.json").read_text(encoding="utf-8"))
NINE = bare("d", sentences("d", 9))


@pytest.mark.parametrize("case", GOLDEN["adjacency"]["cases"], ids=lambda case: case["hand"])
def test_adjacency_by_hand(case: dict[str, Any]) -> None:
    assert adjacency(case["chunks"], case["seeds"], case["decay"]) == pytest.approx(case["value"], abs=1e-6)


@pytest.mark.parametrize("case", GOLDEN["cosine"]["cases"], ids=lambda case: case["hand"])
def test_cosine_by_hand(case: dict[str, Any]) -> None:
    chunks = [make_chunk("d", i, "text", embedding=case[side]) for i, side in enumerate(("left", "right"))]
    (flow,), _ = neighbour_continuity(chunks, SignatureCache())
    assert flow.value == pytest.approx(case["value"], abs=1e-12)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=9), st.lists(st.integers(0, 30), max_size=4), st.floats(0, 5))
def test_adjacency_is_a_mean_and_stays_between_0_and_1(chunks: list[int], seeds: list[int], decay: float) -> None:
    seeds.sort()
    value = adjacency(chunks, seeds, decay)
    nearest = [min([abs(chunk - seed) for seed in seeds], default=math.inf) for chunk in chunks]
    assert seeds == [] or value == sum([math.exp(-decay * distance) for distance in nearest]) / len(chunks)
    assert 0.0 <= value <= 1.0
    assert adjacency(chunks * 2, seeds, decay) == pytest.approx(value)
    assert (value == 0.0) or seeds


def test_a_span_score_is_the_weighted_sum_of_its_factors() -> None:
    chunks = [make_chunk("d", i, f"part {i}", embedding=vector) for i, vector in enumerate([[1.0, 0.0], [0.6, 0.8]])]
    store = make_store(*chunks)
    (span,) = retrieve(hits_of(store, {0: 0.9}), store, run_cost=0.0)
    assert span.chunk_ids == [0, 1]
    assert span.sim_score == 1.0  # the only hit is the best hit
    assert span.adjacency_score == pytest.approx((1 + math.exp(-0.7)) / 2)
    assert span.continuity_score == pytest.approx(0.6)
    assert span.parent_bonus == 0.0
    assert span.score == pytest.approx(1.0 * 1.0 + 0.6 * (1 + math.exp(-0.7)) / 2 + 0.2 * 0.6)


def test_a_single_chunk_has_neutral_continuity() -> None:
    (span,) = retrieve(hits_of(NINE, {4: 1.0}), NINE, window=0)
    assert span.continuity_score == 0.5


def test_negative_continuity_counts_as_0() -> None:
    store = make_store(*(make_chunk("d", i, f"p{i}", embedding=[1.0 if i else -1.0]) for i in range(2)))
    (span,) = retrieve(hits_of(store, {0: 1.0}), store)
    assert span.continuity_score == 0.0


def test_a_whole_parent_gives_the_bonus() -> None:
    store = make_store(*(make_chunk("d", i, f"part {i}", 7 * i, parent_id="p") for i in range(2)))
    hits = hits_of(store, {0: 1.0})
    (whole,) = retrieve(hits, store, {"p": "part 0 part 1"})
    assert (whole.text, whole.parent_bonus) == ("part 0 part 1", 1.0)
    (half,) = retrieve(hits, store, {"p": "part 0 part 1"}, window=0)
    assert half.parent_bonus == 0.0
    assert whole.score > 0.1


def values(scores: dict[int, float], store: Any = NINE, **said: Any) -> dict[int, float]:
    notes = compose(hits_of(NINE, scores), store, **said).trace.notes
    return {note.chunk_id: note.value for note in notes if note.value is not None}


def test_a_neighbours_value_falls_with_its_distance() -> None:
    made = values({4: 1.0})
    step = math.exp(-0.7) * (1 - 0.2)  # sentences share no words: continuity 0
    assert made[4] == 1.0
    assert made[5] == made[3] == pytest.approx(0.6 * step)
    assert made[6] == made[2] == pytest.approx(0.6 * step * step)


def test_the_worst_hit_is_still_worth_more_than_its_neighbours() -> None:
    made = values({1: 1.0, 7: 0.0}, window=1)
    assert made[7] == pytest.approx(WORST_SEED)
    assert made[6] < made[7] < made[1] == 1.0


def test_broken_continuity_lowers_a_neighbours_value() -> None:
    vectors = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]]
    store = make_store(*(make_chunk("d", i, f"p{i}", embedding=vectors[(i - 3) % 3]) for i in range(9)))
    notes = {note.chunk_id: note for note in compose(hits_of(store, {3: 1.0}), store, window=1).trace.notes}
    assert notes[4].value is not None
    assert notes[2].value is not None
    assert notes[4].value > notes[2].value


def test_equal_scores_make_equal_values() -> None:
    made = values({1: 0.3, 7: 0.3}, window=0)
    assert made == {1: 1.0, 7: 1.0}


def test_without_weights_all_chunks_are_worth_the_same() -> None:
    made = values({4: 1.0}, weights={"similarity": 0.0, "adjacency": 0.0})
    assert set(made.values()) == {1.0}


def test_likeness_with_the_question_decides_between_neighbours() -> None:
    vectors = {3: [1.0, 0.0], 5: [0.0, 1.0]}
    store = make_store(
        *(make_chunk("d", i, f"p{i}", embedding=np.array(vectors.get(i, [0.7, 0.7]))) for i in range(9))
    )  # fmt: skip
    made = compose(hits_of(store, {4: 1.0}), store, window=1, query_embedding=[1.0, 0.1])
    value = {note.chunk_id: note.value for note in made.trace.notes}
    assert value[3] is not None
    assert value[5] is not None
    assert value[3] > value[5]


def test_reciprocal_rank_fusion_by_hand() -> None:
    case = GOLDEN["reciprocal_rank_fusion"]
    store = make_store(*(make_chunk(name, 0, f"text of {name}") for name in "ABCD"))
    lists = [
        [hits_of(store, {0: 9.0 - rank}, name)[0] for rank, name in enumerate(names)] for names in case["rankings"]
    ]
    made = compose(lists, store, window=0, ordering_strategy="score_desc")
    assert [span.doc_id for span in made.spans] == list(case["scores"])
