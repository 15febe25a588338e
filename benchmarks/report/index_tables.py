"""Tables of the embedded index, and of another engine for words, from their committed results."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.report.evidence_tables import table

RESULTS = Path(__file__).parents[1] / "results"


def index_dense() -> str:
    """Return the table of exact search by vectors."""
    made = _read()["dense"]
    now = made["now"]
    rows = [
        ["question, p50", f"{now['p50_ms']:,.0f} ms"],
        ["the bare multiplication and the best 50, p50", f"{now['floor_p50_ms']:,.0f} ms"],
        ["question as a multiple of it, median", f"{now['times_the_floor']:.2f}×"],
        ["processor time of a question, p50", f"{now['cpu_p50_ms']:,.0f} ms"],
        ["ingest, chunks a second of processor time", f"{now['ingest_chunks_per_cpu_s']:,.0f}"],
        ["files", f"{now['mb']:,.0f} MB"],
    ]
    return table([f"{made['vectors']:,} vectors", ""], rows)


def index_words() -> str:
    """Return the table of search by words."""
    made = _read()["words"]
    rows = []
    for kind in ("two frequent, four rare", "four frequent", "four rare", "real"):
        now = made[kind]["now"]
        name = f"questions of public sets, {made['real_chunks']:,} chunks" if kind == "real" else kind
        rows.append([name, f"{now['p50_ms']:,.0f} ms", f"{now['cpu_p50_ms']:,.0f} ms"])
    return table([f"words, {made['chunks']:,} chunks", "p50", "of the processor"], rows)


def index_word_peers() -> str:
    """Return the table of search by words in SQLite's index and in tantivy."""
    made = _read().get("peers", {}).get("words")
    if made is None:
        return table(["words", "FTS5, as here", "tantivy"], [])
    engines = ("FTS5", "tantivy")
    rows = [
        *(
            [f"{kind}: p50 (processor)", *(_times(made[name][kind]) for name in engines)]
            for kind in ("four frequent", "four rare")
        ),
        *(
            [f"{kind}: same best 10", "", f"{made[f'overlap_10, {kind}']:.2f}"]
            for kind in ("four frequent", "four rare")
        ),
        ["document replaced and committed, p50 (processor)", *(_times(made[name]["change"]) for name in engines)],
        ["ingest, processor time", *(f"{made[name]['ingest']['cpu_ms'] / 1e3:,.0f} s" for name in engines)],
    ]
    return table(
        [f"{made['chunks']:,} chunks", "FTS5, as here", f"tantivy {_read()['peers']['versions']['tantivy']}"], rows
    )


def _times(found: dict[str, float]) -> str:
    digits = 1 if found["p50_ms"] < 10 else 0
    return f"{found['p50_ms']:,.{digits}f} ms ({found['cpu_p50_ms']:,.{digits}f} ms)"


def _read() -> dict[str, Any]:
    made: dict[str, Any] = json.loads((RESULTS / "index.json").read_text(encoding="utf-8"))
    return made


TABLES: dict[str, Callable[[], str]] = {
    "index_dense": index_dense,
    "index_words": index_words,
    "index_word_peers": index_word_peers,
}
