"""Random worlds (documents, chunks, stores) and random calls on them, from a seed, quickly."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from retrivex import Chunk, ChunkMetadata, SeedHit, Window
from retrivex.chunk import ChunkKey, Scope
from retrivex.stores import InMemoryChunkStore

PIECES = (
    *(word + " " for word in (
        "the bees honey queen winter hive flower nectar colony swarm drone brood pollen wax comb larva worker keeper "
        "forest meadow river bridge tower garden window letter market engine voyage harvest lantern whisper"
    ).split()),
    "and ", "or ", "of ", "a ", "in ", "It was so. ", "He said no. ", "Why? ", "Dr. Who came. ", "3.14 ", "2026 ",
    "\n", "\n\n", "  ", "\t", "- item\n", "1. step\n", "| a | b |\n", "```\n", "# Title\n", '"quoted" ', "‘x’ ", "[2] ",
    "蜜蜂住在蜂巢里。", "蜂王产卵", "冬天很冷，", "ミツバチは蜜を集める。", "벌집 ", "Привет мир. ", "שלום ", "नमस्ते ",
    "🐝", "👩‍🚀", "👍🏽 ", "e\u0301te\u0301 ", "a\u0308\u0323o\u0302", "\u00a0", "\u200b", "ß", "ﬁn ", "İstanbul ", "x" * 70 + " ",
)  # fmt: skip

CUTS = ("tile", "tile", "overlap", "overlap", "small gaps", "wide gaps", "contained", "mixed")
OFFSETS = ("true", "true", "true", "true", "none", "some", "lying")
HEADINGS: tuple[tuple[str, ...] | None, ...] = (None, (), ("A",), ("A", "B"), ("A", "C"), ("D",))


@dataclass
class World:
    """Documents and what a splitter made of them.

    Parameters
    ----------
    sources : text of each document
    places : true place of every chunk in its document, also of those the store lacks
    truthful : documents in which every offset that is given is true
    located : documents in which every chunk carries its true offsets
    chunks : every chunk
    store : what the store holds of them
    parents : by parent_id
    covered : features of this world
    """

    sources: dict[str, str] = field(default_factory=dict)
    places: dict[ChunkKey, tuple[int, int]] = field(default_factory=dict)
    truthful: set[str] = field(default_factory=set)
    located: set[str] = field(default_factory=set)
    chunks: dict[ChunkKey, Chunk] = field(default_factory=dict)
    store: dict[ChunkKey, Chunk] = field(default_factory=dict)
    parents: dict[str, Chunk | str] = field(default_factory=dict)
    covered: list[str] = field(default_factory=list)


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
    knobs: dict[str, Any]
    covered: list[str]

    def all_hits(self) -> list[SeedHit]:
        """Hits of all lists."""
        return [hit for part in self.hits for hit in (part if isinstance(part, list) else [part])]


class OddStore:
    """A store that counts its requests, and on demand answers in other ways than asked."""

    def __init__(self, chunks: Mapping[ChunkKey, Chunk], behaviour: str, limit: int | None) -> None:
        self.inner = InMemoryChunkStore(chunks.values())
        self.chunks = chunks
        self.behaviour = behaviour
        self.batch_limit = limit
        self.in_process = True
        self.calls: list[tuple[Window, ...]] = []

    def fetch(self, windows: Sequence[Window], scope: Scope = None) -> Iterable[Chunk]:
        """Answer as `behaviour` says."""
        self.calls.append(tuple(windows))
        if self.behaviour == "fails":
            raise ConnectionError("no route to host")
        if self.behaviour == "ignores scope":
            return [chunk for chunk in self.chunks.values() if any(_inside(chunk, window) for window in windows)][::-1]
        if self.behaviour == "gives everything":
            return iter(self.chunks.values())
        return self.inner.fetch(windows, scope)


def _inside(chunk: Chunk, window: Window) -> bool:
    return chunk.metadata.doc_id == window.doc_id and chunk.metadata.chunk_id in window


def _cut(rng: random.Random, kind: str, count: int) -> list[tuple[int, int]]:
    """Places of `count` chunks."""
    places: list[tuple[int, int]] = []
    at = rng.choice((0, 0, 3))
    for _ in range(count):
        size = rng.randint(1, rng.choice((4, 25, 25, 70)))
        step = rng.choice(("tile", "overlap", "small gaps", "wide gaps", "contained")) if kind == "mixed" else kind
        if step == "contained" and places and rng.random() < 0.5:
            start, end = places[-1]
            low = rng.randint(start, end - 1)
            places.append((low, rng.randint(low + 1, end)))
            continue
        places.append((at, at + size))
        if step == "overlap":
            at += rng.randint(1, size)
        elif step == "small gaps":
            at += size + rng.choice((0, 1, 1, 2, 16))
        elif step == "wide gaps":
            at += size + rng.choice((0, 1, 17, 90))
        else:
            at += size
    return places


def _text(rng: random.Random, length: int) -> str:
    made = "".join(rng.choices(PIECES, k=length // 3 + 4))
    while len(made) < length:
        made += "".join(rng.choices(PIECES, k=20))
    return made[:length]


def _embedding(rng: random.Random, kind: str) -> Any:
    if kind == "none" or (kind == "odd" and rng.random() < 0.3):
        return None
    size = rng.choice((3, 3, 4)) if kind == "odd" else 3
    vector = [rng.uniform(-1, 1) for _ in range(size)]
    if kind == "odd":
        odd = rng.random()
        if odd < 0.15:
            return [0.0] * size
        if odd < 0.25:
            return [math.nan, *vector[1:]]
        if odd < 0.4:
            return np.array(vector, dtype=np.float32)
    return np.array(vector) if kind == "array" else vector


def _offsets(rng: random.Random, kind: str, start: int, end: int) -> tuple[int | None, int | None]:
    if kind == "none" or (kind == "some" and rng.random() < 0.4):
        return None, None
    if kind == "lying" and rng.random() < 0.4:
        shift = rng.choice((-7, -1, 1, 5, 40, 10**9))
        if rng.random() < 0.5:
            return max(0, start + shift), max(0, start + shift) + end - start
        return start, max(start, end + shift)
    return start, end


def _add_document(rng: random.Random, world: World, doc_id: str, scoped: bool, linked: bool, parents: bool) -> None:
    cut, offsets = rng.choice(CUTS), rng.choice(OFFSETS)
    places = _cut(rng, cut, rng.choice((1, 2, 3, 4, 6, 9, 12)))
    source = _text(rng, max(end for _, end in places) + rng.choice((0, 10)))
    for (_, end), (start, _) in zip(places, places[1:], strict=False):
        if 0 < start - end <= 16:  # what splitters drop is white space
            source = source[:end] + " " * (start - end) + source[start:]
    vectors = rng.choice(("none", "none", "list", "array", "odd"))
    headings, pages, counted = rng.random() < 0.4, rng.random() < 0.3, rng.random() < 0.5
    heading: tuple[str, ...] | None = None
    missing = rng.random() < 0.3
    for chunk_id, (start, end) in enumerate(places):
        key = (doc_id, chunk_id)
        if headings and rng.random() < 0.4:
            heading = rng.choice(HEADINGS)
        char_start, char_end = _offsets(rng, offsets, start, end)
        metadata = ChunkMetadata(
            doc_id,
            chunk_id,
            char_start,
            char_end,
            parent_id=f"{doc_id}/{chunk_id // 3}" if parents and rng.random() < 0.9 else None,
            heading_path=heading,
            page=1 + chunk_id // 2 if pages else None,
            chunk_count=len(places) if counted else None,
            scope=rng.choice((None, "acme", "acme", "zeta")) if scoped else None,
            links=_links(rng) if linked and rng.random() < 0.4 else (),
            prefix="| a | b |\n" if rng.random() < 0.03 else None,
        )
        chunk = Chunk(source[start:end], metadata, _embedding(rng, vectors))
        world.chunks[key], world.places[key] = chunk, (start, end)
        if not missing or rng.random() < 0.7:
            world.store[key] = chunk
    world.sources[doc_id] = source
    if offsets != "lying":
        world.truthful.add(doc_id)
    if offsets == "true":
        world.located.add(doc_id)
    if parents:
        _add_parents(rng, world, doc_id, places)
    world.covered += [f"cut: {cut}", f"offsets: {offsets}", f"embeddings: {vectors}"]
    world.covered += [name for name, on in (
        ("headings", headings), ("pages", pages), ("chunk counts", counted), ("missing chunks", missing),
        ("scopes", scoped), ("links", linked), ("parents", parents),
        ("CJK", any("\u3040" <= c <= "\u9fff" for c in source)), ("emoji", "🐝" in source),
        ("combining marks", "\u0301" in source), ("words of 70 characters", "x" * 70 in source),
        ("white space only", any(source[a:b].isspace() for a, b in places)),
    ) if on]  # fmt: skip


def _links(rng: random.Random) -> tuple[ChunkKey, ...]:
    return tuple((rng.choice("abcz"), rng.randint(0, 8)) for _ in range(rng.randint(1, 3)))


def _add_parents(rng: random.Random, world: World, doc_id: str, places: Sequence[tuple[int, int]]) -> None:
    for first in range(0, len(places), 3):
        if rng.random() < 0.2:
            continue
        group = places[first : first + 3]
        start, end = min(a for a, _ in group), max(b for _, b in group)
        text = world.sources[doc_id][start:end]
        name = f"{doc_id}/{first // 3}"
        kind = rng.choice(("text", "chunk", "chunk", "lying chunk"))
        if kind == "text" or not text:
            world.parents[name] = text
        else:
            shift = 5 if kind == "lying chunk" else 0
            scope = rng.choice((None, None, "acme"))
            metadata = ChunkMetadata(doc_id, first // 3, start, end + shift, scope=scope)
            world.parents[name] = Chunk(text, metadata)


def make_world(rng: random.Random) -> World:
    """One to three small documents."""
    world = World()
    scoped, linked, parents = rng.random() < 0.25, rng.random() < 0.25, rng.random() < 0.3
    for doc_id in "abc"[: rng.choice((1, 1, 2, 3))]:
        _add_document(rng, world, doc_id, scoped, linked, parents)
    if rng.random() < 0.1:  # the same text indexed twice
        for (doc_id, chunk_id), chunk in list(world.chunks.items()):
            if doc_id == "a":
                copy = Chunk(chunk.text, replace(chunk.metadata, doc_id="a2"), chunk.embedding)
                world.chunks["a2", chunk_id] = world.store["a2", chunk_id] = copy
                world.places["a2", chunk_id] = world.places["a", chunk_id]
        world.sources["a2"] = world.sources["a"]
        world.truthful |= {"a2"} if "a" in world.truthful else set()
        world.located |= {"a2"} if "a" in world.located else set()
        world.covered.append("document indexed twice")
    return world


def _scores(rng: random.Random, count: int, covered: list[str], knobs: dict[str, Any]) -> list[float]:
    kind = rng.choice(("bm25", "bm25", "cosine", "equal", "huge", "distance", "unit", "wrong scale"))
    covered.append(f"scores: {kind}")
    if kind in ("cosine", "unit", "wrong scale"):
        knobs["score_scale"] = "cosine" if kind == "wrong scale" else kind
    if kind == "distance":
        knobs["score_kind"] = "distance"
    low, high = {"bm25": (0, 30), "cosine": (-1, 1), "unit": (0, 1), "distance": (0, 9), "wrong scale": (-3, 3)}.get(
        kind, (0.5, 0.5)
    )
    if kind == "huge":
        return [rng.choice((1.7e308, -1.7e308, 1e300, 5e-324, 0.0, -0.0)) for _ in range(count)]
    return [rng.choice((low, high, rng.uniform(low, high), rng.uniform(low, high))) for _ in range(count)]


def _hits(rng: random.Random, world: World, covered: list[str], knobs: dict[str, Any]) -> list[SeedHit]:
    count = rng.choice((0, 1, 1, 2, 3, 4, 6, 10))
    keys = rng.choices(list(world.chunks), k=count) if rng.random() < 0.3 else rng.sample(
        list(world.chunks), min(count, len(world.chunks))
    )  # fmt: skip
    hits = []
    for key, score in zip(keys, _scores(rng, len(keys), covered, knobs), strict=True):
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


CHOICES: dict[str, Sequence[Any]] = {
    "k": (1, 2, 5),
    "fusion": ("rrf", "quota"),
    "rrf_k": (0, 1, 60),
    "window": (0, 1, 1, 2, 3, 20),
    "before": (0, 1, 4),
    "after": (0, 1, 4),
    "expand_top": (0, 1, 2),
    "expand_top_documents": (0, 1, 2),
    "grow_until": ("table", ("list", "code", "steps")),
    "max_window": (20, 25),
    "follow_links": (1, 2, 3),
    "store_timeout_s": (None, 5.0),
    "stop_on_heading_change": (False, True),
    "heading_level": (1, 2),
    "min_continuity": (-1.0, 0.013, 1.0),
    "min_lexical_continuity": (0.0, 0.113, 1.0),
    "stop_on_page_change": (True,),
    "continuity_floor": (-0.513, 0.217, 1.0),
    "lexical_continuity_floor": (0.0, 0.217, 1.0),
    "joiner": ("", " ", "\n", " … "),
    "max_gap_chars": (0, 1, 100),
    "similarity_weight": (0.0, 3.0),
    "adjacency_weight": (0.0, 2.0),
    "continuity_weight": (0.0, 2.0),
    "parent_weight": (0.0, 2.0),
    "distance_decay_beta": (0.0, 5.0),
    "return_parents": ("auto", "auto", "never"),
    "parent_coverage": (0.1, 0.9, 1.0),
    "max_parent_chars": (0, 50, 10**6),
    "selection": ("greedy", "exact"),
    "selection_unit": ("span", "chunk"),
    "run_cost": (0.0, 1.0, 5.0),
    "prefer_fewer_spans": (False,),
    "min_value": (0.1, 0.5, 1.0),
    "max_spans": (1, 2, 3),
    "dedupe_overlaps": (False,),
    "ordering_strategy": ("front_first", "back_first", "edge_balanced", "score_desc", "document"),
    "context_format": ("markdown", "xml"),
    "numbered": (False,),
    "span_header": ("heading", "document", "full"),
    "gap_markers": (False,),
}
"""Values of every knob that is drawn by itself; budget, pinned, exclude and the score knobs go with the hits."""

ALWAYS_OFTEN = ("window", "context_format", "ordering_strategy", "return_parents", "selection")


def _budget(rng: random.Random) -> int:
    draw = rng.random()
    if draw < 0.03:
        return 0
    if draw < 0.4:
        return rng.randint(1, 19)
    return rng.randint(20, 120) if draw < 0.8 else rng.randint(121, 2000)


def _knobs(rng: random.Random) -> dict[str, Any]:
    often = [name for name in ALWAYS_OFTEN if rng.random() < 0.4]
    names = set(often) | set(rng.sample(list(CHOICES), rng.choice((0, 1, 2, 4, 8))))
    if "grow_until" in names:
        names.add("max_window")  # must not be smaller than the window
    return {name: rng.choice(CHOICES[name]) for name in sorted(names)}


def _passages(rng: random.Random, world: World) -> list[Any]:
    """What may be pinned or excluded."""
    return [chunk for chunk in rng.sample(list(world.chunks.values()), min(2, len(world.chunks)))]


def _excluded(rng: random.Random, world: World) -> list[Any]:
    made: list[Any] = []
    for chunk in _passages(rng, world):
        kind = rng.choice(("chunk", "text", "range", "part"))
        doc_id, (start, end) = chunk.metadata.doc_id, world.places[chunk.key]
        if kind == "range":
            made.append((doc_id, start + 1, end + 5))
        else:
            made.append({"chunk": chunk, "text": chunk.text, "part": chunk.text[: len(chunk.text) // 2] or "none"}[kind])
    return made


TOKENIZERS = ("words", "words", "characters", "characters", "quarters", "quarters down", "seams", "estimate")


def make_case(rng: random.Random, world: World, tokenizer: str | None = None) -> Case:
    """One random call on a world."""
    covered: list[str] = []
    knobs = _knobs(rng)
    lists = rng.choice((1, 1, 1, 1, 2, 3))
    hits: Any = [_hits(rng, world, covered, knobs) for _ in range(lists)]
    if lists == 1:
        hits = hits[0]
    else:
        covered.append("several hit lists")
        if knobs.get("fusion") == "quota" and rng.random() < 0.5:
            knobs["quotas"] = tuple(rng.choice((0.0, 1.0, 3.0)) for _ in range(lists - 1)) + (1.0,)
    knobs["token_budget"] = budget = _budget(rng)
    covered.append("budget: 0" if budget == 0 else "budget: 1-19" if budget < 20 else "budget: 20-2000")
    scoped = any(chunk.metadata.scope for chunk in world.chunks.values())
    scope: Scope = rng.choice((None, "acme", {"acme", None}, {"acme", "zeta", None}, ())) if scoped else None
    if rng.random() < 0.1:
        knobs["pinned"] = tuple(_passages(rng, world))
        covered.append("pinned")
    if rng.random() < 0.15:
        knobs["exclude"] = tuple(_excluded(rng, world))
        covered.append("exclude")
    kind = rng.choice(("dict", "dict", "memory", "limited", "ignores scope", "gives everything", "fails"))
    limit = rng.choice((1, 2, 7)) if kind == "limited" else None
    store: Any = world.store if kind == "dict" else OddStore(world.store, kind, limit)
    covered += [f"store: {kind}", *(f"{name}={value!r}" for name, value in knobs.items() if name in CHOICES)]
    query = rng.choice((None, "honey bees in winter", "蜂王产卵", "why?"))
    return Case(
        world=world,
        hits=hits,
        store=store,
        parent_store=world.parents if world.parents and rng.random() < 0.8 else None,
        scope=scope,
        query=query,
        query_embedding=[0.3, -0.2, 0.9] if rng.random() < 0.1 else None,
        tokenizer=tokenizer or rng.choice(TOKENIZERS),
        knobs=knobs,
        covered=covered,
    )
