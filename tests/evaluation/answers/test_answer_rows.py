"""Rows answered by a model, their measures, and prompts; the model is made up here."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

import benchmarks.suites.published  # noqa: F401 - public sets are asked and scored as published
from retrivex.errors import RetrivexError
from retrivex.evaluation.answers import ModelReply, ModelRequest, Usage, answer_measures, answer_request, answer_rows
from retrivex.evaluation.answers.answer_rows import NOT_GENERATED
from retrivex.evaluation.answers.measures import set_scorer
from retrivex.evaluation.questions.evidence import Evidence, Question
from retrivex.evaluation.run.results import Row, Way

WAY = Way("bm25", 20, "balanced", "edge_balanced", 2000)


class Said:
    """A model that answers by a function; None is a failure."""

    def __init__(self, answer: Callable[[ModelRequest], str | None]) -> None:
        self._answer = answer
        self.asked: list[ModelRequest] = []

    def ask(self, requests: Sequence[ModelRequest]) -> list[ModelReply]:
        self.asked += requests
        texts = [self._answer(request) for request in requests]
        return [ModelReply(text, "too long" if text is None else None) for text in texts]

    @property
    def usage(self) -> Usage:
        return Usage(sent=len(self.asked))


def question(name: str = "1", **said: object) -> Question:
    given = {"text": "Where do bees live?", "evidence": (Evidence("d", 0, 5),), "answers": ("in hives",), **said}
    return Question(name, **given)  # type: ignore[arg-type]


def row(name: str = "1", set_name: str = "own", context: str | None = "Bees live in hives.") -> Row:
    return Row(set_name, name, WAY, {"evidence_recall": 1.0}, context=context)


# ---- rows


def test_rows_get_answers_and_measures_and_keep_what_they_had() -> None:
    made = answer_rows([row()], [question()], Said(lambda asked: "In hives."))
    (found,) = made.rows
    assert found.answer == "In hives."
    assert found.measures == {
        "evidence_recall": 1.0, "answerable": 1.0, "em": 1.0, "f1": 1.0, "score": 1.0, "faithfulness": 1.0,
    }  # fmt: skip
    assert (made.warnings, made.usage) == ((), Usage(sent=1))


def test_without_a_model_nothing_is_generated_and_that_is_said() -> None:
    made = answer_rows([row()], [question()], None)
    assert made.rows == [row()]
    assert made.warnings == (NOT_GENERATED,)
    assert made.usage is None


def test_what_is_not_answered_stays_as_it_was_and_is_counted() -> None:
    rows = [row("1"), row("2", context="No."), row("3", context="No.")]
    model = Said(lambda asked: None if "No." in asked.prompt else "In hives.")
    made = answer_rows(rows, [question(name) for name in "123"], model)
    assert [found.answer for found in made.rows] == ["In hives.", None, None]
    assert made.rows[1:] == rows[1:]
    assert made.warnings == ("2 of 3 answers: too long",)


def test_many_rows_are_answered_in_their_order_and_progress_is_told() -> None:
    names = [str(number) for number in range(150)]
    told: list[tuple[int, int]] = []
    model = Said(lambda asked: asked.prompt.split("context ")[1].split(".")[0])
    rows = [row(name, context=f"context {name}.") for name in names]
    made = answer_rows(rows, [question(name) for name in names], model, report=lambda *done: told.append(done))
    assert [found.answer for found in made.rows] == names
    assert told == [(64, 150), (128, 150), (150, 150)]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (row(context=None), "has no context: keep contexts"),
        (row("9"), "question '9' of own: the question is not there"),
    ],
)
def test_rows_that_cannot_be_answered_are_one_clear_error(given: Row, said: str) -> None:
    model = Said(lambda asked: "In hives.")
    with pytest.raises(RetrivexError, match=said):
        answer_rows([row(), given], [question()], model)
    assert model.asked == []  # before anything is paid for


def test_an_unknown_task_is_an_error_before_anything_is_asked() -> None:
    model = Said(lambda asked: "In hives.")
    with pytest.raises(RetrivexError, match="LongBench has no task 'nothing'"):
        answer_rows([row(set_name="longbench/nothing")], [question()], model)
    assert model.asked == []


# ---- measures


@pytest.mark.parametrize(
    ("set_name", "said", "answer", "score"),
    [
        ("squad", {}, "hives", 2 / 3),
        ("ruler/niah_multivalue/4096", {"answers": ("17", "23"), "needed": "all"}, "17 and 24", 0.5),
        ("ruler/qa_1/4096", {"answers": ("Ada", "Lovelace")}, "It was LOVELACE.", 1.0),
        ("niah/4096", {"answers": ("1843",)}, "In 1843, I think.", 1.0),
        ("niah_held_out/4096", {"answers": ("1843",)}, "In 1843, I think.", 1.0),
        ("niah_multi/4096", {"answers": ("red", "blue", "green", "tan"), "needed": "all"}, "Red, tan.", 0.5),
        ("lost_in_the_middle/20/9", {"answers": ("The Hive",)}, "It is a nest", 0.0),
        ("lost_in_the_middle/20/9", {"answers": ("The Hive",)}, "it is the hive!", 1.0),
        ("key_value/75", {"answers": ("af-01",)}, "Value: AF-01", 1.0),
        ("longbench/passage_retrieval_en", {"answers": ("Paragraph 3",)}, "Paragraph 3 or 4", 0.5),
        ("own", {"answers": ("red", "blue"), "needed": "all"}, "blue red", 1.0),
    ],
)
def test_the_score_is_that_of_the_set(set_name: str, said: dict[str, object], answer: str, score: float) -> None:
    assert answer_measures(set_name, question(**said), answer, "")["score"] == pytest.approx(score)


def test_classes_come_with_the_questions_or_are_their_answers() -> None:
    asked = [question("1", answers=("City",)), question("2", answers=("Country",))]
    rows = [row("1", "longbench/trec"), row("2", "longbench/trec")]
    model = Said(lambda _: "City or Country or Animal")
    scores = [found.measures["score"] for found in answer_rows(rows, asked, model).rows]
    assert scores == [0.5, 0.5]

    asked[0] = question("1", answers=("City",), factors={"all_classes": "City\nCountry\nAnimal"})
    scores = [found.measures["score"] for found in answer_rows(rows, asked, model).rows]
    assert scores == [pytest.approx(1 / 3)] * 2


def test_where_nothing_answers_to_say_so_is_right() -> None:
    nothing = question(evidence=(), answers=())
    assert answer_measures("squad", nothing, "Unanswerable.", "Bees.") == {"answerable": 1.0, "em": 1.0, "f1": 1.0}
    made_up = answer_measures("squad", nothing, "In trees.", "Bees.")
    assert (made_up["answerable"], made_up["em"], made_up["f1"]) == (0.0, 0.0, 0.0)
    assert made_up["faithfulness"] == 0.0
    assert answer_measures("squad", question(), "无法回答", "Bees.")["answerable"] == 0.0


def test_a_reference_may_say_that_nothing_answers() -> None:
    asked = question(evidence=(), answers=("unanswerable",))
    right = answer_measures("longbench/qasper", asked, "Unanswerable", "Bees.")
    assert right == {"answerable": 1.0, "em": 1.0, "f1": 1.0, "score": 1.0}
    assert answer_measures("longbench/qasper", asked, "In trees", "Bees.")["answerable"] == 0.0


def test_measures_that_a_question_does_not_allow_are_not_there() -> None:
    no_references = answer_measures("own", question(answers=()), "In hives.", "Bees live in hives.")
    assert no_references == {"answerable": 1.0, "faithfulness": 1.0}
    assert "em" not in answer_measures("own", question(needed="all"), "In hives.", "")


def test_every_set_has_a_score() -> None:
    for name in ("own", "squad", "ruler/vt/4096", "niah/4096", "longbench/lcc", "longbench/qasper_e", "key_value/75"):
        assert callable(set_scorer(name))


@pytest.mark.parametrize(
    "name", ["longbench", "ruler", "niah", "niah_held_out", "niah_multi", "key_value", "lost_in_the_middle"]
)
def test_a_file_of_ones_own_that_is_called_as_a_public_set_is_scored_as_any_other(name: str) -> None:
    asked = question(answers=("in tall hives",))
    assert answer_measures(name, asked, "in hives", "")["score"] == pytest.approx(0.8)


# ---- prompts


@pytest.mark.parametrize(
    ("set_name", "text", "begins", "ends", "tokens"),
    [
        (
            "longbench/hotpotqa",
            "Who?",
            "Answer the question based on the given passages.",
            "Question: Who?\nAnswer:",
            32,
        ),
        ("longbench/hotpotqa_e", "Who?", "Answer the question based on", "Question: Who?\nAnswer:", 32),
        ("longbench/multi_news", "", "You are given several news passages.", "Summary:", 512),
        ("ruler/niah_single_1/4096", "What is it?", "A special magic number is", "{context}\nWhat is it?", 128),
        ("ruler/niah_multiquery/4096", "What are?", "Some special magic numbers are", "{context}\nWhat are?", 128),
        ("ruler/niah_multikey_3/4096", "What is it?", "A special magic uuid is", "{context}\nWhat is it?", 128),
        ("ruler/vt/4096", "Question: Find all.", "Memorize and track", "{context}\nQuestion: Find all.", 30),
        ("ruler/cwe/4096", "What are?", "Below is a numbered list", "Question: What are?", 120),
        ("ruler/fwe/4096", "What are?", "Read the following coded text", "dots '....'. What are?", 50),
        (
            "ruler/fwe/4096",
            "Do not provide any explanation. Please ignore the dots '....'. What are?",
            "Read the following coded text",
            "Question: Do not provide any explanation. Please ignore the dots '....'. What are?",
            50,
        ),
        ("ruler/qa_2/4096", "Who?", "Answer the question based on the given documents.", "Question: Who?", 32),
        (
            "niah/4096",
            "Who?",
            "{context}",
            "Who? Don't give information outside the document or repeat your findings",
            300,
        ),
        ("lost_in_the_middle/20/9", "Who?", "Write a high-quality answer", "Question: Who?\nAnswer:", 100),
        ("squad", "Who?", "Answer the question from the text below", "Question: Who?\nAnswer:", 128),
        ("ruler", "Who?", "Answer the question from the text below", "Question: Who?\nAnswer:", 128),  # ruler.jsonl
        ("niah", "Who?", "Answer the question from the text below", "Question: Who?\nAnswer:", 128),
        ("own", "蜜蜂住在哪里？", "请只根据下面的文字回答问题", "问题：蜜蜂住在哪里？\n回答：", 128),
    ],
)
def test_prompts_by_set(set_name: str, text: str, begins: str, ends: str, tokens: int) -> None:
    context = "Braces {question} and {context} stay."
    asked = answer_request(set_name, question(text=text), context)
    assert asked.prompt.startswith(begins.replace("{context}", context))
    assert asked.prompt.endswith(ends.replace("{context}", context))
    assert asked.prompt.count(context) == 1
    assert asked.max_tokens == tokens
    assert (asked.system is not None) == (set_name == "niah/4096")


def test_the_key_of_a_question_is_asked_for_alone() -> None:
    key = "5c6a2b5e-2b1c-4c1e-9d3a-0123456789ab"
    asked = answer_request("key_value/75", question(text=f'What is the value of "{key}"?'), "{}")
    assert asked.prompt.endswith(f'Key: "{key}"\nCorresponding value:')


# ---- verdicts
