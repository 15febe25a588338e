"""`query` and `question` are one: names of an argument, of a record, and both of them."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex.errors import RetrivexError
from retrivex.model.question import name_question, takes_both_names

VALUES = st.none() | st.sampled_from(["Do bees sleep?", "Do wasps?"])


@given(VALUES, VALUES, st.sampled_from(["query", "question"]))
def test_a_record_has_its_question_under_the_name_that_is_asked_for(query: Any, question: Any, own: Any) -> None:
    record = {"query": query, "question": question, "k": 5}
    other = "question" if own == "query" else "query"
    if None not in (query, question) and query != question:
        with pytest.raises(RetrivexError, match=f"^{own} is '.*' and {other} is '.*': .* give one of them$"):
            name_question(record, own)
        return
    assert name_question(record, own) == {own: query if question is None else question, "k": 5}
    assert record == {"query": query, "question": question, "k": 5}


@takes_both_names
def ask(hits: int, query: str | None = None, k: int = 1, **more: Any) -> tuple[Any, ...]:
    """Answer."""
    return (hits, query, k, more)


@pytest.mark.parametrize(
    "asked",
    [
        lambda: ask(3, "Why?", 5),
        lambda: ask(3, None, 5, question="Why?"),
        lambda: ask(3, "Why?", 5, question="Why?"),
        lambda: ask(3, question="Why?", k=5),
        lambda: ask(hits=3, question="Why?", query=None, k=5),
    ],
)
def test_an_argument_is_taken_under_both_names(asked: Any) -> None:
    assert asked() == (3, "Why?", 5, {})


def test_both_names_with_different_values_are_refused() -> None:
    with pytest.raises(RetrivexError, match=r"query is 'Why\?' and question is 'How\?'"):
        ask(3, "Why?", question="How?")
    assert ask(3) == (3, None, 1, {})


def test_the_documented_name_is_the_one_that_help_shows() -> None:
    assert list(inspect.signature(ask).parameters) == ["hits", "query", "k", "more"]
    assert ask.__doc__ == "Answer."


def test_functions_of_event_loops_are_awaited_as_before() -> None:
    @takes_both_names
    async def later(question: str) -> str:
        return question

    assert asyncio.run(later(query="Why?")) == "Why?"  # type: ignore[call-arg]
