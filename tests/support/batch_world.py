"""Requests of a batch, and stores and work that their tests send to other processes."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from retrivex import Chunk, ChunkMetadata, Document, RetrievalConfig, SeedHit, SpanComposer, Window
from retrivex.batch import ComposeWork, Job, OutputFolder, parquet_source
from retrivex.model.chunk import Scope
from retrivex.stores import InMemoryChunkStore, SQLiteStore

CONFIG = RetrievalConfig(token_budget=60, tokenizer="estimate")

NOUNS = ["bee", "queen", "drone", "hive", "flower", "nectar", "swarm", "brood", "pollen", "comb", "larva", "worker"]


def make_chunks(documents: int = 5, chunks: int = 12) -> list[Chunk]:
    """Chunks of a few documents, each a sentence, with offsets."""
    made = []
    for d in range(documents):
        at = 0
        for n in range(chunks):
            text = f"The {NOUNS[(d + n) % 12]} of document {d} meets a {NOUNS[(d * 5 + n * 7) % 12]} in place {n}. "
            made.append(Chunk(text, ChunkMetadata(f"doc-{d}", n, at, at + len(text), chunk_count=chunks)))
            at += len(text)
    return made


class MadeStore(InMemoryChunkStore):
    """The store of `make_chunks`, which counts what it is asked."""

    def __init__(self) -> None:
        super().__init__(make_chunks())
        self.calls = 0

    def fetch(self, windows: Sequence[Window], scope: Scope = None) -> list[Chunk]:
        self.calls += 1
        return super().fetch(windows, scope)


def make_rows(count: int) -> list[dict[str, Any]]:
    """Requests over `make_chunks`, as plain rows; the store has their chunks."""
    return [
        {
            "id": n,
            "question": f"Where does the {NOUNS[n % 12]} meet the {NOUNS[n * 5 % 12]}?",
            "hits": [
                {"doc_id": f"doc-{(n + h) % 5}", "chunk_id": (n * 3 + h * 5) % 12, "score": 0.9 - h / 10}
                for h in range(4)
            ],
        }
        for n in range(count)
    ]


def make_table(count: int) -> pa.Table:
    """The same as a table."""
    return pa.Table.from_pylist(make_rows(count))


def write_requests(path: Path, count: int, group: int = 7) -> Path:
    """Write requests to a Parquet file whose row groups are no multiple of a part."""
    pq.write_table(make_table(count), path, row_group_size=group)
    return path


def compose_loop(rows: Sequence[dict[str, Any]], config: RetrievalConfig = CONFIG) -> list[str]:
    """What `compose` makes of rows in a loop, as JSON."""
    store = MadeStore()
    known = {chunk.key: chunk for chunk in make_chunks()}
    composer = SpanComposer(config)
    made = []
    for row in rows:
        hits = [_hit(known, hit) for hit in row["hits"]]
        answer = composer.compose(hits, store, query=row["question"]).to_dict()
        made.append(json.dumps({"id": row["id"], **answer}))
    return made


def _hit(known: dict[Any, Chunk], hit: dict[str, Any]) -> Any:
    return SeedHit(known[hit["doc_id"], hit["chunk_id"]], hit["score"])


def make_job(folder: Path, count: int, rows_per_part: int = 10, open_store: Any = MadeStore) -> Job:
    """A job over requests in `folder/requests.parquet`, into `folder/out`."""
    path = folder / "requests.parquet"
    if not path.exists():
        write_requests(path, count)
    work = ComposeWork(CONFIG, open_store)
    return Job(parquet_source(path, work, rows_per_part), work, OutputFolder(folder / "out"))


# ---- what goes wrong in a worker


class FailingStore(MadeStore):
    """A store that is gone after some requests."""

    def __init__(self, left: int = 0) -> None:
        super().__init__()
        self.left = left

    def fetch(self, windows: Sequence[Window], scope: Scope = None) -> list[Chunk]:
        if self.calls >= self.left:
            raise ConnectionError("no route to host")
        return super().fetch(windows, scope)


@dataclass(frozen=True)
class KillsItself:
    """Opens a store, and kills its process so many times in all; files in a folder count them."""

    folder: str
    times: int

    def __call__(self) -> MadeStore:
        done = len(os.listdir(self.folder))
        if done < self.times:
            Path(self.folder, f"{os.getpid()}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return MadeStore()


@dataclass(frozen=True)
class Slow:
    """Opens a store after a while, so that a job can be killed meanwhile."""

    seconds: float

    def __call__(self) -> Any:
        return SlowStore(self.seconds)


class SlowStore(MadeStore):
    """A store that takes its time."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    def fetch(self, windows: Sequence[Window], scope: Scope = None) -> list[Chunk]:
        time.sleep(self.seconds)
        return super().fetch(windows, scope)


def write_store(path: Path) -> Path:
    """Write the chunks into a file of SQLite."""
    with SQLiteStore(path) as store:
        chunks = make_chunks()
        for doc_id in dict.fromkeys(chunk.metadata.doc_id for chunk in chunks):
            own = [chunk for chunk in chunks if chunk.metadata.doc_id == doc_id]
            store.put(Document(doc_id, "".join(chunk.text for chunk in own)), own)
    return path
