import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex.errors import ChunkError, LoadError
from retrivex.loading import (
    chunk_from_dict,
    chunk_to_dict,
    document_from_dict,
    load_documents,
    load_file,
    read_chunks,
    read_documents,
)
from retrivex.model.chunk import Chunk, ChunkMetadata

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NAMES = WORDS.filter(bool)
JSON = st.recursive(
    st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | WORDS | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)
OFFSETS = st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)).map(sorted) | st.just((None, None))


@st.composite
def chunks(draw: st.DrawFn) -> Chunk:
    start, end = draw(OFFSETS)
    metadata = ChunkMetadata(
        draw(NAMES),
        draw(st.integers(0, 2**63 - 1)),
        start,
        end,
        parent_id=draw(st.none() | WORDS),
        heading_path=draw(st.none() | st.lists(WORDS, max_size=3).map(tuple)),
        page=draw(st.none() | st.integers(1, 9999)),
        custom_metadata=draw(st.dictionaries(WORDS, JSON, max_size=3)),
        timestamp=draw(st.none() | st.floats(allow_nan=False, allow_infinity=False)),
        chunk_count=draw(st.none() | st.integers(1, 9999)),
        scope=draw(st.none() | WORDS),
        links=draw(st.lists(st.tuples(NAMES, st.integers(0, 99)), max_size=3).map(tuple)),
        prefix=draw(st.none() | WORDS),
    )
    floats = st.floats(allow_nan=False, allow_infinity=False, width=32)
    return Chunk(draw(NAMES), metadata, draw(st.none() | st.lists(floats, min_size=1, max_size=4)))


@given(chunks())
def test_a_chunk_survives_the_way_through_json(chunk: Chunk) -> None:
    again = chunk_from_dict(json.loads(json.dumps(chunk_to_dict(chunk))))
    assert again == chunk
    assert again.embedding == chunk.embedding  # not part of a chunk's equality
    assert chunk_to_dict(again) == chunk_to_dict(chunk)


def test_a_float32_embedding_is_written_exactly() -> None:
    vector = np.array([0.1, -2.5], dtype=np.float32)
    record = chunk_to_dict(Chunk("text", ChunkMetadata("a", 0), vector))
    np.testing.assert_array_equal(np.array(json.loads(json.dumps(record))["embedding"], dtype=np.float32), vector)
    assert "embedding" not in chunk_to_dict(Chunk("text", ChunkMetadata("a", 0), vector), embedding=False)


def test_a_chunk_line_as_people_write_it(tmp_path: Path) -> None:
    path = tmp_path / "chunks.jsonl"
    path.write_text(
        '\ufeff{"doc_id": "a", "chunk_id": 0, "text": "one", "heading_path": ["A", "B"], "page": null}\n\n'
        '{"doc_id": "a", "chunk_id": 1, "text": "two", "links": [["b", 3]], "metadata": {"k": [1]}}',
        encoding="utf-8",
    )
    one, two = read_chunks(path)
    assert (one.text, one.metadata.heading_path, one.metadata.page) == ("one", ("A", "B"), None)
    assert (two.metadata.links, two.metadata.custom_metadata) == ((("b", 3),), {"k": [1]})


def test_a_whole_number_may_be_a_text() -> None:
    record = {"doc_id": "a", "chunk_id": "3", "text": "one", "links": [["b", "12"]]}
    metadata = chunk_from_dict(record).metadata
    assert (metadata.chunk_id, metadata.links) == (3, (("b", 12),))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"chunkid": 1}, "unknown key 'chunkid': did you mean chunk_id.*the known ones are doc_id, chunk_id, text"),
        ({"x": 1, "y": 2}, "unknown keys 'x', 'y'"),
        ({"doc_id": None}, "doc_id is missing"),
        ({"doc_id": ""}, "doc_id is ''"),
        ({"doc_id": 7}, "doc_id is 7: it must be a string"),
        ({"chunk_id": "00"}, "chunk_id is '00': it must be a whole number"),
        ({"chunk_id": True}, "chunk_id is True"),
        ({"chunk_id": 1.0}, "chunk_id is 1.0"),
        ({"chunk_id": -1}, "must be non-negative"),
        ({"chunk_id": 2**63}, "at most"),
        ({"text": ""}, "cannot be empty"),
        ({"char_start": 3}, "give both or neither"),
        ({"heading_path": "Title"}, "heading_path is 'Title': it must be a list"),
        ({"heading_path": [1]}, "heading_path is 1: it must be a string"),
        ({"metadata": []}, "metadata is .*: it must be an object"),
        ({"links": [["b"]]}, "list of .doc_id, chunk_id."),
        ({"links": [["b", "c-3"]]}, "links is 'c-3': it must be a whole number"),
        ({"timestamp": "2024"}, "finite number"),
        ({"timestamp": 10**400}, "finite number"),
        ({"embedding": []}, "no numbers"),
        ({"embedding": [0.5, None]}, "embedding has None"),
        ({"embedding": [float("inf")]}, "embedding has inf"),
    ],
)
def test_bad_chunks_say_what_is_wrong(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(ChunkError, match=reason):
        chunk_from_dict({"doc_id": "a", "chunk_id": 0, "text": "one"} | change)


@pytest.mark.parametrize("key", ["doc_id", "text", "scope", "parent_id", "prefix"])
def test_half_a_surrogate_pair_is_no_text_of_a_file(tmp_path: Path, key: str) -> None:
    record = {"doc_id": "a", "chunk_id": 0, "text": "one", key: "so \ud800"}
    (tmp_path / "chunks.jsonl").write_text(json.dumps(record))
    with pytest.raises(LoadError, match=f"line 1.*{key} has half a surrogate pair at 3"):
        list(read_chunks(tmp_path / "chunks.jsonl"))
    assert chunk_from_dict(record) == chunk_from_dict(chunk_to_dict(chunk_from_dict(record)))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "line 2 is not JSON"),
        (b"[1]", "line 2 holds a list, not an object"),
        (b"[" * 200_000, "line 2 is not JSON"),
        (b'{"doc_id": "a", "chunk_id": 0, "text": "x", "page": NaN}', "NaN is no number"),
        (b'{"doc_id": "a", "text": "x"}', "line 2: chunk_id is missing"),
        (b"\xff", "line 2 is not UTF-8"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: bytes, reason: str) -> None:
    path = tmp_path / "chunks.jsonl"
    path.write_bytes(b'{"doc_id": "a", "chunk_id": 0, "text": "one"}\n' + line + b"\n")
    with pytest.raises(LoadError, match=f"chunks.jsonl: .*{reason}"):
        list(read_chunks(path))


def test_a_line_over_the_limit_ends_the_reading(tmp_path: Path) -> None:
    path = tmp_path / "chunks.jsonl"
    path.write_text('{"doc_id": "a", "chunk_id": 0, "text": "' + "x" * 100 + '"}\n', encoding="utf-8")
    with pytest.raises(LoadError, match="line 1 is over 50 bytes"):
        list(read_chunks(path, max_line_bytes=50))


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="No such file"):
        list(read_chunks(tmp_path / "none.jsonl"))


def test_documents_have_every_field(tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl"
    record = {
        "doc_id": "a",
        "text": "# One",
        "title": "T",
        "format": "markdown",
        "metadata": {"k": 1},
        "scope": "s",
        "timestamp": 5,
        "source": "https://example.org",
        "page_starts": [0, 2],
    }
    path.write_text(json.dumps(record) + '\n{"id": "b", "text": "two"}\n', encoding="utf-8")
    one, two = read_documents(path)
    assert (one.doc_id, one.text, one.title, one.format) == ("a", "# One", "T", "markdown")
    assert (one.metadata, one.scope, one.timestamp, one.source) == ({"k": 1}, "s", 5.0, "https://example.org")
    assert one.page_starts == (0, 2)
    assert (two.doc_id, two.format, two.source) == ("b", "text", str(path))
    assert load_file(path) == [one, two]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"text": "x"}, "doc_id is missing"),
        ({"id": "a", "doc_id": "a", "text": "x"}, "leave one out"),
        ({"id": "a", "text": " "}, "text is empty"),
        ({"id": "a", "text": "x", "format": "html"}, "format is 'html'"),
        ({"id": "a", "text": "x", "url": "y"}, "unknown key 'url'"),
        ({"id": "", "text": "x"}, "doc_id is empty"),
        ({"id": "a", "text": "x", "page_starts": [0, 9]}, "page_starts has 9"),
        ({"id": "a", "text": "xyz", "page_starts": [2, 0]}, "do not ascend"),
    ],
)
def test_bad_documents_say_what_is_wrong(record: dict[str, Any], reason: str) -> None:
    with pytest.raises(LoadError, match=reason):
        document_from_dict(record)


def test_in_a_folder_a_bad_line_is_reported_and_the_rest_goes_on(tmp_path: Path) -> None:
    lines = ['{"id": "a", "text": "one"}', "oops", '{"id": "a", "text": "again"}', '{"id": "b", "text": "two"}']
    lines.append('{"doc_id": "c", "chunk_id": 0, "text": "three"}')
    (tmp_path / "docs.jsonl").write_text("\n".join(lines), encoding="utf-8")
    documents, report = load_documents(tmp_path)
    assert [(d.doc_id, d.text) for d in documents] == [("a", "one"), ("b", "two")]
    reasons = [problem.reason for problem in report.problems]
    assert "line 2 is not JSON" in reasons[0]
    assert "doc_id 'a' was used before" in reasons[1]
    assert "line 5: it is a chunk, not a document: read such a file with read_chunks" in reasons[2]
