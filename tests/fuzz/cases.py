"""Random calls on random worlds, from a seed, quickly."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fuzz.guards import GUARD_CHOICES
from fuzz.stores import HONEST, LYING, LYING_PARENTS, OddParents, OddStore, make_store
from fuzz.turns import earlier_turn
from fuzz.worlds import World

import retrivex.scoring
from retrivex import Chunk, ChunkMetadata, OrderingStrategy, SeedHit, Span
from retrivex.model.chunk import Scope
from retrivex.ordering.automatic import AutoSettings

OLD_COEFFICIENTS = Path(retrivex.scoring.__file__).parent / "coefficients_0_2.json"
"""A file of coefficients, by its path."""


@dataclass
class Case:
    """One call: arguments of `compose` or `retrieve`, and what is known about the world."""

    world: World
    hits: list[SeedHit] | list[list[SeedHit]]
    store: Any
    parent_store: Any
    scope: Scope
    query: str | None
    query_embedding: Any
    tokenizer: str
    options: dict[str, Any]
    covered: list[str]

    def all_hits(self) -> list[SeedHit]:
        """Hits of all lists."""
        return [hit for part in self.hits for hit in (part if isinstance(part, list) else [part])]

    def calibrated(self) -> bool:
        """Whether the calibrated scorer has to be at work."""
        return bool(self.query and self.query.strip()) and self.options.get("scoring") != "weighted"

    def honest(self) -> bool:
        """Whether every store answers what it was given, or fails."""
        return not (isinstance(self.store, OddStore) and self.store.lies)

    def scopes(self) -> set[str | None]:
        """Scopes that the call may see."""
        return {self.scope} if self.scope is None or isinstance(self.scope, str) else set(self.scope)


def _scores(rng: random.Random, count: int, covered: list[str], options: dict[str, Any]) -> list[float]:
    kind = rng.choice(("bm25", "bm25", "cosine", "equal", "huge", "distance", "unit", "wrong scale"))
    covered.append(f"scores: {kind}")
    if kind in ("cosine", "unit", "wrong scale"):
        options["score_scale"] = "cosine" if kind == "wrong scale" else kind
    if kind == "distance":
        options["score_kind"] = "distance"
    low, high = {"bm25": (0, 30), "cosine": (-1, 1), "unit": (0, 1), "distance": (0, 9), "wrong scale": (-3, 3)}.get(
        kind, (0.5, 0.5)
    )
    if kind == "huge":
        return [rng.choice((1.7e308, -1.7e308, 1e300, 5e-324, 0.0, -0.0)) for _ in range(count)]
    return [rng.choice((low, high, rng.uniform(low, high), rng.uniform(low, high))) for _ in range(count)]


def _hits(rng: random.Random, world: World, covered: list[str], options: dict[str, Any]) -> list[SeedHit]:
    count = rng.choice((0, 1, 1, 2, 3, 4, 6, 10))
    keys = rng.choices(list(world.chunks), k=count) if rng.random() < 0.3 else rng.sample(
        list(world.chunks), min(count, len(world.chunks))
    )  # fmt: skip
    hits = []
    for key, score in zip(keys, _scores(rng, len(keys), covered, options), strict=True):
        chunk = world.chunks[key]
        odd = rng.random()
        if odd < 0.02:
            chunk = Chunk(chunk.text + " changed", replace(chunk.metadata, char_start=None, char_end=None))
            covered.append("hit with another text")
        elif odd < 0.03:
            chunk = Chunk("out of nowhere", ChunkMetadata("nowhere", 3))
            covered.append("hit of an unknown document")
        hits.append(SeedHit(chunk, score))
    covered.append(f"hits: {len(hits) if len(hits) < 3 else 'many'}")
    if len(set(keys)) < len(keys):
        covered.append("same hit twice")
    return hits


def _short_is_better(chunk: Chunk) -> float:
    return 2.0 if len(chunk.text) < 20 else -0.5


def _nothing_to_say(_: Chunk) -> float:
    return 0.0


def _longest_first(span: Span) -> int:
    return -len(span.text)


def _by_place(span: Span) -> tuple[str, list[int]]:
    return span.doc_id, span.chunk_ids


def _narrative(_: str) -> str:
    return "narrative"


CHOICES: dict[str, Sequence[Any]] = {
    "k": (1, 2, 5),
    "quotas": ("equal",),
    "window": (0, 1, 1, 2, 3, 20, (0, 4), (1, 0), (4, 1)),
    "expand_top": (0, 1, 2),
    "expand_top_documents": (0, 1, 2),
    "grow_until": ("table", ("list", "code", "steps")),
    "pool_factor": (None, 0.5, 2, 8, 100),
    "max_window": (20, 25),
    "follow_links": (1, 2, 3),
    "store_timeout_s": (None, 5.0),
    **GUARD_CHOICES,
    "max_gap_chars": (0, 1, 100),
    "scoring": ("auto", "weighted", "calibrated", "calibrated"),
    "coefficients": ("0.2", OLD_COEFFICIENTS),
    "boosts": ((_short_is_better,), (_nothing_to_say, _short_is_better)),
    "weights": (
        {"similarity": 0.0, "decay": 0.0},
        {"similarity": 3.0, "adjacency": 0.0},
        {"adjacency": 2.0, "continuity": 0.0, "decay": 5.0},
        {"continuity": 2.0, "parent": 2.0},
        {"similarity": 0.0, "adjacency": 0.0, "continuity": 0.0, "parent": 0.0},
    ),
    "return_parents": ("auto", "auto", "never", 0.1, 0.9, 1.0),
    "max_parent_chars": (0, 50, 10**6),
    "selection_unit": ("span", "chunk", "unit"),
    "effort": ("lean", "full", "full"),
    "run_cost": (0.0, 1.0, 5.0),
    "hedge": (0.0, 0.3, 1.0),
    "min_value": (0.1, 0.5, 1.0),
    "max_spans": (1, 2, 3),
    "max_tokens_per_document": (1, 6, 15, 40, 150),
    "keep_top": (1, 1, 2, 5),
    "dedupe_overlaps": (False,),
    "near_duplicate_threshold": (0.3, 0.85, 1.0),
    "diversity": (0.3, 1.0),
    "ordering_strategy": tuple(strategy.value for strategy in OrderingStrategy if strategy != "custom"),
    "chronological_order": ("desc",),
    "group_by": ("page", "heading_path", "no_such_field"),
    "position_profile": ("u_curve", "recency", "flat"),
    "order_key": (_longest_first, _by_place),
    "edge_counts": ((0, 0), (0, 3), (1, 1), (2, 0), (2, 3), (100, 1)),
    "relevance_levels": ((0.0, -1.0), (0.3, 0.0), (0.3, 0.3), (0.7, 0.0), (2.0, 0.3), (2.0, 0.7)),
    "auto_order": (
        AutoSettings(context_window=50, near_full=0.5),
        AutoSettings(timestamp_coverage=0.0, source_coverage=0.0, section_coverage=0.0),
        AutoSettings(detector=_narrative, source_coverage=0.1, section_coverage=0.1),
    ),
    "strict": (True,),
    "context_format": ("markdown", "xml"),
    "numbered": (False,),
    "span_header": ("heading", "document", "full"),
    "gap_markers": (False,),
}
"""Values of every option that is drawn by itself; budget, pinned, exclude and the score options go with the hits."""

QUERIES = ("honey bees in winter", "蜂王产卵", "why?", "İstanbul, the tower and the bridge", "?!")
ODD_QUERIES = (
    "e" + "\u0301" * 1200,
    "." * 2000,
    "\ud800 bees",
    " ",
    "bees " * 500,
    "\x00",
    "👩" + "\u200d👩" * 300,
    "\x1b[31m",
)

STRATEGIES = {
    "order_key": "custom",
    "edge_counts": "edge_balanced",
    "relevance_levels": "relevance_groups",
    "auto_order": "auto",
}
"""Options of an order, and the order that reads them: without it they change nothing."""

ALWAYS_OFTEN = ("window", "context_format", "ordering_strategy", "return_parents")


def _budget(rng: random.Random) -> int:
    draw = rng.random()
    if draw < 0.03:
        return 0
    if draw < 0.4:
        return rng.randint(1, 19)
    return rng.randint(20, 120) if draw < 0.8 else rng.randint(121, 2000)


def _options(rng: random.Random) -> dict[str, Any]:
    often = [name for name in ALWAYS_OFTEN if rng.random() < 0.4]
    names = set(often) | set(rng.sample(list(CHOICES), rng.choice((0, 1, 2, 4, 8))))
    if "grow_until" in names:
        names.add("max_window")  # must not be smaller than the window
    made = {name: rng.choice(CHOICES[name]) for name in sorted(names)}
    for name, strategy in STRATEGIES.items():
        if name in made and rng.random() < 0.7:
            made["ordering_strategy"] = strategy
    return made


def _passages(rng: random.Random, world: World) -> list[Any]:
    """Draw what may be pinned or excluded."""
    return rng.sample(list(world.chunks.values()), min(2, len(world.chunks)))


def _pinned(rng: random.Random, world: World, covered: list[str]) -> list[Any]:
    if rng.random() < 0.5:
        return _passages(rng, world)
    spans: list[Any] = list(earlier_turn(rng, world, covered).spans)
    return spans[: rng.choice((1, 2, 9))] + (_passages(rng, world)[:1] if rng.random() < 0.2 else [])


def _excluded(rng: random.Random, world: World, covered: list[str]) -> list[Any]:
    made: list[Any] = []
    if rng.random() < 0.4:
        earlier = earlier_turn(rng, world, covered)
        return [earlier] if rng.random() < 0.5 else list(earlier.spans)
    for chunk in _passages(rng, world):
        kind = rng.choice(("chunk", "text", "range", "part"))
        doc_id, (start, end) = chunk.metadata.doc_id, world.places[chunk.key]
        if kind == "range":
            made.append((doc_id, start + 1, end + 5))
        else:
            made.append(
                {"chunk": chunk, "text": chunk.text, "part": chunk.text[: len(chunk.text) // 2] or "none"}[kind]
            )
    return made


def _show(value: Any) -> str:
    if callable(value):
        return str(value.__name__)
    if isinstance(value, AutoSettings):
        return " ".join(sorted(value.model_fields_set))
    return value.name if isinstance(value, Path) else repr(value)


def _parent_store(rng: random.Random, world: World, covered: list[str]) -> Any:
    if not world.parents or rng.random() < 0.2:
        return None
    if rng.random() < 0.8:
        return world.parents
    kind = rng.choice(LYING_PARENTS)
    covered.append(f"parents: {kind}")
    return OddParents(world.parents, kind, rng.randrange(1000))


TOKENIZERS = ("words", "words", "characters", "characters", "quarters", "quarters down", "seams", "estimate")


def make_case(rng: random.Random, world: World, tokenizer: str | None = None) -> Case:
    """One random call on a world."""
    covered: list[str] = []
    options = _options(rng)
    lists = rng.choice((1, 1, 1, 1, 2, 3))
    hits: Any = [_hits(rng, world, covered, options) for _ in range(lists)]
    if lists == 1:
        hits = hits[0]
    else:
        covered.append("several hit lists")
        if "quotas" in options and rng.random() < 0.5:
            options["quotas"] = (*(rng.choice((0.0, 1.0, 3.0)) for _ in range(lists - 1)), 1.0)
    options["token_budget"] = budget = _budget(rng)
    covered.append("budget: 0" if budget == 0 else "budget: 1-19" if budget < 20 else "budget: 20-2000")
    scoped = any(chunk.metadata.scope for chunk in world.chunks.values())
    scope: Scope = rng.choice((None, "acme", {"acme", None}, {"acme", "zeta", None}, ())) if scoped else None
    if rng.random() < 0.1:
        options["pinned"] = tuple(_pinned(rng, world, covered))
        covered.append("pinned")
    if rng.random() < 0.15:
        options["exclude"] = tuple(_excluded(rng, world, covered))
        covered.append("exclude")
    kind = rng.choice(LYING) if rng.random() < 0.2 else rng.choice(("dict", "dict", *HONEST))
    store = make_store(rng, world.store, kind)
    covered += [f"store: {kind}", *(f"{name}={_show(value)}" for name, value in options.items() if name in CHOICES)]
    if kind == "counts":
        tokenizer = tokenizer or "estimate"  # counts of functions are asked for by no name
    queries = ODD_QUERIES if rng.random() < 0.03 else QUERIES
    asked = [text for text in queries if text.strip()]  # calibrated needs one
    query = rng.choice(asked if options.get("scoring") == "calibrated" else (None, *queries))
    return Case(
        world=world,
        hits=hits,
        store=store,
        parent_store=_parent_store(rng, world, covered),
        scope=scope,
        query=query,
        query_embedding=[0.3, -0.2, 0.9] if rng.random() < 0.1 else None,
        tokenizer=tokenizer or rng.choice(TOKENIZERS),
        options=options,
        covered=covered,
    )
