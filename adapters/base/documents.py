"""Converts documents of frameworks, texts with metadata, to chunks and to a chunk store."""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any, TypeVar

from retrivex.errors import ChunkError
from retrivex.model.chunk import MAX_CHUNK_ID, Chunk, ChunkKey, ChunkMetadata, Embedding
from retrivex.stores.access import check_store
from retrivex.stores.memory import index_chunks
from retrivex.stores.protocol import AnyChunkStore, ChunkStore

from .fields import FieldMap, without_path
from .logs import log_once

ID_KEY = "retrivex_id"
"""Under which a chunk made here keeps the id of the Document or node it was made of."""

UNNAMED = "unnamed document"
"""The document of pieces none of which names one, such as those of LangChain's `MarkdownHeaderTextSplitter`."""

_PRIVATE = frozenset({"_node_content", "_node_type"})
"""What LlamaIndex writes for itself: the whole node once more, as JSON. No reader of a passage is served with it, nor
with counts that were made for the composer."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Passage:
    """A document or node of a framework, reduced to plain fields.

    Parameters
    ----------
    text : its content
    metadata : as it came
    fields : how to read them
    id : as its framework calls it
    doc_id, chunk_id, char_start, char_end : its place, as far as known
    before, after, parent_id : ids of its neighbours and of its parent, where it is linked to them
    children : ids of what it was cut into, in their order, where it is linked to them
    embedding : shape (d,)
    score : as its retriever gave it
    """

    text: str
    metadata: Mapping[str, Any]
    fields: FieldMap
    id: str | None = None
    doc_id: str | None = None
    chunk_id: int | None = None
    char_start: int | None = None
    char_end: int | None = None
    before: str | None = None
    after: str | None = None
    parent_id: str | None = None
    children: tuple[str, ...] = ()
    embedding: Embedding | None = None
    score: Any = None

    def to_chunk(self, doc_id: str, chunk_id: int, chunk_count: int | None = None) -> Chunk:
        """Return it as a chunk at a place of the caller's choice."""
        read = self.fields.read
        headings, page = self._headings(), read(self.metadata, "page")
        own: dict[str, Any] = {} if self.id is None else {ID_KEY: self.id}
        parent, timestamp = self.parent_id or read(self.metadata, "parent_id"), read(self.metadata, "timestamp")
        counted = as_int(read(self.metadata, "chunk_count")) or chunk_count
        prefix = read(self.metadata, "prefix")
        shown = {key: value for key, value in self.metadata.items() if key not in _PRIVATE}
        for name in self.fields.counts:
            shown = without_path(shown, name)
        known = ChunkMetadata(
            doc_id=doc_id,
            chunk_id=chunk_id,
            char_start=self.char_start,
            char_end=self.char_end,
            parent_id=None if parent is None else str(parent),
            heading_path=headings,
            page=as_int(page),
            custom_metadata=shown | own,
            timestamp=as_time(timestamp),
            chunk_count=counted,
            scope=self.fields.scope_of(self.metadata),
            links=as_links(read(self.metadata, "links")),
            prefix=prefix if isinstance(prefix, str) else None,
        )
        return Chunk(self.text, known, self.embedding)

    def _headings(self) -> tuple[str, ...] | None:
        found = self.fields.read(self.metadata, "heading_path")
        if isinstance(found, str):
            return tuple(part for part in found.split("/") if part) if found.startswith("/") else (found,)
        if isinstance(found, Sequence):
            return tuple(str(title) for title in found)
        titles = [self.metadata.get(f"Header {level}") for level in range(1, 7)]
        return tuple(str(title) for title in titles if title) or None


def as_int(value: Any) -> int | None:
    """Return a whole number from 0 to the largest chunk id, also out of its digits or a float; None for all else."""
    if isinstance(value, bool):
        return None
    number: Any = value
    if isinstance(value, str):
        number = int(value) if value.isascii() and value.isdigit() and len(value) < 20 else None
    elif isinstance(value, float):  # some stores keep every number as one
        number = int(value) if value.is_integer() else None
    try:
        whole = operator.index(number)
    except TypeError:
        return None
    return whole if 0 <= whole <= MAX_CHUNK_ID else None


def as_time(value: Any) -> float | None:
    """Return finite Unix seconds; None for everything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:  # a whole number that no float can hold
        return None


def as_links(value: Any) -> tuple[ChunkKey, ...]:
    """Return links to other chunks, also out of JSON as text; none where the value is something else.

    Examples
    --------
    >>> as_links('[["wasps.md", 3]]'), as_links("https://example.org")
    ((('wasps.md', 3),), ())
    """
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return ()
    pairs = value if isinstance(value, (list, tuple)) else []
    links = [
        (pair[0], number)
        for pair in pairs
        if isinstance(pair, (list, tuple)) and len(pair) == 2 and isinstance(pair[0], str)
        if (number := as_int(pair[1])) is not None
    ]
    return tuple(links) if len(links) == len(pairs) else ()


def read_passage(text: str, metadata: Mapping[str, Any], names: FieldMap, **known: Any) -> Passage:
    """Make a Passage, its place out of its metadata; what is `known` already goes before them."""
    found: dict[str, Any] = {
        name: as_int(names.read(metadata, name)) for name in ("chunk_id", "char_start", "char_end")
    }
    doc_id = names.read(metadata, "doc_id")
    found["doc_id"] = str(doc_id) if isinstance(doc_id, (str, int)) and str(doc_id) else None
    found["score"] = names.read(metadata, "score")
    found.update({name: value for name, value in known.items() if value is not None})
    start = found["char_start"]
    if start is None:
        found["char_end"] = None
    elif found["char_end"] is None:
        found["char_end"] = start + len(text)
    elif found["char_end"] < start:  # no place at all
        found["char_start"] = found["char_end"] = None
    return Passage(text, metadata, names, **found)


def misnamed(passage: Passage) -> str | None:
    """Say what is wrong with the name of a passage's document; None where it has one, or nothing that could be one."""
    key = passage.fields.key(passage.metadata, "doc_id")
    if passage.doc_id is not None or key is None:
        return None
    value = passage.fields.read(passage.metadata, "doc_id")
    given = "empty" if isinstance(value, str) else f"of the type {type(value).__name__}"
    return f"{key} is {given}: a document's name must be text that is not empty, or a whole number"


def explain_missing_position(passage: Passage, *, among_pieces: bool) -> str:
    """Return why the position of such hits in a chunk store is unknown, and what to do.

    Parameters
    ----------
    passage : the hit
    among_pieces : whether the chunk store was made of pieces, among which it was looked for
    """
    wrong = misnamed(passage)
    if wrong is not None:
        return f"{wrong}; index them again with such a name"
    if passage.doc_id is None:
        names = ", ".join(passage.fields.doc_id)
        return f"they have no document; write its name under one of {names}, or name it with fields=FieldMap(...)"
    if among_pieces:
        return "they are none of the pieces of the chunk store; make it of the pieces that were indexed"
    return (
        "they have no chunk number; number the collection with `retrivex backfill STORE ADDRESS COLLECTION --write`, "
        "or give the pieces that were indexed as chunk store"
    )


# ---- a store made of Documents or nodes


class NumberedChunks(dict[ChunkKey, Chunk]):
    """Chunks by `(doc_id, chunk_id)` that also finds the chunk of a hit without a number.

    Parameters
    ----------
    chunks : of any number of documents
    row_ends : places that stay free between rows of neighbours, and where nothing is missing
    warnings : what is wrong with the pieces it is made of
    """

    def __init__(
        self, chunks: Iterable[Chunk], row_ends: Iterable[ChunkKey] = (), warnings: Sequence[str] = ()
    ) -> None:
        super().__init__(index_chunks(chunks))
        self.row_ends = frozenset(row_ends)
        self.warnings = tuple(warnings)
        self._by_id: dict[str, Chunk] = {}
        self._by_text: dict[tuple[str, str], list[Chunk]] = {}
        for chunk in self.values():
            own_id = chunk.metadata.custom_metadata.get(ID_KEY)
            if own_id is not None:
                self._by_id[own_id] = chunk
            self._by_text.setdefault((chunk.metadata.doc_id, chunk.text), []).append(chunk)

    def locate(self, passage: Passage) -> Chunk | None:
        """Return the chunk that `passage` is: by its id, or by document and text, repeated texts by their metadata."""
        by_id = self._by_id.get(passage.id) if passage.id is not None else None
        if by_id is not None and by_id.text == passage.text:
            return by_id
        alike = self._by_text.get((passage.doc_id or UNNAMED, passage.text), [])
        return max(alike, key=lambda chunk: _count_agreement(chunk, passage), default=None)


def _count_agreement(chunk: Chunk, passage: Passage) -> int:
    """Count the fields in which a chunk's own metadata and a hit's are the same."""
    known = chunk.metadata.custom_metadata
    return sum(key in known and known[key] == value for key, value in passage.metadata.items())


def number_passages(passages: Iterable[Passage]) -> NumberedChunks:
    """Make a chunk store: by the numbers in the metadata, else by links to neighbours, else by offsets, else in order.

    Offsets of a document are used where no two pieces have the same, and overlapping pieces the same text; where they
    start again (at every page, say) they are no offsets in the whole document, and the pieces are joined by their text,
    in the order given. `warnings` names documents whose pieces stand between those of others then. Where no
    piece names a document, all of them are one document, `UNNAMED`, which is warned of, too.

    Raises
    ------
    ChunkError
        If only some pieces name a document, or one names it by what is no name, or only some of a document's pieces
        have a number.
    StoreError
        If two pieces of a document have the same number and different texts.
    """
    named, warnings = _name(list(passages))
    given = {None, *(passage.id for passage in named)}
    by_document: dict[str, list[Passage]] = {}
    mixed: dict[str, None] = {}  # documents whose pieces stand between those of others, in order
    last = None
    for passage in named:
        if passage.text and passage.doc_id is not None:
            if passage.doc_id in by_document and passage.doc_id != last:
                mixed[passage.doc_id] = None
            by_document.setdefault(passage.doc_id, []).append(passage)
            last = passage.doc_id
    chunks: list[Chunk] = []
    row_ends: list[ChunkKey] = []
    for doc_id, group in by_document.items():
        numbered, free = _number(doc_id, group, given)
        chunks += numbered
        row_ends += free
    doubtful = [doc_id for doc_id in mixed if _in_given_order(by_document[doc_id])]
    if doubtful:
        warnings.append(
            f"pieces of {len(doubtful)} of {len(by_document)} documents, first {doubtful[0]!r}, stand between those of "
            "others and have no numbers: they are joined as given, which may not be the text's order; give them in "
            "order, or with a chunk_id or start_index in their metadata"
        )
    for warning in warnings:
        log_once(warning)
    return NumberedChunks(chunks, row_ends, warnings)


def _name(passages: list[Passage]) -> tuple[list[Passage], list[str]]:
    """Return pieces that all name a document, and what there is to warn of: where none does, they are one document."""
    nameless = [passage for passage in passages if passage.doc_id is None]
    if not nameless:
        return passages, []
    wrong = next(filter(misnamed, nameless), nameless[0])
    names, problem = ", ".join(wrong.fields.doc_id), misnamed(wrong)
    way_out = "write a name there, or say where it is with fields=FieldMap(doc_id=...)"
    if problem is None and len(nameless) == len(passages):
        warning = (
            f"none of {len(passages)} pieces names its document, under {names}: all are taken for pieces of one "
            f"document, in the order given; {way_out}"
        )
        return [replace(passage, doc_id=UNNAMED) for passage in passages], [warning]
    problem = problem or f"its metadata have nothing under {names}, as those of other pieces have"
    raise ChunkError(f"{wrong.text[:40]!r} names no document: {problem}; {way_out}")


def as_chunk_store(
    given: Any, kind: type[T], make: Callable[[list[T]], NumberedChunks], way_out: str
) -> AnyChunkStore | None:
    """Return what is meant as a chunk store; Documents or nodes become one.

    Parameters
    ----------
    given : a chunk store, several of `kind`, or None
    kind : what a framework calls its pieces
    make : a chunk store of them
    way_out : what else to give in the framework, for the error

    Raises
    ------
    StoreError
        If it is no store, and neither are they of that kind.
    """
    if given is None:
        return None
    is_store = isinstance(given, type | str | Mapping | ChunkStore)  # or something in place of one
    pieces = None if is_store or not isinstance(given, Iterable) else list(given)
    if pieces is None or not all(isinstance(piece, kind) for piece in pieces):
        return check_store(given, way_out)
    return make(pieces)


def _number(doc_id: str, group: Sequence[Passage], given: Set[str | None]) -> tuple[list[Chunk], list[ChunkKey]]:
    """Return the chunks of a document, and the places between rows neither of which leads to what is not `given`."""
    numbered = [(passage.chunk_id, passage) for passage in group if passage.chunk_id is not None]
    if numbered and len(numbered) < len(group):
        raise ChunkError(
            f"{len(numbered)} of {len(group)} pieces of {doc_id!r} have a chunk number: number all of them, or none; "
            f"it is read from {', '.join(group[0].fields.chunk_id)}"
        )
    count = None
    free: list[ChunkKey] = []
    if not numbered:
        ascending = None if _linked(group) else _by_offset(group)
        chains = linked_chains(group) if ascending is None else [ascending]
        count = len(group) if len(chains) == 1 else None
        # one number stays free between chains, as their ends are no neighbours
        starts = list(accumulate((len(chain) + 1 for chain in chains[:-1]), initial=0))
        # a parser may link what belongs together and nothing else, as within a parent: no link, nothing to miss
        free = [
            (doc_id, start - 1)
            for start, (left, right) in zip(starts[1:], pairwise(chains), strict=True)
            if left[-1].after in given and right[0].before in given
        ]
        numbered = [(start + i, p) for start, chain in zip(starts, chains, strict=True) for i, p in enumerate(chain)]
    numbered.sort(key=lambda pair: pair[0])
    if not _offsets_ascend(numbered):
        numbered = [(number, replace(p, char_start=None, char_end=None)) for number, p in numbered]
    return [passage.to_chunk(doc_id, number, count) for number, passage in numbered], free


def _by_offset(group: Sequence[Passage]) -> list[Passage] | None:
    """Return pieces in the order of their offsets; None where these are no offsets in the whole document."""
    starts = [passage.char_start for passage in group if passage.char_start is not None]
    if len(set(starts)) < len(group):
        return None
    ascending = sorted(group, key=lambda passage: passage.char_start or 0)
    return ascending if all(agree(left, right) for left, right in pairwise(ascending)) else None


def agree(left: Passage, right: Passage) -> bool:
    """Whether the texts are the same where their offsets overlap."""
    if left.char_start is None or right.char_start is None:
        return False
    shared = left.text[right.char_start - left.char_start :]
    return right.text.startswith(shared) or shared.startswith(right.text)


def _linked(group: Sequence[Passage]) -> bool:
    return any(passage.before or passage.after for passage in group)


def _in_given_order(group: Sequence[Passage]) -> bool:
    """Whether nothing but the order in which pieces were given says where they stand."""
    return all(passage.chunk_id is None for passage in group) and not _linked(group) and _by_offset(group) is None


def _offsets_ascend(numbered: Sequence[tuple[int, Passage]]) -> bool:
    return all(
        a.char_start < b.char_start
        for (left, a), (right, b) in pairwise(numbered)
        if right == left + 1 and a.char_start is not None and b.char_start is not None
    )


def linked_chains(passages: Sequence[Passage]) -> list[list[Passage]]:
    """Split passages into chains of neighbours by their links; without any link they are one chain, in their order.

    Links to what is not there, or to another document, do not count.
    """
    known = {passage.id: passage for passage in passages if passage.id is not None}
    after: dict[str, str] = {}
    before: dict[str, str] = {}
    for passage in passages:
        for left, right in ((passage.id, passage.after), (passage.before, passage.id)):
            if left is None or right is None or left not in known or right not in known or left == right:
                continue
            if known[left].doc_id == known[right].doc_id and left not in after and right not in before:
                after[left], before[right] = right, left
    if not after:
        return [list(passages)]
    chains: list[list[Passage]] = []
    seen: set[int] = set()
    # heads first, then what is left: pieces of a circle
    for passage in [*(p for p in passages if p.id not in before), *passages]:
        chain: list[Passage] = []
        here: Passage | None = passage
        while here is not None and id(here) not in seen:
            seen.add(id(here))
            chain.append(here)
            here = known.get(after.get(here.id or "", ""))
        if chain:
            chains.append(chain)
    return chains
