"""The chunks of an evaluation: whole sentences, packed up to a size, without overlap or gap."""

from __future__ import annotations

from collections.abc import Mapping

from retrivex.chunking.blocks import Block
from retrivex.chunking.packing import Packer
from retrivex.chunking.pieces import make_chunks
from retrivex.model.chunk import Chunk
from retrivex.model.document import Document
from retrivex.tokens.tokenizer import TokenizerSpec, get_tokenizer


def sentence_packed(
    documents: Mapping[str, str], size: int, *, tokenizer: TokenizerSpec = "cl100k_base"
) -> list[Chunk]:
    """Return the chunks of all documents, each of as many whole sentences as fit `size` tokens.

    A sentence of more tokens is cut at words. Headings are not read, so that every system sees the same plain text.

    Examples
    --------
    >>> chunks = sentence_packed({"d": "One two. Three. Four five."}, 3, tokenizer=lambda text: len(text.split()))
    >>> [chunk.text for chunk in chunks]
    ['One two. Three. ', 'Four five.']
    """
    counter = get_tokenizer(tokenizer)
    chunks: list[Chunk] = []
    for doc_id, text in documents.items():
        packer = Packer(text, size, counter)
        # a block of one sentence more than fits is cut at its sentences
        atoms = list(packer.atoms([Block("paragraph", 0, len(text))])) if text.strip() else []
        chunks += make_chunks(Document(doc_id, text), packer.pack(atoms))
    return chunks
