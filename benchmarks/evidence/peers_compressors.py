"""Compressors as peers: packages that keep those sentences or pieces of the hits that are like the question.

Each package's own class decides; the embeddings are those of all-MiniLM-L6-v2, as everywhere in this benchmark. Its
answer is mapped back to characters by the exact text of a sentence.

- LangChain `EmbeddingsFilter`: at its defaults the 20 hits nearest to the question; and in the pipeline of LangChain's
  documentation, behind its splitter (pieces of 300 characters) and its filter of redundant pieces, nearest first until
  the budget is full. The documented threshold of 0.76 is made for other embeddings and would leave nothing.
- LlamaIndex `SentenceEmbeddingOptimizer`: at its defaults, which drop nothing; with `percentile_cutoff=0.5`, as its
  documentation has it; and the best 30 % of the sentences without those beside them.
- ragcompress `Compressor`: filled to the budget, with and without its penalty for sentences that are alike, and with
  the budget that ends where scores drop. Its default scorer is a cross-encoder from the Hugging Face hub, which could
  not be had here: cosines take its place, so this is not ragcompress as it comes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from importlib.metadata import version
from typing import Any

import numpy as np
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline, EmbeddingsFilter
from langchain_community.document_transformers import EmbeddingsRedundantFilter
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_text_splitters import CharacterTextSplitter
from llama_index.core import QueryBundle
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.postprocessor import SentenceEmbeddingOptimizer
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.utils import globals_helper
from numpy.typing import NDArray
from ragcompress import AdaptiveBudget, Chunk, Compressor, FixedBudget
from ragcompress.scoring import CrossEncoderScorer
from ragcompress.utils.sentence_split import split_text

from benchmarks.evidence.ranges import RangeSystem
from benchmarks.evidence.sentence_vectors import SentenceSystem, vectors_of
from retrivex.evaluation.metrics import Range
from retrivex.evaluation.run import Case

Ranges = Callable[[Case], Sequence[Range]]
Split = Callable[[str], Sequence[str]]

PIECE = 300  # characters, in the pipeline of LangChain's documentation
MOST_PIECES = 10_000  # more than there are: the budget ends the list

logging.getLogger("langchain_text_splitters").setLevel(logging.ERROR)  # it warns of every sentence longer than a piece


def locate(text: str, parts: Sequence[str]) -> list[tuple[int, int]]:
    """Return where the parts of a text stand, which follow each other in it.

    Raises
    ------
    ValueError
        If one is not there.
    """
    made, reached = [], 0
    for part in parts:
        start = text.find(part, reached)
        if start < 0:
            raise ValueError(f"{part[:60]!r} is not a part of the text, behind its first {reached} characters")
        reached = start + len(part)
        made.append((start, reached))
    return made


@lru_cache(maxsize=50_000)
def _located(split: Split, text: str) -> tuple[list[str], list[tuple[int, int]]]:
    """Return the sentences of a chunk, and where they stand."""
    parts = list(split(text))
    return parts, locate(text, parts)


def _part(case: Case, place: int, part: tuple[int, int]) -> Range:
    doc_id, start, _ = case.index.range_of(place)
    return doc_id, start + part[0], start + part[1]


def _sentences(split: Split) -> Callable[[Case], Iterator[str]]:
    def texts(case: Case) -> Iterator[str]:
        for place in case.places:
            yield from _located(split, case.index.chunks[place].text)[0]

    return texts


# ---- LangChain


class _Embedded(Embeddings):
    """The embeddings of a question and of texts that are known."""

    def __init__(self, case: Case, known: Callable[[Sequence[str]], NDArray[np.float32]]) -> None:
        self._case = case
        self._known = known

    def embed_query(self, text: str) -> list[float]:
        return np.asarray(self._case.embedding).tolist()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._known(texts).tolist()


def _documents(case: Case) -> list[Document]:
    return [Document(case.index.chunks[place].text, metadata={"place": place}) for place in case.places]


def embeddings_filter(case: Case) -> list[Range]:
    """Return what EmbeddingsFilter makes of the hits at its defaults."""
    chunks = {case.index.chunks[place].text: case.index.vectors[place] for place in case.places}
    compressor = EmbeddingsFilter(embeddings=_Embedded(case, lambda texts: np.stack([chunks[text] for text in texts])))
    kept = compressor.compress_documents(_documents(case), case.question)
    return [case.index.range_of(document.metadata["place"]) for document in kept]


# the separator stays, as evidence without its full stops would not be complete
_SPLITTER = CharacterTextSplitter(
    separator=". ", chunk_size=PIECE, chunk_overlap=0, add_start_index=True, keep_separator="end"
)


def _split_pieces(text: str) -> list[str]:
    return _SPLITTER.split_text(text)


def embeddings_filter_of_pieces(case: Case) -> list[Range]:
    """Return what splitter, EmbeddingsRedundantFilter and EmbeddingsFilter make of the hits, one after the other."""
    embedded = _Embedded(case, vectors_of)
    pipeline = DocumentCompressorPipeline(
        transformers=[
            _SPLITTER,
            EmbeddingsRedundantFilter(embeddings=embedded),
            EmbeddingsFilter(embeddings=embedded, k=MOST_PIECES),
        ]
    )
    made = []
    for document in pipeline.compress_documents(_documents(case), case.question):
        start = document.metadata["start_index"]
        made.append(_part(case, document.metadata["place"], (start, start + len(document.page_content))))
    return made


# ---- LlamaIndex


def _punkt(text: str) -> list[str]:
    return list(globals_helper.punkt_tokenizer.tokenize(text))


class _Numbered(BaseEmbedding):
    """Embeds the sentences of a chunk by their numbers, which stand for them in the optimizer's text."""

    def __init__(self, **data: Any) -> None:
        super().__init__(**data)
        self._sentences: list[str] = []

    def number(self, place: str, case: Case) -> list[str]:
        """Return the numbers of a chunk's sentences."""
        self._sentences, _ = _located(_punkt, case.index.chunks[int(place)].text)
        return [str(number) for number in range(len(self._sentences))]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return vectors_of([self._sentences[int(number)] for number in texts]).tolist()

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        raise NotImplementedError("the question comes with its embedding")

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


def sentence_optimizer(**options: Any) -> Ranges:
    """Return SentenceEmbeddingOptimizer with some options."""

    def spans(case: Case) -> list[Range]:
        embedded = _Numbered()
        optimizer = SentenceEmbeddingOptimizer(
            embed_model=embedded, tokenizer_fn=lambda place: embedded.number(place, case), **options
        )
        # the text of a node is the place of its chunk, and comes back as the numbers of the sentences that are kept
        nodes = [NodeWithScore(node=TextNode(text=str(place)), score=1.0) for place in case.places]
        query = QueryBundle(case.question, embedding=np.asarray(case.embedding).tolist())
        made = []
        for place, found in zip(case.places, optimizer.postprocess_nodes(nodes, query), strict=True):
            parts = _located(_punkt, case.index.chunks[place].text)[1]
            made += [_part(case, place, parts[int(number)]) for number in found.node.get_content().split()]
        return made

    return spans


# ---- ragcompress


class _Cosines(CrossEncoderScorer):
    """Its scorer with the cosine in place of the cross-encoder, and its own penalty for sentences that are alike."""

    def __init__(self, case: Case, redundancy: float) -> None:
        super().__init__(redundancy_lambda=redundancy)
        self._question = case.embedding

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        return vectors_of(texts)

    def _relevance_scores(self, query: str, texts: list[str]) -> NDArray[np.float32]:
        return np.asarray(vectors_of(texts) @ self._question)


def compressed(budget: Callable[[int], Any], redundancy: float = 0.5) -> Ranges:
    """Return ragcompress with a budget and the weight of its penalty for sentences that are alike."""

    def spans(case: Case) -> list[Range]:
        chunks = [
            Chunk(case.index.range_of(place)[0], str(place), case.index.chunks[place].text) for place in case.places
        ]
        compressor = Compressor(_Cosines(case, redundancy), budget(case.budget), token_counter=case.index.tokens.count)
        kept = sorted(compressor.compress(case.question, chunks).sentences, key=lambda sentence: -sentence.score)
        made = []
        for sentence in kept:
            place = int(sentence.source_chunk_id)
            _, parts = _located(split_text, case.index.chunks[place].text)
            made.append(_part(case, place, parts[sentence.sentence_index_in_chunk]))
        return made

    return spans


def _fixed(tokens: int) -> FixedBudget:
    return FixedBudget(max_tokens=tokens)


def _adaptive(tokens: int) -> AdaptiveBudget:
    return AdaptiveBudget(min_tokens=min(64, tokens), max_tokens=tokens)  # 64 is its default


def versions() -> dict[str, str]:
    """Return the versions of the packages compared with that no other module names."""
    return {name: version(name) for name in ("langchain-community", "ragcompress")}


def compressor_systems() -> list[RangeSystem]:
    """Return every system of this module."""
    chain = f"langchain-classic {version('langchain-classic')}, langchain-community {version('langchain-community')}"
    llama, own = f"llama-index-core {version('llama-index-core')}", f"ragcompress {version('ragcompress')}"
    pieces, punkt, split = map(_sentences, (_split_pieces, _punkt, split_text))
    return [
        RangeSystem("EmbeddingsFilter", embeddings_filter, chain),
        SentenceSystem("EmbeddingsFilter of pieces", embeddings_filter_of_pieces, chain, texts=pieces),
        *[
            SentenceSystem(f"SentenceEmbeddingOptimizer{name}", ranges, llama, all_hits=False, texts=punkt)
            for name, ranges in (
                ("", sentence_optimizer()),
                (" 50 %", sentence_optimizer(percentile_cutoff=0.5)),
                (" 30 % alone", sentence_optimizer(percentile_cutoff=0.3, context_before=0, context_after=0)),
            )
        ],
        *[
            SentenceSystem(f"ragcompress{name} by cosines", ranges, own, texts=split)
            for name, ranges in (
                ("", compressed(_fixed)),
                (" without penalty", compressed(_fixed, 0.0)),
                (" adaptive", compressed(_adaptive)),
            )
        ],
    ]
