"""Quotes that differ from the text in everything but letters and digits."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import texts

from retrivex.evaluation.datasets.letters import LetterIndex


@pytest.mark.parametrize(
    ("text", "quote", "found"),
    [
        ("The bees[1] sleep-walk; ants do not.", "BEES 1 sleepwalk", "bees[1] sleep-walk"),
        ("Opened in 1,951.", "opened in 1951", "Opened in 1,951"),
        ("then a hen.", "hen", "hen"),
        ("then", "hen", None),
        ("hens", "hen", None),
        ("hens. hen. henna", "hen", "hen"),
        ("On 20 March, Reuters voiced it, too.", "n 20 March, Reuters voice", "On 20 March, Reuters voiced"),
        ("蜜蜂，住在蜂巢里。", "住在蜂巢", "住在蜂巢"),
        ("北京2008年", "2008", "2008"),
        ("Straße", "STRASSE", "Straße"),
        ("bees", "wasps", None),
        ("bees", "...", None),
        ("", "bees", None),
    ],
)
def test_quotes_by_their_letters(text: str, quote: str, found: str | None) -> None:
    place = LetterIndex(text).find(quote)
    assert (None if place is None else text[slice(*place)]) == found


def letters_of(text: str) -> list[str]:
    return [letter for letter in text.casefold() if letter.isalnum() or unicodedata.category(letter)[0] == "M"]


@given(texts, st.data())
def test_words_of_a_text_are_found_without_what_stands_between_them(text: str, data: st.DataObject) -> None:
    words = text.split()
    first = data.draw(st.integers(0, max(0, len(words) - 1)))
    quote = "/".join(words[first : data.draw(st.integers(first, len(words)))])
    place = LetterIndex(text).find(quote)
    letters = letters_of(quote)
    assert (place is None) == (not letters)
    if place:
        assert letters_of(text[slice(*place)]) == letters
