"""Whether a composition knows how much of the evidence it shows: `expected_recall` beside the truth, at each budget.

Run: `make calibrate`, after `calibrate.py`; writes `results/reliability.json`. Base of the evidence benchmark: all sets
in one index, 200-token chunks, 50 dense hits, the default, each set with coefficients fitted without it. In tenths of
the questions, by what was expected.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.behaviour import FIELD, today
from benchmarks.evidence.effort import BUDGETS
from benchmarks.evidence.embeddings import MODEL
from benchmarks.evidence.index import SETS, Indexes, retrieve
from benchmarks.evidence.systems import PLAIN, coefficients
from retrivex import RetrievalConfig, SpanComposer
from retrivex.evaluation.metrics import score_context
from retrivex.evaluation.run.measures import ranges_of

RESULTS = Path(__file__).parents[1] / "results" / "reliability.json"
SIZE, HITS, TENTHS = 200, 50, 10

Said = Mapping[str, float]


def answers(indexes: Indexes, set_name: str, most: int) -> Iterator[tuple[int, Said]]:
    """Yield, for each question and budget, what was expected and what was shown."""
    composer = SpanComposer(RetrievalConfig(**PLAIN, coefficients=coefficients(set_name)))
    store = indexes.all.vector_store
    for asked in indexes.ask(set_name, most=most):
        hits = retrieve(indexes.all, asked, "dense", HITS)
        for budget in BUDGETS:
            made = composer.compose(
                hits, store, query=asked.question.text, query_embedding=asked.embedding, token_budget=budget
            )
            ranges = [part for span in made.spans for part in ranges_of(span)]
            shown = score_context(ranges, asked.question.evidence)
            if made.expected_recall is None:
                raise RuntimeError(f"question {asked.question.question_id} of {set_name} has no expected recall")
            yield budget, {"expected": made.expected_recall, "shown": shown.recall}


def tenths(found: Sequence[Said]) -> list[dict[str, float]]:
    """Return the means of what was expected and shown, in tenths of the questions, by what was expected."""
    expected, shown = (np.array([one[name] for one in found]) for name in ("expected", "shown"))
    order = np.argsort(expected, kind="stable")
    return [
        {
            "expected": round(float(expected[part].mean()), 4),
            "shown": round(float(shown[part].mean()), 4),
            "questions": len(part),
        }
        for part in np.array_split(order, TENTHS)
    ]


def main() -> int:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=60, help="of each set, a seeded sample")
    most = parser.parse_args().questions
    indexes = Indexes(SETS, SIZE)
    by_budget: dict[int, list[Said]] = {budget: [] for budget in BUDGETS}
    for set_name in SETS:
        for budget, said in answers(indexes, set_name, most):
            by_budget[budget].append(said)
        print(set_name, file=sys.stderr, flush=True)
    result: dict[str, Any] = {
        FIELD: today(),
        "setting": {"model": MODEL, "chunk tokens": SIZE, "hits": HITS, "view": "all"},
        "rows": [{"budget": budget, "tenths": tenths(found)} for budget, found in by_budget.items()],
    }
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
