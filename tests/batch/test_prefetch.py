from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.batch_world import FailingStore, MadeStore

from retrivex import Chunk, Window
from retrivex.batch.prefetch import BatchStore
from retrivex.errors import StoreError
from retrivex.model.chunk import Scope
from retrivex.tokens.stored import StoredCount

windows = st.lists(
    st.builds(
        lambda d, start, size: Window(f"doc-{d}", start, start + size),
        st.integers(0, 5), st.integers(0, 14), st.integers(0, 30),
    ),
    max_size=4,
)  # fmt: skip


class Listening(MadeStore):
    """Keeps what it was asked for."""

    def __init__(self, limit: int | None) -> None:
        super().__init__()
        self.asked: list[tuple[str, int]] = []
        self.batch_limit = limit

    def fetch(self, windows: Sequence[Window], scope: Scope = None) -> list[Chunk]:
        self.asked += [(window.doc_id, n) for window in windows for n in range(window.start, window.end)]
        assert self.batch_limit is None or sum(map(len, windows)) <= self.batch_limit
        return super().fetch(windows, scope)


@given(windows, st.lists(windows, max_size=4), st.sampled_from([None, 1, 7]))
def test_what_was_loaded_or_not_is_what_the_store_has_and_no_window_is_asked_twice(
    loaded: list[Window], asked: list[list[Window]], limit: int | None
) -> None:
    store = Listening(limit)
    batch = BatchStore(store, "words", None)
    batch.load(loaded, None)
    plain = MadeStore()
    for one in asked:
        found = {chunk.key for chunk in batch.fetch(one)}
        assert found == {chunk.key for chunk in plain.fetch(one)}
    calls = store.calls
    assert batch.requests == store.calls
    for one in [loaded, *asked]:
        batch.fetch(one)
    assert batch.requests == store.calls == calls, "what was asked for before is not asked for again"


def test_scopes_are_kept_apart() -> None:
    store = MadeStore()
    batch = BatchStore(store, "words", None)
    batch.load([Window("doc-0", 0, 3)], None)
    batch.load([Window("doc-0", 0, 3)], ["acme", None])
    assert store.calls == 2
    assert len(batch.chunks(None)) == 3
    assert batch.chunks("acme") == {}


def test_stored_counts_come_along_for_the_tokenizer_that_made_them() -> None:
    class Counting(MadeStore):
        def fetch_counted(self, windows: Any, scope: Scope = None, *, tokenizer: str) -> Any:
            assert tokenizer == "words"
            return [(chunk, StoredCount(7, None)) for chunk in self.fetch(windows, scope)]

    batch = BatchStore(Counting(), "words", None)
    window = [Window("doc-0", 0, 1)]
    assert [count for _, count in batch.fetch_counted(window, tokenizer="words")] == [StoredCount(7, None)]
    assert [count for _, count in batch.fetch_counted(window, tokenizer="other")] == [None]


def test_a_failure_is_kept_and_names_its_cause() -> None:
    batch = BatchStore(FailingStore(), "words", None)
    with pytest.raises(StoreError, match="the store failed: ConnectionError: no route to host"):
        batch.load([Window("doc-0", 0, 3)], None)
    assert batch.failures


def test_a_store_that_hangs_is_given_up_on() -> None:
    class Hanging(MadeStore):
        in_process = False

        def fetch(self, windows: Any, scope: Scope = None) -> Any:
            time.sleep(5)

    with pytest.raises(StoreError, match="no answer within"):
        BatchStore(Hanging(), "words", 0.05).load([Window("doc-0", 0, 3)], None)


@pytest.mark.parametrize("answer", [[None], ["text"], [{}]])
def test_a_store_that_answers_something_else_is_refused(answer: Any) -> None:
    class Odd(MadeStore):
        def fetch(self, windows: Any, scope: Scope = None) -> Any:
            return answer

    with pytest.raises(StoreError, match="a chunk store gives Chunk objects"):
        BatchStore(Odd(), "words", None).load([Window("doc-0", 0, 3)], None)
