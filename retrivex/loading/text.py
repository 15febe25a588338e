"""Reads plain text, and decodes the bytes of every format."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from retrivex.errors import LoadError
from retrivex.loading.report import Loaded
from retrivex.model.document import Document

# UTF-32 first: its little-endian mark begins with UTF-16's.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_FALLBACK = "cp1252"
_MAX_HIGH_BYTES = 0.3  # share of bytes over 0x7F in a Western single-byte text; Cyrillic or Greek has far more
_MAX_CONTROLS = 0.01  # share of control characters in a text; form feeds and terminal colours stay under it
_CONTROLS = re.compile(r"[\x01-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text that was decoded from bytes.

    Parameters
    ----------
    text : without byte-order mark, newlines as in the file
    encoding : the encoding it was read in, e.g. `utf-8`
    note : what was guessed or replaced; None where nothing was
    """

    text: str
    encoding: str
    note: str | None = None


def decode(raw: bytes, declared: str | None = None) -> Decoded:
    r"""Turn the bytes of a text file into text.

    A byte-order mark decides; then `declared`; then UTF-8. What is none of these is read as UTF-8 with its few
    broken bytes replaced where most of its sequences are sound, else as Windows-1252; both leave a note.
    Newlines are not translated, so that offsets count in the file's own text.

    Parameters
    ----------
    raw : the whole file
    declared : the encoding the file names itself, if it does

    Raises
    ------
    LoadError
        If the bytes are not text, or in an unknown encoding.

    Examples
    --------
    >>> decode(b"\xef\xbb\xbfBees\r\n").text
    'Bees\r\n'
    >>> decode(b"caf\xe9 noir").encoding
    'cp1252'
    """
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            return _check(_strict(raw[len(mark) :], encoding))
    if b"\0" in raw:
        raise LoadError(
            "it is not text: it has NUL bytes and no byte-order mark; leave it out, or save it as UTF-8 if it is text"
        )
    if declared is not None and (decoded := _decode_declared(raw, declared)) is not None:
        return _check(decoded)
    try:
        return _check(Decoded(raw.decode("utf-8"), "utf-8"))
    except UnicodeDecodeError:
        return _check(_guess(raw))


def _strict(raw: bytes, encoding: str) -> Decoded:
    try:
        return Decoded(raw.decode(encoding), encoding)
    except UnicodeDecodeError as error:
        raise LoadError(
            f"its byte-order mark says {encoding}, but byte {error.start} is not; save the file as UTF-8"
        ) from error


def _decode_declared(raw: bytes, label: str) -> Decoded | None:
    """Decode as the file asks for; None where the label is unknown or does not fit."""
    try:
        encoding = codecs.lookup(label).name
        # Web pages that say Latin-1 mean Windows-1252 (WHATWG Encoding Standard); NULs were refused above.
        encoding = {"iso8859-1": _FALLBACK, "ascii": _FALLBACK}.get(encoding, encoding)
        return Decoded(raw.decode(encoding), encoding)
    except (LookupError, ValueError):  # ValueError: wrong bytes, or a codec that is not for text
        return None


def _guess(raw: bytes) -> Decoded:
    replaced = raw.decode("utf-8", errors="replace")
    broken = replaced.count("\ufffd")
    sound = sum(character > "\x7f" for character in replaced) - broken
    if sound > 2 * broken:
        return Decoded(replaced, "utf-8", f"read as UTF-8; {broken} broken bytes became U+FFFD")
    high = len(raw) - len(raw.decode("ascii", errors="ignore"))
    if high <= _MAX_HIGH_BYTES * len(raw):
        try:
            return Decoded(raw.decode(_FALLBACK), _FALLBACK, f"not UTF-8; read as {_FALLBACK}: check its accents")
        except UnicodeDecodeError:
            pass  # the five bytes that Windows-1252 leaves undefined: not that encoding either
    raise LoadError("its encoding is unknown: it is not UTF-8 and has no byte-order mark; save it as UTF-8")


def _check(decoded: Decoded) -> Decoded:
    text = decoded.text
    controls = len(_CONTROLS.findall(text))
    if "\0" in text or controls > max(2, _MAX_CONTROLS * len(text)):
        raise LoadError(f"it is not text: {controls} of {len(text)} characters are control codes; leave it out")
    return decoded


def encoding_metadata(decoded: Decoded) -> dict[str, str]:
    """Return what `Document.metadata` says about the encoding: nothing for plain UTF-8."""
    return {} if decoded.encoding == "utf-8" and decoded.note is None else {"encoding": decoded.encoding}


def notes_of(decoded: Decoded) -> tuple[str, ...]:
    """Return the decoding's note, if there is one, as `Loaded.notes` takes it."""
    return () if decoded.note is None else (decoded.note,)


def require_text(text: str) -> str:
    """Return `text` if it holds more than white space.

    Raises
    ------
    LoadError
        If it does not.
    """
    if not text.strip():
        raise LoadError("it is empty: there is no text to index")
    return text


def load_text(raw: bytes, doc_id: str, source: str | None = None) -> Loaded:
    r"""Read a plain text file; its offsets count in the file as it is, less a byte-order mark.

    Raises
    ------
    LoadError
        If it is empty, not text, or in an unknown encoding.

    Examples
    --------
    >>> load_text(b"Bees sleep.\r\n", "bees.txt").document.text
    'Bees sleep.\r\n'
    """
    decoded = decode(raw)
    document = Document(doc_id, require_text(decoded.text), source=source, metadata=encoding_metadata(decoded))
    return Loaded(document, notes_of(decoded))
