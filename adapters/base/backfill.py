"""Adds chunk numbers to a collection that has none: reads it once, numbers its documents, writes the numbers."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias

from retrivex.errors import StoreError
from retrivex.merging.stored_cuts import count_and_cut
from retrivex.tokens.tokenizer import Tokenizer

from .collection import Collection, Record, Scan
from .documents import Passage, as_int, linked_chains
from .fields import FieldMap
from .positions_file import Places
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
    written : records whose numbers were set, in this run and those before
    counted : records whose counts were set, in this run and those before
    """

    records: int
    documents: dict[How, int] = field(default_factory=dict)
    unnumbered: dict[str, str] = field(default_factory=dict)
    unnumbered_count: int = 0
    orphans: int = 0
    written: int = 0
    counted: int = 0


def backfill(
    collection: Collection,
    places: Places,
    *,
    origin: str = "",
    by_order: bool = False,
    write: bool = False,
    tokenizer: Tokenizer | None = None,
    batch: int = 500,
    report: Report = lambda step, done, total: None,
) -> Backfilled:
    """Find the number of every record of a collection, keep it in `places` and, with `write`, in the collection.

    A run that was stopped goes on where it was. Numbers are the records' own, else come from links to neighbours,
    else from their offsets (by page, where there are pages), else, with `by_order`, from the order in which the
    collection gives its records: only where that is the order of the text.

    Parameters
    ----------
    collection : with a sync client
    places : an empty file, or that of a run of the same collection
    origin : where the collection is, so that a file of another one of the same name is not taken for its own
    by_order : see above
    write : set document, number and count of chunks in every record
    tokenizer : with `write`, also set what this tokenizer counts in each text, and where the text may be cut: whoever
        composes with a tokenizer of this name need not count and cut what is not shown
    batch : records a request

    Raises
    ------
    StoreError
        If the collection fails or cannot be written to, or `places` is of another collection.
    """
    if isinstance(batch, bool) or not isinstance(batch, int) or not 1 <= batch <= 10_000:
        raise StoreError(f"batch is {batch!r}: it must be a whole number from 1 to 10,000")
    if tokenizer is not None and not write:
        raise StoreError("counts are kept in the collection only: backfill with write=True (--write), or without them")
    _same_collection(collection, places, origin)
    _scan(collection, places, batch, report)
    made = _number(places, by_order, report)
    counted = 0
    if tokenizer is not None:
        # all is read before anything is written: some stores move the records that they change
        _count(collection, places, tokenizer, batch, report)
    written = _write(collection, places, batch, report) if write else 0
    if tokenizer is not None:
        counted = _write_counts(collection, places, batch, report)
    return Backfilled(**made, written=written, counted=counted)


def _same_collection(collection: Collection, places: Places, origin: str) -> None:
    known, here = places.state("collection"), [collection.name, origin, repr(collection.fields)]
    if known is not None and known[:2] != here[:2]:
        named, asked = (" ".join(filter(None, one[:2])) for one in (known, here))
        raise StoreError(f"{places.path} holds the places of {named}: name another file for {asked}")
    if known is not None and known != here:
        raise StoreError(f"{places.path} was made with other names of fields: delete it, or name another file")
    with places.transaction(write=True) as connection:
        _keep(connection, "collection", here)


def _keep(connection: sqlite3.Connection, key: str, value: Any) -> None:
    connection.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (key, json.dumps(value)))


# ---- reading


def _scan(collection: Collection, places: Places, batch: int, report: Report) -> None:
    """Read what numbering needs; records and the place to go on at are kept together."""
    retrying = RetryingCollection(collection)
    if places.state("scanned"):
        return
    after = places.state("after")
    while True:
        answer = retrying.ask(Scan(after, batch))
        after = answer.after
        with places.transaction(write=True) as connection:
            if answer.again:
                connection.execute("DELETE FROM record")
            connection.executemany(
                "INSERT OR IGNORE INTO record (id, doc_id, scope, known, page, start, before, after) "
                "VALUES (?,?,?,?,?,?,?,?)",
                [_row(record, collection) for record in answer.records],
            )
            _keep(connection, "after", after)
            _keep(connection, "scanned", after is None)
            (done,) = connection.execute("SELECT count(*) FROM record").fetchone()
        report("reading", done, None)
        if after is None:
            return


def _row(record: Record, collection: Collection) -> tuple[Any, ...]:
    passage = read_record(record, collection)
    # names as JSON in ASCII: a file cannot hold half surrogate pairs
    doc_id = None if passage.doc_id is None or not passage.text else json.dumps(passage.doc_id)
    page = passage.fields.read(passage.metadata, "page")
    scope = passage.fields.read(passage.metadata, "scope")
    return (
        record.id,
        doc_id,
        json.dumps(None if scope is None else str(scope)),
        passage.chunk_id,
        as_int(page),
        passage.char_start,
        passage.before,
        passage.after,
    )


# ---- numbering


def _number(places: Places, by_order: bool, report: Report) -> dict[str, Any]:
    with places.transaction() as connection:
        (records,) = connection.execute("SELECT count(*) FROM record").fetchone()
        (orphans,) = connection.execute("SELECT count(*) FROM record WHERE doc_id IS NULL").fetchone()
        # a document of one tenant is another one than that of the same name of another
        names = connection.execute("SELECT DISTINCT doc_id, scope FROM record WHERE doc_id IS NOT NULL").fetchall()
    how: Counter[How] = Counter()
    unnumbered: dict[str, str] = {}
    failed = 0
    for done, name in enumerate(names, 1):
        with places.transaction(write=True) as connection:
            found = _numbers(_passages(connection, name), by_order)
            if isinstance(found, str):
                failed += 1
                if len(unnumbered) < 100:
                    unnumbered[json.loads(name[0])] = found
                connection.execute("UPDATE record SET number = NULL WHERE doc_id = ? AND scope = ?", name)
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
            "",
            {"page": page},
            _NAMES,
            id=id,
            doc_id=name[0],
            chunk_id=known,
            char_start=start,
            before=before,
            after=after,
        )
        for id, known, page, start, before, after in rows
    ]


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


def _count(collection: Collection, places: Places, tokenizer: Tokenizer, batch: int, report: Report) -> None:
    """Count and cut the text of every record; counts and the place to go on at are kept together."""
    path = collection.fields.path("counts")
    if path is None:
        raise StoreError(f"{collection.name} has no field for counts: name one with fields=FieldMap(counts=...)")
    retrying = RetryingCollection(collection)
    asked = [tokenizer.name, path]
    state = places.state("counting")
    if state is None or state["asked"] != asked:
        state = {"asked": asked, "after": None, "done": False}
        with places.transaction(write=True) as connection:
            connection.execute("DELETE FROM counted")
    while not state["done"]:
        answer = retrying.ask(Scan(state["after"], batch))
        passages = [read_record(record, collection) for record in answer.records]
        known = [passage for passage in passages if passage.text and passage.id is not None]
        counts = count_and_cut([passage.text for passage in known], tokenizer)
        rows = [(passage.id, count.to_field(tokenizer.name)) for passage, count in zip(known, counts, strict=True)]
        state = {"asked": asked, "after": answer.after, "done": answer.after is None}
        with places.transaction(write=True) as connection:
            if answer.again:
                connection.execute("DELETE FROM counted")
            connection.executemany("INSERT OR REPLACE INTO counted (id, value) VALUES (?, ?)", rows)
            _keep(connection, "counting", state)
            (done,) = connection.execute("SELECT count(*) FROM counted").fetchone()
        report("counting", done, None)


# ---- writing


def _write(collection: Collection, places: Places, batch: int, report: Report) -> int:
    """Set the numbers of records that have one."""
    paths = {name: collection.fields.path(name) for name in ("doc_id", "chunk_id", "chunk_count")}
    if paths["chunk_id"] is None or paths["doc_id"] is None:
        raise StoreError(f"{collection.name} has no field for document or number: name them with fields=FieldMap(...)")

    def changes(row: tuple[Any, ...]) -> dict[str, Any]:
        values = {"doc_id": json.loads(row[0]), "chunk_id": row[1], "chunk_count": row[2]}
        return {path: values[name] for name, path in paths.items() if path is not None}

    asked = _Unwritten("record", "doc_id, number, chunks", "number IS NOT NULL", "writing")
    return _set_fields(collection, places, asked, changes, batch, report)


def _write_counts(collection: Collection, places: Places, batch: int, report: Report) -> int:
    path = collection.fields.path("counts")
    assert path is not None  # looked at when they were made
    asked = _Unwritten("counted", "value", "TRUE", "writing counts")
    return _set_fields(collection, places, asked, lambda row: {path: row[0]}, batch, report)


class _Unwritten(NamedTuple):
    """What is to be written: columns of the rows of a table where something holds."""

    table: str
    columns: str
    where: str
    step: str


def _set_fields(
    collection: Collection,
    places: Places,
    asked: _Unwritten,
    changes: Callable[[tuple[Any, ...]], dict[str, Any]],
    batch: int,
    report: Report,
) -> int:
    """Set fields of records and remember which; written twice, after a kill, is as good as once."""
    table, columns, where, step = asked
    with places.transaction() as connection:
        (total,) = connection.execute(f"SELECT count(*) FROM {table} WHERE {where}").fetchone()
    while True:
        with places.transaction() as connection:
            rows = connection.execute(
                f"SELECT seq, id, {columns} FROM {table} WHERE {where} AND NOT written ORDER BY seq LIMIT ?", (batch,)
            ).fetchall()
            (done,) = connection.execute(f"SELECT count(*) FROM {table} WHERE written").fetchone()
        report(step, done, total)
        if not rows:
            return int(done)
        collection.write({row[1]: changes(row[2:]) for row in rows})
        with places.transaction(write=True) as connection:
            connection.executemany(f"UPDATE {table} SET written = 1 WHERE seq = ?", [(row[0],) for row in rows])
