"""What a prompt is made of is checked: styles, arguments, sources."""

from __future__ import annotations

from typing import Any

import pytest
from support.chat_world import STORE, made
from support.strategies import compose, hits_of

from retrivex import RetrivexError
from retrivex.prompts import ChatStyle, Source, write_chat


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"language": "de"}, "it should be 'auto', 'en' or 'zh'"),
        ({"question_at": "middle"}, "it should be 'first', 'last' or 'both'"),
        ({"provenance": "all"}, "it should be 'none', 'document' or 'full'"),
        ({"position_scales": (0,)}, "greater than or equal to 1"),
        ({"position_scales": (1.5,)}, "position_scales.0 is 1.5"),
        ({"position_scales": 2}, "position_scales is 2"),
        ({"instructions": 5}, "instructions is 5"),
        ({"languages": "en"}, "did you mean language"),
    ],
)
def test_a_style_that_breaks_a_rule_is_refused(said: dict[str, Any], words: str) -> None:
    with pytest.raises(RetrivexError, match=words):
        ChatStyle(**said)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"api": "gemini"}, "choose one of plain, openai, openai_chat, anthropic"),
        ({"history": [{"role": "system", "content": "x"}]}, "every turn is"),
        ({"history": [{"role": "user"}]}, "every turn is"),
        ({"history": ["Hello"]}, "every turn is"),
        ({"history": None}, "history is None"),
        ({"history": {"role": "user", "content": "x"}}, "history is {"),
        ({"answer_reserve": -1000}, "answer_reserve is -1000"),
        ({"answer_reserve": None}, "answer_reserve is None"),
        ({"max_tokens": -1}, "max_tokens is -1"),
        ({"max_tokens": float("nan")}, "max_tokens is nan"),
        ({"max_tokens": "500"}, "max_tokens is '500'"),
        ({"max_tokens": True}, "max_tokens is True"),
        ({"question": None}, "question is None"),
        ({"question": 5}, "question is 5"),
        ({"spans": ["text"]}, "spans hold 'text'"),
        ({"spans": "text"}, "spans is 'text'"),
        ({"spans": None}, "spans is None"),
        ({"spans": [Source(1, "a", "d"), Source(1, "b", "d")]}, "the numbers \\[1, 1\\]"),
        ({"counter": "no-such-tokenizer"}, "no-such-tokenizer"),
        ({"style": {"tongue": "en"}}, "there is no such option"),
        ({"style": ChatStyle(template=object()), "api": "openai"}, "a template writes text"),  # type: ignore[arg-type]
    ],
)
def test_an_argument_that_breaks_its_rule_is_refused(wrong: dict[str, Any], words: str) -> None:
    good: dict[str, Any] = {"spans": [Source(1, "Bees sleep.", "b")], "question": "Why?", "counter": len}
    assert write_chat(**good).sources
    with pytest.raises(RetrivexError, match=words):
        write_chat(**{"max_tokens": 500, **good, **wrong})
    if wrong.keys() & {"api", "history"} and "style" not in wrong:
        with pytest.raises(RetrivexError, match=words):
            made().chat(**wrong)


def test_a_question_is_needed() -> None:
    with pytest.raises(RetrivexError, match="question is None"):
        compose(hits_of(STORE, {0: 1.0}), STORE).chat()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"score": float("nan")}, "score of source 1 is nan"),
        ({"score": float("inf")}, "score of source 1 is inf"),
        ({"score": "high"}, "score of a source is 'high'"),
        ({"text": None}, "text of a source is None"),
        ({"document": 5}, "document of a source is 5"),
        ({"heading_path": "Bees"}, "heading_path of a source is 'Bees'"),
        ({"number": "1"}, "number of a source is '1'"),
        ({"number": True}, "number of a source is True"),
        ({"page": "iv"}, "page of a source is 'iv'"),
        ({"timestamp": 7.0}, "timestamp of a source is 7.0"),
    ],
)
def test_a_source_that_breaks_its_rule_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(RetrivexError, match=words):
        Source(**{"number": 1, "text": "Bees sleep.", "document": "b", **wrong})


def test_provenance_is_one_of_three() -> None:
    with pytest.raises(RetrivexError, match="it must be one of none, document, full"):
        Source(1, "Bees sleep.", "b").block("all")  # type: ignore[arg-type]
