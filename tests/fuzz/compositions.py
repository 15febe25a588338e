"""Compositions on random worlds, each checked against every invariant of the design."""

from __future__ import annotations

import json
import random
import time
import traceback
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from fuzz.cases import Case, make_case
from fuzz.checks import check_composition, check_requests, check_retrieved, snapshot, without_times
from fuzz.ledger import Violation
from fuzz.limits import TooSlowError, processor_limit
from fuzz.mutants import MUTANTS
from fuzz.tally import Tally, describe, expect
from fuzz.worlds import World, make_world

from retrivex import Composition, RetrievalConfig, SpanComposer
from retrivex.errors import HitError, RetrivexError, StoreError, TokenizerError
from retrivex.tokens.tokenizer import Tokenizer, get_tokenizer

KIND = "compositions"
TOTAL, SHORT = 1_000_000, 10_000
BLOCK = 100
"""Worlds that are drawn between two entries in the ledger."""
PLANTED = MUTANTS
WORLDS_TO_CATCH = 1000
"""Worlds within which a planted bug must be caught."""
SECONDS = 30.0
"""Most processor time of one call with its checks; the slowest take one."""
_HERE = Path(__file__).parent
DRAWN_BY = [_HERE / f"{name}.py" for name in
            ("worlds", "cases", "stores", "turns", "guards", "growth", "compositions")]  # fmt: skip
CHECKED_BY = [_HERE / "checks.py"]

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
    try:
        _compose(case, composer, config, count, whole, rng)
    except (HitError, StoreError) as error:
        if not config.strict:
            raise
        check_refused(case, composer, error)
    expect(snapshot(case) == before, "a query changed its input")
    expect(composer.config == DEFAULTS, "a query changed its composer")


def _compose(
    case: Case,
    composer: SpanComposer,
    config: RetrievalConfig,
    count: Callable[[str], int],
    whole: float,
    rng: random.Random,
) -> None:
    if whole < 0.25:
        check_retrieved(case, config, composer.retrieve(case.hits, case.store, case.parent_store, **_said(case)), count)
        check_requests(case, config)
        return
    made = composer.compose(case.hits, case.store, case.parent_store, **_said(case))
    check_requests(case, config)
    check_composition(case, config, made, count)
    if whole > 0.95 and getattr(case.store, "steady", True):
        check_again(case, composer, made, rng)
    elif whole > 0.93:
        check_round_trip(made)
    if config.strict:
        check_strict(case, composer, made)


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


def check_refused(case: Case, composer: SpanComposer, error: RetrivexError) -> None:
    """Check that what `strict` refuses is told without it; a chunk that is shown all the same is not listed."""
    made = composer.compose(case.hits, case.store, case.parent_store, **{**_said(case), "strict": False})
    shown = {(span.doc_id, chunk_id) for span in made.spans for chunk_id in span.chunk_ids}
    named = {hit.key: hit.chunk.text for hit in case.all_hits() if repr(hit.key) in str(error)}
    # its text may be part of a pinned passage
    is_shown = any(key in shown or text.strip() in made.text for key, text in named.items())
    expect(made.dropped or made.warnings or is_shown, "refused, and nothing is told without strict", error)


def check_strict(case: Case, composer: SpanComposer, made: Composition) -> None:
    """Check that `strict` changes nothing but what it refuses."""
    loose = composer.compose(case.hits, case.store, case.parent_store, **{**_said(case), "strict": False})
    expect(without_times(made) == without_times(loose), "strict changes a composition")


def check_round_trip(made: Composition) -> None:
    """Check that a composition survives JSON."""
    data = json.loads(made.to_json(trace=True))
    expect(json.loads(Composition.from_dict(data).to_json(trace=True)) == data, "JSON round trip changes it")


@cache
def real_tokenizer() -> str:
    """Return the name of a real tokenizer, or of the estimate where its file cannot be had."""
    try:
        return get_tokenizer("cl100k_base").name
    except TokenizerError:
        return "estimate"


def worlds(seed: int, numbers: range) -> Iterator[tuple[int, World, str | None, random.Random]]:
    """Draw the worlds of these numbers, each as often as it has calls."""
    for number in numbers:
        rng = random.Random(f"{seed}:{number}")
        world = make_world(rng)
        tokenizer = real_tokenizer() if rng.random() < REAL_TOKENIZER_SHARE else None
        for _ in range(CALLS_PER_WORLD):
            yield number, world, tokenizer, rng


def try_case(
    world: World, tokenizer: str | None, bench: Bench, rng: random.Random
) -> tuple[Case | None, BaseException | None]:
    """Draw a call, and make it; return it with what went wrong."""
    case = None
    try:
        with processor_limit(SECONDS):
            case = make_case(rng, world, tokenizer)  # composes as well, where there is an earlier turn
            run_case(case, bench, rng)
    except (Exception, TooSlowError) as error:  # noqa: BLE001 - whatever goes wrong is what is looked for
        return case, error
    return case, None


def fuzz(seed: int, numbers: range, stop_after: int = 20) -> Tally:
    """Check all calls on some worlds."""
    tally, bench = Tally(), Bench()
    last, began = -1, time.process_time()
    for number, world, tokenizer, rng in worlds(seed, numbers):
        if number != last:
            tally.covered.update(set(world.covered))
            last = number
        tally.cases += 1
        case, error = try_case(world, tokenizer, bench, rng)
        if case is not None:
            tally.covered.update({*case.covered, f"tokenizer: {case.tokenizer}"})
        if error is not None:
            tally.violations.append(Violation(f"{seed}:{number}", describe(error), minimal(case)))
            bench = Bench()  # what a case left behind in a cache is not the next one's fault
            if len(tally.violations) >= stop_after:
                break
    tally.seconds = time.process_time() - began
    return tally


def minimal(case: Case | None) -> str:
    """Say what a person needs to see of a case."""
    if case is None:
        return "while the call was drawn: in an earlier turn"
    hits = [(hit.key, hit.similarity_score) for hit in case.all_hits()]
    store = getattr(case.store, "behaviour", "dict")
    said = f"store {store}, hits {hits}, scope {case.scope!r}, tokenizer {case.tokenizer}, options {case.options}"
    return said[:700].encode("utf-8", "backslashreplace").decode()


def repeat(seed: int, number: int) -> int:
    """Run the calls on one world, with tracebacks."""
    bench, failures = Bench(), 0
    for _, world, tokenizer, rng in worlds(seed, range(number, number + 1)):
        case, error = try_case(world, tokenizer, bench, rng)
        if error is not None:
            failures += 1
            bench = Bench()
            _show(world)
            print(ascii(minimal(case)))
            traceback.print_exception(error)
    return 1 if failures else 0


def _show(world: World) -> None:
    for key, chunk in world.chunks.items():
        stored = "" if key in world.store else "  (not in the store)"
        offsets = chunk.metadata.char_start, chunk.metadata.char_end
        print(ascii(key), world.places[key], ascii(chunk.text)[:300], *offsets, stored)
