"""Bugs planted in the command line, for the fuzzer to find."""

from __future__ import annotations

from fuzz.mutants import Mutant

from retrivex.cli import failures
from retrivex.text import addresses, lines

PLANTED = (
    Mutant("errors steer the terminal", lines, "one_line", lambda _: lambda text: text),
    Mutant("messages tell what an address holds", addresses, "without_credentials", lambda _: lambda words, **_: words),
    Mutant("errors of our own are tracebacks", failures, "_EXPECTED", lambda _: (OSError,)),
    Mutant("an exit code that no page names", failures, "CANNOT", lambda _: 5),
)
