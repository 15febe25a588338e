"""Servers and texts that several modules of tests share; each is made when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def postgres() -> Iterator[Any]:
    with pytest.importorskip("support.postgres_server").serving() as server:
        yield server


@pytest.fixture(scope="session")
def chroma() -> Iterator[Any]:
    with pytest.importorskip("support.chroma_server").serving() as server:
        yield server


@pytest.fixture(scope="session")
def lite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Give Milvus Lite as it is."""
    folder = tmp_path_factory.mktemp("lite")
    with pytest.importorskip("support.milvus_collections").serving(folder, templates=False) as server:
        yield server


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Give Milvus Lite behind a server that takes filter templates."""
    folder = tmp_path_factory.mktemp("templates")
    with pytest.importorskip("support.milvus_collections").serving(folder, templates=True) as server:
        yield server


@pytest.fixture(scope="session")
def server() -> Iterator[Any]:
    """Give Weaviate."""
    with pytest.importorskip("support.weaviate_collections").serving() as server:
        yield server


@pytest.fixture(params=["lite", "templates"])
def milvus(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session")
def text() -> str:
    """Give the text that LangChain's splitter cuts into `pieces`."""
    return str(pytest.importorskip("support.langchain_world").text())


@pytest.fixture(scope="session")
def pieces(text: str) -> Any:
    return pytest.importorskip("support.langchain_world").pieces(text)


@pytest.fixture(scope="session")
def vectors(pieces: Any) -> Any:
    return pytest.importorskip("support.langchain_world").vectors(pieces)


@pytest.fixture(scope="session")
def _qdrant_server() -> Iterator[Any]:
    with pytest.importorskip("support.qdrant_collections").serving() as server:
        yield server


@pytest.fixture
def qdrant(_qdrant_server: Any) -> Iterator[Any]:
    """Give a server without faults, a client of it, and the name of a collection that is not there yet."""
    with pytest.importorskip("support.qdrant_collections").connected(_qdrant_server) as connection:
        yield connection


@pytest.fixture
def lance(tmp_path: Path) -> Any:
    """Give a folder of LanceDB, connected and empty."""
    return pytest.importorskip("lancedb").connect(tmp_path)
