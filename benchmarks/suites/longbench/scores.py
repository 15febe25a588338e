"""LongBench's own scorers, task by task, by their published definitions, oddities included.

Bai et al., "LongBench: A Bilingual, Multitask Benchmark for Long Context Understanding", ACL 2024; definitions in
`metrics.py` and `eval.py` of github.com/THUDM/LongBench. Scores are in [0, 1]; LongBench prints them times 100.

What differs: summaries with sentences of more than some 500 words are scored (see `rouge`), and Chinese words come from
rjieba (see `chinese_words`). Code is compared by difflib, as by fuzzywuzzy without python-Levenshtein, which weighs a
little differently.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher
from importlib import import_module
from typing import TypeAlias

from benchmarks.suites.longbench.rouge import rouge_l
from retrivex.errors import RetrivexError, quoted

TaskScorer: TypeAlias = Callable[[str, str, Sequence[str]], float]
"""Answer, reference, classes -> score."""

_NUMBER = re.compile(r"\d+")
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_FULL_WIDTH = "！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､、"
_CHINESE_PUNCTUATION = _FULL_WIDTH + "〃》「」『』【】〔〕〖〗〘〙〚〛〜〝〞〟〰〾〿–—‘’‛“”„‟…‧﹏."
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ALL_PUNCTUATION = str.maketrans("", "", string.punctuation + _CHINESE_PUNCTUATION)
_FIRST_LINE_ALONE = ("trec", "triviaqa", "samsum", "lsht")


def longbench_score(task: str, answer: str, references: Sequence[str], classes: Sequence[str] = ()) -> float:
    """Return the score of an answer in a task of LongBench or LongBench-E: that of the best reference, in [0, 1].

    Parameters
    ----------
    task : as in "hotpotqa" or "hotpotqa_e"
    answer : of the model, as it is
    references : of the task
    classes : `all_classes` of the task; only trec and lsht have any

    Raises
    ------
    RetrivexError
        If there is no such task.
    ImportError
        If the task is Chinese and rjieba is not there.

    Examples
    --------
    >>> longbench_score("passage_count", "There are 12, not 13.", ["12"])
    0.5
    """
    score = scorer_of(task)
    if task.removesuffix("_e") in _FIRST_LINE_ALONE:
        answer = answer.lstrip("\n").split("\n")[0]
    return max((score(answer, reference, classes) for reference in references), default=0.0)


def scorer_of(task: str) -> TaskScorer:
    """Return the scorer of a task; raises as `longbench_score`."""
    name = task.removesuffix("_e")
    if name not in SCORERS:
        raise RetrivexError(f"LongBench has no task {quoted(task)}: its tasks are {', '.join(SCORERS)}")
    if SCORERS[name] in (qa_f1_zh, rouge_l_zh):
        _chinese_words("")  # so that it is missed before anything is asked
    return SCORERS[name]


def qa_f1(answer: str, reference: str, classes: Sequence[str] = ()) -> float:
    """Return the F1 of words, normalised as in SQuAD."""
    return _f1(_plain(answer).split(), _plain(reference).split())


def qa_f1_zh(answer: str, reference: str, classes: Sequence[str] = ()) -> float:
    """Return the F1 of Chinese words, punctuation aside."""
    return _f1(*(list(filter(None, map(_plain_zh, _chinese_words(text)))) for text in (answer, reference)))


def rouge(answer: str, reference: str, classes: Sequence[str] = ()) -> float:
    """Return ROUGE-L."""
    return rouge_l(answer, reference)


def rouge_l_zh(answer: str, reference: str, classes: Sequence[str] = ()) -> float:
    """Return ROUGE-L of Chinese words."""
    return rouge_l(" ".join(_chinese_words(answer)), " ".join(_chinese_words(reference)))


def count(answer: str, reference: str, classes: Sequence[str] = ()) -> float:
    """Return the share of the numbers in an answer that are the right one."""
    numbers = _NUMBER.findall(answer)
    return numbers.count(reference) / len(numbers) if numbers else 0.0


def retrieval(answer: str, reference: str, classes: Sequence[str] = ()) -> float:
    """Return the share of the numbers in an answer that are that of "Paragraph 27"."""
    return _numbered(r"Paragraph (\d+)", answer, reference)


def retrieval_zh(answer: str, reference: str, classes: Sequence[str] = ()) -> float:
    """Return the share of the numbers in an answer that are that of "段落27"."""
    return _numbered(r"段落(\d+)", answer, reference)


def classification(answer: str, reference: str, classes: Sequence[str] = ()) -> float:
    """Return 1 / (classes named in the answer) if the right one is among them.

    Classes whose names are part of the right one's do not count. (The published code passes over every second of
    several such names in a row, as it takes them out of the list that it goes through; so does this.)
    """
    named = [name for name in classes if name in answer]
    for name in named:
        if name in reference and name != reference:
            named.remove(name)
    return 1.0 / len(named) if reference in named else 0.0


def code_similarity(answer: str, reference: str, classes: Sequence[str] = ()) -> float:
    """Return how alike the first line of an answer that is code, no comment or fence, is to the reference."""
    lines = answer.lstrip("\n").split("\n")
    line = next((line for line in lines if not any(mark in line for mark in ("`", "#", "//"))), "")
    if line == reference:
        return 1.0
    if not line or not reference:
        return 0.0
    return round(100 * SequenceMatcher(None, line, reference).ratio()) / 100


SCORERS: Mapping[str, TaskScorer] = {
    "narrativeqa": qa_f1,
    "qasper": qa_f1,
    "multifieldqa_en": qa_f1,
    "multifieldqa_zh": qa_f1_zh,
    "hotpotqa": qa_f1,
    "2wikimqa": qa_f1,
    "musique": qa_f1,
    "dureader": rouge_l_zh,
    "gov_report": rouge,
    "qmsum": rouge,
    "multi_news": rouge,
    "vcsum": rouge_l_zh,
    "trec": classification,
    "triviaqa": qa_f1,
    "samsum": rouge,
    "lsht": classification,
    "passage_retrieval_en": retrieval,
    "passage_count": count,
    "passage_retrieval_zh": retrieval_zh,
    "lcc": code_similarity,
    "repobench-p": code_similarity,
}
"""Scorers by task."""


def _numbered(pattern: str, answer: str, reference: str) -> float:
    wanted = re.findall(pattern, reference)
    if not wanted:
        raise RetrivexError(f"reference {quoted(reference)} names no paragraph: it must match {pattern!r}")
    return count(answer, wanted[0])


def _f1(given: Sequence[str], wanted: Sequence[str]) -> float:
    common = sum((Counter(given) & Counter(wanted)).values())
    return 2 * common / (len(given) + len(wanted)) if common else 0.0


def _plain(text: str) -> str:
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION))


def _plain_zh(text: str) -> str:
    return "".join(text.lower().translate(_ALL_PUNCTUATION).split())


def _chinese_words(text: str) -> list[str]:
    words: list[str] = import_module("benchmarks.suites.longbench.chinese_words").chinese_words(text)  # of a group
    return words
