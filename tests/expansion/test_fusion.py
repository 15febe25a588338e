"""Reciprocal rank fusion."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex.errors import HitError
from retrivex.expansion.fusion import reciprocal_rank_fusion
from retrivex.model.chunk import Chunk, ChunkMetadata
from retrivex.model.hit import SeedHit


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
