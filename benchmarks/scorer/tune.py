"""Whether `retrivex tune` repairs a config that is wrong, and leaves one alone where there is nothing to learn.

- *Repair*: run_cost far too high (its default is 0), on real questions with their evidence. The change has to be
  accepted.
- *Shuffled labels*: every question is given another question's evidence. Nothing about questions is to be learnt, so
  that a change has to be refused: in 95 of 100 runs at least. From the wrong config in one of the sets above, and from
  a tenth of it in chunking_evaluation: of its three documents, contexts of 4,000 tokens hold a tenth of such evidence.

Hits are BM25, so that no model is needed. The shipped coefficients were fitted to questions of these sets as well: what
tuning adds to them on other data is not what is measured here.

Run: `python -m benchmarks.scorer.tune`; `--runs 3` for a quick look.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import retrivex
from benchmarks.behaviour import FIELD, today
from benchmarks.evidence.lexical import words
from benchmarks.suites.datasets import load_sets
from retrivex import RetrievalConfig
from retrivex.evaluation.questions.labelled import LabelledQuestion
from retrivex.evaluation.run import Index
from retrivex.evaluation.tune.tuning import TuneResult, tune

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("RETRIVEX_DATA", ROOT.parent / "shared" / "data"))
RESULT = ROOT / "benchmarks" / "results" / "tune.json"
REPAIRED = ("covid_qa", "evidence_inference")
CHUNK_TOKENS = 200
HITS = 20
BUDGET = 1000
TOO_HIGH = 2.5  # run_cost: no passage but the best pays for its opening
# set, where tuning starts from, tokens of the context
SHUFFLED = (("covid_qa", TOO_HIGH, BUDGET), ("chunking_evaluation", TOO_HIGH / 10, 4 * BUDGET))


def labelled(name: str, most: int, seed: int = 0) -> list[LabelledQuestion]:
    """Return a seeded sample of a set's questions, each with its BM25 hits in one index of all documents."""
    (found,) = load_sets(DATA, (name,))
    index = Index(found.documents, size=CHUNK_TOKENS, terms=words)
    answered = [replace(question, within=()) for question in found.questions if question.evidence]
    asked = random.Random(seed).sample(answered, min(most, len(answered)))
    return [
        LabelledQuestion(question.text, question.evidence, hits, index.store)
        for question, hits in zip(asked, index.hits(asked, "bm25", HITS), strict=True)
    ]


def shuffled(questions: Sequence[LabelledQuestion], seed: int) -> list[LabelledQuestion]:
    """Give every question the evidence of another one."""
    order = list(range(len(questions)))
    random.Random(seed).shuffle(order)
    taken = dict(zip(order, order[1:] + order[:1], strict=True))
    return [replace(question, evidence=questions[taken[at]].evidence) for at, question in enumerate(questions)]


def row(name: str, found: TuneResult, started: float) -> dict[str, Any]:
    """Return a run's figures, and print them."""
    quality = found.measures["quality"]
    print(
        f"{name}: {'accepted' if found.accepted else 'refused'}, {quality.before:.3f} -> {quality.after:.3f} "
        f"({quality.difference.low:+.3f} to {quality.difference.high:+.3f}), {dict(found.changes)}, "
        f"{'fitted anew' if found.coefficients else 'coefficients kept'}, {time.perf_counter() - started:.0f} s",
        flush=True,
    )
    return {"name": name, "seconds": round(time.perf_counter() - started, 1), **found.to_dict()}


def repair(name: str, questions: Sequence[LabelledQuestion], trials: int) -> dict[str, Any]:
    """Tune from a run_cost that is too high; beside it what the default reaches on the same questions."""
    started = time.perf_counter()
    wrong = RetrievalConfig(run_cost=TOO_HIGH, token_budget=BUDGET)
    made = row(f"{name}, run_cost {TOO_HIGH:g}", tune(questions, config=wrong, trials=trials), started)
    # the same seed holds the same questions back
    default = tune(questions, config=RetrievalConfig(token_budget=BUDGET), trials=1)
    made["default"] = {measure: found.before for measure, found in default.measures.items()}
    print(f"{name}, default: {made['default']['quality']:.3f}", flush=True)
    return made


def chance(name: str, questions: Sequence[LabelledQuestion], config: RetrievalConfig, runs: int) -> dict[str, Any]:
    """Tune on shuffled labels, run after run."""
    rows = []
    for seed in range(runs):
        started = time.perf_counter()
        found = tune(shuffled(questions, seed), config=config, trials=15, seed=seed)
        rows.append(row(f"{name}, shuffled {seed}, run_cost {config.run_cost:g}", found, started))
    refused = sum(not made["accepted"] for made in rows)
    print(f"{name}, shuffled labels, run_cost {config.run_cost:g}: refused {refused} of {runs}", flush=True)
    return {
        "set": name,
        "run_cost": config.run_cost,
        "token_budget": config.token_budget,
        "refused": refused,
        "runs": rows,
    }


def main() -> int:
    """Run both, write the result; 1 if something is not as it should be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20, help="with shuffled labels, of each kind")
    parser.add_argument("--questions", type=int, default=200, help="of each set, for the repair")
    parser.add_argument("--few", type=int, default=120, help="questions of a run with shuffled labels")
    args = parser.parse_args()
    repairs = [repair(name, labelled(name, args.questions), trials=40) for name in REPAIRED]
    shuffles = [
        chance(name, labelled(name, args.few), RetrievalConfig(run_cost=gamma, token_budget=budget), args.runs)
        for name, gamma, budget in SHUFFLED
    ]
    result = {
        FIELD: today(),
        "command": "python -m benchmarks.scorer.tune",
        "retrivex": retrivex.__version__,
        "python": platform.python_version(),
        "machine": f"{os.cpu_count()} shared cores, {platform.machine()}",
        "chunk_tokens": CHUNK_TOKENS,
        "hits": f"BM25, {HITS}",
        "token_budget": BUDGET,
        "questions": {"repair": args.questions, "shuffled": args.few},
        "repair": repairs,
        "shuffled": shuffles,
    }
    right = all(made["accepted"] for made in repairs)
    right &= all(made["refused"] >= 0.95 * args.runs for made in shuffles)
    if args.runs >= 20:
        RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
