"""What every chunk store must do, as tests: subclass `ChunkStoreContract` and say how a store is made."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from time import monotonic

import numpy as np
import pytest

from retrivex.composer.composer import SpanComposer
from retrivex.composition.composition import Composition
from retrivex.config import RetrievalConfig
from retrivex.errors import StoreError, StoreTimeoutError
from retrivex.model.chunk import Chunk, ChunkMetadata
from retrivex.model.hit import SeedHit
from retrivex.model.window import Window
from retrivex.stores.memory import InMemoryChunkStore
from retrivex.stores.protocol import ChunkStore
from retrivex.testing.worlds import contract_chunks, odd_ids

_TENANTS = ("acme", "zebra")
_ALL = Window("doc-0", 0, 3)
_NOTICEABLE_S = 0.05


@dataclass(frozen=True, slots=True)
class StoreUnderTest:
    """A store, filled.

    Parameters
    ----------
    store : what is tested
    requests : how many requests were sent since it was made, counted on the wire or in the client
    close : ends what was started for it
    """

    store: ChunkStore
    requests: Callable[[], int]
    close: Callable[[], None] = lambda: None


class ChunkStoreContract:
    """The contract. pytest collects a subclass whose name begins with `Test`; `make` is what it must give.

    `make_down` and `make_hanging` may return None where a store cannot be down or hang. A store that gives embeddings
    only on request is made by `make_with_embeddings`. `holds_nul` and `holds_duplicates` say what the store can keep
    at all: a NUL in an id, and two records of one place.

    Examples
    --------
    A store of your own is tested with::

        class TestMyStore(ChunkStoreContract):
            def make(self, chunks):
                client = CountingClient(...)
                fill(client, chunks)
                return StoreUnderTest(MyStore(client), lambda: client.requests)
    """

    holds_nul = True
    holds_duplicates = True
    most_in_a_request: int | None = None
    """Chunks that one request may ask for, where the store has a limit."""

    def make(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        """Return a store that holds exactly `chunks`; each has an embedding of shape (8,)."""
        raise NotImplementedError  # the one thing that a subclass must say

    def make_with_embeddings(self, chunks: Sequence[Chunk]) -> StoreUnderTest | None:
        """Return a store that gives embeddings too, if `make` gives none; None where it cannot give any."""
        return self.make(chunks)

    def make_down(self) -> ChunkStore | None:
        """Return a store whose server cannot be reached; None where there is no server."""
        return None

    def make_hanging(self) -> ChunkStore | None:
        """Return a store whose server does not answer within its own time-out; None where there is no server.

        Let that be at least a tenth of a second: it is watched whether others can go on meanwhile.
        """
        return None

    # ---- what is there

    def test_windows_give_what_the_in_memory_store_gives(self) -> None:
        chunks = contract_chunks()
        with _made(self, chunks) as under_test:
            drawn = random.Random(7)
            for _ in range(12):
                windows = [
                    Window(f"doc-{drawn.randrange(8)}", start := drawn.randrange(14), start + drawn.randrange(5))
                    for _ in range(drawn.randrange(1, 9))
                ]
                _same(under_test.store.fetch(windows), InMemoryChunkStore(chunks).fetch(windows))

    def test_every_field_of_a_chunk_comes_back(self) -> None:
        chunks = contract_chunks(documents=1, chunks=3)
        with _made(self, chunks) as under_test:
            found = {chunk.key: chunk for chunk in under_test.store.fetch([Window("doc-0", 0, 3)])}
            assert sorted(found) == [chunk.key for chunk in chunks]
            for chunk in chunks:
                known, back = chunk.metadata, found[chunk.key].metadata
                assert (back.char_start, back.char_end, back.page) == (known.char_start, known.char_end, known.page)
                assert tuple(back.heading_path or ()) == tuple(known.heading_path or ())
                assert (back.timestamp, back.chunk_count, back.scope) == (known.timestamp, known.chunk_count, None)
                assert (back.parent_id, back.prefix) == (known.parent_id, known.prefix)
                assert tuple(back.links) == tuple(known.links)

    def test_metadata_of_ones_own_come_back(self) -> None:
        chunks = contract_chunks(documents=1, chunks=3)
        with _made(self, chunks) as under_test:
            found = {chunk.key: chunk.metadata.custom_metadata for chunk in under_test.store.fetch([_ALL])}
            for chunk in chunks:
                known = chunk.metadata.custom_metadata
                # a store may add its own, such as the id of the record
                assert {name: found[chunk.key].get(name) for name in known} == known

    def test_embeddings_come_back(self) -> None:
        chunks = contract_chunks(documents=1, chunks=3)
        under_test = self.make_with_embeddings(chunks)
        if under_test is None:
            pytest.skip("this store gives no embeddings")
        with closing(under_test):
            found = {chunk.key: chunk.embedding for chunk in under_test.store.fetch([_ALL])}
            for chunk in chunks:
                back = found[chunk.key]
                assert back is not None, "make_with_embeddings says how a store is made that gives them, or None"
                assert np.allclose(np.asarray(back), np.asarray(chunk.embedding), atol=1e-4)

    def test_first_and_last_chunks_of_a_document_are_not_missed_or_overrun(self) -> None:
        chunks = contract_chunks(documents=2, chunks=4)
        with _made(self, chunks) as under_test:
            ids = [chunk.key for chunk in under_test.store.fetch([Window("doc-0", 0, 1), Window("doc-1", 3, 9)])]
            assert sorted(ids) == [("doc-0", 0), ("doc-1", 3)]

    def test_what_is_not_there_is_left_out(self) -> None:
        with _made(self, contract_chunks(documents=2, chunks=4)) as under_test:
            assert list(under_test.store.fetch([Window("nowhere", 0, 3), Window("doc-0", 50, 60)])) == []
            assert list(under_test.store.fetch([])) == []

    def test_gaps_in_the_numbers_stay_gaps(self) -> None:
        chunks = [chunk for chunk in contract_chunks(documents=1, chunks=9) if chunk.metadata.chunk_id not in (3, 4)]
        with _made(self, chunks) as under_test:
            found = sorted(chunk.metadata.chunk_id for chunk in under_test.store.fetch([Window("doc-0", 0, 9)]))
            assert found == [0, 1, 2, 5, 6, 7, 8]

    def test_a_place_that_is_kept_twice_gives_its_text_once_in_the_context(self) -> None:
        if not self.holds_duplicates:
            pytest.skip("this store keeps one record of a place")
        chunks = contract_chunks(documents=1, chunks=5)
        with _made(self, [*chunks, chunks[2]]) as under_test:
            assert _compose(under_test.store, [chunks[1]]).text.count("sentence 2 of") == 1

    def test_odd_document_names_are_values_and_nothing_else(self) -> None:
        names = odd_ids(nul=self.holds_nul)
        chunks = [
            Chunk(f"text {i} {n}", ChunkMetadata(name, n), contract_chunks(1, 1)[0].embedding)
            for i, name in enumerate(names)
            for n in range(3)
        ]
        with _made(self, chunks) as under_test:
            for name in names:
                _same(
                    under_test.store.fetch([Window(name, 1, 3)]), InMemoryChunkStore(chunks).fetch([Window(name, 1, 3)])
                )

    # ---- requests

    def test_all_seeds_cost_one_request(self) -> None:
        chunks = contract_chunks()
        with _made(self, chunks) as under_test:
            before = under_test.requests()
            made = _compose(under_test.store, chunks[3::12])
            assert under_test.requests() - before == 1
            assert made.warnings == ()
            assert len(made.spans) == 6
            assert all(len(span.chunk_ids) > 1 for span in made.spans)

    def test_a_thousand_windows(self) -> None:
        chunks = contract_chunks(documents=1000, chunks=2)
        windows = [Window(f"doc-{d}", d % 2, d % 2 + 1) for d in range(1000)]
        with _made(self, chunks) as under_test:
            before = under_test.requests()
            _same(under_test.store.fetch(windows), InMemoryChunkStore(chunks).fetch(windows))
            limit = self.most_in_a_request or len(windows)
            assert under_test.requests() - before <= -(-len(windows) // limit)

    def test_the_order_of_the_windows_does_not_matter(self) -> None:
        chunks = contract_chunks()
        windows = [Window(f"doc-{d}", d, d + 3) for d in range(6)]
        with _made(self, chunks) as under_test:
            _same(under_test.store.fetch(windows[::-1]), under_test.store.fetch(windows))

    # ---- scope

    def test_a_scope_sees_its_own_chunks_alone(self) -> None:
        with _made(self, _of_tenants()) as under_test:
            windows = [Window("doc-0", 0, 4), Window("acme-0", 0, 4), Window("zebra-0", 0, 4)]
            for scope, seen in (("acme", {"acme-0"}), (None, {"doc-0"}), (["acme", None], {"acme-0", "doc-0"})):
                assert {chunk.metadata.doc_id for chunk in under_test.store.fetch(windows, scope)} == seen
            for scope in ("nobody", "' OR '1'='1", "acme' --", "*", ""):
                assert list(under_test.store.fetch(windows, scope)) == []

    # ---- at the same time

    def test_async_gives_what_sync_gives(self) -> None:
        chunks = contract_chunks()
        windows = [Window(f"doc-{d}", 2, 7) for d in range(6)]
        with _made(self, chunks) as under_test:
            afetch = getattr(under_test.store, "afetch", None)
            assert afetch is not None, "a store over a network has afetch"
            _same(asyncio.run(afetch(windows)), under_test.store.fetch(windows))

    def test_two_tenants_and_64_threads_on_one_store(self) -> None:
        with _made(self, _of_tenants()) as under_test:
            asked = [(_TENANTS[i % 2], i % 4) for i in range(64)]
            with ThreadPoolExecutor(64) as pool:
                found = list(pool.map(lambda ask: _seen(under_test.store.fetch(*_question(*ask))), asked))
            assert found == [_expected(*ask) for ask in asked]

    def test_two_tenants_and_64_tasks_on_one_store(self) -> None:
        with _made(self, _of_tenants()) as under_test:
            asked = [(_TENANTS[i % 2], i % 4) for i in range(64)]

            async def all_at_once() -> list[Iterable[Chunk]]:
                afetch = under_test.store.afetch  # type: ignore[attr-defined]
                return list(await asyncio.gather(*(afetch(*_question(*ask)) for ask in asked)))

            assert [_seen(found) for found in asyncio.run(all_at_once())] == [_expected(*ask) for ask in asked]

    # ---- failures

    def test_a_store_that_is_down_costs_the_neighbours_and_not_the_seeds(self) -> None:
        store = self.make_down()
        if store is None:
            pytest.skip("this store has no server")
        seeds = contract_chunks()[3::12]
        made = _compose(store, seeds)
        assert {span.text for span in made.spans} == {chunk.text.rstrip() for chunk in seeds}
        assert any("gave no neighbours" in warning for warning in made.warnings)
        with pytest.raises(StoreError):
            list(store.fetch([Window("doc-0", 0, 2)]))

    def test_a_store_that_hangs_is_given_up_on_with_a_typed_error(self) -> None:
        store = self.make_hanging()
        if store is None:
            pytest.skip("this store has no server")
        with pytest.raises(StoreTimeoutError):
            list(store.fetch([Window("doc-0", 0, 2)]))
        assert any("StoreTimeoutError" in warning for warning in _compose(store, contract_chunks()[3::12]).warnings)

    def test_a_store_that_hangs_does_not_hold_up_the_event_loop(self) -> None:
        store = self.make_hanging()
        if store is None:
            pytest.skip("this store has no server")
        waited, ticks = asyncio.run(_ticks_while_hanging(store))
        if waited < _NOTICEABLE_S:
            pytest.skip("this store gave up at once: let make_hanging wait for a tenth of a second")
        # one that blocks the loop lets it turn once or twice, before and after
        assert ticks > 5, f"the event loop turned {ticks} times in {waited:.2f} s: afetch blocks it"


async def _ticks_while_hanging(store: ChunkStore) -> tuple[float, int]:
    """Return the seconds that `afetch` took to give up, and how often the event loop came round meanwhile."""
    afetch = store.afetch  # type: ignore[attr-defined]
    started = monotonic()
    asked = asyncio.ensure_future(afetch([Window("doc-0", 0, 2)]))
    ticks = 0
    while not asked.done():
        ticks += 1
        await asyncio.sleep(0.001)
    with pytest.raises(StoreTimeoutError):
        await asked
    return monotonic() - started, ticks


@contextmanager
def _made(contract: ChunkStoreContract, chunks: Sequence[Chunk]) -> Iterator[StoreUnderTest]:
    under_test = contract.make(chunks)
    try:
        yield under_test
    finally:
        under_test.close()


def _compose(store: ChunkStore, seeds: Sequence[Chunk]) -> Composition:
    hits = [SeedHit(chunk, 1.0 - i / 100) for i, chunk in enumerate(seeds)]
    config = RetrievalConfig(window=2, token_budget=2000, scoring="weighted", stop_on_heading_change=False)
    # words are counted, as a tokenizer's files may have to be downloaded
    return SpanComposer(config, tokenizer=lambda text: len(text.split())).compose(hits, store)


def _of_tenants() -> list[Chunk]:
    mine = [chunk for name in _TENANTS for chunk in contract_chunks(4, 4, scope=name, prefix=name)]
    return [*contract_chunks(4, 4), *mine]


def _question(tenant: str, document: int) -> tuple[list[Window], str]:
    """Ask for a document of every tenant: only one's own may come back."""
    return [Window(f"{name}-{document}", 0, 4) for name in _TENANTS], tenant


def _expected(tenant: str, document: int) -> list[tuple[str, int, str | None]]:
    return [(f"{tenant}-{document}", n, tenant) for n in range(4)]


def _seen(chunks: Iterable[Chunk]) -> list[tuple[str, int, str | None]]:
    return sorted((*chunk.key, chunk.metadata.scope) for chunk in chunks)


def _same(found: Iterable[Chunk], expected: Iterable[Chunk]) -> None:
    assert {chunk.key: chunk.text for chunk in found} == {chunk.key: chunk.text for chunk in expected}
