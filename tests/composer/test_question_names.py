"""`query` and `question` mean the same in every call of Python."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.service_world import make_index

from retrivex import Chunk, ChunkMetadata, ComposeRequest, Reorderer, RetrivexError, SeedHit, SpanComposer
from retrivex.retrieval.local import LocalRetriever
from retrivex.stores import SQLiteStore

QUESTION = "Who lays eggs?"
TEXTS = ["Bees live in hives.", "A hive has one queen.", "She lays all the eggs."]
STORE = {("bees", i): Chunk(text, ChunkMetadata("bees", i)) for i, text in enumerate(TEXTS)}
HITS = [SeedHit(STORE["bees", 1], 0.8)]
PASSAGES = [{"id": i, "text": text, "score": 0.5 + i / 10} for i, text in enumerate(TEXTS)]
COMPOSER = SpanComposer(tokenizer=lambda text: len(text.split()))


def batched(**asked: Any) -> Any:
    request = {"seed_hits": HITS, "chunk_store": STORE, **asked}
    return COMPOSER.compose_batch([request])[0].unwrap().to_dict()


CALLS: dict[str, Callable[..., Any]] = {
    "compose": lambda **asked: COMPOSER.compose(HITS, STORE, **asked).to_dict(),
    "retrieve": lambda **asked: COMPOSER.retrieve(HITS, STORE, **asked),
    "acompose": lambda **asked: asyncio.run(COMPOSER.acompose(HITS, STORE, **asked)).to_dict(),
    "aretrieve": lambda **asked: asyncio.run(COMPOSER.aretrieve(HITS, STORE, **asked)),
    "compose_batch": batched,
    "a request": lambda **asked: COMPOSER.begin(ComposeRequest(HITS, STORE, overrides=asked)).finish().to_dict(),
    "value_units": lambda **asked: COMPOSER.value_units(HITS, STORE, **asked).scores.values,
    "prompt": lambda **asked: COMPOSER.compose(HITS, STORE).prompt(**asked),
    "chat": lambda **asked: COMPOSER.compose(HITS, STORE).chat(**asked).messages,
    "reorder": lambda **asked: Reorderer(strategy="auto").reorder(PASSAGES, **asked),
    "areorder": lambda **asked: asyncio.run(Reorderer(strategy="auto").areorder(PASSAGES, **asked)),
    "reorder_stream": lambda **asked: list(Reorderer(strategy="auto").reorder_stream(PASSAGES, **asked)),
}


def without_times(made: Any) -> Any:
    return {key: value for key, value in made.items() if key != "trace"} if isinstance(made, dict) else made


@pytest.mark.parametrize("name", [name for name in CALLS if name != "a request"])
def test_both_names_give_the_same(name: str) -> None:
    call = CALLS[name]
    assert without_times(call(question=QUESTION)) == without_times(call(query=QUESTION))
    assert without_times(call(query=QUESTION, question=QUESTION)) == without_times(call(query=QUESTION))


@pytest.mark.parametrize("name", CALLS)
def test_two_questions_in_one_call_are_refused(name: str) -> None:
    with pytest.raises(RetrivexError, match="they are two names of the same; give one of them"):
        CALLS[name](query=QUESTION, question="Who dances?")


def test_the_question_is_read() -> None:
    assert COMPOSER.compose(HITS, STORE, question=QUESTION).question == QUESTION
    assert Reorderer().reorder_with_diagnostics(PASSAGES, question=QUESTION).diagnostics.query_length == len(QUESTION)
    with pytest.raises(RetrivexError, match="query is int: it must be the question as text"):
        COMPOSER.compose(HITS, STORE, question=5)


def test_a_retriever_takes_both(tmp_path: Path) -> None:
    with SQLiteStore(make_index(tmp_path / "index.db")) as store:
        retriever = LocalRetriever(store)
        found = retriever.retrieve(query=QUESTION, k=1)  # type: ignore[call-arg]
        assert found == retriever.retrieve(QUESTION, k=1) != []
        assert asyncio.run(retriever.aretrieve(query=QUESTION, k=1)) == found  # type: ignore[call-arg]
