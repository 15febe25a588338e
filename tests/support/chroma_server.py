"""A Chroma server for tests, collections made in it, and a way to it that can be shut."""

from __future__ import annotations

import itertools
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
from chromadb.config import Settings

from retrivex import Chunk
from retrivex.adapters.base.fields import MakeId, colon_id
from retrivex.adapters.chroma import CHROMA_LAYOUTS

FIELDS = CHROMA_LAYOUTS["retrivex"]
_NUMBERS = itertools.count()


def quiet() -> Settings:
    """Return settings for one client: it writes where it is connected to into them."""
    return Settings(anonymized_telemetry=False)


class Gate:
    """A way to a server that can be held shut (nothing passes), or taken away (nobody listens)."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._open = threading.Event()
        self._open.set()
        self._gone = False
        self._pairs: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def shut(self) -> None:
        self._open.clear()

    def take_away(self) -> None:
        """Close everything."""
        self._gone = True
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for side in self._pairs:
            with suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)
            side.close()
        self._open.set()

    def _accept(self) -> None:
        while not self._gone:
            try:
                client, _ = self._listening.accept()
                server = socket.create_connection(("127.0.0.1", self._to))
            except OSError:
                return
            self._pairs += [client, server]
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._pass_on, args=(source, sink), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self._open.wait()
                sink.sendall(data)


class ChromaServer:
    """A server, and a client whose requests are counted as they go out."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.client = self.connect(port)
        self.requests = 0
        self.client._server._session.event_hooks["request"].append(self._count)

    def connect(self, port: int) -> Any:
        return chromadb.HttpClient("127.0.0.1", port, settings=quiet())

    def _count(self, request: Any) -> None:
        self.requests += 1

    def fill(self, chunks: Sequence[Chunk], make_id: MakeId | None = colon_id, **options: Any) -> str:
        """Make a collection, and return its name."""
        return fill(self.client, chunks, make_id, **options)


def fill(client: Any, chunks: Sequence[Chunk], make_id: MakeId | None = colon_id, **options: Any) -> str:
    name = f"chunks-{next(_NUMBERS)}"
    made = client.create_collection(name, embedding_function=None, **options)
    for at in range(0, len(chunks), 1000):
        some = chunks[at : at + 1000]
        made.add(
            ids=[make_id(*c.key) if make_id else f"record {at + i}" for i, c in enumerate(some)],
            documents=[c.text for c in some],
            embeddings=[np.asarray(c.embedding, dtype=np.float32) for c in some],
            metadatas=[_flat(FIELDS.payload(c)["metadata"]) for c in some],
        )
    return name


def _flat(metadata: dict[str, Any]) -> dict[str, Any]:
    """Write headings as a path: older versions keep no lists."""
    headings = metadata.pop("heading_path", None)
    return metadata if headings is None else {**metadata, "heading_path": "/" + "/".join(headings)}


@contextmanager
def serving() -> Iterator[ChromaServer]:
    """Start a server; it is stopped, and its files are removed, in the end."""
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        command = Path(sys.executable).with_name("chroma")
        started = subprocess.Popen(
            [str(command), "run", "--path", folder, "--host", "127.0.0.1", "--port", str(port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield _connected(port)
        finally:
            started.terminate()
            started.wait(30)


def _connected(port: int) -> ChromaServer:
    until = time.monotonic() + 60
    while True:
        try:
            return ChromaServer(port)
        except ValueError:  # chromadb's word for nobody listening
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def write(server: ChromaServer, name: str, metadatas: Sequence[dict[str, Any]], ids: Sequence[str]) -> None:
    made = server.client.create_collection(name, embedding_function=None)
    made.add(
        ids=list(ids),
        documents=[f"text {n}" for n in range(len(ids))],
        embeddings=[[1.0, 0.0]] * len(ids),
        metadatas=list(metadatas),
    )
