"""What kind of question is asked, told by words and turns of phrase in English and Chinese."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias, get_args

from retrivex.errors import OrderingError

QuestionType: TypeAlias = Literal["temporal", "comparison", "narrative", "factual"]
"""About time; setting things against each other; how something goes or is done; everything else."""

Detector: TypeAlias = Callable[[str], QuestionType | None]
"""`detector(question)`: its type, or None to leave it to the cues."""

TEMPORAL_CUES: tuple[str, ...] = (
    "when", "date", "dates", "timeline", "chronological", "chronology", "latest", "newest", "recent", "recently",
    "before", "after", "since", "until", "year", "years", "month", "months", "day", "days", "history", "historical",
    "evolution", "evolved", "over time", "how long ago",
    "什么时候", "何时", "几时", "时间线", "时间表", "时间顺序", "年表", "最近", "最新", "之前", "之后", "以前", "以后",
    "以来", "历史", "哪一年", "哪年", "几月", "日期", "先后", "演变",
)  # fmt: skip
COMPARISON_CUES: tuple[str, ...] = (
    "compare", "compares", "compared", "comparing", "comparison", "difference", "differences", "differ", "differs",
    "versus", "vs", "better than", "worse than", "as opposed to", "similarities", "pros and cons", "contrast",
    "distinguish", "advantages over",
    "比较", "对比", "相比", "区别", "差别", "差异", "不同", "异同", "优缺点", "哪个更", "哪个好",
)  # fmt: skip
NARRATIVE_CUES: tuple[str, ...] = (
    "summarize", "summarise", "summary", "explain", "walk through", "walk me through", "overview", "guide", "tutorial",
    "chapter", "section", "step", "steps", "step by step", "how does", "how do", "how can i", "how to", "how should",
    "instructions", "procedure", "process", "story", "plot", "what happens", "what happened", "describe",
    "总结", "概括", "概述", "综述", "解释", "说明", "讲述", "描述", "步骤", "教程", "指南", "流程", "过程", "如何",
    "怎么", "怎样", "章节", "故事", "情节", "经过", "来龙去脉",
)  # fmt: skip

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

    Cues are matched as whole words, in any case and width; those in Chinese or Japanese characters anywhere.

    Parameters
    ----------
    question : as asked; None or blank is factual
    temporal, comparison, narrative : the cues
    detector : asked first; None from it leaves the answer to the cues

    Raises
    ------
    OrderingError
        If the question is no text, or `detector` fails or returns something else than a type or None.

    Examples
    --------
    >>> question_type("When did the bees arrive?"), question_type("蜜蜂和黄蜂有什么区别？")
    ('temporal', 'comparison')
    >>> question_type("How do I build a hive?"), question_type("Who keeps bees in Whenham?")
    ('narrative', 'factual')
    """
    if question is not None and not isinstance(question, str):
        raise OrderingError(f"question is {question!r:.80}: give a text, or None where there is no question")
    if question is None or not question.strip():
        return "factual"
    found = _detected(question, detector) if detector is not None else None
    if found is not None:
        return _known(found)
    text = _spaced(question)
    kinds: tuple[tuple[QuestionType, Sequence[str]], ...] = (
        ("temporal", temporal),
        ("comparison", comparison),
        ("narrative", narrative),
    )
    return next((kind for kind, cues in kinds if any(_spaced(cue) in text for cue in cues if cue.strip())), "factual")


def _detected(question: str, detector: Detector) -> QuestionType | None:
    try:
        return detector(question)
    except Exception as error:  # a callable of the caller's may raise anything
        raise OrderingError(
            f"the detector failed for {question!r:.80}: {error!r}; it must return a type, or None for the cues"
        ) from error


def _known(found: QuestionType) -> QuestionType:
    if not isinstance(found, str) or found not in get_args(QuestionType):
        raise OrderingError(
            f"the detector returned {found!r}: it must be one of {', '.join(get_args(QuestionType))}, or None"
        )
    return found


def _spaced(text: str) -> str:
    """Words with a space on each side, each Chinese or Japanese character a word of its own."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " " + " ".join(_WORD.findall(_IDEOGRAPH.sub(r" \1 ", plain))) + " "
