"""Tables of what grows with documents, hits, tenants and questions, on paper beside what was measured or simulated."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from benchmarks.report.evidence_tables import table
from benchmarks.report.scale_plan import CORES, PRICE, RESULTS, USE, plan_table, read_plan

SIZES = ("10000", "100000", "1000000")
SHARD_SIZES = ("100000", "1000000", "10000000")
COSTS = {
    "words_frequent": "by words, two frequent and four rare, ms",
    "words_rare": "by words, four rare, ms",
    "words_of_tenant": "the same, of one tenant of 1,000 chunks, ms",
    "vectors_exact": "by vectors, exactly, ms",
    "neighbours": "neighbours of 20 hits, ms",
    "context": "context of 50 hits, never seen before, ms",
}
BYTES = {"text_bytes": "text and its index, bytes a chunk", "vector_bytes": "384 numbers, bytes a chunk"}
CHUNKS, QUESTIONS, SHARDS = 1e9, 1e3, 64


def off(paper: float, found: float) -> str:
    """Return by how much the paper is off what was found, in percent."""
    return f"{100 * (paper / found - 1):+.0f} %"


def scale_growth() -> str:
    """Return what an index costs at each size, and what the two smaller ones said of the largest."""
    growth = _read("scale")["growth"]
    paper, last = growth["paper"], growth[SIZES[-1]]
    rows = [
        [title, *(f"{growth[size]['ms'][name]:,.1f}" for size in SIZES), f"{paper['ms'][name]:,.1f}",
         off(paper["ms"][name], last["ms"][name])]
        for name, title in COSTS.items()
    ]  # fmt: skip
    rows += [
        [title, *(f"{growth[size][name]:,.0f}" for size in SIZES), f"{paper['bytes'][name]:,.0f}",
         off(paper["bytes"][name], last[name])]
        for name, title in BYTES.items()
    ]  # fmt: skip
    rows.append(
        ["ingest, µs of processor time a chunk", *(f"{growth[size]['ingest_cpu_us']:,.0f}" for size in SIZES), "", ""]
    )
    return table(["embedded index", *(f"{int(size):,} chunks" for size in SIZES), "on paper", "off by"], rows)


def scale_requests() -> str:
    """Return how many shards a question asks."""
    found = _read("scale")["shards"]["placed"]["requests"]
    rows = []
    for shards in dict.fromkeys(row["shards"] for row in found):
        for layout in ("document", "chunk"):
            some = [row[layout] for row in found if row["shards"] == shards]
            simulated = [f"{one['simulated']:.1f} ({off(one['paper'], one['simulated'])})" for one in some]
            rows.append([f"{shards} shards, by {layout}", f"{some[0]['paper']:.1f}", *simulated])
    return table(["shards asked for a question's neighbours", "on paper", *_of_sizes("simulated, ")], rows)


def scale_balance() -> str:
    """Return how full the fullest shard is."""
    found = _read("scale")["shards"]["placed"]["balance"]
    rows = []
    for shards in dict.fromkeys(row["shards"] for row in found):
        some = [row for row in found if row["shards"] == shards]
        rows.append(
            [f"{shards} shards"]
            + [f"{one['paper']:.2f}, {one['simulated']:.2f} ({off(one['paper'], one['simulated'])})" for one in some]
        )
    return table(["the fullest over the mean: on paper, simulated", *_of_sizes()], rows)


def scale_merge() -> str:
    """Return how many hits each shard has to give."""
    rows = [
        [str(row["shards"])]
        + [
            cell
            for one in (row["document"], row["chunk"])
            for cell in (f"{one['paper']}, {one['simulated']}", f"{100 * one['questions_short']:.1f} %")
        ]
        for row in _read("scale")["shards"]["placed"]["merge"]
    ]
    head = ["shards", "by document: on paper, simulated", "questions short", "by chunk", "questions short"]
    return table(head, rows)


def scale_files() -> str:
    """Return what neighbours cost in files of 16 shards."""
    found = _read("scale")["shards"]
    rows = []
    for layout in ("document", "chunk"):
        times = [found[f"files-{size}"][layout] for size in SHARD_SIZES]
        paper = found["paper"][layout]
        shown = [f"{one:.2f} ms" for one in (*(time["cpu_p50_ms"] for time in times), paper)]
        error = off(paper, times[-1]["cpu_p50_ms"])
        rows.append([f"by {layout}", f"{times[-1]['requests']:.1f}", *shown, error])
    shards = found[f"files-{SHARD_SIZES[-1]}"]["shards"]
    return table([f"{shards} shards", "asked", *_of_sizes(), "on paper", "off by"], rows)


def scale_queue() -> str:
    """Return what waiting for a core comes to."""
    found = _read("scale")["queue"]["context"]
    paper, simulated = found["paper_ms"], found["simulated_ms"]
    rows = [
        [title, f"{paper[name]:.0f} ms", f"{simulated[name]:.0f} ms", off(paper[name], simulated[name])]
        for name, title in (("mean wait", "wait, mean"), ("p50", "wait and work, p50"), ("p99", "wait and work, p99"))
    ]
    head = f"{found['machines']} machines of {found['cores']} cores, busy {100 * found['use']:.0f} % of the time"
    return table([head, "on paper", "simulated", "off by"], rows)


def scale_rates() -> str:
    """Return how many machines compose at several rates."""
    rows = [
        [f"{rate:,.0f}", f"{read_plan(CHUNKS, rate, SHARDS).composing_machines:,}"] for rate in (10, 100, 1_000, 10_000)
    ]
    return table(["questions a second", f"machines of {CORES} cores, at most {100 * USE:.0f} % busy"], rows)


def scale_hits() -> str:
    """Return what composing costs by the number of hits."""
    rows = [
        [f"{row['k']:,}", f"{row['ms']:,.1f} ms", f"{row['us per hit']:.0f} µs", f"{row['peak MiB']:.1f} MiB"]
        for row in _read("latency")["growth"]
    ]
    return table(["hits of one question", "composing", "a hit", "memory, at most"], rows)


def scale_tenants() -> str:
    """Return what a tenant's question costs in a shared index and in a file of its own."""
    growth = _read("scale")["growth"]
    shared = growth[SIZES[-1]]["ms"]["words_of_tenant"]
    alone = growth["tenant_alone_ms"]
    rows = [
        [f"shared with others, {int(SIZES[-1]):,} chunks", f"{shared:.1f} ms"],
        ["a file of its own", f"{alone:.1f} ms"],
    ]
    return table(["a tenant of 1,000 chunks, search by words", "processor time, p50"], rows)


def scale_plan() -> str:
    """Return the worked plan."""
    return plan_table(read_plan(CHUNKS, QUESTIONS, SHARDS), SHARDS)


def scale_cost() -> str:
    """Return what the composing machines of the plan cost."""
    machines = read_plan(CHUNKS, QUESTIONS, SHARDS).composing_machines
    return (
        f"Cost: {machines} composing machines at ${PRICE.usd_per_hour} an hour, {PRICE.machine}, would be "
        f"${machines * PRICE.usd_per_hour:.2f} an hour.\nThe price is a third party's, not the seller's: "
        f"[an article of {PRICE.date}]({PRICE.source})."
    )


def _of_sizes(before: str = "") -> list[str]:
    return [f"{before}{int(size):,} chunks" for size in SHARD_SIZES]


def _read(name: str) -> dict[str, Any]:
    made: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return made


TABLES: dict[str, Callable[[], str]] = {
    make.__name__: make
    for make in (
        scale_growth,
        scale_requests,
        scale_balance,
        scale_merge,
        scale_files,
        scale_queue,
        scale_rates,
        scale_hits,
        scale_tenants,
        scale_plan,
        scale_cost,
    )
}
