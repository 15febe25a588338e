"""LlamaIndex: the composition of nodes that the retriever and the postprocessor share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypedDict, Unpack

from llama_index.core.schema import BaseNode, NodeWithScore, QueryBundle

from retrivex.composer.composer import SpanComposer
from retrivex.composition.composition import Composition
from retrivex.errors import StoreError
from retrivex.model.chunk import Scope
from retrivex.stores.protocol import AnyChunkStore, AnyParentStore

from ..base.documents import Passage
from ..base.fields import FieldMap
from ..base.hits import Placed, place
from ..base.logs import logger
from ..base.results import PLAIN_TEXT, for_callers, log_warnings, no_store
from .links import NodeLinks, NodeStore
from .nodes import as_store, nodes_of, read_node


@dataclass
class ScopedQuery(QueryBundle):
    """A question with the scopes of the user who asks it, for a retriever or engine that serves several tenants.

    Parameters
    ----------
    scope : takes the place of the retriever's own; None does not

    Examples
    --------
    >>> ScopedQuery("How long do bees sleep?", scope="acme").scope
    'acme'
    """

    scope: Any = None


_Composed: TypeAlias = tuple[Composition, Placed, list[str]]
"""A composition, the hits it was made of, and everything there is to warn of."""

SOURCES = ("chunk_store", "docstore", "vector_store")
"""Arguments that say where neighbours are."""

_ALONE = no_store("docstore=index.docstore, or chunk_store")


class StoreOptions(TypedDict, total=False):
    """Arguments that `RetriVexRetriever` and `RetriVexPostprocessor` share, beside config, reranker and chunk store."""

    docstore: NodeStore | None
    vector_store: NodeStore | None
    parent_store: AnyParentStore | None
    scope: Scope
    fields: FieldMap | None


class NodeOptions(StoreOptions, total=False):
    """The same with the chunk store."""

    chunk_store: AnyChunkStore | Iterable[BaseNode] | None


class NodeComposer:
    """Composes spans of nodes, with neighbours from a chunk store or along links.

    Parameters
    ----------
    composer : does the work
    chunk_store, docstore, vector_store, parent_store, scope, fields : see `RetriVexRetriever`

    Raises
    ------
    StoreError
        If neighbours are to come from several places, or from something that has none.
    """

    def __init__(self, composer: SpanComposer, **options: Unpack[NodeOptions]) -> None:
        given = {name: options.get(name) for name in SOURCES}
        sources = [name for name, store in given.items() if store is not None]
        if len(sources) > 1:
            together = "both" if len(sources) == 2 else "all of"
            raise StoreError(f"{together} {' and '.join(sources)} are given: neighbours come from one of them")
        self._composer = composer
        self._fields = options.get("fields") or FieldMap()
        self._store = as_store(options.get("chunk_store"), self._fields)
        linked = options["docstore"] if given["docstore"] is not None else options.get("vector_store")
        self._links = None if linked is None else NodeLinks(linked, self._fields)
        self._parent_store = options.get("parent_store")
        self._scope = options.get("scope")
        self._alone = not sources and max(composer.config.reach) > 0
        if self._alone:
            logger.warning("%s", _ALONE)

    def compose_nodes(self, found: Sequence[NodeWithScore], question: QueryBundle | None) -> list[NodeWithScore]:
        """Return the spans that are worth most for the question, one node each."""
        return self._nodes(found, *self._compose(found, question, PLAIN_TEXT))

    async def acompose_nodes(self, found: Sequence[NodeWithScore], question: QueryBundle | None) -> list[NodeWithScore]:
        """Do the same without blocking the event loop."""
        return self._nodes(found, *await self._acompose(found, question, PLAIN_TEXT))

    def compose(self, found: Sequence[NodeWithScore], question: QueryBundle | None) -> Composition:
        """Return the whole composition, with all warnings."""
        return for_callers(*self._compose(found, question, {}))

    async def acompose(self, found: Sequence[NodeWithScore], question: QueryBundle | None) -> Composition:
        """Do the same without blocking the event loop."""
        return for_callers(*await self._acompose(found, question, {}))

    def _compose(
        self, found: Sequence[NodeWithScore], question: QueryBundle | None, style: Mapping[str, Any]
    ) -> _Composed:
        passages = self._passages(found)
        config = self._composer.config
        neighbours, problems = ([], []) if self._links is None else self._links.neighbours(passages, config)
        placed = self._place(passages, neighbours)
        arguments = {**self._arguments(question), **style, **placed.overrides}
        made = self._composer.compose(placed.hits, placed.store, self._parent_store, **arguments)
        return made, placed, self._warnings(made, placed, problems)

    async def _acompose(
        self, found: Sequence[NodeWithScore], question: QueryBundle | None, style: Mapping[str, Any]
    ) -> _Composed:
        passages = self._passages(found)
        config = self._composer.config
        neighbours, problems = ([], []) if self._links is None else await self._links.aneighbours(passages, config)
        placed = self._place(passages, neighbours)
        arguments = {**self._arguments(question), **style, **placed.overrides}
        made = await self._composer.acompose(placed.hits, placed.store, self._parent_store, **arguments)
        return made, placed, self._warnings(made, placed, problems)

    def _nodes(
        self, found: Sequence[NodeWithScore], made: Composition, placed: Placed, warnings: list[str]
    ) -> list[NodeWithScore]:
        return nodes_of(made, placed, self._fields, found, warnings)

    def _passages(self, found: Sequence[NodeWithScore]) -> list[Passage]:
        return [read_node(hit.node, self._fields, hit.score) for hit in found]

    def _arguments(self, question: QueryBundle | None) -> dict[str, Any]:
        scope = self._scope
        if isinstance(question, ScopedQuery) and question.scope is not None:
            scope = question.scope
        if question is None:
            return {"scope": scope}
        # a vector index leaves the question's embedding here
        embedding = question.embedding or None
        return {"query": question.query_str, "query_embedding": embedding, "scope": scope}

    def _place(self, passages: Sequence[Passage], neighbours: Sequence[Passage]) -> Placed:
        if self._links is not None and any(passage.chunk_id is None for passage in (*passages, *neighbours)):
            # links are what is known of all of them
            passages = [replace(passage, chunk_id=None) for passage in passages]
            neighbours = [replace(passage, chunk_id=None) for passage in neighbours]
        return place(passages, self._store, self._composer.config, neighbours=neighbours)

    def _warnings(self, made: Composition, placed: Placed, problems: Sequence[str]) -> list[str]:
        return [*([_ALONE] if self._alone else []), *log_warnings(made, placed, *problems)]
