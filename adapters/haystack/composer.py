"""Haystack: the composition of Documents that the retriever and the ranker share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypedDict

from haystack import Document
from haystack.document_stores.types import DocumentStore
from haystack.utils import serialize_callable

from retrivex.composer.composer import SpanComposer
from retrivex.composition.composition import Composition
from retrivex.config import RetrievalConfig
from retrivex.errors import StoreError
from retrivex.model.chunk import Scope
from retrivex.stores.access import check_store
from retrivex.stores.protocol import AnyChunkStore, AnyParentStore

from ..base.behind import FOUND, is_numbered, leaves_of
from ..base.clients import check_limit
from ..base.fields import FieldMap, LayoutName, MakeId
from ..base.hits import Placed, place
from ..base.logs import logger
from ..base.results import PLAIN_TEXT, for_callers, log_warnings, no_store
from .documents import as_config, as_fields, documents_of, read_document, saved_config, saved_fields
from .stores import DocumentStoreChunkStore

_ALONE = no_store("document_store")
_INNER = {"haystack.TextEmbeddingRetriever": "retriever"}
_FILTERS = ("filters", "_filters", "custom_query", "_custom_query")


class SpanOptions(TypedDict, total=False):
    """Arguments that `RetriVexRetriever` and `RetriVexRanker` share, beside the configuration."""

    document_store: DocumentStore | None
    make_id: MakeId | None
    chunk_store: AnyChunkStore | None
    parent_store: AnyParentStore | None
    top_k: int | None
    scope: Scope
    fields: FieldMap | LayoutName | Mapping[str, Any]


def composer_of(
    config: RetrievalConfig | Mapping[str, Any] | None, options: SpanOptions, retriever: Any = None
) -> DocumentComposer:
    """Return what composes with these arguments, as they were given.

    Parameters
    ----------
    config, options : see `RetriVexRetriever`
    retriever : whose document store is taken where the arguments name no place for neighbours
    """
    given: dict[str, Any] = {**options, "fields": as_fields(options.get("fields", "haystack"))}
    made = as_config(config)
    behind = None
    if max(made.reach) > 0 and options.get("document_store") is None and options.get("chunk_store") is None:
        behind = _document_store_behind(retriever)
    if behind is None:
        return DocumentComposer(made, **given)
    logger.info(FOUND, type(behind).__name__)
    return DocumentComposer(made, **{**given, "document_store": behind}, found=True)


def _document_store_behind(retriever: Any) -> DocumentStore | None:
    """Return the document store of a retriever of Haystack's own; None where it filters, or is of another kind."""
    if keeps_back(retriever):
        return None
    asked = leaves_of(retriever, _INNER)
    stores = (getattr(leaf, name, None) for leaf in asked for name in ("document_store", "_document_store"))
    return next((store for store in stores if callable(getattr(store, "filter_documents", None))), None)


def keeps_back(retriever: Any) -> bool:
    """Whether a retriever may keep documents back, by its filters or in a way of its own."""
    return any(map(_keeps_back, leaves_of(retriever, _INNER)))


def _keeps_back(retriever: Any) -> bool:
    own = type(retriever).__module__.partition(".")[0] in ("haystack", "haystack_integrations")
    return not own or any(getattr(retriever, name, None) for name in _FILTERS)


@dataclass(frozen=True)
class DocumentComposer:
    """Composes spans of Documents, with neighbours from a document store or any chunk store.

    Parameters
    ----------
    found : whether `document_store` is that behind the retriever, which the caller did not name
    config, document_store, make_id, chunk_store, parent_store, top_k, scope, fields : see `RetriVexRetriever`

    Raises
    ------
    StoreError
        If neighbours are to come from two places, or from something that has none; if `top_k` is less than 1.
    """

    config: RetrievalConfig
    fields: FieldMap
    document_store: DocumentStore | None = None
    make_id: MakeId | None = None
    chunk_store: AnyChunkStore | None = None
    parent_store: AnyParentStore | None = None
    top_k: int | None = None
    scope: Scope = None
    found: bool = False  # behind the retriever: its document store

    def __post_init__(self) -> None:
        if self.document_store is not None and self.chunk_store is not None:
            raise StoreError(
                "both document_store and chunk_store are given: neighbours come from one of them; leave one out"
            )
        if self.make_id is not None and self.document_store is None:
            raise StoreError("make_id is given without document_store: it says how the ids there were made")
        check_limit("top_k", self.top_k)
        _ = self.store, self.composer  # what is wrong with them shows now, not at the first question
        if self.store is None and max(self.config.reach) > 0:
            logger.warning("%s", _ALONE)

    @cached_property
    def composer(self) -> SpanComposer:
        """Does the work."""
        return SpanComposer(self.config)

    @cached_property
    def store(self) -> AnyChunkStore | None:
        """Where neighbours are."""
        if self.document_store is not None:
            return DocumentStoreChunkStore(self.document_store, self.make_id, fields=self.fields)
        way_out = "of pieces make chunk_store_from_documents(pieces); a document store goes to document_store"
        return None if self.chunk_store is None else check_store(self.chunk_store, way_out)

    def most(self, top_k: int | None) -> int | None:
        """Return the most spans of a call; None where there is no limit.

        Raises
        ------
        StoreError
            If `top_k` is less than 1.
        """
        check_limit("top_k", top_k)
        limits = (top_k, self.top_k, self.config.max_spans)
        return next((limit for limit in limits if limit is not None), None)

    def compose(
        self, documents: Sequence[Document], query: str, *, filtered: bool = False, **given: Any
    ) -> dict[str, Any]:
        """Return the outputs of a component: `documents` and `warnings`.

        Parameters
        ----------
        documents, query : hits and question
        filtered : whether the hits were filtered, so that a document store that nobody named is left alone
        **given : `top_k`, `scope`, `query_embedding`
        """
        return self._outputs(*self._compose_hits(documents, query, PLAIN_TEXT, filtered, **given))

    async def acompose(
        self, documents: Sequence[Document], query: str, *, filtered: bool = False, **given: Any
    ) -> dict[str, Any]:
        """Do the same without blocking the event loop."""
        placed = self._place(documents, filtered)
        arguments = {**self._arguments(placed, **given), **PLAIN_TEXT}
        made = await self.composer.acompose(placed.hits, placed.store, self.parent_store, query=query, **arguments)
        return self._outputs(made, placed)

    def composition(
        self, documents: Sequence[Document], query: str, *, filtered: bool = False, **given: Any
    ) -> Composition:
        """Return the whole composition, rendered as the options say."""
        made, placed = self._compose_hits(documents, query, {}, filtered, **given)
        return for_callers(made, placed, self._warnings(made, placed))

    def _compose_hits(
        self, documents: Sequence[Document], query: str, style: Mapping[str, Any], filtered: bool, **given: Any
    ) -> tuple[Composition, Placed]:
        placed = self._place(documents, filtered)
        arguments = {**self._arguments(placed, **given), **style}
        return self.composer.compose(placed.hits, placed.store, self.parent_store, query=query, **arguments), placed

    def _place(self, documents: Sequence[Document], filtered: bool) -> Placed:
        passages = [read_document(document, self.fields) for document in documents]
        left_alone = self.found and (filtered or not any(map(is_numbered, passages)))
        return place(passages, None if left_alone else self.store, self.config)

    def _arguments(
        self,
        placed: Placed,
        *,
        top_k: int | None = None,
        scope: Scope = None,
        query_embedding: Sequence[float] | None = None,
    ) -> dict[str, Any]:
        most = self.most(top_k)
        return {
            "scope": self.scope if scope is None else scope,
            "query_embedding": query_embedding,
            "max_spans": most,
            **placed.overrides,
        }

    def _outputs(self, made: Composition, placed: Placed) -> dict[str, Any]:
        return {"documents": documents_of(made, placed, self.fields), "warnings": self._warnings(made, placed)}

    def _warnings(self, made: Composition, placed: Placed) -> list[str]:
        return [*([_ALONE] if placed.alone else []), *log_warnings(made, placed)]

    def saved(self) -> dict[str, Any]:
        """Return what it was made of, as a saved pipeline has it.

        Raises
        ------
        StoreError
            If something of it can be in no file: a function among the options, a store that lives in this process.
        """
        return {
            "config": saved_config(self.config),
            "document_store": _save("document_store", None if self.found else self.document_store),
            "make_id": None if self.make_id is None else serialize_callable(self.make_id),
            "chunk_store": _save("chunk_store", self.chunk_store),
            "parent_store": _save("parent_store", self.parent_store),
            "top_k": self.top_k,
            "scope": self.scope if self.scope is None or isinstance(self.scope, str) else _sort_scopes(self.scope),
            "fields": saved_fields(self.fields),
        }


def _save(name: str, store: Any) -> dict[str, Any] | None:
    if store is None:
        return None
    if not hasattr(store, "to_dict") or not hasattr(type(store), "from_dict"):
        raise StoreError(
            f"{name} is {type(store).__name__}, without to_dict and from_dict: a pipeline with it cannot be saved; "
            "take a document store of Haystack as document_store"
        )
    saved: Mapping[str, Any] = store.to_dict()
    return dict(saved)


def _sort_scopes(scopes: Any) -> list[str | None]:
    return sorted(scopes, key=lambda scope: (scope is not None, scope or ""))
