"""RULER's 13 tasks: whether what they ask for reaches the context, beside plain nearest chunks.

Words go before vectors here: numbers and UUIDs mean nothing to an encoder, and haystacks of 128k tokens, new for every
sample, would take hours to embed. The tasks cwe and fwe count words over the whole haystack; no passage holds their
answer, so that retrieval cannot help, whatever it finds.

Run: `python -m benchmarks.suites.ruler` (writes `results/ruler/`); `--smoke` is a small run.
"""

from __future__ import annotations

import sys

from benchmarks.suites.offline import COMPOSERS, arguments, run

LENGTHS = (4096, 8192, 16384, 32768, 65536, 131072)
TASKS = (
    "niah_single_1",
    "niah_single_2",
    "niah_single_3",
    "niah_multikey_1",
    "niah_multikey_2",
    "niah_multikey_3",
    "niah_multivalue",
    "niah_multiquery",
    "vt",
    "cwe",
    "fwe",
    "qa_1",
    "qa_2",
)
SAMPLES = 25
BUDGET = 2000
LONGEST_QA = 65536  # SQuAD's and HotpotQA's paragraphs at hand are no longer


def is_long_enough(task: str, tokens: int) -> bool:
    """Return whether the data at hand fill a haystack of this length."""
    return not (task.startswith("qa_") and tokens > LONGEST_QA)


def main() -> int:
    """Run every task at every length that the data at hand allow."""
    asked = arguments(__doc__.splitlines()[0])
    lengths = LENGTHS[:1] if asked.smoke else LENGTHS
    run(
        "ruler",
        asked,
        dense=False,
        sets=[
            f"ruler/{task}/{tokens}/{SAMPLES}" for task in TASKS for tokens in lengths if is_long_enough(task, tokens)
        ],
        retrievers="bm25",
        hits=50,
        composers=COMPOSERS,
        budgets=BUDGET,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
