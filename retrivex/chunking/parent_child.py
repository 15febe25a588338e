"""Small chunks for finding, large ones for reading."""

from __future__ import annotations

from dataclasses import replace

from retrivex.chunk import Chunk
from retrivex.chunking.chunker import Chunker
from retrivex.chunking.pieces import Piece, make_chunks
from retrivex.document import Document
from retrivex.errors import ChunkError


class ParentChildChunker:
    """Cuts a document into parents and each parent into children that know it.

    The children are numbered through the whole document and their offsets count in it. `parent_id` is
    `<doc_id>#parent-<number>`. Where parents overlap, a child that both would have is kept once, with the earlier one.

    Parameters
    ----------
    parent : makes the parents, e.g. a `MarkdownChunker` of 800 tokens
    child : cuts each parent's text, e.g. a `TokenChunker` of 100 tokens

    Examples
    --------
    >>> from retrivex.chunking import SentenceChunker
    >>> chunker = ParentChildChunker(SentenceChunker(2, 0), SentenceChunker(1, 0))
    >>> children, parents = chunker.chunk_with_parents(Document("d", "One. Two. Three."))
    >>> [(child.text, child.metadata.parent_id) for child in children]
    [('One.', 'd#parent-0'), ('Two.', 'd#parent-0'), ('Three.', 'd#parent-1')]
    >>> parents["d#parent-0"].text
    'One. Two.'
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
        parents = {f"{document.doc_id}#parent-{n}": parent for n, parent in enumerate(self.parent.chunk(document))}
        pieces: dict[tuple[int, int], Piece] = {}
        for parent_id, parent in parents.items():
            start, _ = _offsets(parent)
            inner = replace(document, text=parent.text, page_starts=())
            for child in self.child.chunk(inner):
                first, last = (start + offset for offset in _offsets(child))
                prefix = child.metadata.prefix
                if first == start and parent.metadata.prefix:
                    prefix = parent.metadata.prefix
                pieces.setdefault((first, last), Piece(first, last, prefix, parent_id=parent_id))
        return make_chunks(document, [pieces[key] for key in sorted(pieces)]), parents


def _offsets(chunk: Chunk) -> tuple[int, int]:
    start, end = chunk.metadata.char_start, chunk.metadata.char_end
    if start is None or end is None:
        raise ChunkError(
            f"chunk {chunk.key!r} has no offsets: a parent and a child are matched by them; "
            "use chunkers that set char_start and char_end"
        )
    return start, end
