"""LanceDB: what frameworks write, scanning and writing."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("lancedb")

import lancedb
import pyarrow as pa
from support.lancedb_tables import NAME, keys, table_of

from retrivex import RetrievalConfig, SpanComposer
from retrivex.adapters.base.backfill import backfill
from retrivex.adapters.base.collection import Scan
from retrivex.adapters.base.fields import FieldMap
from retrivex.adapters.lancedb import LanceDBChunkStore, LanceDBCollection, LanceDBRetriever, uuid5_id
from retrivex.errors import StoreError
from retrivex.model.window import Window
from retrivex.tokens import get_tokenizer

pytestmark = pytest.mark.integration

# ---- layouts: tables as the packages make them, versions as in retrivex.adapters.lancedb


def _langchain(n: int) -> dict[str, Any]:
    metadata = {"source": "bees", "start_index": 12 * n, "chunk_id": n}
    return {"vector": [1.0, float(n)], "id": uuid5_id("x", n), "text": f"Sentence {n}.", "metadata": metadata}


def _llamaindex(n: int) -> dict[str, Any]:
    source = {"node_id": "bees", "node_type": None, "metadata": {}, "hash": None, "class_name": "RelatedNodeInfo"}
    content = {
        "id_": uuid5_id("x", n),
        "embedding": None,
        "metadata": {"file_path": "bees.md", "chunk_id": n},
        "relationships": {"1": source},
        "text": f"Sentence {n}.",
        "start_char_idx": 12 * n,
        "end_char_idx": 12 * n + 11,
        "class_name": "TextNode",
    }
    metadata = {"file_path": "bees.md", "chunk_id": n, "_node_content": json.dumps(content), "_node_type": "TextNode"}
    metadata |= {"document_id": "bees", "doc_id": "bees", "ref_doc_id": "bees"}
    row = {"id": uuid5_id("x", n), "doc_id": "bees", "vector": [1.0, float(n)], "text": f"Sentence {n}."}
    return {**row, "metadata": metadata}


def _haystack(n: int) -> dict[str, Any]:
    meta = {"source_id": "bees", "page_number": 2, "split_id": n, "split_idx_start": 12 * n}
    return {"id": f"d21a{n}", "content": f"Sentence {n}.", "meta": meta, "vector": [1.0, float(n)]}


WRITTEN: dict[Any, Any] = {"langchain": _langchain, "llamaindex": _llamaindex, "haystack": _haystack}


@pytest.mark.parametrize("layout", list(WRITTEN))
def test_what_frameworks_write_is_read(layout: Any, lance: lancedb.DBConnection) -> None:
    lance.create_table(NAME, table_of([WRITTEN[layout](n) for n in range(5)]))
    store = LanceDBChunkStore(lance, NAME, fields=layout)
    found = sorted(store.fetch([Window("bees", 1, 3)]), key=lambda chunk: chunk.metadata.chunk_id)
    assert [(c.key, c.text) for c in found] == [(("bees", 1), "Sentence 1."), (("bees", 2), "Sentence 2.")]
    assert [(c.metadata.char_start, c.metadata.char_end) for c in found] == [(12, 23), (24, 35)]
    hits = LanceDBRetriever(lance, NAME, lambda question: [1.0, 4.0], fields=layout).retrieve("x", k=1)
    made = SpanComposer(RetrievalConfig(window=1)).compose(hits, store)
    assert [span.chunk_ids for span in made.spans] == [[3, 4]]


def test_fields_under_a_root(lance: lancedb.DBConnection) -> None:
    rows = [_langchain(n) | {"source": "misleading"} for n in range(5)]
    lance.create_table(NAME, table_of(rows))
    fields = FieldMap(doc_id="source", char_start="start_index", root="metadata")
    [chunk] = LanceDBChunkStore(lance, NAME, fields=fields).fetch([Window("bees", 2, 3)])
    assert (chunk.text, chunk.metadata.char_start) == ("Sentence 2.", 24)


# ---- backfill


def test_a_scan_sees_every_row_once_and_what_is_written_is_found(lance: lancedb.DBConnection) -> None:
    rows = [_langchain(n) for n in range(10)]
    for row in rows:
        del row["metadata"]["chunk_id"]
    lance.create_table(NAME, table_of(rows))
    collection = LanceDBCollection(lance, NAME, fields="langchain")
    with pytest.raises(StoreError, match="has no column chunk_id or chunk_index"):
        LanceDBChunkStore(lance, NAME, fields="langchain").fetch([Window("bees", 0, 2)])
    seen: list[str] = []
    after = None
    while True:
        page = collection.ask(Scan(json.loads(json.dumps(after)), 4))
        seen += [record.id for record in page.records]
        after = page.after
        if after is None:
            break
    assert seen == [row["id"] for row in rows]
    collection.write({id: {"chunk_id": n, "note": "it's"} for n, id in enumerate(seen)})
    found = LanceDBChunkStore(lance, NAME, fields="langchain").fetch([Window("bees", 0, 99)])
    assert sorted((c.key, c.text) for c in found) == [(("bees", n), f"Sentence {n}.") for n in range(10)]
    assert {c.metadata.custom_metadata["note"] for c in found} == {"it's"}


def test_rows_with_ids_in_a_dictionary_are_written(lance: lancedb.DBConnection) -> None:
    ids = pa.array(["a", "b", "c"]).dictionary_encode()
    lance.create_table(NAME, pa.table({"id": ids, "text": ["x", "y", "z"]}))
    collection = LanceDBCollection(lance, NAME)
    collection.write({"a": {"doc_id": "d", "chunk_id": 0}, "c": {"doc_id": "d", "chunk_id": 1}})
    assert keys(LanceDBChunkStore(lance, NAME).fetch([Window("d", 0, 5)])) == [("d", 0), ("d", 1)]


def test_a_field_in_a_struct_is_not_written(lance: lancedb.DBConnection) -> None:
    lance.create_table(NAME, table_of([_langchain(n) for n in range(2)]))
    collection = LanceDBCollection(lance, NAME, fields="langchain")
    with pytest.raises(StoreError, match="has 'source' in a struct"):
        collection.write({uuid5_id("x", 0): {"source": "ants"}})
    with pytest.raises(StoreError, match="has no column 'key'"):
        LanceDBCollection(lance, NAME, id_field="key").write({"a": {"new": "x"}})
    assert "new" not in lance.open_table(NAME).schema.names


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.bool_(), pa.list_(pa.int64())])
def test_a_column_of_another_type_is_an_error(kind: pa.DataType, lance: lancedb.DBConnection) -> None:
    schema = pa.schema([("id", pa.string()), ("text", pa.string()), ("chunk_counts", kind)])
    lance.create_table(NAME, pa.table({"id": ["a"], "text": ["Bees."], "chunk_counts": [None]}, schema=schema))
    collection = LanceDBCollection(lance, NAME)
    with pytest.raises((pa.ArrowException, ValueError, TypeError)):
        collection.write({"a": {"chunk_counts": "2 1 - name", "another": 1}})
    assert lance.open_table(NAME).schema == schema


_TEXT = pa.string()


@pytest.mark.parametrize("kind", [_TEXT, pa.large_string(), pa.dictionary(pa.int32(), _TEXT)])
def test_a_column_of_texts_takes_counts(kind: pa.DataType, lance: lancedb.DBConnection) -> None:
    schema = pa.schema([("id", _TEXT), ("text", _TEXT), ("doc_id", _TEXT), ("chunk_counts", kind)])
    rows = {"id": ["a"], "text": ["Bees."], "doc_id": ["d"], "chunk_counts": [None]}
    lance.create_table(NAME, pa.table(rows, schema=schema))
    collection = LanceDBCollection(lance, NAME)
    assert backfill(collection, write=True, tokenizer=get_tokenizer("estimate")).counted == 1
