"""Needles in haystacks: facts put into essays at every depth and length, asked for in the same and in other words.

Run: `python benchmarks/niah.py` (writes `results/niah/`); `--smoke` is a small run without a model.
"""

from __future__ import annotations

import sys

from offline import COMPOSERS, arguments, run

LENGTHS = (4096, 8192, 16384, 32768, 65536, 131072)
BUDGET = 2000


def main() -> int:
    """Run the grid of single needles and of several."""
    asked = arguments(__doc__.splitlines()[0])
    lengths = LENGTHS[:1] if asked.smoke else LENGTHS
    run(
        "niah",
        asked,
        sets=[f"{family}/{tokens}" for family in ("niah", "niah_multi") for tokens in lengths],
        retrievers=("dense", "fused"),
        hits=50,
        composers=COMPOSERS,
        budgets=BUDGET,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
