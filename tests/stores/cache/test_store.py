"""Caches around a store: the contract holds over them, nothing is asked for twice, and scopes never mix."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from retrivex import Chunk, ChunkMetadata
from retrivex.errors import StoreError
from retrivex.model.window import Window
from retrivex.stores import CachedChunkStore
from retrivex.stores.cache.memory import MemoryCache
from retrivex.stores.memory import InMemoryChunkStore
from retrivex.testing import ChunkStoreContract, StoreUnderTest, contract_chunks

MINUTE = 60.0


class Asked(InMemoryChunkStore):
    """Counts what it is asked for."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        super().__init__(chunks)
        self.windows: list[list[Window]] = []
        self.broken = False

    def fetch(self, windows: Sequence[Window], scope: Any = None) -> list[Chunk]:
        self.windows.append(list(windows))
        if self.broken:
            raise StoreError("down")
        return super().fetch(windows, scope)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class TestMemoryCache(ChunkStoreContract):
    holds_duplicates = False

    def make(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        inner = Asked(chunks)
        return StoreUnderTest(CachedChunkStore(inner, MemoryCache(), name="inner"), lambda: len(inner.windows))


def test_only_what_is_missing_is_asked_for() -> None:
    inner = Asked(contract_chunks(2, 12))
    store = CachedChunkStore(inner, MemoryCache(), name="inner")
    first = store.fetch([Window("doc-0", 2, 5)])
    assert store.fetch([Window("doc-0", 2, 5)]) == first
    assert [c.metadata.chunk_id for c in store.fetch([Window("doc-0", 0, 7), Window("doc-1", 1, 2)])] == [*range(7), 1]
    assert inner.windows == [
        [Window("doc-0", 2, 5)],
        [Window("doc-0", 0, 2), Window("doc-0", 5, 7), Window("doc-1", 1, 2)],
    ]


def test_that_nothing_is_there_is_kept_too() -> None:
    inner = Asked(contract_chunks(1, 3))
    store = CachedChunkStore(inner, MemoryCache(), name="inner")
    for _ in range(3):
        assert [c.metadata.chunk_id for c in store.fetch([Window("doc-0", 0, 9)])] == [0, 1, 2]
    assert len(inner.windows) == 1


def test_failures_are_not_kept() -> None:
    inner = Asked(contract_chunks(1, 3))
    store = CachedChunkStore(inner, MemoryCache(), name="inner")
    inner.broken = True
    with pytest.raises(StoreError, match="down"):
        store.fetch([Window("doc-0", 0, 3)])
    inner.broken = False
    assert len(store.fetch([Window("doc-0", 0, 3)])) == 3


def test_what_is_old_is_asked_for_again() -> None:
    inner, clock = Asked(contract_chunks(1, 3)), Clock()
    store = CachedChunkStore(inner, MemoryCache(ttl_s=MINUTE, clock=clock), name="inner")
    store.fetch([Window("doc-0", 0, 3)])
    clock.now += MINUTE - 1
    store.fetch([Window("doc-0", 0, 3)])
    assert len(inner.windows) == 1
    clock.now += 2
    store.fetch([Window("doc-0", 0, 3)])
    assert len(inner.windows) == 2


def test_the_clock_cannot_be_set_back() -> None:
    assert inspect.signature(MemoryCache).parameters["clock"].default is time.monotonic


def test_no_more_places_than_allowed_are_kept() -> None:
    clock = Clock()
    cache = MemoryCache(max_places=10, clock=clock)
    store = CachedChunkStore(Asked(contract_chunks(3, 12)), cache, name="inner")
    for document in range(3):
        clock.now += 1
        store.fetch([Window(f"doc-{document}", 0, 8)])
        assert len(cache) <= 10
    inner_asked = len(store.store.windows)
    store.fetch([Window("doc-2", 0, 8)])
    assert len(store.store.windows) == inner_asked, "what came last is still there"


def test_scopes_never_mix() -> None:
    mixed = [Chunk("open", ChunkMetadata("d", 0)), Chunk("secret", ChunkMetadata("d", 1, scope="acme"))]
    inner = Asked(mixed)
    store = CachedChunkStore(inner, MemoryCache(), name="inner")
    seen = {
        scope if isinstance(scope, str) or scope is None else tuple(scope): [
            chunk.text for chunk in store.fetch([Window("d", 0, 2)], scope)
        ]
        for scope in ("acme", None, ["acme", None], "None", "other", [])
    }
    assert seen == {
        "acme": ["secret"], None: ["open"], ("acme", None): ["open", "secret"], "None": [], "other": [], (): [],
    }  # fmt: skip
    assert len(inner.windows) == 6


def test_another_version_or_name_finds_nothing_of_the_last() -> None:
    cache, version = MemoryCache(), ["1"]
    inner = Asked(contract_chunks(1, 2))
    store = CachedChunkStore(inner, cache, name="inner", version=lambda: version[0])
    store.fetch([Window("doc-0", 0, 2)])
    version[0] = "2"
    store.fetch([Window("doc-0", 0, 2)])
    CachedChunkStore(inner, cache, name="another", version="2").fetch([Window("doc-0", 0, 2)])
    assert len(inner.windows) == 3


def test_64_threads_get_what_one_gets() -> None:
    store = CachedChunkStore(Asked(contract_chunks()), MemoryCache(max_places=20), name="inner")
    asked = [[Window(f"doc-{i % 6}", i % 5, i % 5 + 4)] for i in range(64)]
    with ThreadPoolExecutor(64) as pool:
        found = list(pool.map(store.fetch, asked))
    assert found == [InMemoryChunkStore(contract_chunks()).fetch(windows) for windows in asked]


class Broken(MemoryCache):
    """A cache of one's own, out of reach."""

    def read(self, space: str, places: Any) -> Any:
        raise StoreError("no connection")

    def write(self, space: str, entries: Any) -> None:
        raise StoreError("no connection")


def test_a_cache_that_fails_costs_no_neighbours() -> None:
    store = CachedChunkStore(Asked(contract_chunks(1, 3)), Broken(), name="inner")
    assert len(store.fetch([Window("doc-0", 0, 3)])) == 3
    assert "the cache of inner was passed by" in store.warnings[0]
    assert len(asyncio.run(store.afetch([Window("doc-0", 0, 3)]))) == 3


class Leaky(MemoryCache):
    """Gives whatever it keeps of a place, whoever asks."""

    def read(self, space: str, places: Any) -> Any:
        return super().read("one for all", places)

    def write(self, space: str, entries: Any) -> None:
        super().write("one for all", entries)


def test_the_scope_of_what_a_cache_gives_is_checked_again() -> None:
    store = CachedChunkStore(InMemoryChunkStore(contract_chunks(1, 2, scope="acme")), Leaky(), name="inner")
    assert len(store.fetch([Window("doc-0", 0, 2)], "acme")) == 2
    assert store.fetch([Window("doc-0", 0, 2)], "zeta") == []
    assert asyncio.run(store.afetch([Window("doc-0", 0, 2)])) == []


@pytest.mark.parametrize("limits", [{"max_places": 0}, {"max_places": 2.5}, {"ttl_s": 0}, {"ttl_s": float("nan")}])
def test_limits_must_be_positive(limits: dict[str, Any]) -> None:
    with pytest.raises(StoreError, match=f"{next(iter(limits))} is"):
        MemoryCache(**limits)


def test_members_that_the_store_behind_has_are_passed_on() -> None:
    store = CachedChunkStore(InMemoryChunkStore(contract_chunks(1, 1), {"p": "whole"}), MemoryCache(), name="inner")
    assert store.fetch_parents(["p"]) == {"p": "whole"}
    assert not hasattr(store, "batch_limit")
    store.store.row_ends = frozenset({("d", 1)})  # type: ignore[attr-defined]
    assert store.row_ends == {("d", 1)}
    with pytest.raises(StoreError, match="name is ''"):
        CachedChunkStore(store, MemoryCache(), name="")
    with pytest.raises(StoreError, match="store is dict"):
        CachedChunkStore({}, MemoryCache(), name="inner")  # type: ignore[arg-type]
