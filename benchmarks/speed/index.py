"""The embedded index of today beside that of an earlier commit, on the same data in the same run.

    python -m benchmarks.speed.index --before CHECKOUT            # 1,000,000 chunks, 100,000 vectors
    python -m benchmarks.speed.index --before CHECKOUT --chunks 100000 --vectors 20000

CHECKOUT is a folder with the earlier commit, as `git worktree add CHECKOUT COMMIT` makes it. Each version runs in
processes of its own, by turns, and answers the same questions: vectors against the bare multiplication by numpy, words
of made-up texts after Zipf's law and of texts drawn from public sets. Writes `benchmarks/results/index.json`.

Vectors are those of the public sets' chunks of 200 tokens, enlarged: each is moved by up to half of the way towards one
of its ten nearest, and by noise of 0.3 of its length, and scaled to length one. Questions are the sets' own. Texts are
enlarged by drawing eight sentences of one document for each chunk. Everything is seeded.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed.store import VOCABULARY, document, documents, resident_mb, words
from retrivex.stores import SQLiteStore

ROOT = Path(__file__).parents[2]
ROUNDS = 2
QUESTIONS = 20
HITS = 50
CHUNKS_PER_DOCUMENT = 50
SENTENCES_PER_CHUNK = 8
NEIGHBOURS, NOISE, FARTHEST = 10, 0.3, 0.5
PARTS = ("dense", "words")
SIZE = 200  # tokens of the public sets' chunks

Times = list[dict[str, float]]


# -- what runs in a process of its own, with the version that PYTHONPATH names


def timed(call: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Return what a call gave, with milliseconds on the wall and of the processor."""
    began, cpu = time.perf_counter(), time.process_time()
    made = call()
    return made, {"ms": (time.perf_counter() - began) * 1e3, "cpu_ms": (time.process_time() - cpu) * 1e3}


def ingest_vectors(folder: Path) -> dict[str, Any]:
    """Put documents with vectors, in batches; what making the texts takes is not counted."""
    rows = np.load(folder / "vectors.npy", mmap_mode="r")
    path = folder / f"vectors-{os.environ['INDEX_VERSION']}.db"
    for file in folder.glob(f"{path.name}*"):  # of an earlier run
        file.unlink()
    pages = list(documents(len(rows), np.random.default_rng(5)))
    with SQLiteStore(path) as store:

        def put() -> None:
            with store.batch():
                for number, (page, chunks) in enumerate(pages):
                    part = rows[number * CHUNKS_PER_DOCUMENT :][: len(chunks)]
                    store.put(page, chunks, embeddings=np.asarray(part), encoder="MiniLM")

        _, spent = timed(put)
    files = [file.stat().st_size for file in folder.glob(f"{path.name}*")]
    return {"seconds": spent["ms"] / 1e3, "cpu_seconds": spent["cpu_ms"] / 1e3, "mb": sum(files) / 1e6}


def search_vectors(folder: Path) -> dict[str, Any]:
    """Search exactly, each question between two bare multiplications with the same vectors in memory."""
    rows = np.array(np.load(folder / "vectors.npy"))
    queries = np.load(folder / "questions.npy")[:QUESTIONS]

    def floor(query: Any) -> Any:
        scores = rows @ query
        return np.argpartition(scores, len(scores) - HITS)[len(scores) - HITS :]

    times, floors, found = [], [], []
    with SQLiteStore(folder / f"vectors-{os.environ['INDEX_VERSION']}.db", read_only=True) as store:
        before = resident_mb()
        _, first = timed(lambda: store.search_vector(queries[0], HITS))
        for query in queries:
            floors.append(timed(lambda: floor(query))[1])  # noqa: B023 - called at once
            hits, spent = timed(lambda: store.search_vector(query, HITS))  # noqa: B023 - called at once
            times.append(spent)
            found.append([[*hit.key, round(hit.similarity_score, 6)] for hit in hits])
        memory = resident_mb() - before
    return {"times": times, "floors": floors, "found": found, "memory_mb": memory, "first_ms": first["ms"]}


def ingest_words(folder: Path) -> dict[str, Any]:
    """Write both indexes of words, each into a file of this version: an earlier one may not read a later one's."""
    made_up, drawn = (int(part) for part in (folder / "sizes.txt").read_text(encoding="utf-8").split())
    sentences = json.loads((folder / "sentences.json").read_text(encoding="utf-8"))
    for name, pages in (
        ("zipf", documents(made_up, np.random.default_rng(1))),
        ("real", real_documents(sentences, drawn, np.random.default_rng(1))),
    ):
        path = words_file(folder, name)
        if not path.exists():
            with SQLiteStore(path.with_suffix(".part")) as store, store.batch():
                for page, chunks in pages:
                    store.put(page, chunks)
            path.with_suffix(".part").rename(path)
    return {}


def words_file(folder: Path, name: str) -> Path:
    return folder / f"{name}-{os.environ['INDEX_VERSION']}.db"


def search_words(folder: Path, kind: str) -> dict[str, Any]:
    """Search words; `found` has the ten best of each question."""
    asked = json.loads((folder / "asked.json").read_text(encoding="utf-8"))[kind]
    path = words_file(folder, "real" if kind == "real" else "zipf")

    def ask() -> list[Any]:
        with SQLiteStore(path, read_only=True) as opened:
            return opened.fetch([])

    _, opening = timed(ask)
    times, found = [], []
    with SQLiteStore(path, read_only=True) as store:
        for question in asked:
            store.search_text(question, HITS)
        before = resident_mb()
        for question in asked:
            hits, spent = timed(lambda: store.search_text(question, HITS))  # noqa: B023 - called at once
            times.append(spent)
            found.append([[*hit.key, round(hit.similarity_score, 6)] for hit in hits])
        memory = resident_mb() - before
    return {"times": times, "found": found, "opening_ms": opening["ms"], "memory_mb": memory}


# -- data


def enlarged(base: Any, count: int, rng: np.random.Generator) -> Iterator[Any]:
    """Yield blocks of `count` unit vectors in all, each near one of `base` and on the way to another near it."""
    near = np.empty((len(base), NEIGHBOURS), np.int64)
    for start in range(0, len(base), 2048):
        cosines = base[start : start + 2048] @ base.T
        cosines[np.arange(len(cosines)), np.arange(start, start + len(cosines))] = -2
        near[start : start + 2048] = np.argpartition(-cosines, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
    for start in range(0, count, 10_000):
        size = min(10_000, count - start)
        from_ = rng.integers(0, len(base), size)
        to = near[from_, rng.integers(0, NEIGHBOURS, size)]
        way = FARTHEST * rng.random((size, 1))
        noise = NOISE / np.sqrt(base.shape[1]) * rng.standard_normal((size, base.shape[1]))
        rows = (1 - way) * base[from_] + way * base[to] + noise
        yield (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def make_vectors(folder: Path, count: int) -> int:
    """Write vectors and questions of the public sets; return how many real vectors there were."""
    from benchmarks.evidence.index import DOCUMENT_SETS, ask, make_index  # noqa: PLC0415 - needs the sets' files

    base = np.concatenate([make_index([name], SIZE).vectors for name in DOCUMENT_SETS]).astype(np.float32)
    rng = np.random.default_rng(7)
    np.save(folder / "vectors.npy", np.concatenate(list(enlarged(base, count, rng))))
    asked = np.array([one.embedding for name in DOCUMENT_SETS for one in ask(name, 60)], np.float32)
    np.save(folder / "questions.npy", asked[rng.permutation(len(asked))])
    return len(base)


def real_documents(
    sentences: Sequence[Sequence[str]], count: int, rng: np.random.Generator
) -> Iterator[tuple[Any, list[Any]]]:
    """Yield `count` chunks' worth of documents, each of sentences of one document of the public sets."""
    for number in range(count // CHUNKS_PER_DOCUMENT):
        some = sentences[number % len(sentences)]
        drawn = rng.integers(0, len(some), (CHUNKS_PER_DOCUMENT, SENTENCES_PER_CHUNK))
        yield document(f"real/{number}", [" ".join(some[i] for i in row) for row in drawn.tolist()])


def write_texts(folder: Path, count: int, real_count: int) -> None:
    """Write what every version puts into its index of words, and the questions to it."""
    from benchmarks.evidence.index import DOCUMENT_SETS, load, sampled  # noqa: PLC0415 - needs the sets' files

    texts = [text for name in DOCUMENT_SETS for text in load(name).documents.values()]
    cut = [found for text in texts if len(found := [part for part in re.split(r"(?<=[.!?])\s+", text) if part]) > 20]
    (folder / "sentences.json").write_text(json.dumps(cut), encoding="utf-8")
    (folder / "sizes.txt").write_text(f"{count} {real_count}", encoding="utf-8")
    rng, vocabulary = np.random.default_rng(3), words(np.random.default_rng(1))

    def drawn(*ranges: tuple[int, int, int]) -> list[str]:
        return [" ".join(word for low, high, size in ranges for word in vocabulary[rng.integers(low, high, size)])
                for _ in range(QUESTIONS)]  # fmt: skip

    real = [load(name).questions[place].text for name in DOCUMENT_SETS for place in sampled(load(name).questions, 10)]
    asked = {
        "two frequent, four rare": drawn((0, 300, 2), (300, VOCABULARY, 4)),
        "four frequent": drawn((0, 300, 4)),
        "four rare": drawn((1000, VOCABULARY, 4)),
        "real": [real[place] for place in rng.permutation(len(real))[:QUESTIONS]],
    }
    (folder / "asked.json").write_text(json.dumps(asked), encoding="utf-8")


# -- the comparison


def worker(version: str, tree: Path, folder: Path, *stage: str) -> dict[str, Any]:
    """Run a stage with the package of a checkout."""
    environment = {**os.environ, "INDEX_VERSION": version, "PYTHONPATH": f"{tree}{os.pathsep}{ROOT}"}
    command = [sys.executable, str(Path(__file__)), "--worker", *stage, "--folder", str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{version}, {stage}: {done.stderr}")
    made: dict[str, Any] = json.loads(done.stdout)
    return made


def medians(times: Times) -> dict[str, float]:
    return {
        "p50_ms": float(np.median([one["ms"] for one in times])),
        "p95_ms": float(np.percentile([one["ms"] for one in times], 95)),
        "cpu_p50_ms": float(np.median([one["cpu_ms"] for one in times])),
    }


def overlap(found: Sequence[Any], expected: Sequence[Any], k: int) -> float:
    """Return the mean share of the `k` best of one list that the other has among its own."""
    shares = [
        len({tuple(hit[:2]) for hit in some[:k]} & {tuple(hit[:2]) for hit in other[:k]}) / len(other[:k])
        for some, other in zip(found, expected, strict=True)
        if other
    ]
    return float(np.mean(shares))


def compare_vectors(trees: dict[str, Path], folder: Path, count: int) -> dict[str, Any]:
    made: dict[str, Any] = {"vectors": count, "real_vectors": make_vectors(folder, count)}
    for version, tree in trees.items():
        spent = worker(version, tree, folder, "ingest_vectors")
        made[version] = {
            "ingest_chunks_per_s": count / spent["seconds"],
            "ingest_chunks_per_cpu_s": count / spent["cpu_seconds"],
            "mb": spent["mb"],
        }
    runs: dict[str, list[Any]] = {version: [] for version in trees}
    for _ in range(ROUNDS):
        for version, tree in trees.items():
            runs[version].append(worker(version, tree, folder, "search_vectors"))
    for version, found in runs.items():
        made[version] |= medians([one for run in found for one in run["times"]])
        pairs = [
            (one["ms"], floor["ms"]) for run in found for one, floor in zip(run["times"], run["floors"], strict=True)
        ]
        made[version] |= {
            "floor_p50_ms": float(np.median([floor for _, floor in pairs])),
            "times_the_floor": float(np.median([one / floor for one, floor in pairs])),
            "memory_mb": float(np.median([run["memory_mb"] for run in found])),
            "first_ms": float(np.median([run["first_ms"] for run in found])),
        }
    if "before" in runs:
        made["overlap"] = overlap(runs["now"][0]["found"], runs["before"][0]["found"], HITS)
    return made


def compare_words(trees: dict[str, Path], folder: Path, count: int, real_count: int) -> dict[str, Any]:
    write_texts(folder, count, real_count)
    for version, tree in trees.items():
        worker(version, tree, folder, "ingest_words")
    made: dict[str, Any] = {"chunks": count, "real_chunks": real_count}
    for kind in json.loads((folder / "asked.json").read_text(encoding="utf-8")):
        runs: dict[str, list[Any]] = {version: [] for version in trees}
        for _ in range(ROUNDS):
            for version, tree in trees.items():
                runs[version].append(worker(version, tree, folder, "search_words", kind))
        made[kind] = {
            version: medians([one for run in found for one in run["times"]]) for version, found in runs.items()
        }
        for version, found in runs.items():
            made[kind][version]["opening_ms"] = float(np.median([run["opening_ms"] for run in found]))
        if "before" in runs:
            for k in (10, HITS):
                made[kind][f"overlap_{k}"] = overlap(runs["now"][0]["found"], runs["before"][0]["found"], k)
        print(kind, made[kind], file=sys.stderr, flush=True)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="a checkout of an earlier commit")
    parser.add_argument("--chunks", type=int, default=1_000_000)
    parser.add_argument("--real-chunks", type=int, default=800_000)
    parser.add_argument("--only", choices=PARTS, help="measure one, and leave the others as they were")
    parser.add_argument("--vectors", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="where the indexes are built and kept; some 8 GB at full size")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "index.json")
    parser.add_argument("--worker", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        stage, *arguments = options.worker
        stages: dict[str, Callable[..., Any]] = {
            "ingest_vectors": ingest_vectors, "search_vectors": search_vectors,
            "ingest_words": ingest_words, "search_words": search_words,
        }  # fmt: skip
        json.dump(stages[stage](options.folder, *arguments), sys.stdout)
        return
    from benchmarks.code import made_by  # noqa: PLC0415 - a worker has the benchmarks of its own version

    trees = {**({} if options.before is None else {"before": options.before.absolute()}), "now": ROOT}
    folder = options.folder or Path(tempfile.mkdtemp(prefix="retrivex-index-"))
    try:
        with closing(sqlite3.connect(":memory:")) as connection:
            sqlite_version = connection.execute("SELECT sqlite_version()").fetchone()[0]
        results: dict[str, Any] = {
            **made_by(),
            "sqlite": sqlite_version,
            "numpy": np.__version__,
            "load_average": os.getloadavg()[0],
        }
        if options.only in (None, "dense"):
            results["dense"] = compare_vectors(trees, folder, options.vectors)
        if options.only in (None, "words"):
            results["words"] = compare_words(trees, folder, options.chunks, options.real_chunks)
        results["load_average_at_end"] = os.getloadavg()[0]
    finally:
        if options.folder is None:
            shutil.rmtree(folder)
    if options.out.exists():  # what the kills came to stays, and what was not measured
        results = json.loads(options.out.read_text(encoding="utf-8")) | results
    options.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
