"""Lost in the middle: where orders put the passage that answers, out of 10, 20 and 30, and a key out of a table.

Every passage fits the budget, so that only the order matters. Passages come as the files have them ("given": the gold
one at a known place, as if a retriever had put it there), and as the encoder ranks them.

Run: `python -m benchmarks.suites.lost_in_the_middle` (writes `results/lost_in_the_middle/` and `results/key_value/`);
`--smoke` is a small run.
"""

from __future__ import annotations

import sys

from benchmarks.suites.offline import ORDERS, SEEDS, arguments, run

GOLD_AT = {10: (0, 4, 9), 20: (0, 9, 19), 30: (0, 14, 29)}
KEYS = (75, 140)
BUDGET = 6000


def main() -> int:
    """Run every file in every order."""
    asked = arguments(__doc__.splitlines()[0])
    sets = [f"lost_in_the_middle/{count}/{place}" for count, places in GOLD_AT.items() for place in places]
    ways = {"hits": 50, "composers": ("knn", "balanced", "full"), "orders": ORDERS, "budgets": BUDGET, "seeds": SEEDS}
    run("lost_in_the_middle", asked, sets=sets, retrievers=("given", "dense"), **ways)
    # UUIDs mean nothing to an encoder
    tables = [f"key_value/{keys}" for keys in KEYS]
    run("key_value", asked, dense=False, sets=tables, retrievers="bm25", **ways)
    return 0


if __name__ == "__main__":
    sys.exit(main())
