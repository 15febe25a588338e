"""Places of the sources that an answer refers to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from support.chat_world import made
from support.strategies import sentences, tile

from retrivex import Composition, RetrivexError
from retrivex.prompts import Place, Prompt


def test_openai_markers_lead_to_the_documents() -> None:
    composition = made(tile("d", sentences("d", 9)))
    prompt = composition.chat(api="openai")
    answer = "Yes. \ue200cite\ue202block2\ue201 No. \ue200cite\ue202block1\ue202block2\ue201\ue200cite\ue202turn0\ue201"
    places = prompt.places(answer)
    assert [place.number for place in places] == [2, 1]
    for place in places:
        assert composition.resolve(place) == composition.resolve(place.number)
        assert composition.resolve(place)


def test_anthropic_citations_lead_to_the_very_characters() -> None:
    texts = sentences("d", 9)
    composition = made(tile("d", texts))
    source = "".join(texts)
    prompt = composition.chat(api="anthropic")
    assert prompt.messages[-1]["content"][1]["source"]["data"] == composition.spans[1].text
    citation = {
        "type": "char_location", "cited_text": composition.spans[1].text[4:11], "document_index": 1,
        "document_title": "d", "start_char_index": 4, "end_char_index": 11,
    }  # fmt: skip
    content = [{"type": "text", "text": "They "}, {"type": "text", "text": "do.", "citations": [citation, citation]}]
    for answer in (content, {"content": content}, SimpleNamespace(content=[SimpleNamespace(citations=[citation])])):
        (place,) = prompt.places(answer)
        assert place == Place(2, 4, 11)
        (found,) = composition.resolve(place)
        assert source[found.char_start : found.char_end] == citation["cited_text"]
        assert composition.text[found.start : found.end] == citation["cited_text"]


def trimmed(composition: Composition, api: Any) -> Prompt:
    """A prompt that lacks 3 tokens for its one source."""
    whole = composition.chat(api=api, max_tokens=1000).tokens
    assert whole is not None
    prompt = composition.chat(api=api, max_tokens=whole - 3)
    assert prompt.sources[0].start > 0
    return prompt


def test_citations_of_a_trimmed_source_lead_to_the_very_characters() -> None:
    composition = made(tile("d", ["Ants work. Bees sleep. Wasps sting. "]), {0: 1.0}, query="Do bees sleep?")
    prompt = trimmed(composition, "anthropic")
    at = prompt.sources[0].text.index("sleep")
    citation = {"type": "char_location", "document_index": 0, "start_char_index": at, "end_char_index": at + 5}
    (found,) = composition.resolve(prompt.places(citation)[0])
    assert composition.text[found.start : found.end] == "sleep"
    prompt = trimmed(composition, "openai")
    (found,) = composition.resolve(prompt.places("\ue200cite\ue202block1\ue201")[0])
    assert composition.text[found.start : found.end] == prompt.sources[0].text == "Bees sleep."


def test_offsets_that_count_otherwise_are_mended_by_the_words() -> None:
    composition = made(tile("d", ["🐝🐝 Bees sleep. "]), {0: 1.0})
    prompt = composition.chat(api="anthropic")
    citation = {"type": "char_location", "cited_text": "Bees", "document_index": 0}
    utf16 = {**citation, "start_char_index": 5, "end_char_index": 9}
    assert prompt.places(utf16) == prompt.places({**citation, "start_char_index": 3, "end_char_index": 7})
    assert prompt.places(utf16) == [Place(1, 3, 7)]


def test_answers_without_citations_refer_to_nothing() -> None:
    prompt = made().chat(api="anthropic")
    assert prompt.places([{"type": "text", "text": "No.", "citations": None}, {"type": "tool_use", "input": {}}]) == []
    assert prompt.places("No.") == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"document_index": 9}, "points outside the 3 sources"),
        ({"document_index": -1}, "points outside the 3 sources"),
        ({"start_char_index": 9, "end_char_index": 2}, "points outside"),
        ({"end_char_index": 100_000}, "points outside"),
        ({"start_char_index": None}, "lacks an index"),
    ],
)
def test_citations_of_another_prompt_are_refused(wrong: dict[str, Any], said: str) -> None:
    citation = {"type": "char_location", "document_index": 0, "start_char_index": 0, "end_char_index": 1, **wrong}
    with pytest.raises(RetrivexError, match=said):
        made().chat(api="anthropic").places([{"citations": [citation]}])
