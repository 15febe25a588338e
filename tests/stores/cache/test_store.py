"""Caches around a store: the contract holds over them, nothing is asked for twice, and scopes never mix."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from retrivex import Chunk, ChunkMetadata
from retrivex.errors import StoreError
from retrivex.model.window import Window
from retrivex.stores import CachedChunkStore
from retrivex.stores.cache.memory import MemoryCache
from retrivex.stores.cache.sqlite import SQLiteCache
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


class TestSQLiteCache(ChunkStoreContract):
    holds_duplicates = False

    def make(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        inner, folder = Asked(chunks), tempfile.TemporaryDirectory()
        cache = SQLiteCache(Path(folder.name) / "cache.db")

        def close() -> None:
            cache.close()
            folder.cleanup()

        return StoreUnderTest(CachedChunkStore(inner, cache, name="inner"), lambda: len(inner.windows), close)


@pytest.fixture(params=["memory", "sqlite"])
def cache_of(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Make a cache of the kind with a clock of ours."""
    made: list[SQLiteCache] = []

    def make(**limits: Any) -> Any:
        if request.param == "memory":
            return MemoryCache(**limits)
        made.append(SQLiteCache(tmp_path / "cache.db", **limits))
        return made[-1]

    yield make
    for cache in made:
        cache.close()


def test_only_what_is_missing_is_asked_for(cache_of: Any) -> None:
    inner = Asked(contract_chunks(2, 12))
    store = CachedChunkStore(inner, cache_of(), name="inner")
    first = store.fetch([Window("doc-0", 2, 5)])
    assert store.fetch([Window("doc-0", 2, 5)]) == first
    assert [c.metadata.chunk_id for c in store.fetch([Window("doc-0", 0, 7), Window("doc-1", 1, 2)])] == [*range(7), 1]
    assert inner.windows == [
        [Window("doc-0", 2, 5)],
        [Window("doc-0", 0, 2), Window("doc-0", 5, 7), Window("doc-1", 1, 2)],
    ]


def test_that_nothing_is_there_is_kept_too(cache_of: Any) -> None:
    inner = Asked(contract_chunks(1, 3))
    store = CachedChunkStore(inner, cache_of(), name="inner")
    for _ in range(3):
        assert [c.metadata.chunk_id for c in store.fetch([Window("doc-0", 0, 9)])] == [0, 1, 2]
    assert len(inner.windows) == 1


def test_failures_are_not_kept(cache_of: Any) -> None:
    inner = Asked(contract_chunks(1, 3))
    store = CachedChunkStore(inner, cache_of(), name="inner")
    inner.broken = True
    with pytest.raises(StoreError, match="down"):
        store.fetch([Window("doc-0", 0, 3)])
    inner.broken = False
    assert len(store.fetch([Window("doc-0", 0, 3)])) == 3


def test_what_is_old_is_asked_for_again(cache_of: Any) -> None:
    inner, clock = Asked(contract_chunks(1, 3)), Clock()
    store = CachedChunkStore(inner, cache_of(ttl_s=MINUTE, clock=clock), name="inner")
    store.fetch([Window("doc-0", 0, 3)])
    clock.now += MINUTE - 1
    store.fetch([Window("doc-0", 0, 3)])
    assert len(inner.windows) == 1
    clock.now += 2
    store.fetch([Window("doc-0", 0, 3)])
    assert len(inner.windows) == 2


def test_an_entry_of_before_the_clock_was_set_back_is_old(tmp_path: Path) -> None:
    inner, clock = Asked(contract_chunks(1, 3)), Clock()
    with SQLiteCache(tmp_path / "cache.db", max_places=3, ttl_s=MINUTE, clock=clock) as cache:
        store = CachedChunkStore(inner, cache, name="inner")
        store.fetch([Window("doc-0", 0, 3)])
        clock.now -= 1440 * MINUTE
        assert len(cache) == 0
        store.fetch([Window("doc-0", 0, 3)])
        assert len(inner.windows) == 2
        # and it does not push out what is new
        store.fetch([Window("doc-0", 0, 3)])
        assert (len(inner.windows), len(cache)) == (2, 3)


def test_no_more_places_than_allowed_are_kept(cache_of: Any) -> None:
    clock = Clock()
    cache = cache_of(max_places=10, clock=clock)
    store = CachedChunkStore(Asked(contract_chunks(3, 12)), cache, name="inner")
    for document in range(3):
        clock.now += 1
        store.fetch([Window(f"doc-{document}", 0, 8)])
        assert len(cache) <= 10
    inner_asked = len(store.store.windows)
    store.fetch([Window("doc-2", 0, 8)])
    assert len(store.store.windows) == inner_asked, "what came last is still there"


def test_scopes_never_mix(cache_of: Any) -> None:
    mixed = [Chunk("open", ChunkMetadata("d", 0)), Chunk("secret", ChunkMetadata("d", 1, scope="acme"))]
    inner = Asked(mixed)
    store = CachedChunkStore(inner, cache_of(), name="inner")
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


def test_another_version_or_name_finds_nothing_of_the_last(cache_of: Any) -> None:
    cache, version = cache_of(), ["1"]
    inner = Asked(contract_chunks(1, 2))
    store = CachedChunkStore(inner, cache, name="inner", version=lambda: version[0])
    store.fetch([Window("doc-0", 0, 2)])
    version[0] = "2"
    store.fetch([Window("doc-0", 0, 2)])
    CachedChunkStore(inner, cache, name="another", version="2").fetch([Window("doc-0", 0, 2)])
    assert len(inner.windows) == 3


def test_64_threads_get_what_one_gets(cache_of: Any) -> None:
    store = CachedChunkStore(Asked(contract_chunks()), cache_of(max_places=20), name="inner")
    asked = [[Window(f"doc-{i % 6}", i % 5, i % 5 + 4)] for i in range(64)]
    with ThreadPoolExecutor(64) as pool:
        found = list(pool.map(store.fetch, asked))
    assert found == [InMemoryChunkStore(contract_chunks()).fetch(windows) for windows in asked]


def test_every_field_comes_back_from_the_file(tmp_path: Path) -> None:
    where = ChunkMetadata("d\0'蜂", 3, 0, 4, "p", ["A", "B"], 2, {"k": [1, None]}, 5.5, 9, None, [("e", 1)], "head")
    chunk = Chunk("te\nx", where, [0.5, -1.0])
    inner = Asked([chunk])
    with SQLiteCache(tmp_path / "cache.db") as cache:
        store = CachedChunkStore(inner, cache, name="inner")
        store.fetch([Window(where.doc_id, 3, 4)])
        (back,) = store.fetch([Window(where.doc_id, 3, 4)])
    assert len(inner.windows) == 1
    assert (back.text, back.metadata, list(back.embedding)) == (chunk.text, where, [0.5, -1.0])


@pytest.mark.parametrize(
    "chunk",
    [
        Chunk("t", ChunkMetadata("d", 0, custom_metadata={"when": {1, 2}})),
        Chunk("half \ud800", ChunkMetadata("d\ud800", 0)),
    ],
)
def test_what_the_file_cannot_hold_is_fetched_anew(tmp_path: Path, chunk: Chunk) -> None:
    inner = Asked([chunk])
    with SQLiteCache(tmp_path / "cache.db") as cache:
        store = CachedChunkStore(inner, cache, name="inner")
        for _ in range(2):
            assert store.fetch([Window(chunk.metadata.doc_id, 0, 1)]) == [chunk]
        assert store.warnings == ()
    assert len(inner.windows) == 2


def test_processes_share_a_file(tmp_path: Path) -> None:
    """Several writers at once, each its own places, and every place is there in the end."""
    path = tmp_path / "cache.db"
    program = """
import sys
from retrivex.model.window import Window
from retrivex.stores import CachedChunkStore
from retrivex.stores.memory import InMemoryChunkStore
from retrivex.stores.cache.sqlite import SQLiteCache
from retrivex.testing import contract_chunks
chunks = contract_chunks(3, 12)
with SQLiteCache(sys.argv[1]) as cache:
    store = CachedChunkStore(InMemoryChunkStore(chunks), cache, name="shared")
    for n in range(12):
        store.fetch([Window(f"doc-{sys.argv[2]}", n, n + 1)])
    assert not store.warnings, store.warnings
"""
    running = [subprocess.Popen([sys.executable, "-c", program, str(path), str(i)]) for i in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    inner = Asked([])
    with SQLiteCache(path) as cache:
        found = CachedChunkStore(inner, cache, name="shared").fetch([Window(f"doc-{i}", 0, 12) for i in range(3)])
    assert len(found) == 36
    assert inner.windows == []


def test_who_waits_for_a_writer_keeps_what_that_one_wrote(tmp_path: Path) -> None:
    """What is written while a process waits for its turn is not taken for entries of tomorrow."""
    now = 1000.0
    chunks = contract_chunks(2, 1)
    with (
        SQLiteCache(tmp_path / "cache.db", clock=lambda: now) as late,
        SQLiteCache(tmp_path / "cache.db", clock=lambda: now + 5) as other,
    ):
        lend = late.transaction

        def lend_after_another(*, write: bool = False) -> Any:
            nonlocal now
            other.write("space", {("doc-0", 0): (chunks[0],)})
            now += 6
            return lend(write=write)

        late.transaction = lend_after_another  # type: ignore[method-assign]
        late.write("space", {("doc-1", 0): (chunks[1],)})
        late.transaction = lend  # type: ignore[method-assign]
        assert len(late) == 2


def test_a_cache_that_fails_costs_no_neighbours(tmp_path: Path) -> None:
    cache = SQLiteCache(tmp_path / "cache.db")
    store = CachedChunkStore(Asked(contract_chunks(1, 3)), cache, name="inner")
    cache.close()
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


def test_a_file_that_is_no_cache_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a database, but long enough to look like one" * 50)
    with pytest.raises(StoreError, match="not an SQLite database"):
        SQLiteCache(tmp_path / "notes.txt")


@pytest.mark.parametrize("name", ["", ":memory:"])
def test_a_cache_in_a_file_needs_a_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        StoreError, match=r"is no file: name one, or use memory_cache\.MemoryCache for chunks in memory"
    ):
        SQLiteCache(name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("limits", [{"max_places": 0}, {"max_places": 2.5}, {"ttl_s": 0}, {"ttl_s": float("nan")}])
def test_limits_must_be_positive(limits: dict[str, Any], cache_of: Any) -> None:
    with pytest.raises(StoreError, match=f"{next(iter(limits))} is"):
        cache_of(**limits)


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


@pytest.mark.parametrize("text", ["not json", '[{"text": ""}]', "null", "[1]", '[{"colour": "red"}]', "{}"])
def test_a_row_that_nobody_can_read_is_fetched_anew(text: str, tmp_path: Path) -> None:
    inner = Asked(contract_chunks(1, 2))
    with SQLiteCache(tmp_path / "cache.db") as cache:
        store = CachedChunkStore(inner, cache, name="inner")
        first = store.fetch([Window("doc-0", 0, 2)])
        with sqlite3.connect(tmp_path / "cache.db") as connection:
            connection.execute("UPDATE entry SET chunks = ?", (text,))
        assert store.fetch([Window("doc-0", 0, 2)]) == first
    assert len(inner.windows) == 2
