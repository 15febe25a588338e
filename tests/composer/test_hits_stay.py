"""Nothing of a hit vanishes while there is room: a sentence cut by its end is completed, or shown as it was found."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import try_examples
from support.strategies import bare, compose, embeddings, hits_of, make_chunk, make_store, tile

from retrivex import Chunk, SeedHit, Window
from retrivex.model.chunk import ChunkKey

WARRANTY = "The warranty covers parts and labour. It lasts five years from"
REST = " the day of sale. Keep the receipt."
SNOW = "Snow fell all night. The vote passed with 41 to 12, after the mayor had"
MAYOR = " spoken for an hour. Then everybody went home."


class Failing:
    """A store that is gone."""

    def fetch(self, windows: Sequence[Window], scope: Any = None) -> list[Chunk]:
        raise OSError("the disk is gone")


def shown(hits: Any, store: Any, query: str = "How long does the warranty last?", **said: Any) -> list[str]:
    return [span.text.strip() for span in compose(hits, store, query=query, token_budget=200, **said).spans]


@pytest.mark.parametrize("effort", ["standard", "full"])  # lean leaves out what is expected to hold little
@pytest.mark.parametrize("kind", ["no store", "no window", "a page", "a heading", "a scope", "a store that fails"])
def test_a_sentence_whose_rest_cannot_be_had_is_shown_as_it_was_found(kind: str, effort: str) -> None:
    behind: dict[str, dict[str, Any]] = {
        "a page": {"page": 2},
        "a heading": {"heading_path": ("Care",)},
        "a scope": {"scope": "acme"},
    }
    hit = make_chunk("d", 0, WARRANTY, 0, page=1, heading_path=("Warranty",))
    store: Any = make_store(hit, make_chunk("d", 1, REST, len(WARRANTY), **behind.get(kind, {})))
    if kind in ("no store", "a store that fails"):
        store = {} if kind == "no store" else Failing()
    said: dict[str, Any] = {"window": 0} if kind == "no window" else {}
    if kind == "a page":
        said["stop_on_change"] = "page"
    assert shown([SeedHit(hit, 0.9)], store, effort=effort, **said) == [WARRANTY]


@pytest.mark.parametrize("make", [tile, bare])
def test_the_answer_at_the_end_of_a_hit_stays_without_a_window(make: Any) -> None:
    store = make("d", [SNOW, MAYOR])
    assert shown(hits_of(store, {0: 0.9}), store, "How did the vote end?", window=0) == [SNOW]


@pytest.mark.parametrize("make", [tile, bare])
def test_the_answer_at_the_beginning_of_a_hit_stays_without_a_window(make: Any) -> None:
    store = make("d", ["Snow fell all night. The vote, after the mayor", " had spoken, passed with 41 to 12. We left."])
    text = store["d", 1].text.strip()
    assert shown(hits_of(store, {1: 0.9}), store, "How did the vote end?", window=0) == [text]


def test_a_sentence_is_completed_where_its_rest_can_be_had() -> None:
    store = tile("d", [WARRANTY, REST])
    (text,) = shown(hits_of(store, {0: 0.9}), store)
    assert text.startswith(f"{WARRANTY} the day of sale.")


def test_a_neighbour_is_shown_in_whole_sentences() -> None:
    """They remain the preference for what no retriever found."""
    store = tile(
        "d", ["Bees sleep at night. ", "Ants rest at noon. They never sleep, as they", " have no eyes to close."]
    )
    hits = hits_of(store, {0: 0.9})
    assert shown(hits, store, effort="full", window=1) == ["Bees sleep at night. Ants rest at noon."]


def test_a_sentence_is_not_completed_at_the_cost_of_the_hit() -> None:
    store = tile("d", [SNOW, " spoken for an hour and a half of what the town had been, and would be. They left."])
    hits = hits_of(store, {0: 0.9})
    alone = compose(hits, {}, query="How did the vote end?", window=0)
    made = compose(hits, store, query="How did the vote end?", effort="full", token_budget=alone.tokens + 1)
    assert SNOW in made.text


# ---- the property

ENDS = st.sampled_from([" ", " ", " ", ", ", ". ", ". ", "? ", "\n", "\n\n", ".\n\n", ".\n\n## "])
_WORD = re.compile(r"\bBee\d+\b")


@st.composite
def documents(draw: st.DrawFn) -> dict[ChunkKey, Chunk]:
    """One document or two of words none of which comes again, cut between words: on edge, overlapping, with gaps."""
    store: dict[ChunkKey, Chunk] = {}
    first = 0
    for doc_id in draw(st.sampled_from(("a", "ab"))):
        ends = draw(st.lists(ENDS, min_size=2, max_size=30))
        words = [f"Bee{first + at}{end}" for at, end in enumerate(ends)]
        first += len(words)
        located = draw(st.booleans())
        low = number = 0
        while low < len(words):
            high = draw(st.integers(low + 1, len(words)))
            start, text = len("".join(words[:low])), "".join(words[low:high])
            metadata: dict[str, Any] = {
                "page": draw(st.sampled_from((None, 1, 2))),
                "heading_path": draw(st.sampled_from((None, None, ("A",), ("B",)))),
                "scope": draw(st.sampled_from((None, None, None, "acme"))),
                "embedding": draw(embeddings),
            }
            chunk = make_chunk(doc_id, number, text, start if located else None, **metadata)
            store[chunk.key] = chunk
            number += 1
            # without offsets a few words in common are no overlap that anything could tell
            low = draw(st.integers(low + 1 if located else high, min(high + 2, len(words))))
    return store


def indexed_twice(store: Mapping[ChunkKey, Chunk]) -> dict[ChunkKey, Chunk]:
    """The documents, and the same under other names."""
    copies = [
        Chunk(c.text, replace(c.metadata, doc_id=f"{c.metadata.doc_id} again"), c.embedding) for c in store.values()
    ]
    return {**store, **make_store(*copies)}


def words_of(texts: Sequence[str]) -> Counter[str]:
    return Counter(word for text in texts for word in _WORD.findall(text))


@try_examples(1000)
@given(
    documents(),
    st.booleans(),
    st.data(),
    st.fixed_dictionaries(
        {"query": st.sampled_from(("What does Bee1 say?", "Who sleeps?", None))},
        optional={
            "window": st.integers(0, 3),
            "stop_on_change": st.just("page"),
            "stop_on_heading_change": st.just(False),
            "scoring": st.just("weighted"),
            "ordering_strategy": st.sampled_from(("score_desc", "document")),
        },
    ),
)
def test_every_word_of_every_hit_is_shown_once(
    store: Mapping[ChunkKey, Chunk], twice: bool, data: st.DataObject, said: dict[str, Any]
) -> None:
    """At least once, where its document was indexed twice: passages of the two may each have words of their own."""
    store = indexed_twice(store) if twice else store
    keys = data.draw(st.lists(st.sampled_from(sorted(store)), min_size=1, max_size=8, unique=True))
    scores = data.draw(st.lists(st.floats(-1, 1), min_size=len(keys), max_size=len(keys)))
    hits = [SeedHit(store[key], score) for key, score in zip(keys, scores, strict=True)]
    behind: Any = data.draw(st.sampled_from((store, {}, Failing())))
    made = compose(hits, behind, effort="full", token_budget=100_000, scope=(None, "acme"), **said)
    found, there = words_of([hit.chunk.text for hit in hits]), words_of([made.text])
    assert [word for word in found if there[word] < 1 or (there[word] > 1 and not twice)] == []


# ---- what is said of hits that are shown in part


def test_a_hit_that_is_shown_in_part_is_listed_with_its_share_and_the_reason() -> None:
    answer = "The vote passed with 41 to 12."
    hit = make_chunk(
        "d", 0, f"{answer} " + "Rain fell on the roofs and in the yards of the old town all day long. " * 8, 0
    )
    made = compose([SeedHit(hit, 0.9)], {}, query="How did the vote pass?", token_budget=25)
    assert answer in made.text
    (dropped,) = made.dropped
    assert (dropped.doc_id, dropped.chunk_id, dropped.reason) == ("d", 0, "budget")
    assert 0 < dropped.shown < 0.5
    assert f"{dropped.shown:.0%} of it is shown" in dropped.detail
    whole = compose([SeedHit(hit, 0.9)], {}, query="How did the vote pass?", token_budget=500, effort="full")
    assert whole.dropped == ()


def test_a_hit_without_offsets_that_is_shown_in_part_is_listed() -> None:
    text = "The vote passed with 41 to 12. " + "Rain fell on the roofs of the old town all day long. " * 8
    hit = SeedHit(make_chunk("d", 0, text), 0.9)
    made = compose([hit], {}, query="How did the vote pass?", token_budget=20)
    assert "41 to 12" in made.text
    ((dropped),) = made.dropped
    assert dropped.reason == "budget"
    assert 0 < dropped.shown < 0.6


def test_hits_are_laid_out_before_they_are_given_up() -> None:
    """What parts of a sentence are priced at by themselves is more than their text has together."""
    text = " ".join([f"Honeybees of hive {number} overwinter in clusters, unlike bumblebees." for number in range(8)])
    store = tile("d", [text[at : at + 5] for at in range(0, len(text), 5)])
    hits = hits_of(store, {number: 0.9 - number / 1000 for number in range(len(store))})
    asked: dict[str, Any] = {
        "query": "What do honeybees do?",
        "effort": "full",
        "window": 0,
        "tokenizer": "cl100k_base",
    }
    whole = compose(hits, store, token_budget=1000, **asked)
    assert text in whole.text
    assert text in compose(hits, store, token_budget=whole.tokens, **asked).text


def test_full_effort_fills_the_budget_where_hits_cannot_be_completed() -> None:
    rest = " ".join(f"of item {number} of the list that the clerk had read aloud," for number in range(12))
    store: dict[ChunkKey, Chunk] = {}
    for doc in range(4):
        store |= tile(f"d{doc}", [f"The council of town {doc} met and talked of the budget, ", f"{rest} and of roads. ",
                                  f"The vote in town {doc} passed with {doc}1 to 12. "])  # fmt: skip
    hits = [SeedHit(store[f"d{doc}", 0], 0.9 - doc / 10) for doc in range(4)]
    asked: dict[str, Any] = {"query": "How did the vote in town 0 pass?", "token_budget": 150}
    default, full = (compose(hits, store, effort=effort, **asked) for effort in ("standard", "full"))
    assert full.tokens > 80
    assert "01 to 12" in default.text
    assert "01 to 12" in full.text
