"""Calls with options that once failed together, and that random calls seldom draw together."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzz.cases import QUERIES, Case, make_case
from fuzz.compositions import Bench, run_case
from fuzz.mutants import TRAPS
from fuzz.trial import Trial
from fuzz.worlds import BEYOND_FLOATS, make_world

from retrivex import SeedHit

KIND = "traps"
TOTAL, SHORT = 20_000, 500
BLOCK = 100
PLANTED = TRAPS
WORLDS_TO_CATCH = 1000
SECONDS = 30.0
_HERE = Path(__file__).parent
DRAWN_BY = [
    _HERE / f"{name}.py" for name in ("worlds", "cases", "stores", "turns", "guards", "growth", "trial", "traps")
]
CHECKED_BY = [_HERE / "checks.py"]
JOINERS = ("<br>", " and ", "2", "e\u0301", " … ")


def _joiner_of_gone_chunks(rng: random.Random, case: Case) -> None:
    """Join chunks by letters, and take away two neighbours of a hit, or the hit itself and a neighbour."""
    doc_id, first = rng.choice(list(case.world.chunks))
    near = [case.world.chunks[key] for at in range(first, first + 4) if (key := (doc_id, at)) in case.world.chunks]
    taken = tuple(near[: rng.choice((2, 2, 3))])
    case.options |= {"joiner": rng.choice(JOINERS), rng.choice(("exclude", "pinned")): taken}
    if rng.random() < 0.5:
        case.options["effort"] = "full"
    case.options["token_budget"] = rng.choice((20, 200, 2000))
    case.hits = [SeedHit(chunk, rng.choice((0.5, 1.0))) for chunk in rng.sample(near, rng.randint(1, len(near)))]


def _embeddings_beyond_floats(rng: random.Random, case: Case) -> None:
    """Give all chunks embeddings of one size, of which some hold numbers beyond floats, and ask for diversity."""
    case.options["diversity"] = rng.choice((0.3, 1.0))
    share = rng.choice((0.1, 0.5, 1.0))
    for chunk in {id(chunk): chunk for chunk in (*case.world.chunks.values(), *_chunks_of(case))}.values():
        odd = rng.random() < share
        chunk.embedding = rng.choice(BEYOND_FLOATS) if odd else [rng.uniform(-1, 1) for _ in range(3)]


def _chunks_of(case: Case) -> list[Any]:
    return [hit.chunk for hit in case.all_hits()]


KINDS: dict[str, Callable[[random.Random, Case], None]] = {
    "a joiner of chunks that are gone": _joiner_of_gone_chunks,
    "embeddings beyond floats": _embeddings_beyond_floats,
}


def make_trap(rng: random.Random, covered: list[str]) -> Case:
    """Draw a call with a question, and put a trap into it."""
    case = make_case(rng, make_world(rng))
    case.query = rng.choice([text for text in QUERIES if text.strip()])
    if case.options.get("scoring") == "weighted":
        del case.options["scoring"]
    kind = rng.choice(list(KINDS))
    covered.append(kind)
    KINDS[kind](rng, case)
    return case


def run_trap(case: Case, rng: random.Random) -> None:
    """Compose and check."""
    run_case(case, Bench(), rng)


TRIAL = Trial(KIND, make_trap, run_trap, SECONDS)
fuzz, repeat = TRIAL.fuzz, TRIAL.repeat
