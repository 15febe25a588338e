"""The embedded index of words beside an engine that it might have been built on, with the same texts in the same run.

    make bench-index-peers                    # 100,000 texts
    make bench-index-peers INDEX=--short      # a twentieth, to see that it works; writes nothing

Words are searched in made-up texts after Zipf's law. Adds to `benchmarks/results/index.json`.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import tantivy

from benchmarks.speed.index import HITS, ROOT, medians, timed
from benchmarks.speed.store import VOCABULARY, documents, words
from retrivex.stores import SQLiteStore

SIZE, SHORT_SIZE = 100_000, 5_000
TEXT_QUESTIONS = 40


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
    parser.add_argument("--chunks", type=int, help=f"{SIZE:,} if left out; {SHORT_SIZE:,} with --short")
    parser.add_argument("--short", action="store_true", help="a small size; writes nothing")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "index.json")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="retrivex-peers-"))
    try:
        made: dict[str, Any] = {
            "versions": {"tantivy": importlib.metadata.version("tantivy")},
            "load_average": os.getloadavg()[0],
            "words": compare_words(folder, options.chunks or (SHORT_SIZE if options.short else SIZE)),
        }
    finally:
        shutil.rmtree(folder)
    print(json.dumps(made, indent=1))
    if options.short:
        return
    results = json.loads(options.out.read_text(encoding="utf-8")) if options.out.exists() else {}
    results["peers"] = made
    options.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
