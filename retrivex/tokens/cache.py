"""Token counts by text, kept between queries."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import cast

from retrivex.errors import TokenizerError
from retrivex.tokens.tokenizer import Tokenizer


class TokenCache:
    """Remembers the counts of a tokenizer; itself a tokenizer, for use on hot paths and from several threads.

    Two generations of entries: when the young one holds half of `max_chars`, it becomes the old one and what was old
    is forgotten. A hit in the old generation moves to the young one, so that what is in use stays, and a hit in the
    young one costs a dictionary look-up and no bookkeeping.

    Parameters
    ----------
    tokenizer : counts what is not known yet
    max_chars : most characters of text kept, in both generations together

    Examples
    --------
    >>> from retrivex.tokens.tokenizer import CallableTokenizer
    >>> cache = TokenCache(CallableTokenizer(len, name="characters"))
    >>> cache.seed("stored", 2)
    >>> cache.count_many(["stored", "new"])
    [2, 3]
    """

    def __init__(self, tokenizer: Tokenizer, max_chars: int = 64_000_000) -> None:
        if max_chars < 0:
            raise TokenizerError(f"max_chars={max_chars}: a cache holds 0 characters or more; 0 switches it off")
        self.tokenizer = tokenizer
        self.max_chars = max_chars
        self._young: dict[str, int] = {}
        self._old: dict[str, int] = {}
        self._young_chars = 0
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """Name of the tokenizer behind the cache."""
        return self.tokenizer.name

    @property
    def exact(self) -> bool:
        """Whether the tokenizer behind the cache is exact."""
        return self.tokenizer.exact

    def __len__(self) -> int:
        return len(self._young.keys() | self._old.keys())

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`."""
        count = self._young.get(text)
        return self.count_many([text])[0] if count is None else count

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text; what is unknown is counted in one call of the tokenizer."""
        known = list(map(self._young.get, texts))
        if None in known:
            self._fill(texts, known)
        return cast("list[int]", known)

    def seed(self, text: str, count: int) -> None:
        """Take over a count made earlier by the same tokenizer, as stored with an index."""
        if self._young.get(text) != count:
            self._keep([text], [count])

    def _fill(self, texts: Sequence[str], known: list[int | None]) -> None:
        """Replace each None in `known`, from the old generation or by counting."""
        gaps = [place for place, count in enumerate(known) if count is None]
        fresh = dict.fromkeys(texts[place] for place in gaps)
        found = {text: count for text in fresh if (count := self._old.get(text)) is not None}
        unknown = [text for text in fresh if text not in found]
        if unknown:
            found.update(zip(unknown, self.tokenizer.count_many(unknown), strict=True))
        self._keep(list(found), list(found.values()))
        for place in gaps:
            known[place] = found[texts[place]]

    def _keep(self, texts: Sequence[str], counts: Sequence[int]) -> None:
        half = self.max_chars // 2
        with self._lock:
            for text, count in zip(texts, counts, strict=True):
                # one more per text: empty and short texts take memory too
                size = len(text) + 1
                if size > half:
                    continue
                if self._young_chars + size > half:
                    self._old, self._young, self._young_chars = self._young, {}, 0
                if text not in self._young:
                    self._young_chars += size
                self._young[text] = count
