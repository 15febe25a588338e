"""Chunks that follow the structure of Markdown: headings, tables, lists, code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from retrivex.chunking.blocks import Block, headings, markdown_blocks, path_of
from retrivex.chunking.chunker import check_size
from retrivex.chunking.packing import Packer
from retrivex.chunking.pages import blocks_by_page
from retrivex.chunking.pieces import make_chunks
from retrivex.model.chunk import Chunk
from retrivex.model.document import Document
from retrivex.tokens.tokenizer import TokenizerSpec, get_tokenizer


class MarkdownChunker:
    r"""Cuts chunks of at most `size` tokens that never cross a heading.

    The blocks under a heading are packed whole as long as they fit. A list is cut between items, code between lines, a
    table between rows, other text at sentences and then at words. The later pieces of a table carry its header and
    delimiter row, those of a fence its first line, as `ChunkMetadata.prefix`: `prefix + text` is again a table or code,
    and the offsets still say where `text` stands. A heading without text of its own goes with the deeper one after it.

    Parameters
    ----------
    size : most tokens of a chunk. Longer are only a table row, which is never cut, and a single character. A prefix
        counts too unless it alone takes more than half of `size`
    tokenizer : whose tokens; see `retrivex.tokens.get_tokenizer`
    language : for the sentences of paragraphs that are too long

    Raises
    ------
    ChunkError
        If `size` is less than 1.

    Examples
    --------
    >>> document = Document("d", "# Bees\n\nThey sleep.\n\n## Food\n\nNectar.", format="markdown")
    >>> chunks = MarkdownChunker(size=20, tokenizer=lambda text: len(text.split())).chunk(document)
    >>> [(chunk.metadata.heading_path, chunk.text) for chunk in chunks]
    [(('Bees',), '# Bees\n\nThey sleep.\n\n'), (('Bees', 'Food'), '## Food\n\nNectar.')]
    """

    def __init__(self, size: int = 200, *, tokenizer: TokenizerSpec = "auto", language: str = "en") -> None:
        check_size("size", size)
        self.size = size
        self.language = language
        self.tokenizer = get_tokenizer(tokenizer)

    @property
    def name(self) -> str:
        """Kind and settings."""
        return f"markdown(size={self.size}, tokenizer={self.tokenizer.name}, language={self.language})"

    def chunk(self, document: Document) -> list[Chunk]:
        """Return the chunks of `document`, read as Markdown whatever its `format` says; see `Chunker`."""
        blocks = markdown_blocks(document.text)
        outline = headings(blocks)
        packer = Packer(document.text, self.size, self.tokenizer, self.language)
        sections = (section for page in blocks_by_page(document, blocks) for section in _sections(page))
        pieces = (piece for section in sections for piece in packer.pack(list(packer.atoms(section))))
        return make_chunks(
            document, [replace(piece, heading_path=path_of(outline, piece.start, piece.end)) for piece in pieces]
        )


def _sections(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Yield the blocks from one heading to the next; headings without text stay with a deeper one that follows."""
    section: list[Block] = []
    for block in blocks:
        if block.kind == "heading" and section:
            last = section[-1]
            if last.kind != "heading" or last.level >= block.level:
                yield section
                section = []
        section.append(block)
    if section:
        yield section
