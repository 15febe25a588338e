"""Haystack's retrievers and rankers as peers.

The retrievers are slow, as the in-memory store is read from end to end for every call, and are asked on one set only.

- `LostInTheMiddleRanker` changes where hits stand and not which: it is given those that fit, and shows what kNN shows.
- `MetaFieldGroupingRanker` puts the hits of a document together, in their order there.
- `SentenceTransformersDiversityRanker`, of the package sentence-transformers-haystack: at its defaults (greedy, 10 of
  the hits), and by maximum margin relevance with its own weight of 0.5 and with 0.9. It gets the chunks' embeddings.

`MetaFieldRanker` needs a number to rank by, which these documents do not have; `LLMRanker` needs a model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.metadata import version
from typing import Any

import numpy as np
import torch
from haystack import Document
from haystack.components.rankers import LostInTheMiddleRanker, MetaFieldGroupingRanker
from haystack.components.retrievers import AutoMergingRetriever, SentenceWindowRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack_integrations.components.rankers.sentence_transformers import SentenceTransformersDiversityRanker

from benchmarks.evidence.index import parents_of
from benchmarks.evidence.ranges import RangeSystem
from benchmarks.evidence.systems import fitting_places
from retrivex.evaluation.metrics import Range
from retrivex.evaluation.run import Case, Index


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


# ---- rankers


def _hits(case: Case, places: Sequence[int]) -> list[Document]:
    return [_leaf(case.index, place, 0) for place in places]


def _ranges(case: Case, documents: Sequence[Document]) -> list[Range]:
    return [case.index.range_of(int(document.id)) for document in documents]


def lost_in_the_middle(case: Case) -> list[Range]:
    """Return the hits that fit, the best at both ends."""
    return _ranges(case, LostInTheMiddleRanker().run(_hits(case, fitting_places(case)))["documents"])


def grouped(case: Case) -> list[Range]:
    """Return the hits, those of a document together."""
    ranker = MetaFieldGroupingRanker(group_by="source_id", sort_docs_by="split_id")
    return _ranges(case, ranker.run(_hits(case, case.places))["documents"])


class _Vectors:
    """Stands for a ranker's model: the embeddings of the question and of the hits."""

    def __init__(self, case: Case) -> None:
        self._known = {case.index.chunks[place].text: case.index.vectors[place] for place in case.places}
        self._known[case.question] = case.embedding

    def encode(self, texts: Sequence[str], **_options: Any) -> torch.Tensor:
        """Return the embeddings of known texts."""
        return torch.from_numpy(np.stack([self._known[text] for text in texts]))


def diverse(**options: Any) -> Callable[[Case], Sequence[Range]]:
    """Return SentenceTransformersDiversityRanker with some options."""

    def spans(case: Case) -> list[Range]:
        torch.set_num_threads(1)  # a forked process has none of its parent's
        ranker = SentenceTransformersDiversityRanker(**options)
        ranker.model = _Vectors(case)
        return _ranges(case, ranker.run(case.question, _hits(case, case.places))["documents"])

    return spans


def versions() -> dict[str, str]:
    """Return the versions of the packages compared with."""
    return {name: version(name) for name in ("haystack-ai", "sentence-transformers-haystack")}


SLOW = ("Haystack sentence window", "Haystack auto-merging")
"""Systems that read their whole store for every call."""

_MARGIN = {"strategy": "maximum_margin_relevance"}
MARGIN_RANKERS = ("Haystack DiversityRanker MMR 0.5", "Haystack DiversityRanker MMR 0.9")
"""Systems that take longer than all others together."""


def haystack_systems() -> list[RangeSystem]:
    """Return every system of this module."""
    own, models = (f"{name} {number}" for name, number in versions().items())
    retrievers = f"haystack {version('haystack-ai')}"  # the rows that are kept bear this name
    return [
        *[
            RangeSystem(name, ranges, retrievers, _stored, all_hits=False)
            for name, ranges in zip(SLOW, (sentence_window, auto_merging), strict=True)
        ],
        RangeSystem("Haystack LostInTheMiddleRanker", lost_in_the_middle, own),
        RangeSystem("Haystack MetaFieldGroupingRanker", grouped, own, all_hits=False),
        RangeSystem("Haystack DiversityRanker", diverse(), models),
        *[
            RangeSystem(name, diverse(**_MARGIN, **options), models)
            for name, options in zip(MARGIN_RANKERS, ({}, {"lambda_threshold": 0.9}), strict=True)
        ],
    ]
