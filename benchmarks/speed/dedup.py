"""What leaving out near-duplicates costs, against rag-chunk-reorder 0.1.7 on the same passages.

Run: `make bench-dedup`; writes `results/dedup.json`. The passages have 200 tokens of cl100k_base; threshold 0.85, the
highest score is kept. Both are given as processor time, in one run of this script: medians of several calls, and of the
npm package one alone for 1,000 passages, as it takes a minute. That is in a warmed-up process of node, without start
and reading. What is kept has to be the same. Inputs:

- `real`: different passages of the public sets that RETRIVEX_DATA names (`../shared/data`), as they are;
- `mirrored`: the same, but every second one is a copy of an earlier one in which up to every tenth word is another;
- `distinct`: words of those passages, drawn at random: no passage is like another;
- `templates`: as distinct, but the first three quarters of all passages are the same: almost near-duplicates;
- `near-duplicates`: one passage with three other words in each copy.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.code import made_by
from benchmarks.suites.datasets import load_sets
from retrivex import deduplicate
from retrivex.evaluation.run.index import sentence_packed
from retrivex.similarity.trigrams import trigram_jaccard

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("RETRIVEX_DATA", ROOT.parent / "shared" / "data"))
NODE = Path(os.environ.get("RETRIVEX_NODE_FOLDER", ROOT / ".venv" / "node"))
RESULTS = Path(__file__).parents[1] / "results" / "dedup.json"
TOKENS, THRESHOLD, KEEP = 200, 0.85, "highest_score"
SIZES = (100, 1_000, 10_000)
PEER_SIZES = {100: 5, 1_000: 1}  # runs of the npm package, which compares all pairs

Passage = dict[str, Any]


def real_passages() -> list[str]:
    """Return passages of about 200 tokens, in a seeded order."""
    documents = {
        f"{found.name}/{doc_id}": text for found in load_sets(DATA) for doc_id, text in found.documents.items()
    }
    if not documents:
        raise SystemExit(f"no texts in {DATA}: set RETRIVEX_DATA to their folder")
    texts = [chunk.text for chunk in sentence_packed(documents, TOKENS) if len(chunk.text) > TOKENS * 3]
    random.Random(0).shuffle(texts)
    return texts


def changed(text: str, words: int, vocabulary: list[str], draws: random.Random) -> str:
    """Return a text with some words replaced."""
    parts = text.split(" ")
    for _ in range(words):
        parts[draws.randrange(len(parts))] = draws.choice(vocabulary)
    return " ".join(parts)


def inputs(real: list[str]) -> dict[str, Callable[[int], list[str]]]:
    """Return the makers of each kind of input."""
    vocabulary = sorted({word for text in real[:2_000] for word in text.split()})

    def words(count: int, draws: random.Random) -> str:
        return " ".join(draws.choices(vocabulary, k=count))

    def mirrored(count: int) -> list[str]:
        draws = random.Random(1)
        made = real[: count // 2]
        copies = [changed(text, draws.randint(0, len(text.split(" ")) // 10), vocabulary, draws) for text in made]
        both = [*made, *copies]
        draws.shuffle(both)
        return both

    def distinct(count: int) -> list[str]:
        draws = random.Random(2)
        return [words(130, draws) for _ in range(count)]

    def templates(count: int) -> list[str]:
        draws = random.Random(3)
        template = words(98, draws)
        return [f"{template} {words(32, draws)}" for _ in range(count)]

    def near(count: int) -> list[str]:
        draws = random.Random(4)
        return [changed(real[0], 3, vocabulary, draws) for _ in range(count)]

    return {
        "real": lambda count: real[:count],
        "mirrored": mirrored, "distinct": distinct, "templates": templates, "near-duplicates": near,
    }  # fmt: skip


def passages(texts: list[str]) -> list[Passage]:
    """Give texts ids and scores."""
    draws = random.Random(5)
    return [{"id": str(at), "text": text, "score": draws.random()} for at, text in enumerate(texts)]


def ours(given: list[Passage], runs: int) -> tuple[float, list[str]]:
    """Return processor time in ms, the median, and what is kept."""
    times, kept = [], given
    for _ in range(runs):
        began = time.process_time()
        kept = deduplicate(given, THRESHOLD, KEEP)
        times.append(1000 * (time.process_time() - began))
    return statistics.median(times), [passage["id"] for passage in kept]


def theirs(given: list[Passage], runs: int) -> tuple[float, list[str]]:
    """Return the same of the npm package."""
    asked = json.dumps({"passages": given, "threshold": THRESHOLD, "keep": "highestScore"})
    answers = []
    for _ in range(runs):
        done = subprocess.run(
            ["node", str(Path(__file__).with_name("dedup.mjs")), str(NODE)],
            input=asked, capture_output=True, encoding="utf-8", check=True,
        )  # fmt: skip
        answers.append(json.loads(done.stdout))
    return statistics.median(answer["ms"] for answer in answers), answers[0]["kept"]


def peak(given: list[Passage]) -> float:
    """Return the most memory that is taken beside the passages, in MiB."""
    tracemalloc.start()
    deduplicate(given, THRESHOLD, KEEP)
    most = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return most


def measure(kind: str, make: Callable[[int], list[str]], count: int, *, peer: bool) -> dict[str, Any]:
    """Measure one input of one size."""
    given = passages(make(count))
    runs = 5 if count < 10_000 else 3
    ms, kept = ours(given, runs)
    row: dict[str, Any] = {"input": kind, "passages": len(given), "kept": len(kept), "ms": ms, "peak MiB": peak(given)}
    if peer and count in PEER_SIZES:
        row["npm ms"], npm_kept = theirs(given, PEER_SIZES[count])
        row["ratio"] = row["npm ms"] / ms
        if npm_kept != kept:
            raise SystemExit(f"{kind}, {count}: not the passages that rag-chunk-reorder keeps")
    print(f"{kind} {count}: {row}", flush=True)
    return row


def likeness(real: list[str]) -> list[dict[str, Any]]:
    """Return how alike passages are, by how many of their words are other ones, as quantiles."""
    draws = random.Random(6)
    vocabulary = sorted({word for text in real[:2_000] for word in text.split()})
    pairs = {"unrelated": [(real[at], real[at + 1]) for at in range(0, 1_000, 2)]}
    for share in (20, 10, 5, 1):
        pairs[f"{share} % of the words"] = [
            (text, changed(text, max(1, len(text.split(" ")) * share // 100), vocabulary, draws)) for text in real[:500]
        ]
    rows = []
    for name, texts in pairs.items():
        low, middle, high = statistics.quantiles([trigram_jaccard(*pair) for pair in texts], n=20)[::9]
        rows.append({"other": name, "5 %": low, "median": middle, "95 %": high})
    return rows


def show(rows: list[dict[str, Any]]) -> None:
    """Print what was measured."""
    table = Table(title=f"near-duplicates of {TOKENS}-token passages, threshold {THRESHOLD}")
    columns = ("input", "passages", "kept", "ms", "peak MiB", "npm ms", "ratio")
    for name in columns:
        table.add_column(name, justify="right")
    for row in rows:
        cells = [row.get(name, "") for name in columns]
        table.add_row(*(f"{cell:,.1f}" if isinstance(cell, float) else str(cell) for cell in cells))
    Console(width=120).print(table)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="up to 1,000 passages, without npm, nothing written")
    quick = parser.parse_args().quick
    real = real_passages()
    makers = inputs(real)
    sizes = SIZES[:2] if quick else SIZES
    rows = [measure(kind, make, count, peer=not quick) for kind, make in makers.items() for count in sizes]
    show(rows)
    if not quick:
        head = {**made_by(), "peer": "rag-chunk-reorder 0.1.7", "threshold": THRESHOLD}
        made = {**head, "tokens": TOKENS, "rows": rows, "likeness": likeness(real)}
        RESULTS.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
