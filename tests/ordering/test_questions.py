"""Types of questions, told by words."""

from __future__ import annotations

from typing import Any

import pytest

from retrivex.errors import OrderingError
from retrivex.ordering import question_type


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
    "temporal": """When did the bees arrive? | What time did the swarm leave?
        | What is the earliest record of the hive? | In what order were the hives moved?
        | How have prices changed in ten years? | What changed in 2023? | What happened last week?
        | What was decided yesterday? | 蜂王是什么时候产卵的？ | 蜂王是什麼時候產卵的？ | 会议在哪一天？
        | 商店几点开门？ | 二十号是星期几？ | 昨天发生了什么？ | 去年卖了多少蜂蜜？ | 最近有哪些变化
        | 請列出時間線 | 公司的歷史 | How long ago was the bridge built?
        | In which century did the abbey burn? | Tell me when the shop opens
        | How soon can the hive be opened? | When should I feed the bees? | Who was mayor before Smith?
        | When was the first time a queen was seen? | 你们是从什么时候开始营业的？ | 这座桥建于哪个世纪？
        | 他去年住在哪里？ | How long has the bridge been closed? | What is the deadline for the report?
        | 会议几点结束？ | What year did the Ottoman Empire fall?
        | At what point did the company stop paying dividends?
        | What is the sequence of events leading up to the crash? | 近几年房价有什么变化？
        | 请按时间排列这些事件 | 这家公司成立多久了？ | 这座塔建于何年？""",
    "comparison": """Which is better, Python or Java? | What distinguishes a wasp from a bee? | PostgreSQL vs. SQLite
        | What makes Rust different from Go? | Is gold more expensive than silver?
        | Which planet is bigger, Mars or Venus? | What is the difference between bees and wasps?
        | Compare the two hives | 蜜蜂和黃蜂有什麼區別？ | 比較蜜蜂和黃蜂 | 北京和上海哪个大？
        | 高铁和飞机哪个快？ | 金比银贵吗？ | 金比銀貴嗎？ | 哪家店更便宜？ | 两种蜂箱有什么不同？
        | Is Rome or Athens older? | Who is taller, Ann or Bob? | What is better, tea or coffee?
        | What do bees and wasps have in common? | Which of the two is cheaper?
        | How do bees and wasps differ? | Where is milk cheaper than in Spain? | Is Ann older than Bob?
        | 两个方案有什么共同点？ | 茶和咖啡哪一个好？ | 这两种材料的相似之处 | 谁比他高吗？
        | What are the trade-offs between tabs and spaces? | What separates a crow from a raven?
        | How do you tell a swarm and a colony apart?
        | What are the advantages and disadvantages of nuclear power?
        | Do electric cars pollute less than petrol cars? | Which has a better camera, the S20 or the P30?
        | Is a hive of wood better or one of straw? | Is it cheaper to rent or to buy?
        | 谁跑得更快，兔子还是乌龟？ | 应该租房还是买房？ | 选公积金贷款还是商业贷款？
        | 电动车比汽油车更省钱吗？ | 這項政策的利弊是什麼？ | 哪种蜂箱更适合新手？
        | Is a heat pump cheaper to run than a gas boiler? | How does a violin differ from a viola?
        | Should we lease or buy the van? | What are the pros and cons of remote work? | 上海比北京热吗？
        | 比亚迪比特斯拉贵吗？ | How similar are Danish and Norwegian?
        | How do I choose between Postgres and MySQL? | 猫和狗哪个更聪明？ | 租房和买房各有什么好处？
        | 这款手机比上一代好在哪里？""",
    "narrative": """How did the war begin? | How is honey made? | How was the bridge built? | How were the hives kept?
        | How can a queen be marked? | Walk me through the installation | Summarize chapter two
        | 怎么安装这个软件？ | 安装步骤有哪些？ | 安裝步驟有哪些？ | 請總結第三章 | 解釋這個過程
        | How was the bridge constructed? | How is the queen selected? | How are bricks manufactured?
        | How is beer brewed? | How are the votes counted? Describe it | What happens when a queen dies?
        | Give me a recap of the meeting | Sum up the report | Who can explain the process?
        | How can I install it? | How do I call a function with two arguments? | How do we reach a decision?
        | How do I rate limit an API? | How do you do a backup? | How do I reset the first time setup?
        | 怎么读取CSV文件？ | 怎样念好英语？ | 如何在多少分钟内安装完成？ | 谁能解释一下这个过程？
        | 故障时怎么办？ | 怎么写一份说明书？ | How to spell check a document?
        | How do I spell-check my email? | Teach me how to whittle | How do I separate eggs from the yolk?
        | 如何联系实际进行教学？ | 怎么检查拼写？ | 如何更换电池？ | How does a bill become a law?
        | Give me the gist of the report | What steps are needed to register a company?
        | Can you show me how to tie a bowline? | What is the best way to remove red wine stains?
        | 怎样给孩子讲故事？ | 请介绍一下申请签证的流程 | 请简述这部小说的内容 | 教我包饺子
        | 英语怎么说得流利？ | 請簡述這部小說的內容 | 請介紹一下這家公司""",
    "factual": """Who looks after the bees? | Who was the island named after? | Is the list up to date?
        | Where does the date palm grow... in Egypt? | Which section of the Act covers bees?
        | How old is the queen? | How is the weather? | Who keeps the bees? | 城里有三个不同的公园吗？
        | 历史博物馆在哪里？ | 歷史博物館在哪裡？ | 今天天气怎么样？ | 他在哪个大学工作？ | 比赛是谁赢的吗？
        | 比亚迪是中国公司吗？ | 埃及在哪个大洲？ | 哪家公司更名为Meta？ | 哪些症状属于更年期？
        | Which company is owned by Alphabet or Meta? | Where do I install VS Code? | 蜂王在哪里？
        | 哪里可以看到更多信息？ | 在哪里更新软件？ | 他有几点建议？ | Who is older than 30?
        | Which rooms hold more people than 200? | Is it hotter than usual? | Who wrote the story?
        | Where is the user guide? | How many steps does the tower have? | How many chapters does it have?
        | Where can I find the instructions? | How many eggs does a queen lay a day?
        | Who is thirty years old? | What should I do when the engine overheats?
        | Does it work even when it rains? | Where is the natural history museum?
        | Does it make a difference? | What is the contrast ratio? | How often is the filter cleaned?
        | Why did it fail the last time? | 谁写了这个故事？ | 说明书在哪里？ | 谁比30岁大吗？
        | 說明書在哪裡？ | 指南针是谁发明的？ | 这本教程多少钱？ | 哪里可以下载教程？
        | 有没有更快的方法或者捷径？ | 有更便宜的套餐吗？ | 他提了哪几点要求？
        | Is it anything more than a cold? | Which airport is closest to Whistler?
        | Is it safe to eat raw dough? | Does the warranty cover water damage? | 水的沸点是多少度？
        | 哪种药可以治头痛？ | 我能带狗坐火车吗？ | Who has more or less finished? | 比亚迪贵吗？
        | 哪个热带国家人口最多？ | 哪个更衣室是空的？""",
}


@pytest.mark.parametrize(
    ("question", "expected"),
    [(" ".join(question.split()), kind) for kind, asked in QUESTIONS.items() for question in asked.split("|")],
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


@pytest.mark.parametrize("kind", ["temporal", "comparison", "narrative"])
@pytest.mark.parametrize("cues", ["cat", None, [5], [["cat"]], 5, {"cat": 1}], ids=repr)
def test_cues_are_texts(kind: str, cues: Any) -> None:
    with pytest.raises(OrderingError, match=f"{kind} cues are .*: give a list of texts"):
        question_type("Cats?", **{kind: cues})
