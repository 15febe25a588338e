"""What earlier turns have shown is not shown again."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import bare, compose, hits_of, make_chunk, make_store, retrieve, sentences, shown_ids, tile

from retrivex import RetrivexError, Span
from retrivex.text.ranges import merge_ranges, remaining

SIX = tile("d", sentences("d", 6))
HITS = hits_of(SIX, {1: 0.9, 4: 0.5})


def shown(*exclude: Any, **said: Any) -> list[int]:
    return shown_ids(compose(HITS, SIX, window=0, exclude=exclude, **said).spans)


def test_nothing_excluded() -> None:
    assert shown() == [1, 4]


@pytest.mark.parametrize(
    "item", [SIX["d", 1], SIX["d", 1].text, ("d", 0, 60), retrieve(HITS[:1], SIX, window=0)[0]], ids=repr
)  # fmt: skip
def test_chunks_texts_ranges_and_spans(item: Any) -> None:
    made = compose(HITS, SIX, window=0, exclude=(item,))
    assert shown_ids(made.spans) == [4]
    assert [(hit.chunk_id, hit.reason) for hit in made.dropped] == [(1, "excluded")]


def test_a_whole_earlier_answer() -> None:
    first = compose(HITS[:1], SIX, window=1)
    second = compose(HITS, SIX, window=1, exclude=[first])
    assert set(shown_ids(first.spans)).isdisjoint(shown_ids(second.spans))
    assert shown_ids(second.spans) == [3, 4, 5]


def test_part_of_a_chunk_is_cut_out() -> None:
    text = SIX["d", 1].text
    start = SIX["d", 1].metadata.char_start or 0
    middle = (text.index("d1c"), text.index("d1e"))
    made = compose(HITS[:1], SIX, window=0, exclude=(("d", start + middle[0], start + middle[1]),), run_cost=0.0)
    assert "d1c" not in made.text
    assert "d1d" not in made.text
    assert "d1a d1b" in made.text
    assert "d1e d1f d1g" in made.text
    assert all(span.exact for span in made.spans)


def test_a_shown_sentence_is_not_repeated_elsewhere() -> None:
    known = "The honey bee stores nectar for winter."
    store = bare("d", [f"{known} It sleeps at night in its warm hive."])
    made = compose(hits_of(store, {0: 1.0}), store, exclude=(f"Earlier: {known}",))
    assert "nectar" not in made.text
    assert "sleeps" in made.text


def test_a_window_does_not_bring_it_back() -> None:
    made = compose(HITS[:1], SIX, window=2, exclude=(SIX["d", 0], SIX["d", 2]))
    assert not {0, 2} & set(shown_ids(made.spans))


def test_a_parent_does_not_bring_it_back() -> None:
    store = tile("d", ["Alpha one two. ", "Beta three four."], parent_id="p")
    parent = make_chunk("d", 0, "Alpha one two. Beta three four.", 0)
    said: dict[str, Any] = {"window": 0, "return_parents": "auto"}
    hits = hits_of(store, {1: 1.0})
    assert "Alpha" in compose(hits, store, {"p": parent}, **said).text
    assert "Alpha" not in compose(hits, store, {"p": parent}, exclude=(store["d", 0],), **said).text
    twice = compose(hits, store, {"p": parent}, pinned=(store["d", 0],), **said)
    assert twice.text.count("Alpha") == 1


@pytest.mark.parametrize("item", [5, None, ("d", 1), {"text": "x"}])
def test_other_things_are_refused(item: Any) -> None:
    with pytest.raises(RetrivexError, match="exclude holds"):
        compose(HITS, make_store(), exclude=(item,))


ranges = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 8)).map(lambda p: (p[0], p[0] + p[1])), max_size=8)


@given(ranges, st.integers(0, 20), st.integers(1, 20))
def test_what_remains_is_what_is_not_cut(cuts: list[tuple[int, int]], start: int, size: int) -> None:
    merged = merge_ranges(cuts)
    left = {i for low, high in remaining(start, start + size, merged) for i in range(low, high)}
    assert left == set(range(start, start + size)) - {i for low, high in cuts for i in range(low, high)}
    assert all(a[1] < b[0] for a, b in pairwise(merged))


SPLIT = "Bees fly by day. Ants walk home. Wasps sting all. Flies hum on. Moths like lamps. Gnats bite at dusk."


def split(gap: str = " ") -> dict[Any, Any]:
    """Short sentences, each a chunk, without the white space between them, as splitters of other libraries cut."""
    texts = [f"{sentence.rstrip('.')}." for sentence in SPLIT.split(". ")]
    chunks, start = [], 0
    for at, text in enumerate(texts):
        chunks.append(make_chunk("d", at, text, start))
        start += len(text) + len(gap)
    return make_store(*chunks)


@pytest.mark.parametrize("name", ["pinned", "exclude"])
@pytest.mark.parametrize("query", [None, "Which insects walk home?"])
def test_short_passages_are_not_shown_twice_where_white_space_was_dropped(name: str, query: str | None) -> None:
    store = split()
    first = compose(hits_of(store, {0: 1.0}), store, window=2, query=query, effort="full")
    assert not first.spans[0].exact
    second = compose(hits_of(store, {1: 1.0}), store, window=0, query=query, **{name: first.spans})
    assert second.text.count("Ants walk home.") == (1 if name == "pinned" else 0)


@given(
    st.sets(st.integers(0, 5), min_size=1), st.sets(st.integers(0, 5), min_size=1), st.integers(0, 2),
    st.integers(0, 2), st.sampled_from([" ", "  ", "\n\n"]), st.sampled_from(["pinned", "exclude"]),
)  # fmt: skip
def test_nothing_is_shown_twice_over_two_turns(
    before: set[int], now: set[int], reach: int, window: int, gap: str, name: str
) -> None:
    store = split(gap)
    first = compose(hits_of(store, {at: 1 - at / 10 for at in before}), store, window=reach)
    options: dict[str, Any] = {name: first.spans, "window": window}
    second = compose(hits_of(store, {at: 1 - at / 10 for at in now}), store, **options)
    for chunk in store.values():
        most = 0 if name == "exclude" and chunk.text in first.text else 1
        assert second.text.count(chunk.text) <= most


def test_pinned_passages_that_overlap_are_shown_once() -> None:
    store = split()
    spans = [span for at in (0, 1, 2) for span in retrieve(hits_of(store, {at: 1.0}), store, window=1)]
    made = compose([], store, pinned=spans)
    assert all(made.text.count(chunk.text) <= 1 for chunk in store.values())
    assert made.text.count("Wasps sting all.") == 1


def test_what_is_left_of_a_pinned_passage_ends_with_a_chunk_of_it() -> None:
    texts = ["Bees sleep at night.", "Ants dig.", "Wasps sting all."]
    store = {
        ("d", at): make_chunk("d", at, text, start)
        for at, (text, start) in enumerate(zip(texts, (0, 30, 60), strict=True))
    }
    (span,) = retrieve(hits_of(store, {1: 1.0}), store, window=1, max_gap_chars=100)
    assert span.chunk_ids == [0, 1, 2]
    assert span.text not in texts
    (middle,) = retrieve(hits_of(store, {1: 1.0}), store, window=0)
    made = compose([], store, pinned=[middle, span])
    assert [pinned.text for pinned in made.spans] == [texts[1], texts[0], texts[2]]
    assert all(pinned.exact for pinned in made.spans)


def test_a_pinned_span_that_was_made_without_segments_is_shown_whole() -> None:
    text = "Bees sleep in the winter hive. Ants walk home every single evening. Wasps sting everybody all day long."
    chunk = make_chunk("d", 0, text, 0)

    def span(start: int, end: int) -> Span:
        return Span("d", [0], [chunk], 0.0, start, end, 7, text=text[start:end], exact=True)

    made = compose([], {}, pinned=[span(0, 30), span(0, len(text))])
    assert [(pinned.text, pinned.char_start, pinned.char_end) for pinned in made.spans] == [
        (text[:30], 0, 30),
        (text[30:], 30, len(text)),
    ]


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=4), st.integers(0, 2), st.sampled_from([20, 45, 1000]),
    st.booleans(),
)  # fmt: skip
def test_pinned_passages_of_two_turns_without_offsets_are_shown_once(
    hits: list[int], window: int, budget: int, is_placed: bool
) -> None:
    texts = [sentence.rstrip(".") + " and so on, as it has always been." for sentence in SPLIT.split(". ")]
    store = make_store(*[make_chunk("d", at, text) for at, text in enumerate(texts)])
    if is_placed:
        store = tile("d", texts)
    turns = [compose(hits_of(store, {at: 1.0}), store, window=window, token_budget=budget) for at in hits]
    made = compose([], store, pinned=[span for turn in turns for span in turn.spans], token_budget=10_000)
    shown_before = " ".join(turn.text for turn in turns)
    for text in texts:
        for word in text.split()[:2]:
            assert made.text.count(word) == min(1, shown_before.count(word))
