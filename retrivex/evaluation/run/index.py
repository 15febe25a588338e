"""The search index of a set: the chunks of its documents, cut once, and the hits found in them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from retrivex.chunking import get_chunker
from retrivex.chunking.blocks import Block
from retrivex.chunking.packing import Packer
from retrivex.chunking.pieces import make_chunks
from retrivex.errors import RetrivexError
from retrivex.evaluation.metrics import Range
from retrivex.evaluation.questions.evidence import Question
from retrivex.evaluation.run.bm25 import BM25, index_terms
from retrivex.evaluation.run.vector_cache import Report, VectorCache, Vectors
from retrivex.expansion.fusion import reciprocal_rank_fusion
from retrivex.model.chunk import Chunk, ChunkKey
from retrivex.model.document import Document
from retrivex.model.hit import SeedHit
from retrivex.tokens.cache import TokenCache
from retrivex.tokens.tokenizer import TokenizerSpec, get_tokenizer

RetrieverName: TypeAlias = Literal["bm25", "dense", "fused", "given"]
RETRIEVERS: tuple[str, ...] = get_args(RetrieverName)
VECTORS = ("dense", "fused")
"""Retrievers that need an encoder; composers then see its vectors."""

CHUNKERS = ("sentence_packed", "auto", "token", "markdown", "adaptive")
"""Chunkers whose sizes are tokens; `sentence_packed` is the one that systems are compared on."""

POOL = 200
"""Ranks of each list that fusion reads."""

_MARKDOWN = (".md", ".markdown")


def best_places(scores: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Return the places of the highest scores, best first; of equal scores the first."""
    return np.argsort(-scores, kind="stable")[:most]


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


def cut(documents: Mapping[str, str], chunker: str, size: int, tokenizer: TokenizerSpec = "cl100k_base") -> list[Chunk]:
    """Return the chunks of all documents, in their order.

    Parameters
    ----------
    documents : doc_id -> text; one whose name ends in `.md` is Markdown to the chunkers that read headings
    chunker : one of `CHUNKERS`
    size : tokens of a chunk at most

    Raises
    ------
    RetrivexError
        If there is no such chunker, or the size is out of range.
    """
    if chunker not in CHUNKERS:
        raise RetrivexError(f"chunker is {chunker!r}: it must be one of {', '.join(CHUNKERS)}")
    if chunker == "sentence_packed":
        return sentence_packed(documents, size, tokenizer=tokenizer)
    named = get_chunker(chunker, size=size, tokenizer=tokenizer)
    return [
        chunk
        for doc_id, text in documents.items()
        for chunk in named.chunk(Document(doc_id, text, "markdown" if doc_id.lower().endswith(_MARKDOWN) else "text"))
    ]


class Index:
    """The chunks of documents in order, and everything that is computed from them once.

    Hits can be restricted to some of the documents; they are then those of an index that holds no others.

    Parameters
    ----------
    documents : doc_id -> text
    chunker, size, tokenizer : see `cut`; the tokenizer counts budgets as well
    encoder : for the retrievers "dense" and "fused"; None where there is none
    report : called with the progress
    terms : of a text, for BM25
    chunks : in document order, document by document; None cuts the documents
    vectors : shape (n, d), unit length, a row for each chunk; None asks the encoder

    Examples
    --------
    >>> index = Index({"bees": "Bees sleep.", "ants": "Ants work.", "wasps": "Wasps sting."})
    >>> asked = Question("1", "What do ants do?", (), within=("bees", "ants"))
    >>> [hit.key for hit in index.hits([asked], "bm25", 5)[0]]
    [('ants', 0)]
    >>> index.range_of(1), index.neighbours(1, 2), index.count(("ants", 0, 4))
    (('ants', 0, 10), range(1, 2), 2)
    """

    def __init__(
        self,
        documents: Mapping[str, str],
        *,
        chunker: str = "sentence_packed",
        size: int = 200,
        tokenizer: TokenizerSpec = "cl100k_base",
        encoder: VectorCache | None = None,
        report: Report | None = None,
        terms: Callable[[str], list[str]] = index_terms,
        chunks: Sequence[Chunk] | None = None,
        vectors: Vectors | None = None,
    ) -> None:
        self.documents = documents
        self.size = size
        self.encoder = encoder
        self.tokenizer = get_tokenizer(tokenizer)
        self._terms = terms
        self.chunks: Sequence[Chunk] = cut(documents, chunker, size, tokenizer) if chunks is None else chunks
        if vectors is None and encoder is not None:
            vectors = encoder.encode([chunk.text for chunk in self.chunks], "chunks", report)
        self.vectors = vectors

    @cached_property
    def positions(self) -> dict[ChunkKey, int]:
        """The place of each chunk in the index."""
        return {chunk.key: place for place, chunk in enumerate(self.chunks)}

    @cached_property
    def _places(self) -> dict[str, range]:
        """The places of each document's chunks."""
        found = dict.fromkeys(self.documents, range(0))
        for doc_id, some in groupby(range(len(self.chunks)), lambda place: self.chunks[place].metadata.doc_id):
            first, *rest = some
            found[doc_id] = range(first, first + 1 + len(rest))
        return found

    @cached_property
    def tokens(self) -> TokenCache:
        """Counts texts, each once."""
        return TokenCache(self.tokenizer)

    def count(self, part: Range) -> int:
        """Return the tokens of a range."""
        doc_id, start, end = part
        return self.tokens.count(self.documents[doc_id][start:end])

    def range_of(self, place: int) -> Range:
        """Return where the chunk at a place of the index stands."""
        metadata = self.chunks[place].metadata
        return (metadata.doc_id, metadata.char_start or 0, metadata.char_end or 0)

    def range_between(self, places: range) -> Range:
        """Return where chunks that follow one another stand."""
        (doc_id, start, _), (_, _, end) = self.range_of(places[0]), self.range_of(places[-1])
        return (doc_id, start, end)

    def holding(self, part: Range) -> range:
        """Return the places of the chunks that hold characters of a range."""
        doc_id, start, end = part
        places = self._places[doc_id]
        first = bisect_right(places, start, key=lambda place: self.range_of(place)[2])
        return places[first : bisect_left(places, end, key=lambda place: self.range_of(place)[1])]

    def neighbours(self, place: int, reach: int) -> range:
        """Return the places of a chunk and of up to `reach` chunks of its document on each side."""
        own = self._places[self.chunks[place].metadata.doc_id]
        return range(max(own.start, place - reach), min(own.stop, place + reach + 1))

    @cached_property
    def store(self) -> dict[ChunkKey, Chunk]:
        """The chunks without vectors: for hits that words alone have found."""
        return {chunk.key: chunk for chunk in self.chunks}

    @cached_property
    def vector_store(self) -> dict[ChunkKey, Chunk]:
        """The chunks with their vectors."""
        if self.vectors is None:
            raise RetrivexError("the index has no vectors: give an encoder, or search with the retriever 'bm25'")
        return {
            chunk.key: Chunk(chunk.text, chunk.metadata, vector)
            for chunk, vector in zip(self.chunks, self.vectors, strict=True)
        }

    @cached_property
    def _bm25(self) -> BM25:
        return BM25([chunk.text for chunk in self.chunks], terms=self._terms)

    def store_for(self, retriever: str) -> dict[ChunkKey, Chunk]:
        """Return what a composer reads chunks from: with vectors where the retriever uses them."""
        return self.vector_store if retriever in VECTORS else self.store

    def vectors_of(self, questions: Sequence[Question], report: Report | None = None) -> Vectors:
        """Return the vectors of questions, shape (q, d)."""
        if self.encoder is None:
            raise RetrivexError("the index has no encoder: give one, or search with the retriever 'bm25'")
        return self.encoder.encode_questions([question.text for question in questions], report)

    def hits(
        self, questions: Sequence[Question], retriever: str, most: int, vectors: Vectors | None = None
    ) -> list[list[SeedHit]]:
        """Return the hits of each question, best first, out of the documents it is asked of.

        Parameters
        ----------
        questions : q questions
        retriever : "dense" (cosine), "bm25", "fused" (reciprocal ranks of both), or "given" (the documents that a
            question names, in its own order)
        most : hits of a question at most; bm25 gives only those that share a term with it
        vectors : of the questions, shape (q, d); None asks the encoder

        Raises
        ------
        RetrivexError
            If there is no such retriever, it needs an encoder and there is none, or a question names no documents.
        """
        if retriever not in RETRIEVERS:
            raise RetrivexError(f"retriever is {retriever!r}: it must be one of {', '.join(RETRIEVERS)}")
        if retriever == "given":
            return [self._read_given_hits(question, most) for question in questions]
        dense = self._by_vectors(questions, vectors) if retriever != "bm25" else None
        made = []
        for at, question in enumerate(questions):
            if dense is None:
                made.append(self._by_words(question, most, self.store))
            elif retriever == "dense":
                made.append(dense(at, most))
            else:
                rankings = [dense(at, POOL), self._by_words(question, POOL, self.vector_store)]
                made.append(reciprocal_rank_fusion(rankings)[:most])
        return made

    def _read_given_hits(self, question: Question, most: int) -> list[SeedHit]:
        if not question.within:
            raise RetrivexError(
                f"question {question.question_id!r} names no documents: the retriever 'given' takes them as hits; "
                "search with another"
            )
        places = [place for doc_id in dict.fromkeys(question.within) for place in self._places[doc_id]][:most]
        return [SeedHit(self.store[self.chunks[place].key], 1 / rank) for rank, place in enumerate(places, 1)]

    def _find_searched(self, question: Question) -> NDArray[np.int64] | None:
        """Places of the chunks that a question is asked of; None for all."""
        if not question.within:
            return None
        parts = sorted((self._places[doc_id] for doc_id in set(question.within)), key=lambda part: part.start)
        return np.concatenate([np.arange(part.start, part.stop) for part in parts])

    def _by_vectors(
        self, questions: Sequence[Question], asked_vectors: Vectors | None
    ) -> Callable[[int, int], list[SeedHit]]:
        asked = self.vectors_of(questions) if asked_vectors is None else asked_vectors
        store, vectors = self.vector_store, self.vectors

        def found(at: int, most: int) -> list[SeedHit]:
            if vectors is None or not len(vectors):
                return []
            among = self._find_searched(questions[at])
            scores = ((vectors if among is None else vectors[among]) @ asked[at]).astype(np.float64)
            return self._best(scores, among, most, store)

        return found

    def _by_words(self, question: Question, most: int, store: Mapping[ChunkKey, Chunk]) -> list[SeedHit]:
        among = self._find_searched(question)
        found = self._best(self._bm25.scores(question.text, among), among, most, store)
        return [hit for hit in found if hit.similarity_score > 0]

    def _best(
        self, scores: NDArray[np.float64], among: NDArray[np.int64] | None, most: int, store: Mapping[ChunkKey, Chunk]
    ) -> list[SeedHit]:
        """Return the best chunks; of equal scores the first in the index."""
        order = best_places(scores, most)
        places = order if among is None else among[order]
        return [
            SeedHit(store[self.chunks[place].key], float(score))
            for place, score in zip(places.tolist(), scores[order].tolist(), strict=True)
        ]
