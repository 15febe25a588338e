"""Names of the metadata fields that RetriVex reads, as each framework writes them, and ids made from positions."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeAlias, get_args

from retrivex.errors import StoreError
from retrivex.model.chunk import Chunk
from retrivex.model.media import MEDIA, read_media

MakeId: TypeAlias = Callable[[str, int], str]
"""The id under which a collection keeps chunk n of a document."""

_PLAIN = (
    "doc_id", "chunk_id", "char_start", "char_end", "page", "parent_id", "scope", "chunk_count", "timestamp", "prefix",
)  # fmt: skip

LayoutName: TypeAlias = Literal["retrivex", "langchain", "llamaindex", "haystack", "parent_child"]


def colon_id(doc_id: str, n: int) -> str:
    """Return `doc:n`.

    Examples
    --------
    >>> colon_id("bees.md", 3)
    'bees.md:3'
    """
    return f"{doc_id}:{n}"


def uuid5_id(doc_id: str, n: int) -> str:
    """Return the UUIDv5 of `doc:n` in the URL namespace, for stores that take only UUIDs.

    Examples
    --------
    >>> uuid5_id("bees.md", 3)
    'deeecc42-0126-56bf-bb32-3183c996d907'
    """
    return str(uuid.uuid5(uuid.NAMESPACE_URL, colon_id(doc_id, n)))


@dataclass(frozen=True, slots=True)
class FieldMap:
    """Names of metadata fields; of several names, the first that is present is read.

    A dot steps into a mapping, or into a text that is one in JSON: `_node_content.start_char_idx`; a key that has the
    dot in its own name counts as well. A vector store that can list its fields is filtered by the first name it has, a
    framework's by the first name, and by the others where nothing is found under that; else the first name counts.

    Parameters
    ----------
    doc_id : the document a piece was cut from
    chunk_id : its number in the document; texts that are no number do not count
    char_start, char_end : offsets in the document, end exclusive; negative ones do not count
    page : a number
    heading_path : titles as a list, a text, or a path like `/Guide/Install/`; where there is none, the `Header 1` to
        `Header 6` of LangChain's Markdown splitters are read
    parent_id, scope, chunk_count, timestamp : see `retrivex.ChunkMetadata`. A piece with a scope is only shown to
        calls with that scope.
    score : of a hit
    text : the piece itself, in records of a vector store
    embedding : its vector, in records of a vector store
    prefix : see `retrivex.ChunkMetadata`
    links : the same, as a list of [document, chunk number], or such a list as text in JSON
    before, after : ids of its neighbours
    counts : tokens of the piece and where it may be cut, as `retrivex backfill --counts` and
        `retrivex batch index` write them
    root : the mapping in a record under which all of them but `text` and `embedding` lie; None where the record is flat
    """

    doc_id: tuple[str, ...] = ("doc_id", "document_id", "source", "file_path")
    chunk_id: tuple[str, ...] = ("chunk_id", "chunk_index")
    char_start: tuple[str, ...] = ("char_start", "start_index")
    char_end: tuple[str, ...] = ("char_end", "end_index")
    page: tuple[str, ...] = ("page",)
    heading_path: tuple[str, ...] = ("heading_path", "header_path")
    parent_id: tuple[str, ...] = ("parent_id",)
    scope: tuple[str, ...] = ("scope",)
    chunk_count: tuple[str, ...] = ("chunk_count",)
    timestamp: tuple[str, ...] = ("timestamp",)
    score: tuple[str, ...] = ("score", "relevance_score")
    text: tuple[str, ...] = ("text", "content", "page_content")
    embedding: tuple[str, ...] = ("embedding", "vector")
    prefix: tuple[str, ...] = ("chunk_prefix",)
    links: tuple[str, ...] = ("chunk_links",)
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    counts: tuple[str, ...] = ("chunk_counts",)
    root: str | None = None

    def __post_init__(self) -> None:
        for known in fields(self):
            names = getattr(self, known.name)
            if known.name != "root":
                object.__setattr__(self, known.name, (names,) if isinstance(names, str) else tuple(names))

    def read(self, metadata: Mapping[str, Any], name: str) -> Any:
        """Return what `metadata` has under the first name for `name` that is present; None where none is."""
        return next((value for key in getattr(self, name) if (value := look_up_path(metadata, key)) is not None), None)

    def scope_of(self, metadata: Mapping[str, Any]) -> str | None:
        """Return whom a piece belongs to; None where it belongs to nobody."""
        scope = self.read(metadata, "scope")
        return None if scope is None else str(scope)

    def key(self, metadata: Mapping[str, Any], name: str) -> str | None:
        """Return the first name for `name` that is present in `metadata`; None where none is."""
        return next((key for key in getattr(self, name) if look_up_path(metadata, key) is not None), None)

    def path(self, name: str) -> str | None:
        """Return the field of a record that a vector store filters by for `name`; None where there is none.

        Examples
        --------
        >>> FieldMap(doc_id="source", root="metadata").path("doc_id"), FieldMap(scope=()).path("scope")
        ('metadata.source', None)
        """
        return next(iter(self.paths(name)), None)

    def paths(self, name: str) -> tuple[str, ...]:
        """Return all the fields of a record that may hold `name`, the first one before the others."""
        names: tuple[str, ...] = getattr(self, name)
        if self.root is None or name in ("text", "embedding"):
            return names
        return tuple(f"{self.root}.{one}" for one in names)

    def payload(self, chunk: Chunk, counts: str | None = None) -> dict[str, Any]:
        """Return the record that a chunk would be kept as, without its vector; what is None is left out.

        Parameters
        ----------
        chunk : to keep
        counts : as `StoredCount.to_field` makes them; metadata of the chunk's own in their place stay

        Examples
        --------
        >>> from retrivex.model.chunk import Chunk, ChunkMetadata
        >>> FieldMap(root="metadata").payload(Chunk("Bees sleep.", ChunkMetadata("bees.md", 3)))
        {'text': 'Bees sleep.', 'metadata': {'doc_id': 'bees.md', 'chunk_id': 3}}
        """
        known = chunk.metadata
        headings = None if known.heading_path is None else list(known.heading_path)
        # as text: few stores keep lists of lists
        links = json.dumps([list(link) for link in known.links]) if known.links else None
        values = {name: getattr(known, name) for name in _PLAIN} | {"heading_path": headings, "links": links}
        inner = {**known.custom_metadata}
        if read_media(inner) and not isinstance(inner[MEDIA], str):
            inner[MEDIA] = json.dumps(inner[MEDIA])  # as text, too
        inner |= {
            getattr(self, name)[0]: value for name, value in values.items() if value is not None and getattr(self, name)
        }
        if counts is not None:
            inner.setdefault(self.counts[0], counts)
        return {self.text[0]: chunk.text, **(inner if self.root is None else {self.root: inner})}

    def inside(self, record: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return what `root` holds of a record; None where that is no mapping, so that nobody knows its scope."""
        if self.root is None:
            return record
        found = look_up_path(record, self.root)
        # written as `metadata.source` instead of `metadata: {source: ...}`: some stores take the one for the other
        beside = {key[len(self.root) + 1 :]: record[key] for key in record if key.startswith(f"{self.root}.")}
        inner = {} if found is None else as_mapping(found)
        return inner if inner is None or not beside else {**beside, **inner}

    def under(self, root: str | None) -> FieldMap:
        """Return the same names under another root."""
        return replace(self, root=root)

    @property
    def dotted(self) -> list[str]:
        """Names that may step into a mapping."""
        names = [name for known in fields(self) if known.name != "root" for name in getattr(self, known.name)]
        return [name for name in dict.fromkeys(names) if "." in name]

    @property
    def of_one_piece(self) -> frozenset[str]:
        """Keys that are true of a piece and wrong for a span made of several."""
        return frozenset(
            (*self.chunk_id, *self.char_start, *self.char_end, *self.score, *self.prefix, *self.links, *self.counts)
        )


def look_up_path(metadata: Mapping[str, Any], key: str) -> Any:
    """Return what `metadata` has under a name, in which dots step into mappings; None where there is nothing."""
    found = metadata.get(key)
    if found is not None or "." not in key:
        return found
    for end, letter in enumerate(key):  # names may have dots themselves: `meta.v1.source` may lie in `meta.v1`
        inner = as_mapping(metadata.get(key[:end])) if letter == "." else None
        if inner is not None and (found := look_up_path(inner, key[end + 1 :])) is not None:
            return found
    return None


def without_path(metadata: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return `metadata` without what `FieldMap.read` finds under a name; mappings that are empty then go, too.

    Examples
    --------
    >>> without_path({"extra": {"counts": "3", "page": 1}, "more": {"counts": "3"}}, "extra.counts")
    {'extra': {'page': 1}, 'more': {'counts': '3'}}
    """
    made = {name: value for name, value in metadata.items() if name != key}
    for end, letter in enumerate(key):
        value = made.get(key[:end]) if letter == "." else None
        inner = as_mapping(value)
        if inner is None or look_up_path(inner, key[end + 1 :]) is None:
            continue
        left = without_path(inner, key[end + 1 :])
        if left:
            made[key[:end]] = json.dumps(left, ensure_ascii=False) if isinstance(value, str) else left
        else:  # it was made for this alone
            del made[key[:end]]
    return made


def whole_digits(text: str) -> bool:
    """Say whether a text is exactly a whole number of at most 19 digits: 007 is a text.

    Examples
    --------
    >>> whole_digits("7"), whole_digits("007"), whole_digits("-7")
    (True, False, False)
    """
    return text.isascii() and text.isdigit() and len(text) <= 19 and str(int(text)) == text


def as_mapping(value: Any) -> Mapping[str, Any] | None:
    """Return a mapping, also one that is kept as text in JSON, as LlamaIndex keeps a node; None for all else.

    Examples
    --------
    >>> as_mapping('{"page": 3}'), as_mapping("three")
    ({'page': 3}, None)
    """
    if isinstance(value, str) and value.startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, Mapping) else None


_LLAMAINDEX = FieldMap(
    doc_id=("ref_doc_id", "doc_id", "document_id"),
    char_start=("_node_content.start_char_idx",),
    char_end=("_node_content.end_char_idx",),
    text=("text", "_node_content.text"),
    before=("_node_content.relationships.2.node_id",),  # NodeRelationship.PREVIOUS
    after=("_node_content.relationships.3.node_id",),  # NodeRelationship.NEXT
)

LAYOUTS: Mapping[LayoutName, FieldMap] = {
    "retrivex": FieldMap(),
    "langchain": FieldMap(doc_id=("source", "doc_id", "file_path"), text=("page_content", "text", "document")),
    "llamaindex": _LLAMAINDEX,
    "haystack": FieldMap(
        doc_id=("source_id", "doc_id", "source", "file_path"), chunk_id=("split_id",), char_start=("split_idx_start",),
        text=("content",), page=("page_number", "page"),
    ),
    "parent_child": FieldMap(doc_id=("parent_id",), chunk_id=("chunk_index",), parent_id=(), text=("content",)),
}  # fmt: skip
"""What frameworks write, where the store keeps metadata flat; see `FieldMap.under` for the others."""


def field_map(given: FieldMap | LayoutName, layouts: Mapping[LayoutName, FieldMap] = LAYOUTS) -> FieldMap:
    """Return the names that are meant.

    Raises
    ------
    StoreError
        If `given` is no FieldMap and names no layout.
    """
    if isinstance(given, FieldMap):
        return given
    found = layouts.get(given) if isinstance(given, str) else None
    if found is None:
        raise StoreError(f"fields is {given!r}: give a FieldMap, or one of {', '.join(get_args(LayoutName))}")
    return found
