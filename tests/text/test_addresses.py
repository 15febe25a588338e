"""Addresses are written down without what is secret in them."""

from __future__ import annotations

import base64
import json
from string import ascii_letters, digits
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex.text.addresses import Confidential, find_fault, without_credentials
from retrivex.text.lines import describe_error

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
        ("http://u:S3CRET x@127.0.0.1:9/x was not asked", "http://127.0.0.1:9/x was not asked"),
        ("http://u:S3C\nRET@h/x", "http://h/x"),
        ("http://u:S3C'RET@h/x", "http://h/x"),
        ('http://u:S3C"RET@h/x', "http://h/x"),
        ("http://u:S3C<RET@h/x", "http://h/x"),
        ("http://S3C<R'ET@h/x", "http://h/x"),
        ("http://u:S3C?RET@h/x", "http://h/x"),
        ("http://u:S3CRET", "http://***"),
        ("http://127.0.0.1:9/rerank;key=S3CRET", "http://127.0.0.1:9/rerank"),
        ("http://127.0.0.1:9/rerank; see that it runs", "http://127.0.0.1:9/rerank; see that it runs"),
        ("jdbc:sqlserver://h;user=u;password=S3CRET", "jdbc:sqlserver://h"),
        ("http://h/?a b=S3CRET is wrong", "http://h/ is wrong"),
        ("http://h/?a='S3CRET' is wrong", "http://h/ is wrong"),
        ("at //u:S3CRET@h/x", "at //h/x"),
        ("at u:S3CRET@h:80", "at ***@h:80"),
        ("http://localhost:8000: me@example.org knows", "http://localhost:8000: me@example.org knows"),
        ("http://[::1]:80/x: me@example.org knows", "http://[::1]:80/x: me@example.org knows"),
        ("me@example.org asks: 3 > 2?", "me@example.org asks: 3 > 2?"),
        ("postgresql:/me:S3CRET@db.example/x does not exist", "postgresql:/db.example/x does not exist"),
        ("/tmp/here/https:/S3CRET@wiki/a is no file", "/tmp/here/https:/wiki/a is no file"),
        ("https:/wiki/a?token=S3CRET is no file", "https:/wiki/a is no file"),
        ("https:/wiki/a?S3CRET#S3CRET", "https:/wiki/a"),
        ("C:/docs/me@home/a#1.md: it is empty", "C:/docs/me@home/a#1.md: it is empty"),
        ("/usr/bin:/opt/x:/data/app:ro", "/usr/bin:/opt/x:/data/app:ro"),
        ("data:/app:ro is mounted", "data:/app:ro is mounted"),
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


@pytest.mark.parametrize("sign", [" ", "\n", "\t", "\x00", "\x9b", "'", '"', "<", "\u2028"])
def test_an_address_with_what_no_address_has_is_refused_and_not_repeated(sign: str) -> None:
    fault = find_fault(f"http://u:S3{sign}CRET@h/x")
    assert fault is not None
    assert "S3" not in fault
    assert "CRET" not in fault
    assert find_fault("https://u:p%20w@h:8/x;y?z=1#w") is None


def test_parameters_are_secrets_too() -> None:
    place = Confidential("http://h/rerank;key=S3CRET")
    assert place.address == "http://h/rerank"
    assert place.hide("S3CRET is no key") == "*** is no key"


@pytest.mark.parametrize(
    "words", ["http://" + "a:" * 20_000, "http://a" * 5_000, "a:" * 20_000 + "@", "//" * 20_000, "?a =" * 9_999]
)
def test_long_words_are_read_in_time(words: str) -> None:
    assert without_credentials(words) is not None


def test_half_a_secret_is_not_left_where_words_are_cut() -> None:
    place = Confidential("https://host", "very-secret-key")
    assert place.hide("key very-secret-key is wrong", 10) == "key *** is"


def test_a_secret_is_found_as_a_program_writes_it() -> None:
    key = "a-key-with-\\-in-it"
    place = Confidential("https://host", key)
    assert place.hide(f"sent {key.encode()!r}, {json.dumps([key])}") == "sent b'***', [\"***\"]"


def test_the_address_of_a_file_is_none_with_secrets_either() -> None:
    error = OSError(36, "File name too long", f"https://me:S3CRET@host/v1?token={'S3CRET' * 99}")
    assert describe_error(error) == "https://host/v1: File name too long"
