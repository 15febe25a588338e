"""What a prompt is made of is checked: styles, arguments, sources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from support.chat_world import STORE, made
from support.strategies import compose, hits_of

from retrivex import RetrivexError
from retrivex.prompts import ChatStyle, Source, write_chat
from retrivex.prompts.source import tag_positions
from retrivex.tokens.tokenizer import get_tokenizer

# ---- styles


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"language": "de"}, "choose one of auto, en, zh"),
        ({"question_at": "middle"}, "choose one of first, last, both"),
        ({"provenance": "all"}, "choose one of none, document, full"),
        ({"position_scales": (0,)}, "whole numbers of at least 1"),
        ({"position_scales": (1.5,)}, "whole numbers of at least 1"),
        ({"position_scales": 2}, "whole numbers of at least 1"),
        ({"template": "{{ question }}"}, "give a JinjaTemplate"),
    ],
)
def test_a_style_that_breaks_a_rule_is_refused(said: dict[str, Any], words: str) -> None:
    with pytest.raises(RetrivexError, match=words):
        ChatStyle(**said)


def test_instructions_are_text() -> None:
    with pytest.raises(RetrivexError, match="instructions are 5"):
        ChatStyle(instructions=5)  # type: ignore[arg-type]


def test_a_template_belongs_to_plain_messages() -> None:
    class Template:
        def render(self, question: str, sources: Sequence[Source], history: str) -> str:
            return question

    with pytest.raises(RetrivexError, match="a template writes text"):
        made().chat(api="openai", style=ChatStyle(template=Template()))


# ---- arguments


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"api": "gemini"}, "choose one of plain, openai, openai_chat, anthropic"),
        ({"history": [{"role": "system", "content": "x"}]}, "every turn is"),
        ({"history": [{"role": "user"}]}, "every turn is"),
        ({"history": ["Hello"]}, "every turn is"),
        ({"max_tokens": -1}, "max_tokens is -1"),
        ({"question": 5}, "question is 5"),
    ],
)
def test_an_argument_that_breaks_a_rule_is_refused(said: dict[str, Any], words: str) -> None:
    with pytest.raises(RetrivexError, match=words):
        made().chat(**said)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"answer_reserve": -1000}, "answer_reserve is -1000"),
        ({"answer_reserve": None}, "answer_reserve is None"),
        ({"max_tokens": float("nan")}, "max_tokens is nan"),
        ({"max_tokens": "500"}, "max_tokens is '500'"),
        ({"max_tokens": True}, "max_tokens is True"),
        ({"question": None}, "question is None"),
        ({"spans": ["text"]}, "spans hold 'text'"),
        ({"spans": [None]}, "spans hold None"),
        ({"spans": "text"}, "spans is 'text'"),
        ({"spans": None}, "spans is None"),
        ({"spans": [Source(1, "a", "d"), Source(1, "b", "d")]}, "the numbers \\[1, 1\\]"),
        ({"history": None}, "history is None"),
        ({"history": {"role": "user", "content": "x"}}, "history is {"),
        ({"counter": len}, "counter is <built-in function len>"),
        ({"counter": "auto"}, "counter is 'auto'"),
        ({"counter": None}, "counter is None"),
        ({"style": {"language": "en"}}, "style is {"),
    ],
)
def test_an_argument_that_breaks_its_rule_is_refused(wrong: dict[str, Any], words: str) -> None:
    good: dict[str, Any] = {"spans": [Source(1, "Bees sleep.", "b")], "question": "Why?", "counter": get_tokenizer(len)}
    assert write_chat(**good).sources
    with pytest.raises(RetrivexError, match=words):
        write_chat(**{"max_tokens": 500, **good, **wrong})


def test_a_question_is_needed() -> None:
    with pytest.raises(RetrivexError, match="question is None"):
        compose(hits_of(STORE, {0: 1.0}), STORE).chat()


# ---- sources


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"score": float("nan")}, "score of source 1 is nan"),
        ({"score": float("inf")}, "score of source 1 is inf"),
        ({"score": "high"}, "score of source 1 is 'high'"),
        ({"text": None}, "text of a source is None"),
        ({"document": 5}, "document of a source is 5"),
        ({"prefix": None}, "prefix of a source is None"),
        ({"timestamp": 7.0}, "timestamp of a source is 7.0"),
        ({"heading_path": "Bees"}, "heading_path of a source is 'Bees'"),
        ({"number": "1"}, "number of a source is '1'"),
        ({"number": True}, "number of a source is True"),
        ({"start": None}, "start of a source is None"),
        ({"start": -1}, "start of a source is -1"),
        ({"score": 10**400}, "score of source 1 is 1000"),
        ({"score": -(10**5000)}, "score of source 1 is a whole number of"),
        ({"number": 10**5000}, "number of a source is a whole number of"),
        ({"number": float("nan")}, "number of a source is nan"),
        ({"page": float("nan")}, "page of a source is nan"),
        ({"page": "iv"}, "page of a source is 'iv'"),
        ({"page": 10**5000}, "page of a source is a whole number of"),
        ({"timestamp": 0}, "timestamp of a source is 0"),
        ({"timestamp": False}, "timestamp of a source is False"),
        ({"timestamp": []}, r"timestamp of a source is \[\]"),
        ({"pinned": "no"}, "pinned of a source is 'no'"),
    ],
)
def test_a_source_that_breaks_its_rule_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(RetrivexError, match=words):
        Source(**{"number": 1, "text": "Bees sleep.", "document": "b", **wrong})


@pytest.mark.parametrize("wrong", [{"shown": "all"}, {"shown": None}, {"shown": ["full"]}])
def test_provenance_is_one_of_three(wrong: Any) -> None:
    with pytest.raises(RetrivexError, match="it must be one of none, document, full"):
        Source(1, "Bees sleep.", "b").block(**wrong)


@pytest.mark.parametrize("ends", [(None, 2), (0, None), (-1, 2), (0, 1.5), (0, 10**5000)])
def test_a_part_has_ends(ends: Any) -> None:
    with pytest.raises(RetrivexError, match=r"(start|end) of a part is .*: it must be a whole number"):
        Source(1, "Bees sleep.", "b").cut(*ends)


@pytest.mark.parametrize("scales", [[0], [-1], [1.5], [None], None, 5, ["1"], [10**5000]])
def test_scales_of_position_tags_are_whole_numbers(scales: Any) -> None:
    with pytest.raises(
        RetrivexError, match=r"scales? (is|are) .*: (it must be a whole number of at least 1|give a list)"
    ):
        tag_positions([Source(1, "Bees sleep.", "b")], scales)


def test_position_tags_are_those_of_sources() -> None:
    with pytest.raises(RetrivexError, match="sources hold 'Bees'"):
        tag_positions(["Bees"], [1])  # type: ignore[list-item]
