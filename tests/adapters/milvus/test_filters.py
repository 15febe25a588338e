"""Milvus: filters, with and without templates, and indexes."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any

import pytest

pytest.importorskip("milvus_lite")

from hypothesis import given
from hypothesis import strategies as st
from milvus_lite.search.filter import parse_expr
from pymilvus import DataType, MilvusClient
from pymilvus.exceptions import MilvusException
from support.milvus_collections import Recording, Server, numbers
from support.where_cases import check_pushed

from retrivex import Chunk, ChunkMetadata
from retrivex.adapters.base.fields import FieldMap, colon_id
from retrivex.adapters.milvus import MilvusChunkStore, MilvusRetriever
from retrivex.adapters.milvus.filters import Filter, any_of, parse_schema
from retrivex.errors import StoreError
from retrivex.model.window import Window
from retrivex.testing import contract_chunks, odd_ids

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


_DESCRIBED: dict[str, Any] = {"fields": [{"name": "pk", "is_primary": True, "type": DataType.VARCHAR}]}
_COLUMNS = (("doc_id", DataType.VARCHAR), ("chunk_id", DataType.INT64), ("scope", DataType.VARCHAR))


# ---- filters


def test_values_lie_beside_the_filter(templates: Server) -> None:
    name = templates.fill(contract_chunks(2, 3), FieldMap(root="metadata"), [("metadata", DataType.JSON)])
    client = Recording(templates.client)
    store = MilvusChunkStore(client, name, fields=FieldMap(root="metadata"))  # type: ignore[arg-type]
    assert len(store.fetch([Window("doc-0", 1, 3), Window("doc-1", 1, 3)])) == 4
    asked = client.calls[-1]
    assert asked["filter"] == (
        '(metadata["doc_id"] in {v0} and metadata["chunk_id"] >= {v1} and metadata["chunk_id"] < {v2})'
        ' and (not exists metadata["scope"])'
    )
    assert asked["filter_params"] == {"v0": ["doc-0", "doc-1"], "v1": 1, "v2": 3}


def test_every_odd_id_finds_its_own_record(milvus: Server) -> None:
    names = odd_ids(nul=True)
    chunks = [Chunk(f"text {i}", ChunkMetadata(n, 0), contract_chunks(1, 1)[0].embedding) for i, n in enumerate(names)]
    name = milvus.fill(chunks)
    for make_id in (None, colon_id):
        store = MilvusChunkStore(milvus.client, name, make_id=make_id)
        for i, odd in enumerate(names):
            assert [chunk.text for chunk in store.fetch([Window(odd, 0, 1)])] == [f"text {i}"]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_is_one_value_to_the_parser_of_milvus_lite(text: str) -> None:
    lite = parse_schema(_DESCRIBED, [], "milvus_lite-3", None)
    written = Filter(lite)
    assert parse_expr(f"pk == {written.value(text)}").right.value == text
    assert [one.value for one in parse_expr(written.one_of("pk", [text, text])).values.elements] == [text, text]
    assert written.values == {}
    server = Filter(parse_schema(_DESCRIBED, [], "2.6.1", None))
    assert (server.value(text), server.values) == ("{v0}", {"v0": text})


_VALUES: dict[DataType, list[Any]] = {
    DataType.INT8: [0, 1, -1, None, 127],
    DataType.INT64: [0, 1, 2**53 + 1, None, -1],
    DataType.FLOAT: [0.1, 1.0, 1.5, None, -0.0],
    DataType.DOUBLE: [0.1, 1.0, 2.0**53, None, -0.0],
    DataType.BOOL: [True, False, None, True, False],
    DataType.VARCHAR: ["a", "é", "1", None, "a "],
    DataType.JSON: ["a", 2**53 + 1, 0.1, None, True],
}


@pytest.mark.parametrize("type_", list(_VALUES), ids=lambda type_: type_.name)
def test_columns_of_any_type_are_asked_for_what_the_check_finds(milvus: Server, type_: DataType) -> None:
    chunks = [
        Chunk(f"t{n}", ChunkMetadata("d", n, custom_metadata={"v": value}), contract_chunks(1, 1)[0].embedding)
        for n, value in enumerate(_VALUES[type_])
    ]
    name = milvus.fill(chunks, columns=[] if type_ is DataType.JSON else [("v", type_)])
    retriever = MilvusRetriever(milvus.client, name, lambda question: chunks[0].embedding)
    check_pushed(retriever, "metadata.v")


def test_lists_beside_single_values_are_asked_for_several(lite: Server) -> None:
    chunks = [
        Chunk(f"t{n}", ChunkMetadata("d", n, custom_metadata={"v": value}), contract_chunks(1, 1)[0].embedding)
        for n, value in enumerate([[1, "a"], "a", 2, ["c"]])
    ]
    retriever = MilvusRetriever(lite.client, lite.fill(chunks), lambda question: chunks[0].embedding)
    for wanted, expected in ((["a", "b"], [0, 1]), ([1, 2], [0, 2]), (["c", 2], [2, 3])):
        assert sorted(hit.key[1] for hit in retriever.retrieve("x", 9, where={"metadata.v": wanted})) == expected


@given(st.integers(1, 3000))
def test_however_many_conditions_are_joined_the_tree_is_flat(count: int) -> None:
    joined = any_of([f"pk == {n}" for n in range(count)])
    depths = itertools.accumulate(1 if c == "(" else -1 if c == ")" else 0 for c in joined)
    assert max(depths) <= math.ceil(math.log2(count))
    assert re.findall(r"pk == (\d+)", joined) == [str(n) for n in range(count)]


@pytest.mark.parametrize("odd", ['a"] or ["b', "back\\slash", "new\nline", "it's"])
def test_names_of_fields_that_could_be_more_than_names_are_refused(lite: Server, odd: str) -> None:
    name = lite.fill(contract_chunks(1, 1))
    with pytest.raises(StoreError, match="Milvus filters by no name with quotes"):
        MilvusChunkStore(lite.client, name, fields=FieldMap(doc_id=odd)).fetch([Window("d", 0, 1)])


def test_names_that_are_words_of_filters_or_none_at_all_are_asked_for_in_brackets(lite: Server) -> None:
    fields = FieldMap(doc_id="in", chunk_id="part no")
    store = MilvusChunkStore(lite.client, lite.fill(contract_chunks(1, 3), fields), fields=fields)
    assert [chunk.key for chunk in store.fetch([Window("doc-0", 1, 2)])] == [("doc-0", 1)]


def test_a_collection_without_the_fields_says_so(lite: Server) -> None:
    columns = [("text", DataType.VARCHAR)]
    name = lite.fill([], columns=columns, dynamic=False)
    with pytest.raises(StoreError, match="has no field 'doc_id': its columns are pk, vector, text"):
        MilvusChunkStore(lite.client, name).fetch([Window("d", 0, 1)])


def test_ids_that_arenumbers(lite: Server) -> None:
    name = f"test_{next(numbers)}"
    lite.client.create_collection(name, dimension=8)
    chunk = contract_chunks(1, 1)[0]
    lite.client.insert(name, [{"id": 7, "vector": list(chunk.embedding), **FieldMap().payload(chunk)}])
    store = MilvusChunkStore(lite.client, name, make_id=lambda doc_id, n: str(7 + n))
    assert [found.text for found in store.fetch([Window("doc-0", 0, 1)])] == [chunk.text]
    with pytest.raises(StoreError, match=r"make_id gave 'doc-0:0': the ids of Milvus .* are whole numbers"):
        MilvusChunkStore(lite.client, name, make_id=colon_id).fetch([Window("doc-0", 0, 1)])


def test_a_scope_in_a_collection_that_has_none_sees_nothing(lite: Server) -> None:
    columns = [("text", DataType.VARCHAR), ("doc_id", DataType.VARCHAR), ("chunk_id", DataType.INT64)]
    name = lite.fill([], columns=columns, dynamic=False)
    row = {"pk": "d:0", "vector": [1.0] * 8, "text": "Bees sleep.", "doc_id": "d", "chunk_id": 0}
    lite.client.insert(name, [row])
    store = MilvusChunkStore(lite.client, name)
    assert len(store.fetch([Window("d", 0, 1)])) == 1
    assert store.fetch([Window("d", 0, 1)], scope="acme") == []


# ---- what is wrong with a collection


def test_a_collection_that_is_not_there_is_said_at_once(lite: Server) -> None:
    with pytest.raises(StoreError, match="Milvus 'nowhere' cannot be read"):
        MilvusChunkStore(lite.client, "nowhere")


def test_a_collection_that_is_not_loaded_is_refused_with_the_reason(lite: Server) -> None:
    name = lite.fill(contract_chunks(1, 1))
    lite.client.release_collection(name)
    with pytest.raises(StoreError, match=r"refused the request .*load"):
        MilvusChunkStore(lite.client, name).fetch([Window("doc-0", 0, 1)])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"timeout_s": 0}, "timeout_s is 0"),
        ({"timeout_s": float("inf")}, "timeout_s is inf"),
        ({"fields": "langchian"}, "fields is 'langchian'"),
        ({"vector_name": "text"}, "vector_name is 'text'"),
    ],
)
def test_bad_arguments_are_one_clear_error(lite: Server, given: dict[str, Any], said: str) -> None:
    name = lite.fill(contract_chunks(1, 1))
    with pytest.raises(StoreError, match=said):
        MilvusChunkStore(lite.client, name, **given)
    with pytest.raises(StoreError, match="client is NoneType"):
        MilvusChunkStore(None, name)
    with pytest.raises(StoreError, match="async_client is MilvusClient: give an AsyncMilvusClient"):
        MilvusChunkStore(lite.client, name, async_client=lite.client)


def test_what_may_pass_is_asked_again_and_what_will_not_is_not(lite: Server) -> None:
    client = Recording(lite.client)
    store = MilvusChunkStore(client, lite.fill(contract_chunks(1, 3)), make_id=colon_id)  # type: ignore[arg-type]
    client.failures = [MilvusException(1, "service not ready"), MilvusException(901, "node not found")]
    assert len(store.fetch([Window("doc-0", 0, 3)])) == 3
    assert len(client.calls) == 3
    client.failures = [MilvusException(1100, "invalid parameter")] * 2
    with pytest.raises(StoreError, match=r"refused the request .*invalid parameter"):
        store.fetch([Window("doc-0", 0, 3)])
    assert len(client.calls) == 4


@pytest.mark.parametrize("dynamic", [False, True])
def test_metadata_in_a_column_of_json_of_that_name(lite: Server, dynamic: bool) -> None:
    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=dynamic)
    schema.add_field("chunk_id", DataType.INT64, is_primary=True)
    for name in ("doc_id", "text"):
        schema.add_field(name, DataType.VARCHAR, max_length=20)
    schema.add_field("metadata", DataType.JSON)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=2)
    params = lite.client.prepare_index_params()
    params.add_index("vector", index_type="FLAT", metric_type="COSINE")
    collection = f"json_{dynamic}"
    lite.client.create_collection(collection, schema=schema, index_params=params)
    rows = [{"doc_id": "d", "chunk_id": n, "text": f"t{n}", "vector": [1, n], "metadata": {"v": n}} for n in range(3)]
    lite.client.insert(collection, rows)
    retriever = MilvusRetriever(lite.client, collection, lambda question: [1.0, 1.0])
    assert [hit.key for hit in retriever.retrieve("x", 9, where={"metadata.v": 2})] == [("d", 2)]
    assert sorted(hit.key[1] for hit in retriever.retrieve("x", 9, where={"metadata.v": {"max": 1}})) == [0, 1]
