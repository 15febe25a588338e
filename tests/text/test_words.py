"""How words are read: which spellings are one word, in which languages, and where each stands in the source."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import texts

from retrivex.text.terms import TermIndex, split_words
from retrivex.text.words import read, read_text

ALIKE = [
    # forms
    ("ligature", "e\ufb03cient", "efficient"),
    ("full width", "ＳＱＬｉｔｅ ３", "sqlite 3"),
    ("half-width kana", "ﾃﾞｰﾀ", "データ"),
    ("sharp s", "Lindenstraße", "LINDENSTRASSE"),
    ("final sigma", "ΛΟΓΟΣ", "λόγος"),
    ("soft hyphen", "pro\u00adcess", "process"),
    ("zero width", "data\u200bbase\u2060s \ufeffhere", "databases here"),
    ("roman numeral", "Ⅳ", "iv"),
    ("circled", "①", "1"),
    # marks that writers leave out
    ("French", "Élève, cœur, garçon", "eleve, coeur, garcon"),
    ("German", "Zürich", "Zurich"),
    ("Spanish", "¿Qué año?", "¿que ano?"),
    ("Czech", "Příliš žluťoučký kůň", "prilis zlutoucky kun"),
    ("Polish", "Łódź", "lodz"),
    ("Danish", "smørrebrød", "smorrebrod"),
    ("Turkish", "İstanbul Işık", "istanbul isik"),
    ("Greek", "Η βιβλιοθήκη", "η βιβλιοθηκη"),
    ("ancient Greek", "ᾠδή", "ωδη"),
    ("Russian", "ещё за\u0301мок", "еще замок"),
    ("Arabic", "مَرْحَبًا بِكُمْ", "مرحبا بكم"),
    ("Arabic, stretched", "مرحـــبا", "مرحبا"),
    ("Arabic, alef", "أحمد إلى الآن", "احمد الى الان"),
    ("Hebrew", "שָׁלוֹם", "שלום"),
    ("Syriac", "ܫܠܵܡܵܐ", "ܫܠܡܐ"),
    # composed and decomposed
    ("Latin, decomposed", "Cafe\u0301", "café"),
    ("Vietnamese, decomposed", "e\u0323\u0302", "ệ"),
    ("Cyrillic, decomposed", "мои\u0306", "мой"),
    ("kana, decomposed", "か\u3099", "が"),
    ("Korean, decomposed", "\u1112\u1161\u11ab", "한"),
    ("Tamil, decomposed", "\u0b95\u0bc6\u0bbe", "\u0b95\u0bca"),
]

APART = [
    ("Russian", "мой", "мои"),
    ("Ukrainian", "їх", "іх"),
    ("Belarusian", "ўзор", "узор"),
    ("Macedonian", "ќе", "ке"),
    ("kana, voiced", "がか", "かか"),
    ("kana, half voiced", "パ", "ハ"),
    ("Hindi, vowel", "कि", "की"),
    ("Hindi, none", "दिन", "दन"),
    ("Bengali", "কি", "কা"),
    ("Thai, tone", "ข้าว", "ขาว"),
    ("Tamil", "கை", "க"),
    ("Vietnamese, tone", "mả", "mạ"),
    ("Vietnamese, letter", "mơ", "mo"),
    ("trade mark", "Word™", "WordTM"),
    ("symbol", "20㎏", "20kg"),
]


@pytest.mark.parametrize(("left", "right"), [row[1:] for row in ALIKE], ids=[row[0] for row in ALIKE])
def test_spellings_of_one_word_are_read_alike(left: str, right: str) -> None:
    assert read_text(left) == read_text(right)
    assert read_text(left, cased=True).casefold() == read_text(left)


@pytest.mark.parametrize(("left", "right"), [row[1:] for row in APART], ids=[row[0] for row in APART])
def test_other_words_are_read_apart(left: str, right: str) -> None:
    assert read_text(left) != read_text(right)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("the war-\nranty", "the war warranty ranty"),
        ("the war\u00ad\nranty", "the war warranty ranty"),
        ("the war\u2010\r\n  ranty", "the war warranty ranty"),
        ("war-\n\nranty overleaf", "war warranty ranty overleaf"),
        ("in-\nfor-\nmation", "in information for mation"),
        ("Straßen-\nbahn", "strassen strassenbahn bahn"),
        ("हिन्दी-\nभाषा", "हिन्दी हिन्दीभाषा भाषा"),
        ("می\u200cخواهم", "می میخواهم خواهم"),
        ("CVE-2024-\n3094", "cve 2024 3094"),  # numbers keep their hyphens
        ("one - \ntwo", "one two"),
        ("- one\n- two", "one two"),
        ("in-\nin蜜蜂", "in inin in 蜜蜂"),
        ("蜜-\n蜂", "蜜 蜂"),
        ("self-made", "self made"),
        ("war-", "war"),
        ("getUserName()", "get getusername user name"),
        ("the NickPark.md", "the nick nickpark park md"),
        ("HTTPServer", "httpserver"),
        ("das größerAls", "das grosser grosserals als"),
        ("getUser-\nName", "get getusername user name"),
        ("蜜getUser", "蜜 get getuser user"),
        ("1,250.00", "1 1250 250 00"),
        ("3.475.000 Euro", "3 3475000 475 000 euro"),
        ("1.234.567,89 und 1.234.567.", "1 1234567 234 567 89 und 1 1234567 234 567"),
        ("1.250 or 1,25", "1 250 or 1 25"),  # a decimal
        ("1,250,00 and v1.250.300", "1 250 00 and v1 250 300"),  # no numbers
    ],
)
def test_a_word_of_several_parts_is_read_whole_and_in_parts(text: str, words: str) -> None:
    assert [word for word, _ in split_words(read_text(text))] == words.split()


def test_rules_and_lists_cut_no_word() -> None:
    text = "---\ntitle: a\n---\n\n- one\n- two -\n\n9-\nten"
    assert read(text) == (text, None)


def test_a_cut_word_may_be_read_whole_only() -> None:
    assert read_text("the War-\nranty is", join=True, cased=True) == "the Warranty is"


@given(st.text(st.characters(max_codepoint=127)))
def test_english_is_read_as_lower_case_unless_a_word_has_parts(text: str) -> None:
    text = text.replace("-", "_")
    assert read_text(text, cased=True, join=True) == text
    text = re.sub("[a-z](?=[A-Z])|[,.](?=[0-9])", "_", text)
    assert read(text) == (text.lower(), None)
    assert read_text(text + " \u201c") == text.lower() + " \u201c"


PARTS = st.sampled_from(
    ["in", "war", "-\n", "\u00ad", "\u00ad\n", "-", " ", "ß", "ﬁ", "é", "e\u0301", "ё", "\u0301", "ｶﾞ", "か\u3099", "ﷺ",
     "मी", "\u200c", "م", "مَ", "ữ", "蜜蜂", "\ud800", "9", ".", "\U00010400", "Name", ",250"]
)  # fmt: skip
SOURCES = st.lists(PARTS, max_size=20).map("".join) | texts


@given(st.lists(SOURCES, min_size=1, max_size=3), st.integers(1, 12))
def test_places_of_a_word_lead_to_source_text_that_is_read_so(sources: list[str], size: int) -> None:
    source = "\n\n".join(sources)
    pool = TermIndex.of(sources)
    words = split_words(pool.text)
    for term in sorted({word[:size] for word, unspaced in words if not unspaced}):
        _, places = pool.find([(term, False)])
        assert len(places)
        assert sorted(set(places.tolist())) == places.tolist()
        # a cut word's first part stands in front of it, and a character may stand for four words
        near = [[word for word, _ in split_words(read_text(source[at:]))[:10]] for at in places]
        assert all(any(word.startswith(term) for word in found) for found in near)
    for pair in sorted({word[:2] for word, unspaced in words if unspaced}):
        assert all(read_text(source[at:]).startswith(pair) for at in pool.anywhere(pair).tolist())


@given(SOURCES, st.booleans())
def test_offsets_ascend_within_the_source(text: str, join: bool) -> None:
    made, offsets = read(text, join=join)
    if offsets is None:
        assert len(made) == len(text)
    else:
        assert len(offsets) == len(made)
        assert sorted(offsets.tolist()) == offsets.tolist()
        assert all(0 <= at < len(text) for at in offsets.tolist())
