"""LlamaIndex: neighbours by the PREVIOUS and NEXT links of nodes, where no index holds their positions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any, TypeAlias

from llama_index.core.schema import BaseNode
from llama_index.core.storage.docstore import BaseDocumentStore
from llama_index.core.vector_stores.types import BasePydanticVectorStore

from retrivex.config import RetrievalConfig
from retrivex.errors import HitError, StoreError, describe_cause
from retrivex.timeouts import await_in_time, call_in_time, in_thread

from ..base.documents import Passage
from ..base.fields import FieldMap
from .nodes import read_node

NodeStore: TypeAlias = BaseDocumentStore | BasePydanticVectorStore
"""Where nodes are got by their ids."""


class NodeLinks:
    """Follows the links of hits outwards: one request per step, for all hits together.

    Parameters
    ----------
    store : a docstore, or a vector store with `get_nodes`
    fields : names of metadata

    Raises
    ------
    StoreError
        If it is neither.
    """

    def __init__(self, store: NodeStore, fields: FieldMap) -> None:
        self._store = check_node_store(store)
        self._fields = fields

    def neighbours(self, hits: Sequence[Passage], config: RetrievalConfig) -> tuple[list[Passage], list[str]]:
        """Return what was found, and why it may be less than there is.

        Raises
        ------
        HitError
            With `strict`, if hits have no links.
        StoreError
            With `strict`, if the store fails or takes longer than `store_timeout_s`.
        """
        walk = Walk(hits, config)
        try:
            while wanted := walk.wanted():
                nodes = call_in_time(
                    partial(self._store.get_nodes, **with_ids(self._store, wanted)), config.store_timeout_s
                )
                walk.add([read_node(node, self._fields) for node in nodes])
        except Exception as error:  # noqa: BLE001 - a store is somebody else's code; hits go on alone, and it is said
            return walk.found, [_report_failure(error, config)]
        return walk.found, walk.problems()

    async def aneighbours(self, hits: Sequence[Passage], config: RetrievalConfig) -> tuple[list[Passage], list[str]]:
        """Do the same without blocking the event loop."""
        walk = Walk(hits, config)
        try:
            while wanted := walk.wanted():
                nodes = await await_in_time(partial(_aget_nodes, self._store, wanted), config.store_timeout_s)
                walk.add([read_node(node, self._fields) for node in nodes])
        except Exception as error:  # noqa: BLE001 - as above
            return walk.found, [_report_failure(error, config)]
        return walk.found, walk.problems()


def check_node_store(store: object) -> NodeStore:
    """Return `store` if nodes can be got from it by their ids.

    Raises
    ------
    StoreError
        If it is no docstore, and no vector store that keeps texts and has `get_nodes`.
    """
    if isinstance(store, BaseDocumentStore):
        return store
    name = type(store).__name__
    if not isinstance(store, BasePydanticVectorStore):
        raise StoreError(f"{name} is no docstore and no vector store of LlamaIndex: give one of them")
    if not store.stores_text or type(store).get_nodes is BasePydanticVectorStore.get_nodes:
        raise StoreError(
            f"{name} keeps no texts, or has no get_nodes: give the docstore, or chunk_store=nodes, the nodes themselves"
        )
    return store


def with_ids(store: NodeStore, ids: Sequence[str]) -> dict[str, Any]:
    """Return the arguments of `get_nodes` that ask for the nodes that exist."""
    if isinstance(store, BaseDocumentStore):
        return {"node_ids": list(ids), "raise_error": False}
    return {"node_ids": list(ids)}


async def _aget_nodes(store: NodeStore, ids: Sequence[str]) -> list[BaseNode]:
    if isinstance(store, BaseDocumentStore) or is_async(store):
        return await store.aget_nodes(**with_ids(store, ids))
    return await in_thread(lambda: store.get_nodes(**with_ids(store, ids)))


def is_async(store: BasePydanticVectorStore) -> bool:
    """Whether it has an `aget_nodes` of its own: the inherited one blocks."""
    return type(store).aget_nodes is not BasePydanticVectorStore.aget_nodes


def _report_failure(error: Exception, config: RetrievalConfig) -> str:
    problem = f"the node store gave no more neighbours: spans end early ({describe_cause(error)})"
    if config.strict:
        raise StoreError(problem) from error
    return problem


class Walk:
    """One walk outwards from the hits along their links, all hits one step at a time.

    A hit that has children stays as it is: neighbours of a parent hold what its nephews say, which may be hits, too.
    Where a hit knows only what comes before it, as a leaf of a `HierarchicalNodeParser`, its parent knows the rest.
    """

    def __init__(self, hits: Sequence[Passage], config: RetrievalConfig) -> None:
        before, after = config.reach
        further = config.max_window if config.grow_until is not None else 0
        self.left = [max(before, further), max(after, further)]
        self.ends = [[hit for hit in hits if not hit.children] for _ in self.left]
        self.siblings: dict[str | None, str | None] = {}  # who comes next among the children of a parent
        self.parents = (
            {hit.parent_id: None for hit in self.ends[1] if hit.after is None and hit.parent_id} if self.left[1] else {}
        )
        self.known = {hit.id for hit in hits}
        self.found: list[Passage] = []
        self.missing: dict[str, None] = {}
        self._hits = hits
        self._strict = config.strict
        self._grows = max(self.left) > 0

    def wanted(self) -> list[str]:
        """Return ids of the parents to ask, then of the next nodes outwards; none where windows or documents end."""
        if self.parents:
            return [parent for parent in self.parents if parent]
        ids = [
            link
            for direction in (0, 1)
            if self.left[direction] > 0
            for end in self.ends[direction]
            if (link := self._link(end, direction)) is not None and link not in self.known
        ]
        return list(dict.fromkeys(ids))

    def add(self, passages: Sequence[Passage]) -> None:
        """Take a step to what was found; a link that leads to another document is the end."""
        if self.parents:
            self.parents = {}
            for parent in passages:
                self.siblings |= zip(parent.children, [*parent.children[1:], None], strict=False)
            return
        by_id = {passage.id: passage for passage in passages}
        self.missing |= dict.fromkeys(id for id in self.wanted() if id not in by_id)
        for direction in (0, 1):
            ends = [(end, by_id.get(self._link(end, direction))) for end in self.ends[direction]]
            self.ends[direction] = [new for end, new in ends if new is not None and new.doc_id == end.doc_id]
            if self.left[direction] <= 0:
                self.ends[direction] = []
            self.left[direction] -= 1
            for new in self.ends[direction]:
                if new.id not in self.known:
                    self.known.add(new.id)
                    self.found.append(new)

    def problems(self) -> list[str]:
        """Say what ended the walk that should not have.

        Raises
        ------
        HitError
            With `strict`, if hits have no links.
        """
        problems = []
        unlinked = self._count_unlinked() if self._grows else 0
        if unlinked:
            problems.append(
                f"{unlinked} of {len(self._hits)} hits stay as they are: they have no PREVIOUS and no NEXT; parse the "
                "documents with a node parser that writes them, or pass chunk_store"
            )
            if self._strict:
                raise HitError(problems[0])
        if self.missing:
            first = next(iter(self.missing))
            problems.append(
                f"{len(self.missing)} neighbours missing from the node store, first {first!r}: spans end there; give "
                "the store that holds the nodes: a docstore is empty where the vector store keeps the texts"
            )
        return problems

    def _link(self, passage: Passage, direction: int) -> str | None:
        return passage.after or self.siblings.get(passage.id) if direction else passage.before

    def _count_unlinked(self) -> int:
        """Count hits without links; the only hit of a document may be all of it."""
        pieces = Counter(hit.doc_id for hit in self._hits)
        return sum(
            hit.before is None and hit.after is None and not hit.children and hit.id not in self.siblings
            for hit in self._hits
            if hit.doc_id is None or pieces[hit.doc_id] > 1
        )
