from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from similarity.test_near_duplicates import alike, similarity
from support.strategies import make_chunk

from retrivex import RetrivexError, SeedHit, deduplicate
from retrivex.errors import PassageError
from retrivex.similarity.deduplicate import Keep, find_duplicates

QUEEN = "A hive has one queen and many workers."
NEAR = "A hive has one queen and many workers!"
ANTS = "Ants carry leaves home."

scored = st.tuples(alike(), st.data()).map(
    lambda drawn: [{"text": text, "score": drawn[1].draw(st.sampled_from([0.1, 0.5, 0.5, 0.9]))} for text in drawn[0]]
)
keeps = st.sampled_from(["highest_score", "first", "last"])


def rows(*texts_and_scores: tuple[str, float]) -> list[dict[str, Any]]:
    return [{"id": at, "text": text, "score": score} for at, (text, score) in enumerate(texts_and_scores)]


def ids(passages: list[dict[str, Any]]) -> list[int]:
    return [passage["id"] for passage in passages]


@pytest.mark.parametrize(("keep", "expected"), [("highest_score", [1, 3]), ("first", [0, 3]), ("last", [2, 3])])
def test_of_duplicates_the_one_asked_for_is_kept(keep: Keep, expected: list[int]) -> None:
    passages = rows((QUEEN, 0.5), (NEAR, 0.9), (QUEEN, 0.7), (ANTS, 0.1))
    assert ids(deduplicate(passages, 0.85, keep)) == expected


def test_the_default_leaves_out_equal_texts_alone() -> None:
    passages = rows((QUEEN, 0.5), (NEAR, 0.9), (QUEEN, 0.7))
    assert ids(deduplicate(passages)) == [1, 2]


def test_a_copy_whose_words_are_spelt_otherwise_is_a_duplicate() -> None:
    page = "The e\ufb03cient \ufb01lter saves wa-\nter in the de\u00adsert; Straße, cafe\u0301."
    copy = "The efficient filter saves water in the desert; Strasse, café."
    assert similarity(page, copy) < 0.7
    assert find_duplicates([page, copy], 0.99)[0].similarity == 1.0
    assert deduplicate([page, copy]) == [page, copy]  # 1.0 is for equal texts
    assert deduplicate([QUEEN, QUEEN.upper()], 0.5) == [QUEEN, QUEEN.upper()]


def test_of_equal_scores_the_earliest_is_kept() -> None:
    assert ids(deduplicate(rows((QUEEN, 0.5), (NEAR, 0.5)), 0.85)) == [0]


def test_passages_are_the_callers_own_and_unchanged() -> None:
    passages = rows((QUEEN, 0.5), (ANTS, 0.9))
    kept = deduplicate(passages, 0.85)
    assert all(one is other for one, other in zip(kept, passages, strict=True))


def chain() -> list[dict[str, Any]]:
    """b is like a and like c, a is not like c."""
    a, b, c = "one two three four five", "zero two three four five", "zero two three four nine"
    assert similarity(a, b) >= 0.6
    assert similarity(b, c) >= 0.6
    assert similarity(a, c) < 0.6
    return rows((a, 0.5), (b, 0.9), (c, 0.7))


def test_passages_are_compared_with_the_first_of_a_group_or_with_what_is_kept() -> None:
    # b takes the place of a, but c was compared with a
    assert ids(deduplicate(chain(), 0.6)) == [1, 2]
    assert ids(deduplicate(chain(), 0.6, compare_with="kept")) == [1]


def test_why_a_passage_is_left_out() -> None:
    found = find_duplicates(rows((QUEEN, 0.5), (NEAR, 0.9), (ANTS, 0.3), (QUEEN, 0.1)), 0.85)
    assert [(one.position, one.kept, one.like) for one in found] == [(0, 1, 1), (3, 1, 0)]
    assert [one.similarity for one in found] == [similarity(QUEEN, NEAR), 1.0]


@given(scored, st.floats(0.01, 1), keeps, st.sampled_from(["first", "kept"]))
def test_every_passage_is_kept_or_repeats_one_that_it_was_compared_with(
    passages: list[dict[str, Any]], threshold: float, keep: Keep, compare_with: Literal["first", "kept"]
) -> None:
    found = find_duplicates(passages, threshold, keep, compare_with=compare_with)
    kept = deduplicate(passages, threshold, keep, compare_with=compare_with)
    gone = {one.position for one in found}
    assert [id(one) for one in kept] == [id(one) for at, one in enumerate(passages) if at not in gone]
    for one in found:
        assert one.kept not in gone
        assert one.similarity == similarity(passages[one.position]["text"], passages[one.like]["text"]) >= threshold


@given(scored, st.floats(0.01, 0.99), keeps)
def test_compared_with_what_is_kept_no_two_kept_are_alike(
    passages: list[dict[str, Any]], threshold: float, keep: Keep
) -> None:
    texts = [one["text"] for one in deduplicate(passages, threshold, keep, compare_with="kept")]
    assert all(similarity(a, b) < threshold for at, a in enumerate(texts) for b in texts[:at])


def peer(passages: list[dict[str, Any]], threshold: float, keep: str) -> list[int]:
    """What rag-chunk-reorder 0.1.7 does, as its documentation describes it."""
    replaces: Callable[[int, int], bool] = {
        "highest_score": lambda i, j: passages[j]["score"] > passages[i]["score"],
        "first": lambda i, j: j < i,
        "last": lambda i, j: j > i,
    }[keep]
    removed: set[int] = set()
    survivor = {}
    for i in range(len(passages)):
        if i in removed:
            continue
        survivor[i] = i
        for j in range(i + 1, len(passages)):
            same = similarity(passages[i]["text"], passages[j]["text"]) >= threshold
            if j not in removed and same:
                removed.add(j)
                survivor[i] = j if replaces(survivor[i], j) else survivor[i]
    return sorted(survivor.values())


@given(scored, st.floats(0, 0.99), keeps)
def test_the_semantics_of_rag_chunk_reorder(passages: list[dict[str, Any]], threshold: float, keep: Keep) -> None:
    numbered = [{**one, "id": at} for at, one in enumerate(passages)]
    assert ids(deduplicate(numbered, threshold, keep)) == peer(numbered, threshold, keep)


def test_seed_hits_objects_texts_and_fields_of_other_names() -> None:
    hits = [SeedHit(make_chunk("d", 0, QUEEN), 0.4), SeedHit(make_chunk("e", 0, QUEEN), 0.8)]
    assert deduplicate(hits) == [hits[1]]
    objects = [SimpleNamespace(page_content=QUEEN, rank=2), SimpleNamespace(page_content=QUEEN, rank=1)]
    kept = deduplicate(objects, text="page_content", score=lambda one: -one.rank)
    assert kept == [objects[1]]
    nested = [{"text": QUEEN, "metadata": {"relevance": 1}}, {"text": QUEEN, "metadata": {"relevance": 2}}]
    assert deduplicate(nested, score="relevance") == [nested[1]]
    assert deduplicate([QUEEN, ANTS, QUEEN]) == [QUEEN, ANTS]


def test_an_iterator_is_read_once() -> None:
    assert deduplicate(iter([QUEEN, QUEEN, ANTS]), keep="last") == [QUEEN, ANTS]


def test_nothing_to_deduplicate() -> None:
    assert deduplicate([], 0.85) == []


@pytest.mark.parametrize("threshold", [-0.1, 1.1, math.nan, "0.9", True, None])
def test_a_threshold_is_a_similarity(threshold: Any) -> None:
    with pytest.raises(RetrivexError, match="similarity from 0 to 1"):
        deduplicate([QUEEN], threshold)


def test_unknown_policies() -> None:
    with pytest.raises(RetrivexError, match="keep is 'best'"):
        deduplicate([QUEEN], keep="best")  # type: ignore[arg-type]
    with pytest.raises(RetrivexError, match="compare_with is 'all'"):
        deduplicate([QUEEN], compare_with="all")  # type: ignore[arg-type]


@pytest.mark.parametrize("score", [math.nan, math.inf, None, "0.9", True, pytest.param(10**5000, id="huge")])
def test_a_score_is_a_finite_number_where_it_is_needed(score: Any) -> None:
    passages = [{"text": QUEEN, "score": score}]
    with pytest.raises(PassageError, match=r"passage 0 has .* as its score"):
        deduplicate(passages)
    assert deduplicate(passages, keep="first") == passages


@pytest.mark.parametrize("passage", [{"score": 1.0}, {"text": 3, "score": 1.0}, None, 7])
def test_a_passage_without_text(passage: Any) -> None:
    with pytest.raises(PassageError, match=r"passage 1 has .* as its text"):
        deduplicate([{"text": QUEEN, "score": 1.0}, passage])


@pytest.mark.parametrize("passages", ["one text", b"bytes", 7, {"text": "one passage"}])
def test_passages_are_a_list(passages: Any) -> None:
    with pytest.raises(PassageError, match="give a list"):
        deduplicate(passages)


@pytest.mark.parametrize("field", ["text", "score"])
def test_a_reader_that_fails_is_named(field: str) -> None:
    def fails(passage: Any) -> Any:
        return passage["nothing"]

    with pytest.raises(PassageError, match=r"of passage 0 cannot be read: KeyError\('nothing'\); a reader must return"):
        deduplicate([{"text": "Bees.", "score": 1.0}], **{field: fails})  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [{"keep": ["first"]}, {"compare_with": np.array(["first", "kept"])}], ids=repr)
def test_policies_are_words(wrong: Any) -> None:
    with pytest.raises(RetrivexError, match="choose one of"):
        deduplicate(["Bees."], **wrong)


def test_an_array_of_passages_has_a_length() -> None:
    assert deduplicate(np.array(["Bees.", "Ants.", "Bees."])) == ["Bees.", "Ants."]
    with pytest.raises(PassageError, match="give a list"):
        deduplicate(np.array("Bees."))
