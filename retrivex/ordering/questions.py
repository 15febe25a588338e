"""What kind of question is asked, told by words and turns of phrase in English and Chinese."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal, TypeAlias, get_args

from retrivex.errors import OrderingError, quoted

QuestionType: TypeAlias = Literal["temporal", "comparison", "narrative", "factual"]
"""About time; setting things against each other; how something goes or is done; everything else."""

Detector: TypeAlias = Callable[[str], QuestionType | None]
"""`detector(question)`: its type, or None to leave it to the cues."""

_ADJECTIVES = "快 慢 好 大 小 高 低 贵 便宜 强 重 轻 长 短 多 少 远 近 早 晚"
_COMPARATIVES = (
    "better worse faster slower bigger smaller larger cheaper older newer younger taller longer shorter stronger "
    "heavier lighter higher lower nearer safer easier"
)
_PLACES = (
    "医院 银行 车站 地铁站 火车站 餐厅 餐馆 饭店 咖啡馆 超市 便利店 商场 机场 酒店 学校 图书馆 药店 商店 邮局 公园 "
    "加油站 停车场 洗手间 厕所 派出所 邻居 近邻"
)
_MADE = (
    "made built constructed done produced manufactured formed created written grown harvested prepared cooked brewed "
    "kept stored cleaned used chosen selected elected calculated computed measured determined tested organised "
    "organized managed operated maintained performed carried installed configured implemented assembled repaired fixed "
    "treated processed designed developed discovered invented founded solved trained mined refined recycled"
)

TEMPORAL_CUES: tuple[str, ...] = (
    "when", "date", "dates", "timeline", "chronological", "chronology", "latest", "newest", "earliest", "recent",
    "recently", "before", "after", "since", "until", "year", "years", "month", "months", "day", "days", "history",
    "historical", "evolution", "evolved", "over time", "ago", "what time", "in what order", "in which order",
    "yesterday", "last week", "last month", "last year", "last night", "what changed", "what has changed",
    "how has ... changed", "how have ... changed", "how did ... change", "how soon",
    "was the first time", "was the last time",
    "what century", "which century", "what decade", "which decade",
    "什么时候", "什么时间", "何时", "几时", "时间线", "时间表", "时间顺序", "年表", "最近", "最新", "最早", "之前",
    "之后", "以前", "以后", "以来", "历史", "哪一年", "哪年", "哪一天", "哪天", "哪个月", "几月", "几号", "几点",
    "星期几", "周几", "昨天", "前天", "去年", "前年", "上周", "上星期", "上个月", "日期", "先后", "演变", "哪个世纪",
)  # fmt: skip
COMPARISON_CUES: tuple[str, ...] = (
    "compare", "compares", "compared", "comparing", "comparison", "difference", "differences", "differ", "differs",
    "versus", "vs", "than", "as opposed to", "similarities", "similarity between", "in common", "pros and cons",
    "contrast", "distinguish", "distinguishes", "distinguishing", "advantages over", "different from",
    "differently from", "sets ... apart", "set ... apart",
    *(f"which ... {word}" for word in _COMPARATIVES.split()),
    *(f"{word} ... or" for word in _COMPARATIVES.split()),
    *(f"or ... {word}" for word in _COMPARATIVES.split()),
    "比较", "对比", "相比", "区别", "差别", "差异", "异同", "优缺点", "有什么不同", "有何不同", "有哪些不同",
    "不同之处", "不同点", "共同点", "相同点", "相似之处", "比...更", "更...还是", "更便宜",
    *(f"比...{adjective}吗" for adjective in _ADJECTIVES.split()),
    *(f"哪...更{adjective}" for adjective in _ADJECTIVES.split()),
    *(f"{adjective}还是...{adjective}" for adjective in _ADJECTIVES.split()),
    # of two things that are named: 哪个大 alone also begins 哪个大洲
    *(
        f"{link}...哪{unit}{adjective}"
        for link in "和与跟" for unit in ("个", "种", "家", "一个", "一种") for adjective in _ADJECTIVES.split()
    ),
)  # fmt: skip
NARRATIVE_CUES: tuple[str, ...] = (
    "summarize", "summarise", "summary", "sum up", "recap", "outline", "synopsis", "explain", "walk through",
    "walk me through", "walkthrough", "overview", "guide", "tutorial",
    "chapter", "section", "step", "steps", "step by step", "how does", "how do", "how did", "how can", "how could",
    "how to", "how should", "how would", "instructions", "procedure", "process", "story", "plot", "what happens",
    "what happened", "describe",
    *(f"how {be} ... {made}" for be in ("is", "are", "was", "were") for made in _MADE.split()),
    "总结", "概括", "概述", "综述", "摘要", "解释", "说明", "讲述", "描述", "步骤", "教程", "指南", "流程", "过程",
    "如何", "怎么", "怎样", "章节", "故事", "情节", "事情经过", "的经过", "来龙去脉",
)  # fmt: skip

_NO_CUES: tuple[str, ...] = (
    "look after", "looks after", "looked after", "looking after", "named after", "up to date", "out of date",
    "date palm", "date palms", "tour guide", "tour guides", "guide dog", "guide dogs", "section of", "which section",
    "caesarean section", "cesarean section", "cross section", "which chapter", "which process", "due process",
    "story points", "plot of land", "vs code", "how many days", "how many months", "how many years", "years old",
    "year old", "months old", "days old", "history museum", "history teacher",
    *(f"{each} {time}" for each in ("a", "per", "each", "every") for time in ("day", "month", "year")),
    "more than", "less than", "fewer than", "rather than", "other than", "later than", "earlier than", "than usual",
    "than expected", "than average", "than normal", "than necessary", "than ever", "contrast agent", "contrast agents",
    "contrast ratio", "make a difference", "makes a difference", "made a difference",
    # asks for a number, an address or a word, not for a way to go
    *(
        f"{way} {ask}"
        for way in (
            "how to",
            *(f"how {do} {one}" for do in ("do", "can", "could", "should", "would") for one in ("i", "we", "you")),
        )
        for ask in ("contact", "reach you", "reach us", "reach support", "spell", "pronounce", "say")
    ),
    *(f"{how}{ask}" for how in ("怎么", "如何", "怎样") for ask in ("联系", "联络", "称呼", "发音")),
    # of words alone: 怎么读 also begins 怎么读取
    *(f"{word}{how}{ask}" for word in "字词" for how in ("怎么", "如何", "怎样") for ask in ("读", "念")),
    "更新", "更改", "更换", "变更", "更多的", "更多信息", "百分比", "比重", "有几点", "几号线", "几号楼",
    "历史博物馆", "历史老师", "历史系", "怎么样", "哪个大学", "哪个小学", "哪个高中", "比赛", "比如", "比例", "比利时",
    "比尔", "比特币", "对比度", "比平时", "比往常", "比一般", "比预期", "说明书", "指南针", "解释器", "描述符",
    "故事书",
    *(f"最近的{place}" for place in _PLACES.split()),
)  # fmt: skip
"""Phrases in which a cue means something else; left out before cues are looked for."""

_WHENEVER = (
    "happens happen happened do does even only especially except error errors fail fails failed crashes break breaks"
)
_THRESHOLD = re.compile(r" (?:than|比)(?= \d)")
"""Compares with a number: "older than 30"."""

_CONJUNCTION = re.compile(rf" ({'|'.join(_WHENEVER.split())}) when(?= )")
"""`when` asks nothing: "what happens when a queen dies"."""

_FACT = re.compile(
    " (?:who(?! can | could )|where|whose|whom|how (?:many|much|old|far|tall|big|large|high|deep|long|often)) "
)
_CHINESE_FACT = re.compile("谁(?! [能可来])|哪 里|哪 儿|在 哪 |多 少")
_CHINESE_WAY = re.compile("如 何|怎 么|怎 样")

_TRADITIONAL = (
    "麼麽時幾間線順後來歷變較對區別異優點個總結綜釋說説講驟過樣節經龍脈嗎還貴強輕長遠"
    "館醫銀車鐵廳機場學藥郵號週種賽爾與誰裡聯絡讀稱發書紀針寫"
)
_SIMPLIFIED = (
    "么么时几间线顺后来历变较对区别异优点个总结综释说说讲骤过样节经龙脉吗还贵强轻长远"
    "馆医银车铁厅机场学药邮号周种赛尔与谁里联络读称发书纪针写"
)
_TO_SIMPLIFIED = str.maketrans(_TRADITIONAL, _SIMPLIFIED)

_IDEOGRAPH = re.compile(r"([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])")
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
        ("temporal", _cues(temporal, "temporal")),
        ("comparison", _cues(comparison, "comparison")),
        ("narrative", _cues(narrative, "narrative")),
    )
    if question is None or not question.strip():
        return "factual"
    found = _detected(question, detector) if detector is not None else None
    if found is not None:
        return _known(found)
    text = _plain(question)
    if _asks_a_fact(text):
        kinds = kinds[:2]
    return next((kind for kind, cues in kinds if _stands_one(cues, text)), "factual")


def _cues(cues: Sequence[str], name: str) -> tuple[str, ...]:
    if isinstance(cues, (list, tuple, set, frozenset)) and all(isinstance(cue, str) for cue in cues):
        return tuple(cues)
    raise OrderingError(f"{name} cues are {quoted(cues)}: give a list of texts")


def _detected(question: str, detector: Detector) -> QuestionType | None:
    try:
        return detector(question)
    except Exception as error:  # a callable of the caller's may raise anything
        raise OrderingError(
            f"the detector failed for {quoted(question)}: {quoted(error, 200)}; it must return a type, or None for the "
            "cues"
        ) from error


def _known(found: QuestionType) -> QuestionType:
    if not isinstance(found, str) or found not in get_args(QuestionType):
        raise OrderingError(
            f"the detector returned {quoted(found)}: it must be one of {', '.join(get_args(QuestionType))}, or None"
        )
    return found


@lru_cache(maxsize=64)
def _parted(cues: tuple[str, ...]) -> list[list[str]]:
    """Return the parts of each cue, in the form of `_spaced`; cues of nothing are left out."""
    parted = [[_spaced(part) for part in cue.split("...") if part.strip()] for cue in cues]
    return [parts for parts in parted if parts]


def _stands_one(cues: tuple[str, ...], text: str) -> bool:
    # most cues begin with what is not there at all, and asking for that first is several times as fast
    return any(parts[0] in text and _stands(parts, text) for parts in _parted(cues))


def _stands(parts: list[str], text: str) -> bool:
    """Whether all parts stand in the text, one after the other."""
    end = 0
    for part in parts:
        start = text.find(part, end)
        if start < 0:
            return False
        end = start + len(part) - 1  # the space behind one part is that before the next
    return True


def _plain(question: str) -> str:
    text = _spaced(question)
    for (phrase,) in _parted(_NO_CUES):
        text = text.replace(phrase, " ")
    return _CONJUNCTION.sub(r" \1", _THRESHOLD.sub("", text))


def _asks_a_fact(text: str) -> bool:
    """Whether it asks for a person, a place or a number, whatever else it names: "who wrote the story"."""
    if _FACT.match(text):
        return True
    return _CHINESE_FACT.search(text) is not None and _CHINESE_WAY.search(text) is None


def _spaced(text: str) -> str:
    """Words with a space on each side, each Chinese or Japanese character a word of its own."""
    plain = unicodedata.normalize("NFKC", text).casefold().translate(_TO_SIMPLIFIED)
    return " " + " ".join(_WORD.findall(_IDEOGRAPH.sub(r" \1 ", plain))) + " "
