"""Asking a store: one request, in time or not at all; never at the price of the seeds."""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import bare, compose, hits_of, make_chunk, sentences, shown_ids, windows

from retrivex import Chunk, ChunkMetadata, RetrievalConfig, SeedHit, SpanComposer, Window
from retrivex.errors import StoreError, StoreTimeoutError
from retrivex.merging.intervals import merge_windows
from retrivex.stores.access import split_windows

TEN = bare("d", sentences("d", 10))
HITS = hits_of(TEN, {5: 1.0})


@given(st.lists(windows, max_size=8).map(merge_windows), st.integers(1, 7))
def test_windows_are_split_into_as_few_requests_as_the_limit_allows(some: list[Window], limit: int) -> None:
    batches = split_windows(some, limit)
    wanted = [(w.doc_id, i) for w in some for i in range(w.start, w.end)]
    assert [(w.doc_id, i) for batch in batches for w in batch for i in range(w.start, w.end)] == wanted
    assert len(batches) == -(-len(wanted) // limit)
    assert all(sum(map(len, batch)) <= limit for batch in batches)


class Store:
    """Does as it is told."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def fetch(self, windows: Sequence[Window], scope: Any = None) -> Any:
        return self.answer(windows)


class Parents:
    """Answers whatever it is asked."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def fetch_parents(self, parent_ids: Sequence[str], scope: Any = None) -> Any:
        return self.answer


def failing(_: Any) -> Any:
    raise ConnectionError("no route to host")


def half_way(_: Any) -> Any:
    yield TEN["d", 4]
    raise OSError("connection reset")


def hanging(_: Any) -> Any:
    threading.Event().wait()


@pytest.mark.parametrize(
    ("answer", "word"),
    [(failing, "no route to host"), (half_way, "connection reset"), (hanging, "store_timeout_s=0.05"),
     (lambda _: None, "TypeError"), (lambda _: [None], "fetch returned NoneType")],
)  # fmt: skip
def test_a_failing_store_never_loses_the_seeds(answer: Any, word: str) -> None:
    made = compose(HITS, Store(answer), store_timeout_s=0.05)
    assert shown_ids(made.spans) == [5]
    [warning] = made.warnings  # nobody knows of neighbours that are missing
    assert "gave no neighbours" in warning
    assert word in warning
    with pytest.raises(StoreError):
        compose(HITS, Store(answer), store_timeout_s=0.05, strict=True)


def test_a_hanging_store_is_given_up_on() -> None:
    with pytest.raises(StoreTimeoutError, match="no answer within"):
        compose(HITS, Store(hanging), store_timeout_s=0.05, strict=True)


def test_without_a_limit_the_store_is_asked_in_the_callers_thread() -> None:
    threads = []

    def answer(_: Any) -> list[Chunk]:
        threads.append(threading.current_thread())
        return []

    compose(HITS, Store(answer), store_timeout_s=None)
    compose(HITS, Store(answer))
    assert threads[0] is threading.current_thread()
    assert threads[1] is not threading.current_thread()


def test_answers_that_were_not_asked_for_are_left_alone() -> None:
    others = [TEN["d", 0], make_chunk("other", 5, "Other.")]
    made = compose(HITS, Store(lambda _: [*others, TEN["d", 4], TEN["d", 4]]), window=1)
    assert shown_ids(made.spans) == [4, 5]


def test_every_chunk_is_checked_for_its_scope() -> None:
    secret = make_chunk("d", 4, "Secret.", scope="zeta")
    made = compose(HITS, Store(lambda _: [secret, TEN["d", 6]]), window=1)
    assert "Secret" not in made.text
    assert shown_ids(made.spans) == [5, 6]


def test_the_scope_is_passed_on() -> None:
    seen = []

    class Scoped:
        def fetch(self, windows: Any, scope: Any = None) -> list[Chunk]:
            seen.append(scope)
            return []

    compose([], Scoped(), scope="acme")
    compose([type(HITS[0])(make_chunk("d", 1, "x", scope="acme"), 1.0)], Scoped(), scope="acme")
    assert seen == ["acme"]


def test_entries_filed_under_another_key_are_left_alone() -> None:
    store = {**TEN, ("d", 4): TEN["d", 9]}
    assert shown_ids(compose(HITS, store, window=1).spans) == [5, 6]


class Lazy(dict[Any, Any]):
    """A mapping that reads from somewhere when it is asked."""

    def get(self, key: Any, default: Any = None) -> Any:
        raise OSError("disk is gone")


class Slow(dict[Any, Any]):
    """A mapping that answers when it is let go on."""

    def __init__(self, entries: Any) -> None:
        super().__init__(entries)
        self.go_on = threading.Event()

    def get(self, key: Any, default: Any = None) -> Any:
        self.go_on.wait(60)
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        self.go_on.wait(60)
        return super().__contains__(key)


def test_a_mapping_that_hangs_is_given_up_on() -> None:
    store = Slow(TEN)
    made = compose(HITS, store, store_timeout_s=0.1, window=4)
    assert shown_ids(made.spans) == [5]
    assert any("store_timeout_s=0.1" in warning for warning in made.warnings)
    store.go_on.set()
    assert shown_ids(compose(HITS, store, window=1).spans) == [4, 5, 6]


def test_a_mapping_that_is_slow_does_not_hold_up_the_event_loop() -> None:
    async def both() -> Any:
        store = Slow(TEN)
        task = asyncio.create_task(SpanComposer().acompose(HITS, store, window=1))
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert not task.done()
        store.go_on.set()
        return await task

    assert shown_ids(asyncio.run(both()).spans) == [4, 5, 6]


def test_a_mapping_of_parents_that_hangs_is_given_up_on() -> None:
    store = bare("d", sentences("d", 3), parent_id="p")
    said: dict[str, Any] = {"return_parents": "auto", "store_timeout_s": 0.1}
    made = compose(hits_of(store, {1: 1.0}), store, Slow({"p": "Whole."}), **said)
    assert any("the parent store gave no parents" in warning for warning in made.warnings)


def test_a_plain_dictionary_is_asked_in_the_callers_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "Thread", None)
    assert shown_ids(compose(HITS, TEN, window=1).spans) == [4, 5, 6]
    assert shown_ids(compose(HITS, defaultdict(None, TEN), window=1).spans) == [4, 5, 6]


def test_a_mapping_may_fail_too() -> None:
    made = compose(HITS, Lazy())
    assert shown_ids(made.spans) == [5]
    assert any("disk is gone" in warning for warning in made.warnings)
    with pytest.raises(StoreError, match="disk is gone"):
        compose(HITS, Lazy(), strict=True)


@pytest.mark.parametrize("timeout_s", [None, 5.0, 1e300])
def test_a_store_that_cancels_does_not_cancel_its_caller(timeout_s: float | None) -> None:
    def cancels(_: Any) -> Any:
        raise asyncio.CancelledError("over")

    made = compose(HITS, Store(cancels), store_timeout_s=timeout_s)
    assert shown_ids(made.spans) == [5]
    assert any("RuntimeError: CancelledError: over" in warning for warning in made.warnings)


def test_patience_longer_than_a_clock_can_count_is_patience() -> None:
    made = compose(HITS, Store(lambda windows: TEN.values()), store_timeout_s=1e300)
    assert made.warnings == ()


@pytest.mark.parametrize(
    ("extra", "word"),
    [({"other": "x", 5: "y", ("a", "b"): "z", "unasked": None}, None), ({"p": None}, "parent 'p' is NoneType"),
     ({"p": 5}, "parent 'p' is int"), (None, "fetch_parents returned NoneType"), (["p"], "fetch_parents returned list"),
     ("p", "fetch_parents returned str")],
    ids=repr,
)  # fmt: skip
def test_parents_that_nobody_asked_for_are_left_alone(extra: Any, word: str | None) -> None:
    store = bare("d", sentences("d", 3), parent_id="p")
    parent = {"p": " ".join(chunk.text for chunk in store.values())}
    composer = SpanComposer(RetrievalConfig(return_parents="auto"))
    answer = {**parent, **extra} if isinstance(extra, dict) else extra
    made = composer.compose(hits_of(store, {1: 1.0}), store, Parents(answer))
    assert 1 in shown_ids(made.spans)
    assert [word in warning for warning in made.warnings] == ([] if word is None else [True])
    again = composer.compose(hits_of(store, {1: 1.0}), store, Parents(parent))
    assert not again.warnings


def test_of_two_chunks_of_one_place_and_text_the_same_is_used_in_any_order() -> None:
    twins = [
        Chunk("Bees sleep.", ChunkMetadata("e", 1, **fields))
        for fields in ({}, {"timestamp": 1.0}, {"prefix": "# Bees\n"}, {"links": (("d", 3),)})
    ]
    hit = make_chunk("e", 0, "Bees fly.")
    made = [
        compose([SeedHit(hit, 1.0)], Store(lambda _, answer=answer: [hit, *answer])).to_dict()
        for answer in permutations(twins)
    ]
    assert all(composition == made[0] for composition in made)
    assert "Bees sleep." in made[0]["text"]


class Endless:
    """Never comes to an end, and notes how much was read of it."""

    def __init__(self, *, awaited: bool, counted: bool) -> None:
        self.given = 0
        self._counted = counted
        name = "fetch_counted" if counted else "fetch"
        setattr(self, f"a{name}" if awaited else name, self._aanswer if awaited else self._answer)

    def fetch(self, windows: Any, scope: Any = None) -> Any:
        return self._answer(windows)

    def _answer(self, windows: Any, scope: Any = None, tokenizer: str = "") -> Any:
        while self.given < 2_000_000:  # whoever reads so far does not stop
            self.given += 1
            chunk = Chunk("x" * 100, ChunkMetadata("d", self.given))
            yield (chunk, None) if self._counted else chunk

    async def _aanswer(self, windows: Any, scope: Any = None, tokenizer: str = "") -> Any:
        return self._answer(windows)


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("timeout", [30.0, None])
def test_an_answer_without_end_is_not_read_to_it(awaited: bool, counted: bool, timeout: float | None) -> None:
    store, composer = Endless(awaited=awaited, counted=counted), SpanComposer(tokenizer=len)
    options: dict[str, Any] = {"window": 1, "store_timeout_s": timeout}
    if awaited:
        made = asyncio.run(composer.acompose(HITS, store, **options))
    else:
        made = composer.compose(HITS, store, **options)
    assert "fetch gave more than 10006 items where 3 chunks were asked for" in " ".join(made.warnings)
    assert shown_ids(made.spans) == [5]
    assert store.given == 10_007


ADDRESS = "https://PASSWORD1:SECRET22@db.example/v1/chunks?api_key=SECRET22"


@pytest.mark.parametrize("padding", [0, *range(40, 101, 5)])
@pytest.mark.parametrize("of_parents", [False, True])
def test_what_a_failing_store_says_of_its_address_is_not_repeated(padding: int, of_parents: bool) -> None:
    def refused(*_: Any) -> Any:
        raise RuntimeError(f"{'x' * padding} Client error '401 Unauthorized' for url '{ADDRESS}'")

    store: Any = Store(refused)
    if of_parents:
        store = bare("d", sentences("d", 3), parent_id="p")
    hits = hits_of(bare("d", sentences("d", 3), parent_id="p"), {1: 1.0})
    parents = Parents(None)
    parents.fetch_parents = refused  # type: ignore[method-assign]
    said: dict[str, Any] = {"parents": parents, "return_parents": "auto"} if of_parents else {}
    made = compose(hits, store, **said)
    with pytest.raises(StoreError, match="the store failed") as told:
        compose(hits, store, strict=True, **said)
    assert any("RuntimeError: " in warning for warning in made.warnings)
    everything = f"{made.warnings} {made.to_dict(trace=True)} {told.value} {told.value!r}"
    assert [secret for secret in ("PASSWORD1", "SECRET22", "PASS", "SECR") if secret in everything] == []
