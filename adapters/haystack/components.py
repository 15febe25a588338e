"""Haystack: a retriever around any other, and a ranker, that return whole passages within a token budget."""

# No `from __future__ import annotations`: older versions of Haystack read the types of inputs as they stand.
import inspect
from collections.abc import Mapping
from dataclasses import fields as fields_of
from functools import partial
from typing import Any, Unpack

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.core.component.types import InputSocket
from haystack.core.serialization import component_to_dict
from haystack.utils import deserialize_callable
from haystack.utils.deserialization import deserialize_component_inplace

from retrivex.composition.composition import Composition
from retrivex.config import RetrievalConfig, refuse_unknown
from retrivex.errors import RetrivexError
from retrivex.model.question import takes_both_names
from retrivex.timeouts import in_thread

from ..base.clients import check_limit
from ..base.hits import check_retriever, hits_to_ask
from .composer import DocumentComposer, SpanOptions, composer_of, keeps_back

_OPTIONS = frozenset(field.name for field in fields_of(DocumentComposer)) - {"found"}
_NESTED = ("retriever", "document_store", "chunk_store", "parent_store")


@component
class RetriVexRetriever:
    """Takes hits from another retriever and returns the spans composed of them, one Document each.

    Documents come in reading order, which is not best first unless `ordering_strategy="score_desc"` says so. Joined by
    blank lines they keep the token budget. `warnings` is an output of its own.

    Parameters
    ----------
    retriever : any Haystack retriever, by words or by embedding
    config : options of the composer, also as a mapping
    document_store : where neighbours are: one `filter_documents` for all hits, by `source_id` and `split_id`
    make_id : `(doc_id, n) -> id`, where the ids in the document store were made so: neighbours are asked for by id then
    chunk_store : takes the place of `document_store`: `{(doc_id, chunk_id): Chunk}`, anything with
        `fetch(windows, scope)`, such as `chunk_store_from_documents(pieces)`. Without both, the document store of
        `retriever` is taken, unless the retriever filters. Where there is none, hits cannot grow and are only merged
        where they touch, which is warned of.
    parent_store : where parents are
    fetch_k : hits to ask the retriever for, where it takes `top_k`, and no fewer than spans to return; None leaves it
        as it is
    top_k : most spans to return; takes the place of `config.max_spans`
    scope : what the caller may see
    fields : names of metadata, where they differ from those that Haystack's splitters write

    Raises
    ------
    RetrivexError
        If an argument breaks its rule.
    """

    __module__ = "retrivex.adapters.haystack"  # as saved pipelines name it

    def __init__(
        self,
        retriever: Any,
        config: RetrievalConfig | Mapping[str, Any] | None = None,
        *,
        fetch_k: int | None = 50,
        **options: Unpack[SpanOptions],
    ) -> None:
        refuse_unknown("RetriVexRetriever", ("retriever", "fetch_k", *_OPTIONS), options)
        check_limit("fetch_k", fetch_k)
        over = "a retriever over it" if hasattr(retriever, "filter_documents") else "a retriever of Haystack"
        self.retriever = check_retriever("retriever", retriever, "run", f"{over}, such as InMemoryBM25Retriever(store)")
        self.fetch_k = fetch_k
        self._spans = composer_of(config, options, self.retriever)

    def warm_up(self) -> None:
        """Let the retriever load what it needs."""
        if hasattr(self.retriever, "warm_up"):
            self.retriever.warm_up()

    @component.output_types(documents=list[Document], warnings=list[str])
    def run(
        self,
        query: str,
        query_embedding: list[float] | None = None,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        scope: str | list[str] | None = None,
    ) -> dict[str, Any]:
        """Return spans for a question.

        Parameters
        ----------
        query : the question
        query_embedding : shape (d,), for retrievers by embedding
        filters : handed to the retriever
        top_k : most spans to return
        scope : what the caller may see

        Returns
        -------
        dict
            `documents`, and `warnings`: whatever went otherwise than asked for.

        Raises
        ------
        RetrivexError
            If the retriever needs what is not given, or takes no filters; if an argument breaks its rule.
        """
        found = self.retriever.run(**self._inputs(query, query_embedding, filters, top_k))["documents"]
        given = {"query_embedding": query_embedding, "top_k": top_k, "scope": scope}
        return self._spans.compose(found, query, filtered=self._filters(filters), **given)

    @component.output_types(documents=list[Document], warnings=list[str])
    async def run_async(
        self,
        query: str,
        query_embedding: list[float] | None = None,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        scope: str | list[str] | None = None,
    ) -> dict[str, Any]:
        """Do the same, awaiting retriever and store; a retriever without `run_async` runs in a thread."""
        inputs = self._inputs(query, query_embedding, filters, top_k)
        if getattr(self.retriever, "__haystack_supports_async__", False):
            found = (await self.retriever.run_async(**inputs))["documents"]
        else:
            found = (await in_thread(partial(self.retriever.run, **inputs)))["documents"]
        given = {"query_embedding": query_embedding, "top_k": top_k, "scope": scope}
        return await self._spans.acompose(found, query, filtered=self._filters(filters), **given)

    @takes_both_names
    def compose(
        self,
        query: str,
        query_embedding: list[float] | None = None,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        scope: str | list[str] | None = None,
    ) -> Composition:
        """Return the whole composition for a question: text with numbered sources, citations, confidence, prompts.

        Arguments as of `run`.
        """
        found = self.retriever.run(**self._inputs(query, query_embedding, filters, top_k))["documents"]
        given = {"query_embedding": query_embedding, "top_k": top_k, "scope": scope}
        return self._spans.composition(found, query, filtered=self._filters(filters), **given)

    def _filters(self, given: dict[str, Any] | None) -> bool:
        """Whether the hits of a call are filtered, by the call or by the retriever."""
        return given is not None or keeps_back(self.retriever)

    def _inputs(
        self, query: str, query_embedding: list[float] | None, filters: dict[str, Any] | None, top_k: int | None
    ) -> dict[str, Any]:
        """Return what the retriever takes of what there is."""
        taken = _inputs_of(self.retriever)
        wanted = hits_to_ask(self.fetch_k, self._spans.most(top_k))
        given = {"query": query, "query_embedding": query_embedding, "filters": filters, "top_k": wanted}
        known = {name: value for name, value in given.items() if value is not None and name in taken}
        kind = type(self.retriever).__name__
        if filters is not None and "filters" not in taken:
            raise RetrivexError(f"{kind} takes no filters: leave them out, or take a retriever that does")
        missing = [name for name, needed in taken.items() if needed and name not in known]
        if missing:
            raise RetrivexError(f"{kind} needs {', '.join(missing)}: connect or pass it to this retriever")
        return known

    def to_dict(self) -> dict[str, Any]:
        """Return it as a saved pipeline has it.

        Raises
        ------
        RetrivexError
            If something of it can be in no file: a function among the options, a store that lives in this process.
        """
        retriever = component_to_dict(self.retriever, "retriever")
        return default_to_dict(self, retriever=retriever, fetch_k=self.fetch_k, **self._spans.saved())

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "RetriVexRetriever":
        """Make it again of what `to_dict` returned."""
        return default_from_dict(cls, _load(data))


@component
class RetriVexRanker:
    """Composes spans of Documents that retrievers have found, best first; the output is that of `RetriVexRetriever`.

    It works behind anything that ends in Documents: a joiner, another ranker. `RetriVexRetriever` also asks its
    retriever for enough hits; here let that return some 50.

    Parameters
    ----------
    config, document_store, make_id, chunk_store, parent_store, top_k, scope, fields : as for `RetriVexRetriever`

    Raises
    ------
    RetrivexError
        If an argument breaks its rule.
    """

    __module__ = "retrivex.adapters.haystack"  # as saved pipelines name it

    def __init__(
        self, config: RetrievalConfig | Mapping[str, Any] | None = None, **options: Unpack[SpanOptions]
    ) -> None:
        refuse_unknown("RetriVexRanker", _OPTIONS, options)
        self._spans = composer_of(config, options)

    @component.output_types(documents=list[Document], warnings=list[str])
    def run(
        self, query: str, documents: list[Document], top_k: int | None = None, scope: str | list[str] | None = None
    ) -> dict[str, Any]:
        """Return spans of `documents`; arguments and result as of `RetriVexRetriever.run`."""
        return self._spans.compose(documents, query, top_k=top_k, scope=scope)

    @component.output_types(documents=list[Document], warnings=list[str])
    async def run_async(
        self, query: str, documents: list[Document], top_k: int | None = None, scope: str | list[str] | None = None
    ) -> dict[str, Any]:
        """Do the same, awaiting the store."""
        return await self._spans.acompose(documents, query, top_k=top_k, scope=scope)

    def to_dict(self) -> dict[str, Any]:
        """Return it as a saved pipeline has it; raises as `RetriVexRetriever.to_dict` does."""
        return default_to_dict(self, **self._spans.saved())

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "RetriVexRanker":
        """Make it again of what `to_dict` returned."""
        return default_from_dict(cls, _load(data))


def _inputs_of(retriever: Any) -> dict[str, bool]:
    """Return the names of a retriever's inputs, and whether it needs them."""
    # of a component not its signature: a SuperComponent's `run` takes `**kwargs`
    sockets = vars(getattr(retriever, "__haystack_input__", retriever)).items()
    inputs = {name: bool(socket.is_mandatory) for name, socket in sockets if isinstance(socket, InputSocket)}
    if inputs:
        return inputs
    parameters = inspect.signature(retriever.run).parameters
    return {name: parameter.default is parameter.empty for name, parameter in parameters.items()}


def _load(data: dict[str, Any]) -> dict[str, Any]:
    """Return saved data with its components, stores and functions made again; `data` itself stays as it is."""
    parameters = dict(data.get("init_parameters", {}))
    for name in _NESTED:
        if isinstance(parameters.get(name), dict) and "type" in parameters[name]:
            deserialize_component_inplace(parameters, key=name)
    if isinstance(parameters.get("make_id"), str):
        parameters["make_id"] = deserialize_callable(parameters["make_id"])
    return {**data, "init_parameters": parameters}
