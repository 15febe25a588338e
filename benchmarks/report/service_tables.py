"""Tables of the HTTP service: its measurements, from results/service.json, and what could not break it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.report.evidence_tables import table

RESULTS = Path(__file__).parents[1] / "results" / "service.json"


FAULTS = RESULTS.with_name("service_faults.json")
CASES, KILLS = 50_000, 100


def _read(path: Path = RESULTS) -> dict[str, Any]:
    """Read a committed result; nothing where no full run has been made yet."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def _ms(value: float) -> str:
    return f"{value:.1f} ms"


def round_trips() -> str:
    """Return the table of round trips beside composing in process and an echo."""
    rows = []
    for name, row in _read().get("round_trip", {}).items():
        times = [_ms(row[column]) for column in ("service_ms", "in_process_ms", "echo_ms", "aim_ms")]
        sizes = f"{row['request_bytes'] / 1e3:.0f} kB, {row['answer_bytes'] / 1e3:.0f} kB"
        rows.append([f"`/v1/{name}`", sizes, *times, "met" if row["aim_met"] else "missed"])
    return table(["20 hits", "request, answer", "round trip", "in process", "echo", "aim", ""], rows)


def under_load() -> str:
    """Return the table of the load: what was sent, what came back, and what the rest of the machine did."""
    found = _read()
    rows = []
    for name, phase in (
        ("C, four clients", "capacity"),
        ("0.7 C", "steady"),
        ("3 C", "overload"),
        ("0.7 C", "recovery"),
    ):
        if row := found.get(phase):
            rate = row["requests_per_second"] if row["rate"] is None else row["rate"]
            statuses = ", ".join(f"{count:,} × {status}" for status, count in row["statuses"].items())
            memory = f"{row['memory']['start_mb']:.0f} to {row['memory']['end_mb']:.0f} MB" if row["memory"] else ""
            times = [_ms(row["p50_ms"]), _ms(row["p99_ms"])]
            others = f"{row['cores_of_others']:.1f} of 2"
            rows.append([name, f"{rate:.1f}", f"{row['seconds']:g} s", statuses, *times, memory, others])
    head = ["load", "requests/s", "for", "answers", "p50 of 200", "p99 of 200", "memory", "cores that others took"]
    return table(head, rows)


def verdicts() -> str:
    """Return what had to hold, and whether it did."""
    return table(
        ["what must hold", ""], [[name, "yes" if met else "**no**"] for name, met in _read().get("met", {}).items()]
    )


def faults() -> str:
    """Return the table of the kills and of the requests made out of the OpenAPI document."""
    found = _read(FAULTS)
    rows = []
    if kills := found.get("kill"):
        came = f"{kills['sent']:,} uploads, {kills['acknowledged']:,} × 200, {kills['unfinished']:,} cut off"
        times = f"{kills['done']:,} of {KILLS:,}"
        rows.append(["`kill -9` under writes", times, came, f"{len(kills['violations']):,}"])
    if fuzz := found.get("fuzz"):
        came = ", ".join(f"{count:,} × {status}" for status, count in fuzz["statuses"].items())
        times = f"{fuzz['done']:,} of {CASES:,}"
        rows.append(["requests out of the document", times, came, f"{len(fuzz['violations']):,}"])
    return table(["fault", "times", "what came", "violations"], rows)


TABLES = {
    "service_faults": faults,
    "service_round_trips": round_trips,
    "service_load": under_load,
    "service_verdicts": verdicts,
}
