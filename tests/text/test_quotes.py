"""Finding a quote again although a model has re-wrapped, re-cased or re-quoted it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.strategies import texts

from retrivex.text.quotes import find_quote


@pytest.mark.parametrize(
    ("text", "quote", "found"),
    [
        ("He said: the  Bees\nsleep.", "the bees sleep", ["the  Bees\nsleep"]),
        ("It was “fine”.", 'it was "fine"', ["It was “fine"]),
        ("He’s here", "he's HERE", ["He’s here"]),
        ("1914–1918 was war", "1914-1918", ["1914–1918"]),
        ("bees and bees", "Bees", ["bees", "bees"]),
        ("bees", '"bees..."', ["bees"]),
        ("bees", "‘bees…’", ["bees"]),
        ("Straße", "STRASSE", ["Straße"]),
        ("The ef\ufb01cient pro\u00adcess", "efficient process", ["ef\ufb01cient pro\u00adcess"]),
        ("All infor-\nmation here", "information", ["infor-\nmation"]),
        ("an interferon-\ndependent one", "interferon-dependent", ["interferon-\ndependent"]),
        ("Le cafe\u0301 ouvre", "café", ["cafe\u0301"]),
        ("Η βιβλιοθήκη", "βιβλιοθηκη", ["βιβλιοθήκη"]),
        ("pages 3-4", "34", []),
        ("bees", "wasps", []),
        ("bees", "", []),
        ("bees", ' " ', []),
        ("蜜蜂住在蜂巢里。", "住在蜂巢", ["住在蜂巢"]),
        ("İstanbul", "i̇stanbul", ["İstanbul"]),
    ],
)
def test_quotes(text: str, quote: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in find_quote(text, quote)] == found


@given(texts, st.data())
def test_any_words_of_a_text_are_found_where_they_stand(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    quote = text[start:end]
    assume(not unicodedata.combining(text[end : end + 1] or " "))  # half a letter
    assume(quote.strip(" \"'“”‘’.…\n\t\u00a0\u200b\u200d"))
    folded = {" ".join(text[a:b].casefold().split()) for a, b in find_quote(text, quote.upper())}
    assert folded or "ß" in quote or quote.upper().casefold() != quote.casefold()
    assert all(0 <= a < b <= len(text) for a, b in find_quote(text, quote))
    assert find_quote(text, quote)
