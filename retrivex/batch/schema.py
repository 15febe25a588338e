"""The Arrow schemas of a batch, with their versions, and the check that a table is of one of them.

`docs/batch.md` describes every column. Within a version columns may be added; a column that changes its meaning or its
type makes a new version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyarrow import types

from retrivex.errors import BatchError
from retrivex.model.options import closest_name

SCHEMA_KEY = b"retrivex.schema"
"""Key of a schema's metadata that holds name and version."""

REQUESTS = "retrivex.batch.requests/1"
COMPOSITIONS = "retrivex.batch.compositions/1"
DOCUMENTS = "retrivex.batch.documents/1"
CHUNKS = "retrivex.batch.chunks/1"

_TEXT, _INT, _REAL = pa.string(), pa.int64(), pa.float64()
_LINK = pa.struct([("doc_id", _TEXT), ("chunk_id", _INT)])

_PLACE: list[tuple[str, pa.DataType]] = [("doc_id", _TEXT), ("chunk_id", _INT)]
_REST_OF_CHUNK: list[tuple[str, pa.DataType]] = [
    ("text", _TEXT),
    ("char_start", _INT),
    ("char_end", _INT),
    ("heading_path", pa.list_(_TEXT)),
    ("page", _INT),
    ("parent_id", _TEXT),
    ("metadata", _TEXT),  # an object of JSON
    ("timestamp", _REAL),
    ("chunk_count", _INT),
    ("scope", _TEXT),
    ("links", pa.list_(_LINK)),
    ("prefix", _TEXT),
]
CHUNK = pa.struct([*_PLACE, *_REST_OF_CHUNK])
"""A chunk without its vector; what is not set is null."""

CHUNK_GIVEN = pa.struct([*CHUNK, ("embedding", pa.list_(_REAL))])
"""A chunk of a request."""

HIT = pa.struct([*_PLACE, ("score", _REAL), *_REST_OF_CHUNK, ("embedding", pa.list_(_REAL))])
"""A hit: where it is and its score, and its chunk where the row brings it."""

REQUEST_COLUMNS: Mapping[str, tuple[pa.DataType, ...]] = {
    "id": (_TEXT, _INT),
    "question": (_TEXT,),
    "hits": (pa.list_(HIT), pa.list_(pa.list_(HIT))),
    "chunks": (pa.list_(CHUNK_GIVEN),),
    "parents": (_TEXT,),  # an object of JSON
    "query_embedding": (pa.list_(_REAL),),
    "scope": (_TEXT, pa.list_(_TEXT)),
    "config": (_TEXT,),  # an object of JSON
}
"""Columns of requests, each with the types it may have: the keys of a line of `retrivex compose`."""

DOCUMENT_COLUMNS: Mapping[str, tuple[pa.DataType, ...]] = {
    "doc_id": (_TEXT,),
    "text": (_TEXT,),
    "format": (_TEXT,),
    "title": (_TEXT,),
    "page_starts": (pa.list_(_INT),),
    "source": (_TEXT,),
    "timestamp": (_REAL,),
    "scope": (_TEXT,),
    "metadata": (_TEXT,),  # an object of JSON
}
"""Columns of documents: the fields of `Document`."""

_ERROR = pa.struct([("type", _TEXT), ("message", _TEXT)])
_SEGMENT = pa.struct([("start", _INT), ("end", _INT), ("chunk_id", _INT), ("char_start", _INT)])
_SPAN = pa.struct([
    ("doc_id", _TEXT),
    ("chunk_ids", pa.list_(_INT)),
    ("score", _REAL),
    ("char_start", _INT),
    ("char_end", _INT),
    ("token_count", _INT),
    ("sim_score", _REAL),
    ("adjacency_score", _REAL),
    ("continuity_score", _REAL),
    ("parent_bonus", _REAL),
    ("text", _TEXT),
    ("value", _REAL),
    ("exact", pa.bool_()),
    ("pinned", pa.bool_()),
    ("parent_id", _TEXT),
    ("prefix", _TEXT),
    ("chunks", pa.list_(CHUNK)),
    ("segments", pa.list_(_SEGMENT)),
])  # fmt: skip
_CITATION = pa.struct([
    ("number", _INT),
    ("start", _INT),
    ("end", _INT),
    ("doc_id", _TEXT),
    ("chunk_id", _INT),
    ("char_start", _INT),
    ("char_end", _INT),
    ("page", _INT),
    ("heading_path", pa.list_(_TEXT)),
])  # fmt: skip
_COVERAGE = pa.struct([
    ("doc_id", _TEXT),
    ("ranges", pa.list_(pa.struct([("first", _INT), ("last", _INT)]))),
    ("chunk_count", _INT),
    ("matched", pa.list_(pa.struct([("chunk_id", _INT), ("score", _REAL)]))),
    ("max_score", _REAL),
    ("mean_score", _REAL),
    ("summary", _TEXT),
])  # fmt: skip
_DROPPED = pa.struct([
    ("doc_id", _TEXT),
    ("chunk_id", _INT),
    ("similarity_score", _REAL),
    ("reason", _TEXT),
    ("detail", _TEXT),
    ("shown", _REAL),
])  # fmt: skip
_STYLE = pa.struct([
    ("format", _TEXT),
    ("numbered", pa.bool_()),
    ("header", _TEXT),
    ("gap_markers", pa.bool_()),
    ("prefixes", pa.bool_()),
])  # fmt: skip


def composition_schema(requests: pa.Schema) -> pa.Schema:
    """Return the schema of the compositions that requests of this schema become; `id` has the type it has there."""
    given = requests.field("id").type if "id" in requests.names else _TEXT
    if types.is_dictionary(given):
        given = given.value_type  # Parquet keeps no dictionaries of numbers: a file gives the same
    return pa.schema(
        [
            ("id", _INT if types.is_integer(given) else _TEXT),
            ("question", _TEXT),
            ("text", _TEXT),
            ("tokens", _INT),
            ("token_budget", _INT),
            ("tokenizer", _TEXT),
            ("style", _STYLE),
            ("spans", pa.list_(_SPAN)),
            ("citations", pa.list_(_CITATION)),
            ("coverage", pa.list_(_COVERAGE)),
            ("dropped", pa.list_(_DROPPED)),
            ("warnings", pa.list_(_TEXT)),
            ("confidence", _REAL),
            ("expected_recall", _REAL),
            ("error", _ERROR),
        ],
        metadata={SCHEMA_KEY: COMPOSITIONS.encode()},
    )


CHUNK_SCHEMA = pa.schema(
    [
        *((name, kinds[0]) for name, kinds in DOCUMENT_COLUMNS.items()),
        ("content_hash", _TEXT),
        ("tokenizer", _TEXT),
        ("encoder", _TEXT),
        (
            "chunks",
            pa.list_(
                pa.struct([*CHUNK, ("tokens", _INT), ("cuts", pa.binary()), ("embedding", pa.list_(pa.float32()))])
            ),
        ),
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
        If a column is unknown, missing or of another type; the message names the column, and its place in a struct.
    """
    stated = (schema.metadata or {}).get(SCHEMA_KEY)
    expected = REQUESTS if known is REQUEST_COLUMNS else DOCUMENTS
    if stated is not None and stated.decode(errors="replace") != expected:
        raise BatchError(
            f"the table says that its schema is {stated.decode(errors='replace')!r}: this reads {expected!r}"
        )
    for name in schema.names:
        if name not in known:
            raise BatchError(_unknown(name, list(known), f"the column {name!r}", what))
    if len(set(schema.names)) < len(schema.names):
        raise BatchError(f"{what} have two columns of one name ({', '.join(schema.names)}): give each column once")
    missing = [name for name in needed if name not in schema.names]
    if missing:
        raise BatchError(f"{what} lack the column {missing[0]!r}: they have {', '.join(schema.names) or 'none'}")
    for field in schema:
        wanted = known[field.name]
        problems = [_misfit(field.type, kind, field.name) for kind in wanted]
        if all(problems):
            # of several types, the one that is most like it: its problem lies deepest
            raise BatchError(max((p for p in problems if p), key=lambda p: p.count(".")))


def _unknown(name: str, known: list[str], place: str, what: str) -> str:
    near = closest_name(name, known)
    hint = "" if near is None else f"did you mean {near}? "
    return f"{place} of the {what} is unknown: {hint}known are {', '.join(known)}; leave others out"


def _misfit(given: pa.DataType, wanted: pa.DataType, place: str) -> str | None:
    """Return why values of a type cannot be read as another; None where they can."""
    if types.is_null(given):
        return None
    if types.is_dictionary(given):
        given = given.value_type
    if types.is_struct(wanted):
        return _misfit_of_struct(given, wanted, place)
    if types.is_list(wanted):
        if not _is_list(given):
            return f"{place} is {given}: it must be a list"
        return _misfit(given.value_type, wanted.value_type, place)
    if types.is_string(wanted) and not _is_text(given):
        return f"{place} is {given}: it must be text (string)"
    if (
        types.is_integer(wanted)
        and not types.is_integer(given)
        and not (place.endswith("chunk_id") and _is_text(given))
    ):
        return f"{place} is {given}: it must be a whole number (int64)"
    if types.is_floating(wanted) and not types.is_floating(given) and not types.is_integer(given):
        return f"{place} is {given}: it must be a number (float64)"
    return None


def _misfit_of_struct(given: pa.DataType, wanted: pa.DataType, place: str) -> str | None:
    names = [field.name for field in wanted]
    if not types.is_struct(given):
        return f"{place} is {given}: it must be a struct of {', '.join(names)}"
    given_names = [field.name for field in given]
    for field in given:
        if field.name not in names:
            return _unknown(field.name, names, f"the field {place}.{field.name}", "table")
        if given_names.count(field.name) > 1:
            return f"{place}.{field.name} is there more than once: give each field of a struct once"
        problem = _misfit(field.type, wanted.field(field.name).type, f"{place}.{field.name}")
        if problem:
            return problem
    return None


def _is_list(kind: pa.DataType) -> bool:
    return any(is_kind(kind) for is_kind in (types.is_list, types.is_large_list, types.is_fixed_size_list))


def _is_text(kind: pa.DataType) -> bool:
    return any(is_kind(kind) for is_kind in (types.is_string, types.is_large_string, types.is_string_view))
