"""Fusion by ranks and by relative scores."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex.errors import HitError
from retrivex.expansion.fusion import fuse, reciprocal_rank_fusion, relative_score_fusion
from retrivex.model.chunk import Chunk, ChunkMetadata
from retrivex.model.hit import SeedHit

HALVES = (0.5, 0.5)


def hit(name: str, score: float = 1.0) -> SeedHit:
    return SeedHit(Chunk(f"text of {name}", ChunkMetadata(name, 0)), score)


rankings = st.lists(st.lists(st.sampled_from("abcdef"), unique=True).map(lambda names: [hit(n) for n in names]))


def test_scores_are_sums_of_reciprocal_ranks() -> None:
    fused = reciprocal_rank_fusion([[hit("a"), hit("b")], [hit("b"), hit("c")]], k=60)
    assert [(item.chunk.metadata.doc_id, item.similarity_score) for item in fused] == [
        ("b", pytest.approx(1 / 62 + 1 / 61)),
        ("a", pytest.approx(1 / 61)),
        ("c", pytest.approx(1 / 62)),
    ]


@given(rankings, st.randoms(use_true_random=False), st.integers(0, 100))
def test_order_of_rankings_does_not_matter_and_nothing_is_lost(
    lists: list[list[SeedHit]], shuffler: Random, k: int
) -> None:
    fused = reciprocal_rank_fusion(lists, k)
    assert {item.key for item in fused} == {item.key for ranking in lists for item in ranking}
    shuffled = list(lists)
    shuffler.shuffle(shuffled)
    again = reciprocal_rank_fusion(shuffled, k)
    assert [item.key for item in again] == [item.key for item in fused]
    assert fused == sorted(fused, key=lambda item: (-item.similarity_score, item.key))


def test_scores_of_the_hits_play_no_part() -> None:
    loud = reciprocal_rank_fusion([[hit("a", 99.0), hit("b", -3.0)]])
    assert [item.similarity_score for item in loud] == [1 / 61, 1 / 62]


def test_a_chunk_keeps_the_object_of_the_first_ranking() -> None:
    first, second = hit("a"), hit("a")
    assert reciprocal_rank_fusion([[first], [second]])[0].chunk is first.chunk


def test_a_repeated_chunk_counts_at_its_best_rank() -> None:
    fused = reciprocal_rank_fusion([[hit("a"), hit("a"), hit("b")]])
    assert [item.similarity_score for item in fused] == [1 / 61, 1 / 62]


def test_equal_scores_are_ordered_by_key() -> None:
    fused = reciprocal_rank_fusion([[hit("b")], [hit("a")]])
    assert [item.chunk.metadata.doc_id for item in fused] == ["a", "b"]


def test_negative_k_is_refused() -> None:
    with pytest.raises(HitError, match="k of reciprocal rank fusion is -1: it must be at least 0"):
        reciprocal_rank_fusion([], k=-1)


scored = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.floats(allow_nan=False, allow_infinity=False)),
    unique_by=lambda pair: pair[0],
).map(lambda pairs: [hit(name, score) for name, score in pairs])


def scores(fused: list[SeedHit]) -> dict[str, float]:
    return {item.chunk.metadata.doc_id: item.similarity_score for item in fused}


def test_relative_scores_by_hand() -> None:
    words = [hit("a", 8.0), hit("b", 7.0), hit("d", 4.0)]
    meaning = [hit("b", 0.75), hit("c", 0.5), hit("a", 0.25)]
    fused = relative_score_fusion([words, meaning], (0.25, 0.75))
    assert [(item.chunk.metadata.doc_id, item.similarity_score) for item in fused] == [
        ("b", 0.25 * 0.75 + 0.75),
        ("c", 0.75 * 0.5),
        ("a", 0.25),
        ("d", 0.0),
    ]


def test_the_best_of_one_list_is_above_what_is_mediocre_in_both() -> None:
    """Reciprocal ranks put all that both lists hold above the best that one holds."""
    middling = [hit(f"m{at:02}", 40.0 - at) for at in range(30)]
    lists = [[hit("best", 90.0), *middling], middling]
    assert reciprocal_rank_fusion(lists)[30].key == ("best", 0)
    assert scores(relative_score_fusion(lists, HALVES))["best"] == 0.5
    assert relative_score_fusion(lists, HALVES)[8].key == ("best", 0)


@given(scored, scored, st.floats(0, 1))
def test_relative_scores_lose_nothing_and_lie_between_0_and_the_weights(
    first: list[SeedHit], second: list[SeedHit], weight: float
) -> None:
    fused = relative_score_fusion([first, second], (weight, 1 - weight))
    assert {item.key for item in fused} == {item.key for ranking in (first, second) for item in ranking}
    assert all(0 <= item.similarity_score <= 1 + 1e-12 for item in fused)
    assert fused == sorted(fused, key=lambda item: (-item.similarity_score, item.key))
    assert relative_score_fusion([first[::-1], second], (weight, 1 - weight)) == fused
    swapped = relative_score_fusion([second, first], (1 - weight, weight))
    assert scores(swapped) == scores(fused)


@given(st.lists(st.integers(0, 1000), unique=True, max_size=6), st.sampled_from([0.25, 0.5, 1.0]))
def test_one_list_keeps_its_order_where_the_other_is_empty(given_scores: list[int], weight: float) -> None:
    ranking = [hit(name, float(score)) for name, score in zip("abcdef", given_scores, strict=False)]
    fused = relative_score_fusion([ranking, []], (weight, 1.0))
    assert [item.key for item in fused] == [item.key for item in sorted(ranking, key=lambda one: -one.similarity_score)]
    assert max([item.similarity_score for item in fused], default=weight) == weight


@pytest.mark.parametrize("score", [3.0, 0.0, -2.0])
def test_one_hit_or_equal_scores_all_count_as_the_best(score: float) -> None:
    for names in ("a", "abc"):
        fused = relative_score_fusion([[hit(name, score) for name in names], []], HALVES)
        assert scores(fused) == dict.fromkeys(names, 0.5)
    assert relative_score_fusion([[], []], HALVES) == []


def test_a_repeated_chunk_counts_at_its_best_score() -> None:
    fused = relative_score_fusion([[hit("a", 1.0), hit("a", 5.0), hit("b", 3.0), hit("c", 1.0)]], (1.0,))
    assert scores(fused) == {"a": 1.0, "b": 0.5, "c": 0.0}


def test_equal_relative_scores_are_ordered_by_key() -> None:
    fused = relative_score_fusion([[hit("b")], [hit("a")]], HALVES)
    assert [item.chunk.metadata.doc_id for item in fused] == ["a", "b"]


def test_relative_scores_need_a_weight_a_ranking() -> None:
    with pytest.raises(HitError, match="2 rankings with 1 weights: give each ranking its weight"):
        relative_score_fusion([[], []], (1.0,))
    for wrong in (-1.0, float("nan"), float("inf")):
        with pytest.raises(HitError, match="each must be a finite number of at least 0"):
            relative_score_fusion([[hit("a")]], (wrong,))


# ---- fuse


@given(rankings, st.data())
def test_weights_count_ranks_as_often(lists: list[list[SeedHit]], data: st.DataObject) -> None:
    weights = data.draw(st.lists(st.integers(0, 4), min_size=len(lists), max_size=len(lists)))
    repeated = [ranking for ranking, weight in zip(lists, weights, strict=True) for _ in range(weight)]
    weighted = {item.key: item.similarity_score for item in fuse(lists, weights)}
    expected = {item.key: item.similarity_score for item in fuse(repeated)}
    assert weighted == pytest.approx({key: expected.get(key, 0.0) for key in weighted})
    assert fuse(lists) == reciprocal_rank_fusion(lists)


def test_fuse_goes_by_ranks_or_by_scores() -> None:
    lists = [[hit("a", 9.0), hit("b", 8.9)], [hit("b", 0.8), hit("a", 0.1)]]
    assert [item.chunk.metadata.doc_id for item in fuse(lists, (3, 1))] == ["a", "b"]
    assert [item.chunk.metadata.doc_id for item in fuse(lists, (1, 3))] == ["b", "a"]
    assert fuse(lists, HALVES, by="score") == relative_score_fusion(lists, HALVES)


@pytest.mark.parametrize(
    ("weights", "by", "message"),
    [
        ((1,), "rank", "2 rankings with 1 weights: give each ranking its weight"),
        ((1, -1), "rank", r"weights are \(1, -1\): each must be a finite number of at least 0"),
        ((1, "2"), "score", r"weights are \(1, '2'\): each must be a finite number of at least 0"),
        (None, "votes", "by is 'votes': choose rank or score"),
    ],
)
def test_fuse_refuses_what_is_no_weight(weights: object, by: object, message: str) -> None:
    with pytest.raises(HitError, match=message):
        fuse([[hit("a")], [hit("b")]], weights, by)  # type: ignore[arg-type]
