"""Parts are found where `str.find` finds them, by a suffix array as well as one by one."""

from __future__ import annotations

import sys
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex.text import occurrences
from retrivex.text.occurrences import FEW, TextIndex, suffix_order

letters = st.text(st.sampled_from("aab\0\x01é蜂\ud83d\U0010ffff"), max_size=30)


@given(st.lists(letters, max_size=6), st.lists(letters.filter(bool), max_size=20), st.sampled_from([0, FEW, FEW + 1]))
def test_parts_are_found_where_reading_finds_them(texts: list[str], parts: list[str], searches: int) -> None:
    parts += [text[1:4] for text in texts if len(text) > 1]
    index = TextIndex(texts, searches, max(map(len, parts), default=0))
    for part in parts:
        assert index.holds(part) == any(part in text for text in texts)
        assert [*index.places(part)] == [(number, at) for number, text in enumerate(texts) for at in read(text, part)]


def read(text: str, part: str) -> list[int]:
    found = [text.find(part)]
    while found[-1] != -1:
        found.append(text.find(part, found[-1] + len(part)))
    return found[:-1]


@given(letters.filter(bool), st.integers(1, 40))
def test_suffixes_are_in_order(text: str, longest: int) -> None:
    order = suffix_order(text, longest).tolist()
    assert sorted(order) == list(range(len(text)))
    begins = [text[at : at + longest] for at in order]
    assert begins == sorted(begins)


@pytest.mark.parametrize("searches", [1, FEW + 1])
def test_nothing_is_found_across_two_texts(searches: int) -> None:
    index = TextIndex(["Bees\0sleep", "at night"], searches, 8)
    assert not index.holds("sleepat")
    assert not any(index.holds(f"sleep{separator}at") for separator in "\0\x01\x02")
    assert index.holds("\0sleep")


def test_texts_of_every_character_there_is_are_told_apart() -> None:
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    index = TextIndex([everything, "Bees sleep."], FEW + 1, 9)
    assert [*index.places("BCD")] == [(0, ord("B"))]
    assert [*index.places("sleep")] == [(1, 5)]
    assert [index.holds(part) for part in ("\0\x01", "sleep", "\U0010ffffBees")] == [True, True, False]


@pytest.mark.parametrize("searches", [1, FEW, 10 * FEW])
def test_a_text_is_sorted_once_where_many_parts_are_looked_for(searches: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However few were announced: nobody knows beforehand how many there will be."""
    text = "Bees sleep in the hive."
    sort = Mock(return_value=suffix_order(text, 9))
    monkeypatch.setattr(occurrences, "suffix_order", sort)
    index = TextIndex([text], 1, 9)
    assert all(index.holds("the hive") for _ in range(searches))
    assert sort.call_count == (searches > FEW)
