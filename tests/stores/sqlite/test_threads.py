"""Readers beside a writer, and many threads on one store."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from retrivex.model.chunk import Chunk, ChunkMetadata
from retrivex.model.document import Document
from retrivex.model.window import Window
from retrivex.stores import SQLiteStore

SIZE = 30


def version(number: int) -> tuple[Document, list[Chunk]]:
    """Return one document whose every chunk and vector names the version."""
    return Document("d", ""), [Chunk(f"version{number} piece{i}", ChunkMetadata("d", i)) for i in range(SIZE)]


def put(store: SQLiteStore, number: int) -> None:
    store.put(*version(number), embeddings=[[float(number), 1.0]] * SIZE, encoder="m")


def until(done: threading.Event, check: Callable[[], None]) -> int:
    """Repeat `check` until `done`; return how often."""
    rounds = 0
    while not done.is_set():
        check()
        rounds += 1
    return rounds


def test_readers_see_one_whole_version_while_a_writer_replaces_it(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "store.db") as store:
        put(store, 0)

        def fetched_is_whole() -> None:
            found = store.fetch([Window("d", 0, 99)])
            assert len(found) == SIZE
            assert len({chunk.text.split()[0] for chunk in found}) == 1
            assert len({tuple(chunk.embedding) for chunk in found if chunk.embedding is not None}) == 1

        def words_and_vectors_are_whole() -> None:
            hits = store.search_text("piece1 piece2", k=2)
            assert len({hit.chunk.text.split()[0] for hit in hits}) == 1
            assert len(hits) == 2
            assert len(store.search_vector([1.0, 1.0], k=99)) == SIZE

        done = threading.Event()
        with ThreadPoolExecutor(3) as threads:
            readers = [
                threads.submit(until, done, fetched_is_whole),
                threads.submit(until, done, words_and_vectors_are_whole),
            ]
            try:
                for number in range(1, 60):
                    put(store, number)
            finally:
                done.set()
            assert all(reader.result() > 3 for reader in readers)
        assert store.check() == []


def test_threads_may_be_many_and_short_lived(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "store.db") as store:
        put(store, 0)
        counts: list[int] = []

        def fetch() -> None:
            counts.append(len(store.fetch([Window("d", 0, 99)])))

        for _ in range(5):
            threads = [threading.Thread(target=fetch) for _ in range(20)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert counts == [SIZE] * 100


def test_threads_may_write_at_the_same_time(tmp_path: Path) -> None:
    def put_one(number: int) -> str:
        doc_id = f"d{number}"
        return store.put(Document(doc_id, ""), [Chunk("bees", ChunkMetadata(doc_id, 0))])

    with SQLiteStore(tmp_path / "store.db") as store, ThreadPoolExecutor(8) as threads:
        assert set(threads.map(put_one, range(60))) == {"added"}
        assert store.info().documents == 60
        assert store.check() == []


def test_processes_may_create_the_same_file_at_the_same_time(tmp_path: Path) -> None:
    code = "import sys; from retrivex.stores import SQLiteStore; SQLiteStore(sys.argv[1]).close()"
    for name in ("one.db", "two.db"):
        started = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path / name)]) for _ in range(3)]
        assert [process.wait() for process in started] == [0, 0, 0]
        with SQLiteStore(tmp_path / name) as store:
            assert store.check() == []
