"""Bugs planted in what reads files, for the fuzzer to find."""

from __future__ import annotations

from typing import Any

from fuzz.mutants import Mutant

PLANTED: tuple[Mutant, ...] = ()
