"""Prints EVALUATION_REPORT.md, its HTML twin and its plots from the committed results.

Run: `make report`; `--check` says whether the page is as the results say, and writes nothing. Nothing on the page is
typed by hand but the words between the figures.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import first_version, tables
from benchmarks.report.evidence_tables import table
from retrivex.evaluation.compare.bootstrap import resampled_means
from retrivex.evaluation.report import to_html
from retrivex.evaluation.report.grouping import grouped
from retrivex.evaluation.report.plots import listed_plots, write_plots
from retrivex.evaluation.report.sections import sections
from retrivex.evaluation.run.results import MANIFEST, Row, read_manifest, read_rows
from retrivex.ordering.builtin_profiles import PROFILES

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).parents[1] / "results"
FIGURES = ROOT / "docs" / "figures" / "evaluation"
PAGE = ROOT / "EVALUATION_REPORT.md"

TITLE = "Evaluation report"

# heading, what stands above the table, name of the table, what makes its results
FROM_TABLES = (
    (
        "Evidence for the same tokens",
        "Share of the evidence in the context / share of questions with all of it: six public sets in one index, "
        "200-token chunks, the same 50 dense hits and 1,000 tokens for every system; coefficients that were "
        "fitted without the set.",
        "evidence_short",
        "make bench-evidence-full",
    ),
    ("Every system and set", "The same cell in full.", "evidence_all_50", "make bench-evidence-full"),
    ("Differences, with intervals", "Points, 95 % intervals, fixed windows.", "evidence_differences_all_50",
     "make bench-evidence-full"),
    ("The same with default windows", "", "evidence_default_differences_all_50", "make bench-evidence-full"),
    ("Other sizes, hits and budgets, against kNN", "Default windows; 40 questions a set; (…) is not sure.",
     "evidence_grid_default_knn", "make bench-evidence-full"),
    ("… against the best peer of each set", "", "evidence_grid_default_peer", "make bench-evidence-full"),
    ("… against the hand-tuned reference, which reads the whole index", "", "evidence_grid_default_reference",
     "make bench-evidence-full"),
    ("Where it loses", "Every set and cell in which the default is surely below kNN or the reference.",
     "evidence_default_losses", "make bench-evidence-full"),
    ("What each part is worth", "200-token chunks, 20 dense hits, 1,000 tokens.", "ablations", "make ablations"),
    ("How reliable the confidence is", "", "reliability", "make calibrate"),
    ("Reranking", "", "rerank", "make bench-rerank"),
    ("What composing costs", "", "latency", "make bench"),
    (
        "What composing costs against the number of hits and the windows",
        "k hits, L chunks on each side of a hit; milliseconds of processor time, tokens counted exactly, chunks known; "
        "the floor is fetching, joining and counting alone.",
        "latency_grid",
        "make bench",
    ),
    ("Time and memory against the number of hits", "", "growth", "make bench"),
    ("The SQLite store", "", "store", "make bench-store"),
    ("What neighbours cost in vector stores", "", "adapters", "make bench-adapters"),
    ("What a measured profile is worth to an order", "", "ordering_profile", "make bench-ordering"),
    ("What orders do to known passages", "", "ordering_effect", "make bench-ordering"),
    ("What orders cost", "", "ordering_speed", "make bench-ordering"),
    ("Duplicates", "", "dedup", "make bench-dedup"),
    ("Likeness", "", "dedup_likeness", "make bench-dedup"),
    ("The token estimate", "", "token_estimate", "make bench"),
)  # fmt: skip

# name of a table -> its plots in docs/figures, which `plots.py` draws, and what they show
OF_TABLES = {
    "evidence_grid_default_knn": (
        ("evidence_recall.png", "share of the evidence against the token budget, for each set"),
        ("evidence_complete.png", "questions with all of their evidence against the token budget, for each set"),
    ),
    "latency_grid": (("latency.png", "milliseconds of composing against hits and windows"),),
}

# folder of results, heading, what was done, what makes it
FROM_RUNS = (
    (
        "niah",
        "Needles in haystacks",
        "Facts of our own put into essays at eleven depths. Those of `niah` are asked for in their own words, or (half "
        "of them) in others; those of `niah_paraphrased` and `niah_held_out` all in other words, and no constant of "
        "the scorer was chosen with those held out in view. `niah_multi` hides four facts that are asked for "
        "together. Every composer is given the same hits. In essays of one order a depth is one place for each length, "
        "so that the sentences there may do what seems to be the doing of the depth; in `niah_shuffled`, with the "
        "facts of `niah`, every fact has its essays in an order of its own. *No marks* writes passages as the "
        "baselines do, without numbers and marks of gaps, which take tokens.",
        "make evaluate",
    ),
    (
        "ruler",
        "RULER",
        "The thirteen tasks by their published definitions, hits by BM25. `cwe` and `fwe` ask for counts over the "
        "whole haystack, which no selection of passages can answer; they are listed, not claimed.",
        "make evaluate",
    ),
    (
        "lost_in_the_middle",
        "Lost in the middle",
        "The gold passage among 10, 20 and 30: everything fits the budget, only the order differs.",
        "make evaluate",
    ),
    ("key_value", "Key-value retrieval", "A key among 75 and 140, asked for by BM25; every order.", "make evaluate"),
    ("longbench", "LongBench", "The two Chinese question-answering files at hand; hits by BM25.", "make evaluate"),
)


def page() -> str:
    """Return the report as Markdown."""
    parts = [
        f"# {TITLE}",
        "Printed by `make report` from the committed results in `benchmarks/results`; nothing here is typed by hand "
        "but the words between the figures. Intervals are 95 %, by the bootstrap over questions. No language model was "
        "asked: answers were not generated, and what is measured is what reaches the context, in which order, and at "
        "what cost.",
    ]
    for heading, words, name, command in FROM_TABLES:
        made = tables.TABLES[name]() if name in tables.TABLES else ""
        if made:
            shown = [f"![{shows}](docs/figures/{file})" for file, shows in OF_TABLES.get(name, ())]
            parts += [f"## {heading}", *([words] if words else []), made, *shown, f"Made by `{command}`."]
    for name, heading, words, command in FROM_RUNS:
        if (RESULTS / name / MANIFEST).exists():
            parts += [f"## {heading}", words, *run_parts(name), f"Made by `{command}`."]
    parts += ["## Beside what version 0.1.0 claimed", first_version.claims(RESULTS), "Made by `make evaluate`."]
    return "\n\n".join(parts) + "\n"


def run_parts(name: str) -> Iterator[str]:
    """Yield the parts of a run's section."""
    rows, manifest = read_rows(RESULTS / name), read_manifest(RESULTS / name)
    yield said_of_run(manifest)
    plots = listed_plots(FIGURES, name=name)
    for title, text in sections(rows):
        if (text or title in plots) and title != "Answers":
            yield f"### {title}"
            if text:
                yield re.sub(r"(?m)^### ", "#### ", text)
            for file, shows in plots.get(title, ()):
                yield f"![{shows}](docs/figures/evaluation/{file})"
    if name == "lost_in_the_middle":
        yield "### Simulated accuracy"
        yield simulated(rows)


def said_of_run(manifest: Mapping[str, Any]) -> str:
    """Return in a sentence what was run with what."""
    odd = sum(found["odd"]["count"] for found in manifest["sets"])
    asked = sum(found["asked"] for found in manifest["sets"])
    chunker = manifest["chunker"]
    return (
        f"{asked:,} questions of {len(manifest['sets'])} sets ({odd} odd records told in the manifest), chunks of "
        f"at most {chunker['tokens']} tokens ({chunker['name'].replace('_', ' ')}), "
        f"{', '.join(map(str, manifest['hits']))} hits, "
        f"budget {', '.join(f'{budget:,}' for budget in manifest['budgets'])} tokens of {manifest['tokenizer']}, "
        f"encoder {Path(str(manifest['encoder'])).name if manifest['encoder'] else 'none'}."
    )


def simulated(rows: Sequence[Row]) -> str:
    """Return the accuracy that a model with the published position curve would have: simulated, no model was asked.

    The curve is that of GPT-3.5-Turbo with 20 documents (Liu et al., 2023), read at the place of the gold passage.
    """
    curve = PROFILES["lost_in_the_middle"]
    there = [row for row in rows if "evidence_position" in row.measures]
    lines = []
    for (name, retriever, composer, order), found in grouped(there, _simulated_cell).items():
        figures = np.array([float(curve.at(row.measures["evidence_position"])) for row in found])
        low, high = np.quantile(resampled_means(figures, resamples=2_000, seed=0), [0.025, 0.975])
        mean = f"{figures.mean():.1f} [{low:.1f}, {high:.1f}]"
        lines.append([name, retriever, composer, order, mean, f"{len(found):,}"])
    words = (
        "Simulated: the published accuracy of GPT-3.5-Turbo at the place where the gold passage stands (Liu et al., "
        "2023, 20 documents), not the answers of a model."
    )
    return f"{words}\n\n{table(['set', 'hits', 'composer', 'order', 'simulated accuracy, %', 'contexts'], lines)}"


def _simulated_cell(row: Row) -> tuple[str, str, str, str]:
    """Return what a line is about: as the encoder ranks passages, all files are the same."""
    name = row.set_name if row.way.retriever == "given" else "all files"
    return (name, row.way.retriever, row.way.composer, row.way.order)


def draw() -> None:
    """Draw the plots of every table and run; those of runs that are no longer there are taken away."""
    from benchmarks.report import plots as of_tables  # noqa: PLC0415 - matplotlib; checking the page needs none
    from retrivex.evaluation.report import figures  # noqa: PLC0415

    of_tables.main()
    for name, *_ in FROM_RUNS:
        there = (RESULTS / name / MANIFEST).exists()
        drawn = figures.draw(read_rows(RESULTS / name), prefix=f"{name}_") if there else []
        write_plots(drawn, FIGURES, name=name)


def main() -> int:
    """Write the report, or check it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only say whether the page is up to date")
    if parser.parse_args().check:
        if PAGE.read_text(encoding="utf-8") == page():
            return 0
        print("EVALUATION_REPORT.md is not as the results say: run make report")
        return 1
    draw()
    made = page()
    PAGE.write_text(made, encoding="utf-8")
    PAGE.with_suffix(".html").write_text(to_html(made, ROOT, title=TITLE), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
