"""Classifies questions by words and phrases in English and Chinese."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal, TypeAlias, get_args

from retrivex.errors import OrderingError, quoted
from retrivex.ordering.cues import (
    ADJECTIVES,
    COMPARATIVES,
    COMPARISON_CUES,
    LANGUAGES,
    NARRATIVE_CUES,
    NO_CUES,
    TEMPORAL_CUES,
)
from retrivex.text.scripts import IDEOGRAPHS

QuestionType: TypeAlias = Literal["temporal", "comparison", "narrative", "factual"]
"""About time; setting things against each other; how something goes or is done; everything else."""

Detector: TypeAlias = Callable[[str], QuestionType | None]
"""`detector(question)`: its type, or None to leave it to the cues."""

_CONJUNCTION_VERBS = (
    "happens happen happened do does even only especially except error errors fail fails failed crashes break breaks"
)
_NUMBER = (
    "one two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty sixty hundred "
    "half once twice enough just"
)
_AMOUNT = "dozen hundred thousand million billion third quarter second minute hour day week month year decade century"
_UNIT = "(?:years?|months?|weeks?|days?|hours?|minutes?|inches|inch|feet|metres?|meters?|cm|kg|pounds?|percent)"
_THRESHOLD = re.compile(
    r" (?:than|比)(?= \d)"
    rf"| than(?= (?:{'|'.join(_NUMBER.split())}|an? (?:{'|'.join(_AMOUNT.split())})) )"
    rf"|(?<=\d)(?: {_UNIT})? or (?:{'|'.join(COMPARATIVES.split())})(?= )"
)
"""Compares with a number: "older than 30", "more than a dozen", "18 or older"."""

_OPEN_REQUEST = re.compile(
    r" (there|there (?:an?|any|some)|(?:you have|suggest|recommend|find|need|want|know|know of|me|us) (?:an?|any|some))"
    rf" (?:{'|'.join(COMPARATIVES.split())})(?= )"
    rf"| ([到找要荐供]) 更 (?:{'|'.join(map(' '.join, ADJECTIVES.split()))}) 的(?= )"
)
"""Asks for something, and names no two things to set against each other: "is there a faster way or a shortcut"."""

_FIRST_PERSON = "(?:to|(?:do|can|could|should|would) (?:i|we|you))"
_CHINESE_HOW = "(?:怎 么|如 何|怎 样)"
_ADDRESS = re.compile(
    rf" how {_FIRST_PERSON} (?:contact|reach (?:you|us|support)|spell(?! check| out )|pronounce"
    rf"|say(?= (?:\S+ ){{1,12}}in (?:{'|'.join(LANGUAGES.split())}|sign language) ))(?= )"
    rf"| {_CHINESE_HOW} (?:联 [系络](?! 实 际| 上 下 文)|称 呼|发 音)(?= )"
    rf"|(?<= [语文话]) {_CHINESE_HOW} [说讲](?! [得好])(?= )| {_CHINESE_HOW} 用(?= (?:\S ){{1,4}}[语文话] [说讲] )"
)
"""Asks for a number, an address or a word, not for a way to go: "how do I say bee in French", not "say no to them"."""

_UNNAMED_CHOICE = re.compile(rf"( how {_FIRST_PERSON} (?:choose|decide)) between(?! (?:\S+ ){{1,20}}and )")
"""Asks for a way to choose, and names no two things: "how can I decide between two offers"."""

_EXTRA_REQUIREMENT = re.compile(
    "( (?:do|will|would|should|must) (?:i|we|you) (?:need|require|bring|show)(?: to (?:bring|show|have|know|do))? more)"
    " than(?= )"
)
"""Asks what else is needed, and sets nothing against it: "do I need more than ID"."""

_CONJUNCTION = re.compile(rf" ({'|'.join(_CONJUNCTION_VERBS.split())}) when(?= )")
"""`when` asks nothing: "what happens when a queen dies"."""

_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_MONTHS = (
    "january february april june july august september october november december "
    "jan feb mar apr jun jul aug sep sept oct nov dec"
)
_SCENE = re.compile(
    # march and may are verbs too
    rf"(?: (?:{'|'.join(_MONTHS.split())})|(?:^| (?:in|of|on|by|for|from|the|early|mid|late|{_DAY})) (?:march|may))"
    rf"(?: {_DAY})?(?: of)? (?:1\d|20)\d\d(?= )"
    # only what names a stretch of history: things are done during a meeting and during an installation too
    r"| during (?:(?!(?:to|in|on|at|about|of|for|with) )\w+ ){0,3}"
    r"(?:wars?|eras?|reign|dynasty|decades?|century|centuries)(?= )"
    r"| (?:\d{4}|[一二] (?:[〇零一二三四五六七八九] ){2}[〇零一二三四五六七八九]) 年 (?:的 )?"
    r"(?:0?[1-9]|1[0-2]|[一二三四五六七八九十]|十 [一二]) 月(?= )"
    r"| (?:战 争|大 战|内 战|冷 战|抗 战|一 战|二 战|在 位|统 治) (?:期 间|时 期)(?= )"
)
"""Sets a scene in time: "in March 2021", "on May 3rd, 1997", 2021年3月, "during the war"."""

_REPLACEMENTS = (
    (_ADDRESS, ""),
    (_UNNAMED_CHOICE, r"\1"),
    (_EXTRA_REQUIREMENT, r"\1"),
    (_THRESHOLD, ""),
    (_OPEN_REQUEST, r" \1\2"),
    (_CONJUNCTION, r" \1"),
)
"""What is left of phrases in which a cue means something else."""

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
    many and the like asks for a fact, however it goes on, unless it is about time or compares. A month with its year,
    or an age ("during the war"), counts as the cue "month" in what would else be factual: comparisons and instructions
    may be of a time too.

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
    found = _run_detector(question, detector) if detector is not None else None
    if found is not None:
        return _check_type(found)
    text = _normalise(question)
    if _asks_a_fact(text):
        kinds = kinds[:2]
    for kind, cues in kinds:
        if _contains_any(cues, text):
            return kind
    return "temporal" if _SCENE.search(text) and _contains_any(kinds[0][1], " month ") else "factual"


def _check_cues(cues: Sequence[str], name: str) -> tuple[str, ...]:
    if isinstance(cues, (list, tuple, set, frozenset)) and all(isinstance(cue, str) for cue in cues):
        return tuple(cues)
    raise OrderingError(f"{name} cues are {quoted(cues)}: give a list of texts")


def _run_detector(question: str, detector: Detector) -> QuestionType | None:
    try:
        return detector(question)
    except Exception as error:  # a callable of the caller's may raise anything
        raise OrderingError(
            f"the detector failed for {quoted(question)}: {quoted(error, 200)}; it must return a type, or None for the "
            "cues"
        ) from error


def _check_type(found: QuestionType) -> QuestionType:
    if not isinstance(found, str) or found not in get_args(QuestionType):
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
    for pattern, left in _REPLACEMENTS:
        text = pattern.sub(left, text)
    return text


def _asks_a_fact(text: str) -> bool:
    """Whether it asks for a person, a place or a number, whatever else it names: "who wrote the story"."""
    if _FACT.match(text):
        return True
    return _CHINESE_FACT.search(text) is not None and _CHINESE_WAY.search(text) is None


def _separate_words(text: str) -> str:
    """Words with a space on each side, each Chinese or Japanese character a word of its own."""
    plain = unicodedata.normalize("NFKC", text).casefold().translate(_TO_SIMPLIFIED)
    return " " + " ".join(_WORD.findall(_IDEOGRAPH.sub(r" \1 ", plain))) + " "
