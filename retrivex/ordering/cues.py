"""Words and phrases that indicate the type of a question, in English and Chinese."""

from __future__ import annotations

ADJECTIVES = (
    "快 慢 好 大 小 高 低 贵 便宜 强 重 轻 长 短 多 少 远 近 早 晚 划算 省钱 适合 合适 安全 容易 简单 方便 耐用 有效 "
    "准确 稳定 重要 热 冷 暖和 凉快 深 浅 宽 窄 厚 薄 难 忙 年轻 聪明 漂亮 安静 干净 流行"
)
COMPARATIVES = (
    "better worse faster slower bigger smaller larger cheaper older newer younger taller longer shorter stronger "
    "heavier lighter higher lower nearer safer easier"
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
    "how has ... changed", "how have ... changed", "how did ... change", "how soon", "was the first time",
    "was the last time", "what century", "which century", "what decade", "which decade", "deadline", "deadlines",
    "how long has", "how long have", "how long had", "how long until", "sequence of events", "at what point did",
    "什么时候", "什么时间", "何时", "几时", "时间线", "时间表", "时间顺序", "年表", "最近", "最新", "最早", "之前",
    "之后", "以前", "以后", "以来", "历史", "哪一年", "哪年", "哪一天", "哪天", "哪个月", "几月", "几号", "几点",
    "星期几", "周几", "昨天", "前天", "去年", "前年", "上周", "上星期", "上个月", "日期", "先后", "演变", "哪个世纪",
    "何年", "何月", "何日", "近年来", "近几年", "这几年", "近几个月", "多久了", "按时间排",
)  # fmt: skip
COMPARISON_CUES: tuple[str, ...] = (
    "compare", "compares", "compared", "comparing", "comparison", "difference", "differences", "differ", "differs",
    "versus", "vs", "than", "as opposed to", "similarities", "similarity between", "in common", "pros and cons",
    "contrast", "distinguish", "distinguishes", "distinguishing", "advantages over", "different from",
    "differently from", "sets ... apart", "set ... apart", "tell ... apart", "separates ... from", "trade off",
    "trade offs", "tradeoff", "tradeoffs", "advantages and disadvantages", "advantages and drawbacks",
    "strengths and weaknesses", "choose between", "decide between", "should i ... or", "should we ... or",
    "how similar", "how alike",
    *(f"which ... {word}" for word in COMPARATIVES.split()),
    *(f"{word} ... or" for word in COMPARATIVES.split()),
    *(f"or ... {word}" for word in COMPARATIVES.split()),
    "比较", "对比", "相比", "区别", "差别", "差异", "异同", "优缺点", "有什么不同", "有何不同", "有哪些不同",
    "不同之处", "不同点", "共同点", "相同点", "相似之处", "比...更", "更...还是", "应该...还是", "选...还是",
    "优势和劣势", "优势与劣势", "优点和缺点", "优点与缺点", "优劣", "利弊", "各有什么", "各有哪些", "各有何",
    *(f"{which}更" for which in ("哪个", "哪一个", "哪种", "哪一种", "哪家", "哪款", "谁")),
    *(f"比...{adjective}在哪" for adjective in ADJECTIVES.split()),
    *(f"比...{adjective}吗" for adjective in ADJECTIVES.split()),
    *(f"{one}...更{adjective}" for one in ("哪", "谁", "还是") for adjective in ADJECTIVES.split()),
    *(f"{adjective}还是...{adjective}" for adjective in ADJECTIVES.split()),
    # of two things that are named: 哪个大 alone also begins 哪个大洲
    *(
        f"{link}...哪{unit}{adjective}"
        for link in "和与跟" for unit in ("个", "种", "家", "一个", "一种") for adjective in ADJECTIVES.split()
    ),
)  # fmt: skip
NARRATIVE_CUES: tuple[str, ...] = (
    "summarize", "summarise", "summary", "sum up", "recap", "outline", "synopsis", "explain", "walk through",
    "walk me through", "walkthrough", "overview", "guide", "tutorial",
    "chapter", "section", "step", "steps", "step by step", "how does", "how do", "how did", "how can", "how could",
    "how to", "how should", "how would", "teach me", "instructions", "procedure", "process", "story", "plot",
    "what happens", "what happened", "describe", "tell me about", "tell us about", "gist of",
    *(
        f"{which} way to"
        for which in ("best", "right", "proper", "correct", "easiest", "simplest", "fastest", "quickest")
    ),
    *(f"how {be} ... {made}" for be in ("is", "are", "was", "were") for made in _MADE.split()),
    "总结", "概括", "概述", "综述", "摘要", "解释", "说明", "讲述", "描述", "步骤", "教程", "指南", "流程", "过程",
    "如何", "怎么", "怎样", "章节", "故事", "情节", "事情经过", "的经过", "来龙去脉",
    "简述", "概要", "梗概", "大意", "介绍一下", "讲讲", "讲一讲", "教我",
)  # fmt: skip

NO_CUES: tuple[str, ...] = (
    "look after", "looks after", "looked after", "looking after", "named after", "up to date", "out of date",
    "date palm", "date palms", "tour guide", "tour guides", "guide dog", "guide dogs", "section of", "which section",
    "caesarean section", "cesarean section", "cross section", "which chapter", "which process", "due process",
    "story points", "plot of land", "vs code", "how many days", "how many months", "how many years", "years old",
    "year old", "months old", "days old", "history museum", "history teacher",
    *(f"{each} {time}" for each in ("a", "per", "each", "every") for time in ("day", "month", "year")),
    "nothing more than", "anything more than", "something more than", "little more than", "no more than",
    "or not", "more or less", "rather than", "other than", "later than", "earlier than", "than usual",
    "contrast ratio", "make a difference", "makes a difference", "made a difference",
    "更新", "更改", "更换", "变更", "更年期", "更衣室", "更正", "更多的", "更多信息", "百分比", "比重",
    "有几点", "哪几点", "几点建议", "几点意见", "几点要求", "几点原因", "几号线", "几号楼",
    "历史博物馆", "历史老师", "历史系", "怎么样", "哪个大学", "哪个小学", "哪个高中", "比赛", "比如", "比例", "比利时",
    "比尔", "比特币", "比亚迪", "比萨", "比基尼", "比目鱼", "比喻", "比方",
)  # fmt: skip
"""Phrases in which a cue means something else; left out before cues are looked for."""
