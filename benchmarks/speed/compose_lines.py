"""How many requests a second `retrivex compose` answers on one core, by processor time.

Run: `make bench` (or `python -m benchmarks.speed.compose_lines`); writes `results/compose_lines.json`, and ends with
exit code 1 below `LEAST` requests a second.

The command runs as users run it, in a process of its own: 1,000 requests of 20 hits at 500 tokens, over 2,000 chunks
that all lines share (`--chunks`). Measured is the processor time of that process, with and without its start, which is
what an empty file takes. The floor of a request is to parse its line, look the chunks of its hits and their neighbours
up, join what is shown, count its tokens once, and write the answer as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

from benchmarks.speed.latency import WORDS, Store, machine, make_queries, make_store
from retrivex.loading import chunk_to_dict
from retrivex.tokens.tokenizer import get_tokenizer

RESULTS = Path(__file__).parents[1] / "results" / "compose_lines.json"
LEAST = 100
"""Requests a second on one core that are promised."""

HITS, BUDGET, CHUNKS, NEIGHBOURS = 20, 500, 2000, 2
ONE_CORE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def make_lines(store: Store, count: int, rng: random.Random) -> list[str]:
    """Make requests of `HITS` hits that name shared chunks, each with a question of ten words."""
    words = WORDS.split()
    return [
        json.dumps(
            {
                "id": number,
                "question": " ".join(rng.sample(words, 10)),
                "hits": [{"doc_id": hit.key[0], "chunk_id": hit.key[1], "score": hit.similarity_score} for hit in hits],
            }
        )
        for number, hits in enumerate(make_queries(store, HITS, count, rng))
    ]


def seconds_of_command(folder: Path, lines: Sequence[str]) -> float:
    """Return the processor seconds that one run of the command takes, start and end included."""
    requests, answers = folder / "requests.jsonl", folder / "answers.jsonl"
    requests.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    command = [sys.executable, "-m", "retrivex", "compose", "--in", requests, "--out", answers]
    options = ["--chunks", folder / "chunks.jsonl", "--budget", str(BUDGET)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*command, *options], check=True, env=os.environ | ONE_CORE)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def floor_seconds(store: Store, lines: Sequence[str], answers: Sequence[str]) -> float:
    """Return the processor seconds of what no program can leave out, in this process."""
    count = get_tokenizer("auto").count
    texts = [json.loads(answer)["text"] for answer in answers]
    count(texts[0])
    began = time.process_time()
    for line, text in zip(lines, texts, strict=True):
        around = [
            store.get((hit["doc_id"], hit["chunk_id"] + step))
            for hit in json.loads(line)["hits"]
            for step in range(-NEIGHBOURS, NEIGHBOURS + 1)
        ]
        shown = "".join([text[at : at + 1000] for at in range(0, len(text), 1000)])
        json.dumps({"text": shown, "tokens": count(shown), "chunks": len(around)}, ensure_ascii=False)
    return time.process_time() - began


def measure(requests: int) -> dict[str, Any]:
    """Run the command on `requests` lines and on none."""
    rng = random.Random(20)
    store = make_store(CHUNKS, rng, dimension=0)
    lines = make_lines(store, requests, rng)
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        chunks = "".join(f"{json.dumps(chunk_to_dict(chunk))}\n" for chunk in store.values())
        (folder / "chunks.jsonl").write_text(chunks, encoding="utf-8")
        start = seconds_of_command(folder, [])
        whole = seconds_of_command(folder, lines)
        answers = (folder / "answers.jsonl").read_text(encoding="utf-8").splitlines()
    floor = floor_seconds(store, lines, answers)
    return {
        **machine(),
        "requests": requests,
        "hits": HITS,
        "budget": BUDGET,
        "start_seconds": round(start, 3),
        "seconds": round(whole, 3),
        "requests_per_second": round(requests / whole, 1),
        "requests_per_second_after_start": round(requests / (whole - start), 1),
        "floor_requests_per_second": round(requests / floor, 1),
        "characters_per_answer": round(sum(map(len, answers)) / requests),
    }


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=1000, help="lines; other numbers than 1,000 are not written")
    given = parser.parse_args()
    found = measure(given.requests)
    Console().print_json(json.dumps(found))
    if given.requests == parser.get_default("requests"):
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if found["requests_per_second"] < LEAST:
        raise SystemExit(f"{found['requests_per_second']} requests a second are fewer than {LEAST}")


if __name__ == "__main__":
    main()
