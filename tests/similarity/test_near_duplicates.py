"""The join gives what comparing all pairs gives."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from retrivex.similarity.near_duplicates import repeats


def similarity(left: str, right: str) -> float:
    if left == right:
        return 1.0
    x, y = ({text[at : at + 3] for at in range(len(text) - 2)} for text in (left, right))
    return len(x & y) / len(x | y) if x | y else 0.0


def all_pairs(texts: Sequence[str], threshold: float, families: Sequence[object] | None = None) -> list[int]:
    """The definition, in quadratic time."""
    of = list(range(len(texts)))
    for i in range(len(texts)):
        if of[i] != i:
            continue
        for j in range(i + 1, len(texts)):
            apart = families is None or families[i] != families[j]
            if of[j] == j and apart and similarity(texts[i], texts[j]) >= threshold:
                of[j] = i
    return of


@st.composite
def alike(draw: st.DrawFn) -> list[str]:
    """Some texts, and copies of them with a few characters changed, put in or taken out."""
    alphabet = draw(st.sampled_from(("ab", "abcdef ", "abcdefghijklmnopqrstuvwxyz ", "漢字仮名 ", "a\ud800😀b")))
    size = draw(st.sampled_from((2, 5, 30, 120)))
    originals = draw(st.lists(st.text(alphabet, max_size=size), min_size=1, max_size=4))
    texts = []
    for _ in range(draw(st.integers(0, 12))):
        text = draw(st.sampled_from(originals))
        for _ in range(draw(st.integers(0, 3))):
            at = draw(st.integers(0, len(text)))
            text = text[:at] + draw(st.sampled_from(("", alphabet[0], alphabet[-1]))) + text[at + draw(st.booleans()) :]
        texts.append(text)
    return texts


thresholds = st.one_of(st.sampled_from([0.0, 0.5, 0.8, 0.82, 0.85, 0.9, 0.99, 1.0]), st.floats(0, 1))


@given(alike(), thresholds)
@example(["ab", "ab", "cd", "abc"], 0.0)
@example(["abcabc", "abcabcabc"], 1.0)
def test_the_same_as_comparing_all_pairs(texts: list[str], threshold: float) -> None:
    found = repeats(texts, threshold)
    assert found.of.tolist() == all_pairs(texts, threshold)
    for position, other in enumerate(found.of.tolist()):
        assert found.similarity[position] == (1.0 if other == position else similarity(texts[position], texts[other]))


@given(alike(), thresholds, st.data())
def test_texts_of_one_family_do_not_repeat_each_other(texts: list[str], threshold: float, data: st.DataObject) -> None:
    families = data.draw(st.lists(st.sampled_from("xyz"), min_size=len(texts), max_size=len(texts)))
    assert repeats(texts, threshold, families).of.tolist() == all_pairs(texts, threshold, families)


def passages(count: int, *, seed: int = 0, words: int = 60, edits: int = 12) -> list[str]:
    """Passages of random words, every second of them a copy of an earlier one with some words changed."""
    draws = random.Random(seed)
    vocabulary = ["".join(draws.choices("etaoinshrdlu", k=draws.randint(2, 9))) for _ in range(400)]
    made: list[list[str]] = []
    for number in range(count):
        new = list(draws.choice(made)) if number % 2 else draws.choices(vocabulary, k=words)
        for _ in range(draws.randint(0, edits) if number % 2 else 0):
            new[draws.randrange(len(new))] = draws.choice(vocabulary)
        made.append(new)
    return [" ".join(row) for row in made]


@pytest.mark.parametrize("threshold", [0.3, 0.6, 0.75, 0.82, 0.85, 0.9, 0.95])
def test_the_same_on_passages_of_ordinary_length(threshold: float) -> None:
    # long enough for parts to tell passages apart, with similarities on both sides of the threshold
    texts = passages(120)
    found = repeats(texts, threshold).of.tolist()
    assert found == all_pairs(texts, threshold)
    assert 0 < sum(other != position for position, other in enumerate(found)) < len(texts)


@pytest.mark.parametrize(("words", "threshold"), [(60, 0.25), (90, 0.3), (90, 0.35)])
@pytest.mark.parametrize("families", [None, "xy"])
def test_thresholds_that_leave_most_pairs(words: int, threshold: float, families: str | None) -> None:
    # unrelated passages are nearly alike enough: what they have in common is counted out of postings
    texts = passages(160, seed=4, words=words, edits=60)
    texts[150:150] = ["", "ab", "ab", texts[3], texts[5][:9]]
    named = None if families is None else [families[number % 3 % 2] for number in range(len(texts))]
    found = repeats(texts, threshold, named)
    assert found.of.tolist() == all_pairs(texts, threshold, named)
    for position, other in enumerate(found.of.tolist()):
        assert found.similarity[position] == (1.0 if other == position else similarity(texts[position], texts[other]))


def test_passages_of_very_different_lengths() -> None:
    texts = [text[: 3 + 7 * number] for number, text in enumerate(passages(80, seed=1))]
    assert repeats(texts, 0.85).of.tolist() == all_pairs(texts, 0.85)


def test_passages_that_all_share_a_template() -> None:
    # nearly every pair shares parts: the join falls back on sketches and still keeps all
    draws = random.Random(2)
    template = " ".join(passages(1)[0].split()[:30])
    texts = [template + " " + "".join(draws.choices("etaoinshrdlu ", k=160)) for _ in range(400)]
    assert repeats(texts, 0.85).of.tolist() == list(range(400))


def test_nothing_to_compare() -> None:
    assert repeats([], 0.85).of.tolist() == []
    assert repeats([""], 0.85).of.tolist() == [0]


def test_more_near_duplicates_than_are_compared_at_a_time() -> None:
    # some 3,000 characters and trigrams each, of 131,072 a block
    draws = random.Random(3)
    text = "".join(draws.choices("etaoinshrdlu", k=2_000))
    texts = [f"{text}{number}" for number in range(1_000)]
    assert repeats(texts, 0.9).of.tolist() == [0] * 1_000
