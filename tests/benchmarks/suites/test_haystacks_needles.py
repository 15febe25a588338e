from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.suites.haystacks.essays import ESSAYS, read_essays
from benchmarks.suites.haystacks.key_words import ADJECTIVES, NOUNS
from benchmarks.suites.haystacks.needles import HELD_OUT, NEEDLE_GROUPS, NEEDLES, PARAPHRASED, Needle

# words that say nothing about what a sentence is about
STOP_WORDS_TEXT = (
    "a all along also an and at as because before by can did do does every few for four from get go goes got had has "
    "have her his how in into is it its many of off old on one only or our out she than that the their them they this "
    "those through to up upon was well were what when whenever where which while who whom why with"
)
STOP_WORDS = frozenset(STOP_WORDS_TEXT.split())
EVERY = (*NEEDLES, *PARAPHRASED, *HELD_OUT, *NEEDLE_GROUPS)


def content_words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.lower())) - STOP_WORDS


def common_stems(left: str, right: str) -> set[tuple[str, str]]:
    """Pairs of words that are the same, or forms of one: they begin with the same four letters."""
    return {
        (one, other)
        for one in content_words(left)
        for other in content_words(right)
        if one == other or (min(len(one), len(other)) >= 4 and one[:4] == other[:4])
    }


def test_there_are_enough_needles_and_each_is_one_of_its_kind() -> None:
    assert len(NEEDLES) >= 24
    assert len(PARAPHRASED) == len(HELD_OUT) == 20
    assert len(NEEDLE_GROUPS) >= 8
    assert len({needle.name for needle in EVERY}) == len(EVERY)
    assert len({needle.question for needle in EVERY}) == len(EVERY)
    assert {len(needle.texts) for needle in (*NEEDLES, *PARAPHRASED, *HELD_OUT)} == {1}
    assert {len(needle.texts) for needle in NEEDLE_GROUPS} == {4}


@pytest.mark.parametrize("needle", EVERY, ids=lambda needle: needle.name)
def test_every_fact_holds_its_answer_and_no_other(needle: Needle) -> None:
    assert len(needle.answers) == len(needle.texts)
    for number, text in enumerate(needle.texts):
        assert [answer in text for answer in needle.answers] == [other == number for other in range(len(needle.texts))]


@pytest.mark.parametrize(
    "needle", [needle for needle in EVERY if not needle.shares_words], ids=lambda needle: needle.name
)
def test_half_of_the_questions_and_all_of_two_sets_share_no_word_with_what_they_ask_for(needle: Needle) -> None:
    for text in needle.texts:
        assert common_stems(needle.question, text) == set()


@pytest.mark.parametrize("needle", [needle for needle in EVERY if needle.shares_words], ids=lambda needle: needle.name)
def test_the_other_half_share_words_with_every_fact(needle: Needle) -> None:
    for text in needle.texts:
        assert len(common_stems(needle.question, text)) >= 3


@pytest.mark.parametrize("taken", [2, 10, len(NEEDLES)])
def test_the_first_needles_are_half_of_each_kind(taken: int) -> None:
    assert sum(needle.shares_words for needle in NEEDLES[:taken]) == taken // 2
    assert sum(needle.shares_words for needle in NEEDLE_GROUPS[:taken]) == min(taken, len(NEEDLE_GROUPS)) // 2


def test_more_needles_are_all_asked_for_in_other_words() -> None:
    assert not any(needle.shares_words for needle in (*PARAPHRASED, *HELD_OUT))


def test_no_essay_holds_an_answer(data_dir: Path) -> None:
    text = " ".join(" ".join(read_essays(data_dir / ESSAYS).values()).lower().split())
    assert [answer for needle in EVERY for answer in needle.answers if answer.lower() in text] == []


def test_words_of_keys_are_different() -> None:
    assert len(set(ADJECTIVES)) == len(ADJECTIVES)
    assert len(set(NOUNS)) == len(NOUNS)
    assert all(word.isalpha() and word.islower() for word in (*ADJECTIVES, *NOUNS))
