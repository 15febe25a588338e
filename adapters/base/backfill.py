"""Adds chunk numbers to a collection that has none: reads it once, numbers its documents, writes the numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import pairwise
from typing import Any, Literal, TypeAlias

from retrivex.errors import ConfigError, StoreError
from retrivex.merging.stored_cuts import count_and_cut, unpack
from retrivex.tokens.stored import StoredCount
from retrivex.tokens.tokenizer import Tokenizer

from .collection import Collection, Scan
from .documents import Passage, as_int, linked_chains
from .fields import look_up_path
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


@dataclass(slots=True)
class _Row:
    """What is kept of a record while it is numbered: less than a kilobyte.

    Parameters
    ----------
    passage : without its text, and with no other metadata than its page; without a document where it has no text
    scope : whom it belongs to
    held : what it has already where something may be written, a value for each path
    count : what its field for counts has to hold
    place : its number, and how many chunks its document has; None until it is numbered
    """

    passage: Passage
    scope: str | None
    held: tuple[Any, ...]
    count: str
    place: tuple[int, int] | None = None


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
    paths = [collection.fields.path(name) for name in ("doc_id", "chunk_id", "chunk_count")]
    if tokenizer is not None:
        paths.append(RetryingCollection(collection).run(partial(path_of_counts, collection, _ANOTHER_FIELD)))
    rows = _scan(collection, paths, tokenizer, batch, report)
    made = _number(rows, by_order, report)
    return _write(rows, collection, paths, batch, report, made) if write else made


# ---- reading


def _scan(
    collection: Collection, paths: Sequence[str | None], tokenizer: Tokenizer | None, batch: int, report: Report
) -> dict[str, _Row]:
    """Read what numbering needs, and count texts: all before anything is written, as some stores move what changes."""
    rows: dict[str, _Row] = {}
    retrying = RetryingCollection(collection)
    after, done = None, 0
    while True:
        answer = retrying.ask(Scan(after, batch))
        passages = [read_record(record, collection) for record in answer.records]
        counts = [""] * len(passages) if tokenizer is None else _counts(passages, collection, tokenizer)
        for record, passage, count in zip(answer.records, passages, counts, strict=True):
            held = tuple(None if path is None else look_up_path(record.payload, path) for path in paths)
            row = _Row(_without_text(passage, record.id), passage.fields.scope_of(passage.metadata), held, count)
            rows.setdefault(record.id, row)
        after, done = answer.after, done + len(answer.records)
        report("reading", done, None)
        if after is None:
            return rows


def _without_text(passage: Passage, id: str) -> Passage:
    page = {"page": as_int(passage.fields.read(passage.metadata, "page"))}
    doc_id = passage.doc_id if passage.text else None
    return replace(passage, text="", metadata=page, id=id, doc_id=doc_id, embedding=None)


# ---- numbering


def _number(rows: Mapping[str, _Row], by_order: bool, report: Report) -> Backfilled:
    # a document of one tenant is another one than that of the same name of another
    documents: dict[tuple[str, str | None], list[_Row]] = {}
    for row in rows.values():
        if row.passage.doc_id is not None:
            documents.setdefault((row.passage.doc_id, row.scope), []).append(row)
    how: Counter[How] = Counter()
    unnumbered: dict[str, str] = {}
    failed = 0
    for done, ((doc_id, _), group) in enumerate(documents.items(), 1):
        found = _numbers([row.passage for row in group], by_order)
        if isinstance(found, str):
            failed += 1
            if len(unnumbered) < 100:
                unnumbered[doc_id] = found
        else:
            source, numbers = found
            how[source] += 1
            for row in group:
                row.place = numbers[row.passage.id], len(group)
        report("numbering", done, len(documents))
    orphans = sum(row.passage.doc_id is None for row in rows.values())
    return Backfilled(len(rows), dict(how), unnumbered, failed, orphans)


def _numbers(group: Sequence[Passage], by_order: bool) -> tuple[How, dict[str | None, int]] | str:
    """Return where the numbers of a document come from, and that of each piece by its id; or why there are none."""
    numbered = [passage.chunk_id for passage in group if passage.chunk_id is not None]
    if len(numbered) == len(group):
        twice = [number for number, count in Counter(numbered).items() if count > 1]
        if twice:
            return f"number {twice[0]} is there {numbered.count(twice[0])} times"
        return "numbers", {passage.id: number for passage, number in zip(group, numbered, strict=True)}
    if any(passage.before or passage.after for passage in group):
        return "links", _number_along(linked_chains(group))
    if all(passage.char_start is not None for passage in group):
        ordered = sorted(group, key=_offset)
        if all(_offset(left) < _offset(right) for left, right in pairwise(ordered)):
            return "offsets", _number_along([ordered])
        if not by_order:
            return "two pieces begin at the same offset: offsets do not say which comes first"
    if by_order or len(group) == 1:
        return "order", _number_along([group])
    if numbered:
        return f"only {len(numbered)} of {len(group)} pieces have a number"
    return (
        f"{len(group)} pieces without numbers, links or offsets: only if the collection gives its records in the order "
        "of the text, number them so (--by-order)"
    )


def _offset(passage: Passage) -> tuple[int, int]:
    page = passage.metadata["page"]
    return (0 if page is None else page, passage.char_start or 0)


def _number_along(chains: Sequence[Sequence[Passage]]) -> dict[str | None, int]:
    """Return numbers along chains, one after the other, with one left out between: their ends are no neighbours."""
    numbers: dict[str | None, int] = {}
    number = 0
    for chain in chains:
        for passage in chain:
            numbers[passage.id] = number
            number += 1
        number += 1
    return numbers


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
    rows: Mapping[str, _Row],
    collection: Collection,
    paths: Sequence[str | None],
    batch: int,
    report: Report,
    made: Backfilled,
) -> Backfilled:
    """Set what records do not hold yet: numbers of those that have one, and counts; say how many now have them."""
    if paths[0] is None or paths[1] is None:
        raise StoreError(f"{collection.name} has no field for document or number: name them with fields=FieldMap(...)")
    retrying = RetryingCollection(collection)
    ids = list(rows)
    for start in range(0, len(ids), batch):
        changes = {id: _changes(rows[id], paths) for id in ids[start : start + batch]}
        wanted = {id: values for id, values in changes.items() if values}
        if wanted:
            retrying.run(partial(collection.write, wanted))
        report("writing", min(start + batch, len(ids)), len(ids))
    written = sum(row.place is not None for row in rows.values())
    return replace(made, written=written, counted=sum(bool(row.count) for row in rows.values()))


def _changes(row: _Row, paths: Sequence[str | None]) -> dict[str, Any]:
    named = row.passage.doc_id
    numbers = (None, None, None) if row.place is None else (named, *row.place)
    values = (*numbers, row.count or None)[: len(paths)]
    # a document that is kept as a number stays one
    return {
        path: value
        for path, value, held in zip(paths, values, row.held, strict=True)
        if path is not None and value is not None and held != value and str(held) != named
    }
