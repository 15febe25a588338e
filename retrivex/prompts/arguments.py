"""Checks of the arguments of prompts, before anything is written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from retrivex.errors import RetrivexError, quoted
from retrivex.model.span import Span
from retrivex.prompts.source import Source


def check_arguments(question: Any, max_tokens: Any, answer_reserve: Any) -> None:
    """Refuse a question that cannot be written, and numbers of tokens that are none.

    Raises
    ------
    RetrivexError
        If the question is no text, or a number of tokens is none.
    """
    if not isinstance(question, str):
        raise RetrivexError(f"question is {quoted(question)}: it must be text")
    for name, number in (("max_tokens", max_tokens), ("answer_reserve", answer_reserve)):
        if number is None and name == "max_tokens":
            continue
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise RetrivexError(f"{name} is {quoted(number)}: it must be a whole number of tokens, not negative")


def numbered_sources(spans: Any) -> list[Source]:
    """Return spans as sources, numbered from 1; sources keep their numbers.

    Raises
    ------
    RetrivexError
        If one is neither, or two have the same number.
    """
    given = list_of(spans, "spans", "a list of spans or of Source(number, text, document)")
    made = []
    for number, span in enumerate(given, start=1):
        if not isinstance(span, (Span, Source)):
            raise RetrivexError(
                f"spans hold {quoted(span)}: give spans, or Source(number, text, document) for your texts"
            )
        made.append(span if isinstance(span, Source) else Source.of(span, number))
    numbers = [source.number for source in made]
    if len(set(numbers)) < len(numbers):
        raise RetrivexError(f"sources have the numbers {numbers}: give every one a number of its own, to cite it by")
    return made


def list_of(value: Any, name: str, wanted: str) -> list[Any]:
    """Return what can be gone through as a list; a text or a mapping is none."""
    if isinstance(value, (str, bytes, dict)) or not isinstance(value, Iterable):
        raise RetrivexError(f"{name} is {quoted(value)}: it must be {wanted}")
    return list(value)
