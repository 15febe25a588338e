"""Haystack's retrievers as peers; slow, as its in-memory store is read from end to end for every call."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import version

from haystack import Document
from haystack.components.retrievers import AutoMergingRetriever, SentenceWindowRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from benchmarks.evidence.index import parents_of
from retrivex.evaluation.metrics import Range
from retrivex.evaluation.run import Case, Index, RangeSystem


class Stored:
    """An index in Haystack's stores: one for the chunks, one for the parents of four chunks."""

    def __init__(self, index: Index) -> None:
        runs = parents_of(index)
        parent_of = {place: number for number, places in enumerate(runs) for place in places}
        self.leaves = [_leaf(index, place, parent_of[place]) for place in range(len(index.chunks))]
        self.ranges = {str(place): index.range_of(place) for place in range(len(index.chunks))}
        parents = []
        for number, places in enumerate(runs):
            children = [str(place) for place in places]
            text = "".join(index.chunks[place].text for place in places)
            meta = {"__level": 0, "__block_size": len(places), "__children_ids": children}
            parents.append(Document(id=f"parent {number}", content=text, meta=meta))
            self.ranges[f"parent {number}"] = index.range_between(places)
        leaf_store, parent_store = InMemoryDocumentStore(), InMemoryDocumentStore()
        leaf_store.write_documents(self.leaves)
        parent_store.write_documents(parents)
        self.window = SentenceWindowRetriever(leaf_store, window_size=1)
        self.merging = AutoMergingRetriever(parent_store)

    def hits(self, case: Case) -> list[Document]:
        """Return the hits as Haystack's documents."""
        return [self.leaves[place] for place in case.places]

    def where(self, documents: Sequence[Document]) -> list[Range]:
        """Return where documents stand."""
        return [self.ranges[document.id] for document in documents]


def _leaf(index: Index, place: int, parent: int) -> Document:
    chunk = index.chunks[place]
    meta = {
        "source_id": chunk.metadata.doc_id,
        "split_id": chunk.metadata.chunk_id,
        "split_idx_start": chunk.metadata.char_start,
        "__level": 1,
        "__block_size": 1,
        "__parent_id": f"parent {parent}",
        "__children_ids": [],
    }
    return Document(id=str(place), content=chunk.text, meta=meta)


@lru_cache(maxsize=4)
def _stored_for(index: Index) -> Stored:
    return Stored(index)


def _stored(case: Case) -> Stored:
    return _stored_for(case.index)


def sentence_window(case: Case) -> list[Range]:
    """Return what SentenceWindowRetriever makes of the hits: one chunk on either side."""
    stored = _stored(case)
    return stored.where(stored.window.run(stored.hits(case))["context_documents"])


def auto_merging(case: Case) -> list[Range]:
    """Return what AutoMergingRetriever makes of the hits."""
    stored = _stored(case)
    return stored.where(stored.merging.run(stored.hits(case))["documents"])


def versions() -> dict[str, str]:
    """Return the version of the package compared with."""
    return {"haystack-ai": version("haystack-ai")}


def haystack_systems() -> list[RangeSystem]:
    """Return every system of this module."""
    return [
        RangeSystem(f"Haystack {name}", ranges, f"haystack {version('haystack-ai')}", _stored, all_hits=False)
        for name, ranges in (("sentence window", sentence_window), ("auto-merging", auto_merging))
    ]
