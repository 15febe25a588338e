"""Addresses are written down without what is secret in them."""

from __future__ import annotations

import base64
from string import ascii_letters, digits
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex.text.addresses import Confidential, without_credentials

SECRET = st.text(st.characters(exclude_categories=("Cs", "Cc", "Z")), min_size=4, max_size=20).map(
    lambda word: f"s3{word}"
)
PLAIN = st.text(ascii_letters + digits, min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("http://localhost:8000/v1", "http://localhost:8000/v1"),
        ("http://me:pw@localhost:8000/v1", "http://localhost:8000/v1"),
        ("https://token@host", "https://host"),
        ("https://me:p/w@host/v1", "https://host/v1"),
        ("https://me:p@w@host/v1", "https://host/v1"),
        ("HTTPS://host/rerank?key=k#part", "HTTPS://host/rerank"),
        (
            "see 'https://a:b@host/?x=1' and postgresql://u:p@db:5432/name?sslmode=x",
            "see 'https://host/' and postgresql://db:5432/name",
        ),
        ("http://[::1]:80/x?y", "http://[::1]:80/x"),
        ("host=db password=hunter2 user=me", "host=db password=*** user=me"),
        ("host=db password='hunter 2'", "host=db password=***"),
        ("me@example.org asks: 3 > 2?", "me@example.org asks: 3 > 2?"),
        ("file.md: it is empty", "file.md: it is empty"),
    ],
)
def test_addresses_by_hand(given: str, said: str) -> None:
    assert without_credentials(given) == said
    assert without_credentials(said) == said


@given(SECRET, SECRET, SECRET, SECRET, PLAIN, st.text(max_size=20))
def test_no_secret_is_left_in_any_words(user: str, password: str, value: str, key: str, host: str, words: str) -> None:
    safe = [quote(word, safe="") for word in (user, password, value)]
    place = Confidential(f"https://{safe[0]}:{safe[1]}@{host}/v1?token={safe[2]}", key)
    basic = base64.b64encode(f"{user}:{password}".encode()).decode()
    echoed = f"{words} {user} {password} {value} {key} {' '.join(safe)} Basic {basic} {words}"
    for said in (place.address, place.hide(echoed)):
        for secret in (user, password, value, key, basic, *safe):
            assert secret not in said.replace(words, "")
    assert place.address == f"https://{host}/v1"


def test_half_a_secret_is_not_left_where_words_are_cut() -> None:
    place = Confidential("https://host", "very-secret-key")
    assert place.hide("key very-secret-key is wrong", 10) == "key *** is"
