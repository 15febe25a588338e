"""Chunks that follow the structure: short sections stay whole, long ones are cut at their boundaries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from retrivex.chunking.blocks import Block, document_blocks
from retrivex.chunking.chunker import check_overlap, check_size
from retrivex.chunking.packing import Packer, without_blank_lines
from retrivex.chunking.pages import blocks_by_page
from retrivex.chunking.pieces import Piece, make_chunks
from retrivex.model.chunk import Chunk
from retrivex.model.document import Document
from retrivex.tokens.tokenizer import TokenizerSpec, get_tokenizer


@dataclass(slots=True)
class _Section:
    """A heading with its own blocks and its subsections; `tokens` counts its own blocks."""

    level: int
    blocks: list[Block] = field(default_factory=list)
    tokens: int = 0
    children: list[_Section] = field(default_factory=list)

    def total(self) -> int:
        return self.tokens + sum(child.total() for child in self.children)

    def end(self) -> int:
        return self.children[-1].end() if self.children else self.blocks[-1].end


def _section_tree(blocks: Iterable[Block], counts: Iterable[int]) -> _Section:
    """Nest the sections of a document by the levels of their headings."""
    root = _Section(0)
    open_sections = [root]
    for block, tokens in zip(blocks, counts, strict=True):
        if block.kind == "heading":
            open_sections = [section for section in open_sections if section.level < block.level]
            open_sections[-1].children.append(_Section(block.level))
            open_sections.append(open_sections[-1].children[-1])
        open_sections[-1].blocks.append(block)
        open_sections[-1].tokens += tokens
    return root


class AdaptiveChunker:
    r"""Cuts chunks of `min_size` to `max_size` tokens along the structure of the document.

    A section of at most `max_size` tokens stays whole, with the sections under it. A longer one is cut at its
    sub-headings, then at blank lines (and rows, items, lines of code), then at sentences and words, into parts of
    similar size. Parts under `min_size` are joined with a neighbour where both fit `max_size`. Markdown has headings;
    plain text has paragraphs only.

    Parameters
    ----------
    min_size : tokens under which a part is joined with its neighbour; a part whose neighbours are too long stays small
    max_size : most tokens of a chunk. Longer are only a table row, which is never cut, and a single character
    tokenizer : whose tokens; see `retrivex.tokens.get_tokenizer`
    language : for the sentences of paragraphs that are too long

    Raises
    ------
    ChunkError
        If `max_size` is less than 1, or `min_size` negative or not smaller than `max_size`.

    Examples
    --------
    >>> text = "# Bees\n\nThey sleep.\n\n# Ants\n\nThey work all day and all night."
    >>> chunker = AdaptiveChunker(2, 9, tokenizer=lambda text: len(text.split()))
    >>> [chunk.text for chunk in chunker.chunk(Document("d", text, format="markdown"))]
    ['# Bees\n\nThey sleep.\n\n', '# Ants\n\nThey work all day and all night.']
    """

    def __init__(
        self, min_size: int = 50, max_size: int = 200, *, tokenizer: TokenizerSpec = "auto", language: str = "en"
    ) -> None:
        check_size("max_size", max_size)
        check_overlap(min_size, max_size, name="min_size", size_name="max_size")
        self.min_size = min_size
        self.max_size = max_size
        self.language = language
        self.tokenizer = get_tokenizer(tokenizer)

    @property
    def name(self) -> str:
        """Kind and settings."""
        sizes = f"min_size={self.min_size}, max_size={self.max_size}"
        return f"adaptive({sizes}, tokenizer={self.tokenizer.name}, language={self.language})"

    def chunk(self, document: Document) -> list[Chunk]:
        """Return the chunks of `document`; see `Chunker`."""
        packer = Packer(document.text, self.max_size, self.tokenizer, self.language)
        trees = (
            _section_tree(blocks, packer.counts(blocks))
            for blocks in blocks_by_page(document, document_blocks(document))
        )
        return make_chunks(document, [piece for tree in trees for piece in self._shape(packer, tree, [])])

    def _shape(self, packer: Packer, section: _Section, lead: Sequence[Block]) -> list[Piece]:
        """Return the pieces of a section; `lead` are the headings above it that have no text of their own."""
        own = [*lead, *section.blocks]
        first = (own or section.children[0].blocks)[0]
        room = self.max_size - packer.reserved(first.lead)
        if section.total() <= room and packer.tokens(first.start, section.end()) <= room:
            return [Piece(*without_blank_lines(packer.text, first.start, section.end()), first.lead)]
        bare = bool(section.children) and all(block.kind == "heading" for block in own)
        pieces = [] if bare else list(self._split(packer, own, section.tokens))
        for number, child in enumerate(section.children):
            pieces += self._shape(packer, child, own if bare and number == 0 else [])
        return list(self._join(packer, pieces))

    def _split(self, packer: Packer, blocks: Sequence[Block], tokens: int) -> Iterator[Piece]:
        """Cut blocks into as few pieces as fit, of similar size: filling each up would leave a fragment at the end."""
        parts = -(-tokens // self.max_size)
        return packer.pack(list(packer.atoms(blocks)), enough=-(-tokens // max(parts, 1)))

    def _join(self, packer: Packer, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """Join neighbours of which one is under `min_size`, as long as they fit."""
        last: Piece | None = None
        last_tokens = 0
        for piece in pieces:
            tokens = packer.tokens(piece.start, piece.end)
            if last and min(last_tokens, tokens) < self.min_size:
                together = packer.tokens(last.start, piece.end)
                if together <= self.max_size:
                    last, last_tokens = Piece(last.start, piece.end, last.prefix), together
                    continue
            if last:
                yield last
            last, last_tokens = piece, tokens
        if last:
            yield last
