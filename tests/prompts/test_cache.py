"""What later prompts repeat comes first, and Anthropic's cache is told where it ends."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.strategies import bare, compose, count_words, hits_of, sentences

from retrivex import Composition
from retrivex.errors import RetrivexError
from retrivex.prompts import ChatStyle, Prompt
from retrivex.prompts.jinja import JinjaTemplate

HISTORY = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]
MARK = {"type": "ephemeral"}


def made() -> Composition:
    store = bare("d", sentences("d", 5))
    return compose(hits_of(store, {0: 0.9, 2: 0.5, 4: 0.2}), store, window=0, query="Why?", keep_top=3)


def blocks(prompt: Prompt) -> list[Any]:
    """Every block in the order in which Anthropic reads it."""
    parts = [prompt.system, *(message["content"] for message in prompt.messages)]
    return [block for part in parts for block in ([part] if isinstance(part, str) else part or [])]


def marked(until: Any, **said: Any) -> list[Any]:
    prompt = made().chat(api="anthropic", style=ChatStyle(cache_until=until), **said)
    return [block for block in blocks(prompt) if "cache_control" in block]


def test_the_last_stable_block_is_marked() -> None:
    plain = made().chat(api="anthropic")
    assert marked("none", history=HISTORY) == []
    assert marked("instructions") == [{"type": "text", "text": plain.system, "cache_control": MARK}]
    assert marked("history", history=HISTORY) == [{"type": "text", "text": "Hi", "cache_control": MARK}]
    assert marked("history") == marked("instructions")
    last_document = plain.messages[-1]["content"][2]
    assert marked("sources") == marked("sources", history=HISTORY) == [{**last_document, "cache_control": MARK}]


@pytest.mark.parametrize("api", ["plain", "openai", "openai_chat", "anthropic"])
@pytest.mark.parametrize("history", [(), HISTORY], ids=["alone", "history"])
def test_all_up_to_the_end_of_the_sources_is_the_same_for_another_question(api: Any, history: Any) -> None:
    composition = made()
    style = ChatStyle(cache_until="sources", language="en")
    first = composition.chat("Why?", api=api, style=style)
    later = composition.chat("And when?", api=api, style=style, history=history)
    texts = [json.dumps([prompt.system, prompt.messages]) for prompt in (first, later)]
    same = next(at for at, (one, other) in enumerate(zip(*texts, strict=False)) if one != other)
    assert all(span.text.strip() in texts[0][:same] for span in composition.spans)
    assert [source.number for source in later.sources] == [1, 2, 3]


def test_nothing_but_the_order_and_the_mark_changes() -> None:
    plain = made().chat(api="anthropic", history=HISTORY, max_tokens=500)
    cached = made().chat(api="anthropic", history=HISTORY, max_tokens=500, style=ChatStyle(cache_until="history"))
    assert plain.tokens == cached.tokens
    assert plain.system == cached.system
    assert plain.messages[-1] == cached.messages[-1]
    system = made().chat(api="anthropic", max_tokens=500, style=ChatStyle(cache_until="instructions"))
    assert system.tokens == made().chat(api="anthropic", max_tokens=500).tokens


def test_the_limit_holds_where_the_sources_stand_in_front() -> None:
    style = ChatStyle(cache_until="sources")
    full = made().chat(api="plain", history=HISTORY, style=style, max_tokens=500)
    assert full.tokens is not None
    fewer = made().chat(api="plain", history=HISTORY, style=style, max_tokens=full.tokens - 1)
    assert fewer.tokens is not None
    assert fewer.tokens < full.tokens
    words = sum(count_words(message["content"]) + 4 for message in fewer.messages)
    assert fewer.tokens == words


def test_without_sources_the_history_ends_the_cache() -> None:
    empty = compose([], {}, query="Why?")
    prompt = empty.chat(api="anthropic", style=ChatStyle(cache_until="sources"), history=HISTORY)
    assert [block["text"] for block in blocks(prompt) if "cache_control" in block] == ["Hi"]


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ({"question_at": "both"}, "question_at='both'"),
        ({"question_at": "first"}, "question_at='first'"),
        ({"template": JinjaTemplate("{{ question }}")}, "a template"),
    ],
)
def test_a_question_in_front_of_the_sources_cannot_be_cached(said: dict[str, Any], found: str) -> None:
    with pytest.raises(RetrivexError, match=f"cache_until is 'sources' with {found}: the question has to stand behind"):
        made().chat(style=ChatStyle(cache_until="sources", **said))
    with pytest.raises(RetrivexError, match="cache_until is 'all'"):
        ChatStyle(cache_until="all")  # type: ignore[arg-type]
