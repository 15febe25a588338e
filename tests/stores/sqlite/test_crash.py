"""A process killed while it ingests leaves whole documents, and a re-run brings the rest."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from retrivex.model.chunk import Chunk
from retrivex.model.window import Window
from retrivex.stores import SQLiteStore

SCOPES = {None, "acme"}

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")


class Ingester:
    """Talks to kill_ingest.py."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, path: Path, version: int, delay: float = -1.0) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{version} {delay} {path}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()

    def seconds(self, path: Path, version: int) -> float:
        """Ingest undisturbed and return how long it took."""
        ended, _, seconds = self.run(path, version).partition(" ")
        assert ended == "finished"
        return float(seconds)


@pytest.fixture
def ingester() -> Iterator[Ingester]:
    script = Path(__file__).with_name("kill_ingest.py")
    # threads of numpy's own would have to survive the fork
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        yield Ingester(process)


def contents(store: SQLiteStore) -> dict[str, Any]:
    """Return all that can be asked of a store."""
    infos = list(store.documents())
    chunks = store.fetch([Window(info.doc_id, 0, 2**63) for info in infos], SCOPES)
    return {
        "documents": infos,
        "texts": [store.get_document(info.doc_id, SCOPES) for info in infos],
        "chunks": chunks,
        "vectors": [tuple(chunk.embedding) for chunk in chunks if chunk.embedding is not None],
        "parents": store.fetch_parents([f"{info.doc_id}#all" for info in infos], SCOPES),
        # BM25 depends on the statistics of the whole index: equal scores mean that nothing was left behind in it
        "words": [(hit.key, hit.similarity_score) for hit in store.search_text("piece word12 第2段", 1000, SCOPES)],
        "nearest": [(hit.key, hit.similarity_score) for hit in store.search_vector([1.0] * 16, 1000, SCOPES)],
    }


@pytest.mark.parametrize("kills", [15, pytest.param(200, marks=pytest.mark.integration)])
def test_kill_at_any_moment(kills: int, tmp_path: Path, ingester: Ingester) -> None:
    path = tmp_path / "killed.db"
    rng = random.Random(kills)
    duration = max(ingester.seconds(tmp_path / "timing.db", version) for version in range(3))
    outcomes: list[str] = []
    while outcomes.count("killed") < kills and len(outcomes) < 20 * kills:
        outcomes.append(ingester.run(path, len(outcomes), rng.uniform(0.0, duration)))
        if outcomes[-1].startswith("finished"):  # too late: a busy machine was slower when it was timed
            duration = min(duration, float(outcomes[-1].split()[1]))
        with SQLiteStore(path) as store:
            assert store.check() == []
            assert_documents_are_whole(store)
    assert "failed" not in outcomes
    assert outcomes.count("killed") == kills, outcomes
    ingester.seconds(path, len(outcomes))
    ingester.seconds(tmp_path / "undisturbed.db", len(outcomes))
    with SQLiteStore(path) as killed, SQLiteStore(tmp_path / "undisturbed.db") as undisturbed:
        assert contents(killed) == contents(undisturbed)
        assert killed.check() == []


def assert_documents_are_whole(store: SQLiteStore) -> None:
    """Every chunk of a document is there, of the same version, found by its words, with its vector and its text."""
    for info in store.documents():
        chunks = store.fetch([Window(info.doc_id, 0, 2**63)], SCOPES)
        assert [chunk.metadata.chunk_id for chunk in chunks] == list(range(info.chunk_count))
        assert len({state_of(chunk) for chunk in chunks}) == 1
        assert all(chunk.embedding is not None for chunk in chunks)
        document = store.get_document(info.doc_id, SCOPES)
        assert document is not None
        assert document.text == "".join(chunk.text for chunk in chunks)
        found = store.search_text(state_of(chunks[0]), 1000, SCOPES, {"doc_id": info.doc_id})
        assert len(found) == info.chunk_count


def state_of(chunk: Chunk) -> str:
    return chunk.text.split()[4]
