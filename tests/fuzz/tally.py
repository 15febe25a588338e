"""What a share of the work came to, and how an error is told in one line."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from fuzz.ledger import Violation


class ViolationError(AssertionError):
    """An invariant does not hold."""


def expect(holds: object, what: str, *about: object) -> None:
    """Raise ViolationError unless `holds`."""
    if not holds:
        raise ViolationError(f"{what}: {', '.join(map(repr, about))}")


@dataclass
class Tally:
    """What a share of the work came to."""

    cases: int = 0
    seconds: float = 0.0
    covered: Counter[str] = field(default_factory=Counter)
    violations: list[Violation] = field(default_factory=list)


def describe(error: BaseException) -> str:
    """One line that any terminal and file takes."""
    name = "" if isinstance(error, ViolationError) else f"{type(error).__name__}: "
    return f"{name}{error}"[:400].encode("utf-8", "backslashreplace").decode()
