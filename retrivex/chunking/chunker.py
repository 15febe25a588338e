"""The protocol of chunkers, and the checks of their arguments."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from retrivex.errors import ChunkError
from retrivex.model.chunk import Chunk
from retrivex.model.document import Document


@runtime_checkable
class Chunker(Protocol):
    """Cuts a document into chunks.

    The text of each chunk is `document.text[char_start:char_end]`, the chunks are numbered 0, 1, 2, ... and between
    them they hold every character of the document that is not white space. A chunk made by `make_chunks` also holds the
    white space behind it, up to the next chunk; no limit on its size counts that. No chunk of a document with pages
    reaches over the start of one (`make_chunks` sees to it), so that `page` holds for all of its text.
    """

    @property
    def name(self) -> str:
        """Kind and settings; two chunkers with the same name cut the same document alike."""

    def chunk(self, document: Document) -> list[Chunk]:
        """Return the chunks of `document`; none where it is empty or white space only."""


def check_size(name: str, value: int, least: int = 1) -> None:
    """Refuse a size that is not a whole number, `least` or more.

    Raises
    ------
    ChunkError
        With the name, the value and the rule.
    """
    if type(value) is not int or value < least:
        raise ChunkError(f"{name} is {value!r}: it must be a whole number, {least} or more")


def check_overlap(overlap: int, size: int, *, name: str = "overlap", size_name: str = "size") -> None:
    """Refuse an overlap with which chunks would not get on through the text.

    Raises
    ------
    ChunkError
        If `overlap` is negative, or not smaller than `size`.
    """
    check_size(name, overlap, least=0)
    if overlap >= size:
        raise ChunkError(
            f"{name} is {overlap} and {size_name} is {size}: {name} must be smaller, or chunks would not move on; "
            f"lower {name} or raise {size_name}"
        )
