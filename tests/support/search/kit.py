"""A search engine as it is tested: its client, its classes, its contract, and the server that stands in for it."""

from __future__ import annotations

import os
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from support.search.server import SearchServer
from support.vector_contract import CountsContract, WhereContract, WordsContract

from retrivex import Chunk
from retrivex.adapters.base.fields import FieldMap, MakeId
from retrivex.adapters.base.store import VectorChunkStore
from retrivex.testing import StoreUnderTest

EXACT: dict[str, Any] = {
    "doc_id": {"type": "keyword"},
    "chunk_id": {"type": "integer"},
    "page": {"type": "integer"},
    **{name: {"type": "double"} for name in ("timestamp", "weight")},  # dynamic mapping makes floats of 32 bits
    "scope": {"type": "keyword"},
    "text": {"type": "text"},
}


class Kit(ABC):
    """One product: its client, its classes in `retrivex.adapters`, and how vectors are mapped there."""

    flavour: str
    example: str
    collection: Any
    store: Any
    retriever: Any
    metrics: dict[str, Callable[[Any, Any], float]]

    @abstractmethod
    def client(self, url: str) -> Any: ...

    @abstractmethod
    def async_client(self, url: str) -> Any: ...

    @abstractmethod
    def vectors(self, metric: str | None = None) -> dict[str, Any]:
        """Return the mapping of a field of vectors of shape (8,); None is the cosine."""

    @abstractmethod
    def create(self, client: Any, index: str, mappings: dict[str, Any]) -> None: ...

    @abstractmethod
    def bulk(self, client: Any, index: str, lines: list[Any]) -> Any: ...

    def put(self, client: Any, index: str, records: dict[str, dict[str, Any]]) -> None:
        lines = [line for id, record in records.items() for line in ({"index": {"_id": id}}, record)]
        for at in range(0, len(lines), 2000):
            answer = self.bulk(client, index, lines[at : at + 2000])
            assert not answer["errors"], answer["items"][:1]

    def fill(
        self,
        client: Any,
        chunks: Sequence[Chunk],
        *,
        make_id: MakeId | None = None,
        properties: dict[str, Any] | None = None,
        metric: str | None = None,
        fields: FieldMap | None = None,
    ) -> str:
        """Make an index of chunks; return its name."""
        index = f"retrivex-test-{uuid.uuid4().hex[:12]}"
        vectors = {"embedding": self.vectors(metric)}
        self.create(client, index, {"properties": {**(EXACT if properties is None else properties), **vectors}})
        records = {}
        for at, chunk in enumerate(chunks):
            vector = {} if chunk.embedding is None else {"embedding": [float(x) for x in chunk.embedding]}
            id = f"record-{at}" if make_id is None else make_id(*chunk.key)
            records[id] = {**(fields or FieldMap()).payload(chunk), **vector}
        self.put(client, index, records)
        return index

    @property
    def real_url(self) -> str | None:
        """Return where a real server is, as the user says."""
        return os.environ.get(f"RETRIVEX_{self.flavour.upper()}_URL")


def counted(client: Any) -> Callable[[], int]:
    """Count the requests of a client from here on."""
    sent: list[str] = []
    perform = client.transport.perform_request

    def counting(method: str, *args: Any, **kwargs: Any) -> Any:
        sent.append(method)
        return perform(method, *args, **kwargs)

    client.transport.perform_request = counting
    return lambda: len(sent)


class SearchContract(CountsContract, WhereContract, WordsContract):
    """The contract, by ids or by windows, on a real server where the environment names one."""

    kit: Kit
    make_id: MakeId | None = None
    most_in_a_request = 500

    @pytest.fixture(autouse=True)
    def _served(self) -> Iterator[None]:
        if self.kit.real_url is not None:
            self.url = self.kit.real_url
            yield
        else:
            with SearchServer(self.kit.flavour) as server:
                self.url = server.url
                yield

    def make(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        return self._made(chunks)

    def make_with_embeddings(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        return self._made(chunks, with_vectors=True)

    def _made(self, chunks: Sequence[Chunk], **options: Any) -> StoreUnderTest:
        client = self.kit.client(self.url)
        make_id = type(self).make_id
        index = self.kit.fill(client, chunks, make_id=make_id)
        store = self.kit.store(client, index, make_id=make_id, timeout_s=60, **options)
        assert store.warnings == ()

        def close() -> None:
            client.indices.delete(index=index)
            client.close()

        return StoreUnderTest(store, counted(client), close)

    def make_down(self) -> VectorChunkStore:
        with SearchServer(self.kit.flavour) as server:
            url = server.url
        down: VectorChunkStore = self.kit.store(self.kit.client(url), "nowhere", retries=0)
        return down

    def make_hanging(self) -> VectorChunkStore:
        server = SearchServer(self.kit.flavour).__enter__()
        self.hanging = server
        server.hang_s = 1.0
        hanging: VectorChunkStore = self.kit.store(self.kit.client(server.url), "slow", timeout_s=0.1)
        return hanging

    @pytest.fixture(autouse=True)
    def _stopped(self) -> Iterator[None]:
        self.hanging: SearchServer | None = None
        yield
        if self.hanging is not None:
            self.hanging.__exit__()


class OnServer:
    """Tests on the double alone: its log and its faults are part of them."""

    kit: Kit

    @pytest.fixture
    def server(self) -> Iterator[SearchServer]:
        with SearchServer(self.kit.flavour) as server:
            yield server

    @pytest.fixture
    def client(self, server: SearchServer) -> Iterator[Any]:
        client = self.kit.client(server.url)
        yield client
        client.close()
