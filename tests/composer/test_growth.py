"""Work grows with the number of what is given, not with its square: lines of Python are counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from support.operations import growth
from support.strategies import bare, compose, hits_of, make_chunk, make_store, tile

from retrivex import Chunk, ChunkMetadata, SeedHit, SpanComposer
from retrivex.composer.pinned import pinned_span
from retrivex.model.chunk import ChunkKey

Place = Callable[[str, Sequence[str]], dict[ChunkKey, Chunk]]


def _texts(count: int) -> list[str]:
    return [f"Bees of hive {number} sleep at night and ants {3 * number} do not. " for number in range(count)]


def _compose(kind: str, count: int) -> Any:
    store = tile("d", _texts(count))
    chunks = list(store.values())
    said: dict[str, Any] = {"token_budget": 1_000_000, "query": "When do bees sleep?"}
    if kind == "one place":
        store = make_store(*(make_chunk("d", number, "Bees sleep at night.", 0) for number in range(count)))
        return compose(hits_of(store, dict.fromkeys(range(count), 1.0)), store, **said)
    if kind == "pinned":
        return compose(hits_of(store, {0: 1.0}), store, pinned=chunks, **said)
    if kind == "excluded":
        return compose(hits_of(store, {0: 1.0}), store, exclude=chunks[1::2], window=count, **said)
    if kind == "kept":
        return compose(hits_of(store, dict.fromkeys(range(count), 1.0)), store, keep_top=count, **said)
    raise ValueError(kind)


HALVES: dict[str, Callable[[Sequence[Chunk]], Any]] = {
    "chunks": lambda half: {"exclude": half},
    "texts": lambda half: {"exclude": [chunk.text for chunk in half]},
    "ranges": lambda half: {
        "exclude": [("d", chunk.metadata.char_start or 0, chunk.metadata.char_end or 0) for chunk in half]
    },
    "compositions": lambda half: {"exclude": [SimpleNamespace(spans=[pinned_span(chunk, Words())]) for chunk in half]},
    "pinned": lambda half: {"pinned": half},
    "pinned backwards": lambda half: {"pinned": half[::-1]},
}
"""What makes half of the chunks known before."""


class Words:
    """Counts words."""

    def count(self, text: str) -> int:
        """Return how many there are."""
        return len(text.split())


def _half_known(kind: str, count: int, place: Place, query: str | None) -> Any:
    """Compose hits on all chunks of a document, half of which are known."""
    texts = [f"In the end they came to see that the bees of hive {number} do not sleep. " for number in range(count)]
    store = place("d", texts)
    hits = hits_of(store, {number: 1 - number / count for number in range(count)})
    return compose(hits, store, query=query, token_budget=1_000_000, **HALVES[kind]([*store.values()][::2]))


@pytest.mark.parametrize("query", ["When do bees sleep?", None])
@pytest.mark.parametrize("kind", ["ranges", "compositions", "pinned backwards"])
def test_work_grows_with_the_number_of_places_that_are_known(kind: str, query: str | None) -> None:
    assert growth(lambda count: _half_known(kind, count, tile, query), 200) < 5


@pytest.mark.parametrize(("kind", "place"), [("texts", tile), ("chunks", bare), ("pinned", bare)])
def test_work_grows_with_the_number_of_texts_that_are_known(kind: str, place: Place) -> None:
    assert growth(lambda count: _half_known(kind, count, place, "When do bees sleep?"), 100) < 5


@pytest.mark.parametrize("parts", [1, 50])
@pytest.mark.parametrize("known", ["exclude", "pinned"])
def test_work_grows_with_the_number_of_sentences_that_are_looked_for(known: str, parts: int) -> None:
    """However few the chunks are: each sentence of theirs is looked for."""

    def made(count: int) -> Any:
        there, shown = (
            "".join(f"In the end the bees of hive {number} {do} sleep. " for number in range(count))
            for do in ("do not", "never")
        )
        size = len(there) // parts
        texts = [there[at * size : (at + 1) * size] for at in range(parts)]
        hits = hits_of(bare("d", texts), dict.fromkeys(range(parts), 1.0))
        item = shown if known == "exclude" else Chunk(shown, ChunkMetadata("e", 0))
        return compose(hits, {}, token_budget=10_000_000, **{known: [item]})

    assert growth(made, 1000) < 6  # each is looked up by its blocks


@pytest.mark.parametrize("kind", ["pinned", "excluded", "one place", "kept"])
def test_work_grows_with_the_number(kind: str) -> None:
    assert growth(lambda count: _compose(kind, count), 150) < 5


def _compose_parents(kind: str, count: int) -> Any:
    """Compose hits on chunks of two to a parent, or of one parent for all of them, in one span or in one for each."""
    texts, step = _texts(2 * count), 3 if kind == "gaps" else 2
    chunks, parents, start = [], dict[str, str](), 0
    for number, text in enumerate(texts):
        doc_id = f"d{number // 2}" if kind == "documents" else "d"
        name = "p" if kind in ("one parent", "apart") else f"p{number // 2}"
        chunk_id = 3 * number if kind == "apart" else number // 2 * step + number % 2
        place = start if kind in ("one document", "gaps") else None
        chunks.append(make_chunk(doc_id, chunk_id, text, place, parent_id=name))
        parents[name] = parents.get(name, "") + text
        start += len(text) + (500 if kind == "gaps" and number % 2 else 0)
    hits = [SeedHit(chunk, 1 - number / len(chunks)) for number, chunk in enumerate(chunks)]
    options: dict[str, Any] = {"return_parents": "auto", "window": 0, "token_budget": 1_000_000}
    return compose(hits, make_store(*chunks), parents, max_parent_chars=10**9, **options)


@pytest.mark.parametrize("kind", ["documents", "one document", "gaps", "no offsets", "one parent", "apart"])
def test_work_grows_with_the_number_of_parents(kind: str) -> None:
    assert growth(lambda count: _compose_parents(kind, count), 100) < 5


@pytest.mark.parametrize("spare", [0, 6, 12, 20])
@pytest.mark.parametrize("lengths", ["alike", "short and long", "ever longer", "ever shorter"])
def test_the_context_is_counted_some_times_however_many_passages_are_pinned(lengths: str, spare: int) -> None:
    count, read = 1600, 0
    growing = [60 * at // count for at in range(count)]
    longer = {"alike": [0], "short and long": [0, 60], "ever longer": growing, "ever shorter": growing[::-1]}[lengths]
    texts = [text + "word " * longer[at % len(longer)] for at, text in enumerate(_texts(count))]
    chunks = list(tile("d", texts).values())

    def count_words(text: str) -> int:
        nonlocal read
        read += len(text)
        return len(text.split())

    composer = SpanComposer(tokenizer=count_words)
    hits = hits_of(make_store(*chunks), {0: 1.0})
    made = composer.compose(hits, {}, pinned=chunks, token_budget=6 * count + spare)
    assert any("does not fit token_budget" in said for said in made.warnings)
    assert len(made.spans) > 100
    # each passage is counted once in any case
    assert (read - sum(map(len, texts))) / len(made.text) < 300
