"""Where the words of texts begin, so that a question's words are found by comparing numbers.

A word is a run of letters and digits of any alphabet; it is kept as its first eight characters, in two numbers.
Characters of scripts that are written without spaces make no words: they are looked for in the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]

_UNSPACED = "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")

_HALF = 4  # characters in a number, 16 bits each
_SEPARATOR = "\n\n"

# kinds of characters, found out when a character is first met
_UNKNOWN, _OTHER, _SPACED, _ALONE = 0, 1, 2, 3
_kinds = np.zeros(0x110000, dtype=np.uint8)


class Words(NamedTuple):
    """The words of a text, n of them.

    Parameters
    ----------
    places : shape (n,), offset of the first character of each
    heads, tails : shape (n,), its characters 1 to 4 and 5 to 8, in lower case; 0 for those that it does not have
    begins, ends : whether the text begins with a letter, and ends with one
    """

    places: NDArray[np.int64]
    heads: Keys
    tails: Keys
    begins: bool
    ends: bool


def lowered(text: str) -> str:
    """Return the text in lower case, every character in its place.

    Examples
    --------
    >>> lowered("İstanbul") == "i̇stanbul", len(lowered("İstanbul"))
    (False, 8)
    """
    low = text.lower()
    if len(low) != len(text):  # a few capitals have small forms of two characters
        low = "".join(small if len(small := letter.lower()) == 1 else letter for letter in text)
    return low


def is_unspaced(character: str) -> bool:
    """Whether a character belongs to a script that is written without spaces between words."""
    return _IS_UNSPACED.match(character) is not None


def is_letter(character: str) -> bool:
    """Whether a character belongs to a word: letters, digits, and the marks that some scripts write vowels with."""
    return character.isalnum() or (character > "\u02ff" and unicodedata.category(character)[0] == "M")


def _kinds_of(text: str) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """Code and kind of every character."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    kinds = _kinds[codes]
    if not kinds.all():
        for character in {text[at] for at in np.flatnonzero(kinds == _UNKNOWN).tolist()}:
            kind = (_ALONE if is_unspaced(character) else _SPACED) if is_letter(character) else _OTHER
            _kinds[ord(character)] = kind
        kinds = _kinds[codes]
    return codes, kinds


def index_words(texts: Sequence[str]) -> list[Words]:
    """Find the words of each text, given in lower case."""
    # all at once: what an array costs is the same for one text and for a hundred; the end is room for the last word
    codes, kinds = _kinds_of("\n".join([*texts, "\n" * 2 * _HALF]))
    in_word = kinds == _SPACED
    begins = np.flatnonzero(in_word[1:] & ~in_word[:-1]) + 1
    if in_word[0]:
        begins = np.concatenate(([0], begins))
    keys: list[Keys] = []
    inside = np.ones(len(begins), dtype=np.bool_)
    for half in range(2):
        key = np.zeros(len(begins), dtype=np.uint64)
        for at in range(half * _HALF, (half + 1) * _HALF):
            inside &= in_word[begins + at]
            key = (key << np.uint64(16)) | np.where(inside, codes[begins + at] & 0xFFFF, 0).astype(np.uint64)
        keys.append(key)
    starts = np.cumsum([0, *[len(text) + 1 for text in texts]])
    edges = np.searchsorted(begins, starts).tolist()
    return [
        Words(begins[a:b] - start, keys[0][a:b], keys[1][a:b], *_edges_in_words(in_word, start, len(text)))
        for a, b, start, text in zip(edges, edges[1:], starts.tolist(), texts, strict=False)
    ]


def _edges_in_words(in_word: NDArray[np.bool_], start: int, size: int) -> tuple[bool, bool]:
    return bool(size and in_word[start]), bool(size and in_word[start + size - 1])


class WordPool:
    """The words of all candidates of a query on one axis of characters, two characters between texts.

    Parameters
    ----------
    parts : words of stretches of text, in order
    bases : where on the axis each stretch begins
    make_text : called where the text itself is needed; in lower case
    """

    def __init__(self, parts: Sequence[Words], bases: Sequence[int], make_text: Callable[[], str]) -> None:
        self._make_text = make_text
        if not parts:
            parts, bases = index_words([""]), [0]
        sizes = [len(part.places) for part in parts]
        self.places = np.concatenate([part.places for part in parts]) + np.repeat(bases, sizes)
        self.heads = np.concatenate([part.heads for part in parts])
        self.tails = np.concatenate([part.tails for part in parts])

    @classmethod
    def of(cls, texts: Sequence[str]) -> WordPool:
        """Return the pool of some texts."""
        low = [lowered(text) for text in texts]
        bases = np.cumsum([0, *[len(text) + len(_SEPARATOR) for text in low[:-1]]]).tolist()
        return cls(index_words(low), bases, lambda: _SEPARATOR.join(low))

    @cached_property
    def text(self) -> str:
        """All of the text, in lower case."""
        return self._make_text()

    def words(self, term: str, *, whole: bool) -> NDArray[np.int64]:
        """Return where on the axis words are, or begin with, a term of letters.

        Examples
        --------
        >>> pool = WordPool.of(["Bees are busy.", "A bee?"])
        >>> pool.words("bee", whole=False).tolist(), pool.words("bee", whole=True).tolist()
        ([0, 18], [18])
        """
        head, head_mask = _key(term[:_HALF], whole=whole)
        tail, tail_mask = _key(term[_HALF : 2 * _HALF], whole=whole)
        found = np.flatnonzero((self.heads & head_mask) == head)
        if tail_mask:
            found = found[(self.tails[found] & tail_mask) == tail]
        places: NDArray[np.int64] = self.places[found]
        if len(term) > 2 * _HALF or max(term) > "\uffff":
            size = len(term)
            places = places[[self.text[at : at + size] == term for at in places.tolist()]]
        return places

    def anywhere(self, term: str) -> NDArray[np.int64]:
        """Return where on the axis a term stands, in or outside words."""
        # splitting finds all places at once, at the speed of a search
        parts = self.text.split(term)
        sizes = np.fromiter(map(len, parts), dtype=np.int64, count=len(parts)) + len(term)
        return np.asarray(np.cumsum(sizes)[:-1] - len(term), dtype=np.int64)


def _key(letters: str, *, whole: bool) -> tuple[np.uint64, np.uint64]:
    """Return the number of up to four letters, and the mask of what words that begin with them have in common."""
    key = mask = 0
    for at in range(_HALF):
        has = at < len(letters)
        key = key << 16 | (ord(letters[at]) & 0xFFFF if has else 0)
        mask = mask << 16 | (0xFFFF if has or whole else 0)
    return np.uint64(key), np.uint64(mask)
