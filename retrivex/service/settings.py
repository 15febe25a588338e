"""Settings of the service: flags over the environment (RETRIVEX_...) over a TOML file over defaults."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from retrivex.config import RetrievalConfig
from retrivex.errors import ConfigError, install_hint
from retrivex.loading import LoadLimits
from retrivex.service.bounds import Bounds

try:
    from pydantic_settings import BaseSettings, SettingsConfigDict, TomlConfigSettingsSource
except ImportError as error:
    raise ImportError(f"the service needs packages of its own: {install_hint('serve')}") from error

PREFIX = "RETRIVEX_"
FILE = f"{PREFIX}SETTINGS"
"""Variable that names the TOML file."""

Store = Literal["qdrant", "pgvector", "chroma", "lancedb", "milvus", "weaviate", "elasticsearch", "opensearch"]

LOOPBACK = ("127.0.0.1", "::1", "localhost")

_BOUNDS = Bounds()


class CollectionSettings(BaseModel):
    """Where a collection of a vector store is; the key of its server stands in `RETRIVEX_API_KEY`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    store: Store = Field(description="which vector store: qdrant, pgvector, chroma, ...")
    address: str = Field(min_length=1, repr=False, description="URL, folder or connection string")
    collection: str = Field(min_length=1, description="name of the collection, table or index")
    layout: str = Field("retrivex", description="who filled it: retrivex, langchain, llamaindex, haystack, ...")
    embed: str = Field(min_length=1, description="encoder that its vectors come from")


class Settings(BaseSettings):
    """Everything that can be set; no secret but a password in the address of a collection, which is never shown."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True, hide_input_in_errors=True)

    host: str = Field("127.0.0.1", description="address to listen on; another than loopback needs keys")
    port: int = Field(8080, ge=0, le=65535, description="port to listen on; 0 takes a free one")
    workers: int = Field(1, ge=1, le=64, description="processes that answer")
    db: Path = Field(Path("retrivex.db"), description="database of the index `default`")
    indexes: dict[str, Path] = Field({}, description="databases of other indexes, by name")
    collections: dict[str, CollectionSettings] = Field({}, description="collections of vector stores, by name")
    embed: str | None = Field(None, description="encoder of questions; left out, the one of the database")
    read_only: bool = Field(False, description="whether documents can be neither added nor deleted")
    config: Path | None = Field(None, description="file with options of RetrievalConfig that requests start from")
    keys: Path = Field(Path("retrivex-keys.db"), description="file of keys, made by `retrivex keys create`")
    cors: list[str] = Field([], description="origins whose pages may ask, such as https://app.example")
    hosts: list[str] = Field([], description="host names that requests may ask for; empty: any, with keys")

    max_body_bytes: int = Field(8 * 1024**2, ge=1024, description="of a JSON body")
    max_upload_bytes: int = Field(32 * 1024**2, ge=1024, description="of an uploaded file, form included")
    max_answer_bytes: int = Field(_BOUNDS.answer, ge=1024, description="of an answer, or of all answers of a batch")
    max_hits: int = Field(_BOUNDS.hits, ge=1, description="hits or passages of a request")
    max_chunks: int = Field(_BOUNDS.chunks, ge=1, description="chunks and parents of a request, or made of an upload")
    max_window: int = Field(_BOUNDS.window, ge=0, description="neighbours on each side of a hit")
    max_characters: int = Field(_BOUNDS.characters, ge=1, description="of a single text")
    max_tokens: int = Field(_BOUNDS.tokens, ge=1, description="of a budget")
    max_batch: int = Field(_BOUNDS.batch, ge=1, description="requests of a batch")
    max_documents: int = Field(_BOUNDS.documents, ge=1, description="of one uploaded file of JSON Lines")
    upload_s: float = Field(_BOUNDS.load.timeout_s, gt=0, description="seconds for reading and cutting an upload")
    upload_memory_bytes: int = Field(_BOUNDS.load.memory_bytes, ge=1024**2, description="memory for reading one")
    timeout_s: float = Field(30.0, gt=0, description="seconds for a request to be answered")
    max_connections: int = Field(1000, ge=1, description="open connections of a worker; more get 503")
    threads: int = Field(2, ge=1, le=64, description="requests that a worker answers at once, beside uploads")
    queue: int = Field(16, ge=0, description="requests that wait in a worker; more get 503")
    key_rate: float = Field(50.0, gt=0, description="requests a second of a key, in each worker")
    key_concurrency: int = Field(8, ge=1, description="requests of a key under way, in each worker")

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: Any, env_settings: Any, **others: Any
    ) -> tuple[Any, ...]:
        """Return where settings come from, the first before the others."""
        file = os.environ.get(FILE)
        sources = (init_settings, env_settings)
        return (*sources, TomlConfigSettingsSource(settings_cls, Path(file))) if file else sources

    @property
    def bounds(self) -> Bounds:
        """The most that one request may ask for."""
        alike = ("hits", "chunks", "window", "characters", "tokens", "batch", "documents")
        load = LoadLimits(self.upload_s, self.upload_memory_bytes)
        return Bounds(
            answer=self.max_answer_bytes, load=load, **{name: getattr(self, f"max_{name}") for name in alike}
        )  # fmt: skip

    @property
    def retrieval(self) -> RetrievalConfig:
        """The options that requests start from."""
        return RetrievalConfig() if self.config is None else RetrievalConfig.from_file(self.config)

    def to_environment(self) -> dict[str, str]:
        """Return the variables that make the same settings in another process."""
        given = self.model_dump(mode="json", exclude_none=True)
        return {
            f"{PREFIX}{name.upper()}": value if isinstance(value, str) else json.dumps(value)
            for name, value in given.items()
        }


def read_settings(**given: Any) -> Settings:
    """Return the settings of flags, environment and file; flags that are None are not given.

    Raises
    ------
    ConfigError
        If a value breaks its rule, a name in the file is unknown, or the file cannot be read.
    """
    file = os.environ.get(FILE)
    if file and not Path(file).is_file():
        raise ConfigError(f"{FILE} is {file!r}: there is no such file; name a TOML file, or leave it out")
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        # without the values, of which one may be an address with a password
        wrong = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors(include_input=False))
        raise ConfigError(f"settings are wrong: {'; '.join(wrong)}; see docs/howto/service_settings.md") from None
    except ValueError as error:
        raise ConfigError(f"the settings cannot be read: {error}; see {FILE} and the variables {PREFIX}...") from None
