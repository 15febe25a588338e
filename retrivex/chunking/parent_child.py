"""Small chunks to find, and large parents to read."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from retrivex.chunking.chunker import Chunker
from retrivex.chunking.pages import page_edges
from retrivex.chunking.pieces import Piece, make_chunks
from retrivex.errors import ChunkError
from retrivex.model.chunk import Chunk
from retrivex.model.document import Document
from retrivex.text.sentences import trim_range


class ParentChildChunker:
    """Cuts a document into parents, and each parent into children that refer to it.

    The child chunker sees the whole document, with parents in place of pages: where a parent begins within a table or a
    code block, its children know that too. What a child chunker lets reach over the edge of a parent is cut there.

    The children are numbered through the whole document and their offsets count in it. `parent_id` is
    `<doc_id>#parent-<number>`. Where parents overlap, a child that both would have is kept once, with the earlier one.
    Children lie wholly in their parent, the white space at its edges included: an indentation in front of a parent's
    first child goes with that child, whose limit does not count it.

    Parameters
    ----------
    parent : makes the parents, e.g. a `MarkdownChunker` of 800 tokens
    child : cuts the parents, e.g. a `TokenChunker` of 100 tokens

    Examples
    --------
    >>> from retrivex.chunking import SentenceChunker
    >>> chunker = ParentChildChunker(SentenceChunker(2, 0), SentenceChunker(1, 0))
    >>> children, parents = chunker.chunk_with_parents(Document("d", "One. Two. Three."))
    >>> [(child.text, child.metadata.parent_id) for child in children]
    [('One. ', 'd#parent-0'), ('Two. ', 'd#parent-0'), ('Three.', 'd#parent-1')]
    >>> parents["d#parent-0"].text
    'One. Two. '
    """

    def __init__(self, parent: Chunker, child: Chunker) -> None:
        self.parent = parent
        self.child = child

    @property
    def name(self) -> str:
        """Kind and settings."""
        return f"parent-child(parent={self.parent.name}, child={self.child.name})"

    def chunk(self, document: Document) -> list[Chunk]:
        """Return the children only; see `Chunker`."""
        return self.chunk_with_parents(document)[0]

    def chunk_with_parents(self, document: Document) -> tuple[list[Chunk], dict[str, Chunk]]:
        """Return the children, and the parents by `parent_id`.

        Raises
        ------
        ChunkError
            If one of the two chunkers gives chunks without offsets.
        """
        numbered = [_Parent(number, *_offsets(made), made) for number, made in enumerate(self.parent.chunk(document))]
        found = [pair for layer in _layers(numbered) for pair in self._pieces(document, layer)]
        pieces: dict[tuple[int, int], Piece] = {}
        for _, piece in sorted(found, key=lambda pair: pair[0].number):
            pieces.setdefault(trim_range(document.text, piece.start, piece.end), piece)
        children = make_chunks(document, sorted(pieces.values(), key=lambda piece: (piece.start, piece.end)))
        parents = {_parent_id(document, parent): parent.chunk for parent in numbered}
        for child in children:
            parent_id = str(child.metadata.parent_id)
            parents[parent_id] = _reaching(document.text, parents[parent_id], child)
        return children, parents

    def _pieces(self, document: Document, layer: Sequence[_Parent]) -> Iterator[tuple[_Parent, Piece]]:
        """Yield the pieces of parents that do not overlap, each with its parent."""
        edges = {edge for parent in layer for edge in (parent.start, parent.end)}
        inner = replace(document, page_starts=tuple(sorted({*page_edges(document), *edges})))
        for child in self.child.chunk(inner):
            start, end = _offsets(child)
            first = bisect_right(layer, start, key=lambda parent: parent.end)
            last = bisect_left(layer, end, key=lambda parent: parent.start)
            for parent in layer[first:last]:
                if piece := _within(document, parent, child):
                    yield parent, piece


@dataclass(frozen=True, slots=True)
class _Parent:
    """A parent of a document: its number, its range of characters and its chunk."""

    number: int
    start: int
    end: int
    chunk: Chunk


def _parent_id(document: Document, parent: _Parent) -> str:
    return f"{document.doc_id}#parent-{parent.number}"


def _layers(parents: Iterable[_Parent]) -> list[list[_Parent]]:
    """Deal the parents out to as few layers as it takes for none to overlap another one of its layer."""
    layers: list[list[_Parent]] = []
    for parent in parents:
        layer = next((layer for layer in layers if layer[-1].end <= parent.start), None)
        if layer is None:
            layers.append([parent])
        else:
            layer.append(parent)
    return layers


def _within(document: Document, parent: _Parent, child: Chunk) -> Piece | None:
    """Return what of a child lies in a parent; None where that is white space."""
    start, end = _offsets(child)
    first = max(start, parent.start)
    # the white space behind it depends on what follows in that parent: it would tell equal children apart
    visible, last = trim_range(document.text, first, min(end, parent.end))
    if visible == last:
        return None
    prefix = child.metadata.prefix if start >= parent.start else None
    if not document.text[parent.start : first].strip():
        first, prefix = parent.start, parent.chunk.metadata.prefix or prefix
    return Piece(first, last, prefix, parent_id=_parent_id(document, parent))


def _reaching(text: str, parent: Chunk, child: Chunk) -> Chunk:
    """Return the parent with the white space behind its last child, which an overlapping parent was made without."""
    start, end = _offsets(parent)
    _, reached = _offsets(child)
    if reached <= end:
        return parent
    return Chunk(text[start:reached], replace(parent.metadata, char_end=reached))


def _offsets(chunk: Chunk) -> tuple[int, int]:
    start, end = chunk.metadata.char_start, chunk.metadata.char_end
    if start is None or end is None:
        raise ChunkError(f"chunk {chunk.key!r} has no offsets: use chunkers that set char_start and char_end")
    return start, end
