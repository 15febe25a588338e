"""Neighbours out of every store that runs here: requests and time, against one request for each neighbour.

Run: `make bench-adapters`; `--chunks 5000` is a quick try. Writes `results/adapters.json` (`--out` elsewhere).

A question has 20 seeds at random places, and asks for two chunks on either side of each. Stores hold 100,000 chunks of
about 200 characters in documents of 50, and vectors of 8 dimensions, as neighbours do not depend on vectors. Each
store is measured in a process of its own, over 10 questions; a store that does not start or answer is named in the
result with the reason. Times are medians, of at least three questions where one takes seconds. What takes more than 3
seconds one by one is measured in part, and marked as estimated.

- the base query: the 20 nearest records, as the store answers them to the adapter;
- neighbours: `fetch` of the adapter, in one request;
- one by one: the same store asked the same way for each neighbour alone, or what the framework has for neighbours;
- RetriVex itself: a whole `compose` of those hits to 2,000 tokens, less the time in requests.

Chroma takes longest to fill. Qdrant's local mode holds 20,000 chunks, as many as it is meant for.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.code import made_by
from benchmarks.speed.engines.engine import RADIUS, SEEDS, Engine, Question, Way, listed, made_chunks, questions
from retrivex import RetrievalConfig, SpanComposer
from retrivex.model.window import Window

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).parents[1] / "results" / "adapters.json"
ENVIRONMENTS = Path(os.environ.get("RETRIVEX_ENVIRONMENTS", ROOT / ".venv"))
CHUNKS, QUESTIONS = 100_000, 10
ENOUGH_S, LEAST = 2.0, 3  # of measuring one thing; then at least three questions
MOST_S = 3.0  # for what is asked one by one
TIMEOUT_S = 600.0  # for one store, filling included
STOP_S = 30.0  # for stopping its server

# for more points, Qdrant's client says, local mode is not meant; a filter walks through all of them in Python
MOST_CHUNKS = {"Qdrant local mode": 20_000}

STORES = {
    "SQLiteStore": ("engines", "sqlite"),
    "PostgreSQL, pgvector": ("engines", "pgvector"),
    "LanceDB": ("engines", "lance"),
    "Milvus Lite": ("engines", "milvus"),
    "Chroma server": ("engines", "chroma"),
    "Qdrant engine": ("engines", "qdrant_edge"),
    "Qdrant local mode": ("engines", "qdrant_local"),
    "LlamaIndex docstore": ("frameworks", "llamaindex"),
    "Haystack in memory": ("frameworks", "haystack_memory"),
}

Row = dict[str, Any]


def median_ms(call: Callable[[Any], object], arguments: Sequence[Any]) -> float:
    """Return the median time of a call, the first left out where there are more than three."""
    times: list[float] = []
    until = time.perf_counter() + ENOUGH_S
    for argument in arguments:
        if len(times) >= LEAST and time.perf_counter() > until:
            break
        began = time.perf_counter()
        call(argument)
        times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times[1:] if len(times) > LEAST else times)


def one_by_one(way: Way, asked: Sequence[Question]) -> Row:
    """Measure a request for each neighbour; stops where it takes too long, and says so."""
    first = asked[0].neighbours
    began, done, before = time.perf_counter(), 0, way.meter.calls
    for doc_id, n in first:
        way.store.fetch([Window(doc_id, n, n + 1)])
        done += 1
        if time.perf_counter() - began > MOST_S:
            break
    ms = 1000 * (time.perf_counter() - began) * len(first) / done
    requests = (way.meter.calls - before) * len(first) // done
    if done < len(first):
        return {"requests": requests, "ms": ms, "estimated": True}

    def ask(question: Question) -> None:
        for doc_id, n in question.neighbours:
            way.store.fetch([Window(doc_id, n, n + 1)])

    return {"requests": requests, "ms": median_ms(ask, asked)}


def peer(way: Way, asked: Sequence[Question]) -> Row:
    """Measure what the framework has; it has to find the same chunks."""
    assert way.peer is not None
    ask = way.peer
    before = way.meter.calls
    if set(ask(asked[0].seeds)) | {chunk.key for chunk in asked[0].seeds} != asked[0].keys:
        raise RuntimeError(f"{way.peer_name} finds other chunks")
    requests = way.meter.calls - before
    return {"requests": requests, "ms": median_ms(lambda question: ask(question.seeds), asked)}


def own_ms(way: Way, asked: Sequence[Question], fetch_ms: float) -> float | None:
    """Return the time of a whole composition without that in requests; None where these take long."""
    if fetch_ms > 500:
        return None  # it is the same for the other ways to ask
    composer = SpanComposer(RetrievalConfig(window=RADIUS, token_budget=2000))
    times = []
    for question in asked:
        waited, began = way.meter.seconds, time.perf_counter()
        composer.compose(question.hits, way.store)
        times.append(1000 * (time.perf_counter() - began - (way.meter.seconds - waited)))
    return statistics.median(times)


def measure(way: Way, asked: Sequence[Question]) -> Row:
    """Measure one way to ask."""
    before = way.meter.calls
    found = {chunk.key for chunk in way.store.fetch(asked[0].windows)}
    requests = way.meter.calls - before
    if found != asked[0].keys:
        raise RuntimeError(f"{way.name}: {len(found)} chunks instead of {len(asked[0].keys)}")
    ms = median_ms(lambda question: way.store.fetch(question.windows), asked)
    other = one_by_one(way, asked) if way.peer is None else peer(way, asked)
    return {
        "way": way.name, "chunks": len(found), "neighbours": len(asked[0].neighbours), "requests": requests, "ms": ms,
        "against": way.peer_name, "other": other, "ratio": other["ms"] / ms, "own ms": own_ms(way, asked, ms),
    }  # fmt: skip


def measure_engine(module: str, count: int) -> Row:
    """Fill one store and measure it; for a process of its own."""
    chunks = made_chunks(count)
    asked = questions(chunks, QUESTIONS)
    with tempfile.TemporaryDirectory() as folder:
        inner = Path(folder) / "data"
        inner.mkdir()
        began = time.perf_counter()
        with importlib.import_module(f"benchmarks.speed.engines.{module}").running(inner, chunks) as engine:
            filled = time.perf_counter() - began
            return {"version": engine.version, "fill s": filled, "base ms": _base_ms(engine, asked)} | {
                "ways": [measure(way, asked) for way in engine.ways]
            }


def _base_ms(engine: Engine, asked: Sequence[Question]) -> float | None:
    if engine.nearest is None:
        return None
    return median_ms(engine.nearest, [listed(question.seeds[0]) for question in asked])


def measure_apart(store: str, count: int) -> Row:
    """Measure a store in a process of its own; says why where that does not succeed."""
    environment, module = STORES[store]
    python = ENVIRONMENTS / environment / "bin" / "python"
    head = {"store": store, "chunks": count}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "result.json"
        command = [
            str(python),
            "-m",
            "benchmarks.speed.adapters",
            "--module",
            module,
            "--chunks",
            str(count),
            "--out",
            str(out),
        ]
        if not python.exists():
            return head | {"missing": f"no environment {environment!r}"}
        missing = failure(command)
        return head | ({"missing": missing} if missing else json.loads(out.read_text(encoding="utf-8")))


def failure(command: Sequence[str]) -> str | None:
    """Run a command and return why it failed; None where it did not."""
    worker = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8", start_new_session=True
    )
    try:
        _, said = worker.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        worker.send_signal(signal.SIGINT)  # so that it stops its server
        try:
            worker.communicate(timeout=STOP_S)
        except subprocess.TimeoutExpired:
            os.killpg(worker.pid, signal.SIGKILL)
            worker.communicate()
        return f"not done within {TIMEOUT_S:.0f} s"
    last = (said.strip().splitlines() or ["nothing said"])[-1][:200]
    return f"{last} (exit status {worker.returncode})" if worker.returncode else None


def show(rows: Sequence[Row]) -> None:
    """Print what was measured."""
    table = Table(title=f"neighbours of {SEEDS} seeds, ±{RADIUS}")
    for name in ("store", "asked by", "base ms", "requests", "ms", "against", "requests", "ms", "own ms", "fill s"):
        table.add_column(name)
    for row in rows:
        base = "" if row.get("base ms") is None else f"{row['base ms']:.1f}"
        for way in row.get("ways", []):
            other = way["other"]
            table.add_row(
                row["store"], way["way"], base, str(way["requests"]), f"{way['ms']:.1f}", way["against"],
                str(other["requests"]), f"{'about ' if 'estimated' in other else ''}{other['ms']:,.0f}",
                "" if way["own ms"] is None else f"{way['own ms']:.1f}", f"{row['fill s']:.1f}",
            )  # fmt: skip
        if "missing" in row:
            table.add_row(row["store"], f"missing: {row['missing']}")
    Console(width=160).print(table)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=CHUNKS, help="in every store")
    parser.add_argument("--only", nargs="*", choices=list(STORES), default=list(STORES), help="these stores")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--module", help=argparse.SUPPRESS)  # the process that measures one store
    given = parser.parse_args()
    if given.module is not None:
        given.out.write_text(json.dumps(measure_engine(given.module, given.chunks)), encoding="utf-8")
        return
    rows = []
    for store in given.only:
        began = time.perf_counter()
        rows.append(measure_apart(store, min(given.chunks, MOST_CHUNKS.get(store, given.chunks))))
        print(f"{store}: {rows[-1].get('missing', 'measured')}, {time.perf_counter() - began:.0f} s", flush=True)
    show(rows)
    made = {**made_by(), "load_average": os.getloadavg()[0], "chunks": given.chunks}
    given.out.write_text(json.dumps(made | {"rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
