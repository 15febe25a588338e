"""Classifies questions by words and phrases in English and Chinese."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal, TypeAlias, get_args

from retrivex.errors import OrderingError, quoted
from retrivex.ordering.cues import COMPARISON_CUES, NARRATIVE_CUES, NO_CUES, TEMPORAL_CUES
from retrivex.text.scripts import IDEOGRAPHS

QuestionType: TypeAlias = Literal["temporal", "comparison", "narrative", "factual"]
"""About time; setting things against each other; how something goes or is done; everything else."""

Detector: TypeAlias = Callable[[str], QuestionType | None]
"""`detector(question)`: its type, or None to leave it to the cues."""

_CONJUNCTION_VERBS = (
    "happens happen happened do does even only especially except error errors fail fails failed crashes break breaks"
)
_THRESHOLD = re.compile(r" (?:than|比)(?= \d)")
"""Compares with a number: "older than 30"."""

_CONJUNCTION = re.compile(rf" ({'|'.join(_CONJUNCTION_VERBS.split())}) when(?= )")
"""`when` asks nothing: "what happens when a queen dies"."""

_FACT = re.compile(
    " (?:who(?! can | could )|where|whose|whom|how (?:many|much|old|far|tall|big|large|high|deep|long|often)) "
)
_CHINESE_FACT = re.compile("谁(?! [能可来])|哪 里|哪 儿|在 哪 |多 少")
_CHINESE_WAY = re.compile("如 何|怎 么|怎 样")

_TRADITIONAL = (
    "麼麽時幾間線順後來歷變較對區別異優點個總結綜釋說説講驟過樣節經龍脈嗎還貴強輕長遠"
    "館醫銀車鐵廳機場學藥郵號週種賽爾與誰裡聯絡讀稱發書紀針寫簡語話紹戰爭內統"
)
_SIMPLIFIED = (
    "么么时几间线顺后来历变较对区别异优点个总结综释说说讲骤过样节经龙脉吗还贵强轻长远"
    "馆医银车铁厅机场学药邮号周种赛尔与谁里联络读称发书纪针写简语话绍战争内统"
)
_TO_SIMPLIFIED = str.maketrans(_TRADITIONAL, _SIMPLIFIED)

_IDEOGRAPH = re.compile(f"([{IDEOGRAPHS}])")
_WORD = re.compile(r"[^\W_]+")


def question_type(
    question: str | None,
    *,
    temporal: Sequence[str] = TEMPORAL_CUES,
    comparison: Sequence[str] = COMPARISON_CUES,
    narrative: Sequence[str] = NARRATIVE_CUES,
    detector: Detector | None = None,
) -> QuestionType:
    """Return the first type of which a cue stands in the question: temporal, comparison, narrative; else factual.

    Cues are matched as whole words, in any case and width; those in Chinese or Japanese characters anywhere, Simplified
    and Traditional alike. Anything may stand in place of `...` in a cue, nothing too. What opens with who, where, how
    many and the like asks for a fact, however it goes on, unless it is about time or compares.

    Parameters
    ----------
    question : as asked; None or blank is factual
    temporal, comparison, narrative : the cues
    detector : asked first; None from it leaves the answer to the cues

    Raises
    ------
    OrderingError
        If the question is no text, cues are no texts, or `detector` fails or returns something else than a type or
        None.

    Examples
    --------
    >>> question_type("When did the bees arrive?"), question_type("蜜蜂和黄蜂有什么区别？")
    ('temporal', 'comparison')
    >>> question_type("How do I build a hive?"), question_type("Who keeps bees in Whenham?")
    ('narrative', 'factual')
    """
    if question is not None and not isinstance(question, str):
        raise OrderingError(f"question is {quoted(question)}: give a text, or None where there is no question")
    kinds: tuple[tuple[QuestionType, tuple[str, ...]], ...] = (
        ("temporal", _check_cues(temporal, "temporal")),
        ("comparison", _check_cues(comparison, "comparison")),
        ("narrative", _check_cues(narrative, "narrative")),
    )
    if question is None or not question.strip():
        return "factual"
    found = None if detector is None else _detect(question, detector)
    if found is not None:
        return found
    text = _normalise(question)
    if _asks_a_fact(text):
        kinds = kinds[:2]
    for kind, cues in kinds:
        if _contains_any(cues, text):
            return kind
    return "factual"


def _check_cues(cues: Sequence[str], name: str) -> tuple[str, ...]:
    if isinstance(cues, (list, tuple, set, frozenset)) and all(isinstance(cue, str) for cue in cues):
        return tuple(cues)
    raise OrderingError(f"{name} cues are {quoted(cues)}: give a list of texts")


def _detect(question: str, detector: Detector) -> QuestionType | None:
    try:
        found = detector(question)
    except Exception as error:  # a callable of the caller's may raise anything
        raise OrderingError(
            f"the detector failed for {quoted(question)}: {quoted(error, 200)}; it must return a type, or None for the "
            "cues"
        ) from error
    if found is not None and found not in get_args(QuestionType):
        raise OrderingError(
            f"the detector returned {quoted(found)}: it must be one of {', '.join(get_args(QuestionType))}, or None"
        )
    return found


@lru_cache(maxsize=64)
def _split_cues(cues: tuple[str, ...]) -> list[list[str]]:
    """Return the parts of each cue, in the form of `_separate_words`; cues of nothing are left out."""
    parted = [[_separate_words(part) for part in cue.split("...") if part.strip()] for cue in cues]
    return [parts for parts in parted if parts]


def _contains_any(cues: tuple[str, ...], text: str) -> bool:
    # most cues begin with what is not there at all, and asking for that first is several times as fast
    return any(parts[0] in text and _contains_in_order(parts, text) for parts in _split_cues(cues))


def _contains_in_order(parts: list[str], text: str) -> bool:
    """Whether all parts stand in the text, one after the other."""
    end = 0
    for part in parts:
        start = text.find(part, end)
        if start < 0:
            return False
        end = start + len(part) - 1  # the space behind one part is that before the next
    return True


def _normalise(question: str) -> str:
    text = _separate_words(question)
    for (phrase,) in _split_cues(NO_CUES):
        text = text.replace(phrase, " ")
    return _CONJUNCTION.sub(r" \1", _THRESHOLD.sub("", text))


def _asks_a_fact(text: str) -> bool:
    """Whether it asks for a person, a place or a number, whatever else it names: "who wrote the story"."""
    if _FACT.match(text):
        return True
    return _CHINESE_FACT.search(text) is not None and _CHINESE_WAY.search(text) is None


def _separate_words(text: str) -> str:
    """Words with a space on each side, each Chinese or Japanese character a word of its own."""
    plain = unicodedata.normalize("NFKC", text).casefold().translate(_TO_SIMPLIFIED)
    return " " + " ".join(_WORD.findall(_IDEOGRAPH.sub(r" \1 ", plain))) + " "
