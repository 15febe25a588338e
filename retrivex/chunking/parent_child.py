"""Small chunks for finding, large ones for reading."""

from __future__ import annotations

from dataclasses import replace

from retrivex.chunk import Chunk
from retrivex.chunking.chunker import Chunker
from retrivex.chunking.pieces import Piece, make_chunks
from retrivex.document import Document
from retrivex.errors import ChunkError
from retrivex.sentences import trimmed


class ParentChildChunker:
    """Cuts a document into parents and each parent into children that know it.

    The children are numbered through the whole document and their offsets count in it. `parent_id` is
    `<doc_id>#parent-<number>`. Where parents overlap, a child that both would have is kept once, with the earlier one.
    Children lie wholly in their parent, the white space at its edges included: an indentation in front of a parent's
    first child goes with that child, whose limit does not count it.

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
        parents = {f"{document.doc_id}#parent-{n}": parent for n, parent in enumerate(self.parent.chunk(document))}
        pieces: dict[tuple[int, int], Piece] = {}
        for parent_id, parent in parents.items():
            start, _ = _offsets(parent)
            inner = replace(document, text=parent.text, page_starts=())
            for child in self.child.chunk(inner):
                first, last = (start + offset for offset in _offsets(child))
                # the white space behind it depends on what follows in that parent: it would tell equal children apart
                _, last = trimmed(document.text, first, last)
                begin = start if document.text[start:first].isspace() else first
                prefix = child.metadata.prefix
                if begin == start and parent.metadata.prefix:
                    prefix = parent.metadata.prefix
                pieces.setdefault((first, last), Piece(begin, last, prefix, parent_id=parent_id))
        children = make_chunks(document, [pieces[key] for key in sorted(pieces)])
        for child in children:
            parent_id = str(child.metadata.parent_id)
            parents[parent_id] = _reaching(document.text, parents[parent_id], child)
        return children, parents


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
        raise ChunkError(
            f"chunk {chunk.key!r} has no offsets: a parent and a child are matched by them; "
            "use chunkers that set char_start and char_end"
        )
    return start, end
