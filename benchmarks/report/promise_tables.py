"""Tables of docs/promises.md: what the fuzzers, the faults and other machines came to."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from benchmarks.report.evidence_tables import RESULTS, table

KINDS = {"compositions": "compositions", "loaders": "files read", "shell": "command lines"}


def _read(name: str) -> dict[str, Any]:
    """Read a committed result; nothing where no full run has been made yet."""
    path = RESULTS / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def fuzzed() -> str:
    """Return the table of the fuzzers: cases, violations, planted bugs, and the code they tried."""
    rows = []
    for kind, account in _read("fuzz").items():
        code = account["code"][-1] if account["code"] else {"version": "", "digest": ""}
        rows.append(
            [
                KINDS[kind],
                f"{account['cases']:,}",
                f"{len(account['violations']):,}",
                f"{account['mended']:,}",
                f"{account['caught']} of {account['planted']}",
                f"{code['version']} ({code['digest']})",
            ]
        )
    return table(["tried", "cases", "violations", "mended on the way", "planted bugs found", "code, last"], rows)


def faults() -> str:
    """Return the table of the faults."""
    found = _read("faults")
    rows = []
    if kills := found.get("kills"):
        writers = ", ".join(f"{name} {count:,}" for name, count in kills["by writer"].items())
        rows.append([f"`kill -9` while it writes ({writers})", f"{kills['killed']:,}", f"{len(kills['violations'])}"])
    if disks := found.get("full disks"):
        rows.append(["disk full, at this many sizes of a file", f"{disks['limits']:,}", f"{len(disks['violations'])}"])
    if stores := found.get("faulty stores"):
        rows.append(["calls of stores that fail, lie or hang", f"{stores['calls']:,}", f"{len(stores['violations'])}"])
    if soak := found.get("soak"):
        size = f"{soak['warm_mb']:.0f} MB when warm, {soak['end_mb']:.0f} MB at the end"
        said = f"memory over {soak['minutes']:g} minutes: {size}"
        rows.append([said, f"{soak['calls']:,}", "0" if soak["flat"] else "1"])
    return table(["fault", "times", "violations"], rows)


def determinism() -> str:
    """Return the table of other machines."""
    found = _read("determinism")
    rows = [
        [row["where"], row["what"], row["python"], row["numpy"], f"{row['differing']}", f"{row['widest']:.0e}"]
        for row in found.get("rows", ())
    ]
    head = f"of {found.get('compositions', 0):,} compositions differ"
    return table(["machine", "as", "Python", "numpy", head, "fractions apart, at most"], rows)


TABLES: dict[str, Callable[[], str]] = {"fuzzed": fuzzed, "faults": faults, "determinism": determinism}
