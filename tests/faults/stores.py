"""Stores that answer late, never, twice, or with garbage: the hits are shown all the same, in time."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from retrivex import Chunk, ChunkMetadata, Composition, SeedHit, SpanComposer, Window
from retrivex.model.chunk import ChunkKey, Scope

TIMEOUT_S = 0.05
SLACK_S = 10.0
"""Beyond the time limits of its requests, which a call may take on a machine that is busy; a store hangs for longer."""
HANG_S = 60.0
TEXTS = (
    "Bees live in hives.",
    "A hive has one queen.",
    "She lays all the eggs.",
    "Drones do not work.",
    "Winter is long.",
)
CHUNKS = {("bees", at): Chunk(text, ChunkMetadata("bees", at, parent_id="p")) for at, text in enumerate(TEXTS)}
NEVER = [threading.Event()]
"""What the stores of this run wait for; set at its end, so that threads that were left behind end too."""
ENDLESS = [0]
"""How often `_endless` has begun again."""
MOST_ENDLESS = 20_000
"""As often as a call may read on: more takes the memory of who asks."""


def _right(windows: Sequence[Window]) -> list[Chunk]:
    return [chunk for key, chunk in CHUNKS.items() if any(key[0] == w.doc_id and key[1] in w for w in windows)]


def _late(windows: Sequence[Window]) -> Any:
    time.sleep(TIMEOUT_S * 2)
    return _right(windows)


def _never(windows: Sequence[Window]) -> Any:
    NEVER[0].wait(HANG_S)


def _dripping(windows: Sequence[Window]) -> Any:
    for chunk in _right(windows):
        time.sleep(TIMEOUT_S)
        yield chunk


def _endless(windows: Sequence[Window]) -> Any:
    """Give the same chunks again and again, without a pause: none is late by itself."""
    until, never = time.monotonic() + HANG_S, NEVER[0]
    while not never.is_set() and time.monotonic() < until:
        yield from _right(windows)
        ENDLESS[0] += 1


def _half(windows: Sequence[Window]) -> Any:
    yield from _right(windows)[:2]
    raise ConnectionResetError("connection reset by peer")


def _raising(error: BaseException) -> Callable[[Sequence[Window]], Any]:
    def fetch(windows: Sequence[Window]) -> Any:
        raise error

    return fetch


async def _coroutine(windows: Sequence[Window]) -> Any:
    return _right(windows)


ANSWERS: dict[str, Callable[[Sequence[Window]], Any]] = {
    "in time": _right,
    "late": _late,
    "never": _never,
    "dripping": _dripping,
    "endless": _endless,
    "half": _half,
    "twice": lambda windows: _right(windows) * 2,
    "backwards": lambda windows: _right(windows)[::-1],
    "nothing": lambda windows: [],
    "None": lambda windows: None,
    "numbers": lambda windows: [1, 2],
    "pairs": lambda windows: [(chunk, 1) for chunk in _right(windows)],
    "a mapping": lambda windows: {chunk.key: chunk for chunk in _right(windows)},
    "texts": lambda windows: ["text", "text"],
    "a type": lambda windows: Chunk,
    "foreign": lambda windows: [Chunk("Wasps sting.", ChunkMetadata("wasps", 9)), *_right(windows)],
    "other texts": lambda windows: (
        [Chunk("Bees are gone.", chunk.metadata) for chunk in _right(windows)] + _right(windows)
    ),
    "connection lost": _raising(ConnectionError("no route to host")),
    "key error": _raising(KeyError("bees")),
    "memory error": _raising(MemoryError()),
    "cancelled": _raising(asyncio.CancelledError()),
    "stop iteration": _raising(StopIteration()),
    "recursion": _raising(RecursionError("maximum recursion depth exceeded")),
}


class FaultyStore:
    """Answers as one of `ANSWERS` says; awaited or not, and also when asked for parents."""

    def __init__(self, name: str) -> None:
        self.answer = ANSWERS[name]
        self.requests = 0

    def fetch(self, windows: Sequence[Window], scope: Scope = None) -> Any:
        self.requests += 1
        return self.answer(windows)

    def fetch_parents(self, parent_ids: Sequence[str], scope: Scope = None) -> Any:
        self.requests += 1
        return self.answer([Window("bees", 0, 9)])


class AwaitedStore(FaultyStore):
    """The same, awaited."""

    async def afetch(self, windows: Sequence[Window], scope: Scope = None) -> Any:
        self.requests += 1
        if self.answer is _never:
            await asyncio.sleep(HANG_S)
        return self.answer(windows)


def _check(made: Composition, known: Mapping[ChunkKey, Chunk]) -> None:
    assert made.tokens <= 60
    # a store that knows the hit by another text has the last word
    assert TEXTS[2] in made.text or "Bees are gone." in made.text, "the hit is not shown"
    for span in made.spans:
        for chunk in span.chunks:
            assert chunk.key in known, f"chunk nobody asked for: {chunk.key}"


def _check_time(seconds: float, requests: int) -> None:
    most = requests * TIMEOUT_S + SLACK_S
    assert seconds <= most, f"{requests} requests of at most {TIMEOUT_S:g} s each took {seconds:.1f} s"


def try_stores(calls: int, seed: int, kinds: Sequence[str] = tuple(ANSWERS)) -> tuple[int, list[str]]:
    """Compose so often with stores of these kinds, drawn at random; return how often, and what went wrong."""
    NEVER[0] = threading.Event()
    rng, violations = random.Random(f"stores:{seed}"), []
    composer = SpanComposer(tokenizer=lambda text: len(text.split()))
    for number in range(calls):
        # every pair of kinds comes up once; those that wait take longest
        name, other = rng.choice(kinds), rng.choice(kinds)
        if number < len(kinds):
            name = kinds[number]
        options: dict[str, Any] = {
            "store_timeout_s": TIMEOUT_S,
            "token_budget": 60,
            "window": 1,
            "return_parents": rng.choice(("auto", "never")),
        }
        if rng.random() < 0.5:
            options["query"] = "Who lays eggs?"
        hits, parents = [SeedHit(CHUNKS["bees", 2], 1.0)], FaultyStore(other)
        waits = rng.random() < 0.5
        store = rng.choice((AwaitedStore, FaultyStore))(name) if waits else FaultyStore(name)
        began, ENDLESS[0] = time.monotonic(), 0
        try:
            if waits:
                made = asyncio.run(composer.acompose(hits, store, parents, **options))
            else:
                made = composer.compose(hits, store, parents, **options)
            _check_time(time.monotonic() - began, store.requests + parents.requests)
            _check(made, CHUNKS)
            assert ENDLESS[0] <= MOST_ENDLESS, f"an endless answer was read {ENDLESS[0]} times"
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - whatever a store's fault makes of a query
            violations.append(f"store {name}, parents {other}, {options}: {type(error).__name__}: {error}"[:300])
    NEVER[0].set()
    return calls, violations
