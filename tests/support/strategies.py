"""Hypothesis strategies for the composer, and the small builders most tests share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from fuzz.cases import CHOICES, QUERIES, Case
from fuzz.stores import OddStore
from fuzz.worlds import PIECES, World
from hypothesis import strategies as st

from retrivex import Chunk, ChunkMetadata, Composition, SeedHit, Span, SpanComposer, Window
from retrivex.model.chunk import ChunkKey
from retrivex.selection.problem import Problem

# ---- builders


def count_words(text: str) -> int:
    """A tokenizer whose counts a reader can check by eye."""
    return len(text.split())


def make_chunk(doc_id: str, chunk_id: int, text: str, start: int | None = None, **metadata: Any) -> Chunk:
    """A chunk with true offsets where `start` is given; `embedding` may be among the keywords."""
    embedding = metadata.pop("embedding", None)
    end = None if start is None else start + len(text)
    return Chunk(text, ChunkMetadata(doc_id, chunk_id, start, end, **metadata), embedding)


def make_store(*chunks: Chunk) -> dict[ChunkKey, Chunk]:
    """The plain dictionary that the composer takes."""
    return {chunk.key: chunk for chunk in chunks}


def tile(doc_id: str, texts: Sequence[str], **metadata: Any) -> dict[ChunkKey, Chunk]:
    """A document whose chunks follow each other without gap or overlap, with true offsets."""
    chunks, start = [], 0
    for chunk_id, text in enumerate(texts):
        chunks.append(make_chunk(doc_id, chunk_id, text, start, **metadata))
        start += len(text)
    return make_store(*chunks)


def bare(doc_id: str, texts: Sequence[str], **metadata: Any) -> dict[ChunkKey, Chunk]:
    """The same without offsets."""
    return make_store(*(make_chunk(doc_id, i, text, **metadata) for i, text in enumerate(texts)))


def sentences(doc_id: str, count: int) -> list[str]:
    """Distinct sentences of 7 words that share none of them."""
    return [" ".join(f"{doc_id}{i}{letter}" for letter in "abcdefg") + ". " for i in range(count)]


def hits_of(store: dict[ChunkKey, Chunk], scores: dict[int, float], doc_id: str = "d") -> list[SeedHit]:
    """Hits on chunks of one document, by chunk id."""
    return [SeedHit(store[doc_id, chunk_id], score) for chunk_id, score in scores.items()]


def compose(hits: Any, store: Any, parents: Any = None, **said: Any) -> Composition:
    """Compose with word counts."""
    return SpanComposer(tokenizer=count_words).compose(hits, store, parents, **said)


def retrieve(hits: Any, store: Any, parents: Any = None, **said: Any) -> list[Span]:
    """Retrieve with word counts."""
    return SpanComposer(tokenizer=count_words).retrieve(hits, store, parents, **said)


def shown_ids(spans: Iterable[Span], doc_id: str = "d") -> list[int]:
    """Chunks of a document that are shown, ascending."""
    return sorted(i for span in spans if span.doc_id == doc_id for i in span.chunk_ids)


# ---- parts

texts = st.lists(st.sampled_from(PIECES), min_size=1, max_size=12).map("".join)
"""Words, headings, tables and lists in several scripts, emoji, combining marks, white space, very long words."""

embeddings = st.one_of(
    st.none(),
    st.lists(st.floats(-1, 1), min_size=2, max_size=3),
    st.lists(st.floats(-1, 1, width=32), min_size=2, max_size=2).map(lambda v: np.array(v, dtype=np.float32)),
    st.sampled_from([[0.0, 0.0], [float("nan"), 1.0]]),
)

windows = st.builds(
    lambda doc_id, start, size: Window(doc_id, start, start + size),
    st.sampled_from("ab"),
    st.integers(0, 40),
    st.integers(0, 6),
)


@st.composite
def candidate_rows(draw: st.DrawFn, max_size: int = 10) -> Problem:
    """What the selection picks from: free ones, worthless ones and ties among them, of up to three documents."""
    size = draw(st.integers(0, max_size))

    def row(elements: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(elements, min_size=size, max_size=size))

    joined = np.array([False, *row(st.booleans())[1:]][:size], dtype=np.bool_)
    values = row(st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1)))
    steps = row(st.booleans())
    return Problem(
        np.array(row(st.integers(0, 9)), dtype=np.int64),
        np.array(row(st.integers(0, 4)), dtype=np.int64),
        np.array(values, dtype=np.float64),
        joined,
        np.cumsum(~joined & np.array(steps, dtype=np.bool_), dtype=np.int64),
        draw(st.sampled_from([0.0, 0.0, 2.0])),
    )


# ---- worlds


@st.composite
def _places(draw: st.DrawFn, length: int) -> list[tuple[int, int]]:
    """Where a splitter cut a text: on edge, overlapping, inside the one before, or with gaps."""
    places: list[tuple[int, int]] = []
    at = 0
    for _ in range(draw(st.integers(1, 7))):
        if at >= length:
            break
        end = min(length, at + draw(st.integers(1, 40)))
        kind = draw(st.sampled_from(("tile", "tile", "overlap", "small gap", "wide gap", "contained")))
        if kind == "contained" and places:
            start, stop = places[-1]
            low = draw(st.integers(start, stop - 1))
            places.append((low, draw(st.integers(low + 1, stop))))
            continue
        places.append((at, end))
        step = {"overlap": -draw(st.integers(0, end - at - 1)), "small gap": 2, "wide gap": 25}.get(kind, 0)
        at = end + step
    return places


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """One or two documents, cut and indexed in some way, well or badly."""
    world = World()
    for doc_id in draw(st.sampled_from(("a", "ab"))):
        source = draw(st.lists(st.sampled_from(PIECES), min_size=2, max_size=40).map("".join))
        offsets = draw(st.sampled_from(("true", "true", "none", "some", "lying")))
        places = draw(_places(len(source)))
        parents = draw(st.booleans())
        for chunk_id, (start, end) in enumerate(places):
            _add_chunk(draw, world, (doc_id, chunk_id), source, (start, end), offsets, parents)
        world.sources[doc_id] = source
        world.truthful |= {doc_id} - ({doc_id} if offsets == "lying" else set())
        world.located |= {doc_id} if offsets == "true" else set()
        if parents:
            low, high = min(a for a, _ in places), max(b for _, b in places)
            whole = Chunk(source[low:high], ChunkMetadata(doc_id, 0, low, high))
            world.parents[f"{doc_id}/all"] = whole if draw(st.booleans()) else whole.text
    return world


def _add_chunk(
    draw: st.DrawFn, world: World, key: ChunkKey, source: str, place: tuple[int, int], offsets: str, parents: bool
) -> None:
    start, end = place
    located: tuple[int | None, int | None] = place
    if offsets == "none" or (offsets == "some" and draw(st.booleans())):
        located = (None, None)
    if offsets == "lying" and draw(st.booleans()):
        located = draw(st.sampled_from(((start + 3, end + 3), (start, end + 1), (0, end - start))))
    metadata = ChunkMetadata(
        *key,
        *located,
        parent_id=f"{key[0]}/all" if parents else None,
        heading_path=draw(st.sampled_from((None, None, ("A",), ("A", "B"), ("C",)))),
        page=draw(st.sampled_from((None, 1, 2))),
        chunk_count=draw(st.sampled_from((None, 9))),
        scope=draw(st.sampled_from((None, None, None, "acme"))),
        links=draw(st.sampled_from(((), (), (("a", 3), ("b", 0)), (("z", 1),)))),
    )
    chunk = Chunk(source[start:end], metadata, draw(embeddings))
    world.chunks[key], world.places[key] = chunk, place
    if draw(st.integers(0, 6)):
        world.store[key] = chunk


scores = st.one_of(
    st.sampled_from([0.0, 0.5, 0.5, 1.0, -0.3]), st.floats(-1, 1), st.floats(allow_nan=False, allow_infinity=False)
)

budgets = st.one_of(st.integers(0, 19), st.integers(20, 100), st.integers(0, 2000))


# without `strict`, which raises where others warn: the tests of it set it themselves
option_choices = st.lists(st.sampled_from(sorted({*CHOICES} - {"strict"})), unique=True, max_size=6).flatmap(
    lambda names: st.fixed_dictionaries({name: st.sampled_from(CHOICES[name]) for name in names})
)


@st.composite
def hit_lists(draw: st.DrawFn, world: World) -> Any:
    """One list of hits or several: repeated ones, and now and then one that disagrees with the store."""
    hits = st.builds(SeedHit, st.sampled_from(list(world.chunks.values())), scores)
    odd = st.builds(lambda hit: SeedHit(_disagreeing(hit.chunk), hit.similarity_score), hits)
    some = st.lists(st.one_of(hits, hits, hits, hits, odd), max_size=6)
    return draw(st.one_of(some, some, st.lists(some, min_size=2, max_size=3)))


def _disagreeing(chunk: Chunk) -> Chunk:
    return Chunk(chunk.text + " (new)", replace(chunk.metadata, char_start=None, char_end=None))


@st.composite
def cases(draw: st.DrawFn, *, tokenizers: Sequence[str] = ("words", "characters", "quarters down")) -> Case:
    """A world and a call on it."""
    world = draw(worlds())
    options = {"token_budget": draw(budgets), **draw(option_choices)}
    if "grow_until" in options:
        options.setdefault("max_window", 20)
    hits = draw(hit_lists(world))
    if draw(st.integers(0, 9)) == 0:
        options["score_kind"] = "distance"
    passages = st.lists(st.sampled_from(list(world.chunks.values())), min_size=1, max_size=2, unique_by=id)
    if draw(st.integers(0, 9)) == 0:
        options["pinned"] = tuple(draw(passages))
    if draw(st.integers(0, 9)) == 0:
        options["exclude"] = tuple(draw(passages))
    kind = draw(st.sampled_from(("dict", "dict", "memory", "limited", "ignores scope", "gives everything", "fails")))
    store: Any = world.store
    if kind != "dict":
        store = OddStore(world.store, kind, draw(st.sampled_from((1, 2, 5))) if kind == "limited" else None)
    return Case(
        world=world,
        hits=hits,
        store=store,
        parent_store=world.parents if draw(st.booleans()) else None,
        scope=draw(st.sampled_from((None, None, "acme", ("acme", None)))),
        query=draw(st.sampled_from(QUERIES if options.get("scoring") == "calibrated" else (None, *QUERIES))),
        query_embedding=draw(st.sampled_from((None, None, [0.5, -0.5]))),
        tokenizer=draw(st.sampled_from(tokenizers)),
        options=options,
        covered=[],
    )
