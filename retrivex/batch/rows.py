"""Rows of Arrow tables as the JSON objects that the rest of RetriVex reads and writes, and back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import types

from retrivex.composer.requests import RequestError
from retrivex.composition.composition import SCHEMA, Composition
from retrivex.errors import RetrivexError
from retrivex.model.chunk import Chunk
from retrivex.model.serialization import chunk_to_dict, escape_halves
from retrivex.text.lines import describe_error

_AS_JSON = ("parents", "config")


def request_record(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of requests as the object that a line of `retrivex compose` holds.

    Raises
    ------
    RequestError
        If a column of JSON holds something else.
    """
    record = {name: value for name, value in row.items() if value is not None}
    for name in _AS_JSON:
        if name in record:
            record[name] = read_json(record[name], name)
    return record | {name: _with_metadata(record[name]) for name in ("hits", "chunks") if name in record}


def read_rows(table: pa.Table) -> Iterator[tuple[dict[str, Any], RequestError | None]]:
    """Yield the rows of a table, each with why it cannot be read: what is in it then are the columns that can."""
    try:
        for row in table.to_pylist():
            yield row, None
        return
    except UnicodeDecodeError:  # Arrow does not check that text is UTF-8; it is raised before the first row
        pass
    for at in range(table.num_rows):
        row, problem = {}, None
        for name in table.column_names:
            try:
                row[name] = table.column(name)[at].as_py()
            except UnicodeDecodeError as error:
                found = f"a text in {name!r} is not UTF-8 (byte {error.start}): write the column as UTF-8"
                problem = problem or RequestError(found)
        yield row, problem


def read_ids(table: pa.Table, kind: pa.DataType) -> tuple[pa.Array | pa.ChunkedArray, dict[int, RequestError]]:
    """Return the ids of a table as a type, and by row why an id cannot be: it is null then."""
    if "id" not in table.column_names:
        return pa.nulls(table.num_rows, kind), {}
    given = table.column("id")
    if types.is_dictionary(given.type):
        given = given.cast(given.type.value_type)
    try:
        return _cast_ids(given, kind), {}
    except pa.ArrowInvalid:
        made: list[Any] = []
        problems = {}
        for at in range(len(given)):
            one = given.slice(at, 1)
            try:
                made.append(_cast_ids(one, kind)[0].as_py())
            except pa.ArrowInvalid:
                made.append(None)
                problems[at] = RequestError(
                    f"id is {one[0].as_py()}: a number must be below 2**63; write such ids as text"
                    if types.is_integer(given.type)
                    else "id is not UTF-8: write the column as UTF-8, or number the rows"
                )
        return pa.array(made, kind), problems


def _cast_ids(ids: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    made = ids.cast(kind)
    made.validate(full=True)  # a cast does not look whether text is UTF-8
    return made


def read_json(text: str, name: str) -> Any:
    """Return what a text of JSON holds.

    Raises
    ------
    RequestError
        If it is not JSON.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RequestError(f"{name!r} is not JSON ({error}): write an object as text") from error


def _with_metadata(given: Any) -> Any:
    """Return a hit or a chunk with its metadata and links as JSON has them; one of several lists of hits as a list."""
    if isinstance(given, list):
        return [_with_metadata(hit) for hit in given]
    if given is None:
        return None
    made = given
    if given.get("metadata") is not None:
        made = {**made, "metadata": read_json(given["metadata"], "metadata")}
    if given.get("links") is not None:
        made = {**made, "links": [link and [link.get("doc_id"), link.get("chunk_id")] for link in given["links"]]}
    return made


def chunk_row(chunk: Chunk) -> dict[str, Any]:
    """Return a chunk as a row has it, without its vector."""
    return _row_of(chunk_to_dict(chunk, embedding=False))


def _row_of(record: dict[str, Any]) -> dict[str, Any]:
    record |= {name: write_json(record[name]) for name in ("metadata", "media") if name in record}
    if "links" in record:
        record["links"] = [{"doc_id": doc_id, "chunk_id": chunk_id} for doc_id, chunk_id in record["links"]]
    return record


def write_json(value: Any) -> str:
    """Return JSON that Arrow can hold."""
    return escape_halves(json.dumps(value, ensure_ascii=False, allow_nan=False))


def composition_row(made: Composition) -> dict[str, Any]:
    """Return a composition as a row, without its id.

    Raises
    ------
    RetrivexError
        If the custom metadata of a shown chunk holds something that JSON cannot.
    """
    row = made.to_dict()
    del row["schema"]
    for span in row["spans"]:
        span["chunks"] = [_row_of(chunk) for chunk in span["chunks"]]
    row["citations"] = [_row_of(citation) for citation in row["citations"]]
    for coverage in row["coverage"]:
        coverage["ranges"] = [{"first": first, "last": last} for first, last in coverage["ranges"]]
        coverage["matched"] = [{"chunk_id": chunk_id, "score": score} for chunk_id, score in coverage["matched"]]
    return row


def record_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of compositions, as `table.to_pylist()` gives it, as `retrivex compose` writes it: a line's object.

    Without its `id`, it is what `Composition.to_dict` returned, which `Composition.from_dict` reads.

    Parameters
    ----------
    row : of a table of compositions

    Raises
    ------
    RetrivexError
        If the row is of another schema.
    """
    try:
        if row["error"] is not None:
            return {"id": row["id"], "error": dict(row["error"])}
        record = {"id": row["id"], "schema": SCHEMA, **{k: v for k, v in row.items() if k not in ("id", "error")}}
        record["spans"] = [{**span, "chunks": [plain_record(c) for c in span["chunks"]]} for span in row["spans"]]
        record["citations"] = [_plain_citation(citation) for citation in row["citations"]]
        record["coverage"] = [
            {
                **coverage,
                "ranges": [[pair["first"], pair["last"]] for pair in coverage["ranges"]],
                "matched": [[pair["chunk_id"], pair["score"]] for pair in coverage["matched"]],
            }
            for coverage in row["coverage"]
        ]
    except (KeyError, TypeError) as error:
        raise RetrivexError(f"not a row of compositions: {error!r}; give a row that compose_table made") from error
    return record


def _plain_citation(row: Mapping[str, Any]) -> dict[str, Any]:
    media = {"media": read_json(row["media"], "media")} if row.get("media") else {}
    return {name: value for name, value in row.items() if name != "media"} | media


def plain_record(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of chunks as JSON has it: metadata and links in their own form, and nothing that is null."""
    record: dict[str, Any] = _with_metadata({name: value for name, value in row.items() if value is not None})
    return record


def error_of(error: BaseException) -> dict[str, str]:
    """Return an error as a row has it, in the words of `retrivex compose`."""
    return {"type": type(error).__name__, "message": describe_error(error)}


def make_table(rows: Sequence[dict[str, Any]], schema: pa.Schema, kept: Sequence[str] = ()) -> pa.Table:
    """Return rows as a table; a row that Arrow cannot hold becomes its error.

    Parameters
    ----------
    rows : plain types by column; a missing column is null
    schema : of the table, with a column `error`
    kept : columns that such a row keeps
    """
    try:
        return pa.Table.from_pylist(list(rows), schema=schema)
    except (pa.ArrowException, UnicodeError, OverflowError, TypeError):
        return pa.concat_tables([_one_row(row, schema, kept) for row in rows])


def _one_row(row: dict[str, Any], schema: pa.Schema, kept: Sequence[str]) -> pa.Table:
    try:
        return pa.Table.from_pylist([row], schema=schema)
    except UnicodeError:
        error = RetrivexError("a text holds half a surrogate pair, which Arrow cannot: replace it by U+FFFD")
    except (pa.ArrowException, OverflowError, TypeError) as problem:
        error = RetrivexError(f"the answer holds something that Arrow cannot: {problem}")
    return pa.Table.from_pylist([{**{name: row.get(name) for name in kept}, "error": error_of(error)}], schema=schema)
