"""LanceDB: values in filters, scopes and indexes."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
import pytest

pytest.importorskip("lancedb")

import lancedb
import pyarrow as pa
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from support.lancedb_tables import NAME, fill, keys, table_of
from support.properties import try_examples
from support.where_cases import check_pushed

from retrivex.adapters.base.collection import ByIds, Nearest
from retrivex.adapters.base.fields import FieldMap
from retrivex.adapters.lancedb import LanceDBChunkStore, LanceDBCollection, LanceDBRetriever, colon_id
from retrivex.errors import StoreError
from retrivex.model.window import Window
from retrivex.testing import contract_chunks, odd_ids

pytestmark = pytest.mark.integration

# ---- values in filters


@try_examples(25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=8, unique=True))
def test_any_text_is_a_value_and_nothing_else(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        db = lancedb.connect(folder)
        rows = {"id": names, "doc_id": names, "chunk_id": [0] * len(names), "text": [f"text {n}" for n in names]}
        db.create_table(NAME, pa.table({**rows, "scope": names}))
        store = LanceDBChunkStore(db, NAME)
        for name in names:
            assert [chunk.text for chunk in store.fetch([Window(name, 0, 1)], name)] == [f"text {name}"]
        assert store.fetch([Window(name + "'", 0, 1) for name in names], names) == []


def test_odd_names_as_scopes_and_ids(lance: lancedb.DBConnection) -> None:
    names = [*odd_ids(nul=True), "\\'", "''", "`", "a\\", "') OR ('1'='1"]
    chunks = [chunk for name in names for chunk in contract_chunks(1, 2, name, name)]
    fill(lance, chunks)
    for make_id in (None, colon_id):
        store = LanceDBChunkStore(lance, NAME, make_id=make_id)
        for name in names:
            assert keys(store.fetch([Window(f"{other}-0", 0, 2) for other in names], name)) == [
                (f"{name}-0", 0),
                (f"{name}-0", 1),
            ]


def test_thousands_of_windows_without_a_pattern(lance: lancedb.DBConnection) -> None:
    rows = [(f"doc-{d}", n) for d in range(30) for n in range(200)]
    columns = {"id": [colon_id(*row) for row in rows], "doc_id": [row[0] for row in rows]}
    columns |= {"chunk_id": [row[1] for row in rows], "text": [f"text {row}" for row in rows]}  # type: ignore[dict-item]
    lance.create_table(NAME, pa.table(columns))
    windows = [Window(f"doc-{d}", n, n + 1 + (n + d) % 3) for d in range(30) for n in range(d % 4, 200, 5)]
    found = keys(LanceDBChunkStore(lance, NAME).fetch(windows))
    assert found == sorted((w.doc_id, n) for w in windows for n in range(w.start, min(w.end, 200)))


@pytest.mark.parametrize("kind", [pa.int32(), pa.int64(), pa.string(), pa.large_string(), pa.float64()])
def test_numbers_however_they_are_kept(kind: Any, lance: lancedb.DBConnection) -> None:
    numbers = pa.array([str(n) for n in range(12)] if pa.types.is_string(kind) else list(range(12)))
    documents = pa.array([7] * 6 + [70] * 6)
    columns = {"id": pa.array(range(12)), "doc_id": documents, "chunk_id": numbers.cast(kind)}
    columns["text"] = pa.array([f"text {n}" for n in range(12)])
    lance.create_table(NAME, pa.table(columns))
    assert keys(LanceDBChunkStore(lance, NAME).fetch([Window("7", 2, 12), Window("seven", 2, 12)])) == [
        ("7", n) for n in range(2, 6)
    ]
    by_id = LanceDBChunkStore(lance, NAME, make_id=lambda doc_id, n: str(n) if doc_id == "7" else f"{doc_id}:{n}")
    assert keys(by_id.fetch([Window("7", 4, 6), Window("x", 0, 2)])) == [("7", 4), ("7", 5)]


def test_a_window_beyond_the_numbers_that_a_column_can_hold(lance: lancedb.DBConnection) -> None:
    rows = {"doc_id": ["d"] * 3, "chunk_id": pa.array([0, 254, 255], pa.uint8()), "text": ["a", "b", "c"]}
    lance.create_table(NAME, pa.table(rows))
    store = LanceDBChunkStore(lance, NAME)
    assert keys(store.fetch([Window("d", 253, 258)])) == [("d", 254), ("d", 255)]
    assert keys(store.fetch([Window("d", 255, 256)])) == [("d", 255)]
    assert keys(store.fetch([Window("d", 256, 300)])) == []


def test_column_names_that_are_no_plain_words(lance: lancedb.DBConnection) -> None:
    fields = FieldMap(doc_id="file name", chunk_id="größe", scope="tenant's")
    fill(lance, [*contract_chunks(2, 4), *contract_chunks(1, 4, "acme", "acme")], fields)
    store = LanceDBChunkStore(lance, NAME, fields=fields)
    asked = [Window("doc-1", 1, 3), Window("acme-0", 0, 1)]
    assert keys(store.fetch(asked)) == [("doc-1", 1), ("doc-1", 2)]
    assert keys(store.fetch(asked, "acme")) == [("acme-0", 0)]


_COLUMNS: dict[str, Any] = {
    "i8": pa.array([0, 1, -1, None, 127], pa.int8()),
    "u8": pa.array([0, 1, 2, None, 255], pa.uint8()),
    "i64": pa.array([0, 1, 2**53 + 1, None, -1], pa.int64()),
    "u64": pa.array([0, 1, 2**53 + 1, None, 2**64 - 1], pa.uint64()),
    "f16": pa.array(np.array([0.1, 1, 1.5, 2, np.nan], np.float16)),
    "f32": pa.array([0.1, 1, np.nan, None, -np.inf], pa.float32()),
    "f64": pa.array([0.1, -0.0, np.nan, None, 2.0**53]),
    "flag": pa.array([True, False, None, True, False]),
    "word": pa.array(["a", "é", "1", None, ""]),
    "texts": pa.array([["a", "b"], ["1"], [], None, ["x", None]]),
    "whole": pa.array([[1, 2], [0], [], None, [1, None]], pa.list_(pa.int32())),
    "floats": pa.array([[1, 2.5], [0.1], [], None, [1, None]], pa.large_list(pa.float32())),
    "day": pa.array([None, 0, 1, 2, 19_723], pa.date32()),
    "raw": pa.array([b"a", b"1", None, b"", b"b"]),
    "kind": pa.array(["a", "b", "a", None, "1"]).dictionary_encode(),
    "none": pa.nulls(5),
}


@pytest.mark.parametrize("column", list(_COLUMNS))
def test_columns_of_any_type_are_asked_for_what_the_check_finds(column: str, lance: lancedb.DBConnection) -> None:
    check_pushed(_typed(lance, column, _COLUMNS[column]), f"metadata.{column}")


def _typed(db: lancedb.DBConnection, name: str, values: Any) -> LanceDBRetriever:
    rows = [{"id": str(n), "text": f"t{n}", "doc_id": "d", "chunk_id": n, "vector": [1.0] * 8} for n in range(5)]
    made = table_of(rows)
    known = {one: made[one] for one in made.column_names}
    db.create_table(NAME, pa.table({**known, name: values}))
    return LanceDBRetriever(db, NAME, lambda question: np.ones(8))


def test_what_is_missing_in_a_list_or_beside_it_is_found(lance: lancedb.DBConnection) -> None:
    retriever = _typed(lance, "tags", pa.array([["a", None], None, ["b"], [], ["a"]]))
    for where, expected in (
        ({"metadata.tags": None}, [0, 1]),
        ({"not": {"metadata.tags": None}}, [2, 3, 4]),
        ({"metadata.tags": ["b", None]}, [0, 1, 2]),
    ):
        assert sorted(hit.key[1] for hit in retriever.retrieve("x", 9, where=where)) == expected


def test_what_is_no_number_is_within_no_bounds(lance: lancedb.DBConnection) -> None:
    retriever = _typed(lance, "size", pa.array([1.0, 2.0, np.nan, None, 0.5]))
    found = [hit.key[1] for hit in retriever.retrieve("x", 9, where={"not": {"metadata.size": {"min": 1}}})]
    assert sorted(found) == [2, 3, 4]


def test_a_path_into_a_struct_is_told_what_its_fields_are_called(lance: lancedb.DBConnection) -> None:
    values = pa.array([{"k": n, "in": {"deep": n}} for n in range(5)])
    retriever = _typed(lance, "st", values)
    for where in ({"metadata.k": 1}, {"metadata.in.deep": 1}):
        assert [hit.key[1] for hit in retriever.retrieve("x", 9, where=where)] == [1]
    for name, meant in (("metadata.st.k", "metadata.k"), ("metadata.st.in.deep", "metadata.in.deep")):
        said = rf"where names '{name}', a path into the struct 'st', .*: write '{meant}', or give .*root='st'"
        for where in ({name: 1}, {"not": {name: {"min": 1}}}):
            with pytest.raises(StoreError, match=said):
                retriever.retrieve("x", 9, where=where)


# ---- scope


def test_only_the_scope_leaves_the_table(lance: lancedb.DBConnection) -> None:
    fill(lance, [*contract_chunks(1, 4), *contract_chunks(1, 4, "acme", "acme")])
    collection = LanceDBCollection(lance, NAME)
    ids = tuple(colon_id(doc_id, n) for doc_id in ("doc-0", "acme-0") for n in range(4))
    for scopes, seen in ((frozenset({"acme"}), {"acme-0"}), (frozenset({None}), {"doc-0"}), (frozenset(), set())):
        records = collection.ask(ByIds(ids, scopes)).records
        assert {record.payload["doc_id"] for record in records} == seen
        near = collection.ask(Nearest(np.ones(8, dtype=np.float32), 8, scopes)).records
        assert {record.payload["doc_id"] for record in near} == seen
        assert len(near) == 4 * len(seen)


def test_a_table_without_scopes_has_only_rows_without_one(lance: lancedb.DBConnection) -> None:
    fill(lance, contract_chunks(1, 3))
    store = LanceDBChunkStore(lance, NAME)
    assert len(store.fetch([Window("doc-0", 0, 3)])) == 3
    assert len(store.fetch([Window("doc-0", 0, 3)], ["acme", None])) == 3
    assert store.fetch([Window("doc-0", 0, 3)], "acme") == []
    assert store.fetch([Window("doc-0", 0, 3)], []) == []


def test_scopes_deep_in_structs_and_under_a_root(lance: lancedb.DBConnection) -> None:
    tenants = ["acme", None, "zebra"]
    rows = [
        {"text": f"text {n}", "metadata": {"source": "d", "chunk_id": n, "acl": {"tenant": {"id": tenant}}}}
        for n, tenant in enumerate(tenants)
    ]
    lance.create_table(NAME, table_of([{"id": str(n), "vector": [1.0] * 8, **row} for n, row in enumerate(rows)]))
    for fields in (
        FieldMap(doc_id="source", scope="acl.tenant.id", root="metadata"),
        FieldMap(doc_id="source", scope="metadata.acl.tenant.id"),
        FieldMap(doc_id="metadata.source", chunk_id="metadata.chunk_id", scope="acl.tenant.id"),
    ):
        store = LanceDBChunkStore(lance, NAME, fields=fields)
        retriever = LanceDBRetriever(lance, NAME, lambda question: np.ones(8), fields=fields)
        for number, scope in enumerate(tenants):
            assert keys(store.fetch([Window("d", 0, 9)], scope)) == [("d", number)]
            assert [hit.key for hit in retriever.retrieve("x", scope=scope)] == [("d", number)]
