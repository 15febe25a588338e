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


EVERYDAY = {
    "temporal": """What year did the Ottoman Empire fall? | On which date does the lease expire?
        | At what point did the company stop paying dividends? | What is the sequence of events leading up to the crash?
        | What did the minister say last Tuesday? | What were interest rates like last winter?
        | 近几年房价有什么变化？ | 请按时间排列这些事件 | 合同到期日是哪天？ | 这家公司成立多久了？
        | 这座塔建于何年？""",
    "comparison": """Is a heat pump cheaper to run than a gas boiler? | How does a violin differ from a viola?
        | Would you choose oak or pine for a floor? | Are cats smarter than dogs? | Should we lease or buy the van?
        | Which of these two drugs has fewer side effects? | What are the pros and cons of remote work?
        | Who earns more, nurses or teachers? | Which weighs less, a litre of oil or of milk?
        | 上海比北京热吗？ | 比亚迪比特斯拉贵吗？ | 这条河和那条河哪个深？
        | How similar are Danish and Norwegian? | How do I choose between Postgres and MySQL?
        | 猫和狗哪个更聪明？ | 租房和买房各有什么好处？ | 红茶跟绿茶有何区别？ | 这款手机比上一代好在哪里？""",
    "narrative": """How do I say no to a client? | How does a bill become a law? | Give me the gist of the report
        | What steps are needed to register a company? | Can you show me how to tie a bowline?
        | Tell me about the life of Marie Curie | What is the best way to remove red wine stains?
        | How can I decide between two offers? | How can we choose between so many plans?
        | 怎样给孩子讲故事？ | 请介绍一下申请签证的流程 | 请简述这部小说的内容 | 宝宝发烧该怎么办？ | 教我包饺子
        | 英语怎么说得流利？ | 請簡述這部小說的內容 | 請介紹一下這家公司""",
    "factual": """Do I need more than ID? | Must we show more than a ticket? | Is it anything more than a cold?
        | What is the boiling point of ethanol? | Which airport is closest to Whistler? | Is it safe to eat raw dough?
        | Does the warranty cover water damage? | How do you say thank you in Polish?
        | How do I say goodbye in French? | Can people 65 or older ride free? | Are bags of 10 kg or heavier taken?
        | 水的沸点是多少度？ | 这部电影的导演是谁？ | 哪种药可以治头痛？ | 我能带狗坐火车吗？
        | Who has more or less finished? | 比亚迪贵吗？ | 比萨热吗？ | 哪个热带国家人口最多？
        | 奶酪用意大利语怎么说？ | 怎么用法语说再见？ | 哪个更衣室是空的？ | 再見用法語怎麼說？ | 廣東話怎麼講？""",
}


DATED = {
    "temporal": """What did the minister say in March 2021? | Who won the election of May 1997? | Sales in Sept. 2019?
        | What was decided on 12 March 2021? | What was signed on June 28th, 1919? | March 2021 sales figures
        | How many hives were sold in April of 2020? | Which bridges closed from 3rd of May 2018 on?
        | What did people eat during the war? | Who was king during the Second World War?
        | Which hives were kept during the Tang dynasty? | Which bridges were built during the 19th century?
        | 2021年3月卖了多少蜂蜜？ | 二〇二一年十二月发生了什么？ | 谁在2021年的3月当选？ | ２０２１年３月賣了多少蜂蜜？
        | 战争期间人们吃什么？ | 二战期间谁是首相？ | 戰爭期間人們吃什麼？ | 內戰期間誰是總統？
        | 统治时期发行了哪些货币？ | 二战时期谁是首相？""",
    "comparison": """Compare revenue in March 2021 and March 2022 | 2021年3月和2022年3月的收入比较""",
    "narrative": """How do I file my taxes for April 2021? | How does the dec 1024 decoder work?
        | How were hives kept during the Tang dynasty?
        | How do I keep bees calm during an inspection? | How did the army march 1500 miles?
        | 考试期间如何保持冷静？""",
    "factual": """What vitamins should I take during pregnancy in the modern era? | 2021年13月卖了多少？
        | Why did the sound fail during the movie about the war? | What should I eat during pregnancy?
        | Why did the build fail during the tests?
        | Is the 2021 model red? | Is it true that bees march 2000 m? | Does the March sun burn?
        | Who sells 2021 april bikes?
        | 2021年的冠军是谁？ | 他买了2021部手机？ | 挑战赛期间住在哪里？""",
}


@pytest.mark.parametrize(
    ("question", "expected"),
    [(" ".join(question.split()), kind) for kind, asked in DATED.items() for question in asked.split("|")],
)
def test_a_month_with_its_year_or_an_age_is_a_time(question: str, expected: str) -> None:
    assert question_type(question) == expected


def test_a_month_with_its_year_is_a_cue_that_can_be_left_out() -> None:
    assert question_type("Who won in March 2021?", temporal=("when",)) == "factual"
    assert question_type("Who won in March 2021?", temporal=("march 2021",)) == "temporal"


@pytest.mark.parametrize(
    ("question", "expected"),
    [(" ".join(question.split()), kind) for kind, asked in EVERYDAY.items() for question in asked.split("|")],
)
def test_everyday_questions(question: str, expected: str) -> None:
    assert question_type(question) == expected


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


@pytest.mark.parametrize("kind", ["temporal", "comparison", "narrative"])
@pytest.mark.parametrize("cues", ["cat", None, [5], [["cat"]], 5, {"cat": 1}], ids=repr)
def test_cues_are_texts(kind: str, cues: Any) -> None:
    with pytest.raises(OrderingError, match=f"{kind} cues are .*: give a list of texts"):
        question_type("Cats?", **{kind: cues})
