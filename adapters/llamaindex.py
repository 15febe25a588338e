"""LlamaIndex: a retriever around any other one, which returns whole passages inside a token budget."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from retrivex.chunk import Scope
from retrivex.composer import SpanComposer
from retrivex.composition import Composition
from retrivex.config import RetrievalConfig
from retrivex.errors import StoreError
from retrivex.fetching import call_in_time, check_store
from retrivex.stores.protocol import AnyChunkStore, AnyParentStore, ChunkStore

from .documents import NumberedChunks, Passage, number_passages, read_passage
from .fields import FieldMap
from .hits import NO_STORE, PLAIN_TEXT, Placed, log_warnings, logger, place, span_id, span_metadata

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.schema import (
        BaseNode,
        MetadataMode,
        NodeRelationship,
        NodeWithScore,
        QueryBundle,
        RelatedNodeInfo,
        TextNode,
    )
    from llama_index.core.storage.docstore import BaseDocumentStore
except ImportError as error:
    hint = "pip install 'retrivex-rag[llamaindex]'"
    raise ImportError(f"retrivex.adapters.llamaindex needs llama-index-core: {hint}") from error

__all__ = ["FieldMap", "RetriVexRetriever", "chunk_store_from_nodes"]

_LIMITS = ("similarity_top_k", "_similarity_top_k")  # how LlamaIndex's retrievers call the number of hits


def chunk_store_from_nodes(nodes: Iterable[BaseNode], fields: FieldMap | None = None) -> NumberedChunks:
    """Make a chunk store of nodes that a node parser made.

    Nodes of one document are numbered by their `chunk_id` or `chunk_index` where they have one, else along their
    PREVIOUS and NEXT relationships, else in the order given.

    Parameters
    ----------
    nodes : of any number of documents
    fields : names of metadata, where they differ from the usual ones

    Raises
    ------
    ChunkError
        If a node names no document, or only some nodes of a document have a number.
    StoreError
        If two nodes of a document have the same number and different texts.
    """
    names = fields or FieldMap()
    return number_passages(_passage(node, names) for node in nodes)


def _passage(node: BaseNode, names: FieldMap, score: float | None = None) -> Passage:
    # hierarchical parsers count a child's offsets from the start of its parent: they are none in the document
    whole = node.parent_node is None
    return read_passage(
        node.get_content(metadata_mode=MetadataMode.NONE),
        node.metadata,
        names,
        id=node.node_id,
        doc_id=node.ref_doc_id,
        char_start=getattr(node, "start_char_idx", None) if whole else None,
        char_end=getattr(node, "end_char_idx", None) if whole else None,
        before=_related(node, NodeRelationship.PREVIOUS),
        after=_related(node, NodeRelationship.NEXT),
        embedding=node.embedding,
        score=score,
    )


def _related(node: BaseNode, relationship: NodeRelationship) -> str | None:
    related = node.relationships.get(relationship)
    return related.node_id if isinstance(related, RelatedNodeInfo) else None


class RetriVexRetriever(BaseRetriever):
    """Asks another retriever for hits and returns the spans composed of them, one node each.

    Nodes come in reading order, which is not best first unless `ordering_strategy="score_desc"` says so. Their texts,
    joined by blank lines, keep the token budget. Every node has a score and a stable id; what RetriVex adds to the
    metadata is kept out of prompts and embeddings.

    Parameters
    ----------
    base_retriever : any LlamaIndex retriever
    config : knobs of the composer; `max_spans` limits the nodes returned
    chunk_store : where neighbours are: `{(doc_id, chunk_id): Chunk}`, anything with `fetch(windows, scope)`, or nodes
    docstore : takes the place of `chunk_store`: neighbours are found along PREVIOUS and NEXT, one request for every
        step outwards. With neither, hits cannot grow, and are only merged where they touch.
    parent_store : where parents are
    fetch_k : hits to ask the base retriever for, where it can be asked (`similarity_top_k`); None leaves it as it is
    scope : what the caller may see
    fields : names of metadata, where they differ from the usual ones

    Raises
    ------
    StoreError
        If both `chunk_store` and `docstore` are given, or one of them is none.
    """

    def __init__(
        self,
        base_retriever: BaseRetriever,
        config: RetrievalConfig | None = None,
        chunk_store: AnyChunkStore | Iterable[BaseNode] | None = None,
        *,
        docstore: BaseDocumentStore | None = None,
        parent_store: AnyParentStore | None = None,
        fetch_k: int | None = 50,
        scope: Scope = None,
        fields: FieldMap | None = None,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        if chunk_store is not None and docstore is not None:
            raise StoreError("both chunk_store and docstore are given: neighbours come from one of them; leave one out")
        if fetch_k is not None and fetch_k < 1:
            raise StoreError(f"fetch_k is {fetch_k}: at least one hit has to be asked for; None leaves it to the base")
        self._base = base_retriever
        self._composer = SpanComposer(config)
        self._fields = fields or FieldMap()
        self._store = _as_store(chunk_store, self._fields)
        self._docstore = docstore
        self._parent_store = parent_store
        self._fetch_k = fetch_k
        self._scope = scope
        self._alone = chunk_store is None and docstore is None and max(self._composer.config.reach) > 0
        if self._alone:
            logger.warning("%s", NO_STORE)
        super().__init__(
            callback_manager if callback_manager is not None else getattr(base_retriever, "callback_manager", None)
        )

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = _asked_for(self._base, self._fetch_k).retrieve(query_bundle)
        passages = self._passages(found)
        neighbours, problems = self._neighbours(passages)
        placed = self._place(passages, neighbours)
        made = self._composer.compose(
            placed.hits, placed.store, self._parent_store, **self._arguments(query_bundle), **placed.overrides
        )
        return self._nodes(made, placed, found, problems)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = await _asked_for(self._base, self._fetch_k).aretrieve(query_bundle)
        passages = self._passages(found)
        neighbours, problems = await self._aneighbours(passages)
        placed = self._place(passages, neighbours)
        made = await self._composer.acompose(
            placed.hits, placed.store, self._parent_store, **self._arguments(query_bundle), **placed.overrides
        )
        return self._nodes(made, placed, found, problems)

    def _passages(self, found: Sequence[NodeWithScore]) -> list[Passage]:
        return [_passage(hit.node, self._fields, hit.score) for hit in found]

    def _arguments(self, query_bundle: QueryBundle) -> dict[str, Any]:
        # a vector index leaves the question's embedding here
        embedding = query_bundle.embedding or None
        return {"query": query_bundle.query_str, "query_embedding": embedding, "scope": self._scope, **PLAIN_TEXT}

    def _place(self, passages: Sequence[Passage], neighbours: Sequence[Passage]) -> Placed:
        if self._docstore is not None and any(passage.chunk_id is None for passage in (*passages, *neighbours)):
            # links are what is known of all of them
            passages = [replace(passage, chunk_id=None) for passage in passages]
            neighbours = [replace(passage, chunk_id=None) for passage in neighbours]
        return place(passages, self._store, self._composer.config, neighbours=neighbours)

    def _nodes(
        self, made: Composition, placed: Placed, found: Sequence[NodeWithScore], problems: Sequence[str]
    ) -> list[NodeWithScore]:
        warnings = log_warnings(made, placed, *problems)
        if self._alone:
            warnings.insert(0, NO_STORE)
        hidden = {key for hit in found for key in hit.node.excluded_llm_metadata_keys}
        nodes: list[NodeWithScore] = []
        for span in made.spans:
            metadata = span_metadata(span, placed, self._fields)
            if warnings and not nodes:
                metadata["warnings"] = warnings
            shown = {key for hit in found for key in hit.node.metadata} - hidden
            node = TextNode(
                id_=span_id(span, placed),
                text=span.text,
                metadata=metadata,
                excluded_llm_metadata_keys=sorted(metadata.keys() - shown),
                excluded_embed_metadata_keys=sorted(metadata.keys() - shown),
                start_char_idx=span.char_start,
                end_char_idx=span.char_end,
            )
            if "doc_id" in metadata:
                node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=metadata["doc_id"])
            nodes.append(NodeWithScore(node=node, score=span.score))
        return nodes

    # ---- neighbours along PREVIOUS and NEXT

    def _neighbours(self, passages: Sequence[Passage]) -> tuple[list[Passage], list[str]]:
        walk = _Walk(passages, self._composer.config)
        docstore, patience = self._docstore, self._composer.config.store_timeout_s
        if docstore is None:
            return [], []
        try:
            while wanted := walk.wanted():
                nodes = call_in_time(partial(docstore.get_nodes, wanted, raise_error=False), patience)
                walk.add([_passage(node, self._fields) for node in nodes])
        except Exception as error:  # noqa: BLE001 - a store is somebody else's code; hits go on alone, and it is said
            return walk.found, [self._failed(error)]
        return walk.found, []

    async def _aneighbours(self, passages: Sequence[Passage]) -> tuple[list[Passage], list[str]]:
        walk = _Walk(passages, self._composer.config)
        docstore, patience = self._docstore, self._composer.config.store_timeout_s
        if docstore is None:
            return [], []
        try:
            while wanted := walk.wanted():
                nodes = await asyncio.wait_for(docstore.aget_nodes(wanted, raise_error=False), patience)
                walk.add([_passage(node, self._fields) for node in nodes])
        except Exception as error:  # noqa: BLE001 - as above
            return walk.found, [self._failed(error)]
        return walk.found, []

    def _failed(self, error: Exception) -> str:
        problem = f"the docstore gave no more neighbours: spans end early ({type(error).__name__}: {error})"
        if self._composer.config.strict:
            raise StoreError(problem) from error
        return problem


class _Walk:
    """Goes outwards from the hits along their links, all of them one step at a time."""

    def __init__(self, hits: Sequence[Passage], config: RetrievalConfig) -> None:
        before, after = config.reach
        further = config.max_window if config.grow_until is not None else 0
        self.left = [max(before, further), max(after, further)]
        self.ends = [list(hits), list(hits)]
        self.known = {hit.id for hit in hits}
        self.found: list[Passage] = []

    def wanted(self) -> list[str]:
        """Return ids of the next nodes outwards; none where the windows or the documents end."""
        ids = [
            link
            for direction in (0, 1)
            if self.left[direction] > 0
            for end in self.ends[direction]
            if (link := _link(end, direction)) is not None and link not in self.known
        ]
        return list(dict.fromkeys(ids))

    def add(self, passages: Sequence[Passage]) -> None:
        """Take a step to what was found; a link that leads to another document is the end."""
        by_id = {passage.id: passage for passage in passages}
        for direction in (0, 1):
            ends = [(end, by_id.get(_link(end, direction))) for end in self.ends[direction]]
            self.ends[direction] = [new for end, new in ends if new is not None and new.doc_id == end.doc_id]
            if self.left[direction] <= 0:
                self.ends[direction] = []
            self.left[direction] -= 1
            for new in self.ends[direction]:
                if new.id not in self.known:
                    self.known.add(new.id)
                    self.found.append(new)


def _link(passage: Passage, direction: int) -> str | None:
    return passage.after if direction else passage.before


def _as_store(given: AnyChunkStore | Iterable[BaseNode] | None, names: FieldMap) -> AnyChunkStore | None:
    if given is None or isinstance(given, (Mapping, ChunkStore)):
        return given
    nodes = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else None
    if nodes is None or not all(isinstance(node, BaseNode) for node in nodes):
        return check_store(given)
    return chunk_store_from_nodes(nodes, names)


def _asked_for(base: BaseRetriever, fetch_k: int | None) -> BaseRetriever:
    """Return a copy of `base` that is asked for `fetch_k` hits, where it can be."""
    limit = next((name for name in _LIMITS if hasattr(base, name)), None)
    if fetch_k is None or limit is None:
        return base
    asked = copy.copy(base)
    setattr(asked, limit, fetch_k)
    return asked
