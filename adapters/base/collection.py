"""The interface to a collection in any vector store: the requests and the records that answer them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from retrivex.errors import StoreError
from retrivex.model.chunk import Chunk, ChunkKey
from retrivex.model.window import Window
from retrivex.text.addresses import without_credentials

from .documents import Passage
from .fields import FieldMap

Scopes: TypeAlias = frozenset[str | None]
"""Values of the scope field that the caller may see; None stands for records without one."""

Failure: TypeAlias = Literal["timeout", "down", "refused"]
"""`timeout`: no answer in time; `down`: asking again may help; `refused`: it will not."""


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
    """Request for the `k` records nearest to a vector of shape (d,), best first."""

    vector: NDArray[np.float32]
    k: int
    scopes: Scopes


@dataclass(frozen=True, slots=True)
class Scan:
    """Request for up to `limit` records of the collection, in a fixed order, from `after` on (None: the first)."""

    after: Any
    limit: int


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
    again : of `Scan`: the next one begins anew, as what was read is no longer in its place
    warnings : what could not be answered as asked
    """

    records: Sequence[Record] = field(default_factory=list)
    after: Any = None
    again: bool = False
    warnings: tuple[str, ...] = ()


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


class Collection(ABC):
    """An existing collection, accessed through an existing client; each vector store has its own subclass.

    Every method sends exactly one request. `ask` needs a sync client, `aask` an async one; a class may be built with
    either, or with both. Values are handed to the client as values, never put into a query's text.

    Parameters
    ----------
    fields : names in its records
    name : what errors and caches call it: the store and the collection
    batch_limit : most chunks one request may ask for
    is_sync, is_async : which clients there are
    """

    fields: FieldMap
    name: str
    batch_limit: int
    is_sync: bool = True
    is_async: bool = False
    own_client: Any = None
    """The client that was made for this collection alone, by `open_collection`."""

    @abstractmethod
    def ask(self, request: Request) -> Records:
        """Answer a request, or raise what the client raises."""

    async def aask(self, request: Request) -> Records:
        """Answer a request through the async client."""
        raise NotImplementedError  # only reached where is_async says that there is one

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

    @abstractmethod
    def failure(self, error: Exception) -> Failure:
        """Say what an error of the client means."""

    def close(self) -> None:
        """Close the client that was made for this collection; one of the caller's stays open."""
        close = getattr(self.own_client, "close", None)
        if close is not None:
            close()

    def missing_index(self) -> str | None:
        """Say how to make the index that `ByWindows` needs; None where it is there, or nobody knows."""
        return None

    async def amissing_index(self) -> str | None:
        """Say the same where there is only an async client; asked after the first answer."""
        return None

    def refuses_text(self, path: str) -> str | None:
        """Say why a field cannot take texts of ours, as one of ids; None where it can, or nobody knows."""
        return None

    def place(self, id: str) -> tuple[ChunkKey, int] | None:
        """Return place and number of chunks in the document of a record; None where only the record itself says it."""
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
        raise StoreError(f"{self.name} cannot be written to: keep the numbers in a file beside it")
