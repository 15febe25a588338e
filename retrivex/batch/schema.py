"""The Arrow schemas of a batch, with their versions, and the check that a table is of one of them.

`docs/howto/batch.md` has every column. Within a version columns may be added; a column that changes its meaning or its
type makes a new version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import pyarrow as pa
from pyarrow import types

from retrivex.errors import BatchError
from retrivex.model.options import closest_name

SCHEMA_KEY = b"retrivex.schema"
"""Key of a schema's metadata that holds name and version."""

COMPOSITIONS = "retrivex.batch.compositions/1"
CHUNKS = "retrivex.batch.chunks/1"

_TEXT, _INT, _REAL, _BOOL = pa.string(), pa.int64(), pa.float64(), pa.bool_()
_Fields: TypeAlias = list[tuple[str, pa.DataType]]


def _of(kind: pa.DataType, *names: str) -> _Fields:
    return [(name, kind) for name in names]


_PLACE: _Fields = [("doc_id", _TEXT), ("chunk_id", _INT)]
_REST_OF_CHUNK: _Fields = [
    ("text", _TEXT),
    *_of(_INT, "char_start", "char_end"),
    ("heading_path", pa.list_(_TEXT)),
    ("page", _INT),
    *_of(_TEXT, "parent_id", "metadata"),  # metadata are an object of JSON
    ("timestamp", _REAL),
    ("chunk_count", _INT),
    ("scope", _TEXT),
    ("links", pa.list_(pa.struct(_PLACE))),
    ("prefix", _TEXT),
]
CHUNK = pa.struct([*_PLACE, *_REST_OF_CHUNK])
"""A chunk without its vector; what is not set is null."""

CHUNK_GIVEN = pa.struct([*CHUNK, ("embedding", pa.list_(_REAL))])
"""A chunk of a request."""

HIT = pa.struct([*_PLACE, ("score", _REAL), *_REST_OF_CHUNK, ("embedding", pa.list_(_REAL))])
"""A hit: where it is and its score, and its chunk where the row brings it."""

_NAMED_HIT = pa.struct([("chunk_id", _TEXT), *(field for field in HIT if field.name != "chunk_id")])
_HITS = tuple(pa.list_(hit) for hit in (HIT, _NAMED_HIT))

REQUEST_COLUMNS: Mapping[str, tuple[pa.DataType, ...]] = {
    "id": (_TEXT, _INT),
    "question": (_TEXT,),
    "hits": (*_HITS, *map(pa.list_, _HITS)),
    "chunks": (pa.list_(CHUNK_GIVEN),),
    "parents": (_TEXT,),  # an object of JSON
    "query_embedding": (pa.list_(_REAL),),
    "scope": (_TEXT, pa.list_(_TEXT)),
    "whole_documents": (_INT,),
    "config": (_TEXT,),  # an object of JSON
}
"""Columns of requests, each with the types it may have: the keys of a line of `retrivex compose`."""

DOCUMENT_COLUMNS: Mapping[str, tuple[pa.DataType, ...]] = {
    **dict.fromkeys(("doc_id", "text", "format", "title"), (_TEXT,)),
    "page_starts": (pa.list_(_INT),),
    "source": (_TEXT,),
    "timestamp": (_REAL,),
    **dict.fromkeys(("scope", "metadata"), (_TEXT,)),  # metadata are an object of JSON
}
"""Columns of documents: the fields of `Document`."""

_ERROR = pa.struct(_of(_TEXT, "type", "message"))
_SPAN = pa.struct([
    ("doc_id", _TEXT),
    ("chunk_ids", pa.list_(_INT)),
    ("score", _REAL),
    *_of(_INT, "char_start", "char_end", "token_count"),
    *_of(_REAL, "sim_score", "adjacency_score", "continuity_score", "parent_bonus"),
    ("text", _TEXT),
    ("value", _REAL),
    *_of(_BOOL, "exact", "pinned"),
    *_of(_TEXT, "parent_id", "prefix"),
    ("chunks", pa.list_(CHUNK)),
    ("segments", pa.list_(pa.struct(_of(_INT, "start", "end", "chunk_id", "char_start")))),
])  # fmt: skip
_CITATION = pa.struct([
    *_of(_INT, "number", "start", "end"),
    ("doc_id", _TEXT),
    *_of(_INT, "chunk_id", "char_start", "char_end", "page"),
    ("heading_path", pa.list_(_TEXT)),
    ("media", _TEXT),  # a list of JSON
])  # fmt: skip
_COVERAGE = pa.struct([
    ("doc_id", _TEXT),
    ("ranges", pa.list_(pa.struct(_of(_INT, "first", "last")))),
    ("chunk_count", _INT),
    ("matched", pa.list_(pa.struct([("chunk_id", _INT), ("score", _REAL)]))),
    *_of(_REAL, "max_score", "mean_score"),
    ("summary", _TEXT),
])  # fmt: skip
_DROPPED = pa.struct([*_PLACE, ("similarity_score", _REAL), *_of(_TEXT, "reason", "detail"), ("shown", _REAL)])
_STYLE = pa.struct([("format", _TEXT), ("numbered", _BOOL), ("header", _TEXT), *_of(_BOOL, "gap_markers", "prefixes")])


def composition_schema(requests: pa.Schema) -> pa.Schema:
    """Return the schema of the compositions that requests of this schema become; `id` has the type it has there."""
    given = requests.field("id").type if "id" in requests.names else _TEXT
    if types.is_dictionary(given):
        given = given.value_type  # Parquet keeps no dictionaries of numbers: a file gives the same
    return pa.schema(
        [
            ("id", _INT if types.is_integer(given) else _TEXT),
            *_of(_TEXT, "question", "text"),
            *_of(_INT, "tokens", "token_budget"),
            ("tokenizer", _TEXT),
            ("style", _STYLE),
            ("spans", pa.list_(_SPAN)),
            ("citations", pa.list_(_CITATION)),
            ("coverage", pa.list_(_COVERAGE)),
            ("dropped", pa.list_(_DROPPED)),
            ("warnings", pa.list_(_TEXT)),
            *_of(_REAL, "confidence", "expected_recall"),
            ("error", _ERROR),
        ],
        metadata={SCHEMA_KEY: COMPOSITIONS.encode()},
    )


_INDEXED = pa.struct([*CHUNK, ("tokens", _INT), ("cuts", pa.binary()), ("embedding", pa.list_(pa.float32()))])

CHUNK_SCHEMA = pa.schema(
    [
        *((name, kinds[0]) for name, kinds in DOCUMENT_COLUMNS.items()),
        *_of(_TEXT, "content_hash", "tokenizer", "encoder"),
        ("chunks", pa.list_(_INDEXED)),
        ("parents", pa.list_(pa.struct([("name", _TEXT), ("chunk", CHUNK)]))),
        ("notes", pa.list_(_TEXT)),
        ("error", _ERROR),
    ],
    metadata={SCHEMA_KEY: CHUNKS.encode()},
)
"""A document a row, with its chunks and their vectors."""


def check_columns(
    schema: pa.Schema, known: Mapping[str, tuple[pa.DataType, ...]], needed: Sequence[str], what: str
) -> None:
    """Make sure that a table has columns of known names and types.

    Parameters
    ----------
    schema : of the table
    known : names, each with the types that its column may have
    needed : names that may not be missing
    what : the table holds, as its errors call it

    Raises
    ------
    BatchError
        If a column is unknown, missing or of another type; the message names the column.
    """
    for name in schema.names:
        if name not in known:
            near = closest_name(name, known)
            hint = "" if near is None else f"did you mean {near}? "
            raise BatchError(f"the column {name!r} of the {what} is unknown: {hint}known are {', '.join(known)}")
        if schema.names.count(name) > 1:
            raise BatchError(f"{what} have two columns of the name {name!r}: give each column once")
    missing = [name for name in needed if name not in schema.names]
    if missing:
        raise BatchError(f"{what} lack the column {missing[0]!r}: they have {', '.join(schema.names) or 'none'}")
    for field in schema:
        if not any(_is_read_as(field, kind) for kind in known[field.name]):
            wanted = " or ".join(map(str, known[field.name]))
            raise BatchError(f"{field.name} is {field.type}: it must be {wanted}")


def _is_read_as(given: pa.Field, wanted: pa.DataType) -> bool:
    """Whether Arrow can bring a type and the wanted one together; values are looked at row by row."""
    kind = given.type.value_type if types.is_dictionary(given.type) else given.type
    try:
        pa.unify_schemas([pa.schema({"": wanted}), pa.schema({"": kind})], promote_options="permissive")
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        return False
    return True
