import codecs

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from retrivex.errors import LoadError
from retrivex.loading.text import decode, load_text

PRINTABLE = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1)


def test_offsets_count_in_the_untouched_text() -> None:
    document = load_text(b"one\r\ntwo\rthree\n", "a.txt", "/folder/a.txt").document
    assert document.text == "one\r\ntwo\rthree\n"
    assert (document.doc_id, document.source, document.format) == ("a.txt", "/folder/a.txt", "text")
    assert document.metadata == {}


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_a_byte_order_mark_decides_and_goes(mark: bytes, encoding: str) -> None:
    decoded = decode(mark + "Bienen schlafen – 蜂".encode(encoding))
    assert (decoded.text, decoded.encoding, decoded.note) == ("Bienen schlafen – 蜂", encoding, None)


@given(PRINTABLE)
@example("\ufeff")
def test_utf8_comes_back_as_it_was(text: str) -> None:
    expected = text.removeprefix("\ufeff")  # a mark at the very start is no text
    assert decode(text.encode("utf-8")).text == expected


def test_windows_1252_is_guessed_and_said() -> None:
    loaded = load_text("Caf\xe9 cr\xe8me \x80 2".encode("latin-1"), "a.txt")
    assert loaded.document.text == "Café crème € 2"
    assert loaded.document.metadata == {"encoding": "cp1252"}
    assert loaded.notes == ("not UTF-8; read as cp1252: check its accents",)


def test_a_few_broken_bytes_do_not_spoil_a_utf8_text() -> None:
    decoded = decode("Füße, Käse, Größe".encode() + b"\xff.")
    assert decoded.text == "Füße, Käse, Größe\ufffd."
    assert decoded.note == "read as UTF-8; 1 broken bytes became U+FFFD"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "empty"),
        (b" \r\n\t", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (b"text\0more", "NUL bytes"),
        ("Bees".encode("utf-16-le"), "NUL bytes"),
        (bytes(range(1, 32)) * 4, "control codes"),
        ("Пчёлы спят".encode("koi8-r"), "encoding is unknown"),
        (b"caf\xe9 \x81 noir, plain text", "encoding is unknown"),
        (codecs.BOM_UTF16_LE + b"a", "byte-order mark says utf-16-le"),
    ],
)
def test_what_is_not_text_is_refused(raw: bytes, reason: str) -> None:
    with pytest.raises(LoadError, match=reason):
        load_text(raw, "a.txt")


@given(st.binary(max_size=200))
def test_any_bytes_are_text_or_refused(raw: bytes) -> None:
    try:
        text = decode(raw).text
    except LoadError:
        return
    assert "\0" not in text
    text.encode("utf-8")


def test_a_declared_encoding_is_used_where_it_fits() -> None:
    assert decode("Пчёлы".encode("koi8-r"), declared="koi8-r").text == "Пчёлы"
    assert decode("Bücher".encode(), declared="shift_jis_99").text == "Bücher"
    assert decode(b"\x93quoted\x94", declared="iso-8859-1").text == "“quoted”"
    assert decode(b"plain", declared="base64").text == "plain"  # a codec, but not for text
