"""The HTTP service: what a round trip takes beside composing in process, and what it does under load. Loopback only.

    python -m benchmarks.speed.service           # a quarter of an hour; writes benchmarks/results/service.json
    python -m benchmarks.speed.service --short   # two minutes, prints only

Needs the environment serve. Exit code 1 where one that must hold does not, after `--tries` runs.

**Round trip.** In turns, so that what else the machine does falls on all alike, with one connection and medians of wall
time: a request to the service, the same in this process, and two echo endpoints with the same bodies, served like the
service: one hands back stored bytes, the other also reads and writes the JSON.

**Load.** The named request is `POST /v1/query` with `k` 20 and a budget of 1,000 tokens, 50 questions in turns, all
asked before (warm). Its capacity C is what four clients in a closed loop get answered. Then, in an open loop with
random gaps (`service_load.py`): 0.7 C for ten minutes, 3 C for a minute, and 0.7 C again at once, in which the last
refusal says when the service has recovered. Memory is that of the service's process, each second; its slope is fitted
over all but the first tenth, in which caches fill.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import psutil

from benchmarks.speed.latency import WORDS, Store, machine, make_queries, make_store
from benchmarks.speed.service_load import Answers, Plan
from retrivex import Document
from retrivex.chunking import get_chunker
from retrivex.loading import chunk_to_dict
from retrivex.retrieval.indexing import Indexer
from retrivex.service.bodies import DEFAULT_INDEX
from retrivex.service.engine import Engine
from retrivex.service.index import Index
from retrivex.stores import SQLiteStore
from retrivex.tokens.tokenizer import get_tokenizer

Record = dict[str, Any]
Call = Callable[[Record], Any]

RESULTS = Path(__file__).parents[1] / "results" / "service.json"
HITS, BUDGET, CHUNKS, QUESTIONS, NEIGHBOURS = 20, 1000, 2000, 50, 2
CLIENTS = 4  # of the closed loop: enough to keep both threads of a worker busy, too few to be refused
STEADY, OVERLOAD = 0.7, 3.0
AIM_ECHO, MOST_RATIO, MOST_RECOVERY_S, MOST_GROWTH = 1.5, 2.0, 2.0, 0.05
REFUSED = ("429", "503")
SHARES = (50, 95, 99)


# ---- processes


@contextmanager
def run_process(
    command: Sequence[str], ready: str, log: Path, **environment: str
) -> Iterator[tuple[psutil.Process, str]]:
    """Run a server until the block ends; yield its process and its address, once it answers."""
    port = environment.get("ECHO_PORT")
    with log.open("ab") as errors:
        process = subprocess.Popen(
            command, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=errors, text=True
        )
        try:
            assert process.stdout is not None
            address = f"http://127.0.0.1:{port}" if port else _find_address(process.stdout)
            _wait(address + ready)
            yield psutil.Process(process.pid), address
        finally:
            process.terminate()
            process.wait(60)
            assert process.stdout is not None
            process.stdout.close()


def _find_address(lines: Iterator[str]) -> str:
    for line in lines:
        if found := re.search(r"on (http://\S+)$", line):
            return found[1]
    raise SystemExit("the service did not start: see the log of its environment")


def _wait(address: str) -> None:
    where = urlsplit(address)
    for _ in range(300):
        try:
            connection = http.client.HTTPConnection(str(where.hostname), where.port, timeout=10)
            connection.request("GET", where.path)
            connection.getresponse().read()
        except OSError:
            time.sleep(0.1)
        else:
            connection.close()
            return
    raise SystemExit(f"{address} does not answer")


# ---- requests


def make_index(path: Path, store: Store) -> None:
    """Write the documents of a store to a database."""
    texts: dict[str, list[str]] = {}
    for (doc_id, _), chunk in store.items():
        texts.setdefault(doc_id, []).append(chunk.text)
    tokenizer = get_tokenizer("auto")
    with SQLiteStore(path) as database:
        indexer = Indexer(database, get_chunker("auto", tokenizer=tokenizer), tokenizer)
        for doc_id, parts in texts.items():
            indexer.add(Document(doc_id, "".join(parts)))


def make_bodies(store: Store, rng: random.Random) -> dict[str, list[Record]]:
    """Return bodies of `/v1/query` and of `/v1/compose`, which brings the hits' neighbours along."""
    words, config = WORDS.split(), {"token_budget": BUDGET}
    queries, composed = [], []
    for hits in make_queries(store, HITS, QUESTIONS, rng):
        question = " ".join(rng.sample(words, 10))
        near = {(hit.key[0], hit.key[1] + step): None for hit in hits for step in range(-NEIGHBOURS, NEIGHBOURS + 1)}
        queries.append({"question": question, "k": HITS, "config": config})
        composed.append(
            {
                "question": question,
                "hits": [{"doc_id": hit.key[0], "chunk_id": hit.key[1], "score": hit.similarity_score} for hit in hits],
                "chunks": [chunk_to_dict(store[key]) for key in near if key in store],
                "config": config,
            }
        )
    return {"query": queries, "compose": composed}


# ---- round trips


class Caller:
    """One connection that is kept open."""

    def __init__(self, address: str) -> None:
        where = urlsplit(address)
        self._connection = http.client.HTTPConnection(str(where.hostname), where.port, timeout=60)

    def post(self, path: str, body: bytes) -> bytes:
        """Return the body of an answer that is 200."""
        self._connection.request("POST", path, body, {"Content-Type": "application/json"})
        answer = self._connection.getresponse()
        read = answer.read()
        if answer.status != 200:
            raise SystemExit(f"{path} answers {answer.status}: {read[:200]!r}")
        return read


def measure_round_trips(folder: Path, database: Path, address: str, bodies: dict[str, list[Record]]) -> Record:
    """Return the medians of each operation, in milliseconds, and whether the aim is reached."""
    tokenizer = get_tokenizer("auto")
    engine = Engine([Index(DEFAULT_INDEX, database, tokenizer)], tokenizer=tokenizer)
    calls: dict[str, Call] = {"query": engine.query, "compose": engine.compose}
    service = Caller(address)
    raw = {name: [json.dumps(body, ensure_ascii=False).encode() for body in some] for name, some in bodies.items()}
    answers = {name: [json.loads(service.post(f"/v1/{name}", body)) for body in some] for name, some in raw.items()}
    echoed = folder / "answers.json"
    echoed.write_text(json.dumps([*answers["query"], *answers["compose"]]), encoding="utf-8")
    command = [sys.executable, "-m", "benchmarks.speed.service_echo"]
    port = _free_port()
    made: Record = {}
    with run_process(command, "/", folder / "echo.log", ECHO_ANSWERS=str(echoed), ECHO_PORT=str(port)) as (_, echo):
        caller = Caller(echo)
        for first, name in ((0, "query"), (QUESTIONS, "compose")):
            times = _interleave(name, first, bodies[name], raw[name], service, caller, calls[name])
            made[name] = _judge(times, len(raw[name][0]), len(json.dumps(answers[name][0])))
    engine.close()
    return made


def _interleave(
    name: str,
    first: int,
    bodies: list[Record],
    raw: list[bytes],
    service: Caller,
    echo: Caller,
    call: Callable[..., Any],
) -> dict[str, float]:
    times: dict[str, list[float]] = {"service": [], "in_process": [], "echo": [], "echo_json": []}
    rng = random.Random(5)
    for turn in range(6):  # the first turn warms
        for number, (body, sent) in enumerate(zip(bodies, raw, strict=True)):
            steps: dict[str, Callable[[], Any]] = {
                "service": lambda sent=sent: service.post(f"/v1/{name}", sent),
                "in_process": lambda body=body: call(body),
                "echo": lambda sent=sent, number=number: echo.post(f"/echo/{first + number}", sent),
                "echo_json": lambda sent=sent, number=number: echo.post(f"/echo_json/{first + number}", sent),
            }
            for step, run in rng.sample([*steps.items()], len(steps)):  # so that none always comes after the same
                began = time.perf_counter()
                run()
                if turn:
                    times[step].append((time.perf_counter() - began) * 1e3)
    return {step: round(statistics.median(some), 3) for step, some in times.items()}


def _judge(times: dict[str, float], request: int, answer: int) -> Record:
    aim = times["in_process"] + AIM_ECHO * times["echo"]
    aim_json = times["in_process"] + AIM_ECHO * times["echo_json"]
    return {
        "request_bytes": request,
        "answer_bytes": answer,
        **{f"{name}_ms": value for name, value in times.items()},
        "aim_ms": round(aim, 3),
        "aim_met": times["service"] <= aim,
        "aim_json_ms": round(aim_json, 3),
        "aim_json_met": times["service"] <= aim_json,
    }


def _free_port() -> int:
    import socket  # noqa: PLC0415 - of this one line

    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        port: int = door.getsockname()[1]
        return port


# ---- load


class Watch:
    """Memory of a process each second, and what the rest of the machine does meanwhile."""

    def __init__(self, process: psutil.Process) -> None:
        self._process = process
        self._ended = threading.Event()
        self.seconds: list[float] = []
        self.mb: list[float] = []

    def __enter__(self) -> Watch:
        self._busy, self._own, self._began = _busy_s(), self._cpu_s(), time.monotonic()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        took = time.monotonic() - self._began
        self.cores_of_others = round(max(0.0, _busy_s() - self._busy - self._cpu_s() + self._own) / took, 2)

    def _look(self) -> None:
        while not self._ended.wait(1.0):
            self.seconds.append(time.monotonic() - self._began)
            self.mb.append(self._process.memory_info().rss / 1e6)

    def _cpu_s(self) -> float:
        """Return the seconds that the service and the sender have computed."""
        own, sent = self._process.cpu_times(), os.times()
        return float(own.user + own.system + sent.children_user + sent.children_system)


def _busy_s() -> float:
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0))


def send(plan: Plan) -> Answers:
    """Send a plan from a process of its own."""
    command = [sys.executable, "-m", "benchmarks.speed.service_load"]
    done = subprocess.run(command, input=json.dumps(asdict(plan)), capture_output=True, text=True, check=True)
    return Answers(**json.loads(done.stdout))


def run_phase(process: psutil.Process, plan: Plan) -> tuple[Record, Answers]:
    """Send a plan; return what is reported of it, and the answers."""
    with Watch(process) as watch:
        answers = send(plan)
    took = 1e3 * np.array([took for took, status in zip(answers.took, answers.status, strict=True) if status == 200])
    statuses = Counter(str(status) for status in answers.status)
    shares = {f"p{share}_ms": round(float(np.percentile(took, share)), 1) if len(took) else None for share in SHARES}
    made = {
        "rate": None if plan.rate is None else round(plan.rate, 2),
        "seconds": plan.seconds,
        "requests": len(answers.status),
        "statuses": dict(sorted(statuses.items())),
        **shares,
        "sender_late_ms": round(1e3 * answers.late, 1),
        "cores_of_others": watch.cores_of_others,
        "memory": _fit(watch),
    }
    return made, answers


def _fit(watch: Watch) -> Record | None:
    first = len(watch.mb) // 10
    seconds, mb = np.array(watch.seconds[first:]), np.array(watch.mb[first:])
    if len(mb) < 5:
        return None
    slope = float(np.polyfit(seconds, mb, 1)[0])
    return {
        "start_mb": round(float(mb[0]), 1),
        "end_mb": round(float(mb[-1]), 1),
        "slope_mb_per_minute": round(60 * slope, 3),
        "growth": round(slope * float(seconds[-1] - seconds[0]) / float(mb[0]), 4),
    }


def measure_load(process: psutil.Process, address: str, bodies: Sequence[str], *, short: bool) -> Record:
    """Return what the phases came to."""
    capacity_s, steady_s, overload_s, after_s = (6, 60, 20, 8) if short else (20, 600, 60, 20)
    send(Plan(address, bodies, capacity_s / 2, clients=CLIENTS))  # warm
    most, answered = run_phase(process, Plan(address, bodies, capacity_s, clients=CLIENTS))
    capacity = answered.status.count(200) / capacity_s
    print(f"capacity {capacity:.1f} requests a second", file=sys.stderr, flush=True)
    steady, _ = run_phase(process, Plan(address, bodies, steady_s, STEADY * capacity))
    print(f"steady {steady}", file=sys.stderr, flush=True)
    overload, _ = run_phase(process, Plan(address, bodies, overload_s, OVERLOAD * capacity, seed=8))
    print(f"overload {overload}", file=sys.stderr, flush=True)
    after, later = run_phase(process, Plan(address, bodies, after_s, STEADY * capacity, seed=9))
    refused = [
        due + took for due, took, status in zip(later.due, later.took, later.status, strict=True) if status != 200
    ]
    recovery = {**after, "recovered_after_s": round(max(refused, default=0.0), 2)}
    return {
        "capacity": {**most, "requests_per_second": round(capacity, 1), "clients": CLIENTS},
        "steady": steady,
        "overload": {**overload, "p99_ratio": _ratio(overload["p99_ms"], steady["p99_ms"])},
        "recovery": recovery,
    }


def _ratio(one: float | None, other: float | None) -> float | None:
    return None if one is None or not other else round(one / other, 2)


def judge_load(found: Record) -> dict[str, bool]:
    """Return what must hold, and whether it does."""
    steady, overload, recovery = found["steady"], found["overload"], found["recovery"]
    ratio, memory = overload["p99_ratio"], steady["memory"]
    return {
        "steady: no error": set(steady["statuses"]) == {"200"},
        "steady: 200, 429 and 503 alone": set(steady["statuses"]) <= {"200", *REFUSED},
        "steady: memory flat": memory is None or memory["growth"] <= MOST_GROWTH,
        "overload: 200, 429 and 503 alone": set(overload["statuses"]) <= {"200", *REFUSED},
        "overload: p99 of the accepted at most twice": ratio is not None and ratio <= MOST_RATIO,
        "recovery: 200, 429 and 503 alone": set(recovery["statuses"]) <= {"200", *REFUSED},
        "recovered within 2 s": recovery["recovered_after_s"] <= MOST_RECOVERY_S,
        "no crash": found["alive"],
    }


BY_THE_CLOCK = ("steady: no error", "overload: p99 of the accepted at most twice", "recovered within 2 s")
"""What other programs on the same cores break as well: short of processor time, a service has to refuse."""

MOST_OF_OTHERS = 0.2
"""Cores that other programs may take; above this the clock is not judged."""


def is_disturbed(found: Record) -> bool:
    """Return whether other programs took so much of the processor that times say nothing of the service."""
    return max(found[part]["cores_of_others"] for part in ("steady", "overload")) > MOST_OF_OTHERS


def find_missed(found: Record, *, short: bool) -> tuple[list[str], list[str]]:
    """Return what must hold and does not, and what of it is not judged: by the clock, in a short run beside others."""
    missed = [name for name, met in found["met"].items() if not met]
    if not (short and is_disturbed(found)):
        return missed, []
    unjudged = [name for name in missed if name in BY_THE_CLOCK]
    return [name for name in missed if name not in unjudged], unjudged


# ---- everything


def measure(*, short: bool) -> Record:
    """Run everything once."""
    rng = random.Random(11)
    store = make_store(CHUNKS, rng, dimension=0)
    bodies = make_bodies(store, rng)
    before = os.getloadavg()
    with TemporaryDirectory(prefix="retrivex-") as temporary:
        folder = Path(temporary)
        database = folder / "index.db"
        make_index(database, store)
        command = [sys.executable, "-m", "retrivex", "serve", str(database), "--port", "0", "--read-only"]
        keys = str(folder / "keys.db")
        with run_process(command, "/readyz", folder / "service.log", RETRIVEX_KEYS=keys) as (process, address):
            trips = measure_round_trips(folder, database, address, bodies)
            queries = [json.dumps(body) for body in bodies["query"]]
            load = measure_load(process, f"{address}/v1/query", queries, short=short)
            load["alive"] = process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return {
        **machine(),
        "request": f"POST /v1/query, {HITS} hits, {BUDGET:,} tokens, {CHUNKS:,} chunks of 200 tokens",
        "load_average": [round(value, 2) for value in (before[0], os.getloadavg()[0])],
        "round_trip": trips,
        **load,
        "met": judge_load(load),
    }


def main() -> None:
    """Measure, print, write; try again where something must hold and does not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="two minutes, and nothing is written")
    parser.add_argument("--tries", type=int, default=1, help="runs, at most, until everything that must hold does")
    given = parser.parse_args()
    for _ in range(given.tries):
        found = measure(short=given.short)
        print(json.dumps(found, indent=1))
        missed, unjudged = find_missed(found, short=given.short)
        if not missed and not unjudged:
            break
    if unjudged:
        print(f"not judged, as other programs were busy: {'; '.join(unjudged)}")
    if not given.short:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if missed:
        raise SystemExit(f"missed: {'; '.join(missed)}")


if __name__ == "__main__":
    main()
