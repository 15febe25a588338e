"""What callers carry from one turn to the next: spans of other tokenizers, out of JSON, with other numbers in them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import cache
from typing import Any

from fuzz.worlds import World

from retrivex import Composition, SeedHit, SpanComposer

KINDS = ("as made", "as made", "out of JSON", "edited counts", "edited numbers")
FOREIGN_COUNTS: dict[str, Callable[[str], int]] = {
    "words": lambda text: len(text.split()),
    "one each": lambda _: 1,
    "characters": len,
}


@cache
def _composer(name: str) -> SpanComposer:
    return SpanComposer(tokenizer=FOREIGN_COUNTS[name])


def earlier_turn(rng: random.Random, world: World, covered: list[str]) -> Composition:
    """Compose part of a world with another tokenizer, and treat the answer as sessions do."""
    keys = rng.sample(list(world.chunks), min(rng.choice((1, 1, 2)), len(world.chunks)))
    hits = [SeedHit(world.chunks[key], 1.0) for key in keys]
    options: dict[str, Any] = {"window": rng.choice((0, 0, 1)), "token_budget": 500}
    if rng.random() < 0.2:
        options["max_gap_chars"] = 100
    scope = {None, "acme", "zeta"}
    composer = _composer(rng.choice(list(FOREIGN_COUNTS)))
    made = composer.compose(hits, world.store, scope=scope, **options)
    kind = rng.choice(KINDS)
    covered.append(f"earlier turn: {kind}")
    if kind == "as made":
        return made
    try:
        data = json.loads(json.dumps(made.to_dict()))
        for span in data["spans"]:
            if kind == "edited counts":
                span["token_count"] = rng.choice((0, 1, 10**9))
            if kind == "edited numbers":
                span["score"] = rng.choice((-1e308, 0.0, 1e308))
        read = Composition.from_dict(data)
        if [span.text for span in read.spans] != [span.text for span in made.spans]:
            covered.append("earlier turn whose halves of pairs JSON joins")
            return made
        return read
    except ValueError:  # names and texts that are no Unicode are refused
        covered.append("earlier turn that JSON refuses")
        return made
