"""The question under both of its names: Python writes `query`, HTTP `question`, and each takes the other as well."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import signature
from typing import Any, Literal, ParamSpec, TypeAlias, TypeVar

from retrivex.errors import ConfigError, RetrivexError, quoted

P = ParamSpec("P")
T = TypeVar("T")
Name: TypeAlias = Literal["query", "question"]


def name_question(given: Mapping[str, Any], own: Name) -> dict[str, Any]:
    """Return arguments or a record with the question under one name, whichever it was given under.

    Parameters
    ----------
    given : by name; None counts as not given
    own : the name that is read

    Raises
    ------
    RetrivexError
        If both names are given, with different values.

    Examples
    --------
    >>> name_question({"query": "Do bees sleep?", "k": 5}, "question")
    {'k': 5, 'question': 'Do bees sleep?'}
    """
    other = "question" if own == "query" else "query"
    made = dict(given)
    value = made.pop(other, None)
    known = made.get(own)
    if value is not None and known is not None and value != known:
        raise RetrivexError(
            f"{own} is {quoted(known)} and {other} is {quoted(value)}: they are two names of the same; give one of them"
        )
    return made if value is None else {**made, own: value}


def takes_both_names(function: Callable[P, T]) -> Callable[P, T]:
    """Let a function with an argument `query` take it as `question`, too, and the other way round.

    Examples
    --------
    >>> ask = takes_both_names(lambda query, k=5: f"{query} {k}")
    >>> ask("Why?"), ask(question="Why?", k=1)
    ('Why? 5', 'Why? 1')
    """
    places = {name: place for place, name in enumerate(signature(function).parameters)}
    own: Name = "query" if "query" in places else "question"
    other, place = "question" if own == "query" else "query", places[own]

    @wraps(function)
    def call(*given: P.args, **named: P.kwargs) -> T:
        if other not in named:
            return function(*given, **named)
        by_name: dict[str, Any] = name_question({**named, own: given[place]} if len(given) > place else named, own)
        by_place: list[Any] = list(given)
        if len(by_place) > place:
            by_place[place] = by_name.pop(own)
        return function(*by_place, **by_name)

    return call


def check_questions(sub_questions: Any) -> list[str]:
    """Return sub-questions, each once.

    Raises
    ------
    ConfigError
        If they are no list of texts, or one of them is blank.
    """
    listed = isinstance(sub_questions, Sequence) and not isinstance(sub_questions, str)
    if not listed or not sub_questions or not all(isinstance(one, str) and one.strip() for one in sub_questions):
        raise ConfigError(f"sub_questions is {quoted(sub_questions)}: it must be a list of questions as text, or None")
    return list(dict.fromkeys(sub_questions))
