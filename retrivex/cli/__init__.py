"""The command line: one module per command, imported on use; `retrivex --help` lists them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from retrivex.cli.application import app

__all__ = ["app", "main"]

_INTERRUPTED = 130


def main() -> None:
    """Run the command line of this process; Ctrl-C ends it quietly from here on, imports included."""
    try:
        from retrivex.cli.application import run  # noqa: PLC0415 - takes long enough to be interrupted
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    run()


def __getattr__(name: str) -> Any:
    if name == "app":
        from retrivex.cli.application import app  # noqa: PLC0415 - see above

        return app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
