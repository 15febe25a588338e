"""Hits: which scores are scores, and how hits become seeds."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import bare, compose, hits_of, make_chunk, sentences

from retrivex import Chunk, ChunkMetadata, RetrievalConfig, RetrivexError, SeedHit, SpanComposer
from retrivex.errors import HitError
from retrivex.expansion.seeds import normalise, prepare_seeds

CHUNK = make_chunk("d", 0, "Bees sleep.")
OPEN = frozenset([None])


@pytest.mark.parametrize(
    "score", [float("nan"), float("inf"), float("-inf"), None, "high", [0.5], 1j, np.complex64(0.5)]
)
def test_a_score_must_be_a_finite_number(score: Any) -> None:
    with pytest.raises(RetrivexError, match="must be a finite number"):
        SeedHit(CHUNK, score)


def test_why_a_hit_has_no_place_is_said_in_words() -> None:
    assert SeedHit(CHUNK, 0.5, "nobody numbered them").unplaced == "nobody numbered them"
    with pytest.raises(HitError, match=r"unplaced of .* is True: say in words why"):
        SeedHit(CHUNK, 0.5, unplaced=True)  # type: ignore[arg-type]


@pytest.mark.parametrize("score", [0, -0.7, 31.4, 1e300, np.float32(0.5), "0.5"])
def test_any_finite_number_is_a_score(score: Any) -> None:
    hit = SeedHit(CHUNK, score)
    assert type(hit.similarity_score) is float
    assert hit.similarity_score == float(score)


finite = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(finite, min_size=1, max_size=8), st.sampled_from(["unbounded", "cosine", "unit"]))
def test_relevance_lies_between_0_and_1_keeps_the_order_and_gives_the_best_1(scores: list[float], scale: Any) -> None:
    made = normalise(scores, RetrievalConfig(score_scale=scale))
    assert all(0.0 <= value <= 1.0 for value in made)
    assert max(made) == 1.0
    ranks = sorted(range(len(scores)), key=scores.__getitem__)
    assert all(made[a] <= made[b] for a, b in pairwise(ranks))


def test_one_hit_and_equal_scores_have_relevance_1() -> None:
    assert normalise([-3.0], RetrievalConfig()) == [1.0]
    assert normalise([0.2, 0.2], RetrievalConfig(score_scale="cosine")) == [1.0, 1.0]


def seeds_of(scores: dict[int, float], **options: Any) -> tuple[list[int], list[tuple[int, str]]]:
    store = bare("d", sentences("d", 6))
    seeds, dropped = prepare_seeds(hits_of(store, scores), RetrievalConfig(**options), OPEN)
    return [seed.key[1] for seed in seeds], [(hit.chunk_id, hit.reason) for hit in dropped]


def test_best_first_and_equal_scores_by_place() -> None:
    assert seeds_of({5: 0.1, 3: 0.9, 2: 0.9})[0] == [2, 3, 5]


def test_of_distances_the_smallest_is_best() -> None:
    assert seeds_of({0: 5.0, 1: 0.5, 2: 9.0}, score_kind="distance")[0] == [1, 0, 2]


@pytest.mark.parametrize(
    ("options", "good", "bad"),
    [
        ({"score_scale": "cosine"}, [-1.0, 0.0, 1.0000001], [-1.2, 1.2]),
        ({"score_scale": "unit"}, [0.0, 1.0], [-0.1, 1.1]),
        ({"score_scale": "cosine", "score_kind": "distance"}, [0.0, 2.0], [-0.1, 2.1]),
        ({}, [-1e308, 1e308], []),
    ],
)
def test_scores_outside_their_declared_range_are_dropped_and_listed(
    options: dict[str, Any], good: list[float], bad: list[float]
) -> None:
    seeds, dropped = seeds_of(dict(enumerate([*good, *bad])), **options)
    assert sorted(seeds) == list(range(len(good)))
    assert sorted(dropped) == [(len(good) + i, "out_of_scale") for i in range(len(bad))]


def test_a_dropped_hit_carries_the_score_its_retriever_gave() -> None:
    store = bare("d", sentences("d", 3))
    made = compose(hits_of(store, {0: 1.0, 1: 7.5, 2: 3.0}), store, k=1, window=0, score_kind="distance")
    assert {hit.chunk_id: hit.similarity_score for hit in made.dropped} == {1: 7.5, 2: 3.0}


def test_hits_beyond_k_are_listed() -> None:
    assert seeds_of({0: 3.0, 1: 2.0, 2: 1.0}, k=2) == ([0, 1], [(2, "beyond_k")])


def test_a_hit_twice_counts_once_with_its_better_score() -> None:
    hits = [SeedHit(CHUNK, 0.2), SeedHit(CHUNK, 0.8)]
    seeds, dropped = prepare_seeds(hits, RetrievalConfig(), OPEN)
    assert [(seed.key, seed.score) for seed in seeds] == [(("d", 0), 0.8)]
    assert dropped == []


@pytest.mark.parametrize("nested", [False, True])
def test_the_same_id_with_other_text_is_listed(nested: bool) -> None:
    first, second = SeedHit(CHUNK, 0.9), SeedHit(make_chunk("d", 0, "Ants do not."), 0.8)
    seeds, dropped = prepare_seeds([[first], [second]] if nested else [first, second], RetrievalConfig(), OPEN)
    assert [seed.chunk.text for seed in seeds] == ["Bees sleep."]
    assert [hit.reason for hit in dropped] == ["duplicate_id"]


def test_what_is_no_hit_is_refused() -> None:
    with pytest.raises(RetrivexError, match=r"seed_hits\[1\] is Chunk: every hit must be a SeedHit"):
        compose([SeedHit(CHUNK, 1.0), CHUNK], {})


@pytest.mark.parametrize("score", [10**400, -(10**5000)], ids=["large", "too long to show"])
def test_a_score_that_no_float_can_hold_is_refused(score: int) -> None:
    with pytest.raises(HitError, match="must be a finite number"):
        SeedHit(CHUNK, score)


def test_a_hit_is_of_a_chunk() -> None:
    text: Any = "Bees sleep."
    with pytest.raises(HitError, match="chunk is str: give a Chunk"):
        SeedHit(text, 0.5)


@pytest.mark.parametrize("strict", [False, True])
def test_white_space_is_no_passage(strict: bool) -> None:
    texts = ["Bees sleep.", " \n\t", "\u3000"]
    store = {("d", i): Chunk(text, ChunkMetadata("d", i)) for i, text in enumerate(texts)}
    hits = [SeedHit(chunk, 0.9) for chunk in store.values()]
    for query in (None, "Do bees sleep?"):
        made = SpanComposer(RetrievalConfig(window=0, strict=strict)).compose(hits, store, query=query)
        assert [span.text for span in made.spans] == ["Bees sleep."]
        assert [(hit.chunk_id, hit.reason) for hit in made.dropped] == [(1, "no_text"), (2, "no_text")]
        alone = SpanComposer(RetrievalConfig(strict=strict)).compose(hits[1:], store, query=query)
        assert "nothing but white space" in alone.dropped[0].detail


TWINS: list[dict[str, Any]] = [
    {"timestamp": 9.0},
    {"timestamp": 1.0},
    {"prefix": "# One\n"},
    {"heading_path": ("Two",)},
    {"links": (("e", 0),)},
    {"parent_id": "p", "page": 3},
    {"custom_metadata": {"title": "Bees", "tags": {"a", "b"}}},
    {"custom_metadata": {"title": 10**5000, "by": object()}},
    {"embedding": [1.0, 0.0]},
    {"embedding": [0.0, 1.0]},
]


def _twin(embedding: Any = None, **fields: Any) -> Chunk:
    return Chunk("Bees sleep.", ChunkMetadata("d", 0, **fields), embedding)


@given(st.permutations([_twin(**fields) for fields in TWINS]))
def test_of_hits_that_are_equal_but_for_their_metadata_the_same_is_shown_in_any_order(twins: list[Chunk]) -> None:
    def made(chunks: list[Chunk]) -> Any:
        others = [make_chunk("e", 0, "Ants walk."), make_chunk("f", 0, "Wasps sting.")]
        hits = [SeedHit(chunk, 0.5) for chunk in [*chunks, *others]]
        return SpanComposer(tokenizer=len).compose(hits, {}, ordering_strategy="chronological", diversity=0.3)

    (first, *_), dropped = prepare_seeds([SeedHit(chunk, 0.5) for chunk in twins], RetrievalConfig(), OPEN)
    (again, *_), _ = prepare_seeds([SeedHit(chunk, 0.5) for chunk in twins[::-1]], RetrievalConfig(), OPEN)
    assert not dropped
    assert first.chunk is again.chunk
    assert made(twins).to_dict() == made(sorted(twins, key=id)).to_dict()
