"""Needles in haystacks: facts put into essays at every depth and length, asked for in the same and in other words.

Run: `python -m benchmarks.suites.niah` (writes `results/niah/`); `--smoke` is a small run without a model.
"""

from __future__ import annotations

import sys

from benchmarks.suites.offline import COMPOSERS, arguments, run
from retrivex import RetrievalConfig

LENGTHS = (4096, 8192, 16384, 32768, 65536, 131072)
LENGTHS_OF_FOUR = (4096, 131072)
LENGTHS_PARAPHRASED = (4096, 16384, 131072)
BUDGET = 2000
CONFIGS = {
    # passages written as the baselines write them; numbers and marks of gaps take the room of a hit now and then
    "balanced, no marks": RetrievalConfig(numbered=False, gap_markers=False)
}


def main() -> int:
    """Run the grids of single needles, of more in other words, and of several."""
    asked = arguments(__doc__.splitlines()[0])
    single, four, others = [LENGTHS[:1]] * 3 if asked.smoke else [LENGTHS, LENGTHS_OF_FOUR, LENGTHS_PARAPHRASED]
    run(
        "niah",
        asked,
        sets=[
            *(f"{name}/{tokens}" for name in ("niah", "niah_shuffled") for tokens in single),
            *(f"{name}/{tokens}" for name in ("niah_paraphrased", "niah_held_out") for tokens in others),
            *(f"niah_multi/{tokens}" for tokens in four),
        ],
        retrievers=("dense", "fused"),
        hits=50,
        composers=COMPOSERS,
        configs=CONFIGS,
        budgets=BUDGET,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
