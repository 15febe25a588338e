"""Bugs planted in the command line, for the fuzzer to find."""

from __future__ import annotations

from fuzz.mutants import Mutant

PLANTED: tuple[Mutant, ...] = ()
