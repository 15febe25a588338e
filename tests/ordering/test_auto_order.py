"""Types of questions, and the order that suits them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from retrivex.errors import OrderingError
from retrivex.ordering import AutoSettings, auto, choose_order, question_type


@pytest.mark.parametrize(("question", "expected"), [
    ("When did the bees arrive?", "temporal"),
    ("What changed since the last release?", "temporal"),
    ("Show me the TIMELINE of events", "temporal"),
    ("蜂王是什么时候产卵的？", "temporal"),
    ("最近有哪些变化", "temporal"),
    ("What is the difference between bees and wasps?", "comparison"),
    ("PostgreSQL vs. SQLite", "comparison"),
    ("GPT和BERT的区别是什么？", "comparison"),
    ("蜜蜂与黄蜂相比有什么优缺点", "comparison"),
    ("How do I split a hive?", "narrative"),
    ("Walk me through the installation", "narrative"),
    ("Explain the plot of the novel", "narrative"),
    ("如何安装这个软件？", "narrative"),
    ("请总结第三章", "narrative"),
    ("Who keeps the bees?", "factual"),
    ("蜂王在哪里？", "factual"),
    ("Whenham is a village, weekday or not", "factual"),
    ("", "factual"),
    ("   ", "factual"),
    (None, "factual"),
    ("Explain when it happened", "temporal"),
    ("Explain the differences", "comparison"),
])  # fmt: skip
def test_questions_and_their_types(question: str | None, expected: str) -> None:
    assert question_type(question) == expected


QUESTIONS = {
    "temporal": """When did the bees arrive? | What time did the swarm leave? | What is the earliest record of the hive?
        | In what order were the hives moved? | How has beekeeping changed? | How have prices changed in ten years?
        | What changed in 2023? | What happened last week? | What was decided yesterday? | What is the latest version?
        | 蜂王是什么时候产卵的？ | 蜂王是什麼時候產卵的？ | 会议在哪一天？ | 商店几点开门？ | 會議幾點開始？
        | 二十号是星期几？
        | 昨天发生了什么？ | 去年卖了多少蜂蜜？ | 最近有哪些变化 | 最近有哪些變化 | 請列出時間線 | 公司的歷史""",
    "comparison": """Which is better, Python or Java? | What distinguishes a wasp from a bee? | PostgreSQL vs. SQLite
        | What makes Rust different from Go?
        | Is tea healthier than coffee? | Is gold more expensive than silver? | Which planet is bigger, Mars or Venus?
        | What is the difference between bees and wasps? | Compare the two hives | 蜜蜂和黄蜂有什么区别？
        | 蜜蜂和黃蜂有什麼區別？ | 比較蜜蜂和黃蜂 | 北京和上海哪个大？ | 高铁和飞机哪个快？ | 高鐵和飛機哪個快？
        | 金比银贵吗？
        | 金比銀貴嗎？ | 哪家店更便宜？ | 两种蜂箱有什么不同？ | 兩者的差異和優缺點""",
    "narrative": """How did the war begin? | How is honey made? | How was the bridge built? | How were the hives kept?
        | How do I split a hive? | How can a queen be marked? | Walk me through the installation | Summarize chapter two
        | 怎么安装这个软件？ | 怎麼安裝這個軟體？ | 安装步骤有哪些？ | 安裝步驟有哪些？ | 請總結第三章 | 解釋這個過程
        | 讲一讲事情经过""",
    "factual": """Who looks after the bees? | Who was the island named after? | Is the list up to date?
        | Where does the date palm grow... in Egypt? | Who was the tour guide? | Which section of the Act covers bees?
        | Are there more than five hives? | How old is the queen? | How is the weather? | Who keeps the bees?
        | 最近的医院在哪里？ | 最近的醫院在哪裡？ | 火车经过哪些城市？ | 城里有三个不同的公园吗？ | 历史博物馆在哪里？
        | 歷史博物館在哪裡？ | 今天天气怎么样？ | 今天天氣怎麼樣？ | 他在哪个大学工作？ | 比赛是谁赢的吗？
        | 比亚迪是中国公司吗？ | 埃及在哪个大洲？ | 北京有哪种小吃最有名？ | 哪家公司更名为Meta？ | 哪些症状属于更年期？
        | Which company is owned by Alphabet or Meta? | Where do I install VS Code? | How many days are in a week?
        | 蜂王在哪里？
        | 哪里可以看到更多信息？ | 在哪里更新软件？ | 他有几点建议？ | 機場在幾號線？""",
}


FURTHER = {
    "temporal": """How long ago was the bridge built? | In which century did the abbey burn? | Since when is he king?
        | Tell me when the shop opens | How soon can the hive be opened? | When should I feed the bees?
        | Who was mayor before Smith? | How many hives were sold last year? | When was the first time a queen was seen?
        | 你们是从什么时候开始营业的？ | 这座桥建于哪个世纪？ | 他去年住在哪里？ | 谁是最早的国王？""",
    "comparison": """Is Rome or Athens older? | Who is taller, Ann or Bob? | What is better, tea or coffee?
        | What do bees and wasps have in common? | What sets Rust apart from Go? | Which of the two is cheaper?
        | How do bees and wasps differ? | Where is milk cheaper than in Spain? | Is Ann older than Bob?
        | 北京大还是上海大？ | 两个方案有什么共同点？ | 茶和咖啡哪一个好？ | 这两种材料的相似之处 | 谁比他高吗？""",
    "narrative": """How was the bridge constructed? | How is the queen selected? | How are bricks manufactured?
        | How is beer brewed? | How was penicillin discovered? | How are the votes counted? Describe it
        | What happens when a queen dies? | Give me a recap of the meeting | Sum up the report | Outline the argument
        | Who can explain the process? | How can I install it? | How do I call a function with two arguments?
        | How do we reach a decision? | What should I do? Explain
        | How do I rate limit an API? | How do you do a backup?
        | How do I reset the first time setup? | 怎么读取CSV文件？ | 如何读懂财务报表？ | 怎样念好英语？
        | 如何在多少分钟内安装完成？ | 谁能解释一下这个过程？ | 故障时怎么办？ | 请概括这篇文章 | 怎么写一份说明书？""",
    "factual": """How can I contact support? | How do I contact the landlord? | How could we reach you?
        | How do you spell rhythm? | How do you pronounce Whenham? | How to contact you?
        | Who is older than 30? | Which rooms hold more people than 200? | Are there hives with fewer than ten frames?
        | Is it hotter than usual? | Who wrote the story? | Who drew the plot? | Where is the user guide?
        | How many steps does the tower have? | How many chapters does it have? | Where can I find the instructions?
        | How much does it cost per month? | How many eggs does a queen lay a day? | Who is thirty years old?
        | What should I do when the engine overheats? | Does it work even when it rains?
        | Which process uses most memory? | Where is the natural history museum? | Does it make a difference?
        | What is the contrast ratio? | How often is the filter cleaned? | How tall is the tower they built?
        | Why did it fail the last time?
        | 如何联系客服？ | 怎么联系房东？ | 这个字怎么读？ | 谁写了这个故事？ | 说明书在哪里？ | 谁比30岁大吗？
        | 這個故事是誰寫的？ | 如何聯絡客服？ | 說明書在哪裡？ | 最近的加油站在哪里？ | 指南针是谁发明的？
        | 屏幕的对比度是多少？ | 这本教程多少钱？
        | 今天比平时更热吗？ | 哪里可以下载教程？""",
}


MISTAKEN = {
    "temporal": """How long has the bridge been closed? | What is the deadline for the report? | 会议几点结束？""",
    "comparison": """Should I use Postgres or MySQL? | What are the trade-offs between tabs and spaces?
        | What separates a crow from a raven? | How do you tell a swarm and a colony apart?
        | What are the advantages and disadvantages of nuclear power? | Does a queen weigh more than a worker?
        | Do electric cars pollute less than petrol cars? | Which has a better camera, the S20 or the P30?
        | Is a hive of wood better or one of straw? | Is it cheaper to rent or to buy?
        | 坐火车还是坐飞机更快？ | 谁跑得更快，兔子还是乌龟？ | 应该租房还是买房？ | 选公积金贷款还是商业贷款？
        | 电动车比汽油车更省钱吗？ | 这两种方案各有什么优势和劣势？ | 這項政策的利弊是什麼？ | 哪种蜂箱更适合新手？""",
    "narrative": """How to spell check a document? | How do I spell-check my email? | Teach me how to whittle
        | How do I spell out numbers? | How do I separate eggs from the yolk? | How do I find a better job or flat?
        | 如何联系实际进行教学？ | 怎么检查拼写？ | 如何更换电池？""",
    "factual": """Is there a faster way or shortcut? | Is there a cheaper plan or discount?
        | Can you recommend a better book or podcast? | Do you have an older model or a spare part?
        | Are there any safer routes or bridges? | Are there smaller sizes or other colours?
        | Is the product safer or not? | What day care options exist? | Is there a summary judgment rule?
        | Does a hive hold more than a thousand bees? | Is it open more than once a week? | How to spell rhythm?
        | 有没有更快的方法或者捷径？ | 有更便宜的套餐吗？ | 哪里能买到更大的蜂箱？ | 他提了哪几点要求？
        | 怎么联络售后？ | 如何称呼王老师？""",
}


@pytest.mark.parametrize(
    ("question", "expected"),
    [(" ".join(question.split()), kind) for kind, asked in MISTAKEN.items() for question in asked.split("|")],
)
def test_questions_that_cues_alone_mistake(question: str, expected: str) -> None:
    assert question_type(question) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [(" ".join(question.split()), kind) for kind, asked in FURTHER.items() for question in asked.split("|")],
)
def test_questions_that_words_alone_would_mislead_about(question: str, expected: str) -> None:
    assert question_type(question) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [(question.strip(), kind) for kind, questions in QUESTIONS.items() for question in questions.split("|")],
)
def test_questions_in_english_and_chinese_of_both_scripts(question: str, expected: str) -> None:
    assert question_type(question) == expected


def test_cues_with_a_gap() -> None:
    cues = ("is ... ripe", "...", "")
    assert question_type("Is the honey ripe?", narrative=cues) == "narrative"
    assert question_type("IS RIPE", narrative=cues) == "narrative"
    assert question_type("Ripe it is", narrative=cues) == "factual"
    assert question_type("比一比吗", comparison=("比...比...吗",)) == "comparison"
    assert question_type("比吗", comparison=("比...比...吗",)) == "factual"


def test_cues_are_settable_and_the_width_of_letters_does_not_matter() -> None:
    assert question_type("What is the Quokka count?", temporal=("quokka count",)) == "temporal"
    assert question_type("When was it?", temporal=()) == "factual"
    assert question_type("ＷＨＥＮ was it?") == "temporal"
    assert question_type("Who?", temporal=("", " ")) == "factual"


def test_a_detector_goes_first_and_may_pass() -> None:
    assert question_type("Who?", detector=lambda question: "narrative") == "narrative"
    assert question_type("When?", detector=lambda question: None) == "temporal"
    with pytest.raises(OrderingError, match="the detector returned 'story'"):
        question_type("Who?", detector=lambda question: "story")  # type: ignore[arg-type, return-value]


def test_a_detector_is_not_asked_about_nothing() -> None:
    assert question_type(" ", detector=lambda question: "narrative") == "factual"


def passages(count: int = 5, *, dated: int = 0, sourced: int = 0, placed: int = 0, sources: int = 2) -> list[Any]:
    """Passages of which the first so many have a timestamp, a source and a section."""
    made = []
    for i in range(count):
        metadata: dict[str, Any] = {}
        if i < dated:
            metadata["timestamp"] = 100 - i
        if i < sourced:
            metadata["source_id"] = f"s{i % sources}"
        if i < placed:
            metadata["section_index"] = i
        made.append({"id": i, "score": 1 - i / 10, "token_count": 100, "metadata": metadata})
    return made


@pytest.mark.parametrize(("question", "items", "strategy", "reason"), [
    ("When?", passages(dated=2), "chronological", "temporal question, 40% have a timestamp"),
    ("When?", passages(dated=1), "edge_balanced", "only 20% have a timestamp"),
    ("How to?", passages(sourced=2, placed=2), "document", "40% have a source and 40% a position"),
    ("How to?", passages(sourced=2, placed=1), "edge_balanced", "40% have a source and 20% a position"),
    ("How to?", passages(sourced=1, placed=5), "edge_balanced", "only 20% have a source"),
    ("A vs B", passages(sourced=5), "group_by", "100% have a source: grouped by document"),
    ("A vs B", passages(sourced=5, sources=1), "edge_balanced", "1 known documents"),
    ("A vs B", passages(sourced=1), "edge_balanced", "1 known documents"),
    ("Who?", passages(dated=5, sourced=5, placed=5), "edge_balanced", "factual question"),
    ("When?", [], "edge_balanced", "only 0%"),
])  # fmt: skip
def test_choices_and_their_reasons(question: str, items: list[Any], strategy: str, reason: str) -> None:
    choice = choose_order(items, question)
    assert choice.strategy == strategy
    assert reason in choice.reason


def test_coverage_counts_what_can_be_used() -> None:
    bad = {"metadata": {"timestamp": float("nan"), "source_id": "", "section_index": "three"}}
    good = {"metadata": {"timestamp": datetime(2026, 1, 1, tzinfo=UTC), "source_id": 0, "section_index": 0}}
    assert choose_order([bad, good], None).coverage == {"timestamp": 0.5, "source": 0.5, "section": 0.5}


def test_thresholds_are_settable() -> None:
    items = passages(dated=2, sourced=2, placed=2)
    assert choose_order(items, "When?", settings=AutoSettings(timestamp_coverage=0.5)).strategy == "edge_balanced"
    assert choose_order(items, "How to?", settings=AutoSettings(source_coverage=0.5)).strategy == "edge_balanced"
    assert choose_order(items, "How to?", settings=AutoSettings(section_coverage=0.5)).strategy == "edge_balanced"
    assert choose_order(items, "A vs B", settings=AutoSettings(source_coverage=0.5)).strategy == "edge_balanced"
    assert choose_order(items, "A vs B", settings=AutoSettings(comparison_cues=())).strategy == "edge_balanced"
    assert choose_order(items, "Bitte", settings=AutoSettings(narrative_cues=("bitte",))).strategy == "document"
    assert choose_order(items, "Wann?", settings=AutoSettings(temporal_cues=("wann",))).strategy == "chronological"


def test_in_a_nearly_full_window_the_best_come_last() -> None:
    items = passages()
    full = choose_order(items, "Who?", settings=AutoSettings(context_window=600))
    assert (full.strategy, full.fill) == ("best_last", pytest.approx(500 / 600))
    assert "83% of the context window is full" in full.reason
    half = choose_order(items, "Who?", settings=AutoSettings(context_window=1000))
    assert (half.strategy, half.fill) == ("edge_balanced", 0.5)
    early = choose_order(items, "Who?", settings=AutoSettings(context_window=1000, near_full=0.5))
    assert early.strategy == "best_last"
    # an order that keeps the sense of the texts together stays
    dated = passages(dated=5)
    assert choose_order(dated, "When?", settings=AutoSettings(context_window=100)).strategy == "chronological"


def test_the_window_needs_token_counts() -> None:
    with pytest.raises(OrderingError, match="name their field with tokens="):
        choose_order([{"id": 1}], "Who?", settings=AutoSettings(context_window=100))
    assert choose_order([{"n": 90}], "Who?", settings=AutoSettings(context_window=100), tokens="n").fill == 0.9


@pytest.mark.parametrize("wrong", [{"near_full": 0}, {"context_window": 0}, {"timestamp_coverage": 1.1}, {"cues": ()}])
def test_settings_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        AutoSettings(**wrong)


@pytest.mark.parametrize(("question", "window", "expected"), [
    ("When?", None, [4, 3, 2, 1, 0]),
    ("How to?", None, [0, 2, 4, 1, 3]),
    ("A vs B", None, [0, 4, 2, 1, 3]),
    ("Who?", None, [0, 2, 4, 3, 1]),
    ("Who?", 500, [4, 3, 2, 1, 0]),
])  # fmt: skip
def test_items_in_the_order_chosen(question: str, window: int | None, expected: list[int]) -> None:
    items = passages(dated=5, sourced=5, placed=5)
    made = auto(items, question=question, score="score", settings=AutoSettings(context_window=window))
    assert [item["id"] for item in made] == expected


class Odd:
    def __hash__(self) -> int:
        raise RuntimeError("odd")


@pytest.mark.parametrize("bad", ["yesterday", "2020", [2020], np.zeros(3), b"1"], ids=repr)
def test_a_time_that_is_none_rules_chronological_order_out(bad: Any) -> None:
    items = [*passages(4, dated=4), {"id": 4, "score": 0.1, "timestamp": bad}]
    choice = choose_order(items, "When?")
    assert (choice.strategy, choice.coverage["timestamp"]) == ("edge_balanced", 0.8)
    assert f"{bad!r} is no time" in choice.reason
    assert [item["id"] for item in auto(items, question="When?", score="score")] == [0, 2, 4, 3, 1]


@pytest.mark.parametrize("question", ["A vs B", "How to?"])
@pytest.mark.parametrize(
    "bad", [["a"], {"a": 1}, ("a", [1]), np.zeros(3), Odd()], ids=lambda value: type(value).__name__
)
def test_a_source_that_cannot_be_told_from_others_rules_document_orders_out(question: str, bad: Any) -> None:
    items = [*passages(4, sourced=4, placed=4), {"id": 4, "score": 0.1, "source_id": bad}]
    choice = choose_order(items, question)
    assert (choice.strategy, choice.coverage["source"]) == ("edge_balanced", 0.8)
    assert f"source {bad!r:.80} cannot be compared" in choice.reason
    assert [item["id"] for item in auto(items, question=question, score="score")] == [0, 2, 4, 3, 1]
    # it does no harm where no order reads it
    assert choose_order(items, "When?").reason == choose_order(passages(4), "When?").reason


def test_values_of_any_size_are_known() -> None:
    items = [{"source_id": 10**5000, "timestamp": 10**5000}, {"source_id": 1, "timestamp": float("nan")}]
    assert choose_order(items, "A vs B").reason == "comparison, 100% have a source: grouped by document"
    assert choose_order(items, "When?").reason == "temporal question, 50% have a timestamp: by time"
    assert auto(items, question="When?", ranked=True) == items


@given(
    st.lists(
        st.fixed_dictionaries(
            {"score": st.floats(0, 1)},
            optional={
                name: st.none()
                | st.integers()
                | st.floats()
                | st.text(max_size=3)
                | st.lists(st.integers(), max_size=2)
                for name in ("timestamp", "source_id", "section_index")
            },
        ),
        max_size=6,
    ),
    st.sampled_from(["When?", "A vs B", "How to?", "Who?"]),
)
def test_what_is_chosen_can_be_done(items: list[dict[str, Any]], question: str) -> None:
    made = auto(items, question=question, score="score")
    assert sorted(map(id, made)) == sorted(map(id, items))


@pytest.mark.parametrize("settings", [{"near_full": 0.5}, None, AutoSettings], ids=repr)
def test_settings_are_settings(settings: Any) -> None:
    with pytest.raises(OrderingError, match=r"settings are .*: give AutoSettings\(...\)"):
        choose_order([], "When?", settings=settings)
    with pytest.raises(OrderingError, match=r"settings are .*: give AutoSettings\(...\)"):
        auto([], question="When?", settings=settings)


@pytest.mark.parametrize("kind", ["temporal", "comparison", "narrative"])
@pytest.mark.parametrize("cues", ["cat", None, [5], [["cat"]], 5, {"cat": 1}], ids=repr)
def test_cues_are_texts(kind: str, cues: Any) -> None:
    with pytest.raises(OrderingError, match=f"{kind} cues are .*: give a list of texts"):
        question_type("Cats?", **{kind: cues})
