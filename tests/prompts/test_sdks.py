"""Messages are what the providers' own packages take."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from pydantic import TypeAdapter
from support.strategies import bare, compose, hits_of, make_chunk, make_store, sentences

from retrivex import Composition, SeedHit
from retrivex.prompts import ChatStyle, Pictures, Place

pytestmark = pytest.mark.integration

HISTORY = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]
STYLES = [ChatStyle(), ChatStyle(question_at="both", position_scales=(1, 2), calibrated=True, provenance="none")]


def made() -> Composition:
    located = make_chunk("d", 4, "Bees sleep.", 0, page=3, heading_path=("A",), timestamp=0.0)
    store = {**bare("d", sentences("d", 3)), **make_store(located)}
    return compose(hits_of(store, {0: 0.9, 2: 0.5, 4: 0.2}), store, window=0, query="Why?")


def drained(value: Any) -> Any:
    """Lists in place of what pydantic makes of an Iterable: they are checked only when they are read."""
    if isinstance(value, dict):
        return {name: drained(part) for name, part in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [drained(part) for part in value]
    return value


def accepted(kind: Any, messages: Any) -> Any:
    """Messages after the check: what the type does not know is gone."""
    adapter: TypeAdapter[Any] = TypeAdapter(kind)  # has to live until everything is read
    return drained(adapter.validate_python(messages))


@pytest.mark.parametrize("style", STYLES, ids=["plain", "full"])
def test_anthropic_takes_its_messages(style: ChatStyle) -> None:
    types = pytest.importorskip("anthropic").types
    prompt = made().chat(api="anthropic", style=style, history=HISTORY)
    assert accepted(list[types.MessageParam], prompt.messages) == prompt.messages
    assert isinstance(prompt.system, str)


@pytest.mark.parametrize("until", ["instructions", "history", "sources"])
def test_anthropic_takes_the_mark_of_its_cache(until: Any) -> None:
    types = pytest.importorskip("anthropic").types
    prompt = made().chat(api="anthropic", style=ChatStyle(cache_until=until), history=HISTORY)
    assert accepted(list[types.MessageParam], prompt.messages) == prompt.messages
    kind = list[types.TextBlockParam] if until == "instructions" else str
    assert accepted(kind, prompt.system) == prompt.system


@pytest.mark.parametrize("style", STYLES, ids=["plain", "full"])
def test_openai_takes_its_input(style: ChatStyle) -> None:
    types = pytest.importorskip("openai.types.responses")
    prompt = made().chat(api="openai", style=style, history=HISTORY)
    assert accepted(list[types.EasyInputMessageParam], prompt.messages) == prompt.messages


@pytest.mark.parametrize("api", ["openai_chat", "plain"])
@pytest.mark.parametrize("style", STYLES, ids=["plain", "full"])
def test_openai_takes_chat_messages(style: ChatStyle, api: Any) -> None:
    types = pytest.importorskip("openai.types.chat")
    messages = made().chat(api=api, style=style, history=HISTORY).messages
    kinds = {
        "system": types.ChatCompletionSystemMessageParam,
        "user": types.ChatCompletionUserMessageParam,
        "assistant": types.ChatCompletionAssistantMessageParam,
    }
    for message in messages:
        assert accepted(kinds[message["role"]], message) == message


def test_anthropic_citations_are_read_from_its_own_objects() -> None:
    types = pytest.importorskip("anthropic").types
    prompt = made().chat(api="anthropic")
    text = prompt.messages[-1]["content"][1]["source"]["data"]
    citation = types.CitationCharLocation(
        type="char_location", cited_text=text[2:5], document_index=1, document_title="d", start_char_index=2,
        end_char_index=5, file_id=None,
    )  # fmt: skip
    block = types.TextBlock(type="text", text="Because.", citations=[citation])
    assert prompt.places([block]) == [Place(2, 2, 5)]


@pytest.mark.parametrize("uri", ["https://x.org/a.png", "data:image/png;base64,iVBORw0KGgo="])
def test_the_providers_take_pictures(uri: str) -> None:
    metadata = {"media": [{"uri": uri, "alt": "A hive"}]}
    chunk = make_chunk("d", 0, "Bees sleep.", 0, custom_metadata=metadata)
    composition = compose([SeedHit(chunk, 1.0)], {}, window=0, query="Why?")
    kinds = {
        "anthropic": list[pytest.importorskip("anthropic").types.MessageParam],
        "openai": list[pytest.importorskip("openai.types.responses").EasyInputMessageParam],
        "openai_chat": list[pytest.importorskip("openai.types.chat").ChatCompletionUserMessageParam],
    }
    for api, kind in kinds.items():
        messages = composition.chat(api=api, pictures=Pictures(urls=True)).messages  # type: ignore[arg-type]
        asked = [message for message in messages if message["role"] == "user"]
        assert "image" in str(asked)
        assert accepted(kind, asked) == asked
