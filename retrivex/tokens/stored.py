"""Token counts that were made at index time: what ties them to their texts, and how far they are believed."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from retrivex.text.cache import TextCache
from retrivex.tokens.cache import TokenCache
from retrivex.tokens.tokenizer import Tokenizer

_MAX_FIELD_CHARS = 4096
"""Of a count in a field of a record: some stores refuse longer texts. 700 cuts fit; with more, the number is kept."""


class StoredCount(NamedTuple):
    """A token count as a store keeps it.

    Parameters
    ----------
    tokens : of a text
    checksum : of the number, the text and the name of the tokenizer; None where none was stored
    cuts : where the text may be cut, as `retrivex.merging.stored_cuts` packs it; None where that was not stored
    """

    tokens: int
    checksum: int | None
    cuts: bytes | None = None

    @classmethod
    def of(cls, text: str, tokens: int, tokenizer: str, cuts: bytes | None = None) -> StoredCount:
        """Make the count that a tokenizer of this name made of a text.

        Examples
        --------
        >>> stored = StoredCount.of("Bees sleep.", 3, "cl100k_base")
        >>> stored.holds("Bees sleep.", "cl100k_base"), stored.holds("Bees sleep!", "cl100k_base")
        (True, False)
        """
        return cls(tokens, _checksum(text.encode("utf-8", "surrogatepass"), tokens, tokenizer), cuts)

    def holds(self, text: str, tokenizer: str) -> bool:
        """Whether the count is one of this text by this tokenizer, and one that a text of that length can have."""
        tokens, data = self.tokens, text.encode("utf-8", "surrogatepass")
        return type(tokens) is int and 0 <= tokens <= len(data) and self.checksum == _checksum(data, tokens, tokenizer)

    def to_field(self, tokenizer: str) -> str:
        """Return it as a text, for a field of a record in any store, with the name of the tokenizer.

        Examples
        --------
        >>> StoredCount.of("Bees sleep.", 3, "cl100k_base").to_field("cl100k_base")
        '3 1611536610 - cl100k_base'
        """
        cuts = "-" if self.cuts is None else base64.b64encode(self.cuts).decode("ascii")
        made = f"{self.tokens} {self.checksum} {cuts} {tokenizer}"
        return made if len(made) <= _MAX_FIELD_CHARS else f"{self.tokens} {self.checksum} - {tokenizer}"

    @classmethod
    def from_field(cls, field: Any, tokenizer: str) -> StoredCount | None:
        """Return what `to_field` made; None for another tokenizer's and for anything else. It need not hold."""
        name, stored = cls._read_field(field)
        return stored if name == tokenizer else None

    @classmethod
    def is_field(cls, field: Any) -> bool:
        """Say whether `to_field` could have made it, for whichever tokenizer.

        Examples
        --------
        >>> StoredCount.is_field("3 1611536610 - cl100k_base"), StoredCount.is_field("3 bees"), StoredCount.is_field(3)
        (True, False, False)
        """
        return cls._read_field(field)[1] is not None

    @classmethod
    def _read_field(cls, field: Any) -> tuple[str, StoredCount | None]:
        """Return the name of the tokenizer and the count; None where it is no such field."""
        if not isinstance(field, str) or len(field) > _MAX_FIELD_CHARS:
            return "", None
        tokens, _, rest = field.partition(" ")
        checksum, _, rest = rest.partition(" ")
        cuts, _, name = rest.partition(" ")
        if not (_is_number(tokens) and _is_number(checksum)) or not cuts:
            return name, None
        try:
            return name, cls(int(tokens), int(checksum), None if cuts == "-" else base64.b64decode(cuts, validate=True))
        except (binascii.Error, ValueError):  # ValueError: letters beyond ASCII
            return name, None


def _checksum(data: bytes, tokens: int, tokenizer: str) -> int:
    return zlib.crc32(data, zlib.crc32(f"{tokens} {tokenizer}".encode("utf-8", "surrogatepass")))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 10


Believed = TextCache[str, StoredCount]
"""Stored counts that were found to hold, by text."""


class CandidateCounts:
    """Token counts to choose by, for one call: own ones first, then those that its store made at index time.

    A stored count is another's word, however well it is kept: it saves counting what is not shown. What is shown is
    counted by the tokenizer itself, and nothing stored reaches the cache of its counts.

    Parameters
    ----------
    cache : counts of the tokenizer itself
    believed : kept between calls, so that no count is checked twice

    Attributes
    ----------
    stored_cuts : what the store says of where texts may be cut, unchecked

    Examples
    --------
    >>> from retrivex.tokens.tokenizer import CallableTokenizer
    >>> counts = CandidateCounts(TokenCache(CallableTokenizer(len, name="characters")), Believed(1000))
    >>> counts.add("stored", StoredCount.of("stored", 5, "characters"))
    >>> counts.add("forged", StoredCount(0, 12345))
    >>> counts.count_many(["stored", "forged"])
    [5, 6]
    """

    def __init__(self, cache: TokenCache, believed: Believed) -> None:
        self.cache = cache
        self.tokenizer: Tokenizer = cache.tokenizer
        self._believed = believed
        self._stored: dict[str, StoredCount] = {}
        self.stored_cuts: dict[str, bytes] = {}

    def add(self, text: str, stored: Any) -> None:
        """Take in what a store says of a text; anything but a `StoredCount` says nothing."""
        if type(stored) is StoredCount:
            self._stored[text] = stored
            if type(stored.cuts) is bytes:
                self.stored_cuts[text] = stored.cuts

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`."""
        stored = self._find(text) if self._stored else None
        return self.cache.count(text) if stored is None else stored.tokens

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text; what nobody knows is counted in one call of the tokenizer."""
        if not self._stored:
            return self.cache.count_many(texts)
        known = {text: stored.tokens for text in texts if (stored := self._find(text)) is not None}
        others = [text for text in texts if text not in known]
        known.update(zip(others, self.cache.count_many(others), strict=True))
        return [known[text] for text in texts]

    def _find(self, text: str) -> StoredCount | None:
        """Return what is stored of a text, if it holds and the tokenizer did not count it itself."""
        stored = self._stored.get(text)
        if stored is None or self.cache.knows(text):
            return None
        if self._believed.get(text) != stored:
            if not stored.holds(text, self.cache.name):
                return None
            self._believed.put([text], [stored])
        return stored


TextCounts: TypeAlias = TokenCache | CandidateCounts
"""Counts of the tokenizer itself, or those to choose by."""
