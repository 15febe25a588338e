"""The async twins take the same steps."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from fuzz.checks import without_times
from fuzz.compositions import Bench
from hypothesis import given
from support.properties import try_examples
from support.strategies import bare, cases, compose, count_words, hits_of, sentences

from retrivex import Chunk, SpanComposer, Window
from retrivex.errors import StoreError
from retrivex.stores import InMemoryChunkStore

TEN = bare("d", sentences("d", 10))
HITS = hits_of(TEN, {1: 0.9, 5: 0.5, 9: 0.7})


class AsyncStore:
    """Answers only when awaited."""

    def __init__(self) -> None:
        self.awaited = 0

    def fetch(self, windows: Sequence[Window], scope: Any = None) -> list[Chunk]:
        raise AssertionError("fetch was called although the store has afetch")

    async def afetch(self, windows: Sequence[Window], scope: Any = None) -> list[Chunk]:
        self.awaited += 1
        await asyncio.sleep(0)
        return [TEN[w.doc_id, i] for w in windows for i in range(w.start, w.end) if (w.doc_id, i) in TEN]


class SlowStore(AsyncStore):
    """Never answers."""

    async def afetch(self, windows: Sequence[Window], scope: Any = None) -> list[Chunk]:
        await asyncio.sleep(60)
        return []


@pytest.mark.parametrize("store", [TEN, InMemoryChunkStore(TEN.values()), AsyncStore()], ids=type)
def test_the_same_answer(store: Any) -> None:
    made = asyncio.run(SpanComposer(tokenizer=count_words).acompose(HITS, store, token_budget=40))
    assert made == compose(HITS, TEN, token_budget=40)


def test_the_same_spans() -> None:
    composer = SpanComposer(tokenizer=count_words)
    assert asyncio.run(composer.aretrieve(HITS, AsyncStore())) == composer.retrieve(HITS, TEN)


def test_one_request() -> None:
    store = AsyncStore()
    asyncio.run(SpanComposer(tokenizer=count_words).acompose(HITS, store))
    assert store.awaited == 1


def test_a_store_that_hangs_costs_its_patience_and_no_seed() -> None:
    composer = SpanComposer(tokenizer=count_words)
    made = asyncio.run(composer.acompose(HITS, SlowStore(), store_timeout_s=0.05))
    assert [span.chunk_ids for span in made.spans] == [[1], [5], [9]]
    assert any("store_timeout_s=0.05" in warning for warning in made.warnings)


class DrippingStore(AsyncStore):
    """Answers at once, with a generator that gives chunks one by one and takes its time."""

    def __init__(self) -> None:
        super().__init__()
        self.given_up, self.dripped = threading.Event(), 0

    def _drip(self, windows: Sequence[Window]) -> Iterator[Chunk]:
        while self.dripped < 100 and not self.given_up.wait(0.1):
            self.dripped += 1
            yield TEN["d", 1]

    async def afetch(self, windows: Sequence[Window], scope: Any = None) -> Any:
        return self._drip(windows)


class CountedDrippingStore(DrippingStore):
    """The same with counts."""

    async def afetch_counted(self, windows: Sequence[Window], scope: Any = None, *, tokenizer: str) -> Any:
        return ((chunk, None) for chunk in self._drip(windows))


@pytest.mark.parametrize("kind", [DrippingStore, CountedDrippingStore])
def test_the_event_loop_does_not_wait_for_an_awaited_generator(kind: type[DrippingStore]) -> None:
    store, composer = kind(), SpanComposer(tokenizer=count_words)
    made = asyncio.run(composer.acompose(HITS, store, store_timeout_s=0.05))
    store.given_up.set()
    assert store.dripped < 100
    assert any("store_timeout_s=0.05" in warning for warning in made.warnings)


def test_strict_raises() -> None:
    with pytest.raises(StoreError, match="no answer within"):
        asyncio.run(SpanComposer(tokenizer=count_words).acompose(HITS, SlowStore(), store_timeout_s=0.05, strict=True))


def test_many_at_once() -> None:
    composer = SpanComposer(tokenizer=count_words)

    async def ask_all() -> list[str]:
        answers = [composer.acompose(HITS[: 1 + i % 3], AsyncStore()) for i in range(20)]
        return [made.text for made in await asyncio.gather(*answers)]

    assert asyncio.run(ask_all()) == [composer.compose(HITS[: 1 + i % 3], TEN).text for i in range(20)]


# ---- cancelling


class Cancels(AsyncStore):
    """Raises what says that a task was cancelled, or cancels the task it runs in."""

    def __init__(self, *, own_task: bool) -> None:
        super().__init__()
        self.own_task = own_task

    async def afetch(self, windows: Sequence[Window], scope: Any = None) -> list[Chunk]:
        task = asyncio.current_task()
        if self.own_task and task is not None:
            task.cancel()
            await asyncio.sleep(0)
        raise asyncio.CancelledError("a scope of the store's own")


@pytest.mark.parametrize("own_task", [False, True])
@pytest.mark.parametrize("timeout_s", [None, 5.0])
def test_a_store_that_cancels_itself_fails_like_others(own_task: bool, timeout_s: float | None) -> None:
    composer = SpanComposer(tokenizer=count_words)
    made = asyncio.run(composer.acompose(HITS, Cancels(own_task=own_task), store_timeout_s=timeout_s))
    assert [span.chunk_ids for span in made.spans] == [[1], [5], [9]]
    assert any("CancelledError" in warning for warning in made.warnings)
    with pytest.raises(StoreError, match="CancelledError"):
        asyncio.run(composer.acompose(HITS, Cancels(own_task=own_task), store_timeout_s=timeout_s, strict=True))


class Stubborn(AsyncStore):
    """Hangs, and whoever cancels it gets another answer."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer

    async def afetch(self, windows: Sequence[Window], scope: Any = None) -> list[Chunk]:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.awaited += 1
            if isinstance(self.answer, Exception):
                raise self.answer from None
        return []


@pytest.mark.parametrize("answer", [[], ConnectionError("closed")])
@pytest.mark.parametrize("timeout_s", [None, 5.0])
def test_cancelling_the_caller_reaches_the_store_and_the_caller(answer: Any, timeout_s: float | None) -> None:
    store = Stubborn(answer)

    async def give_up() -> None:
        composer = SpanComposer(tokenizer=count_words)
        task = asyncio.create_task(composer.acompose(HITS, store, store_timeout_s=timeout_s))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(give_up())
    assert store.awaited == 1


def test_a_timeout_of_the_stores_own_is_told_as_its_own() -> None:
    class Late(AsyncStore):
        async def afetch(self, windows: Sequence[Window], scope: Any = None) -> list[Chunk]:
            raise TimeoutError("pool exhausted")

    made = asyncio.run(SpanComposer(tokenizer=count_words).acompose(HITS, Late(), store_timeout_s=None))
    assert any("TimeoutError: pool exhausted" in warning for warning in made.warnings)


@try_examples(200)
@given(cases())
def test_both_ways_give_the_same(case: Any) -> None:
    composer, _ = Bench()(case.tokenizer)
    said = {"query": case.query, "scope": case.scope, **case.options}
    made = composer.compose(case.hits, case.store, case.parent_store, **said)
    awaited = asyncio.run(composer.acompose(case.hits, case.store, case.parent_store, **said))
    assert without_times(awaited) == without_times(made)
