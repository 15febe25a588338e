"""Adds chunk numbers to a collection that has none: reads it once, numbers its documents, writes the numbers."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias

from retrivex.errors import ConfigError, StoreError
from retrivex.merging.stored_cuts import count_and_cut, rules, unpack
from retrivex.tokens.stored import StoredCount
from retrivex.tokens.tokenizer import Tokenizer

from .collection import Collection, Record, Scan
from .documents import Passage, as_int, linked_chains
from .fields import FieldMap, look_up_path
from .positions_file import Places
from .retries import RetryingCollection
from .store import read_record

How: TypeAlias = Literal["numbers", "links", "offsets", "order"]
"""Where the numbers of a document come from; `order` is that of the scan."""

_SHOWN = 60
"""Characters of a value that errors show."""

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
    counted : records whose counts are set, by this run or, as it found, before
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

    A run that writes counts reads every record again. Counts that are there and hold for the text stay; where the
    records are no longer those that `places` describes, they are numbered anew.

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
    ConfigError
        If the field for counts is one that is read for something else.
    StoreError
        If the collection fails or cannot be written to, a record's field for counts holds something else, or `places`
        is of another collection.
    """
    if isinstance(batch, bool) or not isinstance(batch, int) or not 1 <= batch <= 10_000:
        raise StoreError(f"batch is {batch!r}: it must be a whole number from 1 to 10,000")
    if tokenizer is not None and not write:
        raise StoreError("counts are kept in the collection only: backfill with write=True (--write), or without them")
    path = None
    if tokenizer is not None:
        path = RetryingCollection(collection).run(partial(path_of_counts, collection, _ANOTHER_FIELD))
    _same_collection(collection, places, origin)
    _scan(collection, places, batch, report)
    made = _number(places, by_order, report)
    counted = 0
    if tokenizer is not None and path is not None:
        # all is read before anything is written: some stores move the records that they change
        _count(collection, path, places, tokenizer, batch, report)
        if not places.state("scanned"):
            _scan(collection, places, batch, report)
            made = _number(places, by_order, report)
    written = _write(collection, places, batch, report) if write else 0
    if path is not None:
        counted = _write_counts(collection, path, places, batch, report)
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


def _count(collection: Collection, path: str, places: Places, tokenizer: Tokenizer, batch: int, report: Report) -> None:
    """Count and cut the text of every record that does not have it; what is found and where to go on are kept together.

    Where a record is not as the file describes it, all that was read for numbering is forgotten.
    """
    retrying = RetryingCollection(collection)
    asked = [tokenizer.name, path, rules()]
    state = places.state("counting")
    if state is None or state["asked"] != asked:
        state = {"asked": asked, "after": None}
        with places.transaction(write=True) as connection:
            connection.execute("DELETE FROM counted")
    while state is not None:
        answer = retrying.ask(Scan(state["after"], batch))
        passages = [read_record(record, collection) for record in answer.records]
        values = _counts(passages, collection, tokenizer)
        rows = [_row(record, collection) for record in answer.records]
        state = None if answer.after is None else {"asked": asked, "after": answer.after}
        with places.transaction(write=True) as connection:
            if answer.again:
                connection.execute("DELETE FROM counted")
            connection.executemany(
                "INSERT OR REPLACE INTO counted (id, value, written) VALUES (?, ?, ?)",
                [(record.id, *value) for record, value in zip(answer.records, values, strict=True)],
            )
            _keep(connection, "counting", state)
            if not all(_is_as_read(connection, row) for row in rows) or (state is None and _are_gone(connection)):
                connection.execute("DELETE FROM record")
                connection.execute("DELETE FROM state WHERE key IN ('scanned', 'after')")
            (done,) = connection.execute("SELECT count(*) FROM counted").fetchone()
        report("counting", done, None)


def _counts(passages: Sequence[Passage], collection: Collection, tokenizer: Tokenizer) -> list[tuple[str, bool]]:
    """Return what the field of each record has to hold, nothing where there is no text, and whether it does."""
    made = dict.fromkeys(range(len(passages)), ("", False))
    wanting = {}
    for at, passage in enumerate(passages):
        if not passage.text:
            continue
        held = _held(passage, collection)
        stored = StoredCount.from_field(held, tokenizer.name)
        if stored is not None and stored.holds(passage.text, tokenizer.name) and _cuts_hold(stored, passage):
            made[at] = (held, True)
        else:
            wanting[at] = held
    counts = count_and_cut([passages[at].text for at in wanting], tokenizer)
    for (at, held), count in zip(wanting.items(), counts, strict=True):
        value = count.to_field(tokenizer.name)
        made[at] = (value, value == held)
    return list(made.values())


def _held(passage: Passage, collection: Collection) -> Any:
    """Return what a record has where its count goes.

    Raises
    ------
    StoreError
        If that is somebody else's.
    """
    name = passage.fields.counts[0]
    # where the name leads into a mapping, something else may be in the place of that
    for end in [end for end, letter in enumerate(name) if letter == "."]:
        outer = look_up_path(passage.metadata, name[:end])
        if outer is not None and not isinstance(outer, Mapping):
            raise _not_ours(passage, collection, name[:end], outer)
    held = look_up_path(passage.metadata, name)
    if held is None or (isinstance(held, str | Sequence | Mapping) and not held) or StoredCount.is_field(held):
        return held
    raise _not_ours(passage, collection, name, held)


def _not_ours(passage: Passage, collection: Collection, name: str, value: Any) -> StoreError:
    shown = repr(value)
    shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."
    return StoreError(
        f"{collection.name}: record {passage.id!r} has {shown} in {name!r}, which is no count of ours and would be "
        f"overwritten; nothing was written: {_ANOTHER_FIELD}"
    )


def _cuts_hold(stored: StoredCount, passage: Passage) -> bool:
    return stored.cuts is not None and unpack(stored.cuts, passage.text) is not None


def _is_as_read(connection: sqlite3.Connection, row: tuple[Any, ...]) -> bool:
    """Say whether a record is as it was read for numbering, but for a number that was written since."""
    id, doc_id, scope, known, *others = row
    found = connection.execute(
        "SELECT doc_id, scope, page, start, before, after, known, number, written FROM record WHERE id = ?", (id,)
    ).fetchone()
    if found is None or found[:6] != (doc_id, scope, *others):
        return False
    before, number, written = found[6:]
    return known == number if written else known in (before, number)


def _are_gone(connection: sqlite3.Connection) -> bool:
    """Say whether records were read for numbering that are no longer there."""
    (gone,) = connection.execute("SELECT EXISTS (SELECT id FROM record EXCEPT SELECT id FROM counted)").fetchone()
    return bool(gone)


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


def _write_counts(collection: Collection, path: str, places: Places, batch: int, report: Report) -> int:
    """Set the counts that records do not have yet; the file then forgets them, so that the next run looks again."""
    asked = _Unwritten("counted", "value", "value <> ''", "writing counts")
    counted = _set_fields(collection, places, asked, lambda row: {path: row[0]}, batch, report)
    with places.transaction(write=True) as connection:
        connection.execute("DELETE FROM counted")
    return counted


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
    retrying = RetryingCollection(collection)
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
        changed = {row[1]: changes(row[2:]) for row in rows}
        retrying.run(partial(collection.write, changed))
        with places.transaction(write=True) as connection:
            connection.executemany(f"UPDATE {table} SET written = 1 WHERE seq = ?", [(row[0],) for row in rows])
