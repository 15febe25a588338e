"""Calls with options that once failed together, and that random calls seldom draw together."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fuzz.cases import QUERIES, Case, make_case
from fuzz.compositions import COUNTERS, Bench, run_case
from fuzz.mutants import TRAPS
from fuzz.stores import HONEST, make_store
from fuzz.trial import Trial
from fuzz.worlds import BEYOND_FLOATS, make_world

from retrivex import Chunk, ChunkMetadata, SeedHit, SpanComposer
from retrivex.model.chunk import MAX_CHUNK_ID

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


def _embeddings_beyond_floats(rng: random.Random, case: Case) -> None:
    """Give all chunks embeddings of one size, of which some hold numbers beyond floats, and ask for diversity."""
    case.options["diversity"] = rng.choice((0.3, 1.0))
    share = rng.choice((0.1, 0.5, 1.0))
    for chunk in {id(chunk): chunk for chunk in (*case.world.chunks.values(), *_chunks_of(case))}.values():
        odd = rng.random() < share
        chunk.embedding = rng.choice(BEYOND_FLOATS) if odd else [rng.uniform(-1, 1) for _ in range(3)]


def _parents_of_two_scopes(rng: random.Random, case: Case) -> None:
    """Give parents of an allowed scope chunks of another one, which most stores keep back."""
    world = case.world
    doc_id = rng.choice(sorted(world.located & {key[0] for key in world.chunks}) or [next(iter(world.chunks))[0]])
    keys = [key for key in world.chunks if key[0] == doc_id]
    size, count = rng.randint(2, 5), rng.choice((None, len(keys)))
    for key in keys:
        chunk = world.chunks[key]
        said = {
            "scope": rng.choice(("acme", "acme", "zeta")),
            "parent_id": f"{doc_id}/{key[1] // size}" if rng.random() < 0.9 else None,
            "chunk_count": count,
        }
        world.chunks[key] = Chunk(chunk.text, replace(chunk.metadata, **said), chunk.embedding)
        if key in world.store:
            world.store[key] = world.chunks[key]
    for first in range(0, len(keys), size):
        places = [world.places[key] for key in keys[first : first + size]]
        start, end = min(low for low, _ in places), max(high for _, high in places)
        start, end = max(0, start - rng.choice((0, 0, 3))), end + rng.choice((0, 0, 3))
        text = world.sources[doc_id][start:end]
        place = ChunkMetadata(doc_id, first // size, start, start + len(text), scope="acme")
        world.parents[f"{doc_id}/{first // size}"] = text if rng.random() < 0.1 else Chunk(text, place)
    case.store = make_store(rng, world.store, rng.choice(("dict", "memory", "memory", "limited", *HONEST)))
    case.parent_store, case.scope = world.parents, "acme"
    open_keys = [key for key in keys if world.chunks[key].metadata.scope == "acme"]
    chosen = rng.sample(open_keys, min(len(open_keys), rng.choice((1, 2, 3))))
    case.hits = [SeedHit(world.chunks[key], rng.choice((0.5, 1.0))) for key in chosen]
    case.options |= {"return_parents": 0.1, "max_parent_chars": 10**6}
    case.options["token_budget"] = rng.choice((200, 2000))


def _add_family(case: Case, ids: Sequence[int], texts: Sequence[str], *, offsets: bool) -> list[Chunk]:
    """Add a document whose chunks have these numbers, and one parent, to what a call knows; ask for the parent."""
    world, start, chunks = case.world, 0, []
    for at, text in zip(ids, texts, strict=True):
        place = (start, start + len(text))
        count = len(ids) if ids[-1] == len(ids) - 1 else None
        said: dict[str, Any] = {"parent_id": "family/p", "chunk_count": count}
        chunks.append(Chunk(text, ChunkMetadata("family", at, *(place if offsets else (None, None)), **said)))
        world.places["family", at] = place
        start += len(text)
    world.sources["family"] = world.parents["family/p"] = "".join(texts)
    world.truthful.add("family")
    world.located |= {"family"} if offsets else set()
    world.chunks |= {chunk.key: chunk for chunk in chunks}
    world.store |= {chunk.key: chunk for chunk in chunks}
    case.store, case.parent_store, case.scope = world.store, world.parents, None
    case.options |= {"return_parents": 0.1, "max_parent_chars": 10**6, "token_budget": 2000}
    return chunks


def _children_far_apart(rng: random.Random, case: Case) -> None:
    """Give one parent to chunks whose numbers lie any distance apart."""
    count = rng.randint(2, 5)
    ids = sorted({0, *(rng.choice((rng.randrange(200), rng.randrange(10**13), MAX_CHUNK_ID)) for _ in range(count))})
    texts = [f"Bees of hive {at} fly by day and not at all by night. " for at in range(len(ids))]
    chunks = _add_family(case, ids, texts, offsets=rng.random() < 0.5)
    case.hits = [SeedHit(chunk, rng.choice((0.5, 1.0))) for chunk in rng.sample(chunks, rng.randint(1, len(chunks)))]


def _short_passages_in_parents(rng: random.Random, case: Case) -> None:
    """Exclude or pin chunks without offsets that are too short to be told by their words alone."""
    texts = [f"{rng.choice(('Bees', 'Ants', 'Wasps'))} fly {at}. " for at in range(rng.randint(3, 8))]
    chunks = _add_family(case, range(len(texts)), texts, offsets=rng.random() < 0.2)
    first = rng.randrange(len(chunks))
    gone = chunks[first : first + rng.choice((1, 1, 2))]
    earlier = SpanComposer(tokenizer=COUNTERS["words"]).compose([SeedHit(chunk, 1.0) for chunk in gone], {}, window=0)
    items = rng.choice((tuple(gone), tuple(earlier.spans), tuple(chunk.text for chunk in gone)))
    option = "exclude" if isinstance(items[0], str) else rng.choice(("exclude", "pinned"))
    case.options |= {option: items}
    left = [chunk for chunk in chunks if chunk not in gone]
    case.hits = [SeedHit(chunk, rng.choice((0.5, 1.0))) for chunk in rng.sample(left, rng.randint(1, len(left)))]


def _chunks_of(case: Case) -> list[Any]:
    return [hit.chunk for hit in case.all_hits()]


KINDS: dict[str, Callable[[random.Random, Case], None]] = {
    "embeddings beyond floats": _embeddings_beyond_floats,
    "parents of two scopes": _parents_of_two_scopes,
    "children far apart": _children_far_apart,
    "short passages in parents": _short_passages_in_parents,
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
