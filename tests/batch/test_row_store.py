from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest
from support.batch_world import FailingStore, MadeStore, make_chunks

from retrivex import Chunk, Window
from retrivex.batch.row_store import RowStore
from retrivex.errors import StoreError
from retrivex.model.chunk import Scope
from retrivex.tokens.stored import StoredCount

WINDOW = [Window("doc-0", 0, 3)]


def test_chunks_of_a_row_take_the_place_of_the_stores() -> None:
    store = RowStore(MadeStore(), None)
    own = Chunk("Of this row.", make_chunks()[1].metadata)
    store.own = {own.key: own}
    assert [chunk.text == own.text for chunk in sorted(store.fetch(WINDOW), key=lambda one: one.key)] == [
        False, True, False,
    ]  # fmt: skip


def test_hits_are_found_in_requests_as_large_as_the_store_takes_and_only_what_may_be_seen() -> None:
    class Limited(MadeStore):
        batch_limit = 2

        def fetch(self, windows: Sequence[Window], scope: Scope = None) -> list[Chunk]:
            assert sum(map(len, windows)) <= 2
            return super().fetch(windows)

    store = RowStore(Limited(), None)
    assert sorted(store.find(WINDOW, None)) == [("doc-0", n) for n in range(3)]
    assert store.find(WINDOW, "acme") == {}


def test_stored_counts_come_along() -> None:
    class Counting(MadeStore):
        def fetch_counted(self, windows: Any, scope: Scope = None, *, tokenizer: str) -> Any:
            return [(chunk, StoredCount(7, None)) for chunk in self.fetch(windows, scope)]

    assert [count for _, count in RowStore(Counting(), None).fetch_counted(WINDOW, tokenizer="words")] == [
        StoredCount(7, None)
    ] * 3
    assert not hasattr(RowStore(MadeStore(), None), "fetch_counted")


def test_a_failure_is_kept_and_names_its_cause() -> None:
    store = RowStore(FailingStore(), None)
    with pytest.raises(StoreError, match="the store failed: ConnectionError: no route to host"):
        store.find(WINDOW, None)
    assert store.failure is not None


def test_a_store_that_hangs_is_given_up_on() -> None:
    class Hanging(MadeStore):
        in_process = False

        def fetch(self, windows: Any, scope: Scope = None) -> Any:
            time.sleep(5)

    with pytest.raises(StoreError, match="no answer within"):
        RowStore(Hanging(), 0.05).fetch(WINDOW)


@pytest.mark.parametrize("answer", [[None], ["text"], [{}]])
def test_a_store_that_answers_something_else_has_failed(answer: Any) -> None:
    class Odd(MadeStore):
        def fetch(self, windows: Any, scope: Scope = None) -> Any:
            return answer

    store = RowStore(Odd(), None)
    with pytest.raises(StoreError):
        store.fetch(WINDOW)
    assert store.failure is not None
