"""The published retrivexlib 0.1.0 as a peer: a worker in its own environment, asked in lines of JSON."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from benchmarks.evidence.ranges import RangeSystem, Timed
from benchmarks.evidence.systems import similarities
from retrivex.evaluation.run import Case
from retrivex.model.chunk import ChunkKey

ROOT = Path(__file__).parents[2]
PYTHON = os.environ.get("RETRIVEXLIB_PYTHON", str(ROOT / ".venv" / "retrivexlib" / "bin" / "python"))
WINDOW = 2  # its default


class Worker:
    """A process that holds the chunks of one size that it was told of; they are the same in every view."""

    def __init__(self) -> None:
        self.sent: set[ChunkKey] = set()
        # not this repository's library, and one process that ends with its input
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        self.process = subprocess.Popen(
            [PYTHON, str(Path(__file__).parent / "retrivexlib_worker.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def close(self) -> None:
        """End the process."""
        if self.process.stdin:
            self.process.stdin.close()
        self.process.wait(timeout=10)

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send one line and read one."""
        if self.process.stdin is None or self.process.stdout is None:
            raise RuntimeError("the worker has no pipes")
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the worker of retrivexlib ended: see its message above; its Python is {PYTHON}")
        reply: dict[str, Any] = json.loads(line)
        return reply

    def needed(self, case: Case) -> list[list[Any]]:
        """Return the chunks within reach of the hits that were not sent before."""
        index, sending = case.index, []
        for place in sorted({beside for hit in case.places for beside in index.neighbours(hit, WINDOW)}):
            chunk = index.chunks[place]
            if chunk.key not in self.sent:
                self.sent.add(chunk.key)
                sending.append([*chunk.key, *index.range_of(place)[1:], chunk.text, index.vectors[place].tolist()])
        return sending


_WORKERS: dict[int, Worker] = {}  # the one of the size at hand


def _worker_for(size: int) -> Worker:
    if size not in _WORKERS:
        for other in list(_WORKERS):
            _WORKERS.pop(other).close()
        _WORKERS[size] = Worker()
    return _WORKERS[size]


def spans(case: Case) -> Timed:
    """Return the spans of retrivexlib with its defaults and the budget asked for."""
    worker = _worker_for(case.index.size)
    reply = worker.ask(
        {
            "chunks": worker.needed(case),
            "hits": [
                [*case.index.chunks[place].key, similarity]
                for place, similarity in zip(case.places, similarities(case), strict=True)
            ],
            "config": {"token_budget": case.budget},
        }
    )
    return Timed([(doc_id, start, end) for doc_id, start, end in reply["spans"]], reply["ms"])


def retrivexlib_systems() -> list[RangeSystem]:
    """Return retrivexlib."""
    return [RangeSystem("retrivexlib 0.1.0", spans, "retrivexlib 0.1.0")]
