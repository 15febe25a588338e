"""Try random cases against what is promised, and first show that broken code would be caught.

    PYTHONPATH=tests python -m fuzz.run compositions             on to 1,000,000 in all, from where the last run ended
    PYTHONPATH=tests python -m fuzz.run compositions --cases 20000
    PYTHONPATH=tests python -m fuzz.run loaders shell --short    as many as CI runs, always the same ones
    PYTHONPATH=tests python -m fuzz.run compositions --only 1:12345

Kinds are compositions, counts, traps, loaders, bombs and shell. Full runs keep their account in
`benchmarks/results/fuzz.json`.
Exits with 1 if a rule does not hold or a planted bug is not caught.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any

from fuzz.ledger import Ledger, Violation, read_ledger
from fuzz.limits import limit_memory
from fuzz.tally import Tally

from benchmarks.code import digest

KINDS = ("compositions", "counts", "traps", "loaders", "bombs", "shell")
SEED = 1
MOST_VIOLATIONS = 200
"""Open violations at which a run gives up: there is enough to mend."""


@dataclass
class Fuzzer:
    """One kind of cases: its module, and the account of what it did."""

    module: Any
    workers: int
    covered: Counter[str] = field(default_factory=Counter)

    @cached_property
    def checks(self) -> str:
        """Digest of the checks, as it was at first, where they are a file of their own."""
        files = getattr(self.module, "CHECKED_BY", ())
        return digest(files) if files else ""

    def catch_planted_bugs(self, *, short: bool) -> list[str]:
        """Run every planted bug until it is caught; return the names of those that were not.

        The same cases pass without a bug planted, or there would be nothing to tell a caught one by. A short run leaves
        slow bugs out, and tries fewer cases without one: those that it tries anyway.
        """
        numbers = range(self.module.WORLDS_TO_CATCH)
        planted = [at for at, bug in enumerate(self.module.PLANTED) if not (short and bug.slow)]
        names = [self.module.PLANTED[at].name for at in planted]
        print(f"Planted bugs ({len(names)}):", flush=True)
        with ProcessPoolExecutor(self.workers) as pool:
            if not short and (clean := pool.submit(self.module.fuzz, SEED, numbers, 1).result()).violations:
                print(f"  no bug was planted, as there are violations already: {clean.violations[0].what}")
                return names
            found = list(pool.map(catch, [self.module.KIND] * len(names), planted))
        for name, tally in zip(names, found, strict=True):
            told = f"after {tally.cases:,} cases: {tally.violations[0].what[:100]!a}" if tally.violations else ""
            print(f"  {'caught' if told else 'MISSED'}  {name}  {told}")
        return [name for name, tally in zip(names, found, strict=True) if not tally.violations]

    def tallies(self, first: int, cases: int) -> Iterator[tuple[range, Tally]]:
        """Check cases in several processes, in order."""
        per_number = getattr(self.module, "CALLS_PER_WORLD", 1)
        size = self.module.BLOCK
        last = first + -(-cases // per_number)
        parts = [range(start, min(start + size, last)) for start in range(first, last, size)]
        with ProcessPoolExecutor(self.workers, initializer=limit_memory) as pool:
            try:
                yield from zip(parts, pool.map(self.module.fuzz, [SEED] * len(parts), parts), strict=True)
            finally:
                pool.shutdown(cancel_futures=True)

    def run(self, ledger: Ledger, cases: int, keep: bool) -> None:
        """Check so many more cases; with `keep`, enter each part in the file."""
        began, tried, told = time.perf_counter(), 0, time.perf_counter()
        for numbers, tally in self.tallies(ledger.next, cases):
            self.covered += tally.covered
            tried += tally.cases
            ledger.add(tally.cases, tally.seconds, tally.violations, numbers.stop, self.checks)
            if keep:
                ledger.save()
            for violation in tally.violations:
                print(f"VIOLATION {show(ledger.kind, violation)}", flush=True)
            if time.perf_counter() - told > 20:
                told = time.perf_counter()
                print(f"  {ledger.cases:,} {ledger.kind}, {tried / (told - began):,.0f} a second", flush=True)
            if len(ledger.violations) >= MOST_VIOLATIONS:
                break

    def look_again(self, ledger: Ledger) -> None:
        """Try the violations of earlier runs again; what holds now is mended."""
        places = list(dict.fromkeys(violation.where for violation in ledger.violations))
        if not places:
            return
        found: list[Violation] = []
        with ProcessPoolExecutor(self.workers, initializer=limit_memory) as pool:
            numbers = [int(place.split(":")[1]) for place in places]
            for tally in pool.map(self.module.fuzz, [SEED] * len(places), [range(at, at + 1) for at in numbers]):
                found += tally.violations
        ledger.mended += max(0, len(ledger.violations) - len(found))
        ledger.violations = found
        print(f"  of earlier violations, {len(found)} are left")
        for violation in found:
            print(f"VIOLATION {show(ledger.kind, violation)}", flush=True)


def catch(kind: str, at: int) -> Tally:
    """Plant one bug, in a process of the pool, and fuzz until it is caught."""
    module = import_module(f"fuzz.{kind}")
    with module.PLANTED[at].planted():
        made: Tally = module.fuzz(SEED, range(module.WORLDS_TO_CATCH), stop_after=1)
    return made


def show(kind: str, violation: Violation) -> str:
    """Return where a violation is, what it is, and the case."""
    return f"{kind} --only {violation.where}  {violation.what!a}\n    {violation.case!a}"


def fuzz_kind(name: str, said: argparse.Namespace) -> bool:
    """Run one fuzzer as the command line says; return whether all held."""
    module = import_module(f"fuzz.{name}")
    fuzzer = Fuzzer(module, said.workers)
    if said.short:
        ledger = Ledger(name, SEED, "")
        cases = module.SHORT if said.cases is None else said.cases
    else:
        ledger = read_ledger(name, SEED, digest(module.DRAWN_BY))
        cases = max(0, module.TOTAL - ledger.cases) if said.cases is None else said.cases
    missed: list[str] = []
    if said.planted:
        missed = fuzzer.catch_planted_bugs(short=said.short)
        ledger.planted, ledger.caught = len(module.PLANTED), len(module.PLANTED) - len(missed)
    fuzzer.look_again(ledger)
    print(f"{cases:,} {name}, after {ledger.cases:,} of earlier runs:", flush=True)
    fuzzer.run(ledger, cases, keep=not said.short)
    if not said.short:
        ledger.save()
    if said.covered:
        print("\n".join(f"  {count:>9,}  {feature!a}" for feature, count in sorted(fuzzer.covered.items())))
    speed = ledger.cases / ledger.processor_seconds if ledger.processor_seconds else 0
    found = f"{len(ledger.violations)} violations, {len(missed)} planted bugs missed"
    print(f"{ledger.cases:,} {name}, {speed:,.0f} a second of processor time, {found}", flush=True)
    return not ledger.violations and not missed


def main() -> int:
    """Read the command line, run, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="+", choices=KINDS)
    parser.add_argument("--cases", type=int, help="so many, in place of what is left")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--short", action="store_true", help="as in CI: the first cases, nothing kept")
    parser.add_argument("--planted", action=argparse.BooleanOptionalAction, default=True, help="plant bugs first")
    parser.add_argument("--covered", action="store_true", help="print how often each feature was drawn")
    parser.add_argument("--only", metavar="SEED:NUMBER", help="run one case, or one world of cases, again")
    said = parser.parse_args()
    if said.only:
        seed, number = map(int, said.only.split(":"))
        return int(import_module(f"fuzz.{said.kinds[0]}").repeat(seed, number))
    held = [fuzz_kind(kind, said) for kind in said.kinds]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
