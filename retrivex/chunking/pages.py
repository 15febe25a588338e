"""Page boundaries, which no chunk crosses: the page of a chunk holds all of it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise

from retrivex.chunking.blocks import Block
from retrivex.model.document import Document


def page_edges(document: Document) -> list[int]:
    """Return where pages begin and end: 0, the offsets at which the page number changes, the length of the text.

    Examples
    --------
    >>> page_edges(Document("d", "Bees. Ants.", page_starts=(0, 0, 6))), page_edges(Document("d", "Bees."))
    ([0, 6, 11], [0, 5])
    """
    length = len(document.text)
    # what stands before the first page counts as on it, see `Document.page_at`
    return [0, *sorted({start for start in document.page_starts[1:] if 0 < start < length}), length]


def page_ranges(document: Document) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the pages that have text; the whole text where there are no pages."""
    return pairwise(page_edges(document))


def edges_inside(edges: Sequence[int], start: int, end: int) -> Sequence[int]:
    """Return those of ascending `edges` that would cut the range from `start` to `end` in two."""
    return edges[bisect_right(edges, start) : bisect_left(edges, end)]


def blocks_by_page(document: Document, blocks: Iterable[Block]) -> Iterator[list[Block]]:
    r"""Yield the blocks of each page; a block on several pages is cut between its children, or else at the page.

    Examples
    --------
    >>> from retrivex.chunking.blocks import document_blocks
    >>> document = Document("d", "One\n\nTwo and\nthree.", page_starts=(0, 13))
    >>> [[(block.start, block.end) for block in page] for page in blocks_by_page(document, document_blocks(document))]
    [[(0, 5), (5, 13)], [(13, 19)]]
    """
    edges = page_edges(document)
    for _, page in groupby(_cut(blocks, edges), lambda block: bisect_right(edges, block.start)):
        yield list(page)


def _cut(blocks: Iterable[Block], edges: Sequence[int]) -> Iterator[Block]:
    for block in blocks:
        inside = edges_inside(edges, block.start, block.end)
        if inside and block.children:
            yield from _cut(block.children, edges)
        else:
            for start, end in pairwise((block.start, *inside, block.end)):
                yield replace(block, start=start, end=end)
