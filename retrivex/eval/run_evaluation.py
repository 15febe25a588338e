"""`retrivex-eval` of version 0.1.0, which was announced and not there: it is `retrivex evaluate`."""

import sys

from retrivex.cli import main as run
from retrivex.model.renamed import warn_renamed


def main() -> None:
    """Run `retrivex evaluate` with the arguments of this process."""
    warn_renamed("retrivex-eval", "retrivex evaluate")
    sys.argv[1:1] = ["evaluate"]
    run()
