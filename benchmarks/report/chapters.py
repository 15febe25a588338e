"""The twelve sections of the evaluation report, each a function that returns Markdown.

Words are written here; every number is computed by `numbers`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.evidence.effort_summary import difference, points
from benchmarks.evidence.systems import DEFAULT, FULL, KNN, REFERENCE
from benchmarks.report import effort_tables, evidence_tables, numbers, suite_pages
from benchmarks.report.evidence_tables import BEST_PEER, BUDGETS, main_cell, table
from benchmarks.report.numbers import Interval
from benchmarks.report.position_sensitivity import position_sensitivity
from benchmarks.report.suite_grouping import by_depth
from retrivex.evaluation.compare.bootstrap import resampled_means
from retrivex.evaluation.report.grouping import mean_of, per_question
from retrivex.evaluation.run.results import Row
from retrivex.ordering.builtin_profiles import PROFILES

HERE = "benchmarks/results"
PAIRS = {KNN.name: "kNN", BEST_PEER: "best peer", REFERENCE: "reference", DEFAULT: "RetriVex"}
EVIDENCE = f"[{HERE}/evidence.md]({HERE}/evidence.md), `make bench-evidence-full`"
ABLATIONS = {
    "without words": "no features of the question's words",
    "weighted scorer": "weighted scorer, which ignores the question",
    "L = 0": "no neighbours (L = 0)",
    "whole chunks": "whole chunks instead of groups of sentences",
    "without surroundings": "no features of the surrounding text",
    "no embeddings": "no embeddings",
    "hedge = 0.0": "no nearest-neighbour fallback (hedge = 0)",
}


def summary() -> str:
    """Return six claims about the default, two of them losses: first, where one is larger than the first gain."""
    main, half, grid = numbers.main(), numbers.main(BUDGETS[1]), numbers.grid()
    alone = main_cell("alone", 50, BUDGETS[0])
    compared = ((main, KNN.name), (half, KNN.name), (main, BEST_PEER), (alone, BEST_PEER))
    knn, fewer, peer, peer_alone = (numbers.difference(cell, against) for cell, against in compared)
    above, below = numbers.surely(KNN.name)
    beyond, behind = numbers.surely(REFERENCE)
    worst = min(numbers.gains(REFERENCE), key=lambda gain: gain.mean)
    held_out = numbers.paired(numbers.needles("niah_held_out"), "complete")
    shared = numbers.paired(numbers.needles("niah", shares_words=True), "complete")
    gains = [
        f"**More questions get all of their evidence.** At {main['budget']:,} tokens, the default budget, "
        f"{_percent(numbers.mean_figure(main, DEFAULT))} against {_percent(numbers.mean_figure(main, KNN.name))} with "
        f"kNN: {knn.points()} points; at {half['budget']:,} tokens {fewer.points()}. {knn.count:,} questions of "
        f"{_sets(main)} sets, same hits. {EVIDENCE}",
        f"**Also against the best other package.** {peer.points()} points at {main['budget']:,} tokens against the "
        f"best peer of each set, chosen afterwards ({peer.count:,} questions); {peer_alone.points()} where each set "
        f"has an index of its own, and compressors are among the peers of four sets. {EVIDENCE}",
        f"**At the sizes that were tried.** Surely above kNN in {above} of {len(grid)} combinations of chunk size, "
        f"hits and budget, surely below in {below} (Holm's correction over all): "
        f"{_range(numbers.gains(KNN.name))} points, {_questions(grid)} questions each. {EVIDENCE}",
        f"**In milliseconds.** One context takes {numbers.milliseconds()} ms of one core, {numbers.multiples()} times "
        f"the unavoidable work. [{HERE}/speed.md]({HERE}/speed.md), `make bench`",
    ]
    losses = [
        f"{_loss(behind > 0, 'a hand-tuned pipeline can be better', 'A hand-tuned pipeline')} "
        "The default is surely below one that reads the whole index in "
        f"{behind} of {len(grid)} combinations, surely above in {beyond}; the worst is {worst.points()} points "
        f"({worst.count} questions). {EVIDENCE}",
        f"{_loss(held_out.high < 0, 'single facts that are asked for in other words', 'Single facts in other words')} "
        f"{held_out.points()} points against kNN on "
        f"{held_out.count} held-out needles; where words are shared it is {shared.points()} ({shared.count} needles). "
        f"[{HERE}/niah]({HERE}/niah/README.md), `make evaluate`",
    ]
    first = -min(worst.mean, held_out.mean) > knn.mean
    claims = [*losses, *gains] if first else [*gains, *losses]
    return "\n".join(f"{number}. {claim}" for number, claim in enumerate(claims, start=1))


def setup() -> str:
    """Return what was measured, with what, and what was chosen while looking at which set."""
    main = numbers.main()
    evidence = numbers.result("evidence")
    counts = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in main["questions"].items())
    systems = [
        ["kNN", "the best hits, in order, until the budget is full"],
        ["kNN±1, kNN±2", "the same, each with one or two neighbours on both sides"],
        ["best peer", "the best of dsRAG, LangChain, LlamaIndex, Haystack, a SpectRAG-like choice, retrivexlib 0.1.0, "
         "kNN with neighbours and whole small documents, chosen for each set afterwards"],
        ["reference", "a pipeline tuned by hand that reads the whole index, which RetriVex does not"],
        ["RetriVex", "the default; like the others it prints no numbers of passages and no marks of gaps, which "
         "take tokens (it does in section 6)"],
        ["full effort", "the same with `effort=\"full\"`, which fills the budget whatever is left"],
    ]  # fmt: skip
    return "\n\n".join(
        [
            f"**Data.** {numbers.questions(main):,} questions with exact evidence: {counts}. A seeded sample where a "
            f"set has more. Chunks hold whole sentences. Embeddings: {evidence['model'].split(' (')[0]}.",
            "**Protocol.** Every system gets the same hits and the same budget of cl100k_base tokens. "
            "*Evidence* is the "
            "share of its characters in the context; *complete* is the share of questions with all of it. "
            "Intervals are 95 %, by the bootstrap over questions, paired for differences. A difference is "
            "*significant* where its interval leaves 0 out, and *sure* where it still is after Holm's correction over "
            "all that are counted together.",
            table(["system", "what it is"], systems),
            "**Asked less often, as they take longest.** Compressors that embed sentences (of ragcompress, LangChain "
            "and LlamaIndex) and the sentence window were asked on four sets, each with an index of its own. "
            "Haystack's retrievers were asked on one set, at up to 2,000 tokens, and its two rankers by maximum margin "
            "relevance at 1,000 tokens. The grid has five peers. SpectRAG is re-built with the edges that need no "
            "language model, which are two of its six signals.",
            "**Chosen while looking.** The scorer's coefficients are always fitted without the set that is measured. "
            "Double questions are the exception: the scorer was fitted on the questions that they join. A few "
            "constants (prior, widths of smoothing, share of second hops, when to stop, feature groups) were chosen "
            "on these same sets. The threshold of the nearest-neighbour fallback was chosen on the needles "
            "`niah_paraphrased`, its weights also on `niah`. `niah_held_out` was not looked at.",
            f"**Hardware.** {evidence['machine']}. **No language model was asked**: measured is what reaches the "
            "context, in which order, and at what cost.",
        ]
    )


def main_result() -> str:
    """Return the main table, and what more budget buys."""
    main, half = numbers.main(), numbers.main(BUDGETS[1])
    rows = [
        [
            f"{name.replace('_', ' ')} ({count})",
            *[f"{100 * numbers.set_figure(main, name, system):.1f}" for system in PAIRS],
            numbers.difference(main, KNN.name, name=name).points(),
        ]
        for name, count in main["questions"].items()
    ]
    means = [
        [
            f"**mean of sets, {cell['budget']:,} tokens**",
            *[f"{100 * numbers.mean_figure(cell, system):.1f}" for system in PAIRS],
            numbers.difference(cell, KNN.name).points(),
        ]
        for cell in (main, half)
    ]
    evidence = numbers.difference(main, KNN.name, "recall")
    return "\n\n".join(
        [
            "Share of questions with all of their evidence in the context, in percent. All sets in one index, "
            f"200-token chunks, 50 dense hits, {main['budget']:,} tokens; the last column: RetriVex less kNN, points.",
            table(["set (questions)", *PAIRS.values(), "RetriVex − kNN"], rows),
            table(["", *PAIRS.values(), "RetriVex − kNN"], means),
            f"By the share of the evidence, the gain on kNN is {evidence.points()} points ({evidence.count:,} "
            f"questions). A RetriVex context has {numbers.mean_figure(main, DEFAULT, 'spans'):.1f} spans on average, "
            f"one of kNN {numbers.mean_figure(main, KNN.name, 'spans'):.1f} passages.",
            _figure("evidence", "questions with all of their evidence, for each set and system"),
            "**What more budget buys.** RetriVex stops where nothing that is left is likely to help. Evidence / "
            "complete, % in tokens used, and points of evidence:",
            _efforts(),
            "![evidence against the budget asked for and against the tokens used](docs/figures/budget.png)",
            f"All of it: {EVIDENCE} and `make bench-effort`.",
        ]
    )


def _efforts() -> str:
    rows = [
        [
            f"{cell['budget']:,}",
            *[effort_tables.shown(effort_tables.means(cell, system)) for system in effort_tables.SYSTEMS],
            points(difference(cell, DEFAULT, KNN.name, "recall")),
        ]
        for cell in effort_tables.curve()
    ]
    return table(["tokens at most", *effort_tables.SHOWN.values(), "RetriVex − kNN"], rows)


def _situations() -> str:
    rows = []
    for variation in [name for name in effort_tables.variations() if name != effort_tables.BASE]:
        cell = effort_tables.effort_cell(effort_tables.SITUATION_BUDGET, variation)
        shares = [effort_tables.means(cell, system) for system in (KNN.name, DEFAULT, FULL)]
        gain = points(difference(cell, DEFAULT, KNN.name, "recall"))
        rows.append(
            [
                f"{variation} ({numbers.questions(cell)})",
                *[f"{100 * one['recall']:.1f}" for one in shares],
                gain,
                effort_tables.lower(variation),
            ]
        )
    header = ["evidence, % (questions)", "kNN", "RetriVex", "full effort", "RetriVex − kNN", "below kNN"]
    return table(header, rows)


def across() -> str:
    """Return the grid in a table and a heat map, and other encoders and hits."""
    grid = numbers.grid()
    rows = []
    for against in (KNN.name, BEST_PEER, REFERENCE):
        for metric, name in (("complete", "complete"), ("recall", "evidence")):
            above, below = numbers.surely(against, metric)
            rows.append(
                [
                    f"{PAIRS[against]}, {name}",
                    _range(numbers.gains(against, metric)),
                    str(above),
                    str(len(grid) - above - below),
                    str(below),
                ]
            )
    sizes, hits, budgets = (sorted({cell[key] for cell in grid}) for key in ("size", "hits", "budget"))
    return "\n\n".join(
        [
            f"{len(grid)} combinations: chunks of {sizes[0]} to {sizes[-1]} tokens, {hits[0]} to {hits[-1]} hits "
            f"(dense, BM25, fused), budgets of {budgets[0]:,} to {budgets[-1]:,} tokens; "
            f"{_questions(grid)} questions each, mean of eight sets, of five where chunks do not "
            "have 200 tokens. *Above* and *below* count sure differences, by Holm's correction over the row:",
            table(["RetriVex against", "points, from – to", "above", "not sure", "below"], rows),
            _figure("grid", "gain on kNN for each chunk size, number of hits and budget"),
            "**Does it hold with another encoder?** The setting of section 3 with one thing changed, at most 60 "
            f"questions a set, {effort_tables.SITUATION_BUDGET:,} tokens. Not every row has all eight sets, so "
            "compare within a row. *Below kNN* counts the sets and budgets with surely less evidence than kNN (Holm's "
            "correction over those of the row):",
            _situations(),
            _figure("encoders", "evidence against the budget with two encoders"),
            f"All of it: {EVIDENCE} and `make bench-effort`.",
        ]
    )


def parts() -> str:
    """Return the ablations that matter."""
    ablations = numbers.result("ablations")
    known = {row["name"]: row for row in ablations["rows"]}
    asked = ablations["questions"] * len(ablations["rows"][0]["sets"])
    rows = [
        [words, *[_change(known[name]["change"][metric], asked).points() for metric in ("recall", "complete")]]
        for name, words in ABLATIONS.items()
        if name in known
    ]
    largest = min(rows, key=lambda row: float(row[2].split(" ")[0]))
    return "\n\n".join(
        [
            f"Change in points against the default; {asked} questions of {len(ablations['rows'][0]['sets'])} sets, "
            "200-token chunks, 20 dense hits, "
            f"1,000 tokens. The largest loss is that of: {largest[0]}. "
            f"All {len(known) - 1} variants: [{HERE}/scorer.md]({HERE}/scorer.md), `make ablations`.",
            table(["changed", "evidence", "complete"], rows[:8]),
        ]
    )


def suites() -> str:
    """Return needles, RULER and LongBench in a table, and a curve of each suite."""
    rows = [
        _suite("Needles, question shares words", numbers.needles("niah", shares_words=True), "complete"),
        _suite("Needles, other words, held out", numbers.needles("niah_held_out"), "complete"),
        _suite("Four needles, one question", numbers.needles("niah_multi"), "complete"),
        _suite("RULER, 11 tasks", numbers.ruler(), "answer_in_context"),
        _suite("LongBench, Chinese", numbers.longbench(), "answer_in_context"),
    ]
    depths = by_depth(numbers.of_system(numbers.needles("niah_shuffled"), numbers.RETRIVEX), "complete")
    seen = position_sensitivity(depths)
    return "\n\n".join(
        [
            "Percent of questions with all of the evidence (needles) or every answer (RULER, LongBench) in "
            "2,000 tokens "
            "of context. Dense hits for needles, BM25 hits for the others, 50 of each. RULER leaves out `cwe` "
            "and `fwe`, "
            "which count over the whole text.",
            table(["suite (questions)", "kNN", "kNN±1", "RetriVex", "full effort", "RetriVex − kNN"], rows),
            f"With RetriVex the best and the worst depth of a needle in shuffled essays are {100 * seen.spread:.1f} "
            f"points apart; chance alone gives {100 * seen.by_chance:.1f} (p = {seen.p:.3f}, "
            f"{len(next(iter(depths.values())))} questions a depth). Details: [needles]({HERE}/niah/README.md), "
            f"[RULER]({HERE}/ruler/README.md), [LongBench]({HERE}/longbench/README.md), "
            f"[keys]({HERE}/key_value/README.md), `make evaluate`.",
            _figure("needles", "needles in the context against the length of the haystack"),
            _figure("ruler", "RULER answers in the context against the length of the haystack"),
            _figure("longbench", "LongBench answers in the context against the token budget"),
        ]
    )


def orders() -> str:
    """Return what orders do to the place of the evidence, and what that would be worth."""
    found = numbers.orders("dense")
    rows = []
    for order, there in found.items():
        places = np.array([row.measures["evidence_position"] for row in there])
        mean, low, high = suite_pages.simulated_accuracy(there)
        rows.append(
            [
                f"`{order}` ({len(there):,})",
                f"{places.mean():.2f}",
                f"{100 * np.mean((places <= 0.1) | (places >= 0.9)):.0f} %",
                f"{mean:.1f} [{low:.1f}, {high:.1f}]",
            ]
        )
    apart, as_given = _order_difference("dense"), _order_difference("given")
    verdict = "significant" if apart.significant() else "no effect seen"
    return "\n\n".join(
        [
            "Lost in the middle: 1,800 questions, the gold passage among 10, 20 and 30 that all fit. Dense hits, "
            "full effort, which shows them all. *Simulated accuracy* reads the published curve of GPT-3.5-Turbo "
            "(Liu et al., 2023) at the place "
            "of the evidence; no model was asked.",
            table(["order (contexts)", "mean place, 0 to 1", "in the outer tenths", "simulated accuracy, %"], rows),
            f"**Verdict.** The default order, `edge_balanced`, less `score_desc`, which shows the best first: "
            f"{apart.points()} points of simulated accuracy ({apart.count:,} questions): {verdict}. "
            "A good retriever already puts the evidence first. With the hits "
            f"in the order of the files (figure) it is {as_given.points()}. Measure your own model with "
            f"`retrivex probe` before you change the order. [{HERE}/lost_in_the_middle]"
            f"({HERE}/lost_in_the_middle/README.md), `make evaluate`",
            _figure("orders", "simulated accuracy against the place at which the gold passage was given"),
        ]
    )


def cost() -> str:
    """Return what composing costs."""
    rows = [
        [
            f"{row['k']} hits, {row['budget']:,} tokens" + (", embeddings" if row["embeddings"] else ""),
            f"{sum(row['floor_us'].values()) / 1e3:.2f}",
            f"{row['us']['exact count'] / 1e3:.2f}",
            f"{row['ratio']['exact count']:.1f}×",
            f"{row['us']['cold'] / 1e3:.1f}",
        ]
        for row in numbers.costs()
    ]
    growth = numbers.result("latency")["growth"]
    return "\n\n".join(
        [
            "Milliseconds of one core for a whole `compose` with the calibrated scorer. The **floor** is the work that "
            "no composer avoids: look the chunks up, join those that are shown, count the tokens once. *Cold* is the "
            "first call of a composer that has never seen the chunks.",
            table(["query", "floor", "compose", "multiple", "cold"], rows),
            f"Time grows about linearly with the hits: {growth[0]['us per hit']:.0f} µs a hit at "
            f"{growth[0]['k']} hits, "
            f"{growth[-1]['us per hit']:.0f} µs at {growth[-1]['k']:,}, with {growth[-1]['peak MiB']:.0f} MiB at most. "
            f"Stores, orders and duplicates: [{HERE}/speed.md]({HERE}/speed.md), `make bench`.",
            _figure("growth", "milliseconds of composing and of the floor against the number of hits"),
        ]
    )


def losses() -> str:
    """Return where RetriVex loses, by cause."""
    found = evidence_tables.losses()
    by_set = Counter(line["set"] for _, line in found if line["against"] == REFERENCE)
    against_knn = [line for _, line in found if line["against"] == KNN.name]
    against_peer = Counter(line["other"] for _, line in found if line["against"] == BEST_PEER)
    large = [line for cell, line in found if cell["size"] >= 400 and cell["budget"] >= 4000]
    held_out = numbers.paired(numbers.needles("niah_held_out"), "complete")
    fused = numbers.paired(numbers.needles("niah_held_out", "fused"), "complete")
    order = _order_difference("dense")
    peers = ", ".join(f"{name} ({count})" for name, count in against_peer.most_common(3))
    return "\n\n".join(
        [
            "RetriVex was compared with kNN, the best peer and the reference in every set and combination. It is "
            f"surely lower in {len(found)} comparisons (Holm's correction over all), {len(against_knn)} of them with "
            "kNN.",
            "- **The reference reads what was not retrieved.** "
            + (
                "Losses against it are on "
                + ", ".join(f"{name.replace('_', ' ')} ({count})" for name, count in by_set.most_common(3))
                if by_set
                else "No loss against it is sure"
            )
            + ". RetriVex only sees hits and their neighbours.\n"
            f"- **Large chunks with large budgets.** {len(large)} of the losses have 400-token chunks and 4,000 tokens "
            "or more: there is little to choose.\n"
            f"- **Other packages.** {f'Best where it is below: {peers}' if peers else 'None is surely above it'}.\n"
            f"- **Single facts in other words.** {held_out.points()} points against kNN with dense hits, "
            f"{fused.points()} with fused hits ({held_out.count} needles): the scorer looks for the question's words."
            + (
                f"\n- **The default order.** {order.points()} points of simulated accuracy against best first, see "
                "section 7."
                if order.high < 0
                else ""
            ),
            f"Every loss with its interval: {EVIDENCE}.",
        ]
    )


def confidence() -> str:
    """Return how reliable the confidence is."""
    calibration = numbers.result("calibration")
    found, areas = calibration["reliability"], calibration["auc"]
    asked = sum(row["questions"] for row in found)
    gap = max(abs(row["confidence"] - row["holds evidence"]) for row in found)
    return "\n\n".join(
        [
            f"`composition.confidence` against how often evidence was there, in tenths of {asked:,} answers; "
            f"the largest "
            f"gap of a tenth is {gap:.2f}. Each set was judged by a model that was fitted without it.",
            "How well the confidence tells questions that the hits can answer from those that they cannot, as area "
            f"under the ROC curve: {areas['embeddings']:.2f} for hits with embeddings, {areas['words']:.2f} for hits "
            "with scores of words. For other hits it was below 0.85, so they have no confidence. "
            f"[{HERE}/scorer.md]({HERE}/scorer.md), `make calibrate`",
            _figure("reliability", "share of questions with evidence against the confidence"),
            "`composition.expected_recall` against the share of the evidence that was shown, by budget:",
            _expected(),
        ]
    )


def _expected() -> str:
    rows = []
    for row in numbers.result("reliability")["rows"]:
        expected, shown = (np.array([tenth[name] for tenth in row["tenths"]]) for name in ("expected", "shown"))
        counts = [tenth["questions"] for tenth in row["tenths"]]
        means = [f"{100 * np.average(one, weights=counts):.1f} %" for one in (expected, shown)]
        rows.append([f"{row['budget']:,} ({sum(counts):,})", *means, f"{np.abs(expected - shown).max():.2f}"])
    return table(["tokens at most (questions)", "expected", "shown", "largest gap of a tenth"], rows)


def first_version() -> str:
    """Return version 0.1.0's claims beside the same quantities."""
    needles, tasks, chinese = numbers.needles("niah"), numbers.ruler(), numbers.longbench()
    rows = [
        ["needles, recall", "0.92 / 0.84", *_both(needles, "complete")],
        ["needles, reciprocal rank", "0.92 / 0.58", *_both(needles, "reciprocal_rank")],
        ["needles, worst − best depth", "-0.02 / -0.52", *_depths(needles)],
        ["RULER, exact match of a model", "0.12 – 0.64", *_both(tasks, "answer_in_context")],
        ["LongBench, recall", "1.0 / 1.0", *_both(chinese, "evidence_recall")],
        ["LongBench, milliseconds", "0.035 / 0.070", *_milliseconds(chinese)],
    ]
    main = numbers.main()
    old = "retrivexlib 0.1.0"
    rows.append(["all evidence, 0.1.0 run as published", "–", f"{numbers.mean_figure(main, old):.3f} (0.1.0)",
                 f"{numbers.mean_figure(main, KNN.name):.3f}", f"{numbers.questions(main):,}"])  # fmt: skip
    return "\n\n".join(
        [
            "The published report of 0.1.0 claimed these figures for 25 samples each (RetriVex / baseline). No "
            "code came "
            "with it, so its questions and measures are unknown and nothing here refutes it. The nearest "
            "quantities that "
            "were measured now, 2,000 tokens, 95 % intervals:",
            table(["quantity", "claimed", "RetriVex now", "kNN now", "questions"], rows),
            "RULER differs most: its exact match is that of a model's answers, ours is whether the answers are in the "
            f"context, which bounds it. Everything: [{HERE}/first_version.md]({HERE}/first_version.md), "
            "`make evaluate`.",
        ]
    )


def limits() -> str:
    """Return the limits, and how to repeat everything."""
    return "\n".join(
        [
            "- No model read these contexts. More evidence is not a promise of better answers.",
            "- The sets are mostly English, and the needles are invented facts in one kind of essay.",
            "- One embedding model, all-MiniLM-L6-v2, made the dense hits, and a second one where it is named.",
            "- Of many comparisons, about 1 in 40 has its interval wholly below 0 by chance alone. *Sure* differences "
            "are corrected for that.",
            "- The questions of the grid are 25 of each set, out of those of the main table.",
            "- Times come from two shared cores. Compare them with the floor of the same run.",
            "",
            "`make bench-all` measures again, in parts that go on where they stopped; `make report` prints this page, "
            "the pages beside the results and all figures, and refuses those of another behaviour than today's "
            "(`make fingerprint`). Commands, data, versions and seeds: [benchmarks](benchmarks/README.md).",
        ]
    )


SECTIONS: Sequence[tuple[str, Callable[[], str]]] = (
    ("Summary", summary),
    ("Setup: same hits, same tokens, no model asked", setup),
    ("More of the evidence for the same tokens", main_result),
    ("The gain holds across budgets, chunk sizes and hits", across),
    ("The question's words carry most of the gain", parts),
    ("Needles, RULER and LongBench: near kNN where one chunk is the answer", suites),
    ("Best at the edges or best first: a point apart or less", orders),
    ("A context costs milliseconds", cost),
    ("Where it loses", losses),
    ("The confidence tells what can be answered", confidence),
    ("Version 0.1.0's claims beside new measurements", first_version),
    ("Limits, and how to repeat it", limits),
)


def _figure(name: str, shows: str) -> str:
    return f"![{shows}](docs/figures/report/{name}.png)"


def _questions(cells: Sequence[numbers.Line]) -> str:
    counts = sorted({numbers.questions(cell) for cell in cells})
    return f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else str(counts[0])


def _loss(lost: bool, loss: str, otherwise: str) -> str:
    return f"**Loss: {loss}.**" if lost else f"**{otherwise}.**"


def _sets(cell: numbers.Line) -> str:
    count = len(cell["questions"])
    return {8: "eight"}.get(count, str(count))


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _range(found: Sequence[Interval]) -> str:
    means = [100 * gain.mean for gain in found]
    return f"{min(means):+.1f} to {max(means):+.1f}"


def _change(figures: Sequence[float], asked: int) -> Interval:
    return Interval(figures[0], figures[1], figures[2], asked)


def _suite(name: str, rows: Sequence[Row], measure: str) -> list[str]:
    gain = numbers.paired(rows, measure)
    systems = ("knn", "knn±1", numbers.RETRIVEX, "full")
    shares = [f"{100 * numbers.share(rows, system, measure).mean:.1f}" for system in systems]
    return [f"{name} ({gain.count:,})", *shares, gain.points()]


def _order_difference(retriever: str) -> Interval:
    """Return the simulated accuracy of the default order less that of the best-first order, paired."""
    curve = PROFILES["lost_in_the_middle"]
    found = numbers.orders(retriever)
    by_question = [
        {(row.set_name, row.question_id): float(curve.at(row.measures["evidence_position"])) for row in found[order]}
        for order in ("edge_balanced", "score_desc")
    ]
    figures = np.array([by_question[0][asked] - by_question[1][asked] for asked in by_question[0]]) / 100
    low, high = np.quantile(resampled_means(figures, resamples=2_000, seed=0), [0.025, 0.975])
    return Interval(float(figures.mean()), float(low), float(high), len(figures))


def _both(rows: Sequence[Row], measure: str) -> list[str]:
    found = [numbers.share(rows, system, measure) for system in (numbers.RETRIVEX, "knn")]
    return [*[f"{one.mean:.3f} [{one.low:.3f}, {one.high:.3f}]" for one in found], f"{found[0].count:,}"]


def _depths(rows: Sequence[Row]) -> list[str]:
    found = [by_depth(numbers.of_system(rows, system), "complete") for system in (numbers.RETRIVEX, "knn")]
    seen = [position_sensitivity(depths) for depths in found]
    asked = sum(map(len, found[0].values()))
    return [*[f"{-one.spread:+.3f} (chance {-one.by_chance:+.3f})" for one in seen], f"{asked:,}"]


def _milliseconds(rows: Sequence[Row]) -> list[str]:
    asked = len(per_question(numbers.of_system(rows, "knn"), "ms"))
    return [*[f"{mean_of(numbers.of_system(rows, name), 'ms'):.2f}" for name in (numbers.RETRIVEX, "knn")],
            f"{asked:,}"]  # fmt: skip
