"""A cache of token counts by text, kept between queries."""

from __future__ import annotations

from collections.abc import Sequence

from retrivex.errors import TokenizerError
from retrivex.text.cache import TextCache
from retrivex.tokens.tokenizer import TiktokenTokenizer, Tokenizer, checked


def _size(text: str) -> int:
    return len(text) + 1  # empty and short texts take memory too


class TokenCache:
    """A tokenizer that caches the counts of another one; safe for several threads.

    Parameters
    ----------
    tokenizer : counts what is not known yet
    max_chars : most characters of text kept, see `TextCache`

    Examples
    --------
    >>> from retrivex.tokens.tokenizer import CallableTokenizer
    >>> cache = TokenCache(CallableTokenizer(len, name="characters"))
    >>> cache.count_many(["bees", "ant"])
    [4, 3]
    >>> cache.knows("ant"), cache.knows("wasp")
    (True, False)
    """

    def __init__(self, tokenizer: Tokenizer, max_chars: int = 64_000_000) -> None:
        if max_chars < 0:
            raise TokenizerError(f"max_chars={max_chars}: a cache holds 0 characters or more; 0 switches it off")
        self.tokenizer = checked(tokenizer)
        self.max_chars = max_chars
        self._counts = TextCache[str, int](max_chars, _size)

    @property
    def name(self) -> str:
        """Name of the tokenizer behind the cache."""
        return self.tokenizer.name

    @property
    def exact(self) -> bool:
        """Whether the tokenizer behind the cache is exact."""
        return self.tokenizer.exact

    def __len__(self) -> int:
        return len(self._counts)

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`."""
        count = self._counts.get(text)
        if count is not None:
            return count
        return sum(self.count_many(self._parts(text) or [text]))

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text; what is unknown is counted in one call of the tokenizer."""
        return self._counts.find(texts, self.tokenizer.count_many)

    def count_joined(self, text: str) -> int:
        """Return the number of tokens of a text of several passages, of which some may have been counted before."""
        parts = self._parts(text)
        return self.tokenizer.count(text) if parts is None else sum(self.count_many(parts))

    def _parts(self, text: str) -> list[str] | None:
        """Cut a text into parts whose counts add up to its own; None where the tokenizer does not say how."""
        return self.tokenizer.parts(text) if isinstance(self.tokenizer, TiktokenTokenizer) else None

    def knows(self, text: str) -> bool:
        """Whether `text` was counted before."""
        return self._counts.get(text) is not None
