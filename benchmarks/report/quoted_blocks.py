"""Tables and lists that pages of the documentation quote from EVALUATION_REPORT.md, which `make report` prints."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

REPORT = Path(__file__).parents[2] / "EVALUATION_REPORT.md"

BEGINNINGS = {
    "report_parts": "| changed |",
    "report_grid": "| RetriVex against |",
    "report_encoders": "| evidence, % (questions) |",
    "report_suites": "| suite (questions) |",
    "report_orders": "| order (contexts) |",
    "report_losses": "- **The reference reads",
    "report_expected": "| tokens at most (questions) |",
    "report_limits": "- No model read",
}
"""How each block begins, by the name that pages give it."""


def quote(beginning: str) -> str:
    """Return the one block of the report, between blank lines, that begins so."""
    blocks = REPORT.read_text(encoding="utf-8").split("\n\n")
    [block] = [block for block in blocks if block.startswith(beginning)]
    return block


TABLES: dict[str, Callable[[], str]] = {name: partial(quote, beginning) for name, beginning in BEGINNINGS.items()}
