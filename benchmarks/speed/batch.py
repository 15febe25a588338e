"""Batches on three engines: how many requests a second, beside two processes that know nothing of batches.

    python -m benchmarks.speed.batch            # 200,000 requests on processes, 20,000 on Ray and on Spark
    python -m benchmarks.speed.batch --demo     # 20,000 on each, compared; no results are written

Run: `make bench-batch`; writes `results/batch.json`. A run that is stopped goes on where it was, with the
same code. Everything is made from seeds: 20,000 chunks of the store that latency is measured on, in one file of SQLite,
and requests of 20 hits at 500 tokens, which name their hits and nothing more.

Ratios come from rounds in which all take turns on the same 1,000 requests. A rate counts from the moment when the first
part of each worker is done, so that starting Python, Java or a cluster is no part of it. Beside it stands the processor
time of a request, in all processes and counted from the same moment: what else the machine does is not in it, and where
it does much, the rates of sessions of their own, as Ray's, are better than those of others.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from faults.kills import kill
from support.worker_kills import killing

from benchmarks.speed.batch_checks import as_loop, begins_like, compare, compose_one, same
from benchmarks.speed.batch_rules import check_results, thin
from benchmarks.speed.latency import WORDS, machine, make_queries, make_store
from retrivex import Document, RetrievalConfig, SpanComposer
from retrivex.batch import ComposeWork, Job, OutputFolder, StoreAddress, compose_table, parquet_source
from retrivex.errors import BatchError
from retrivex.merging.stored_cuts import count_and_cut
from retrivex.stores import SQLiteStore
from retrivex.tokens.tokenizer import get_tokenizer

RESULTS = Path(__file__).parents[1] / "results" / "batch.json"
FOLDER = Path(__file__).parents[2] / ".venv" / "bench-batch"
CHUNKS, HITS, BUDGET = 20_000, 20, 500
MANY, FEW, ROUND = 200_000, 20_000, 1_000
ROUNDS, ROUND_PART = 5, 50
KILLED, EVERY_S, KILLED_PART = 2_000, 5.0, 100
JOB_KILLS, POOL_KILLS = 200, 50
CONFIG = RetrievalConfig(token_budget=BUDGET)
ENGINES = ("local", "ray", "spark")
WORKERS = 2
ONE_CORE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
_LOOK_S = 5.0
_PARTS_S = 0.1
_AT_ONCE = 10_000  # requests that are made together: a row group


# ---- the world


def make_world(folder: Path, requests: int) -> Path:
    """Write the store, and so many requests beside it; return the requests. What is there is kept."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(22)
    store = make_store(CHUNKS, rng, dimension=0)
    database = folder / "store.db"
    if not database.exists():
        made = folder / "store.tmp"
        made.unlink(missing_ok=True)
        counter = get_tokenizer("auto")
        with SQLiteStore(made) as written, written.batch():
            for doc_id, group in groupby(store.values(), key=lambda chunk: chunk.metadata.doc_id):
                chunks = list(group)
                counts = count_and_cut([chunk.text for chunk in chunks], counter)  # as an index has them
                written.put(Document(doc_id, ""), chunks, token_counts=counts, tokenizer=counter.name)
        made.rename(database)
    path = folder / f"requests-{requests}.parquet"
    if not path.exists():
        words, unfinished = WORDS.split(), path.with_suffix(".tmp")
        writer = None
        for first in range(0, requests, _AT_ONCE):
            rows = [
                {
                    "id": first + number,
                    "question": " ".join(rng.sample(words, 10)),
                    "hits": [
                        {"doc_id": hit.key[0], "chunk_id": hit.key[1], "score": hit.similarity_score} for hit in hits
                    ],
                }
                for number, hits in enumerate(make_queries(store, HITS, min(_AT_ONCE, requests - first), rng))
            ]
            table = pa.Table.from_pylist(rows)
            writer = writer or pq.ParquetWriter(unfinished, table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()
        unfinished.rename(path)
    return path


def take(path: Path, rows: int) -> Path:
    """Write the first rows of a file of requests into another one."""
    made = path.with_name(f"first-{rows}.parquet")
    if not made.exists():
        batch = next(pq.ParquetFile(path).iter_batches(batch_size=rows))
        pq.write_table(pa.Table.from_batches([batch]), made)
    return made


def make_job(requests: Path, out: Path, rows_per_part: int) -> Job:
    work = ComposeWork(CONFIG, StoreAddress("sqlite", str(requests.parent / "store.db")))
    return Job(parquet_source(requests, work, rows_per_part), work, OutputFolder(out))


# ---- what engines are compared with: processes by themselves


def compose_alone(how: str, requests: Path, part: int, start: int, rows: int, out: Path) -> None:
    """Compose rows as somebody would without batches, and print the time after each part of them.

    Parameters
    ----------
    how : `loop` calls `compose` for each request, `table` calls `compose_table` for each part
    requests : file of requests
    part : rows after which the time is printed
    start, rows : which of them
    out : file of JSON lines, or of Parquet
    """
    store = SQLiteStore(requests.parent / "store.db", read_only=True)
    composer = SpanComposer(CONFIG)
    table = pq.read_table(requests).slice(start, rows)
    with open(out, "wb") as written:
        for at in range(0, rows, part):
            piece = table.slice(at, part)
            if how == "table":
                pq.write_table(compose_table(piece, composer, store), written)
            else:
                for row in piece.to_pylist():
                    written.write(json.dumps(compose_one(row, composer, store)).encode() + b"\n")
            sys.stdout.write(f"{time.time()} {piece.num_rows} {time.process_time()}\n")
            sys.stdout.flush()


def run_alone(how: str, requests: Path, rows: int, folder: Path) -> tuple[float, float]:
    """Let processes compose rows, each its share; return requests a second, and processor seconds of one."""
    share = rows // WORKERS
    command = [sys.executable, "-m", "benchmarks.speed.batch", "--alone", how, str(requests), str(ROUND_PART)]
    processes = [
        subprocess.Popen(
            [*command, str(number * share), str(share), str(folder / f"alone-{number}")],
            stdout=subprocess.PIPE, text=True, env=os.environ | ONE_CORE,
        )
        for number in range(WORKERS)
    ]  # fmt: skip
    printed = [process.communicate()[0] for process in processes]
    if any(process.returncode for process in processes):
        raise SystemExit("a process that composes by itself failed: its error stands above")
    lines = [[tuple(map(float, line.split())) for line in text.splitlines()] for text in printed]
    spent = sum(of_one[-1][2] - of_one[0][2] for of_one in lines)
    done = [(when, int(count)) for of_one in lines for when, count, _ in of_one]
    return rate(done), spent / (rows - sum(of_one[0][1] for of_one in lines))


def rate(done: Sequence[tuple[float, int]]) -> float:
    """Return requests a second, of (time, requests) after each part, once every worker has done one."""
    times = sorted(done)
    return sum(count for _, count in times[WORKERS:]) / (times[-1][0] - times[WORKERS - 1][0])


# ---- engines


class ProcessorWatch:
    """Takes note of the processor time of all processes below this one whenever a part is done."""

    def __init__(self) -> None:
        self._spent: dict[int, float] = {}
        self.looks: list[tuple[int, float]] = []

    def look_at(self, out: Path, over: threading.Event) -> None:
        """Note what has been used whenever another part is there."""
        done = 0
        while not over.wait(_PARTS_S):
            before, done = done, len(list(out.glob("part-*")))
            if done != before:
                self._note(done)

    def _note(self, done: int) -> None:
        for process in psutil.Process().children(recursive=True):
            try:
                used = process.cpu_times()
            except psutil.Error:  # it ended meanwhile
                continue
            self._spent[process.pid] = used.user + used.system
        self.looks.append((done, sum(self._spent.values())))

    def of_a_part(self) -> float:
        """Processor seconds of a part, once every worker has done one."""
        begun = [look for look in self.looks if look[0] >= WORKERS]
        (first, before), (last, after) = begun[0], begun[-1]
        return (after - before) / (last - first)


def run_engine(engine: str, requests: Path, rows_per_part: int, out: Path) -> tuple[float, float]:
    """Run a job; return requests a second, and processor seconds of one."""
    watch = ProcessorWatch()
    run = import_module(f"retrivex.batch.{engine}").run
    over = threading.Event()
    looking = threading.Thread(target=watch.look_at, args=(out, over), daemon=True)
    looking.start()
    made = run(make_job(requests, out, rows_per_part), workers=WORKERS)
    over.set()
    if made.failed:
        raise SystemExit(f"{engine}: {made.failed} of {made.rows} requests failed: the column error says why")
    parts = [(path.stat().st_mtime, pq.read_metadata(path).num_rows) for path in out.glob("part-*")]
    return rate(parts), watch.of_a_part() / rows_per_part


def play_rounds(requests: Path, folder: Path, known: list[dict[str, float]]) -> Iterator[list[dict[str, float]]]:
    """Let all take turns; yield the rates of the rounds so far after each."""
    some = take(requests, ROUND)
    names = ["loop", "table", *ENGINES]
    while len(known) < ROUNDS:
        order = names[len(known) % len(names) :] + names[: len(known) % len(names)]
        found: dict[str, float] = {}
        for name in order:
            out = folder / f"round-{name}"
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir()
            run = run_engine if name in ENGINES else run_alone
            part = ROUND_PART if name in ENGINES else ROUND
            found[name], spent = run(name, some, part, out)
            found[f"{name}, ms of processor"] = round(1000 * spent, 2)
            print(f"round {len(known) + 1}, {name}: {found[name]:.1f} requests a second", flush=True)
        known = [*known, found]
        yield known


def run_long(engine: str, requests: Path, out: Path, known: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Run a long job in one go or several; yield its account now and then."""
    job = make_job(requests, out, 1_000)
    account = {"rows": 0, "seconds": 0.0, "runs": 0, "memory": [], **known}
    if account.get("done"):
        return
    account.pop("error", None)  # of a run before this one
    account["runs"] += 1
    began, spent = time.perf_counter(), account["seconds"]
    over = threading.Event()
    looks: list[tuple[int, float]] = []
    looking = threading.Thread(target=_look, args=(over, looks, out), daemon=True)
    looking.start()
    thread = threading.Thread(target=_run_quietly, args=(engine, job, account), daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(20.0)
        done = len(list(out.glob("part-*"))) * 1_000
        account |= {"rows": done, "seconds": round(spent + time.perf_counter() - began, 1)}
        account["memory"] = [*known.get("memory", []), *looks]
        print(f"{engine}: {done:,} requests, {account['seconds']:,.0f} s", flush=True)
        yield account
    over.set()
    if "error" in account:
        raise SystemExit(account["error"])
    yield account | {"done": True, "memory": thin(account["memory"])}


def _run_quietly(engine: str, job: Job, account: dict[str, Any]) -> None:
    try:
        made = import_module(f"retrivex.batch.{engine}").run(job, workers=WORKERS)
    except Exception as error:  # noqa: BLE001 - said by the thread that waits
        account["error"] = str(error)
    else:
        account |= {"failed": made.failed, "parts": made.parts}


def _look(over: threading.Event, looks: list[tuple[int, float]], out: Path) -> None:
    """Note rows done and the memory of this process and all below it, in MB, now and then."""
    own = psutil.Process()
    while not over.wait(_LOOK_S):
        total = 0
        for process in [own, *own.children(recursive=True)]:
            try:
                total += process.memory_info().rss
            except psutil.Error:  # it ended meanwhile
                continue
        looks.append((len(list(out.glob("part-*"))) * 1_000, round(total / 1e6, 1)))


def run_killed(engine: str, requests: Path, folder: Path) -> dict[str, Any]:
    """Run a job while a worker is killed every `EVERY_S`; return how many were, and whether the bytes are the same."""
    some, out, plain = take(requests, KILLED), folder / f"killed-{engine}", folder / "killed-none"
    if not (plain / "part-00000.parquet").exists():
        run_engine("local", some, KILLED_PART, plain)
    shutil.rmtree(out, ignore_errors=True)
    began = time.perf_counter()
    with killing(engine, EVERY_S) as killed:
        while len(list(out.glob("part-*"))) < KILLED // KILLED_PART:  # a worker that dies ends a run on processes
            with suppress(BatchError):
                import_module(f"retrivex.batch.{engine}").run(make_job(some, out, KILLED_PART), workers=WORKERS)
    seconds = time.perf_counter() - began
    return {"requests": KILLED, "killed": len(killed), "seconds": round(seconds, 1), "same_bytes": same(out, plain)}


# ---- all of it


def measure(folder: Path) -> None:
    """Measure what is not measured yet with today's code, and write it as it comes."""
    results: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    head = machine()
    if results.get("code") != head["code"]:  # of other code, as what lies in the folder may be
        results = {}
        shutil.rmtree(folder, ignore_errors=True)
    requests = make_world(folder, MANY)
    results |= {**head, "chunks": CHUNKS, "hits": HITS, "budget": BUDGET, "workers": WORKERS}

    def keep() -> None:
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")

    for rounds in play_rounds(requests, folder, results.get("rounds", [])):
        results["rounds"] = rounds
        results["ratios"] = _ratios(rounds)
        keep()
    results.setdefault("killed", {})
    for engine in ENGINES:
        if engine not in results["killed"]:
            results["killed"][engine] = run_killed(engine, requests, folder)
            keep()
    for key, name, count in (("job_kills", "batch", JOB_KILLS), ("pool_kills", "pool", POOL_KILLS)):
        if key not in results:
            results[key] = _kill_jobs(name, count)
            keep()
    results.setdefault("long", {})
    for engine, count in (("ray", FEW), ("spark", FEW), ("local", MANY)):
        some = requests if count == MANY else take(requests, count)
        out = folder / f"long-{engine}"
        for account in run_long(engine, some, out, results["long"].get(engine, {})):
            results["long"][engine] = account
            keep()
        account = results["long"][engine]
        if "as_loop" not in account:
            account["as_loop"] = as_loop(some, out, SpanComposer(CONFIG))
            account["compared_parts"] = len(list(out.glob("part-*")))
            keep()
    for engine in ("ray", "spark"):
        results["long"][engine]["same_bytes"] = begins_like(
            folder / f"long-{engine}", folder / "long-local", FEW // 1_000
        )
    keep()
    check_results(results)


def _kill_jobs(name: str, count: int) -> dict[str, Any]:
    """Kill jobs while they make parts and write them into a store; return how often, and what was wrong after."""
    with TemporaryDirectory() as folder:
        made = kill(name, count, 0, Path(folder))
    return {"killed": made.killed, "alone": made.alone, "violations": made.violations}


def _ratios(rounds: Sequence[dict[str, float]]) -> dict[str, float]:
    def median(over: str, under: tuple[str, ...]) -> float:
        return round(statistics.median(one[over] / max(one[name] for name in under) for one in rounds), 3)

    return {
        "local/loop": median("local", ("loop",)),
        "local/table": median("local", ("table",)),
        "ray/local": median("ray", ("local",)),
        "spark/local": median("spark", ("local",)),
        **{
            f"{over}/{under}, by processor time": median(f"{under}, ms of processor", (f"{over}, ms of processor",))
            for over, under in (("local", "loop"), ("local", "table"), ("ray", "local"), ("spark", "local"))
        },
    }


def demo(folder: Path, count: int) -> None:
    """Compose requests on all engines, and compare them with one another and with a loop."""
    requests = make_world(folder, count)
    for engine in ENGINES:
        out = folder / f"demo-{engine}"
        shutil.rmtree(out, ignore_errors=True)
        began = time.perf_counter()
        per_second, _ = run_engine(engine, requests, max(100, min(1_000, count // 10)), out)
        seconds = time.perf_counter() - began
        print(f"{engine}: {count:,} requests in {seconds:.0f} s, {per_second:.0f} a second once begun", flush=True)
    compare({engine: folder / f"demo-{engine}" for engine in ENGINES}, requests, SpanComposer(CONFIG))


@contextmanager
def _path_of_workers() -> Iterator[None]:
    """Let workers find the modules of this benchmark."""
    root = Path(__file__).parents[2]
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = f"{root}{os.pathsep}{root / 'tests'}"
    os.environ.setdefault("RAY_ADDRESS", "local")  # no cluster that somebody left behind
    yield
    if before is not None:
        os.environ["PYTHONPATH"] = before


def main() -> None:
    """Measure, or show."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--demo", action="store_true", help="compose on all engines and compare; nothing is written")
    parser.add_argument("--requests", type=int, default=FEW, help="of the demo")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where store, requests and outputs lie")
    parser.add_argument("--alone", nargs=6, metavar="", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.alone:
        how, requests, part, start, rows, out = given.alone
        compose_alone(how, Path(requests), int(part), int(start), int(rows), Path(out))
        return
    with _path_of_workers():
        if given.demo:
            demo(given.folder, given.requests)
        else:
            measure(given.folder)


if __name__ == "__main__":
    main()
