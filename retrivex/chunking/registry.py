"""Chunkers by name, for the command line and for configuration files."""

from __future__ import annotations

from retrivex.chunking.adaptive_chunker import AdaptiveChunker
from retrivex.chunking.chunker import Chunker, check_size
from retrivex.chunking.markdown_chunker import MarkdownChunker
from retrivex.chunking.parent_child import ParentChildChunker
from retrivex.chunking.semantic_chunker import SemanticChunker
from retrivex.chunking.sentence_chunker import SentenceChunker
from retrivex.chunking.token_chunker import TokenChunker
from retrivex.encoders.encoder import Encoder
from retrivex.errors import ChunkError
from retrivex.model.chunk import Chunk
from retrivex.model.document import Document
from retrivex.tokens.tokenizer import TokenizerSpec, get_tokenizer

DEFAULT_SIZE = 200  # tokens
SENTENCES = 3  # of a chunk of the sentence chunker
PARENT_SIZE = 4  # parents are so many times as long as children
SMALLEST_SHARE = 4  # the smallest chunk has this share of the largest


class AutoChunker:
    """Uses the Markdown chunker for Markdown documents, and the token chunker for all others.

    Parameters
    ----------
    size : see `MarkdownChunker` and `TokenChunker`
    overlap : of the token chunker only: chunks that follow headings and blocks do not overlap
    tokenizer : whose tokens; see `retrivex.tokens.get_tokenizer`
    """

    def __init__(self, size: int = DEFAULT_SIZE, overlap: int = 0, *, tokenizer: TokenizerSpec = "auto") -> None:
        counter = get_tokenizer(tokenizer)
        self.markdown = MarkdownChunker(size, tokenizer=counter)
        self.text = TokenChunker(size, overlap, tokenizer=counter)

    @property
    def name(self) -> str:
        """Kind and settings."""
        return f"auto(markdown={self.markdown.name}, text={self.text.name})"

    def chunk(self, document: Document) -> list[Chunk]:
        """Return the chunks of `document`; see `Chunker`."""
        return (self.markdown if document.format == "markdown" else self.text).chunk(document)


def get_chunker(
    spec: str = "auto",
    *,
    size: int | None = None,
    overlap: int | None = None,
    tokenizer: TokenizerSpec = "auto",
    encoder: Encoder | None = None,
) -> Chunker:
    """Return a chunker by its name.

    Parameters
    ----------
    spec : `auto` (Markdown or token, by the document), `token`, `sentence`, `semantic`, `markdown`, `adaptive` or
        `parent-child` (parents by structure, four times the size of the children)
    size : most tokens of a chunk, default 200; for `sentence`, the sentences of a chunk, default 3
    overlap : tokens, for `sentence` sentences, that a chunk repeats; default 0, for `sentence` 1. Only `auto`, `token`,
        `sentence` and `parent-child` overlap
    tokenizer : whose tokens; see `retrivex.tokens.get_tokenizer`
    encoder : for `semantic`

    Raises
    ------
    ChunkError
        Unknown name, a size or overlap out of range, an overlap for a chunker that has none, or no encoder for
        `semantic`.

    Examples
    --------
    >>> get_chunker("sentence", size=5).name
    'sentence(size=5, overlap=1, language=en)'
    """
    if spec not in CHUNKER_NAMES:
        raise ChunkError(f"chunker is {spec!r}: it must be one of {', '.join(CHUNKER_NAMES)}")
    if overlap and spec not in _OVERLAPPING:
        raise ChunkError(
            f"overlap is {overlap} and the chunker {spec!r}: its chunks do not overlap; "
            f"leave overlap out, or take one of {', '.join(_OVERLAPPING)}"
        )
    if spec == "sentence":
        sentences = SENTENCES if size is None else size
        return SentenceChunker(sentences, min(1, sentences - 1) if overlap is None else overlap)
    size = DEFAULT_SIZE if size is None else size
    check_size("size", size)
    counter, smallest, overlap = get_tokenizer(tokenizer), size // SMALLEST_SHARE, overlap or 0
    match spec:
        case "semantic":
            if encoder is None:
                raise ChunkError("chunker 'semantic' has no encoder: it compares embeddings of sentences; name a model")
            return SemanticChunker(encoder, min_size=smallest, max_size=size, tokenizer=counter)
        case "markdown":
            return MarkdownChunker(size, tokenizer=counter)
        case "adaptive":
            return AdaptiveChunker(smallest, size, tokenizer=counter)
        case "token":
            return TokenChunker(size, overlap, tokenizer=counter)
        case "parent-child":
            parent = AdaptiveChunker(size * PARENT_SIZE // SMALLEST_SHARE, size * PARENT_SIZE, tokenizer=counter)
            return ParentChildChunker(parent, AutoChunker(size, overlap, tokenizer=counter))
        case _:
            return AutoChunker(size, overlap, tokenizer=counter)


_OVERLAPPING = ("auto", "token", "sentence", "parent-child")
CHUNKER_NAMES = ("auto", "token", "sentence", "semantic", "markdown", "adaptive", "parent-child")
"""Names that `get_chunker` and the command line take."""
