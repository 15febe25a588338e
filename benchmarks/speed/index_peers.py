"""The embedded index beside engines that it might have been built on, with the same vectors and texts in the same run.

    make bench-index-peers                    # 100,000 vectors and 100,000 texts; needs the public sets' vectors
    make bench-index-peers INDEX=--short      # a twentieth, vectors made up, to see that it works; writes nothing

Vectors are those of `benchmarks.speed.index`; each engine names its 50 nearest, of which some are the nearest indeed
(recall, in the mean and for the worst twentieth of the questions). All engines may use both cores to build, and answer
one question at a time. Words are searched in made-up texts after Zipf's law. Adds to `benchmarks/results/index.json`.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa
import tantivy
from lancedb.index import HnswSq, IvfPq
from usearch.index import Index

from benchmarks.speed.index import CHUNKS_PER_DOCUMENT, HITS, ROOT, make_vectors, many_document, medians, timed
from benchmarks.speed.store import VOCABULARY, documents, words
from retrivex.stores import SQLiteStore

SIZE, SHORT_SIZE = 100_000, 5_000
TEXT_QUESTIONS = 40
FEW_QUESTIONS = 60

Ask = Callable[[Any], Any]


def judge(ask: Ask, queries: Any, truth: Any) -> dict[str, float]:
    """Ask each question once more than it is timed; return times and what was found of the nearest."""
    ask(queries[0])
    times, shares = [], []
    for query, nearest in zip(queries, truth, strict=True):
        found, spent = timed(lambda: ask(query))  # noqa: B023 - called at once
        times.append(spent)
        shares.append(len({*map(int, found)} & {*map(int, nearest)}) / HITS)
    return {
        **medians(times),
        "recall": float(np.mean(shares)),
        "recall_p5": float(np.percentile(shares, 5)),
        "recall_worst": min(shares),
    }


def size_mb(folder: Path) -> float:
    files = [folder] if folder.is_file() else [path for path in folder.rglob("*") if path.is_file()]
    return sum(path.stat().st_size for path in files) / 1e6


def try_store(rows: Any, queries: Any, truth: Any, folder: Path) -> dict[str, Any]:
    """Measure the store's own lists; what it answers are chunks, of which these are the rows."""
    with SQLiteStore(folder / "own.db", with_embeddings=False) as store:
        with store.batch():
            for start in range(0, len(rows), CHUNKS_PER_DOCUMENT):
                store.put(*many_document(start), embeddings=rows[start : start + CHUNKS_PER_DOCUMENT], encoder="m")
        _, spent = timed(lambda: store.index_vectors(1))
        [file] = folder.glob("own.db-lists-*")

        def ask(query: Any) -> list[int]:
            hits = store.search_vector(query, HITS, {None, "hundredth"})
            return [int(hit.chunk.text[1:]) for hit in hits]

        return {"build": spent, "mb": size_mb(file), "lists around centroids": judge(ask, queries, truth)}


def try_usearch(rows: Any, queries: Any, truth: Any, folder: Path) -> dict[str, Any]:
    """Measure an HNSW graph over one byte a dimension; the best are compared with the vectors again."""
    index = Index(ndim=rows.shape[1], metric="cos", dtype="i8", connectivity=16, expansion_add=128)
    _, spent = timed(lambda: index.add(np.arange(len(rows)), rows, threads=2))
    index.save(str(folder / "graph.usearch"))
    made: dict[str, Any] = {"build": spent, "mb": size_mb(folder / "graph.usearch")}
    for expansion in (128, 512):
        index.expansion_search = expansion

        def ask(query: Any) -> Any:
            keys = np.sort(np.asarray(index.search(query, 2 * HITS, threads=1).keys).astype(np.int64))
            return keys[np.argsort(-(rows[keys] @ query))[:HITS]]

        made[f"HNSW, i8, M 16, expansion {expansion}"] = judge(ask, queries, truth)
    return made


def try_lancedb(rows: Any, queries: Any, truth: Any, folder: Path) -> dict[str, Any]:
    """Measure both kinds of index that LanceDB recommends, refined with the vectors."""
    values = pa.FixedSizeListArray.from_arrays(pa.array(np.asarray(rows).ravel()), rows.shape[1])
    table = lancedb.connect(folder / "lance").create_table(
        "v", pa.table({"id": pa.array(np.arange(len(rows))), "vector": values})
    )
    before = size_mb(folder / "lance")
    made: dict[str, Any] = {}
    for name, config, probes in (
        ("IVF_PQ, 256 lists", IvfPq(distance_type="cosine", num_partitions=256, num_sub_vectors=48), (32, 64)),
        ("IVF_HNSW_SQ, 1 list, M 20", HnswSq(distance_type="cosine", num_partitions=1), (256,)),
    ):
        _, spent = timed(lambda: table.create_index("vector", config=config, replace=True))  # noqa: B023
        made[name] = {"build": spent, "mb": size_mb(folder / "lance") - before}
        for probe in probes:

            def ask(query: Any, probe: int = probe, name: str = name) -> Any:
                search = (
                    table.search(query).distance_type("cosine").limit(HITS).select(["id", "_distance"]).refine_factor(4)
                )
                search = search.nprobes(probe) if name.startswith("IVF_PQ") else search.ef(probe)
                return search.to_arrow()["id"].to_pylist()

            made[name][f"{'nprobes' if 'PQ' in name else 'ef'} {probe}"] = judge(ask, queries, truth)
        print(name, made[name], flush=True)
    return made


def make_up_vectors(folder: Path, count: int) -> None:
    """Write vectors in clusters and questions, in place of those of the public sets: nothing is to be concluded."""
    rng = np.random.default_rng(7)
    centres = rng.standard_normal((100, 384))
    rows = centres[rng.integers(0, 100, count + FEW_QUESTIONS)] + rng.standard_normal((count + FEW_QUESTIONS, 384))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    np.save(folder / "vectors.npy", rows[:count])
    np.save(folder / "questions.npy", rows[count:])


def compare_vectors(folder: Path, count: int) -> dict[str, Any]:
    if not (folder / "vectors.npy").exists():
        make_vectors(folder, count)
    rows = np.array(np.load(folder / "vectors.npy", mmap_mode="r")[:count])
    queries = np.load(folder / "questions.npy")[:FEW_QUESTIONS]
    scores = queries @ rows.T
    truth = np.argpartition(-scores, HITS, axis=1)[:, :HITS]
    made: dict[str, Any] = {"vectors": count, "questions": len(queries)}
    for name, attempt in (("retrivex", try_store), ("usearch", try_usearch), ("lancedb", try_lancedb)):
        made[name] = attempt(rows, queries, truth, folder)
        print(name, made[name], flush=True)
    return made


def compare_words(folder: Path, count: int) -> dict[str, Any]:
    """Search words by FTS5 as the store does, and by tantivy, and change one document in each."""
    pages = list(documents(count, np.random.default_rng(1)))
    rng, vocabulary = np.random.default_rng(3), words(np.random.default_rng(1))
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("key", stored=True, tokenizer_name="raw")
    schema.add_text_field("doc", tokenizer_name="raw")
    schema.add_text_field("body", tokenizer_name="en_stem")
    (folder / "tantivy").mkdir()
    index = tantivy.Index(schema.build(), path=str(folder / "tantivy"))
    writer = index.writer(num_threads=1)
    made: dict[str, Any] = {"chunks": count}

    def write(page: Any, chunks: Any) -> None:
        for chunk in chunks:
            writer.add_document(
                tantivy.Document(key=f"{page.doc_id} {chunk.metadata.chunk_id}", doc=page.doc_id, body=chunk.text)
            )

    def ingest() -> None:
        for page, chunks in pages:
            write(page, chunks)
        writer.commit()

    with SQLiteStore(folder / "words.db") as store:

        def put() -> None:
            with store.batch():
                for page, chunks in pages:
                    store.put(page, chunks)

        made["FTS5"], made["tantivy"] = {"ingest": timed(put)[1]}, {"ingest": timed(ingest)[1]}
        index.reload()
        searcher = index.searcher()

        def ask_tantivy(text: str) -> list[str]:
            found = searcher.search(index.parse_query(text, ["body"]), HITS).hits
            return [searcher.doc(address)["key"][0] for _, address in found]

        def ask_store(text: str) -> list[str]:
            return [f"{hit.key[0]} {hit.key[1]}" for hit in store.search_text(text, HITS)]

        for kind, low, high in (("four frequent", 0, 300), ("four rare", 1000, VOCABULARY)):
            asked = [" ".join(vocabulary[rng.integers(low, high, 4)]) for _ in range(TEXT_QUESTIONS)]
            times: dict[str, list[Any]] = {"FTS5": [], "tantivy": []}
            shares = []
            for text in asked:
                ours, spent = timed(lambda: ask_store(text))  # noqa: B023 - called at once
                theirs, other = timed(lambda: ask_tantivy(text))  # noqa: B023
                times["FTS5"].append(spent)
                times["tantivy"].append(other)
                if ours:
                    shares.append(len({*ours[:10]} & {*theirs[:10]}) / len(ours[:10]))
            for name, spent_each in times.items():
                made[name][kind] = medians(spent_each)
            made[f"overlap_10, {kind}"] = float(np.mean(shares))
        page, chunks = pages[7]

        def change() -> None:
            writer.delete_documents_by_term("doc", page.doc_id)
            write(page, chunks)
            writer.commit()

        def replace() -> None:
            store.delete(page.doc_id)
            store.put(page, chunks)

        made["FTS5"]["change"] = medians([timed(replace)[1] for _ in range(10)])
        made["tantivy"]["change"] = medians([timed(change)[1] for _ in range(10)])
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", type=int, help=f"{SIZE:,} if left out; {SHORT_SIZE:,} with --short")
    parser.add_argument("--chunks", type=int, help="as many if left out")
    parser.add_argument("--short", action="store_true", help="small sizes and made-up vectors; writes nothing")
    parser.add_argument("--only", choices=("vectors", "words"))
    parser.add_argument("--folder", type=Path, help="where vectors.npy and questions.npy of an earlier run are")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "index.json")
    options = parser.parse_args()
    size = SHORT_SIZE if options.short else SIZE
    folder = Path(tempfile.mkdtemp(prefix="retrivex-peers-"))
    try:
        for name in ("vectors.npy", "questions.npy") if options.folder else ():
            (folder / name).symlink_to((options.folder / name).absolute())
        made: dict[str, Any] = {
            "versions": {name: importlib.metadata.version(name) for name in ("usearch", "lancedb", "tantivy")},
            "load_average": os.getloadavg()[0],
        }
        if options.only != "words":
            if options.short and not options.folder:
                make_up_vectors(folder, options.vectors or size)
            made["dense"] = compare_vectors(folder, options.vectors or size)
        if options.only != "vectors":
            made["words"] = compare_words(folder, options.chunks or size)
    finally:
        shutil.rmtree(folder)
    print(json.dumps(made, indent=1))
    if options.short:
        return
    results = json.loads(options.out.read_text(encoding="utf-8")) if options.out.exists() else {}
    results["peers"] = results.get("peers", {}) | made
    options.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
