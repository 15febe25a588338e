"""The pages beside the results: every table and plot of a suite, of any size.

`EVALUATION_REPORT.md` says what matters in a few hundred lines; these pages hold what stands behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import first_version, tables
from benchmarks.report.committed import RESULTS, manifest, rows_of
from benchmarks.report.evidence_tables import table
from benchmarks.report.suite_plots import listed_plots
from benchmarks.report.suite_sections import sections
from retrivex.evaluation.compare.bootstrap import resampled_means
from retrivex.evaluation.report.grouping import grouped
from retrivex.evaluation.run.results import MANIFEST, Row
from retrivex.ordering.builtin_profiles import PROFILES

ROOT = Path(__file__).parents[2]
FIGURES = ROOT / "docs" / "figures" / "evaluation"

# page -> title, what it shows, and its tables: heading, words, name of the table, plots
PAGES_OF_TABLES: Mapping[str, tuple[str, str, Sequence[tuple[str, str, str, Sequence[str]]]]] = {
    "evidence.md": (
        "Evidence in the context",
        "Public sets; every system gets the same hits and the same token budget. The protocol and the names of the "
        "systems are in [benchmarks](../README.md#evidence-in-the-context). Made by `make bench-evidence-full`.",
        (
            ("What more budget buys", "Eight public sets in one index, 200-token chunks, 50 dense hits; mean of sets, "
             "differences in points of evidence. Made by `make bench-effort`.", "effort_budgets", ("budget.png",)),
            ("What more budget buys, set by set", "Evidence / complete, %.", "effort_sets", ()),
            ("Other encoders, hits, chunks, and no store", "Each row changes one thing of the base. The last column "
             "counts sets and budgets at which RetriVex shows significantly less of the evidence than "
             "kNN, by Holm's correction over those of its variation.", "effort_situations", ()),
            ("Where it shows less than kNN", "", "effort_lost", ()),
            ("Questions that name their document", "The same questions of three sets whose documents have titles, each "
             "with the title of its document, or a few words of it, in front.", "effort_named", ()),
            ("All systems, by budget", "All sets in one index, 200-token chunks, 50 dense hits; mean of sets, of the "
             "systems that were asked of all.", "evidence_by_budget", ("evidence_recall.png", "evidence_complete.png")),
            ("All systems at 2,000 tokens", "", "evidence_all_50_2000", ()),
            ("All systems at 1,000 tokens", "", "evidence_all_50_1000", ()),
            ("What RetriVex gains at 2,000 tokens", "Points with 95 % intervals.",
             "evidence_differences_all_50_2000", ()),
            ("What RetriVex gains at 1,000 tokens", "", "evidence_differences_all_50_1000", ()),
            ("An index for each set, all systems at 2,000 tokens", "", "evidence_alone_50_2000", ()),
            ("An index for each set, all systems at 1,000 tokens", "", "evidence_alone_50_1000", ()),
            ("What RetriVex gains with an index for each set, 2,000 tokens", "",
             "evidence_differences_alone_50_2000", ()),
            ("What RetriVex gains with an index for each set, 1,000 tokens", "",
             "evidence_differences_alone_50_1000", ()),
            ("The grid against kNN", "25 questions a set; other chunks than those of 200 tokens are of five sets. "
             "Differences in brackets are not significant; the interval of each is in `evidence_grid.json`.",
             "evidence_grid_knn", ()),
            ("The grid against the best peer", "", "evidence_grid_peer", ()),
            ("The grid against the reference", "", "evidence_grid_reference", ()),
            ("Sure losses", "Of all sets of the main cells and of the grid: significantly below by Holm's correction "
             "over all.", "evidence_losses", ()),
        ),
    ),
    "scorer.md": (
        "Scorer, selection, fusion and reranking",
        "What each part is worth, how reliable the confidence is, how hybrid hits are best fused, and what a reranker "
        "adds. Made by `make ablations`, `make calibrate`, `make bench-fusion` and `make bench-rerank`.",
        (
            ("Ablations", "All sets in one index, 200-token chunks, 20 dense hits, 1,000 tokens, 40 questions a set; "
             "changes in points against the default, with 95 % intervals.", "ablations", ()),
            ("Reliability of the confidence", "Questions of every set, some of them asked of documents that cannot "
             "answer them, in nine situations; each judged by the model that was fitted without its set.",
             "reliability", ()),
            ("Fusion: evidence in the hits", "All sets in one index, 200-token chunks, 60 questions a set. The words' "
             "list is the SQLite store's BM25, the vectors' is exact. A number is the vectors' weight; the default is "
             "in bold. *Lost* is the share of the questions for which the better of the two lists holds more of the "
             "evidence.", "fusion_hits", ()),
            ("Fusion: evidence in the context", "50 hits, 1,000 tokens, the default scorer, fitted without the set; 30 "
             "questions a set.", "fusion_context", ()),
            ("Reranking", "", "rerank", ()),
            ("Rerank endpoints with an encoder", "nDCG@10 of 50 bare texts a question, without scores, neighbours or "
             "titles; made by `make bench-rerank-bare`.", "rerank_embedded", ()),
            ("Rerank endpoints without one", "", "rerank_bare", ()),
        ),
    ),
    "speed.md": (
        "Time and memory",
        "Processor time on the machine named in each file: two shared cores. Read times as multiples of the "
        "floor or of "
        "the other column of the same run. Made by `make bench`, `make bench-store`, `make bench-adapters`, "
        "`make bench-index`, `make bench-ordering` and `make bench-dedup`.",
        (
            ("Composing", "The floor is to look the chunks up, join those that are shown, and count the result once. "
             "*Full recount* is the cost with a tokenizer that is a plain function; *cold* is a composer that "
             "has never "
             "seen the chunks.", "latency", ()),
            ("Composing chunks never seen", "Default settings, calibrated scorer; reading the index is included.",
             "latency_indexed", ()),
            ("Composing before and now", "Beside the commit before candidates were looked at from coarse to fine, by "
             "turns, in one run; default settings, 2,000 tokens, a text of made-up words.", "against", ()),
            ("Composing, by hits and windows", "k hits, L chunks on each side; known chunks, exact count.",
             "latency_grid", ("latency.png",)),
            ("Growth with the number of hits", "Window 2, budget 2,000.", "growth", ()),
            ("The SQLite store", "Search is in the next chapters.", "store", ()),
            ("The embedded index: vectors", "Vectors are those of public sets, enlarged.", "index_dense", ()),
            ("The embedded index: words", "Made-up texts after Zipf's law, and texts drawn from public sets.",
             "index_words", ()),
            ("The embedded index: another engine for words", "", "index_word_peers", ()),
            ("Neighbours in vector stores", "", "adapters", ()),
            ("The order `profile`", "", "ordering_profile", ()),
            ("Orders under position profiles", "", "ordering_effect", ()),
            ("Time of orders", "", "ordering_speed", ()),
            ("Duplicates", "", "dedup", ()),
            ("Similarity of edited passages", "", "dedup_likeness", ()),
            ("The token estimate", "Used where tiktoken cannot load its vocabulary. The truth is the larger of "
             "cl100k_base and o200k_base. The estimate was fitted on other parts of the same texts, so other kinds of "
             "text may come out lower.", "token_estimate", ()),
        ),
    ),
}  # fmt: skip

SHOWS = {
    "evidence_recall.png": "share of the evidence against the token budget, for each set",
    "evidence_complete.png": "questions with all of their evidence against the token budget, for each set",
    "budget.png": "evidence in the context against the budget asked for and against the tokens used",
    "latency.png": "milliseconds of composing against hits and windows",
}

# folder of results -> heading, what was done
RUNS = {
    "niah": (
        "Needles in haystacks",
        "Invented facts are put into essays at eleven depths. Half of the questions of `niah` share words with their "
        "fact. All questions of `niah_paraphrased` and `niah_held_out` use other words, and no constant of the scorer "
        "was chosen on `niah_held_out`. `niah_multi` hides four facts that one question asks for. In `niah_shuffled` "
        "each fact has its essays in an order of its own; in the others a depth is the same place for each length, so "
        "sentences near that place may look like an effect of depth. *No marks* writes passages as the baselines do, "
        "without numbers and gap marks, which take tokens. All systems get the same hits.",
    ),
    "ruler": (
        "RULER",
        "The thirteen tasks by their published definitions, with BM25 hits. `cwe` and `fwe` ask for counts over the "
        "whole haystack, which no selection of passages can answer.",
    ),
    "lost_in_the_middle": (
        "Lost in the middle",
        "The gold passage among 10, 20 and 30 passages. All of them fit the budget; only the order differs.",
    ),
    "key_value": ("Key-value retrieval", "One key among 75 and 140 with BM25 hits, in every order."),
    "longbench": ("LongBench", "The two Chinese question-answering files that were available, with BM25 hits."),
}


def pages() -> dict[Path, str]:
    """Return every page with its text."""
    made = {RESULTS / file: _page_of_tables(*parts) for file, parts in PAGES_OF_TABLES.items()}
    made |= {RESULTS / name / "README.md": _page_of_run(name) for name in RUNS if (RESULTS / name / MANIFEST).exists()}
    return made | {RESULTS / "first_version.md": _page_of_first_version()}


def _page_of_tables(title: str, words: str, parts: Sequence[tuple[str, str, str, Sequence[str]]]) -> str:
    lines = [f"# {title}", words]
    for heading, said, name, plots in parts:
        made = tables.TABLES[name]()
        if made:
            lines += [f"## {heading}", *([said] if said else []), made]
            lines += [f"![{SHOWS[file]}](../../docs/figures/{file})" for file in plots]
    return _joined(lines)


def _page_of_run(name: str) -> str:
    title, words = RUNS[name]
    return _joined([f"# {title}", words, *_parts_of_run(name), "Made by `make evaluate`."], "../../..")


def _page_of_first_version() -> str:
    return _joined(["# Version 0.1.0's claims", first_version.claims(RESULTS), "Made by `make evaluate`."])


def _joined(parts: Sequence[str], up: str = "../..") -> str:
    note = "Printed by `make report` from the committed results. Summary: [evaluation report]"
    return "\n\n".join([*parts, f"{note}({up}/EVALUATION_REPORT.md)."]) + "\n"


def _parts_of_run(name: str) -> Iterator[str]:
    rows = rows_of(name)
    yield summary_of_run(manifest(name))
    plots = listed_plots(FIGURES, name=name)
    for title, text in sections(rows):
        if (text or title in plots) and title != "Answers":
            yield f"## {title}"
            if text:
                yield text
            for file, shows in plots.get(title, ()):
                yield f"![{shows}](../../../docs/figures/evaluation/{file})"
    if name == "lost_in_the_middle":
        yield "## Simulated accuracy"
        yield simulated(rows)


def summary_of_run(made_with: Mapping[str, Any]) -> str:
    """Return in a sentence what was run with what."""
    malformed = sum(found["odd"]["count"] for found in made_with["sets"])
    asked = sum(found["asked"] for found in made_with["sets"])
    chunker = made_with["chunker"]
    return (
        f"{asked:,} questions of {len(made_with['sets'])} sets ({malformed} malformed records), chunks of "
        f"at most {chunker['tokens']} tokens ({chunker['name'].replace('_', ' ')}), "
        f"{', '.join(map(str, made_with['hits']))} hits, "
        f"budget {', '.join(f'{budget:,}' for budget in made_with['budgets'])} tokens of {made_with['tokenizer']}, "
        f"encoder {Path(str(made_with['encoder'])).name if made_with['encoder'] else 'none'}."
    )


def simulated(rows: Sequence[Row]) -> str:
    """Return the accuracy that a model with the published position curve would have: simulated, no model was asked."""
    there = [row for row in rows if "evidence_position" in row.measures]
    lines = []
    for (name, retriever, system, order), found in grouped(there, _simulated_cell).items():
        mean, low, high = simulated_accuracy(found)
        lines.append([name, retriever, system, order, f"{mean:.1f} [{low:.1f}, {high:.1f}]", f"{len(found):,}"])
    words = (
        "Simulated: the published accuracy of GPT-3.5-Turbo at the place where the gold passage stands (Liu et al., "
        "2023, 20 documents). No model was asked."
    )
    return f"{words}\n\n{table(['set', 'hits', 'system', 'order', 'simulated accuracy, %', 'contexts'], lines)}"


def simulated_accuracy(rows: Sequence[Row]) -> tuple[float, float, float]:
    """Return the simulated accuracy in percent and its 95 % interval.

    The curve is that of GPT-3.5-Turbo with 20 documents (Liu et al., 2023), read at the place of the gold passage.
    """
    curve = PROFILES["lost_in_the_middle"]
    figures = np.array([float(curve.at(row.measures["evidence_position"])) for row in rows])
    low, high = np.quantile(resampled_means(figures, resamples=2_000, seed=0), [0.025, 0.975])
    return float(figures.mean()), float(low), float(high)


def _simulated_cell(row: Row) -> tuple[str, str, str, str]:
    """Return what a line is about: as the encoder ranks passages, all files are the same."""
    name = row.set_name if row.way.retriever == "given" else "all files"
    return (name, row.way.retriever, row.way.composer, row.way.order)
