"""LongBench's files at hand: whether an answer stands in the context, within 1,000 to 4,000 tokens.

The files at hand are Chinese, for which the English encoder at hand is no use: hits are found by words (characters).
Summaries (multi_news) ask no question and are left out.

Run: `python -m benchmarks.suites.longbench` (writes `results/longbench/`); `--smoke` is a small run.
"""

from __future__ import annotations

import sys

from benchmarks.suites.offline import COMPOSERS, arguments, run

SETS = ("longbench/multifieldqa_zh", "longbench/passage_retrieval_zh")
BUDGETS = (1000, 2000, 4000)


def main() -> int:
    """Run every file at every budget."""
    asked = arguments(__doc__.splitlines()[0])
    run("longbench", asked, dense=False, sets=SETS, retrievers="bm25", hits=50, composers=COMPOSERS, budgets=BUDGETS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
