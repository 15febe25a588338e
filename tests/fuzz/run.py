"""Compose at random, check every invariant of the design, and first show that broken code would be caught.

    PYTHONPATH=tests python -m fuzz.run                        1,000,000 compositions
    PYTHONPATH=tests python -m fuzz.run --cases 20000 --seed 7
    PYTHONPATH=tests python -m fuzz.run --only 7:12345         one world again, with its calls and a traceback

Exits with 1 if an invariant does not hold or a planted bug is not caught.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from fuzz.cases import Case, make_case
from fuzz.checks import (
    ViolationError,
    check_composition,
    check_requests,
    check_retrieved,
    expect,
    snapshot,
    without_times,
)
from fuzz.mutants import MUTANTS
from fuzz.worlds import make_world

from retrivex import Composition, RetrievalConfig, SpanComposer
from retrivex.errors import TokenizerError
from retrivex.tokens.tokenizer import Tokenizer, get_tokenizer

CALLS_PER_WORLD = 8
DEFAULTS = RetrievalConfig()
REAL_TOKENIZER_SHARE = 0.03
"""Share of the worlds that are counted by cl100k_base; it is exact, and slow beside the others."""

COUNTERS: dict[str, Callable[[str], int]] = {
    "words": lambda text: len(text.split()),
    "characters": len,
    "quarters": lambda text: -(-len(text) // 4),
    # joined, texts can have more tokens than their parts together
    "quarters down": lambda text: len(text) // 4,
    "seams": lambda text: len(text.split()) + 2 * text.count("\n\n"),
}


@dataclass
class Tally:
    """What a share of the work came to."""

    cases: int = 0
    covered: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)


class Bench:
    """One composer per tokenizer, kept, so that their caches are used as in real life."""

    def __init__(self) -> None:
        self.composers: dict[str, SpanComposer] = {}
        self.counts: dict[str, Callable[[str], int]] = {}

    def __call__(self, name: str) -> tuple[SpanComposer, Callable[[str], int]]:
        """Return the composer and the counter of a tokenizer."""
        if name not in self.composers:
            tokenizer: Tokenizer | Callable[[str], int] = COUNTERS.get(name) or get_tokenizer(name)
            self.composers[name] = SpanComposer(tokenizer=tokenizer)
            self.counts[name] = tokenizer.count if isinstance(tokenizer, Tokenizer) else tokenizer
        return self.composers[name], self.counts[name]


def run_case(case: Case, bench: Bench, rng: random.Random) -> None:
    """Compose once, or a few times where repetition is what is checked; raises on the first violation."""
    composer, count = bench(case.tokenizer)
    config = composer.config.override(**case.options)
    before, whole = snapshot(case), rng.random()
    if whole < 0.25:
        check_retrieved(case, config, composer.retrieve(case.hits, case.store, case.parent_store, **_said(case)), count)
        check_requests(case, config)
    else:
        made = composer.compose(case.hits, case.store, case.parent_store, **_said(case))
        check_requests(case, config)
        check_composition(case, config, made, count)
        if whole > 0.95:
            check_again(case, composer, made, rng)
        elif whole > 0.93:
            check_round_trip(made)
        elif whole > 0.9:
            check_exact_beats_greedy(case, config, composer, made)
    expect(snapshot(case) == before, "a query changed its input")
    expect(composer.config == DEFAULTS, "a query changed its composer")


def _said(case: Case) -> dict[str, Any]:
    named = {"query": case.query, "query_embedding": case.query_embedding, "scope": case.scope}
    return {**named, **case.options}


def check_again(case: Case, composer: SpanComposer, made: Composition, rng: random.Random) -> None:
    """Check that the same call, with the hits of each list in another order, gives the same composition."""
    hits: Any = [rng.sample(part, len(part)) if isinstance(part, list) else part for part in case.hits]
    if hits and not isinstance(hits[0], list):
        rng.shuffle(hits)
    again = composer.compose(hits, case.store, case.parent_store, **_said(case))
    first, second = without_times(made), without_times(again)
    for name in first:
        expect(first[name] == second[name], f"another {name} for the same hits", first[name], second[name])


def check_round_trip(made: Composition) -> None:
    """Check that a composition survives JSON."""
    data = json.loads(made.to_json(trace=True))
    expect(json.loads(Composition.from_dict(data).to_json(trace=True)) == data, "JSON round trip changes it")


def check_exact_beats_greedy(case: Case, config: RetrievalConfig, composer: SpanComposer, made: Composition) -> None:
    """Check that the exact selection is worth at least what the greedy one is."""
    if config.selection != "exact" or config.fusion == "quota":
        return
    greedy = composer.compose(case.hits, case.store, case.parent_store, **{**_said(case), "selection": "greedy"})
    rounds = [sum(step.name == "select" for step in c.trace.steps) for c in (made, greedy)]
    if rounds == [1, 1]:
        values = [float(c.trace.selection["value"]) for c in (made, greedy)]
        expect(values[0] >= values[1] - 1e-9, "greedy is worth more than exact", values)


@cache
def real_tokenizer() -> str:
    """Return the name of a real tokenizer, or of the estimate where its file cannot be had."""
    try:
        return get_tokenizer("cl100k_base").name
    except TokenizerError:
        return "estimate"


def worlds(seed: int, numbers: range) -> Iterator[tuple[int, Case, random.Random]]:
    """Draw the calls on the worlds of these numbers."""
    for number in numbers:
        rng = random.Random(f"{seed}:{number}")
        world = make_world(rng)
        tokenizer = real_tokenizer() if rng.random() < REAL_TOKENIZER_SHARE else None
        for _ in range(CALLS_PER_WORLD):
            yield number, make_case(rng, world, tokenizer), rng


def fuzz(seed: int, numbers: range, stop_after: int = 20) -> Tally:
    """Check all calls on some worlds."""
    tally, bench = Tally(), Bench()
    last = -1
    for number, case, rng in worlds(seed, numbers):
        if number != last:
            tally.covered.update(set(case.world.covered))
            last = number
        tally.cases += 1
        tally.covered.update(set(case.covered))
        tally.covered[f"tokenizer: {case.tokenizer}"] += 1
        try:
            run_case(case, bench, rng)
        except Exception as error:  # noqa: BLE001 - whatever goes wrong is what is looked for
            tally.violations.append(f"--only {seed}:{number}  {describe(error)}\n    {minimal(case)}")
            if len(tally.violations) >= stop_after:
                break
    return tally


def describe(error: Exception) -> str:
    """One line."""
    name = "" if isinstance(error, ViolationError) else f"{type(error).__name__}: "
    return f"{name}{error}"[:400]


def minimal(case: Case) -> str:
    """Say what a person needs to see of a case."""
    hits = [(hit.key, hit.similarity_score) for hit in case.all_hits()]
    return f"hits {hits}, scope {case.scope!r}, tokenizer {case.tokenizer}, options {case.options}"[:700]


def catch_planted_bugs(seed: int, worlds_each: int) -> list[str]:
    """Run every mutant until it is caught; return the names of those that were not.

    The same worlds pass without a bug planted, or there would be nothing to tell a caught one by.
    """
    clean = fuzz(seed, range(worlds_each), stop_after=1)
    if clean.violations:
        print(f"  no bug was planted, as these worlds have violations already: {clean.violations[0]}")
        return [mutant.name for mutant in MUTANTS]
    missed = []
    for mutant in MUTANTS:
        with mutant.planted():
            tally = fuzz(seed, range(worlds_each), stop_after=1)
        if tally.violations:
            what = tally.violations[0].split("  ", 1)[1].splitlines()[0]
            print(f"  caught  {mutant.name}, after {tally.cases:,} compositions: {what[:100]}")
        else:
            print(f"  MISSED  {mutant.name}, in {tally.cases:,} compositions")
            missed.append(mutant.name)
    return missed


def fuzz_all(seed: int, cases: int, workers: int) -> Tally:
    """Check `cases` calls in several processes."""
    total, size = -(-cases // CALLS_PER_WORLD), 500
    parts = [range(start, min(start + size, total)) for start in range(0, total, size)]
    sums, began = Tally(), time.perf_counter()
    with ProcessPoolExecutor(workers) as pool:
        for done, tally in enumerate(pool.map(fuzz, [seed] * len(parts), parts), start=1):
            sums.cases += tally.cases
            sums.covered += tally.covered
            sums.violations += tally.violations
            if sys.stderr.isatty() or done == len(parts) or done % 25 == 0:
                speed = sums.cases / (time.perf_counter() - began)
                print(
                    f"  {sums.cases:,} compositions, {speed:,.0f} a second, {len(sums.violations)} violations",
                    flush=True,
                )
            if len(sums.violations) >= 100:
                pool.shutdown(cancel_futures=True)
                break
    return sums


def repeat(where: str) -> int:
    """Run the calls on one world, with tracebacks."""
    seed, number = map(int, where.split(":"))
    bench, failures = Bench(), 0
    for _, case, rng in worlds(seed, range(number, number + 1)):
        try:
            run_case(case, bench, rng)
        except Exception:  # noqa: BLE001 - shown in full
            failures += 1
            for key, chunk in case.world.chunks.items():
                stored = "" if key in case.world.store else "  (not in the store)"
                print(
                    key,
                    case.world.places[key],
                    repr(chunk.text),
                    chunk.metadata.char_start,
                    chunk.metadata.char_end,
                    stored,
                )
            print(minimal(case))
            traceback.print_exc(file=sys.stdout)
    return 1 if failures else 0


def main() -> int:
    """Read the command line, run, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--no-planted", action="store_true", help="skip the planted bugs")
    parser.add_argument("--only", metavar="SEED:WORLD", help="run one world again")
    said = parser.parse_args()
    if said.only:
        return repeat(said.only)
    missed: list[str] = []
    if not said.no_planted:
        print(f"Planted bugs ({len(MUTANTS)}):")
        missed = catch_planted_bugs(said.seed, 1000)
    print(f"Compositions, seed {said.seed}, one world in {round(1 / REAL_TOKENIZER_SHARE)} by {real_tokenizer()}:")
    tally = fuzz_all(said.seed, said.cases, said.workers)
    print("Covered:")
    for name, count in sorted(tally.covered.items()):
        print(f"  {count:>9,}  {name}")
    for violation in tally.violations[:50]:
        print(f"VIOLATION {violation}")
    print(f"{tally.cases:,} compositions, {len(tally.violations)} violations, {len(missed)} planted bugs missed")
    return 1 if tally.violations or missed else 0


if __name__ == "__main__":
    sys.exit(main())
