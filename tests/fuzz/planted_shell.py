"""Bugs planted in the command line, for the fuzzer to find."""

from __future__ import annotations

from fuzz.mutants import Mutant

from retrivex.cli import failures

PLANTED = (
    Mutant("errors steer the terminal", failures, "one_line", lambda _: lambda text: text),
    Mutant("errors of our own are tracebacks", failures, "_EXPECTED", lambda _: (OSError,)),
    Mutant("an exit code that no page names", failures, "CANNOT", lambda _: 5),
)
