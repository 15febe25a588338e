"""Chunks: what a splitter made of a document, and where in the document it came from."""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Mapping, Sequence
from dataclasses import FrozenInstanceError, dataclass, field
from typing import Any, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import NDArray

from retrivex.errors import ChunkError, RetrivexError
from retrivex.model.numbers import real

ChunkKey: TypeAlias = tuple[str, int]
"""`(doc_id, chunk_id)`: what identifies a chunk everywhere in RetriVex."""

Embedding: TypeAlias = Sequence[float] | NDArray[np.floating[Any]]

Scope: TypeAlias = "str | Collection[str | None] | None"
"""What a caller may see: one scope, several, or None for chunks that carry no scope.

None inside a collection stands for chunks without a scope: `{"acme", None}` sees both.
"""

MAX_CHUNK_ID = 2**63 - 1  # what SQLite, Postgres and numpy can hold


def allowed_scopes(scope: Scope) -> frozenset[str | None]:
    """Return the set of `ChunkMetadata.scope` values that `scope` may see.

    Fails closed: no scope sees only chunks without one, a scope sees only its own.

    Raises
    ------
    RetrivexError
        If `scope` is, or holds, something other than strings and None.

    Examples
    --------
    >>> allowed_scopes("acme") == {"acme"}, allowed_scopes(None) == {None}
    (True, True)
    """
    if scope is None or isinstance(scope, str):
        return frozenset([scope])
    if not _is_collection(scope) or not all(name is None or isinstance(name, str) for name in scope):
        raise RetrivexError(f"scope is {scope!r}: give a name, a collection of names and None, or None for unscoped")
    return frozenset(scope)


def _is_collection(value: Any) -> bool:
    """Whether it can be gone through; an array of numpy without a dimension says that it is a collection."""
    try:
        iter(value)
    except TypeError:
        return False
    return isinstance(value, Collection)


def _check_link(link: Any, key: ChunkKey) -> None:
    match link:
        case (str() as doc_id, SupportsIndex() as chunk_id) if doc_id and operator.index(chunk_id) >= 0:
            return
    raise ChunkError(f"links of {key!r} hold {link!r}: a link is (doc_id, chunk_id) of another chunk; leave others out")


def _plain_links(links: Any, key: ChunkKey) -> Sequence[ChunkKey]:
    """Return the links as given, or with plain integers where some came from numpy."""
    if isinstance(links, str) or not _is_collection(links):
        raise ChunkError(f"links of {key!r} are {links!r}: give a list of (doc_id, chunk_id), or leave links out")
    for link in links:
        _check_link(link, key)
    if isinstance(links, Sequence) and all(type(chunk_id) is int for _, chunk_id in links):
        return links
    return tuple((doc_id, operator.index(chunk_id)) for doc_id, chunk_id in links)


def _plain_integer(value: Any, name: str, key: ChunkKey) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise ChunkError(f"{name} of {key!r} is {value!r}: it must be a whole number, or None where unknown") from None


def _check_heading_path(path: Any, key: ChunkKey) -> None:
    if isinstance(path, str) or not isinstance(path, Sequence) or not all(isinstance(title, str) for title in path):
        raise ChunkError(
            f"heading_path of {key!r} is {path!r}: it must be a list of titles, outermost first; "
            "a single title is a list of one, an unknown path is None"
        )


def _plain_timestamp(value: Any, key: ChunkKey) -> float:
    try:
        seconds = value if type(value) is int else real(value)
        known = not isinstance(value, str) and math.isfinite(seconds)
    except (TypeError, ValueError, OverflowError):
        known = False
    if not known:
        raise ChunkError(
            f"timestamp of {key!r} is {value!r}: it must be finite Unix seconds; of a datetime .timestamp()"
        )
    return seconds


def with_lists(value: Any) -> Any:
    """Return a value with every tuple in it as a list, as JSON gives it back.

    Examples
    --------
    >>> with_lists({"years": (1999, 2001)})
    {'years': [1999, 2001]}
    """
    if isinstance(value, list | tuple):
        return [with_lists(item) for item in value]
    return {name: with_lists(item) for name, item in value.items()} if isinstance(value, Mapping) else value


@dataclass(frozen=True, slots=True)
class ChunkMetadata:
    """Where a chunk stands in its document.

    Sequences are kept as they are given; a list equals a tuple of the same, so that what is written as JSON and read
    again is equal to what it was.

    Parameters
    ----------
    doc_id : the document, any non-empty string
    chunk_id : position in the document: 0, 1, 2, ... without gaps
    char_start, char_end : offsets of the chunk's text in the document, in Unicode code points, end
        exclusive; both None where the splitter did not keep them
    parent_id : the section or document this chunk is a child of
    heading_path : titles of the headings above the chunk, outermost first
    page : page number as printed, from 1
    custom_metadata : anything else; kept, and only `title` is read, for the headers of spans
    timestamp : Unix seconds of the document or passage
    chunk_count : chunks in the whole document, for `chunks 2-5 (12 in all)`
    scope : the tenant or group that may see the chunk; None means unscoped
    links : chunks of other documents that this one points to
    prefix : text that belongs in front of the chunk but not to its offsets, e.g. the header row of a
        table that was split

    Raises
    ------
    ChunkError
        Empty `doc_id`, negative or huge `chunk_id`, only one of the two offsets, `char_start > char_end`, a link
        that is no `(doc_id, chunk_id)`, or a value of another type.
    """

    doc_id: str
    chunk_id: int
    char_start: int | None = None
    char_end: int | None = None
    parent_id: str | None = None
    heading_path: Sequence[str] | None = None
    page: int | None = None
    custom_metadata: Mapping[str, Any] = field(default_factory=dict)
    timestamp: float | None = None
    chunk_count: int | None = None
    scope: str | None = None
    links: Sequence[ChunkKey] = ()
    prefix: str | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ChunkMetadata):
            return NotImplemented
        mine = [getattr(self, name) for name in self.__slots__]
        theirs = [getattr(other, name) for name in self.__slots__]
        return mine == theirs or bool(with_lists(mine) == with_lists(theirs))

    def __post_init__(self) -> None:
        if not isinstance(self.doc_id, str) or not self.doc_id:
            raise ChunkError(f"doc_id is {self.doc_id!r}: it must be a non-empty string; name the document")
        try:
            chunk_id = operator.index(self.chunk_id)
        except TypeError:
            raise ChunkError(
                f"chunk_id of {self.doc_id!r} is {self.chunk_id!r}: it must be a whole number; "
                "number the chunks of a document 0, 1, 2, ..."
            ) from None
        if not 0 <= chunk_id <= MAX_CHUNK_ID:
            raise ChunkError(
                f"chunk_id of {self.doc_id!r} is {chunk_id}: it must be non-negative and at most {MAX_CHUNK_ID}; "
                "number the chunks of a document 0, 1, 2, ..."
            )
        # numpy integers come in from data frames and vector stores; plain ones hash and serialise the same everywhere
        if type(self.chunk_id) is not int:
            object.__setattr__(self, "chunk_id", chunk_id)
        self._check_types()
        start, end = self.char_start, self.char_end
        if start is None and end is None:
            return
        if start is None or end is None:
            raise ChunkError(f"offsets of {self.key!r} are {start!r}, {end!r}: give both or neither")
        if not 0 <= start <= end:
            raise ChunkError(
                f"offsets of {self.key!r}: char_start {start}, char_end {end}: count characters from the start of the "
                "document, non-negative and in order, end exclusive"
            )

    def _check_types(self) -> None:
        # written out field by field: millions of chunks are made, and most have most fields empty
        if type(self.links) is not tuple or self.links:
            object.__setattr__(self, "links", _plain_links(self.links, self.key))
        start, end, page, count = self.char_start, self.char_end, self.page, self.chunk_count
        if not (type(start) is type(end) is int and page is None and count is None):
            for name, number in (("char_start", start), ("char_end", end), ("page", page), ("chunk_count", count)):
                if number is not None and type(number) is not int:
                    object.__setattr__(self, name, _plain_integer(number, name, self.key))
        if self.heading_path is not None:
            _check_heading_path(self.heading_path, self.key)
        if self.parent_id is not None or self.scope is not None or self.prefix is not None:
            for name, text in (("parent_id", self.parent_id), ("scope", self.scope), ("prefix", self.prefix)):
                if text is not None and not isinstance(text, str):
                    raise ChunkError(f"{name} of {self.key!r} is {text!r}: it must be a string, or None for none")
        if self.timestamp is not None:
            object.__setattr__(self, "timestamp", _plain_timestamp(self.timestamp, self.key))
        if type(self.custom_metadata) is not dict and not isinstance(self.custom_metadata, Mapping):
            raise ChunkError(
                f"custom_metadata of {self.key!r} is {self.custom_metadata!r}: it must be a mapping; "
                "leave it out, or give {}, where there is none"
            )

    @property
    def key(self) -> ChunkKey:
        """`(doc_id, chunk_id)`."""
        return (self.doc_id, self.chunk_id)


@dataclass(slots=True)
class Chunk:
    """A piece of a document as its splitter made it; only `embedding` may be set later.

    Parameters
    ----------
    text : the source text from `metadata.char_start` to `metadata.char_end`
    metadata : where it stands
    embedding : shape (d,), any finite floats; None where there is none

    Raises
    ------
    ChunkError
        If `text` is empty or not a string, or `metadata` no `ChunkMetadata`.

    Examples
    --------
    >>> Chunk("Bees sleep.", ChunkMetadata("bees.txt", 0, 0, 11)).metadata.key
    ('bees.txt', 0)
    """

    text: str
    metadata: ChunkMetadata
    embedding: Embedding | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.metadata, ChunkMetadata):
            raise ChunkError(f"metadata is {type(self.metadata).__name__}: give a ChunkMetadata(doc_id, chunk_id, ...)")
        if not isinstance(self.text, str) or not self.text:
            raise ChunkError(
                f"Chunk text cannot be empty: {self.metadata.key!r} has {self.text!r}; leave such chunks out"
            )

    def __setattr__(self, name: str, value: Any) -> None:
        # Stores hand out the same object to every query: a changed text would change other people's answers.
        if name != "embedding" and hasattr(self, name):
            raise FrozenInstanceError(f"cannot assign to {name!r}: only a chunk's embedding may change")
        object.__setattr__(self, name, value)

    @property
    def key(self) -> ChunkKey:
        """`(doc_id, chunk_id)`."""
        return (self.metadata.doc_id, self.metadata.chunk_id)
