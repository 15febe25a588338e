"""LongBench's scorers by their published definitions; the originals are compared in test_longbench_originals.py."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.suites.longbench.prompts import ANSWER_TOKENS, LONGBENCH_PROMPTS
from benchmarks.suites.longbench.rouge import common_subsequence, rouge_l
from benchmarks.suites.longbench.scores import SCORERS, longbench_score, scorer_of
from retrivex.errors import RetrivexError

WORDS = st.lists(st.sampled_from("abcde"), max_size=9)


@pytest.mark.parametrize(
    ("task", "answer", "references", "score"),
    [
        ("hotpotqa", "The Eiffel Tower!", ["Louvre", "eiffel tower"], 1.0),
        ("hotpotqa_e", "in the year 1887", ["1887"], 0.5),
        ("hotpotqa", "", ["1887"], 0.0),
        ("triviaqa", "\n\nParis\nLyon", ["Paris"], 1.0),  # the first line alone
        ("narrativeqa", "Paris\nLyon", ["Paris"], pytest.approx(2 / 3)),
        ("passage_count", "7", ["7"], 1.0),
        ("passage_count", "7 or 8", ["7"], 0.5),
        ("passage_count", "seven", ["7"], 0.0),
        ("passage_retrieval_en", "Paragraph 12", ["Paragraph 12"], 1.0),
        ("passage_retrieval_en", "12 of 30", ["Paragraph 12"], 0.5),
        ("passage_retrieval_zh", "段落3", ["段落3"], 1.0),
        ("passage_retrieval_zh", "段落30", ["段落3"], 0.0),
        ("lcc", "```python\n# a comment\nreturn x\n", ["return x"], 1.0),
        ("lcc", "// nothing\n", ["return x"], 0.0),
        ("lcc", "return y", ["return x"], 0.88),
    ],
)
def test_scores_by_hand(task: str, answer: str, references: list[str], score: float) -> None:
    assert longbench_score(task, answer, references) == score


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("Type: City", 1.0),
        ("City or Country", 0.5),
        ("Animal", 0.0),
        ("Other City", 1.0),
        ("City\nCountry", 1.0),  # the first line alone
        ("none of them", 0.0),
    ],
)
def test_classes_that_are_named(answer: str, score: float) -> None:
    wanted = "Other City" if answer == "Other City" else "City"
    assert longbench_score("trec", answer, [wanted], ["Animal", "City", "Country", "Other City"]) == score


def test_unknown_task_is_one_clear_error() -> None:
    with pytest.raises(RetrivexError, match="no task 'hotpot': its tasks are narrativeqa"):
        longbench_score("hotpot", "a", ["b"])


def test_every_task_has_a_prompt_a_length_and_a_scorer() -> None:
    assert set(LONGBENCH_PROMPTS) == set(ANSWER_TOKENS) == set(SCORERS)
    assert len(SCORERS) == 21
    assert all("{context}" in prompt for prompt in LONGBENCH_PROMPTS.values())
    english = [task for task in SCORERS if task not in ("multifieldqa_zh", "dureader", "vcsum")]
    assert all(callable(scorer_of(task)) for task in english)


@given(WORDS, WORDS)
def test_a_common_subsequence_is_in_both_and_the_longest(first: list[str], second: list[str]) -> None:
    found = common_subsequence(first, second)
    for words in (first, second):
        rest = iter(words)
        assert all(word in rest for word in found)
    lengths: dict[tuple[int, int], int] = {}
    for i in range(len(first) + 1):
        for j in range(len(second) + 1):
            same = i and j and first[i - 1] == second[j - 1]
            nearby = (lengths.get((i - 1, j), 0), lengths.get((i, j - 1), 0))
            lengths[i, j] = lengths[i - 1, j - 1] + 1 if same else max(nearby)
    assert len(found) == lengths[len(first), len(second)]


@given(st.text("ab .", max_size=30), st.text("ab .", max_size=30))
def test_rouge_is_a_share_and_the_same_both_ways_of_equal_texts(one: str, other: str) -> None:
    assert 0.0 <= rouge_l(one, other) <= 1.0
    if one.strip(" ."):
        assert rouge_l(one, one) == pytest.approx(1.0)


def test_a_long_sentence_is_scored() -> None:
    # the original recurses and gives up
    long = " ".join(map(str, range(1500)))
    assert rouge_l(long, long) == pytest.approx(1.0)
