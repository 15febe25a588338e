"""Chunks in memory: the store, and a plain dictionary used as one."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex.errors import StoreError
from retrivex.model.chunk import Chunk, ChunkMetadata
from retrivex.model.window import Window
from retrivex.stores import ChunkStore, InMemoryChunkStore, ParentStore, fetch_from_mapping


def chunk(doc_id: str, chunk_id: int, *, scope: str | None = None, text: str | None = None) -> Chunk:
    return Chunk(text or f"{doc_id} {chunk_id}", ChunkMetadata(doc_id, chunk_id, scope=scope))


windows = st.lists(
    st.builds(
        lambda doc_id, start, size: Window(doc_id, start, start + size),
        st.sampled_from(["a", "b", "gone"]),
        st.integers(-3, 12),
        st.integers(-2, 12),
    ),
    max_size=5,
)


@given(st.sets(st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 12))), windows)
def test_store_and_mapping_give_exactly_the_chunks_of_the_windows(
    keys: set[tuple[str, int]], asked: list[Window]
) -> None:
    chunks = [chunk(doc_id, chunk_id) for doc_id, chunk_id in keys]
    wanted = sorted(key for key in keys if any(key[0] == window.doc_id and key[1] in window for window in asked))
    assert [found.key for found in InMemoryChunkStore(chunks).fetch(asked)] == wanted
    mapped = fetch_from_mapping({item.key: item for item in chunks}, asked)
    assert sorted({found.key for found in mapped}) == wanted


def test_a_window_as_wide_as_numbers_go_does_not_count_through_them() -> None:
    chunks = [chunk("d", 3), chunk("d", 2**60), chunk("e", 4)]
    wide = [Window("d", 0, 2**63)]
    assert [found.metadata.chunk_id for found in InMemoryChunkStore(chunks).fetch(wide)] == [3, 2**60]
    mapped = fetch_from_mapping({item.key: item for item in chunks}, wide)
    assert [found.metadata.chunk_id for found in mapped] == [3, 2**60]


def test_the_same_id_with_another_text_is_refused() -> None:
    with pytest.raises(StoreError, match=r"two chunks share the id \('d', 0\) but not the text"):
        InMemoryChunkStore([chunk("d", 0, text="one"), chunk("d", 0, text="two")])


def test_the_same_chunk_twice_counts_once() -> None:
    assert len(InMemoryChunkStore([chunk("d", 0), chunk("d", 0)])) == 1


def test_scope_fails_closed() -> None:
    store = InMemoryChunkStore([chunk("d", 0), chunk("d", 1, scope="acme"), chunk("d", 2, scope="rival")])
    everything = [Window("d", 0, 9)]

    def seen(scope: object) -> list[int]:
        return [found.metadata.chunk_id for found in store.fetch(everything, scope)]  # type: ignore[arg-type]

    assert seen(None) == [0]
    assert seen("acme") == [1]
    assert seen({"acme", None}) == [0, 1]
    assert seen([]) == []


def test_afetch_is_fetch() -> None:
    store = InMemoryChunkStore([chunk("d", 0)])
    assert asyncio.run(store.afetch([Window("d", 0, 1)])) == store.fetch([Window("d", 0, 1)])


def test_parents_are_checked_for_scope_and_plain_text_counts_as_unscoped() -> None:
    section = chunk("d", 0, scope="acme", text="a section")
    store = InMemoryChunkStore([], {"s": section, "t": "plain text"})
    assert store.fetch_parents(["s", "t", "none"], "acme") == {"s": section}
    assert store.fetch_parents(["s", "t"]) == {"t": "plain text"}


def test_it_is_a_chunk_store_and_a_parent_store() -> None:
    store = InMemoryChunkStore([])
    assert isinstance(store, ChunkStore)
    assert isinstance(store, ParentStore)
    assert store.in_process
