"""Ingests documents in child processes and kills them: the other half of test_sqlite_crash.py.

Reads lines `VERSION DELAY PATH` from standard input. For each it forks a child that brings the store at PATH to that
version, kills it after DELAY seconds (never, where DELAY is negative) and writes `killed` or `finished SECONDS`.
Forking from one process that has imported everything is what makes hundreds of kills take seconds.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from support.early_files import with_vectors_inside

from retrivex.model.chunk import Chunk, ChunkMetadata
from retrivex.model.document import Document
from retrivex.stores import SQLiteStore

DOCUMENTS = 16
DIMENSION = 16


def documents(version: int) -> Iterator[tuple[Document, list[Chunk]]]:
    """Yield the documents of a version; most change from one to the next, some vanish, some stay as they are."""
    for number in range(DOCUMENTS):
        if (number + version) % 5 == 0:
            continue
        state = 0 if number % 4 == 0 else version
        doc_id = f"document-{number}"
        fillers = [f"word{i * number} " * 40 for i in range(3 + number)]
        texts = [f"piece {i} of number{number} state{state} 第{i}段 {filler}" for i, filler in enumerate(fillers)]
        chunks, start = [], 0
        for i, text in enumerate(texts):
            scope = "acme" if number % 3 == 0 else None
            chunks.append(Chunk(text, ChunkMetadata(doc_id, i, start, start + len(text), f"{doc_id}#all", scope=scope)))
            start += len(text)
        yield Document(doc_id, "".join(texts)), chunks


def vectors_of(document: Document, count: int, dimension: int = DIMENSION) -> NDArray[np.float64]:
    """Return the vectors of a document's chunks, the same for the same text."""
    return np.random.default_rng(len(document.text)).standard_normal((count, dimension))


def ingest(path: Path, version: int) -> None:
    """Bring the store to `version`: every second version in batches."""
    with SQLiteStore(path) as store, store.batch(40) if version % 2 else nullcontext():
        kept = []
        for document, chunks in documents(version):
            vectors = vectors_of(document, len(chunks))
            store.put(document, chunks, {f"{document.doc_id}#all": document.text}, vectors, encoder="random")
            kept.append(document.doc_id)
        store.delete_missing(kept)


def write_beside(path: Path, stop: Path) -> None:
    """Write other documents and delete them, each time as a store of its own, until told to stop.

    Documents have the form of those of `documents`, so that the same is asked of them.
    """
    parent, turn = os.getppid(), 0
    while not stop.exists() and os.getppid() == parent:
        turn += 1
        with SQLiteStore(path) as store, nullcontext() if turn % 3 else store.batch():
            for number in range(turn % 3, DOCUMENTS, 3):
                doc_id = f"beside-{number}"
                texts = [f"piece {i} of number{number} state{turn} " for i in range(3 + number)]
                starts = [sum(map(len, texts[:i])) for i in range(len(texts))]
                chunks = [
                    Chunk(text, ChunkMetadata(doc_id, i, start, start + len(text)))
                    for i, (text, start) in enumerate(zip(texts, starts, strict=True))
                ]
                vectors = np.random.default_rng(turn).standard_normal((len(chunks), DIMENSION))
                store.put(Document(doc_id, "".join(texts)), chunks, embeddings=vectors, encoder="random")
            store.delete(f"beside-{turn % DOCUMENTS}")


def run(path: Path, version: int, delay: float) -> str:
    """Ingest in a child that is killed after `delay` seconds; say how it ended.

    Every third version begins with a database as 0.2.0 wrote it, which is brought up to date.
    """
    if version % 3 == 2:
        with_vectors_inside(path)
    began = time.perf_counter()
    child = os.fork()
    if child == 0:
        ingest(path, version)
        os._exit(0)
    if delay >= 0:
        time.sleep(delay)
        # the child cannot have been reaped yet, so its number is still its own
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return "killed"
    return f"finished {time.perf_counter() - began}" if status == 0 else "failed"


def main() -> None:
    for line in sys.stdin:
        version, delay, path = line.rstrip("\n").split(" ", 2)
        sys.stdout.write(run(Path(path), int(version), float(delay)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
