"""The interface to a collection in any vector store: the requests and the records that answer them."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from retrivex.errors import RetrivexError, StoreError, StoreTimeoutError
from retrivex.model.chunk import Chunk
from retrivex.model.window import Window
from retrivex.text.addresses import without_credentials
from retrivex.timeouts import call_in_time

from .clients import check_timeout, either_client
from .documents import Passage, as_int
from .failures import Failure, failure_of
from .fields import LAYOUTS, FieldMap, LayoutName, field_map
from .where import Group

Search: TypeAlias = Literal["vectors", "words", "hybrid"]
"""What is compared with a question: vectors, words, or both, in one ranking."""

Scopes: TypeAlias = frozenset[str | None]
"""Values of the scope field that the caller may see; None stands for records without one."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ByIds:
    """Request for the records with these ids; ids that do not exist are left out."""

    ids: tuple[str, ...]
    scopes: Scopes


@dataclass(frozen=True, slots=True)
class ByWindows:
    """Request for the records whose document and chunk number lie in these windows, which do not overlap."""

    windows: tuple[Window, ...]
    scopes: Scopes


@dataclass(frozen=True, slots=True)
class Nearest:
    """Request for the `k` records nearest to a vector of shape (d,), or to the words of a question, best first.

    Parameters
    ----------
    vector : of the question; of shape (0,) where words alone are asked for
    where : what they must hold beside the scope; the collection may give others as well, which are left out later
    """

    vector: NDArray[np.float32]
    k: int
    scopes: Scopes
    where: Group | None = None
    question: str = ""
    search: Search = "vectors"


@dataclass(frozen=True, slots=True)
class Scan:
    """Request for up to `limit` records of the collection, in a fixed order, from `after` on (None: the first)."""

    after: Any
    limit: int


Steps: TypeAlias = Generator[Any, Any, T]
"""Calls of a client one after another, each answered before the next; what they found is returned in the end.

A call is a function of the client, sync or async: `(yield lambda client: client.scroll(...))` is its answer. The client
itself is the answer to None.
"""

Request: TypeAlias = ByIds | ByWindows | Nearest | Scan


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a collection: a chunk as it is stored.

    Parameters
    ----------
    id : its id there, as text
    payload : everything but the vector
    score : of `Nearest`: larger is better, whatever the metric (a cosine or inner product as it is, minus a distance)
    vector : shape (d,), where it was asked for or costs nothing
    passage : the same, read already: frameworks hand out Documents and nodes, whose payload nobody needs to know
    """

    id: str
    payload: Mapping[str, Any]
    score: float | None = None
    vector: NDArray[np.float32] | None = None
    passage: Passage | None = None


@dataclass(frozen=True, slots=True)
class Records:
    """The records that answer a request.

    Parameters
    ----------
    records : in the order of `Nearest` and `Scan`, in any order otherwise
    after : of `Scan`: where the next one goes on; None where the collection ends
    warnings : what could not be answered as asked
    """

    records: Sequence[Record] = field(default_factory=list)
    after: Any = None
    warnings: tuple[str, ...] = ()


def by_range(windows: Sequence[Window]) -> dict[tuple[int, int], list[str]]:
    """Return the documents of windows by their range of numbers: one condition does for all of these."""
    documents: dict[tuple[int, int], list[str]] = {}
    for window in windows:
        documents.setdefault((window.start, window.end), []).append(window.doc_id)
    return documents


def within(records: Sequence[Record], windows: Sequence[Window], fields: FieldMap) -> list[Record]:
    """Return the records that lie in one of the windows: some stores find more than they were asked for."""
    wanted = {(window.doc_id, n) for window in windows for n in range(window.start, window.end)}
    read = [(record, fields.inside(record.payload) or {}) for record in records]
    places = [(str(fields.read(inner, "doc_id")), as_int(fields.read(inner, "chunk_id"))) for _, inner in read]
    return [record for (record, _), place in zip(read, places, strict=True) if place in wanted]


def visible(records: Sequence[Record], scopes: Scopes, fields: FieldMap) -> list[Record]:
    """Return the records that `scopes` may see; what has none, or cannot be read, belongs to nobody."""
    return [record for record in records if fields.scope_of(fields.inside(record.payload) or {}) in scopes]


def check_collection(given: Any) -> Collection:
    """Return `given` if it is a collection.

    Raises
    ------
    StoreError
        If it is something else, such as a client or a chunk store.
    """
    if isinstance(given, Collection):
        return given
    raise StoreError(
        f"collection is {type(given).__name__}: it must be a Collection, such as QdrantCollection(client, name)"
    )


class Collection:
    """An existing collection, accessed through existing clients; each vector store has its own subclass.

    A subclass says in `_steps` what to call and what the answers mean, once for both clients. Values are handed to the
    client as values, never put into a query's text.

    Parameters
    ----------
    fields : names in its records
    name : what errors and caches call it: the store and the collection
    batch_limit : most chunks one request may ask for
    """

    fields: FieldMap
    name: str
    batch_limit: int
    searches: ClassVar[frozenset[Search]] = frozenset({"vectors"})
    """What one request can search; where it is vectors and words, a hybrid is two requests, fused."""

    own_client: Any = None
    """The client that was made for this collection alone, by `open_collection`."""

    _sync: Any = None
    _async: Any = None
    _timeout_s: float | None = None
    _limits_itself = True
    """Whether the sync client gives up by itself after `_timeout_s`; the async one is always given up on."""

    @property
    def is_sync(self) -> bool:
        """Whether there is a sync client."""
        return self._sync is not None

    @property
    def is_async(self) -> bool:
        """Whether there is an async client."""
        return self._async is not None

    def ask(self, request: Request) -> Records:
        """Answer a request, or raise what the client raises."""
        return self._run(self._steps(request))

    async def aask(self, request: Request) -> Records:
        """Answer a request through the async client."""
        return await self._arun(self._steps(request))

    def _steps(self, request: Request) -> Steps[Records]:
        """Answer a request by calls of either client."""
        raise NotImplementedError  # unless `ask` and `aask` are answered in another way

    def _run(self, steps: Steps[T]) -> T:
        answer = None
        while True:
            try:
                call = steps.send(answer)
            except StopIteration as done:
                made: T = done.value
                return made
            answer = self._sync if call is None else self._send(call)

    async def _arun(self, steps: Steps[T]) -> T:
        answer = None
        while True:
            try:
                call = steps.send(answer)
            except StopIteration as done:
                made: T = done.value
                return made
            answer = self._async if call is None else await asyncio.wait_for(self._asend(call), self._timeout_s)

    def _send(self, call: Any) -> Any:
        if self._limits_itself:
            return call(self._sync)
        try:
            return call_in_time(partial(call, self._sync), self._timeout_s)
        except StoreTimeoutError as error:
            raise TimeoutError(f"no answer within timeout_s={self._timeout_s:g}") from error

    async def _asend(self, call: Any) -> Any:
        answer = call(self._async)
        return await answer if inspect.isawaitable(answer) else answer

    @staticmethod
    def connect(address: str, api_key: str | None) -> Any:
        """Return a sync client for an address, as commands open it.

        Parameters
        ----------
        address : a URL, or what else the store knows: a folder, a file, a connection string
        api_key : where the server wants one
        """
        place = without_credentials(address)
        raise StoreError(f"a client for {place!r} cannot be made here: make one, and give it to the collection")

    def failure(self, error: Exception) -> Failure:
        """Say what an error of the client means."""
        return failure_of(error)

    def close(self) -> None:
        """Close the client that was made for this collection; one of the caller's stays open."""
        close = getattr(self.own_client, "close", None)
        if close is not None:
            close()

    def refuses_text(self, path: str) -> str | None:
        """Say why a field cannot take texts of ours, as one of ids; None where it can, or nobody knows."""
        return None

    def put(
        self,
        doc_ids: Sequence[str],
        chunks: Sequence[Chunk],
        vectors: NDArray[np.float32],
        counts: Sequence[str] | None = None,
    ) -> None:
        """Write whole documents in place of what the collection has of them; it is made where it is missing.

        Ids are made of document and number (`uuid5_id`), so that writing the same again changes nothing.

        Parameters
        ----------
        doc_ids : the documents, those without a chunk among them
        chunks : all of their chunks
        vectors : shape (n, d), one for each chunk
        counts : what `StoredCount.to_field` makes of each chunk, where the collection can keep it; None: no counts
        """
        raise StoreError(
            f"{self.name} is not filled from here: write the chunks with its own client, or take another store"
        )

    def write(self, changes: Mapping[str, Mapping[str, Any]]) -> None:
        """Set fields of records: `{id: {path: value}}`, other fields left as they are; for `retrivex backfill`."""
        raise StoreError(f"{self.name} cannot be written to: give the chunks as chunk store, or ids by make_id=...")


class ClientCollection(Collection):
    """A collection of a vector store, accessed through the store's own client.

    Parameters
    ----------
    client : existing client, sync or async; None beside an `async_client`. It stays open
    collection : name of an existing collection, table or index
    async_client : for `afetch` and `aretrieve`, beside a sync `client`; both ask the same server
    fields : a FieldMap, or the layout of the framework that wrote the collection
    vector_name : which of several vectors questions are compared with
    with_vectors : read the vectors of records as well, for scoring and continuity by embeddings: more to send
    timeout_s : longest wait for an answer, in seconds

    Raises
    ------
    StoreError
        If an argument breaks its rule, or the store refuses to say what the collection is like. A store that is down
        just now is looked at with the first request.
    """

    title: ClassVar[str]
    """What errors call a collection."""

    kinds: ClassVar[tuple[Sequence[str], Sequence[str]]]
    """Names of the classes of sync and of async clients."""

    give: ClassVar[tuple[str, str]]
    """What a sync and an async client are, for errors."""

    called: ClassVar[tuple[str, str]] = "client", "async_client"
    layouts: ClassVar[Mapping[LayoutName, FieldMap]] = LAYOUTS

    def __init__(
        self,
        client: Any,
        collection: str,
        *,
        async_client: Any = None,
        fields: FieldMap | LayoutName = "retrivex",
        vector_name: str | None = None,
        with_vectors: bool = False,
        timeout_s: float = 10.0,
    ) -> None:
        self._sync, self._async = either_client(client, async_client, self.kinds, self.give, self.called)
        if not isinstance(collection, str) or not collection:
            raise StoreError(f"the collection is {collection!r}: give its name")
        self.fields = field_map(fields, self.layouts)
        self.name = f"{self.title} {collection!r}"
        self._collection = collection
        self._vector_name, self._with_vectors = vector_name, with_vectors
        self._timeout_s = check_timeout(timeout_s)
        if self.is_sync:
            self._learn_at_once()

    def _learn(self) -> Steps[Any]:
        """Read what has to be known of the collection; nothing, where nothing has to be."""
        yield from ()

    def _learn_at_once(self) -> None:
        try:
            self._run(self._learn())
        except RetrivexError:
            raise
        except Exception as error:
            # what may pass is no reason to fail now: the first request looks again
            if self.failure(error) == "refused":
                raise StoreError(f"{self.name} cannot be read ({type(error).__name__}: {error})") from error
