from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex import Document
from retrivex.batch import ChunkWork, FilesWork, chunk_table
from retrivex.batch.documents import prepared_of, prepared_row, read_document
from retrivex.batch.rows import make_table
from retrivex.batch.schema import CHUNK_SCHEMA
from retrivex.chunking import get_chunker
from retrivex.encoders.encoder import HashingEncoder
from retrivex.errors import BatchError, TokenizerError
from retrivex.retrieval.indexing import prepare_document
from retrivex.stores import SQLiteStore
from retrivex.tokens.tokenizer import get_tokenizer

COUNTER = get_tokenizer("estimate")
WORK = ChunkWork(size=20, tokenizer="estimate", embed="hashing-16")
TEXT = (
    "# Bees\n\nBees sleep at night. They dream.\n\n| hive | bees |\n|---|---|\n| one | 3 |\n\n# Wasps\n\nWasps do not."
)
DOCUMENTS = st.builds(
    Document,
    st.sampled_from(["a.md", "b/c.txt", "蜜蜂"]),
    st.lists(st.sampled_from([TEXT, "One more sentence. ", "\n\n", "蜜蜂住在蜂巢里。", "- item\n"]), max_size=4).map(
        "".join
    ),
    st.sampled_from(["text", "markdown"]),
    title=st.sampled_from([None, "Bees"]),
    page_starts=st.sampled_from([(), (0, 5)]),
    source=st.sampled_from([None, "/folder/a.md"]),
    timestamp=st.sampled_from([None, 12.5]),
    scope=st.sampled_from([None, "acme"]),
    metadata=st.sampled_from([{}, {"year": 1792, "tags": ["a"], "none": None}]),
)


@given(DOCUMENTS, st.sampled_from(["auto", "sentence", "parent-child"]), st.booleans())
def test_a_document_comes_out_of_a_row_as_it_went_in(document: Document, chunker: str, encoded: bool) -> None:
    cutter = get_chunker(chunker, tokenizer=COUNTER)
    made = prepare_document(document, cutter, COUNTER, HashingEncoder(16) if encoded else None)
    [row] = make_table([prepared_row(made)], CHUNK_SCHEMA).to_pylist()
    again = prepared_of(row)
    assert (again.document, list(again.chunks), again.parents) == (made.document, list(made.chunks), made.parents)
    assert (again.token_counts, again.tokenizer, again.encoder, again.content_hash) == (
        made.token_counts, made.tokenizer, made.encoder, made.content_hash,
    )  # fmt: skip
    for chunk in row["chunks"]:
        del chunk["cuts"]  # as a part of a version that had none
    assert [count[:2] for count in prepared_of(row).token_counts] == [count[:2] for count in made.token_counts]
    assert made.vectors is None or np.array_equal(np.asarray(again.vectors), made.vectors)


def test_what_a_row_holds_goes_into_a_store_as_an_indexer_puts_it(tmp_path: Path) -> None:
    table = pa.table({"doc_id": ["bees.md"], "text": [TEXT], "format": ["markdown"]})
    [row] = WORK(table).to_pylist()
    with SQLiteStore(tmp_path / "a.db") as store:
        assert prepared_of(row).put_into(store) == "added"
        chunker, counter, encoder, _ = WORK.resources
        assert prepare_document(read_document(table.to_pylist()[0]), chunker, counter, encoder).put_into(store) == (
            "unchanged"
        )
        assert len(store.search_vector(encoder.encode(["bees"])[0])) == len(row["chunks"]) if encoder else False


def test_rows_that_cannot_be_cut_carry_their_error_and_the_others_stay() -> None:
    rows: list[dict[str, Any]] = [
        {"doc_id": "a", "text": "Bees sleep."},
        {"doc_id": None, "text": "Nameless."},
        {"doc_id": "c", "text": None},
        {"doc_id": "d", "text": "x", "format": "html"},
        {"doc_id": "e", "text": "x", "metadata": "[1]"},
        {"doc_id": "f", "text": "x", "metadata": "{"},
        {"doc_id": "g", "text": "x", "page_starts": [5, 1]},
        {"doc_id": "h", "text": ""},
        {"doc_id": "i", "text": "x", "page_starts": [0, None]},
    ]
    names = {name for row in rows for name in row}
    table = pa.Table.from_pylist([{name: row.get(name) for name in names} for row in rows])
    made = chunk_table(table, None, COUNTER).to_pylist()
    said = [None if row["error"] is None else row["error"]["message"].split(":")[0] for row in made]
    assert said == [
        None, "doc_id is null", "text is null", "format is 'html'", "metadata is [1]",
        "'metadata' is not JSON (Expecting property name enclosed in double quotes",
        "page_starts of 'g' do not ascend; give offsets in page order", None, "page_starts is [0, None]",
    ]  # fmt: skip
    assert [row["doc_id"] for row in made] == ["a", None, "c", "d", "e", "f", "g", "h", "i"]
    assert [len(row["chunks"] or ()) for row in made] == [1, 0, 0, 0, 0, 0, 0, 0, 0]


def test_a_document_that_is_not_utf8_carries_its_error_and_its_name() -> None:
    offsets = pa.array([0, 4, 5, 9], pa.int32()).buffers()[1]
    texts = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"Bees\xffWasp")])
    made = chunk_table(pa.table({"doc_id": ["a", "b", "c"], "text": texts}), None, COUNTER).to_pylist()
    assert [row["doc_id"] for row in made] == ["a", "b", "c"]
    assert made[1]["error"]["message"] == "a text in 'text' is not UTF-8 (byte 0): write the column as UTF-8"
    assert [row["error"] is None for row in made] == [True, False, True]


def test_other_columns_are_refused() -> None:
    with pytest.raises(BatchError, match="documents lack the column 'doc_id'"):
        chunk_table(pa.table({"text": ["Bees"]}), None, COUNTER)
    with pytest.raises(BatchError, match=r"page_starts is string: it must be list<item: int64>"):
        chunk_table(pa.table({"doc_id": ["a"], "text": ["b"], "page_starts": ["0"]}), None, COUNTER)
    with pytest.raises(BatchError, match="files have the columns path and doc_id, not text"):
        FilesWork(WORK).schema(pa.schema([("text", pa.string())]))


def test_files_become_a_row_for_each_document_and_a_broken_one_its_error(tmp_path: Path) -> None:
    (tmp_path / "bees.md").write_text(TEXT)
    (tmp_path / "broken.pdf").write_bytes(b"no pdf")
    lines = [{"doc_id": "one", "text": "First.", "source": "a book"}, {"doc_id": "two", "text": "2", "scope": "other"}]
    (tmp_path / "lines.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    names = ["bees.md", "broken.pdf", "lines.jsonl", "missing.txt"]
    table = pa.table({"path": [str(tmp_path / name) for name in names], "doc_id": names})
    rows = FilesWork(WORK, scope="acme")(table).to_pylist()
    errors = {row["doc_id"]: row["error"]["message"] for row in rows if row["error"]}
    assert [row["doc_id"] for row in rows] == ["bees.md", "broken.pdf", "one", "two", "missing.txt"]
    assert set(errors) == {"broken.pdf", "two", "missing.txt"}
    assert "names scope 'other', the file is indexed for 'acme'" in errors["two"]
    assert [row["scope"] for row in rows if not row["error"]] == ["acme", "acme"]
    assert json.loads(rows[2]["metadata"])["source"] == "a book"
    assert rows[2]["source"] == str(tmp_path / "lines.jsonl")


def test_work_goes_to_another_process_and_refuses_another_tokenizer() -> None:
    again = pickle.loads(pickle.dumps(WORK))
    assert again == WORK
    assert again.describe() == WORK.describe()
    assert again.describe()["encoder"] == "hashing-16"
    named = ChunkWork(tokenizer="folder/of-another-machine/tokenizer.json")
    with pytest.raises(TokenizerError, match="of-another-machine"):
        named(pa.table({"doc_id": ["a"], "text": ["b"]}))
