"""A conversation shows nothing twice, until it is asked for or forgotten."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from support.strategies import bare, count_words, hits_of, make_chunk, make_store, sentences, shown_ids, tile

from retrivex import Composition, RetrievalConfig, RetriVex, SeedHit, SpanComposer
from retrivex.composition.conversation import DEFAULT_TURNS, Conversation
from retrivex.errors import RetrivexError
from retrivex.prompts import ChatStyle, Place

STORES = {"placed": tile("d", sentences("d", 8)), "bare": bare("d", sentences("d", 8))}
STORE = STORES["placed"]
SPAN_OF_2 = (STORE["d", 2].metadata.char_start, STORE["d", 2].metadata.char_end)
COMPOSER = SpanComposer(RetrievalConfig(window=0, numbered=True), tokenizer=count_words)


def ask(talk: Conversation, *ids: int, store: Any = STORE, **said: Any) -> list[int]:
    hits = hits_of(store, {at: 0.9 - at / 100 for at in ids})
    return shown_ids(talk.compose(COMPOSER, hits, store, query="Why?", keep_top=len(ids), **said).spans)


@pytest.mark.parametrize("store", STORES.values(), ids=STORES)
@pytest.mark.parametrize("stored", [False, True], ids=["live", "stored"])
def test_what_was_shown_is_not_shown_again_until_it_is_asked_for(store: Any, stored: bool) -> None:
    talk = Conversation()
    assert ask(talk, 0, 2, store=store) == [0, 2]
    if stored:
        talk = Conversation.from_dict(json.loads(json.dumps(talk.to_dict())))
    assert ask(talk, 0, 2, 4, store=store) == [4]
    assert talk.turns[-1].composition.dropped[0].reason == "excluded"
    assert ask(talk, 0, 2, 4, store=store, again=True) == [0, 2, 4]


def test_a_forgotten_turn_gives_its_passages_back() -> None:
    talk = Conversation()
    ask(talk, 0)
    ask(talk, 2)
    talk.forget(1)
    assert ask(talk, 0, 2) == [0]
    assert [turn.number for turn in talk.turns] == [2, 3]
    assert talk.turns[-1].first == 3  # numbers of sources are never given twice


def test_keep_turns_remembers_as_many_as_the_history_has() -> None:
    talk = Conversation(keep_turns=1)
    assert ask(talk, 0) == [0]
    assert ask(talk, 0, 2) == [2]
    assert len(talk.history()) == 1
    assert ask(talk, 0, 2) == [0]
    assert [turn.number for turn in talk.turns] == [2, 3]


def test_async_is_the_same() -> None:
    talk = Conversation()
    ask(talk, 0)
    hits = hits_of(STORE, {0: 0.9, 2: 0.8})
    made = asyncio.run(talk.acompose(COMPOSER, hits, STORE, query="Why?", keep_top=2))
    assert shown_ids(made.spans) == [2]
    assert len(talk.turns) == 2


class Listed:
    """Gives the hits of some chunks."""

    def retrieve(self, question: str, k: int = 50, scope: Any = None) -> list[SeedHit]:
        return hits_of(STORE, {0: 0.9, 2: 0.8})[:k]


def test_a_pipeline_is_asked_turn_by_turn() -> None:
    config = RetrievalConfig(window=0, keep_top=2, exclude=("d", *SPAN_OF_2))
    rag = RetriVex(STORE, config=config, retriever=Listed())
    talk = Conversation()
    assert shown_ids(talk.ask(rag, "Why?", k=1).spans) == [0]
    assert shown_ids(talk.ask(rag, question="Why?").spans) == []  # type: ignore[call-arg]
    assert shown_ids(asyncio.run(talk.aask(rag, "Why?", exclude=())).spans) == [2]
    assert shown_ids(asyncio.run(talk.aask(rag, question="Why?", again=True, exclude=())).spans) == [0, 2]  # type: ignore[call-arg]
    assert [turn.composition.question for turn in talk.turns] == ["Why?"] * 4
    assert "Question: Why?" in talk.chat().messages[-1]["content"]


def test_a_conversation_does_not_grow_for_ever() -> None:
    talk = Conversation()
    for _ in range(DEFAULT_TURNS + 3):
        ask(talk, 0)
    assert len(talk.turns) == DEFAULT_TURNS + 1
    assert talk.turns[-1].number == DEFAULT_TURNS + 3
    endless = Conversation(keep_turns=None)
    for _ in range(DEFAULT_TURNS + 3):
        ask(endless, 0)
    assert len(endless.turns) == DEFAULT_TURNS + 3


@pytest.mark.parametrize("own", [("d", 0, 1000), (("d", 0, 1000),), [STORE["d", i] for i in range(8)], STORE["d", 4]])
def test_what_the_caller_excludes_is_left_out_too(own: Any) -> None:
    talk = Conversation()
    ask(talk, 0)
    assert ask(talk, 0, 4, exclude=own) == []
    talk = Conversation()
    ask(talk, 0)
    composer = SpanComposer(RetrievalConfig(window=0, exclude=own), tokenizer=count_words)
    assert not talk.compose(composer, hits_of(STORE, {0: 0.9, 4: 0.8}), STORE, query="Why?", keep_top=2).spans


def test_the_prompt_has_the_history_and_sources_numbered_through_all_turns() -> None:
    talk = Conversation()
    ask(talk, 0, 2)
    talk.answered("Because [1].")
    ask(talk, 0, 4)
    prompt = talk.chat(max_tokens=1000)
    system, first, answer, last = prompt.messages
    assert '<source id="1"' in first["content"]
    assert first["content"].endswith("Question: Why?")
    assert answer == {"role": "assistant", "content": "Because [1]."}
    assert '<source id="3"' in last["content"]
    assert "<source" not in system["content"].replace("<source>", "")
    assert [c.chunk_id for c in talk.resolve("[1], [3]")] == [talk.turns[0].composition.spans[0].chunk_ids[0], 4]
    assert talk.resolve(3) == talk.resolve("[3]") == talk.resolve(Place(3))
    assert talk.resolve(3)[0].number == 3
    assert talk.resolve("d4a d4b")[0].number == 3
    assert talk.resolve(9) == []


def test_citations_of_an_api_lead_back_to_their_turn() -> None:
    talk = Conversation()
    ask(talk, 0)
    talk.answered("So.")
    ask(talk, 2)
    prompt = talk.chat(api="anthropic", style=ChatStyle(cache_until="history"))
    citation = {"type": "char_location", "document_index": 0, "start_char_index": 0, "end_char_index": 3}
    (place,) = prompt.places([{"type": "text", "text": "So.", "citations": [citation]}])
    (cited,) = talk.resolve(place)
    assert (cited.number, cited.chunk_id) == (2, 2)


def test_a_stored_conversation_goes_on_as_it_was() -> None:
    talk = Conversation(keep_turns=3)
    ask(talk, 0)
    talk.answered("So.")
    ask(talk, 2)
    again = Conversation.from_dict(json.loads(json.dumps(talk.to_dict())))
    assert again.to_dict() == talk.to_dict()
    assert again.chat() == talk.chat()
    assert ask(again, 0, 2, 4) == ask(talk, 0, 2, 4) == [4]
    assert again.turns[-1].first == talk.turns[-1].first == 3


def test_any_composer_will_do() -> None:
    class Own:
        """Shows what was excluded in its question."""

        def compose(self, *given: Any, **said: Any) -> Composition:
            hits, store = given
            return COMPOSER.compose(hits, store, query=f"{len(said.get('exclude', ()))}")

        async def acompose(self, *given: Any, **said: Any) -> Composition:
            return self.compose(*given, **said)

    talk = Conversation()
    asked = [talk.compose(Own(), hits_of(STORE, {0: 0.9}), STORE).question for _ in range(3)]
    assert asked == ["0", "1", "2"]


def test_wrong_use() -> None:
    for wrong in (0, True, "2"):
        with pytest.raises(RetrivexError, match=r"keep_turns is .*whole number from 1 on"):
            Conversation(keep_turns=wrong)  # type: ignore[arg-type]
    talk = Conversation()
    with pytest.raises(RetrivexError, match="answer is 'So' after 0 turns"):
        talk.answered("So")
    with pytest.raises(RetrivexError, match="no turns: compose one first"):
        talk.chat()
    with pytest.raises(RetrivexError, match="turn 1 is not here"):
        talk.forget(1)
    store = make_store(make_chunk("d", 0, "Bees."))
    talk.compose(COMPOSER, hits_of(store, {0: 0.9}), store)
    with pytest.raises(RetrivexError, match="question is None"):
        talk.chat()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "other"}, "schema is 'other'"),
        ({"next": [1]}, "cannot be read"),
        ({"next": [1, "2"]}, "'2' is no whole number"),
        ({"turns": [{}]}, "cannot be read"),
        ({"keep_turns": -1}, "keep_turns is -1"),
    ],
)
def test_what_is_no_conversation_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(RetrivexError, match=message):
        Conversation.from_dict({**Conversation().to_dict(), **change})
