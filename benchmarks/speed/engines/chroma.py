"""Chroma: its server, over HTTP."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import chromadb
from chromadb.config import Settings

from retrivex.adapters.chroma import ChromaChunkStore, ChromaCollection, colon_id
from retrivex.model.chunk import Chunk

from .engine import Engine, Way, batches, listed
from .vector_store import nearest, way

_START_S = 60.0


@contextmanager
def running(folder: Path, chunks: Sequence[Chunk]) -> Iterator[Engine]:
    """Start the server and fill a collection."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [str(Path(sys.executable).parent / "chroma"), "run", "--path", str(folder), "--host", "127.0.0.1"]
    with (folder.parent / "chroma.log").open("w", encoding="utf-8") as log:
        server = subprocess.Popen([*command, "--port", str(port)], stdout=log, stderr=subprocess.STDOUT)
    try:
        client = _connected(port, server)
        _fill(client, chunks)
        base = nearest(ChromaCollection(client, "manuals", timeout_s=120))
        yield Engine(f"Chroma {version('chromadb')}", _ways(client), base)
    finally:
        server.terminate()
        server.wait(30)


def _connected(port: int, server: subprocess.Popen[bytes]) -> Any:
    until = time.monotonic() + _START_S
    while True:
        try:
            return chromadb.HttpClient("127.0.0.1", port, settings=Settings(anonymized_telemetry=False))
        except Exception as error:
            if server.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the server of Chroma does not answer: {error}") from error
            time.sleep(0.2)


def _fill(client: Any, chunks: Sequence[Chunk]) -> None:
    collection = client.create_collection("manuals")
    for some in batches(chunks, 5_000):
        collection.add(
            ids=[colon_id(*chunk.key) for chunk in some],
            embeddings=[listed(chunk) for chunk in some],
            documents=[chunk.text for chunk in some],
            metadatas=[
                {"doc_id": m.doc_id, "chunk_id": m.chunk_id, "chunk_count": m.chunk_count}
                for m in (chunk.metadata for chunk in some)
            ],
        )


def _ways(client: Any) -> Iterator[Way]:
    yield way("ids", ChromaChunkStore(client, "manuals", make_id=colon_id, timeout_s=120))
    yield way("filter", ChromaChunkStore(client, "manuals", timeout_s=120))
