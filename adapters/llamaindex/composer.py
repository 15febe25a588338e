"""LlamaIndex: the composition of nodes that the retriever and the postprocessor share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from retrivex.adapters.base.documents import Passage
from retrivex.adapters.base.fields import FieldMap
from retrivex.adapters.base.hits import Placed, place
from retrivex.adapters.base.logs import logger
from retrivex.adapters.base.results import PLAIN_TEXT, log_warnings, no_store, with_warnings
from retrivex.composer.composer import SpanComposer
from retrivex.composition.composition import Composition
from retrivex.errors import StoreError, install_hint
from retrivex.model.chunk import Scope
from retrivex.stores.protocol import AnyChunkStore, AnyParentStore

from .links import NodeLinks, NodeStore
from .nodes import as_store, nodes_of, read_node

try:
    from llama_index.core.schema import BaseNode, NodeWithScore, QueryBundle
except ImportError as error:
    raise ImportError(f"retrivex.adapters.llamaindex needs llama-index-core: {install_hint('llamaindex')}") from error


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


_ALONE = no_store("docstore=index.docstore, or chunk_store")


@dataclass(frozen=True, slots=True)
class Composed:
    """A composition, the hits it was made of, and everything there is to warn of."""

    made: Composition
    placed: Placed
    warnings: list[str]

    @property
    def composition(self) -> Composition:
        """The composition with all warnings."""
        return with_warnings(self.made, self.warnings)


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

    def __init__(
        self,
        composer: SpanComposer,
        chunk_store: AnyChunkStore | Iterable[BaseNode] | None = None,
        *,
        docstore: NodeStore | None = None,
        vector_store: NodeStore | None = None,
        parent_store: AnyParentStore | None = None,
        scope: Scope = None,
        fields: FieldMap | None = None,
    ) -> None:
        given = {"chunk_store": chunk_store, "docstore": docstore, "vector_store": vector_store}
        sources = [name for name, store in given.items() if store is not None]
        if len(sources) > 1:
            together = "both" if len(sources) == 2 else "all of"
            raise StoreError(f"{together} {' and '.join(sources)} are given: neighbours come from one of them")
        self._composer = composer
        self._fields = fields or FieldMap()
        self._store = as_store(chunk_store, self._fields)
        linked = docstore if docstore is not None else vector_store
        self._links = None if linked is None else NodeLinks(linked, self._fields)
        self._parent_store = parent_store
        self._scope = scope
        self._alone = not sources and max(composer.config.reach) > 0
        if self._alone:
            logger.warning("%s", _ALONE)

    def compose_nodes(self, found: Sequence[NodeWithScore], question: QueryBundle | None) -> list[NodeWithScore]:
        """Return the spans that are worth most for the question, one node each."""
        done = self.compose(found, question, PLAIN_TEXT)
        return nodes_of(done.made, done.placed, self._fields, found, done.warnings)

    async def acompose_nodes(self, found: Sequence[NodeWithScore], question: QueryBundle | None) -> list[NodeWithScore]:
        """Do the same without blocking the event loop."""
        done = await self.acompose(found, question, PLAIN_TEXT)
        return nodes_of(done.made, done.placed, self._fields, found, done.warnings)

    def compose(
        self, found: Sequence[NodeWithScore], question: QueryBundle | None, style: Mapping[str, Any]
    ) -> Composed:
        """Compose what is worth most for the question; `style` are options of the rendering."""
        passages = self._passages(found)
        config = self._composer.config
        neighbours, problems = ([], []) if self._links is None else self._links.neighbours(passages, config)
        placed = self._place(passages, neighbours)
        made = self._composer.compose(
            placed.hits, placed.store, self._parent_store, **self._arguments(question), **style, **placed.overrides
        )
        return self._composed(made, placed, problems)

    async def acompose(
        self, found: Sequence[NodeWithScore], question: QueryBundle | None, style: Mapping[str, Any]
    ) -> Composed:
        """Do the same without blocking the event loop."""
        passages = self._passages(found)
        config = self._composer.config
        neighbours, problems = ([], []) if self._links is None else await self._links.aneighbours(passages, config)
        placed = self._place(passages, neighbours)
        made = await self._composer.acompose(
            placed.hits, placed.store, self._parent_store, **self._arguments(question), **style, **placed.overrides
        )
        return self._composed(made, placed, problems)

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

    def _composed(self, made: Composition, placed: Placed, problems: Sequence[str]) -> Composed:
        warnings = log_warnings(made, placed, *problems)
        return Composed(made, placed, [_ALONE, *warnings] if self._alone else warnings)
