"""Parts are found where `str.find` finds them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from retrivex.text.occurrences import TextIndex

letters = st.text(st.sampled_from("aab\1é蜂\ud83d\U0010ffff"), max_size=60)


@given(st.lists(letters, max_size=6), st.lists(letters.filter(bool), max_size=20))
def test_parts_are_found_where_reading_finds_them(texts: list[str], parts: list[str]) -> None:
    parts += [text[1:at] for text in texts for at in (4, 40) if len(text) > 1]
    index = TextIndex(texts)
    for part in parts:
        assert index.holds(part) == any(part in text for text in texts)
        assert [*index.places(part)] == [(n, at) for n, text in enumerate(texts) for at in read(text, part)]


def read(text: str, part: str) -> list[int]:
    found = [text.find(part)]
    while found[-1] != -1:
        found.append(text.find(part, found[-1] + len(part)))
    return found[:-1]


def test_nothing_is_found_across_two_texts() -> None:
    index = TextIndex(["Bees sleep", "at night in their hive"])
    assert not index.holds("sleepat")
    assert not index.holds("sleep\0at")
    assert [*index.places("at")] == [(1, 0)]
