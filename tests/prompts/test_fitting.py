"""A prompt inside the model's window: which sources stay, and that every word is counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from fuzz.compositions import Bench
from hypothesis import given
from hypothesis import strategies as st
from support.chat_world import made
from support.properties import try_examples
from support.strategies import cases, count_words, make_chunk, make_store, tile

from retrivex import RetrivexError
from retrivex.errors import BudgetError
from retrivex.prompts import ChatStyle, Place, Source, write_chat
from retrivex.prompts.apis import APIS, texts_of
from retrivex.prompts.chat import MESSAGE_TOKENS
from retrivex.tokens.tokenizer import get_tokenizer


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("room", [60, 80, 100, 120])
def test_the_weakest_sources_go_first(api: Any, room: int) -> None:
    composition = made()
    prompt = composition.chat(api=api, max_tokens=room + 20, answer_reserve=20)
    texts = texts_of(prompt.messages) + ([prompt.system] if prompt.system else [])
    messages = len(prompt.messages) + bool(prompt.system)
    assert prompt.tokens == sum(map(count_words, texts)) + MESSAGE_TOKENS * messages
    assert prompt.tokens <= room
    shown = [source.number for source in prompt.sources]
    assert sorted([*shown, *prompt.left_out]) == [1, 2, 3]
    by_score = sorted((1, 2, 3), key=lambda number: -composition.spans[number - 1].score)
    assert sorted(shown) == sorted(by_score[: len(shown)])


def test_many_sources_are_fitted_in_few_rounds() -> None:
    counted: list[int] = []

    def counter(text: str) -> int:
        counted.append(len(text))
        return count_words(text)

    sources = [Source(number, f"Hive {number} is full.", "b", score=number * 37 % 1000) for number in range(1, 1001)]
    prompt = write_chat(sources, "Why?", get_tokenizer(counter), style=ChatStyle(provenance="none"), max_tokens=200)
    assert prompt.tokens is not None
    assert 190 < prompt.tokens <= 200  # a source takes 7
    best = sorted(sources, key=lambda source: source.score)[-len(prompt.sources) :]
    assert {source.number for source in prompt.sources} == {source.number for source in best}
    assert len(counted) < 50  # three texts a round


def test_the_last_source_is_trimmed_and_its_place_is_known() -> None:
    text = "Ants work. Bees sleep. Wasps sting. "
    composition = made(tile("d", [text * 3]), {0: 1.0}, query="Bees?")
    whole = composition.chat(max_tokens=1000).tokens
    assert whole is not None
    prompt = composition.chat(max_tokens=whole - 14)
    (source,) = prompt.sources
    assert source.text == composition.spans[0].text[source.start : source.start + len(source.text)]
    assert 0 < len(source.text) < len(composition.spans[0].text)
    assert "Bees sleep." in source.text


def test_pinned_sources_go_last() -> None:
    composition = made(scores={0: 0.9, 4: 0.5}, pinned=(make_chunk("rules", 0, "Be kind."),))
    assert composition.spans[0].pinned
    everything = composition.chat(max_tokens=1000).tokens
    assert everything is not None
    prompt = composition.chat(max_tokens=everything - 20)
    assert [source.text for source in prompt.sources] == ["Be kind."]


@pytest.mark.parametrize("api", APIS)
def test_every_word_is_counted(api: Any) -> None:
    style = ChatStyle(position_scales=(1,))
    messages = made(make_store(make_chunk("d", 0, "Bees sleep.", page=7, heading_path=("Night",))), {0: 1.0}).chat(
        api=api, style=style, history=[{"role": "user", "content": "Hello"}]
    ).messages  # fmt: skip

    def words(part: Any) -> list[str]:
        if isinstance(part, str):
            return [part]
        rows = (
            part if isinstance(part, list) else [v for k, v in part.items() if k not in ("type", "role", "media_type")]
        )
        return [word for row in rows if not isinstance(row, bool) for word in words(row)]

    assert sorted(texts_of(messages)) == sorted(words(messages))
    assert any("page" in text.lower() for text in texts_of(messages))


class Words:
    name = "words"
    exact = True

    def count(self, text: str) -> int:
        return count_words(text)

    def count_many(self, texts: Sequence[str]) -> list[int]:
        return [count_words(text) for text in texts]


def test_passages_from_elsewhere_keep_their_numbers() -> None:
    passages = [
        Source(7, "Bees sleep.", "bees.pdf", page=3, score=0.9),
        Source(3, "Ants do too.", "ants.pdf", score=0.2),
    ]
    prompt = write_chat(passages, "Who?", Words(), api="openai", max_tokens=1000)
    assert [source.number for source in prompt.sources] == [7, 3]
    assert prompt.places("\ue200cite\ue202block3\ue201") == [Place(3, 0, 12)]
    assert prompt.tokens is not None
    assert write_chat(passages, "Who?", Words(), api="openai", max_tokens=prompt.tokens - 1).left_out == (3,)
    with pytest.raises(RetrivexError, match=r"sources have the numbers \[7, 7\]"):
        write_chat([passages[0]] * 2, "Who?", Words())


def test_a_prompt_that_cannot_fit_is_refused() -> None:
    with pytest.raises(BudgetError, match="without any context and only 10 are left"):
        made().chat(max_tokens=12, answer_reserve=2)
    long = [{"role": "user", "content": "word " * 100}]
    with pytest.raises(BudgetError, match="shorten the template, the question or the history"):
        made().chat(history=long, max_tokens=100)


def test_without_a_limit_nothing_is_counted() -> None:
    prompt = made().chat()
    assert prompt.tokens is None
    assert prompt.left_out == ()


@try_examples(200)
@given(
    cases(), st.integers(0, 200), st.integers(0, 9), st.sampled_from(APIS), st.sampled_from(["first", "last", "both"]),
    st.sampled_from([(), (1,), (1, 3)]), st.booleans(),
)  # fmt: skip
def test_a_prompt_keeps_its_promise_or_is_refused(
    case: Any, max_tokens: int, reserve: int, api: Any, place: Any, scales: Any, calibrated: bool
) -> None:
    composer, count = Bench()(case.tokenizer)
    composition = composer.compose(
        case.hits, case.store, case.parent_store, query=case.query, scope=case.scope, **case.options
    )
    style = ChatStyle(question_at=place, position_scales=scales, calibrated=calibrated, instructions="Answer.")
    try:
        prompt = composition.chat("Why?", api=api, style=style, max_tokens=max_tokens, answer_reserve=reserve)
    except BudgetError:
        asked = {"first": 1, "last": 1, "both": 2}[place]
        least = count("Answer.") + MESSAGE_TOKENS * 2
        alone = count("Question: Why?\n\nQuestion: Why?") if asked == 2 and api == "plain" else None
        assert (alone if alone is not None else asked * count("Question: Why?")) + least > max_tokens - reserve
        return
    texts = texts_of(prompt.messages) + ([prompt.system] if prompt.system else [])
    assert sum(map(count, texts)) + 8 <= max_tokens - reserve
    for source in prompt.sources:
        span = composition.spans[source.number - 1]
        assert span.text[source.start : source.start + len(source.text)] == source.text
