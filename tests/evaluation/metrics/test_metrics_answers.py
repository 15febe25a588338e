from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex.evaluation.metrics import (
    answer_tokens,
    answerability_match,
    exact_match,
    is_answerable,
    normalise_answer,
    token_f1,
)

texts = st.one_of(st.text("ab theAn.,- ", max_size=20), st.text(max_size=20), st.text("三体 a。", max_size=10))


@pytest.mark.parametrize(
    ("text", "normalised"),
    [
        # what the official SQuAD script does: punctuation vanishes, it is not replaced by a space
        ("The U.S.A.", "usa"),
        ("an apple a day", "apple day"),
        ("well-known", "wellknown"),
        ("Theatre, another  thing", "theatre another thing"),
        ("$1,000", "1000"),
        ("“quoted”", "“quoted”"),
        ("the", ""),
        # full-width forms and punctuation, where there are CJK characters
        ("《红楼梦》", "红楼梦"),
        ("２０１０年。", "2010年"),
        ("東京、日本", "東京日本"),
        ("서울!", "서울"),
        # forms and punctuation of Chinese and Japanese, where there are no CJK characters
        ("《Nature》", "nature"),
        ("２０１０", "2010"),
        ("2010。", "2010"),
        ("ＮＡＳＡ", "nasa"),
        ("Ｔｈｅ Ｂｅｅ！", "bee"),
        ("ｶﾀｶﾅ", "カタカナ"),
        ("ジョン・スミス", "ジョンスミス"),
        ("cafe\u0301", "café"),
    ],
)
def test_normalisation(text: str, normalised: str) -> None:
    assert normalise_answer(text) == normalised


def test_f1_by_hand() -> None:
    # two tokens of three given are among the four wanted: precision 2/3, recall 1/2
    assert token_f1("cats chase dogs", "cats and dogs play") == pytest.approx(4 / 7)
    # repeated tokens count as often as in both
    assert token_f1("no no no", "no yes") == pytest.approx(2 / 5)
    assert token_f1("Paris", ["London", "Paris, France"]) == pytest.approx(2 / 3)


def test_chinese_is_compared_by_characters() -> None:
    assert answer_tokens("我爱北京 2008") == ["我", "爱", "北", "京", "2008"]
    assert token_f1("北京市", "北京") == pytest.approx(0.8)
    assert exact_match("北京。", ["北京"]) == 1
    assert token_f1("北京", "南京") == 0.5


def test_no_answer() -> None:
    # SQuAD 2.0: the right answer to an unanswerable question is none
    assert token_f1("", []) == exact_match("", []) == exact_match("", "") == 1
    assert token_f1("Paris", []) == token_f1("", ["Paris"]) == 0
    assert answerability_match("", []) == answerability_match("Lyon", ["Paris"]) == 1
    assert answerability_match("", ["Paris"]) == answerability_match("Paris", [""]) == 0
    assert not is_answerable("the")
    assert not is_answerable("I do not know!", no_answer=["i do not know"])


@given(texts, st.lists(texts, min_size=1, max_size=3))
def test_an_exact_match_has_f1_1_and_no_f1_is_over_1(prediction: str, references: list[str]) -> None:
    f1 = token_f1(prediction, references)
    assert 0 <= f1 <= 1
    assert f1 == max(token_f1(prediction, reference) for reference in references)
    assert not exact_match(prediction, references) or f1 == 1


@given(texts, texts)
def test_f1_is_the_same_both_ways(left: str, right: str) -> None:
    assert token_f1(left, right) == pytest.approx(token_f1(right, left))
