"""`question`, as HTTP and MCP document it, and `query`, as Python does: each is taken for the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.service_world import COMPOSE, PASSAGES, make_engine, make_index

from retrivex.errors import RetrivexError
from retrivex.service import calls
from retrivex.service.conventions.dify import retrieve_records
from retrivex.service.conventions.openai import search_vector_store
from retrivex.service.engine import ANYONE, Engine
from retrivex.service.mcp.tools import search

QUESTION = "Who lays eggs?"
HITS = {name: value for name, value in COMPOSE.items() if name != "question"}
DIFY = {"knowledge_id": "default", "retrieval_setting": {"top_k": 2, "score_threshold": 0.0}}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    made = make_engine(make_index(tmp_path_factory.mktemp("index") / "index.db"))
    yield made
    made.close()


def shown(prompt: Any) -> Any:
    return prompt[0].messages


Answer = Callable[[Engine, dict[str, Any]], Any]
OPERATIONS: dict[str, Answer] = {
    "query": lambda engine, asked: engine.query(asked).text,
    "compose": lambda engine, asked: engine.compose({**HITS, **asked}).text,
    "view": lambda engine, asked: engine.view(asked).keys(),
    "reorder": lambda engine, asked: engine.reorder({"passages": PASSAGES, **asked})["passages"],
    "prompt": lambda engine, asked: shown(engine.prompt({"compose": HITS, **asked})),
    "the tool search": lambda engine, asked: search(engine, asked, ANYONE),
    "Dify": lambda engine, asked: retrieve_records(engine, {**DIFY, **asked}, ANYONE),
    "OpenAI": lambda engine, asked: search_vector_store(engine, "default", asked, ANYONE),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_both_names_give_the_same(engine: Engine, name: str) -> None:
    answer = OPERATIONS[name]
    assert answer(engine, {"query": QUESTION}) == answer(engine, {"question": QUESTION})
    assert answer(engine, {"query": QUESTION, "question": QUESTION}) == answer(engine, {"question": QUESTION})


@pytest.mark.parametrize("name", OPERATIONS)
def test_two_questions_in_one_body_are_refused(engine: Engine, name: str) -> None:
    with pytest.raises(RetrivexError, match="they are two names of the same; give one of them"):
        OPERATIONS[name](engine, {"query": QUESTION, "question": "Who dances?"})


def test_a_prompt_is_made_of_a_query_and_a_question(engine: Engine) -> None:
    body = {"query": {"query": QUESTION}, "question": "And who dances?"}
    assert "And who dances?" in str(shown(engine.prompt(body)))


@pytest.mark.parametrize("question", [5, "", ["a", "list"]])
def test_a_question_of_a_wrong_kind_is_refused_under_the_documented_name(engine: Engine, question: Any) -> None:
    with pytest.raises(RetrivexError, match=r"^question is "):
        engine.query({"query": question})


def test_a_body_without_a_question_names_the_documented_one(engine: Engine) -> None:
    with pytest.raises(RetrivexError, match="'question' is missing"):
        engine.query({"query": None})


def test_the_client_sends_the_documented_name() -> None:
    assert calls.query(query=QUESTION, k=5).body == {"question": QUESTION, "k": 5}  # type: ignore[call-arg]
    batch = calls.query_batch([{"query": QUESTION}, {"question": QUESTION}, QUESTION])
    assert batch.body == {"requests": [{"question": QUESTION}] * 3}
    with pytest.raises(RetrivexError, match="they are two names of the same"):
        calls.query(QUESTION, query="Who dances?")  # type: ignore[call-arg]
