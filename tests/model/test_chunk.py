"""Chunks say what is wrong with them when they are made, and stay as they are."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

from retrivex import Chunk, ChunkMetadata, RetrivexError
from retrivex.errors import ChunkError
from retrivex.model.chunk import MAX_CHUNK_ID, allowed_scopes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("", 0), "doc_id is '': it must be a non-empty string"),
        ((None, 0), "doc_id is None"),
        (("d", -1), "is -1: it must be non-negative"),
        (("d", MAX_CHUNK_ID + 1), "at most"),
        (("d", "3"), "must be a whole number"),
        (("d", 1.5), "must be a whole number"),
        (("d", 0, 5), "give both or neither"),
        (("d", 0, None, 5), "give both or neither"),
        (("d", 0, 9, 5), "char_start 9, char_end 5: count characters"),
        (("d", 0, -3, 5), "non-negative"),
    ],
)
def test_bad_metadata_is_refused_with_value_rule_and_way_out(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(RetrivexError, match=message) as caught:
        ChunkMetadata(*arguments)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("text", ["", None, 5])
def test_chunk_text_is_a_non_empty_string(text: Any) -> None:
    with pytest.raises(RetrivexError, match="cannot be empty"):
        Chunk(text, ChunkMetadata("d", 0))


@pytest.mark.parametrize("doc_id", ["it's", 'a "b"', "line\nbreak", "nul\0", "ключ", "x" * 10_000])
def test_any_non_empty_string_is_an_id(doc_id: str) -> None:
    assert Chunk("text", ChunkMetadata(doc_id, MAX_CHUNK_ID)).key == (doc_id, MAX_CHUNK_ID)


def test_numpy_ids_become_plain_ones() -> None:
    metadata = ChunkMetadata("d", np.int64(3))
    assert type(metadata.chunk_id) is int
    assert metadata.key == ("d", 3)


def test_only_the_embedding_may_change() -> None:
    chunk = Chunk("text", ChunkMetadata("d", 0))
    chunk.embedding = np.ones(3)
    chunk.embedding = [1.0]
    with pytest.raises(FrozenInstanceError, match="only a chunk's embedding may change"):
        chunk.text = "other"
    with pytest.raises(FrozenInstanceError):
        chunk.metadata.page = 3  # type: ignore[misc]


def test_chunks_with_arrays_can_be_compared() -> None:
    first, second = (Chunk("text", ChunkMetadata("d", 0), np.ones(3)) for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("scope", "seen"),
    [(None, {None}), ("acme", {"acme"}), (["acme", None], {"acme", None}), ((), set()), ({"a", "b"}, {"a", "b"})],
)
def test_scopes_fail_closed(scope: Any, seen: set[str | None]) -> None:
    assert allowed_scopes(scope) == seen


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"char_start": "0", "char_end": "5"}, "char_start of .* must be a whole number"),
        ({"page": "iv"}, "page of .* must be a whole number"),
        ({"links": None}, "leave links out"),
        ({"scope": ["a"]}, "scope of .* must be a string"),
        ({"parent_id": 5}, "parent_id of .* must be a string"),
        ({"heading_path": "Intro"}, "a single title is a list of one"),
        ({"heading_path": [None]}, "must be a list of titles"),
        ({"custom_metadata": None}, "leave it out"),
        ({"timestamp": "today"}, "must be finite Unix seconds"),
        ({"timestamp": float("nan")}, "must be finite Unix seconds"),
        ({"timestamp": np.complex128(3)}, "must be finite Unix seconds"),
    ],
)
def test_metadata_of_another_type_is_refused_by_name(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ChunkError, match=message):
        ChunkMetadata("d", 0, **fields)


def test_metadata_of_a_chunk_must_be_metadata() -> None:
    metadata: Any = {"doc_id": "d"}
    with pytest.raises(ChunkError, match="metadata is dict"):
        Chunk("x", metadata)


def test_integers_of_numpy_become_plain_and_lists_stay_as_given() -> None:
    n: Any = np.int64(3)
    titles = ["Intro"]
    made = ChunkMetadata("d", n, n, n, heading_path=titles, page=n, chunk_count=n, links=[("e", n)])
    numbers = [made.chunk_id, made.char_start, made.char_end, made.page, made.chunk_count, made.links[0][1]]
    assert [type(number) for number in numbers] == [int] * 6
    assert made.heading_path is titles
