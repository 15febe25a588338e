"""Opens collections of vector stores by address and name; each client is imported on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from retrivex.errors import StoreError

if TYPE_CHECKING:
    from retrivex.adapters.base.collection import Collection
    from retrivex.adapters.base.fields import FieldMap


class StoreKind(StrEnum):
    """The vector stores that a command can open."""

    QDRANT = "qdrant"
    PGVECTOR = "pgvector"
    CHROMA = "chroma"
    LANCEDB = "lancedb"
    MILVUS = "milvus"
    ELASTICSEARCH = "elasticsearch"
    OPENSEARCH = "opensearch"
    WEAVIATE = "weaviate"


def open_collection(
    kind: StoreKind,
    address: str,
    name: str,
    fields: FieldMap | str,
    api_key: str | None,
    only: Mapping[str, Any] | None = None,
) -> Collection:
    """Return a collection that exists.

    Parameters
    ----------
    kind : of store
    address : a URL; the folder or file of Qdrant, Chroma, LanceDB or Milvus Lite; the connection string of PostgreSQL
    name : of the collection, table or index
    fields : a layout's name, or names of fields
    api_key : where the server wants one
    only : column values of the rows that are meant, for a table of PostgreSQL that holds several collections

    Raises
    ------
    ImportError
        If the store's client is not installed; the message names the extra.
    StoreError
        If the store cannot be reached, the collection does not exist, or `only` is given for another store.
    """
    if only and kind is not StoreKind.PGVECTOR:
        raise StoreError(f"only is {dict(only)}: only a table of pgvector holds several collections; leave it out")
    module = import_module(f"retrivex.adapters.{kind.value}")
    try:
        client = _CLIENTS[kind](address, api_key)
    except (StoreError, ImportError):
        raise
    except Exception as error:  # clients share no base class
        raise StoreError(f"{kind.value} at {address!r} cannot be opened: {type(error).__name__}: {error}") from error
    classes = [value for key, value in vars(module).items() if key.lower() == f"{kind.value}collection"]
    made: Collection = classes[0](client, name, fields=fields, **({"only": dict(only)} if only else {}))
    return made


def _is_url(address: str) -> bool:
    return address.startswith(("http://", "https://"))


def _host(address: str) -> tuple[str, int, bool]:
    parts = urlsplit(address)
    if not parts.hostname:
        raise StoreError(f"{address!r} is no URL: give one like http://localhost:8000")
    secure = parts.scheme == "https"
    return parts.hostname, parts.port or (443 if secure else 80), secure


def _qdrant(address: str, api_key: str | None) -> Any:
    client = import_module("qdrant_client").QdrantClient
    return client(url=address, api_key=api_key) if _is_url(address) else client(path=address)


def _pgvector(address: str, api_key: str | None) -> Any:
    return import_module("psycopg").connect(address, autocommit=True)


def _chroma(address: str, api_key: str | None) -> Any:
    chromadb = import_module("chromadb")
    if not _is_url(address):
        return chromadb.PersistentClient(path=address)
    host, port, secure = _host(address)
    return chromadb.HttpClient(host, port, secure, headers={"X-Chroma-Token": api_key} if api_key else None)


def _lancedb(address: str, api_key: str | None) -> Any:
    return import_module("lancedb").connect(address, **({"api_key": api_key} if api_key else {}))


def _milvus(address: str, api_key: str | None) -> Any:
    return import_module("pymilvus").MilvusClient(address, token=api_key or "")


def _elasticsearch(address: str, api_key: str | None) -> Any:
    return import_module("elasticsearch").Elasticsearch(address, api_key=api_key)


def _opensearch(address: str, api_key: str | None) -> Any:
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    return import_module("opensearchpy").OpenSearch(address, headers=headers)


def _weaviate(address: str, api_key: str | None) -> Any:
    host, port, secure = _host(address)
    weaviate = import_module("weaviate")
    key = weaviate.auth.AuthApiKey(api_key) if api_key else None
    return weaviate.connect_to_custom(
        http_host=host, http_port=port, http_secure=secure, grpc_host=host, grpc_port=50051, grpc_secure=secure,
        auth_credentials=key,
    )  # fmt: skip


_CLIENTS: Mapping[StoreKind, Callable[[str, str | None], Any]] = {
    StoreKind.QDRANT: _qdrant,
    StoreKind.PGVECTOR: _pgvector,
    StoreKind.CHROMA: _chroma,
    StoreKind.LANCEDB: _lancedb,
    StoreKind.MILVUS: _milvus,
    StoreKind.ELASTICSEARCH: _elasticsearch,
    StoreKind.OPENSEARCH: _opensearch,
    StoreKind.WEAVIATE: _weaviate,
}
