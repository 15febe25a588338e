"""Random documents, and what splitters, well or badly written, make of them."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from retrivex import Chunk, ChunkMetadata
from retrivex.model.chunk import ChunkKey

_NOUNS = (
    "the bees honey queen winter hive flower nectar colony swarm drone brood pollen wax comb larva worker keeper "
    "forest meadow river bridge tower garden window letter market engine voyage harvest lantern whisper"
)
PIECES = (
    *(noun + " " for noun in _NOUNS.split()),
    "and ", "or ", "of ", "a ", "in ", "It was so. ", "He said no. ", "Why? ", "Dr. Who came. ", "3.14 ", "2026 ",
    "\n", "\n\n", "  ", "\t", "- item\n", "1. step\n", "| a | b |\n", "```\n", "# Title\n", '"quoted" ', "‘x’ ", "[2] ",
    "蜜蜂住在蜂巢里。", "蜂王产卵", "冬天很冷，", "ミツバチは蜜を集める。", "벌집 ", "Привет мир. ", "שלום ", "नमस्ते ",
    "🐝", "👩‍🚀", "👍🏽 ", "e\u0301te\u0301 ", "a\u0308\u0323o\u0302", "\u00a0", "\u200b", "ß", "ﬁn ",
    "İstanbul ", "x" * 70 + " ",
)  # fmt: skip

RUNS = (
    "\u0301",
    "\ufe0f",
    "\u200d",
    "\u0300\u0323",
    "👩‍🚀",
    "\u200d👩",
    "🏽",
    " ",
    "\n",
    "\n \n",
    "\t",
    "\u00a0",
    "\u200b",
    ".",
    "…",
    "。",
    "\ud800",
    "\udfff\ud800",
    "\x00",
    "\x1b[31m",
    "x",
    "9",
    "-",
    "|",
    "| ",
    "`",
    "#",
    "> ",
    "- ",
    "(",
    "<",
    "&",
    "\\",
    "\r",
    "\u202e",
    "ﷺ",
    "ก้",
)
"""What comes in long runs in hostile documents, and in broken ones."""
BEYOND_FLOATS: tuple[Any, ...] = (
    [10**400, 1, 0],
    [-(10**400)] * 3,
    [math.inf, 1.0, 0.0],
    [1e308] * 3,
    [5e-324] * 3,
    [1e308, -1e308, 1e308],
    np.array([math.inf, -math.inf, 0.0]),
    np.array([6e4] * 3, dtype=np.float16),
    [True, False, True],
    [],
    "abc",
)
"""Embeddings that are no vector of finite numbers, or whose squares are none."""
RUN_LENGTHS = (3, 30, 30, 130, 130, 400, 1200)

HOSTILE_SHARE = 0.12
"""Share of the worlds with long runs or odd names: they are slow, and most rules show in small worlds."""

CUTS = ("tile", "tile", "overlap", "overlap", "small gaps", "wide gaps", "contained", "mixed")
OFFSETS = ("true", "true", "true", "true", "none", "some", "lying")
ODD_NAMES = ("a (unplaced)", "a\nb", "\x1b[31mred", "e\u0301", "[1]", "</source>", " ", "a" * 500, "0")
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
        if odd < 0.05:
            return rng.choice(BEYOND_FLOATS)
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


def _with_run(rng: random.Random, source: str, places: list[tuple[int, int]]) -> tuple[str, list[tuple[int, int]]]:
    """Put a long run of one mark into a document: within one chunk, or wherever it falls."""
    run = rng.choice(RUNS) * rng.choice(RUN_LENGTHS)
    start, end = rng.choice(places)
    at = rng.randint(start, end)
    if rng.random() < 0.3:  # chunks as they would be without it
        return (source[:at] + run + source[at:]), places
    made = source[:at] + run + source[at:]
    moved = [
        (a + len(run) * (a > at or a == at == end), b + len(run) * (b >= at and not b == a == at)) for a, b in places
    ]
    return made, [(a, b) if a < b else (a, a + 1) for a, b in moved]


def _add_document(
    rng: random.Random, world: World, doc_id: str, scoped: bool, linked: bool, parents: bool, hostile: bool
) -> None:
    cut, offsets = rng.choice(CUTS), rng.choice(OFFSETS)
    places = _cut(rng, cut, rng.choice((1, 2, 3, 4, 6, 9, 12)))
    source = _text(rng, max(end for _, end in places) + rng.choice((0, 10)))
    for (_, end), (start, _) in pairwise(places):
        if 0 < start - end <= 16:  # what splitters drop is white space
            source = source[:end] + " " * (start - end) + source[start:]
    if hostile and rng.random() < 0.6:
        source, places = _with_run(rng, source, places)
        world.covered.append("a long run")
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
    hostile = rng.random() < HOSTILE_SHARE
    names = list("abc"[: rng.choice((1, 1, 2, 3))])
    if hostile and rng.random() < 0.3:
        names[-1] = rng.choice(ODD_NAMES)
        world.covered.append("odd document name")
    for doc_id in names:
        _add_document(rng, world, doc_id, scoped, linked, parents, hostile)
    if rng.random() < 0.1 and "a" in world.sources:  # the same text indexed twice
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
