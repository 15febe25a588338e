from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from retrivex.chunking import sentence_ranges
from retrivex.text.sentences import MAX_CLUSTER, cut_places

MARKS = st.text(
    "ab A1.。！？!?\"'“”「」()\n\r\t 😀é\u0301\u200d\u2028\xa0\x85\x1c\x0c\u3000;；:-&<…\ud800", max_size=80
)
LANGUAGES = st.sampled_from(["en", "de", "zh", "ja", "ru", "ar", "hi", "xx", ""])


def sentences(text: str, language: str = "en") -> list[str]:
    return [text[start:end] for start, end in sentence_ranges(text, language)]


@given(st.one_of(st.text(max_size=80), MARKS, st.text("ab .。\n", min_size=900, max_size=2500)), LANGUAGES)
@example("A\x0c\x85.'>A>[\r[😀”\x85!\r”>?*“_ \x0c“\n.", "en")  # these two once made the segmenter abort
@example("\x1c.>\x1c？!\r\x1c。\tA\r\n\u2028.\u2028!`_)&\x85,", "en")
def test_every_visible_character_is_in_exactly_one_sentence(text: str, language: str) -> None:
    covered = 0
    for start, end in sentence_ranges(text, language):
        assert not text[covered:start].strip()
        assert text[start:end] == text[start:end].strip() != ""
        assert start >= covered
        covered = end
    assert not text[covered:].strip()


def test_abbreviations_and_numbers_do_not_end_a_sentence() -> None:
    text = "Dr. Lee paid 3.5 million, i.e. too much. She left!  Why?"
    assert sentences(text) == ["Dr. Lee paid 3.5 million, i.e. too much.", "She left!", "Why?"]


@pytest.mark.parametrize("language", ["en", "zh", "ja", "de", "xx"])
def test_chinese_and_japanese_full_stops_count_in_every_language(language: str) -> None:
    assert sentences("蜜蜂睡觉。它们醒来！做梦吗？是的", language) == ["蜜蜂睡觉。", "它们醒来！", "做梦吗？", "是的"]


def test_offsets_count_characters_behind_emoji() -> None:
    assert sentence_ranges("😀😀 hi. 😀 bye.") == [(0, 6), (7, 13)]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_blank_line_ends_a_sentence_and_a_line_break_does_not(newline: str) -> None:
    text = f"A title{newline}{newline}Hard{newline}wrapped."
    assert sentences(text) == ["A title", f"Hard{newline}wrapped."]


def test_a_quotation_that_never_closes_is_cut_at_its_full_stops() -> None:
    text = "他说：“" + "今天的天气非常好，我们去公园散步吧。" * 60
    assert max(map(len, sentences(text))) < 100


def test_sentences_on_the_edge_of_a_window_are_not_cut() -> None:
    text = "This is one sentence of fifty characters, or so it. " * 400
    assert set(sentences(text)) == {"This is one sentence of fifty characters, or so it."}


def test_words_are_not_cut_where_a_text_has_no_sentences() -> None:
    assert {word for part in sentences("unpunctuated words " * 500) for word in part.split()} == {
        "unpunctuated",
        "words",
    }


def test_no_text_has_no_sentences() -> None:
    assert sentence_ranges("") == sentence_ranges(" \n\t") == []


@given(MARKS, st.integers(0, 40), st.integers(0, 60))
def test_a_text_may_be_cut_within_the_length_of_a_letter(text: str, start: int, marks: int) -> None:
    text = text[:start] + "\u0301" * marks + text[start:]
    places = [*cut_places(text, 0, len(text))]
    assert places == sorted(set(places))
    assert places[-1:] == ([len(text)] if text else [])
    assert all(high - low <= MAX_CLUSTER for low, high in pairwise([0, *places]))
