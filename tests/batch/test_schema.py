from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from retrivex.batch import compose_table
from retrivex.batch.schema import COMPOSITIONS, SCHEMA_KEY, composition_schema
from retrivex.errors import BatchError

HIT = pa.struct([("doc_id", pa.string()), ("chunk_id", pa.int64()), ("score", pa.float64())])
HITS = pa.list_(HIT)


def made(**columns: pa.DataType) -> pa.Table:
    return pa.schema(list(columns.items())).empty_table()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"question": pa.string()}, "requests lack the column 'hits': they have question"),
        ({"hits": HITS, "qestion": pa.string()}, "'qestion' of the requests is unknown: did you mean question?"),
        ({"hits": HITS, "question": pa.int64()}, "question is int64: it must be string"),
        ({"hits": pa.string()}, "hits is string: it must be list"),
        ({"hits": pa.list_(pa.string())}, "hits is list<item: string>: it must be list"),
        ({"hits": pa.list_(pa.struct([("score", pa.string())]))}, "hits is list.*score: string.*: it must be list"),
        ({"hits": HITS, "scope": pa.int8()}, "scope is int8"),
        ({"hits": HITS, "config": pa.struct([("window", pa.int64())])}, "config is struct.*it must be string"),
        ({"hits": HITS, "id": pa.bool_()}, "id is bool"),
    ],
)
def test_other_columns_and_types_are_refused_by_name(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(BatchError, match=message):
        compose_table(made(**columns))


@pytest.mark.parametrize(
    "hits",
    [
        pa.large_list(HIT),
        pa.list_(pa.list_(HIT)),
        pa.list_(pa.struct([("doc_id", pa.large_string()), ("chunk_id", pa.string()), ("score", pa.float32())])),
        pa.list_(pa.struct([("doc_id", pa.string()), ("chunk_id", pa.uint16())])),
        pa.list_(pa.null()),
        pa.null(),
    ],
)
def test_types_that_mean_the_same_are_taken(hits: pa.DataType) -> None:
    assert compose_table(made(hits=hits)).num_rows == 0


def test_two_columns_of_one_name_are_refused() -> None:
    table = pa.table([pa.array([], HITS), pa.array([], HITS)], names=["hits", "hits"])
    with pytest.raises(BatchError, match="two columns of the name 'hits'"):
        compose_table(table)


def test_the_schema_is_named_and_another_one_is_refused() -> None:
    out = compose_table(made(hits=HITS))
    assert out.schema.metadata[SCHEMA_KEY].decode() == COMPOSITIONS == "retrivex.batch.compositions/1"
    with pytest.raises(BatchError, match="'text' of the requests is unknown"):
        compose_table(out)
    assert composition_schema(made(hits=HITS).schema).equals(out.schema, check_metadata=True)
