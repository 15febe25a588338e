"""Joining chunks: nothing doubled, nothing invented, gaps marked, lies noticed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import try_examples
from support.strategies import make_chunk, texts

from retrivex import Chunk
from retrivex.model.run import MIN_OVERLAP, Run, overlap_length, stitch


def runs_of(parts: list[tuple[str, int | None]], **said: Any) -> list[Run]:
    return stitch([make_chunk("d", i, text, start) for i, (text, start) in enumerate(parts)], **said)[0]


def texts_of(parts: list[tuple[str, int | None]], **said: Any) -> list[str]:
    return [run.text for run in runs_of(parts, **said)]


def test_chunks_edge_to_edge() -> None:
    (run,) = runs_of([("The bird ", 0), ("sings.", 9)])
    assert run.text == "The bird sings."
    assert run.is_exact(0, 1)


def test_an_overlap_is_kept_once() -> None:
    (run,) = runs_of([("The bird sings", 0), ("bird sings loud", 4)])
    assert run.text == "The bird sings loud"
    assert run.is_exact(0, 1)


def test_a_contained_chunk_adds_nothing() -> None:
    (run,) = runs_of([("The bird", 0), ("bird", 4), ("sings.", 9)])
    assert run.text == "The bird sings."
    assert [(s.start, s.end, s.chunk_id) for s in run.segments(0, 2, 0, 15)] == [(0, 8, 0), (9, 15, 2)]


def test_dropped_white_space_is_closed_with_the_joiner_and_said_to_be_inexact() -> None:
    (run,) = runs_of([("The bird", 0), ("sings.", 9)])
    assert run.text == "The bird sings."
    assert not run.is_exact(0, 1)
    assert run.is_exact(0, 0)
    assert run.is_exact(1, 1)


@pytest.mark.parametrize(("gap", "runs"), [(4, 1), (5, 2)])
def test_a_wider_gap_ends_the_run(gap: int, runs: int) -> None:
    assert len(runs_of([("The bird", 0), ("sings.", 8 + gap)])) == runs


@pytest.mark.parametrize(("gap", "said"), [(1, []), (2, []), (3, [3]), (4, [4]), (5, [])])
def test_gaps_that_are_closed_though_they_may_hold_words_are_listed(gap: int, said: list[int]) -> None:
    chunks = [make_chunk("d", 0, "The bird", 0), make_chunk("d", 1, "sings.", 8 + gap)]
    gaps = stitch(chunks).gaps
    assert [found.width for found in gaps] == said
    assert all(found.chunk is chunks[1] for found in gaps)


def test_without_offsets_the_longest_suffix_that_is_a_prefix_is_kept_once() -> None:
    assert texts_of([("She saw the bird in the", None), ("bird in the tree.", None)]) == [
        "She saw the bird in the tree."
    ]


def test_a_chance_overlap_of_a_few_letters_is_not_an_overlap() -> None:
    assert texts_of([("He said no", None), ("no one came", None)]) == ["He said no no one came"]


def test_a_short_chunk_that_ends_a_word_by_chance_is_not_in_it() -> None:
    assert texts_of([("She plays the piano", None), ("no", None)]) == ["She plays the piano no"]
    assert texts_of([("She said no", None), ("no", None)]) == ["She said no"]


@pytest.mark.parametrize(
    ("parts", "liars"),
    [
        ([("The bird ", 0), ("sings.", 9)], 0),
        ([("The bird ", 0), ("sings loud and long.", 3)], 1),  # contradicts the text before
        ([("The bird ", 0), ("bird sings.", 4)], 0),
    ],
)
def test_offsets_that_contradict_the_text_are_noticed(parts: list[tuple[str, int]], liars: int) -> None:
    found = stitch([make_chunk("d", i, text, start) for i, (text, start) in enumerate(parts)]).inconsistent
    assert len(found) == liars


def test_offsets_that_contradict_the_length_are_noticed() -> None:
    honest = make_chunk("d", 0, "The bird ", 0)
    lying = Chunk("sings.", type(honest.metadata)("d", 1, 9, 99))
    runs, liars, _ = stitch([honest, lying])
    assert liars == [lying]
    assert runs[0].sources == (0, None)
    assert not runs[0].is_exact(0, 1)


@try_examples(600)
@given(texts, st.data())
def test_a_text_cut_anywhere_comes_back_whole(source: str, data: st.DataObject) -> None:
    """Chunks that cover a text in order, overlapping at will, are stitched to exactly that text."""
    parts: list[tuple[str, int | None]] = []
    reached = start = 0
    while reached < len(source):
        start = data.draw(st.integers(start, reached))
        end = data.draw(st.integers(max(start, reached) + 1, len(source)))
        parts.append((source[start:end], start))
        reached = end
    (run,) = runs_of(parts)
    assert run.text == source
    assert run.is_exact(0, len(parts) - 1)
    for (low, high), chunk in zip(run.ranges, run.chunks, strict=True):
        assert run.text[low:high] == chunk.text


@try_examples(400)
@given(st.lists(texts, min_size=1, max_size=6))
def test_without_offsets_every_chunk_is_in_the_text(parts: list[str]) -> None:
    (run,) = runs_of([(part, None) for part in parts])
    for (low, high), part in zip(run.ranges, parts, strict=True):
        assert run.text[low:high] == part
    assert len(run.text) <= sum(map(len, parts)) + len(parts) - 1


@given(texts, texts)
def test_overlap_is_a_suffix_and_a_prefix(left: str, right: str) -> None:
    size = overlap_length(left, right)
    assert left.endswith(right[:size])
    assert size == 0 or size >= MIN_OVERLAP or size == len(right)


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([("The bird", 0), ("sings.", 9)], "The bird sings."),
        ([("The bird", 0), ("sings.", 10)], "The bird\n\nsings."),
        ([("Birds:", 0), ("- the wren", 7)], "Birds:\n- the wren"),
        ([("| a | b |", None), ("| c | d |", None)], "| a | b |\n| c | d |"),
        ([("The bird", None), ("sings.", None)], "The bird sings."),
    ],
)
def test_without_a_joiner_the_dropped_white_space_is_guessed(parts: list[tuple[str, int | None]], text: str) -> None:
    (run,) = runs_of(parts)
    assert run.text == text
    assert not run.is_exact(0, 1)


@given(st.text("-a", max_size=60), st.text("-a", max_size=60))
def test_overlaps_of_repeated_patterns_are_the_longest(left: str, right: str) -> None:
    left, right = "-" * 12 + left, "-" * 12 + right
    sizes = [size for size in range(MIN_OVERLAP, len(right) + 1) if left.endswith(right[:size])]
    assert overlap_length(left, right) == max(sizes, default=0)


class CountedText(str):
    """Counts the characters that are read of it, copies included."""

    __slots__ = ("read",)

    def __getitem__(self, at: Any) -> str:
        found = super().__getitem__(at)
        self.read = getattr(self, "read", 0) + len(found)
        return found


def test_an_overlap_is_found_without_comparing_every_length_of_it() -> None:
    left, right = CountedText("-" * 2_000 + "x"), CountedText("-" * 2_000 + "y")
    assert overlap_length(left, right) == 0
    assert left.read + right.read < 10 * len(left)
