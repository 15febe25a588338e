"""Peers of RetriVex as their packages do it, on the same chunks and fed the same hits.

Each package's own class or function makes the decision; around it stands only what hands it our chunks and maps its
answer back to characters. Parents are runs of four chunks of a document. Methods without a token budget of their own
are given one hit more than fits.

- dsRAG, relevant segment extraction: `get_meta_document`, `get_relevance_values`, `get_best_segments` with each of its
  presets and the hits' scores as they are, its lengths (counted in chunks) cut to what the budget holds, which served
  it better than its own 15 and 30 did on every set. The balanced preset also without its minimum value.
- LlamaIndex `PrevNextNodePostprocessor`: one node on either side.
- LlamaIndex `SentenceWindowNodeParser` and `MetadataReplacementPostProcessor`, three sentences on either side. Its unit
  of retrieval is the sentence: those of the hits' chunks are ranked by the cosine of the piece of 50 tokens that they
  stand in, which is finer than what the other methods are given.
- LlamaIndex `AutoMergingRetriever` and LangChain `ParentDocumentRetriever` over parents of four chunks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.metadata import version
from typing import Any

import numpy as np
from dsrag.rse import RSE_PARAMS_PRESETS, get_best_segments, get_meta_document, get_relevance_values
from langchain_classic.retrievers import ParentDocumentRetriever
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import VectorStore
from langchain_text_splitters import CharacterTextSplitter
from llama_index.core import Document as LlamaDocument
from llama_index.core import QueryBundle, StorageContext
from llama_index.core.node_parser import SentenceWindowNodeParser
from llama_index.core.postprocessor import MetadataReplacementPostProcessor, PrevNextNodePostprocessor
from llama_index.core.retrievers import AutoMergingRetriever, BaseRetriever
from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from numpy.typing import NDArray

from benchmarks.evidence.index import parents_of, pieces
from benchmarks.evidence.ranges import RangeSystem
from benchmarks.evidence.systems import similarities
from retrivex.evaluation.metrics import Range
from retrivex.evaluation.run import Case, Index
from retrivex.text.sentences import sentence_ranges

SENTENCES = 3  # on either side: the default of SentenceWindowNodeParser


# ---- dsRAG


def segments(name: str = "balanced", minimum: float | None = None) -> Callable[[Case], Sequence[Range]]:
    """Return relevant segment extraction with a preset; `minimum` takes the place of the preset's minimum value."""
    preset = RSE_PARAMS_PRESETS[name]

    def spans(case: Case) -> list[Range]:
        index = case.index
        results = [
            {
                "metadata": {
                    "doc_id": index.chunks[place].metadata.doc_id,
                    "chunk_index": index.chunks[place].metadata.chunk_id,
                    "chunk_text": index.chunks[place].text,
                },
                "similarity": similarity,
            }
            for place, similarity in zip(case.places, similarities(case), strict=True)
        ]
        splits, starts, doc_ids = get_meta_document([results], preset["top_k_for_document_selection"])
        values = get_relevance_values(
            [results],
            splits[-1] if splits else 0,
            starts,
            doc_ids,
            preset["irrelevant_chunk_penalty"],
            preset["decay_rate"],
            preset["chunk_length_adjustment"],
        )
        fitting = max(1, case.budget // index.size)  # chunks
        found, _ = get_best_segments(
            values,
            splits,
            min(preset["max_length"], fitting),
            min(preset["overall_max_length"], fitting),
            preset["minimum_value"] if minimum is None else minimum,
        )
        return [_meta_range(index, splits, doc_ids, *segment) for segment in found]

    return spans


def _meta_range(index: Index, splits: Sequence[int], doc_ids: Sequence[str], start: int, end: int) -> Range:
    number = bisect_right(splits, start)
    doc_id, offset = doc_ids[number], splits[number - 1] if number else 0
    first = index.positions[doc_id, start - offset]
    return index.range_between(range(first, first + end - start))


# ---- LlamaIndex


class Nodes:
    """An index as LlamaIndex's nodes: a node for each chunk and each parent, all in one document store."""

    def __init__(self, index: Index) -> None:
        self.leaves = [TextNode(id_=str(place), text=chunk.text) for place, chunk in enumerate(index.chunks)]
        self.ranges = {str(place): index.range_of(place) for place in range(len(index.chunks))}
        parents, runs = [], parents_of(index)
        for number, places in enumerate(runs):
            text = "".join(index.chunks[place].text for place in places)
            parent = TextNode(id_=f"parent {number}", text=text)
            self.ranges[parent.node_id] = index.range_between(places)
            parent.relationships[NodeRelationship.CHILD] = [RelatedNodeInfo(node_id=str(place)) for place in places]
            for place in places:
                self.leaves[place].relationships[NodeRelationship.PARENT] = RelatedNodeInfo(node_id=parent.node_id)
            parents.append(parent)
        _chain(self.leaves, [index.chunks[place].metadata.doc_id for place in range(len(index.chunks))])
        _chain(parents, [index.chunks[places[0]].metadata.doc_id for places in runs])
        self.docstore = SimpleDocumentStore()
        self.docstore.add_documents([*self.leaves, *parents])

    def hits(self, case: Case) -> list[NodeWithScore]:
        """Return the hits as nodes with scores."""
        return [
            NodeWithScore(node=self.leaves[place], score=hit.similarity_score)
            for place, hit in zip(case.places, case.hits, strict=True)
        ]


def _chain(nodes: Sequence[TextNode], doc_ids: Sequence[str]) -> None:
    for at in range(1, len(nodes)):
        if doc_ids[at] == doc_ids[at - 1]:
            nodes[at].relationships[NodeRelationship.PREVIOUS] = RelatedNodeInfo(node_id=nodes[at - 1].node_id)
            nodes[at - 1].relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id=nodes[at].node_id)


@lru_cache(maxsize=40)
def _nodes_for(index: Index) -> Nodes:
    return Nodes(index)


def _nodes(case: Case) -> Nodes:
    return _nodes_for(case.index)


def previous_and_next(case: Case) -> list[Range]:
    """Return what PrevNextNodePostprocessor makes of the hits."""
    nodes = _nodes(case)
    postprocessor = PrevNextNodePostprocessor(docstore=nodes.docstore, num_nodes=1, mode="both")
    return [nodes.ranges[found.node.node_id] for found in postprocessor.postprocess_nodes(nodes.hits(case))]


class _Given(BaseRetriever):
    """Returns the hits that it was made with."""

    def __init__(self, hits: list[NodeWithScore]) -> None:
        self._hits = hits
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._hits


def auto_merging(case: Case) -> list[Range]:
    """Return what AutoMergingRetriever makes of the hits."""
    nodes = _nodes(case)
    storage = StorageContext.from_defaults(docstore=nodes.docstore)
    retriever = AutoMergingRetriever(_Given(nodes.hits(case)), storage)
    return [nodes.ranges[found.node.node_id] for found in retriever.retrieve(case.question)]


# ---- LlamaIndex: sentences


def _embedding_at(doc_id: str, offset: int) -> NDArray[np.float32]:
    """Return the embedding of the piece that holds a character."""
    fine = pieces(doc_id.split("/")[0])
    return fine.vectors[fine.holding((doc_id, offset, offset + 1))[0]]


@lru_cache(maxsize=128)
def _sentences(text: str) -> tuple[list[tuple[int, int]], list[Any]]:
    """Return the ranges of a document's sentences, and its nodes as SentenceWindowNodeParser makes them."""
    ranges = sentence_ranges(text)
    parser = SentenceWindowNodeParser.from_defaults(
        sentence_splitter=lambda whole: [whole[start:end] for start, end in ranges], window_size=SENTENCES
    )
    return ranges, parser.get_nodes_from_documents([LlamaDocument(text=text)])


def _sentences_of_hits(case: Case) -> list[tuple[str, int, NDArray[np.float32]]]:
    """Return the sentences of the hits' chunks as (document, number, embedding of their piece)."""
    found = []
    for doc_id, start, end in case.hit_ranges():
        ranges, _ = _sentences(case.index.documents[doc_id])
        for number in range(bisect_right(ranges, (start, -1)), len(ranges)):
            low, high = ranges[number]
            if low >= end:
                break
            found.append((doc_id, number, _embedding_at(doc_id, (low + high) // 2)))
    return found


def sentence_window(case: Case) -> list[Range]:
    """Return the windows around the sentences of the hits, the nearest sentence first."""
    found = _sentences_of_hits(case)
    if not found:
        return []
    similarity: NDArray[np.float32] = np.stack([embedding for *_, embedding in found]) @ case.embedding
    order = np.argsort(-similarity, kind="stable")[: _enough(case)]
    nodes = [
        NodeWithScore(node=_sentences(case.index.documents[found[at][0]])[1][found[at][1]].model_copy(), score=1.0)
        for at in order
    ]
    replaced = MetadataReplacementPostProcessor(target_metadata_key="window").postprocess_nodes(nodes)
    return [_window(case, *found[at][:2], made.node.get_content()) for at, made in zip(order, replaced, strict=True)]


def _enough(case: Case) -> int:
    return case.budget // 5  # more sentences than fit any budget


def _window(case: Case, doc_id: str, number: int, text: str) -> Range:
    ranges, _ = _sentences(case.index.documents[doc_id])
    first, last = max(0, number - SENTENCES), min(len(ranges) - 1, number + SENTENCES)
    whole = case.index.documents[doc_id]
    if text != " ".join(whole[start:end] for start, end in ranges[first : last + 1]):
        raise ValueError(f"the window of sentence {number} of {doc_id} is not the {SENTENCES} sentences on either side")
    return (doc_id, ranges[first][0], ranges[last][1])


# ---- LangChain


class _GivenStore(VectorStore):
    """A vector store whose search returns the hits of the question at hand."""

    def __init__(self) -> None:
        self.found: list[Document] = []

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        return self.found[:k]

    @classmethod
    def from_texts(
        cls, texts: list[str], embedding: Embeddings, metadatas: list[dict[str, Any]] | None = None, **kwargs: Any
    ) -> _GivenStore:
        return cls()


class Parents:
    """An index in a ParentDocumentRetriever: parents in its document store, chunks that name their parent."""

    def __init__(self, index: Index) -> None:
        self.parents = parents_of(index)
        self.parent_of = {place: number for number, places in enumerate(self.parents) for place in places}
        self.vectors = _GivenStore()
        store: InMemoryStore = InMemoryStore()
        store.mset(
            [
                (str(number), Document("".join(index.chunks[place].text for place in places), id=str(number)))
                for number, places in enumerate(self.parents)
            ]
        )
        self.retriever = ParentDocumentRetriever(
            vectorstore=self.vectors, docstore=store, child_splitter=CharacterTextSplitter(), search_kwargs={"k": 1000}
        )


@lru_cache(maxsize=40)
def _parents_for(index: Index) -> Parents:
    return Parents(index)


def parent_documents(case: Case) -> list[Range]:
    """Return what ParentDocumentRetriever makes of the hits."""
    parents = _parents_for(case.index)
    parents.vectors.found = [
        Document(case.index.chunks[place].text, metadata={"doc_id": str(parents.parent_of[place])})
        for place in case.places
    ]
    found = parents.retriever.invoke(case.question)
    return [case.index.range_between(parents.parents[int(parent.id)]) for parent in found]


def versions() -> dict[str, str]:
    """Return the versions of the packages compared with."""
    return {name: version(name) for name in ("dsrag", "llama-index-core", "langchain-classic")}


def peer_systems() -> list[RangeSystem]:
    """Return every system of this module."""
    rse, llama, chain = (f"{name} {number}" for name, number in versions().items())
    return [
        RangeSystem("RSE", segments(), rse),
        RangeSystem("RSE precision", segments("precision"), rse),
        RangeSystem("RSE find all", segments("find_all"), rse),
        RangeSystem("RSE without minimum", segments(minimum=0.0), rse),
        RangeSystem("PrevNext", previous_and_next, llama, prepare=_nodes, all_hits=False),
        RangeSystem("sentence window", sentence_window, llama, prepare=_sentences_of_hits),
        RangeSystem("auto-merging", auto_merging, llama, prepare=_nodes, all_hits=False),
        RangeSystem(
            "parent documents", parent_documents, chain, prepare=lambda case: _parents_for(case.index), all_hits=False
        ),
    ]
