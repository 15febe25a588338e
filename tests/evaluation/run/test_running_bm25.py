from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex.evaluation.run.bm25 import BM25, index_terms

WORDS = st.sampled_from(["bee", "ant", "hive", "queen", "eggs"])
TEXTS = st.lists(st.lists(WORDS, max_size=6).map(" ".join), min_size=1, max_size=6)


def test_one_term_by_hand() -> None:
    found = BM25(["bee bee ant", "ant", "hive"], k1=1.5, b=0.75).scores("bee?")
    idf = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    assert found == pytest.approx([idf * 2 * 2.5 / (2 + 1.5 * (0.25 + 0.75 * 3 / (5 / 3))), 0, 0])


def test_chinese_is_found_without_spaces() -> None:
    scores = BM25(["北京是中国的首都。", "上海在东边。"]).scores("中国的首都在哪里？")
    assert scores[0] > scores[1]
    assert index_terms("北") == ["北"]


@given(TEXTS, st.data())
def test_a_part_is_scored_as_a_collection_of_its_own(texts: list[str], data: st.DataObject) -> None:
    among = sorted(data.draw(st.sets(st.integers(0, len(texts) - 1))))
    question = data.draw(st.lists(WORDS, max_size=4).map(" ".join))
    alone = BM25([texts[place] for place in among]).scores(question)
    assert BM25(texts).scores(question, np.array(among, dtype=np.int64)) == pytest.approx(alone)


@given(TEXTS)
def test_nothing_scores_below_zero(texts: list[str]) -> None:
    assert (BM25(texts).scores("bee ant hive") >= 0).all()
