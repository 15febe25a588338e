"""Writes the marked tables of README.md and the documentation from the committed results.

Run: `python -m benchmarks.report.tables`; `--check` says whether the pages are up to date instead of writing them.
Tables stand between `<!-- name -->` and `<!-- /name -->`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from benchmarks.report import (
    adapters_tables,
    batch_tables,
    dedup_tables,
    effort_tables,
    evidence_tables,
    fusion_tables,
    index_tables,
    option_tables,
    ordering_tables,
    promise_tables,
    quoted_blocks,
    readme_lines,
    rerank_tables,
    scale_tables,
    service_tables,
)
from benchmarks.report.committed import result
from benchmarks.report.evidence_tables import table

ROOT = Path(__file__).parents[2]
EXPLAINED = ("values", "documents", "budget", "confidence", "order_value", "evidence", "scale")
PAGES = (
    ROOT / "README.md",
    ROOT / "docs" / "howto" / "vector_stores.md",
    ROOT / "docs" / "howto" / "batch.md",
    ROOT / "docs" / "explain" / "store_speed.md",
    ROOT / "docs" / "howto" / "dedup.md",
    ROOT / "docs" / "contribute" / "promises.md",
    ROOT / "docs" / "howto" / "rerank.md",
    *((ROOT / "docs" / "explain" / f"{page}.md") for page in EXPLAINED),
    ROOT / "docs" / "howto" / "service_operation.md",
    ROOT / "docs" / "reference" / "configuration.md",
)


def latency() -> str:
    """Return the table of composing a context against its floor."""
    columns = ("no count", "exact count", "full recount", "cold")
    rows = []
    for row in result("latency")["rows"]:
        window = "default windows" if row["window"] is None else f"±{row['window']}"
        name = f"{row['scorer']}: {row['k']} hits, {window}, {row['budget']:,} tokens" + (
            ", embeddings" if row["embeddings"] else ""
        )
        times = [f"{row['us'][column] / 1e3:.2f} ms ({row['ratio'][column]:.1f}×)" for column in columns]
        rows.append([name, f"{sum(row['floor_us'].values()) / 1e3:.2f} ms", *times])
    return table(["query", "floor", *columns], rows)


def latency_indexed() -> str:
    """Return the table of composing chunks never seen, from memory and from an index with stored counts."""
    rows = [
        [f"{row['k']}", *(f"{row[name]:.1f} ms" for name in ("warm", "cold", "indexed"))]
        for row in result("latency").get("indexed", [])
    ]
    return table(["hits", "seen before", "never seen", "never seen, from an index with counts and cuts"], rows)


def latency_grid() -> str:
    """Return the table of composing a context against hits and windows; empty where it was not measured."""
    rows = result("latency").get("grid", {}).get("rows", [])
    cells = {(row["scorer"], row["k"], row["window"]): row for row in rows}
    windows = list(dict.fromkeys(row["window"] for row in rows))
    lines = [
        [f"{scorer}, {k} hits", *[_of_grid(cells[scorer, k, window]) for window in windows]]
        for scorer, k in dict.fromkeys((row["scorer"], row["k"]) for row in rows)
    ]
    return table(["ms (floor)", *[f"L = {window}" for window in windows]], lines) if lines else ""


def _of_grid(row: dict[str, Any]) -> str:
    return f"{row['us'] / 1e3:.2f} ({sum(row['floor_us'].values()) / 1e3:.2f})"


def growth() -> str:
    """Return the table of time and memory against the number of hits."""
    rows = [
        [f"{row['k']:,}", f"{row['ms']:.1f}", f"{row['us per hit']:.0f}", f"{row['peak MiB']:.1f}"]
        for row in result("latency")["growth"]
    ]
    return table(["hits", "ms", "µs a hit", "peak MiB"], rows)


def store() -> str:
    """Return the table of the SQLite store."""
    found = result("store")

    def said(name: str, unit: str, digits: int = 0) -> str:
        return f"{found[name]:,.{digits}f} {unit}".strip()

    def against(target: str) -> str:
        return "met" if found[target] else "missed"

    head, tail = said("memory_at_5_percent_mb", "MB"), said("memory_at_end_mb", "MB")
    rows = [
        ["ingest without embeddings, chunks/s", said("ingest_chunks_per_s", "")],
        ["target of 10,000 chunks/s", against("ingest_target_met")],
        ["the same in processor time, chunks/s", said("ingest_chunks_per_cpu_s", "")],
        ["neighbours of 20 hits, p50", said("fetch_p50_ms", "ms", 2)],
        ["neighbours of 20 hits, p95", said("fetch_p95_ms", "ms", 2)],
        ["target of 5 ms for the p95", against("fetch_target_met")],
        ["of that the SQL statement alone, p50", said("fetch_statement_alone_p50_ms", "ms", 2)],
        ["memory during ingest, at 5 % and at the end", f"{head}, {tail}"],
        ["file for text", f"{said('file_mb', 'MB')} for {said('text_mb', 'MB')}"],
    ]
    return table([f"{found['chunks']:,} chunks of {found['words_per_chunk']} words", "measured"], rows)


def token_estimate() -> str:
    """Return by how much the estimate is over the larger of cl100k_base and o200k_base."""
    rows = [
        [kind, f"{row['mean']:.2f}", f"{row['lowest']:.2f}", f"{row['below']} of {row['pieces']:,}"]
        for kind, row in result("token_estimate")["estimate_over_truth"].items()
    ]
    return table(["text, pieces of 50 tokens and more", "estimate / truth", "lowest", "pieces under-counted"], rows)


def reliability() -> str:
    """Return how often evidence was there, against how sure the composition said it was."""
    rows = [
        [f"{row['confidence']:.2f}", f"{row['holds evidence']:.2f}", f"{row['questions']:,}"]
        for row in result("calibration")["reliability"]
    ]
    return table(["confidence, mean of a tenth of the questions", "holds evidence", "questions"], rows)


def ablations() -> str:
    """Return what each part is worth."""

    def change(row: dict[str, Any], metric: str) -> str:
        mean, low, high = (100 * value for value in row["change"][metric])
        return f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]"

    rows = [
        [row["name"], f"{row['recall']:.3f}", change(row, "recall"), f"{row['complete']:.3f}", change(row, "complete"),
         f"{row['spans']:.1f}", f"{row['ms']:.1f}"]
        for row in result("ablations")["rows"]
    ]  # fmt: skip
    return table(["changed", "evidence", "points", "complete", "points", "spans", "ms"], rows)


TABLES = {
    "latency": latency,
    "latency_grid": latency_grid,
    "latency_indexed": latency_indexed,
    "reliability": reliability,
    "ablations": ablations,
    "growth": growth,
    "store": store,
    "token_estimate": token_estimate,
    **evidence_tables.TABLES,
    **adapters_tables.TABLES,
    **batch_tables.TABLES,
    **dedup_tables.TABLES,
    **effort_tables.TABLES,
    **fusion_tables.TABLES,
    **index_tables.TABLES,
    **option_tables.TABLES,
    **ordering_tables.TABLES,
    **promise_tables.TABLES,
    **quoted_blocks.TABLES,
    **rerank_tables.TABLES,
    **scale_tables.TABLES,
    **service_tables.TABLES,
    **readme_lines.LINES,
}


def filled(page: str) -> str:
    """Return a page with its tables as the results say."""
    for name, make in TABLES.items():
        if f"<!-- {name} -->" not in page:
            continue
        before, rest = page.split(f"<!-- {name} -->\n")
        page = f"{before}<!-- {name} -->\n{make()}\n<!-- /{name} -->" + rest.split(f"<!-- /{name} -->")[1]
    return page


def main() -> int:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only say whether the pages are up to date")
    check = parser.parse_args().check
    stale = []
    for path in PAGES:
        page = path.read_text(encoding="utf-8")
        if filled(page) != page:
            stale.append(path.name)
            if not check:
                path.write_text(filled(page), encoding="utf-8")
    if check and stale:
        print(f"not as the results say: {', '.join(stale)}; run python -m benchmarks.report.tables")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
