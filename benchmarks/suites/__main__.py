"""The command line of RetriVex with the public sets known to it.

Run: `python -m benchmarks.suites evaluate --set squad --data ../shared/data --encoder hashing`.
"""

import benchmarks.suites.datasets.families
import benchmarks.suites.published  # noqa: F401 - imported for what it registers
from retrivex.cli import main

if __name__ == "__main__":
    main()
