from __future__ import annotations

from collections.abc import Sequence

import pytest
from support.strategies import count_words, hits_of, sentences, tile

from retrivex import Chunk, ComposeRequest, RetrievalConfig, SpanComposer, Window
from retrivex.errors import ConfigError
from retrivex.model.chunk import Scope
from retrivex.stores import InMemoryChunkStore

STORE = tile("d", sentences("d", 9))
COMPOSER = SpanComposer(RetrievalConfig(window=1, token_budget=40), tokenizer=count_words)


class Listening(InMemoryChunkStore):
    asked: tuple[Window, ...] = ()

    def fetch(self, windows: Sequence[Window], scope: Scope = None) -> list[Chunk]:
        self.asked += tuple(windows)
        return super().fetch(windows, scope)


def test_a_call_that_has_begun_says_what_it_will_fetch_and_ends_as_compose_does() -> None:
    store = Listening(STORE.values())
    begun = COMPOSER.begin(ComposeRequest(hits_of(STORE, {2: 0.9, 6: 0.5}), store, query="d2a d6b"))
    assert begun.windows == (Window("d", 1, 4), Window("d", 5, 8))
    assert store.asked == ()
    made = begun.finish()
    assert store.asked == begun.windows
    assert made.to_dict() == COMPOSER.compose(hits_of(STORE, {2: 0.9, 6: 0.5}), STORE, query="d2a d6b").to_dict()


def test_a_reranker_is_asked_before_the_windows_are_known() -> None:
    ranked: list[str] = []

    def rerank(question: str, texts: Sequence[str]) -> list[float]:
        ranked.append(question)
        return [float(n) for n in range(len(texts))]

    composer = SpanComposer(COMPOSER.config, tokenizer=count_words, reranker=rerank)
    begun = composer.begin(ComposeRequest(hits_of(STORE, {2: 0.9, 6: 0.5}), STORE, query="d2a"))
    assert ranked == ["d2a"]
    assert begun.windows
    assert begun.finish().text


def test_a_call_without_hits_fetches_nothing() -> None:
    begun = COMPOSER.begin(ComposeRequest([], STORE))
    assert begun.windows == ()
    assert begun.finish().warnings[0].startswith("no hits were given")


def test_what_compose_refuses_begin_refuses() -> None:
    with pytest.raises(ConfigError):
        COMPOSER.begin(ComposeRequest([], STORE, overrides={"window": -1}))
