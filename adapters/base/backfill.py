"""Adds chunk numbers to a collection that has none: reads it once, numbers its documents, writes the numbers."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields
from functools import partial
from itertools import pairwise
from typing import Any, Literal, TypeAlias

from retrivex.errors import ConfigError, StoreError
from retrivex.merging.stored_cuts import count_and_cut, unpack
from retrivex.tokens.stored import StoredCount
from retrivex.tokens.tokenizer import Tokenizer

from .collection import Collection, Record, Scan
from .documents import Passage, as_int, linked_chains
from .fields import FieldMap, look_up_path
from .retries import RetryingCollection
from .store import read_record

How: TypeAlias = Literal["numbers", "links", "offsets", "order"]
"""Where the numbers of a document come from; `order` is that of the scan."""

Report: TypeAlias = Callable[[str, int, int | None], None]
"""`report(step, done, total)`: called with the progress; the total is None where it is not known."""


@dataclass(frozen=True, slots=True)
class Backfilled:
    """The result of a backfill.

    Parameters
    ----------
    records : in the collection
    documents : with numbers, by where these come from
    unnumbered : documents without, and why; at most 100 are listed
    unnumbered_count : all of them
    orphans : records that name no document
    written : records whose numbers are set, by this run or, as it found, before
    counted : records whose counts are set, by this run or, as it found, before
    """

    records: int
    documents: dict[How, int] = field(default_factory=dict)
    unnumbered: dict[str, str] = field(default_factory=dict)
    unnumbered_count: int = 0
    orphans: int = 0
    written: int = 0
    counted: int = 0


_RECORDS = """
CREATE TABLE record (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, doc_id TEXT, scope TEXT, known INTEGER, page INTEGER,
    start INTEGER, before TEXT, after TEXT, number INTEGER, chunks INTEGER, held TEXT, count TEXT
)
"""
"""What is known of each record, in a database that SQLite keeps on the disk and deletes with the connection."""


def backfill(
    collection: Collection,
    *,
    by_order: bool = False,
    write: bool = False,
    tokenizer: Tokenizer | None = None,
    batch: int = 500,
    report: Report = lambda step, done, total: None,
) -> Backfilled:
    """Find the number of every record of a collection and, with `write`, set it there.

    Numbers are the records' own, else come from links to neighbours, else from their offsets (by page, where there are
    pages), else, with `by_order`, from the order in which the collection gives its records: only where that is the
    order of the text.

    Every run reads all records, and writes what they do not hold yet: one that was stopped is run again.

    Parameters
    ----------
    collection : with a sync client
    by_order : see above
    write : set document, number and count of chunks in every record
    tokenizer : with `write`, also set what this tokenizer counts in each text, and where the text may be cut: whoever
        composes with a tokenizer of this name need not count and cut what is not shown
    batch : records a request

    Raises
    ------
    ConfigError
        If the field for counts is one that is read for something else.
    StoreError
        If the collection fails or cannot be written to, or a record's field for counts holds something else.
    """
    if isinstance(batch, bool) or not isinstance(batch, int) or not 1 <= batch <= 10_000:
        raise StoreError(f"batch is {batch!r}: it must be a whole number from 1 to 10,000")
    if tokenizer is not None and not write:
        raise StoreError("counts are kept in the collection only: backfill with write=True (--write), or without them")
    path = None
    if tokenizer is not None:
        path = RetryingCollection(collection).run(partial(path_of_counts, collection, _ANOTHER_FIELD))
    with closing(sqlite3.connect("")) as connection, connection:
        _scan(connection, collection, path, tokenizer, batch, report)
        made = _number(connection, by_order, report)
        written, counted = _write(connection, collection, path, batch, report) if write else (0, 0)
    return Backfilled(**made, written=written, counted=counted)


# ---- reading


def _scan(
    connection: sqlite3.Connection,
    collection: Collection,
    path: str | None,
    tokenizer: Tokenizer | None,
    batch: int,
    report: Report,
) -> None:
    """Read what numbering needs, and count texts: all before anything is written, as some stores move what changes."""
    written = [collection.fields.path(name) for name in ("doc_id", "chunk_id", "chunk_count")]
    paths = [one for one in (*written, path) if one is not None]
    connection.execute(_RECORDS)
    retrying = RetryingCollection(collection)
    after, done = None, 0
    while True:
        answer = retrying.ask(Scan(after, batch))
        passages = [read_record(record, collection) for record in answer.records]
        counts = [""] * len(passages) if tokenizer is None else _counts(passages, collection, tokenizer)
        connection.executemany(
            "INSERT OR IGNORE INTO record (id, doc_id, scope, known, page, start, before, after, held, count) "
            "VALUES (?,?,?,?,?,?,?,?,?,?)",
            [
                (*_row(record.id, passage), _held_fields(record, paths), count)
                for record, passage, count in zip(answer.records, passages, counts, strict=True)
            ],
        )
        after, done = answer.after, done + len(answer.records)
        report("reading", done, None)
        if after is None:
            return


def _row(id: str, passage: Passage) -> tuple[Any, ...]:
    # names as JSON in ASCII: a file cannot hold half surrogate pairs
    doc_id = None if passage.doc_id is None or not passage.text else json.dumps(passage.doc_id)
    page = passage.fields.read(passage.metadata, "page")
    scope = passage.fields.read(passage.metadata, "scope")
    return (
        id,
        doc_id,
        json.dumps(None if scope is None else str(scope)),
        passage.chunk_id,
        as_int(page),
        passage.char_start,
        passage.before,
        passage.after,
    )


def _held_fields(record: Record, paths: Sequence[str]) -> str:
    """Return what a record holds already of what may be written to it."""
    return json.dumps({path: look_up_path(record.payload, path) for path in paths}, default=str)


# ---- numbering


def _number(connection: sqlite3.Connection, by_order: bool, report: Report) -> dict[str, Any]:
    (records,) = connection.execute("SELECT count(*) FROM record").fetchone()
    (orphans,) = connection.execute("SELECT count(*) FROM record WHERE doc_id IS NULL").fetchone()
    # a document of one tenant is another one than that of the same name of another
    names = connection.execute("SELECT DISTINCT doc_id, scope FROM record WHERE doc_id IS NOT NULL").fetchall()
    how: Counter[How] = Counter()
    unnumbered: dict[str, str] = {}
    failed = 0
    for done, name in enumerate(names, 1):
        found = _numbers(_passages(connection, name), by_order)
        if isinstance(found, str):
            failed += 1
            if len(unnumbered) < 100:
                unnumbered[json.loads(name[0])] = found
        else:
            how[found[0]] += 1
            rows = [(number, len(found[1]), id) for id, number in found[1]]
            connection.executemany("UPDATE record SET number = ?, chunks = ? WHERE id = ?", rows)
        report("numbering", done, len(names))
    return {
        "records": records,
        "documents": dict(how),
        "unnumbered": unnumbered,
        "unnumbered_count": failed,
        "orphans": orphans,
    }


_NAMES = FieldMap()


def _passages(connection: sqlite3.Connection, name: tuple[str, str]) -> list[Passage]:
    rows = connection.execute(
        "SELECT id, known, page, start, before, after FROM record WHERE doc_id = ? AND scope = ? ORDER BY seq", name
    )
    return [
        Passage(
            "", {"page": page}, _NAMES, id=id, doc_id=name[0], chunk_id=known, char_start=start, before=before,
            after=after,
        )
        for id, known, page, start, before, after in rows
    ]  # fmt: skip


def _numbers(group: Sequence[Passage], by_order: bool) -> tuple[How, list[tuple[str, int]]] | str:
    """Return where the numbers of a document come from, and id and number of each piece; or why there are none."""
    numbered = [passage.chunk_id for passage in group if passage.chunk_id is not None]
    if len(numbered) == len(group):
        twice = [number for number, count in Counter(numbered).items() if count > 1]
        if twice:
            return f"number {twice[0]} is there {numbered.count(twice[0])} times"
        return "numbers", [(_id(passage), number) for passage, number in zip(group, numbered, strict=True)]
    if any(passage.before or passage.after for passage in group):
        return "links", list(_number_along(linked_chains(group)))
    if all(passage.char_start is not None for passage in group):
        ordered = sorted(group, key=_offset)
        if all(_offset(left) < _offset(right) for left, right in pairwise(ordered)):
            return "offsets", list(_number_along([ordered]))
        if not by_order:
            return "two pieces begin at the same offset: offsets do not say which comes first"
    if by_order or len(group) == 1:
        return "order", list(_number_along([group]))
    if numbered:
        return f"only {len(numbered)} of {len(group)} pieces have a number"
    return (
        f"{len(group)} pieces without numbers, links or offsets: only if the collection gives its records in the order "
        "of the text, number them so (--by-order)"
    )


def _offset(passage: Passage) -> tuple[int, int]:
    page = passage.metadata["page"]
    return (0 if page is None else page, passage.char_start or 0)


def _number_along(chains: Sequence[Sequence[Passage]]) -> Iterator[tuple[str, int]]:
    """Yield numbers along chains, one after the other, with one left out between: their ends are no neighbours."""
    number = 0
    for chain in chains:
        for passage in chain:
            yield _id(passage), number
            number += 1
        number += 1


def _id(passage: Passage) -> str:
    assert passage.id is not None  # every record has one
    return passage.id


# ---- counting


_ANOTHER_FIELD = "name another one with --field counts=OTHER, or fields=FieldMap(counts=...)"


def path_of_counts(collection: Collection, way_out: str) -> str:
    """Return where counts are written.

    Parameters
    ----------
    collection : that is to keep them
    way_out : end of the message

    Raises
    ------
    ConfigError
        If something else is read from there.
    StoreError
        If it cannot be written to.
    """
    names = collection.fields
    path = names.path("counts")
    if path is None:
        raise StoreError(f"{collection.name} has no field for counts: name one with fields=FieldMap(counts=...)")
    for known in fields(names):
        for other in () if known.name in ("counts", "root") else names.paths(known.name):
            if f"{path}.".startswith(f"{other}.") or f"{other}.".startswith(f"{path}."):
                raise ConfigError(
                    f"counts would be written to {path!r}, and {known.name} is read from {other!r}: {way_out}"
                )
    trouble = collection.refuses_text(path)
    if trouble is not None:
        raise StoreError(f"{collection.name} cannot keep counts in {path!r}: {trouble}; {way_out}")
    return path


def _counts(passages: Sequence[Passage], collection: Collection, tokenizer: Tokenizer) -> list[str]:
    """Return what the field of each record has to hold; nothing where there is no text."""
    made = [""] * len(passages)
    wanting = []
    for at, passage in enumerate(passages):
        held = _held(passage, collection) if passage.text else None
        stored = StoredCount.from_field(held, tokenizer.name)
        if stored is not None and stored.holds(passage.text, tokenizer.name) and _cuts_hold(stored, passage):
            made[at] = held
        elif passage.text:
            wanting.append(at)
    for at, count in zip(wanting, count_and_cut([passages[at].text for at in wanting], tokenizer), strict=True):
        made[at] = count.to_field(tokenizer.name)
    return made


def _held(passage: Passage, collection: Collection) -> Any:
    """Return what a record has where its count goes.

    Raises
    ------
    StoreError
        If that is somebody else's.
    """
    name = passage.fields.counts[0]
    held = look_up_path(passage.metadata, name)
    if held in (None, "", [], {}) or StoredCount.is_field(held):
        return held
    raise StoreError(
        f"{collection.name}: record {passage.id!r} has {repr(held)[:60]} in {name!r}, which is no count of ours and "
        f"would be overwritten; nothing was written: {_ANOTHER_FIELD}"
    )


def _cuts_hold(stored: StoredCount, passage: Passage) -> bool:
    return stored.cuts is not None and unpack(stored.cuts, passage.text) is not None


# ---- writing


def _write(
    connection: sqlite3.Connection, collection: Collection, counts: str | None, batch: int, report: Report
) -> tuple[int, int]:
    """Set what records do not hold yet: numbers of those that have one, and counts; return how many now have them."""
    paths = [collection.fields.path(name) for name in ("doc_id", "chunk_id", "chunk_count")]
    if paths[0] is None or paths[1] is None:
        raise StoreError(f"{collection.name} has no field for document or number: name them with fields=FieldMap(...)")
    retrying = RetryingCollection(collection)
    numbered, counted, total = connection.execute(
        "SELECT count(number), count(nullif(count, '')), count(*) FROM record"
    ).fetchone()
    rows = connection.execute("SELECT id, doc_id, number, chunks, count, held FROM record ORDER BY seq")
    done = 0
    while some := rows.fetchmany(batch):
        changes = {id: _changes(row, paths, counts) for id, *row in some}
        wanted = {id: values for id, values in changes.items() if values}
        if wanted:
            retrying.run(partial(collection.write, wanted))
        done += len(some)
        report("writing", done, total)
    return numbered, counted


def _changes(row: Sequence[Any], paths: Sequence[str | None], counts: str | None) -> dict[str, Any]:
    doc_id, number, chunks, count, held = row
    named = json.loads(doc_id) if doc_id is not None else None
    values = dict(zip(paths, (named, number, chunks), strict=True)) if number is not None else {}
    values |= {counts: count} if count else {}
    known = json.loads(held)
    # a document that is kept as a number stays one
    return {
        path: value
        for path, value in values.items()
        if path is not None and known[path] != value and str(known[path]) != named
    }
