"""Tables of docs/contribute/promises.md: what the fuzzers, the faults and other machines came to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from statistics import median
from typing import Any

from benchmarks.report.committed import RESULTS
from benchmarks.report.evidence_tables import table

KINDS = {
    "compositions": ("compositions", 1_000_000),
    "counts": ("stores with counts and cuts, honest and forged", 20_000),
    "traps": ("options together that once failed", 20_000),
    "loaders": ("files read", 100_000),
    "bombs": ("small files that ask for much text", 5_000),
    "shell": ("command lines", 10_000),
}
"""What each fuzzer tries, and how many of it make a full run."""
KILLS = 1000


def _read(name: str) -> dict[str, Any]:
    """Read a committed result; nothing where no full run has been made yet."""
    path = RESULTS / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def _codes(rows: Iterable[Mapping[str, Any]]) -> str:
    """Say how many cases ran on which code, the last one first; checks of their own are no other code."""
    cases: dict[str, int] = {}
    for row in rows:
        digest = row["digest"]
        cases[digest] = cases.pop(digest, 0) + row["cases"]
    return "; ".join(f"{count:,} on {digest}" for digest, count in reversed(cases.items()))


def fuzzed() -> str:
    """Return the table of the fuzzers: cases, violations, planted bugs, and the code they tried."""
    rows = []
    for kind, account in _read("fuzz").items():
        rows.append(
            [
                KINDS[kind][0],
                f"{account['cases']:,} of {KINDS[kind][1]:,}",
                f"{len(account['violations']):,}",
                f"{account['mended']:,}",
                f"{account['caught']} of {account['planted']}" if account["planted"] else "not tried yet",
                _codes(account["code"]),
                _codes(account.get("earlier", ())),
            ]
        )
    head = ["tried", "cases", "violations", "mended on the way", "planted bugs found", "cases by code, last first"]
    head.append("by earlier draws")
    return table(head, rows)


def faults() -> str:
    """Return the table of the faults, each with the code that it tried."""
    found = _read("faults")
    rows = []
    if kills := found.get("kills"):
        writers = ", ".join(f"{name} {count:,}" for name, count in kills["by writer"].items())
        times = f"{kills['killed']:,} of {KILLS:,}"
        rows.append([f"`kill -9` while it writes ({writers})", times, f"{len(kills['violations'])}", kills["code"]])
    if disks := found.get("full disks"):
        said = "disk full, at this many sizes at which a write failed"
        rows.append([said, f"{disks['limits']:,}", f"{len(disks['violations'])}", disks["code"]])
    if stores := found.get("faulty stores"):
        said = "calls of stores that fail, lie or hang"
        rows.append([said, f"{stores['calls']:,}", f"{len(stores['violations'])}", stores["code"]])
    if soak := found.get("soak"):
        size = f"{soak['warm_mb']:.0f} MB when warm, {soak['end_mb']:.0f} MB at the end"
        said = f"memory over {soak['minutes']:g} minutes: {size}"
        rows.append([said, f"{soak['calls']:,}", "0" if soak["flat"] else "1", soak["code"]])
    told = [[*row, _codes(code)] for *row, code in rows]
    return table(["fault", "times", "violations", "times by code, last first"], told)


def determinism() -> str:
    """Return the table of other machines."""
    found = _read("determinism")
    rows = [
        [row["where"], row["what"], row["python"], row["numpy"], f"{row['differing']}", f"{row['widest']:.0e}"]
        for row in found.get("rows", ())
    ]
    rows += [[name, "cannot be installed here", "", "", "not compared", ""] for name in found.get("not_compared", ())]
    head = f"of {found.get('compositions', 0):,} compositions differ"
    return table(["machine", "as", "Python", "numpy", head, "fractions apart, at most"], rows)


REACHED = (10_240_000, 2_560_000, 640_000, 160_000)
"""Lengths of texts, in characters, by which kinds of text are counted."""


def growing() -> str:
    """Return the table of how time grows with the length of a text, by step, and how far kinds of text were read."""
    found = _read("growth").get("rows", ())
    rows = []
    for step in dict.fromkeys(row["step"] for row in found):
        own = [row for row in found if row["step"] == step]
        known = sorted((row["exponent"], row["kind"]) for row in own if row["exponent"] is not None)
        longest = {row["kind"]: max(map(int, row["seconds"])) for row in own}
        lengths = list(longest.values())
        shortest, kind = min((length, kind) for kind, length in longest.items())
        rows.append(
            [
                step,
                f"{len(own)}",
                f"{median(exponent for exponent, _ in known):.2f}" if known else "too fast to tell",
                f"{known[-1][0]:.2f} ({known[-1][1]})" if known else "",
                *(f"{lengths.count(length)}" for length in REACHED),
                f"{sum(length < REACHED[-1] for length in lengths)}",
                f"{shortest:,} ({kind})",
                ", ".join(sorted({row["code"] for row in own})),
            ]
        )
    head = ["step", "kinds of text", "exponent, median", "at most", *(f"to {length:,}" for length in REACHED), "less"]
    return table([*head, "shortest", "code"], rows)


def _compared(name: str, before: str, now: str) -> str:
    found = _read(name)
    code = found.get("machine", {}).get("code", "")
    rows = [
        [row["case"], f"{row['before_ms']:.2f}", f"{row['now_ms']:.2f}", _change(row), code]
        for row in found.get("rows", ())
    ]
    return table(["composing", before, now, "change, %", "code"], rows)


def checks() -> str:
    """Return the table of what the checks cost: processor time with them and without, in the same code."""
    return _compared("checks", "without, ms", "with, ms")


def against() -> str:
    """Return the table of what composing costs beside an earlier commit."""
    return _compared("against", "before, ms", "now, ms")


def _change(row: dict[str, Any]) -> str:
    ratio, low, high = (100 * (value - 1) for value in (row["ratio"], *row["interval"]))
    return f"{ratio:+.1f} ({low:+.1f} to {high:+.1f})"


TABLES: dict[str, Callable[[], str]] = {
    "fuzzed": fuzzed,
    "faults": faults,
    "determinism": determinism,
    "growing": growing,
    "checks": checks,
    "against": against,
}
