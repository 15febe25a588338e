"""Chunks: what a splitter made of a document, and where in the document it came from."""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping, Sequence
from dataclasses import FrozenInstanceError, dataclass, field
from typing import Any, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import NDArray

from retrivex.errors import ChunkError, RetrivexError

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
    if not isinstance(scope, Collection) or not all(name is None or isinstance(name, str) for name in scope):
        raise RetrivexError(f"scope is {scope!r}: give a name, a collection of names and None, or None for unscoped")
    return frozenset(scope)


def _check_link(link: Any, key: ChunkKey) -> None:
    match link:
        case (str() as doc_id, SupportsIndex() as chunk_id) if doc_id and operator.index(chunk_id) >= 0:
            return
    raise ChunkError(f"links of {key!r} hold {link!r}: a link is (doc_id, chunk_id) of another chunk; leave others out")


@dataclass(frozen=True, slots=True)
class ChunkMetadata:
    """Where a chunk stands in its document.

    Parameters
    ----------
    doc_id : the document, any non-empty string
    chunk_id : position in the document: 0, 1, 2, ... without gaps
    char_start, char_end : offsets of the chunk's text in the document, in Unicode code points, end
        exclusive; both None where the splitter did not keep them
    parent_id : the section or document this chunk is a child of
    heading_path : titles of the headings above the chunk, outermost first
    page : page number as printed, from 1
    custom_metadata : anything else; kept, never read by the core
    timestamp : Unix seconds of the document or passage
    chunk_count : chunks in the whole document, for `chunks 2-5 of 12`
    scope : the tenant or group that may see the chunk; None means unscoped
    links : chunks of other documents that this one points to
    prefix : text that belongs in front of the chunk but not to its offsets, e.g. the header row of a
        table that was split

    Raises
    ------
    ChunkError
        Empty `doc_id`, negative or huge `chunk_id`, only one of the two offsets, `char_start > char_end`, or a link
        that is no `(doc_id, chunk_id)`.
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
        for link in self.links:
            _check_link(link, self.key)
        start, end = self.char_start, self.char_end
        if start is None and end is None:
            return
        if start is None or end is None:
            raise ChunkError(f"offsets of ({self.doc_id!r}, {chunk_id}) are {start!r}, {end!r}: give both or neither")
        if start < 0 or end < 0:
            raise ChunkError(
                f"offsets of ({self.doc_id!r}, {chunk_id}) are {start}, {end}: they must be non-negative; "
                "count characters from the start of the document"
            )
        if start > end:
            raise ChunkError(
                f"offsets of ({self.doc_id!r}, {chunk_id}): char_start ({start}) > char_end ({end}); "
                "give them in order, end exclusive"
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
        If `text` is empty or not a string.

    Examples
    --------
    >>> Chunk("Bees sleep.", ChunkMetadata("bees.txt", 0, 0, 11)).metadata.key
    ('bees.txt', 0)
    """

    text: str
    metadata: ChunkMetadata
    embedding: Embedding | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
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
