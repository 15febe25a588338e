"""What grows with documents, hits, tenants and questions: formulas, each beside what is measured or simulated.

    python -m benchmarks.speed.scale              # indexes of 10,000 to 1,000,000 chunks, shards of up to 10,000,000
    python -m benchmarks.speed.scale --resume     # only what the results lack
    python -m benchmarks.speed.scale --only queue
    python -m benchmarks.speed.scale --short      # every part at a fiftieth of the sizes, to see that it works

Run: `make bench-scale`; writes `results/scale.json`, step by step, and needs the public sets and some 8 GB of disk.

Growth: the embedded index is built at each size, with one vector of 384 numbers a chunk. What it costs at the two
smaller sizes says on paper what it will at the largest: on a line through both for a search, the same for a look-up.
Shards and queues: see `scale_shards.py` and `scale_queue.py`. Times are those of the processor, medians, in one
process: the machine does other things meanwhile.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed.latency import machine
from benchmarks.speed.scale_queue import check_queue
from benchmarks.speed.scale_shards import (
    LAYOUTS,
    POINTS,
    RADIUS,
    Sets,
    check_balance,
    check_merge,
    check_requests,
    time_shards,
    write_shards,
)
from benchmarks.speed.store import CHUNKS_PER_DOCUMENT, DIMENSION, SEEDS, VOCABULARY, documents, words
from benchmarks.suites.datasets import READERS, load_sets
from retrivex import Chunk, Document, RetrievalConfig, SeedHit, SpanComposer, Window
from retrivex.evaluation.run.index import sentence_packed
from retrivex.merging.stored_cuts import count_and_cut
from retrivex.stores import SQLiteStore
from retrivex.tokens.tokenizer import get_tokenizer

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "scale.json"
DATA = Path(os.environ.get("RETRIVEX_DATA", ROOT.parent / "shared" / "data"))
SIZES = (10_000, 100_000, 1_000_000)
SHARD_SIZES = (100_000, 1_000_000, 10_000_000)
SHORT_SIZES, SHORT_SHARD_SIZES = (2_000, 6_000, 20_000), (50_000, 100_000, 200_000)
SHORT_SETS = ("qmsum", "chunking_evaluation")
SHARDS = (4, 16, 64, 256)
FILES = 16
CHUNK_TOKENS = 200
HITS = 50
TENANT_EVERY, TENANT_DOCUMENTS = 10, 20
"""Every tenth document belongs to a tenant, of 20 documents each."""

COUNTED = 400
"""Documents that are counted and cut as `retrivex index` does it: those that contexts are made of, at every size."""

QUESTIONS, VECTOR_QUESTIONS, COMPOSED = 40, 10, 300
RATE, USE, CORES = 1_000.0, 0.7, 2
PARTS = ("growth", "shards", "queue")
SEARCHES = ("words_frequent", "words_rare", "words_of_tenant", "vectors_exact")


def cpu_ms(call: Callable[[Any], object], items: Sequence[Any]) -> list[float]:
    """Return milliseconds of this process's processor time for each item."""
    spent = []
    for item in items:
        began = time.process_time()
        call(item)
        spent.append(1e3 * (time.process_time() - began))
    return spent


def p50(times: Sequence[float]) -> float:
    """Return the median, rounded."""
    return round(float(np.median(times)), 4)


# ---- the embedded index at several sizes


def build(path: Path, count: int) -> dict[str, float]:
    """Build an index of `count` chunks; return what it takes."""
    rng, counter = np.random.default_rng(4), get_tokenizer()
    spent, counted = 0.0, set(counted_documents(count).tolist())
    with SQLiteStore(path) as store, store.batch():
        for number, (page, chunks) in enumerate(documents(count, np.random.default_rng(1))):
            if number % TENANT_EVERY == 0:
                page, chunks = with_scope(page, chunks, tenant_of(number))
            vectors = rng.standard_normal((len(chunks), DIMENSION), dtype=np.float32)
            is_counted = number in counted
            counts = count_and_cut([chunk.text for chunk in chunks], counter) if is_counted else None
            began = time.process_time()
            store.put(
                page, chunks, embeddings=vectors, encoder="random", token_counts=counts,
                tokenizer=counter.name if is_counted else None,
            )  # fmt: skip
            spent += time.process_time() - began
    with closing(sqlite3.connect(path)) as connection:
        (vectors_size,) = connection.execute("SELECT sum(length(vectors)) FROM document_vectors").fetchone()
    return {
        "ingest_cpu_us": round(1e6 * spent / count, 2),
        "text_bytes": round((path.stat().st_size - vectors_size) / count, 1),
        "vector_bytes": round(vectors_size / count, 1),
    }


def counted_documents(count: int) -> Any:
    """Return the numbers of the documents that are counted: spread over all, and no tenant's."""
    return np.arange(1, count // CHUNKS_PER_DOCUMENT, max(1, count // CHUNKS_PER_DOCUMENT // COUNTED))


def tenant_of(number: int) -> str:
    """Return the tenant of a document that has one."""
    return f"tenant-{number // (TENANT_EVERY * TENANT_DOCUMENTS)}"


def with_scope(page: Document, chunks: Sequence[Chunk], scope: str) -> tuple[Document, list[Chunk]]:
    """Return a document and its chunks as a tenant's."""
    made = [replace(chunk, metadata=replace(chunk.metadata, scope=scope)) for chunk in chunks]
    return replace(page, scope=scope), made


def measure(path: Path, count: int) -> dict[str, Any]:
    """Return what searching, neighbours and contexts cost in an index of `count` chunks."""
    rng, vocabulary = np.random.default_rng(3), words(np.random.default_rng(1))

    def draw(*ranges: tuple[int, int, int]) -> list[str]:
        return [" ".join(word for low, high, size in ranges for word in vocabulary[rng.integers(low, high, size)])
                for _ in range(QUESTIONS)]  # fmt: skip

    frequent, rare = draw((0, 300, 2), (300, VOCABULARY, 4)), draw((1000, VOCABULARY, 4))
    vectors = rng.standard_normal((VECTOR_QUESTIONS, DIMENSION))
    total = count // CHUNKS_PER_DOCUMENT

    def windows() -> list[Window]:
        places = zip(rng.integers(0, total, SEEDS), rng.integers(0, CHUNKS_PER_DOCUMENT, SEEDS), strict=True)
        return [Window(f"folder/document-{d}.md", int(i) - RADIUS, int(i) + RADIUS + 1) for d, i in places]

    fetched = [windows() for _ in range(10 * QUESTIONS)]
    tenants = [tenant_of(int(number)) for number in rng.integers(0, total, QUESTIONS)]
    with SQLiteStore(path, read_only=True) as store:
        cpu_ms(lambda question: store.search_text(question, HITS), frequent)  # warms the cache
        made: dict[str, Any] = {
            "words_frequent": p50(cpu_ms(lambda question: store.search_text(question, HITS), frequent)),
            "words_rare": p50(cpu_ms(lambda question: store.search_text(question, HITS), rare)),
            "words_of_tenant": p50(
                cpu_ms(
                    lambda pair: store.search_text(pair[0], HITS, scope=pair[1]), list(zip(rare, tenants, strict=True))
                )
            ),
            "vectors_exact": p50(cpu_ms(lambda vector: store.search_vector(vector, HITS), vectors)),
            "neighbours": p50(cpu_ms(store.fetch, fetched)[QUESTIONS:]),
        }
        composed = compose_times(store, counted_documents(count), rng, vocabulary)
    made["context"] = p50(composed)
    return {"ms": made, "context_times_ms": [round(one, 3) for one in composed]}


def compose_times(store: SQLiteStore, numbers: Any, rng: np.random.Generator, vocabulary: Any) -> list[float]:
    """Return milliseconds of contexts of 50 hits, their neighbours included; hardly any chunk comes twice."""
    composer = SpanComposer(RetrievalConfig(token_budget=2000))
    asked = []
    for _ in range(COMPOSED):
        documents_of_hits = rng.choice(numbers, min(len(numbers), HITS // 2), replace=False)
        places = [(int(d), int(i)) for d in documents_of_hits for i in rng.integers(0, CHUNKS_PER_DOCUMENT - 2, 1)]
        places += [(d, i + 2) for d, i in places]  # half of them near another one
        asked.append(([(f"folder/document-{d}.md", i) for d, i in places], " ".join(rng.choice(vocabulary[:3000], 8))))

    def compose(question: tuple[list[tuple[str, int]], str]) -> None:
        keys, text = question
        chunks = store.fetch([Window(doc_id, chunk_id, chunk_id + 1) for doc_id, chunk_id in keys])
        hits = [SeedHit(chunk, 1 - 0.01 * at) for at, chunk in enumerate(chunks)]
        composer.compose(hits, store, query=text)

    return cpu_ms(compose, asked)[COMPOSED // 10 :]


def measure_tenant(folder: Path) -> float:
    """Return what the same rare words cost in a file of a tenant's own."""
    path, vocabulary = folder / "tenant.db", words(np.random.default_rng(1))
    rng = np.random.default_rng(3)
    with SQLiteStore(path) as store:
        with store.batch():
            for page, chunks in documents(TENANT_DOCUMENTS * CHUNKS_PER_DOCUMENT, np.random.default_rng(1)):
                store.put(*with_scope(page, chunks, "tenant"))
        asked = [" ".join(vocabulary[rng.integers(1000, VOCABULARY, 4)]) for _ in range(QUESTIONS)]
        return p50(cpu_ms(lambda question: store.search_text(question, HITS, scope="tenant"), asked))


def grow(folder: Path, count: int) -> dict[str, Any]:
    """Measure the index at a size."""
    path = folder / f"index-{count}" / "index.db"
    path.parent.mkdir()
    built = build(path, count)
    made = {**built, **measure(path, count)}
    shutil.rmtree(path.parent)
    print(f"{count:,} chunks: {built}, {made['ms']}", flush=True)
    return made


def on_a_line(sizes: tuple[float, float], costs: tuple[float, float], count: float) -> float:
    """Return the cost at `count` on the line through two sizes.

    Examples
    --------
    >>> on_a_line((10_000, 100_000), (2.0, 11.0), 1_000_000)
    101.0
    """
    slope = (costs[1] - costs[0]) / (sizes[1] - sizes[0])
    return costs[0] + slope * (count - sizes[0])


def on_paper(found: Mapping[str, Any], sizes: tuple[int, int, int]) -> dict[str, Any]:
    """Return what the two smaller sizes say of the largest one."""
    small, middle, largest = sizes
    first, second = found[str(small)], found[str(middle)]
    costs = {name: (first["ms"][name], second["ms"][name]) for name in second["ms"]}
    return {
        "ms": {
            name: round(on_a_line((small, middle), pair, largest) if name in SEARCHES else pair[1], 4)
            for name, pair in costs.items()
        },
        "bytes": {name: second[name] for name in ("text_bytes", "vector_bytes")},
    }


# ---- shards and questions


def read_sets(folder: Path, names: Sequence[str]) -> Sets:
    """Read public sets, and search all of them for their questions by words."""
    numbers: dict[str, int] = {}
    sizes, texts, questions = [], [], []
    with SQLiteStore(folder / "sets.db") as store:
        with store.batch():
            for found in load_sets(DATA, tuple(names)):
                questions += [question.text for question in found.questions[:150]]
                packed = sentence_packed(found.documents, CHUNK_TOKENS)
                for doc_id, group in groupby(packed, key=lambda chunk: chunk.metadata.doc_id):
                    name = f"{found.name}/{doc_id}"
                    chunks = [replace(one, metadata=replace(one.metadata, doc_id=name)) for one in group]
                    numbers[name] = len(numbers)
                    sizes.append(len(chunks))
                    texts.append(np.array([len(chunk.text.encode()) for chunk in chunks]))
                    store.put(Document(name, ""), chunks)
        hits = []
        for question in questions:
            made = [(numbers[hit.key[0]], hit.key[1]) for hit in store.search_text(question, HITS)]
            if len(made) == HITS:
                hits.append(np.array(made))
    return Sets(np.array(sizes), tuple(texts), tuple(hits))


def place(sets: Sets, sizes: Sequence[int]) -> dict[str, Any]:
    """Place documents and chunks on rings of several sizes, on paper and one by one."""
    copies = round(sizes[-1] / int(sets.sizes.sum()))
    return {
        "points": POINTS,
        "radius": RADIUS,
        "sets": sets.describe(),
        "requests": [check_requests(sets, count, chunks) for count in SHARDS for chunks in sizes],
        "balance": [check_balance(sets, count, chunks) for count in SHARDS for chunks in sizes],
        "merge": [check_merge(sets, count, copies) for count in SHARDS],
    }


def ask_files(folder: Path, sets: Sets, chunks: int) -> dict[str, Any]:
    """Ask the files of as many shards for the neighbours of questions."""
    row: dict[str, Any] = {"shards": FILES}
    for layout in LAYOUTS:
        row["chunks"] = write_shards(folder, sets, chunks, FILES, layout)
        copies = round(row["chunks"] / int(sets.sizes.sum()))
        row[layout] = time_shards(folder, sets, copies, FILES, layout, 400)
        for file in folder.glob("*.shard"):
            file.unlink()
    print(row, flush=True)
    return row


def files_on_paper(files: Sequence[Mapping[str, Any]], layout: str) -> float:
    """Return the milliseconds that two sizes say of the largest: more by as much for ten times the chunks."""
    small, middle, largest = (math.log10(row["chunks"]) for row in files)
    costs = files[0][layout]["cpu_p50_ms"], files[1][layout]["cpu_p50_ms"]
    return round(on_a_line((small, middle), costs, largest), 4)


class Results:
    """What a file of results holds, such as `results/scale.json`; written after each step.

    Parameters
    ----------
    path : the file; None keeps nothing
    resume : keep what is there, and measure only what is missing
    """

    def __init__(self, path: Path | None, resume: bool) -> None:
        self._path = path
        self._resume = resume
        is_there = path is not None and path.exists()
        self.found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path and is_there else {}

    def step(self, part: str, name: str, measure: Callable[[], Any]) -> None:
        """Measure a step of a part, unless it is there and is to be kept."""
        steps = self.found.setdefault(part, {})
        if not (self._resume and name in steps):
            self.write(part, name, measure())

    def write(self, part: str, name: str, found: Any) -> None:
        """Write what a step came to."""
        self.found.setdefault(part, {})[name] = found
        head = machine()
        self.found |= {**head, "code": {**self.found.get("code", {}), part: head["code"]}}
        self.found["load_average"] = round(os.getloadavg()[0], 1)
        if self._path is not None:
            self._path.write_text(json.dumps(self.found, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=PARTS, help="measure one part, and leave the others as they were")
    parser.add_argument("--resume", action="store_true", help="measure only what the results lack")
    parser.add_argument("--short", action="store_true", help="small sizes, in minutes; writes nothing unless --out")
    parser.add_argument("--folder", type=Path, help="where indexes are built; they are removed afterwards")
    parser.add_argument("--out", type=Path, help=f"file to write to; {RESULTS.name} of the results by default")
    given = parser.parse_args()
    if given.short and given.only == "queue" and given.out is None:
        parser.error("--short --only queue takes its times from the part growth: name its results with --out")
    sizes, shard_sizes = (SHORT_SIZES, SHORT_SHARD_SIZES) if given.short else (SIZES, SHARD_SIZES)
    results = Results(given.out or (None if given.short else RESULTS), given.resume)
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        if given.only in (None, "growth"):
            for count in sizes:
                results.step("growth", str(count), partial(grow, folder, count))
            results.step("growth", "tenant_alone_ms", partial(measure_tenant, folder))
            results.write("growth", "paper", on_paper(results.found["growth"], sizes))
        if given.only in (None, "shards"):
            sets = read_sets(folder, SHORT_SETS if given.short else tuple(READERS))
            results.step("shards", "placed", partial(place, sets, shard_sizes))
            for count in shard_sizes:
                results.step("shards", f"files-{count}", partial(ask_files, folder, sets, count))
            files = [results.found["shards"][f"files-{count}"] for count in shard_sizes]
            results.write("shards", "paper", {layout: files_on_paper(files, layout) for layout in LAYOUTS})
    if given.only in (None, "queue"):
        times = np.array(results.found["growth"][str(sizes[-1])]["context_times_ms"]) / 1e3
        results.write("queue", "context", check_queue(times, RATE, CORES, USE))
        print(results.found["queue"]["context"], flush=True)


if __name__ == "__main__":
    main()
