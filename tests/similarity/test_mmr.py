from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from similarity.test_near_duplicates import alike, similarity
from support.strategies import make_chunk

from retrivex import RetrivexError, SeedHit
from retrivex.errors import PassageError
from retrivex.similarity.mmr import diversify, pick_diverse
from retrivex.similarity.pairwise import EmbeddingSimilarity, TextSimilarity

scored = st.tuples(alike(), st.data()).map(
    lambda drawn: [
        {"id": at, "text": text, "score": drawn[1].draw(st.sampled_from([-1.0, 0.1, 0.5, 0.9]))}
        | ({"source_id": drawn[1].draw(st.sampled_from("xy"))} if drawn[1].draw(st.booleans()) else {})
        for at, text in enumerate(drawn[0])
    ]
)


def ids(passages: list[dict[str, Any]]) -> list[int]:
    return [passage["id"] for passage in passages]


def by_definition(passages: list[dict[str, Any]], weight: float, penalty: float) -> list[int]:
    scores = [one["score"] for one in passages]
    low, high = (min(scores), max(scores)) if scores else (0, 0)
    left = list(range(len(passages)))
    picked: list[int] = []

    def marginal(i: int) -> float:
        relevance = (scores[i] - low) / (high - low) if high > low else 1.0
        near = max((similarity(passages[i]["text"], passages[j]["text"]) for j in picked), default=0.0)
        source = passages[i].get("source_id")
        same = sum(passages[j].get("source_id") == source for j in picked) if source else 0
        return weight * relevance - (1 - weight) * near - penalty * same

    while left:
        picked.append(max(left, key=marginal))
        left.remove(picked[-1])
    return picked


@given(scored, st.sampled_from([0.0, 0.5, 0.7, 1.0]), st.sampled_from([0.0, 0.25]))
def test_the_same_as_the_definition(passages: list[dict[str, Any]], weight: float, penalty: float) -> None:
    made = diversify(passages, relevance_weight=weight, source_penalty=penalty)
    assert ids(made) == by_definition(passages, weight, penalty)


@given(scored)
def test_relevance_alone_is_the_order_by_score(passages: list[dict[str, Any]]) -> None:
    made = diversify(passages, relevance_weight=1.0, source_penalty=0.0)
    assert ids(made) == [one["id"] for one in sorted(passages, key=lambda one: -one["score"])]


REPEATED = [
    {"id": 0, "text": "Bees sleep at night.", "score": 0.9, "source_id": "a", "embedding": [1.0, 0.0]},
    {"id": 1, "text": "Bees sleep at night!", "score": 0.8, "source_id": "b", "embedding": [0.0, 1.0]},
    {"id": 2, "text": "A hive has one queen.", "score": 0.6, "source_id": "a", "embedding": [1.0, 0.1]},
]


def test_what_repeats_a_better_passage_comes_later() -> None:
    assert ids(diversify(REPEATED, relevance_weight=0.5, source_penalty=0)) == [0, 2, 1]


def test_a_source_that_was_picked_loses() -> None:
    assert ids(diversify(REPEATED, relevance_weight=1.0, source_penalty=1.0)) == [0, 1, 2]
    other = [{**one, "source_id": "ab"[one["id"] == 2]} for one in REPEATED]
    assert ids(diversify(other, relevance_weight=1.0, source_penalty=1.0)) == [0, 2, 1]
    assert ids(diversify(other, relevance_weight=1.0, source_penalty=1.0, source="none")) == [0, 1, 2]


def test_embeddings_take_the_place_of_texts() -> None:
    made = diversify(REPEATED, relevance_weight=0.5, source_penalty=0, embedding="embedding")
    assert ids(made) == [0, 1, 2]


def test_only_the_best_are_picked_from() -> None:
    assert ids(diversify(REPEATED, relevance_weight=0.5, source_penalty=0, most=2)) == [0, 1, 2]


def test_seed_hits_are_of_their_documents() -> None:
    hits = [
        SeedHit(make_chunk(doc_id, at, f"{at} {doc_id * 9}", embedding=[1.0, float(at)]), score)
        for doc_id, at, score in (("d", 0, 0.9), ("d", 1, 0.8), ("e", 2, 0.7))
    ]
    assert diversify(hits, source_penalty=0.5) == [hits[0], hits[2], hits[1]]
    assert sorted(hit.key for hit in diversify(hits, embedding="embedding")) == [("d", 0), ("d", 1), ("e", 2)]


def test_scores_as_far_apart_as_floats_go() -> None:
    passages = [{"text": str(at), "score": score} for at, score in enumerate((-1.7e308, 1.7e308, 0.0))]
    assert [one["text"] for one in diversify(passages, relevance_weight=1.0)] == ["1", "2", "0"]


def test_nothing_to_pick() -> None:
    assert diversify([]) == diversify([], embedding="embedding") == []


@given(alike())
def test_likeness_of_texts_is_their_jaccard_similarity(texts: list[str]) -> None:
    measured = TextSimilarity(texts)
    for at, text in enumerate(texts):
        found = measured.of(at)
        for other, value in enumerate(found.tolist()):
            assert value == similarity(text, texts[other])


def test_embeddings_without_a_direction_are_like_none() -> None:
    found = EmbeddingSimilarity(np.array([[0.0, 0.0], [1e-200, 0.0], [3.0, 0.0], [-1.0, 0.0]]))
    assert found.of(0).tolist() == [1, 0, 0, 0]
    assert found.of(1).tolist() == pytest.approx([0, 1, 1, 0])


@pytest.mark.parametrize(
    "options",
    [
        {"relevance_weight": 1.1}, {"relevance_weight": math.nan}, {"relevance_weight": "x"},
        {"relevance_weight": True}, {"source_penalty": 10**400},
        {"source_penalty": -1}, {"source_penalty": None}, {"source_penalty": math.inf}, {"most": 0},
    ],
)  # fmt: skip
def test_settings_out_of_range(options: dict[str, Any]) -> None:
    with pytest.raises(RetrivexError, match=next(iter(options))):
        diversify(REPEATED, **options)


@pytest.mark.parametrize("bad", [None, [1.0], [1.0, math.nan], "ab", 3.0, [[1.0, 0.0]], []])
def test_every_passage_needs_an_embedding_where_they_are_compared(bad: Any) -> None:
    with pytest.raises(PassageError, match="passage 1 has"):
        diversify([REPEATED[0], {**REPEATED[1], "embedding": bad}], embedding="embedding")


def test_passages_need_scores() -> None:
    with pytest.raises(PassageError, match="passage 0 has None as its score"):
        diversify([{"text": "Bees."}])


@pytest.mark.parametrize("passages", [{"text": 1}, {"text": "Bees.", "score": 1.0}, "one text", 7])
def test_passages_are_a_list(passages: Any) -> None:
    with pytest.raises(PassageError, match="give a list"):
        diversify(passages)


@pytest.mark.parametrize("source", [["guide"], {"name": "guide"}, ("guide", [1])])
def test_a_source_is_one_value(source: Any) -> None:
    with pytest.raises(PassageError, match=r"passage 1 has .*guide.* as its source"):
        diversify([REPEATED[0], {**REPEATED[1], "source_id": source}])


def fails(passage: Any) -> Any:
    raise KeyError("nothing")


@pytest.mark.parametrize("field", ["text", "score", "source", "embedding"])
def test_a_reader_that_fails_is_named(field: str) -> None:
    with pytest.raises(PassageError, match=r"of passage 0 cannot be read: KeyError\('nothing'\); a reader must return"):
        diversify(REPEATED, **{field: fails})


@pytest.mark.parametrize("wrong", [
    {"relevance": None}, {"relevance": [1.0, math.nan]}, {"relevance": [10**400, 1]}, {"relevance_weight": None},
    {"source_penalty": "x"}, {"sources": ["a"]}, {"similarity": None},
], ids=repr)  # fmt: skip
def test_picks_need_numbers(wrong: dict[str, Any]) -> None:
    good: dict[str, Any] = {
        "relevance": [1.0, 2.0],
        "similarity": TextSimilarity(["Bees", "Ants"]),
        "relevance_weight": 0.5,
    }
    with pytest.raises(RetrivexError, match=f"{next(iter(wrong))}"):
        pick_diverse(**good | wrong)


def test_a_penalty_may_be_any_number() -> None:
    assert ids(diversify(REPEATED, source_penalty=Fraction(1, 4))) == ids(diversify(REPEATED, source_penalty=0.25))  # type: ignore[arg-type]
