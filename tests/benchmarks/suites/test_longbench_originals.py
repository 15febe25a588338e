"""Our scorers beside the packages that LongBench's published figures were counted with: rouge, jieba, fuzzywuzzy."""

from __future__ import annotations

import difflib
import logging
import os
import random
import re
import string
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.suites.longbench.rouge import rouge_l
from benchmarks.suites.longbench.scores import longbench_score

pytestmark = pytest.mark.integration

jieba = pytest.importorskip("jieba")
rouge = pytest.importorskip("rouge")
fuzz = pytest.importorskip("fuzzywuzzy.fuzz")
chinese = pytest.importorskip("benchmarks.suites.longbench.chinese_words", exc_type=ImportError)
jieba.setLogLevel(logging.ERROR)

WORDS = (
    "the", "a", "hive", "of", "bees", "queen,", "drone;", "12", "1887", "honey", "comb", "wax.", "wax", "worker",
    "(flight)", "sleep.", "\n", "egg's", "larva",
)  # fmt: skip
LINES = ("return x", "# why", "`code`", "for i in range(10):", "x = [1, 2]", "", "  y += 1  // two")
TEXT = (
    "蜜蜂（学名Apis）在2014-2016年间住在蜂箱里，JD-BP-37-500F型号的V_2022.06.24版本重0.3kg，占95.5%。"
    "她问：“北京大学的T恤多少钱？”答：C++语言第3.5章，３０元。"
)


def english(draws: random.Random) -> str:
    return " ".join(draws.choices(WORDS, k=draws.randrange(40)))


def test_rouge_is_that_of_the_package() -> None:
    draws = random.Random(1)
    original = rouge.Rouge()
    compared = 0
    for _ in range(400):
        one, other = english(draws), english(draws)
        try:
            theirs = original.get_scores([one], [other], avg=True)["rouge-l"]["f"]
        except ValueError:
            theirs = 0.0  # as LongBench does where it fails
        assert rouge_l(one, other) == pytest.approx(theirs, abs=1e-9), (one, other)
        compared += theirs > 0
    assert compared > 200


def test_similarity_of_code_is_that_of_the_package() -> None:
    draws = random.Random(2)
    assert fuzz.SequenceMatcher is difflib.SequenceMatcher  # python-Levenshtein, if there, weighs differently
    for _ in range(400):
        answer = "\n".join(draws.choices(LINES, k=draws.randrange(6)))
        reference = draws.choice(LINES)
        kept = [line for line in answer.lstrip("\n").split("\n") if not re.search("`|#|//", line)]
        theirs = fuzz.ratio(kept[0] if kept else "", reference) / 100
        assert longbench_score("lcc", answer, [reference]) == pytest.approx(theirs), (answer, reference)


def _texts() -> list[str]:
    data = Path(os.environ.get("RETRIVEX_DATA", Path(__file__).parents[4] / "shared" / "data")) / "longbench"
    files = sorted(data.glob("*_zh.jsonl"))
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()[:20]]
    return [TEXT, *(part for line in lines for part in line[:6000].split("\\n") if part.strip())]


def test_chinese_words_are_those_of_the_package() -> None:
    for text in _texts():
        assert chinese.chinese_words(text) == jieba.lcut(text, cut_all=False)


def test_words_of_any_mixture_are_those_of_the_package() -> None:
    draws = random.Random(4)
    letters = TEXT + "AT&T c# 3.14 50% a-b a_b a.b 1,000 +86 https://x.cn/a?b=1 Ａｂｃ ０１ é ß \n\t 😀"
    for _ in range(3000):
        text = "".join(draws.choices(letters, k=draws.randrange(1, 25)))
        assert chinese.chinese_words(text) == jieba.lcut(text, cut_all=False), text


def _chinese_f1(answer: str, reference: str) -> float:
    signs = "！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､、〃》「」『』【】〔〕〖〗〘〙〚〛〜〝〞〟〰〾〿–—‘’‛“”„‟…‧﹏."  # noqa: E501
    gone = set(string.punctuation + signs)

    def words(text: str) -> list[str]:
        plain = ("".join("".join(c for c in word.lower() if c not in gone).split()) for word in jieba.cut(text))
        return [word for word in plain if word]

    given, wanted = words(answer), words(reference)
    common = sum((Counter(given) & Counter(wanted)).values())
    if not common:
        return 0.0
    precision, recall = common / len(given), common / len(wanted)
    return 2 * precision * recall / (precision + recall)


def test_chinese_scores_are_those_of_the_packages() -> None:
    draws = random.Random(3)
    texts = _texts()
    original = rouge.Rouge()
    compared = 0
    for _ in range(200):
        text = draws.choice(texts)[:200]
        cut = sorted(draws.choices(range(len(text) + 1), k=4))
        one, other = text[cut[0] : cut[2]], text[cut[1] : cut[3]]
        assert longbench_score("multifieldqa_zh", one, [other]) == pytest.approx(_chinese_f1(one, other))
        spaced = [" ".join(jieba.lcut(part)) for part in (one, other)]
        try:
            theirs = original.get_scores(spaced[:1], spaced[1:], avg=True)["rouge-l"]["f"]
        except ValueError:
            theirs = 0.0
        assert longbench_score("dureader", one, [other]) == pytest.approx(theirs, abs=1e-9)
        compared += theirs > 0
    assert compared > 100
