"""Chunks that end where the topic changes, according to an embedding model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from retrivex.chunking.chunker import check_overlap, check_size
from retrivex.chunking.pages import edges_inside, page_ranges
from retrivex.chunking.pieces import Piece, make_chunks
from retrivex.chunking.token_chunker import token_ranges
from retrivex.encoders.encoder import Encoder
from retrivex.errors import ChunkError, EncoderError
from retrivex.model.chunk import Chunk
from retrivex.model.document import Document
from retrivex.text.sentences import sentence_ranges
from retrivex.tokens.tokenizer import TokenizerSpec, get_tokenizer

Breakpoint: TypeAlias = Literal["percentile", "threshold"]

_DEFAULT_VALUES: dict[Breakpoint, float] = {"percentile": 90.0, "threshold": 0.5}
_LARGEST_VALUES: dict[Breakpoint, float] = {"percentile": 100.0, "threshold": 2.0}


def neighbour_distances(vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    r"""Cosine distance of each row to the next, in [0, 2].

    .. math:: d_i = 1 - \frac{v_i \cdot v_{i+1}}{|v_i| |v_{i+1}|}

    Parameters
    ----------
    vectors : shape (n, d); a row of zeros has distance 1 to every other

    Returns
    -------
    shape (n - 1,), or (0,) where n is 0

    Examples
    --------
    >>> neighbour_distances(np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])).tolist()
    [0.0, 1.0]
    """
    wide = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    unit = np.divide(wide, lengths, out=np.zeros_like(wide), where=lengths > 0)
    distances: NDArray[np.float64] = np.clip(1.0 - np.einsum("ij,ij->i", unit[:-1], unit[1:]), 0.0, 2.0)
    return distances


class SemanticChunker:
    """Cuts chunks of neighbouring sentences with similar embeddings.

    A chunk ends where the cosine distance of a sentence to the next is over the breakpoint. Chunks under `min_size` are
    joined with the nearer neighbour, chunks over `max_size` cut where their sentences lie furthest apart. A page ends a
    chunk, too. The sentences of a document are embedded in one call.

    Parameters
    ----------
    encoder : any `retrivex.encoders.encoder.Encoder`
    breakpoint : `percentile` breaks at distances over that percentile of the document's own distances, `threshold` at
        distances over a fixed one
    value : the percentile (0 to 100, default 90) or the distance (0 to 2, default 0.5)
    min_size, max_size : in tokens; a single character of more than `max_size` tokens is the only chunk that is longer
    tokenizer : whose tokens; see `retrivex.tokens.get_tokenizer`
    language : ISO 639-1 code, see `sentence_ranges`

    Raises
    ------
    ChunkError
        If `breakpoint` is neither, `value` out of range, or `min_size` not smaller than `max_size`.
    EncoderError
        From `chunk`, if the encoder does not give one finite vector a sentence.
    """

    def __init__(
        self,
        encoder: Encoder,
        breakpoint: Breakpoint = "percentile",
        value: float | None = None,
        min_size: int = 50,
        max_size: int = 200,
        *,
        tokenizer: TokenizerSpec = "auto",
        language: str = "en",
    ) -> None:
        if breakpoint not in _DEFAULT_VALUES:
            raise ChunkError(f"breakpoint is {breakpoint!r}: it must be 'percentile' or 'threshold'")
        value = _DEFAULT_VALUES[breakpoint] if value is None else value
        largest = _LARGEST_VALUES[breakpoint]
        if not 0 <= value <= largest:
            raise ChunkError(f"value is {value!r}: with breakpoint {breakpoint!r} it must be between 0 and {largest:g}")
        check_size("max_size", max_size)
        check_overlap(min_size, max_size, name="min_size", size_name="max_size")
        self.encoder = encoder
        self.breakpoint = breakpoint
        self.value = value
        self.min_size = min_size
        self.max_size = max_size
        self.language = language
        self.tokenizer = get_tokenizer(tokenizer)

    @property
    def name(self) -> str:
        """Kind and settings."""
        sizes = f"min_size={self.min_size}, max_size={self.max_size}, tokenizer={self.tokenizer.name}"
        return f"semantic({self.encoder.name}, {self.breakpoint}={self.value:g}, {sizes}, language={self.language})"

    def chunk(self, document: Document) -> list[Chunk]:
        """Return the chunks of `document`; see `Chunker`."""
        text = document.text
        pages = [list(self._sentences(text, *page)) for page in page_ranges(document)]
        sentences = [sentence for page in pages for sentence in page]
        if not sentences:
            return []
        distances = neighbour_distances(self._embed([text[start:end] for start, end in sentences]))
        counts = self.tokenizer.count_many([text[start:end] for start, end in sentences])
        sums = list(accumulate(counts, initial=0))
        groups = _Groups(text, sentences, distances, sums, self.tokenizer.count, self.max_size)
        cuts: list[int] = (np.flatnonzero(distances > self._breakpoint(distances)) + 1).tolist()
        kept = (
            group
            for begin, end in pairwise(accumulate(map(len, pages), initial=0))
            for group in groups.between(begin, end, edges_inside(cuts, begin, end), self.min_size)
        )
        return make_chunks(document, [Piece(*groups.span(first, last)) for first, last in kept])

    def _sentences(self, text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the sentences of a page, those over `max_size` cut at words."""
        sentences = [(begin + first, begin + last) for first, last in sentence_ranges(text[begin:end], self.language)]
        counts = self.tokenizer.count_many([text[first:last] for first, last in sentences])
        for (first, last), tokens in zip(sentences, counts, strict=True):
            if tokens <= self.max_size:
                yield first, last
            else:
                parts = token_ranges(text[first:last], self.max_size, 0, self.tokenizer)
                yield from ((first + part, first + part_end) for part, part_end in parts)

    def _embed(self, sentences: Sequence[str]) -> NDArray[np.floating]:
        vectors = np.asarray(self.encoder.encode(sentences))
        if vectors.ndim != 2 or len(vectors) != len(sentences) or not np.isfinite(vectors).all():
            raise EncoderError(
                f"encoder {self.encoder.name!r} gave an array of shape {vectors.shape} for {len(sentences)} sentences: "
                "it must give one row of finite numbers for each; check its encode method"
            )
        return vectors

    def _breakpoint(self, distances: NDArray[np.float64]) -> float:
        if self.breakpoint == "threshold" or not distances.size:
            return self.value
        return float(np.percentile(distances, self.value))


@dataclass(frozen=True, slots=True)
class _Groups:
    """Groups of neighbouring sentences of one text, each a half-open range of sentence numbers.

    Parameters
    ----------
    text : all of it
    sentences : n ranges of characters
    distances : shape (n - 1,), of each sentence to the next
    sums : n + 1 of them, tokens of the sentences before each
    count : counts tokens
    max_size : most tokens of a group
    """

    text: str
    sentences: Sequence[tuple[int, int]]
    distances: NDArray[np.float64]
    sums: Sequence[int]
    count: Callable[[str], int]
    max_size: int

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Return the range of characters of a group."""
        return self.sentences[first][0], self.sentences[last - 1][1]

    def tokens(self, first: int, last: int) -> int:
        start, end = self.span(first, last)
        return self.count(self.text[start:end])

    def fits(self, first: int, last: int) -> bool:
        # what is far too long is not counted: each of many sentences may be cut off a long text by itself
        too_long = self.sums[last] - self.sums[first] > 2 * self.max_size
        return not too_long and self.tokens(first, last) <= self.max_size

    def between(self, begin: int, end: int, cuts: Sequence[int], min_size: int) -> list[tuple[int, int]]:
        """Return the groups that ascending `cuts` divide `begin` to `end` into, as short and as long as they may be."""
        edges = pairwise((begin, *cuts, end)) if begin < end else ()
        return self.join([part for first, last in edges for part in self.split(first, last)], min_size)

    def split(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield the group, cut at its widest distances until every part fits."""
        waiting = [(first, last)]
        while waiting:
            low, high = waiting.pop()
            if high - low == 1 or self.fits(low, high):
                yield low, high
            else:
                middle = low + 1 + int(np.argmax(self.distances[low : high - 1]))
                waiting += [(middle, high), (low, middle)]

    def join(self, groups: Sequence[tuple[int, int]], min_size: int) -> list[tuple[int, int]]:
        """Join each group under `min_size` with the nearer of its neighbours, where both fit."""
        joined: list[tuple[int, int]] = []
        waiting = list(reversed(groups))
        while waiting:
            first, last = waiting.pop()
            if self.tokens(first, last) >= min_size:
                joined.append((first, last))
                continue
            before = joined[-1][0] if joined and self.tokens(joined[-1][0], last) <= self.max_size else None
            after = waiting[-1][1] if waiting and self.tokens(first, waiting[-1][1]) <= self.max_size else None
            if before is not None and (after is None or self.distances[first - 1] <= self.distances[last - 1]):
                joined[-1] = (before, last)
            elif after is not None:
                waiting[-1] = (first, after)
            else:
                joined.append((first, last))
        return joined
