"""The tables of batches: rates of engines beside processes by themselves, and long runs."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

from benchmarks.report.evidence_tables import table
from benchmarks.speed.batch_rules import COMPARED, MOST_GROWTH, growth, halves

RESULTS = Path(__file__).parents[1] / "results" / "batch.json"
NAMES = {
    "loop": "two processes, `compose` in a loop",
    "table": "two processes, `compose_table`",
    "local": "`--engine local`, two workers",
    "ray": "`--engine ray`, two workers",
    "spark": "`--engine spark`, two workers",
}


def batch() -> str:
    """Return the rates with their ratios, and what long runs and kills came to."""
    result: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    rounds = result["rounds"]
    rows = [
        [
            title,
            f"{statistics.median(one[name] for one in rounds):.0f}",
            _ratio(rounds, name),
            *_processor(rounds, name),
        ]
        for name, title in NAMES.items()
    ]
    head = [
        f"median of {len(rounds)} rounds",
        "requests a second",
        "against local",
        "processor, ms each",
        "against local",
    ]
    parts = [table(head, rows)]
    long = [_long(name, account) for name, account in result.get("long", {}).items()]
    if long:
        parts.append(table(["long run", "requests", "memory, MB: tenth 1 / 5 / 10", "flat", "same as a loop"], long))
        parts.append(_compared(result["long"]))
        parts.append(
            f"Flat: the second half of a run takes at most {100 * MOST_GROWTH:.0f} % more memory than the end of its "
            "first half, tenth 5."
        )
    killed = [_killed(name, account) for name, account in result.get("killed", {}).items()]
    if killed:
        parts.append(table(["a worker killed now and then", "requests", "killed", "same bytes"], killed))
    if "job_kills" in result:
        parts.append(_kills(result["job_kills"], result.get("pool_kills")))
    return "\n\n".join(parts)


def _kills(jobs: dict[str, Any], pool: dict[str, Any] | None) -> str:
    said = (
        "Jobs were killed at random moments while they made parts and wrote them into a store. "
        f"{jobs['killed']} times it was one process without an engine, which made one part after the other"
    )
    wrong = len(jobs["violations"])
    if pool is not None:
        wrong += len(pool["violations"])
        said += (
            f". {pool['killed']} times it was the local engine with two workers, "
            f"{pool['killed'] - pool['alone']} of them all of its processes at once and {pool['alone']} "
            "the first one alone, whose workers ended by themselves"
        )
    return f"{said}. {wrong if wrong else 'Nothing'} was lost, doubled or half done when they had been run on."


def _median(rounds: list[dict[str, float]], name: str) -> float:
    return statistics.median(one[name] for one in rounds)


def _ratio(rounds: list[dict[str, float]], name: str) -> str:
    return f"{statistics.median(one[name] / one['local'] for one in rounds):.2f}"


def _processor(rounds: list[dict[str, float]], name: str) -> tuple[str, str]:
    own = [one[f"{name}, ms of processor"] for one in rounds]
    ratios = [one["local, ms of processor"] / spent for one, spent in zip(rounds, own, strict=True)]
    return f"{statistics.median(own):.1f}", f"{statistics.median(ratios):.2f}"


def _long(name: str, account: dict[str, Any]) -> list[str]:
    state = "" if account.get("done") else " (so far)"
    memory = account["memory"]
    known = isinstance(memory, list) and memory and isinstance(memory[0], dict)
    grown = growth(memory) if known else None
    shown, flat = "not measured yet", "not measured yet"
    if grown is not None:
        first, second = halves(memory)
        shown = " / ".join(f"{mb:,.0f}" for mb in (first[0], first[-1], second[-1]))
        flat = f"{'yes' if grown <= MOST_GROWTH else 'NO'}, by {100 * grown:.1f} %"
    return [f"`{name}`", f"{account['rows']:,}{state}", shown, flat, _looped(account)]


def _looped(account: dict[str, Any]) -> str:
    said = _said(account.get("as_loop"))
    if "as_loop" not in account:
        return said
    parts = account.get("compared_parts")
    return f"{said}, the first {COMPARED}" if parts is None else f"{said}, {COMPARED} of all {parts:,} parts"


def _compared(long: dict[str, Any]) -> str:
    equal = [f"`{name}`" for name, account in long.items() if account.get("same_bytes")]
    said = (
        "Same as a loop: so many requests of the run were composed once more, one by one with `compose`, and compared "
        "as JSON; the others were not."
    )
    return (
        f"{said} The parts of {' and '.join(equal)} are, byte for byte, the first ones of `local`." if equal else said
    )


def _killed(name: str, account: dict[str, Any]) -> list[str]:
    return [f"`{name}`", f"{account['requests']:,}", str(account["killed"]), _said(account["same_bytes"])]


def _said(value: bool | None) -> str:
    return {None: "not compared yet", True: "yes", False: "NO"}[value]


TABLES = {"batch": batch}
