"""A term index: the positions of the words of texts, found by comparing numbers instead of strings.

A word is a run of letters and digits of any alphabet, as `retrivex.text.words` reads it. It is kept as its first eight
characters, in two numbers, with the place in the source where it begins. Characters of scripts that are written without
spaces make no words: they are looked for in the text.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retrivex.text.scripts import UNSPACED_TERMS
from retrivex.text.words import Offsets, Reading, ends_in_hyphen, is_letter, read, read_text

Keys = NDArray[np.uint64]
Places = NDArray[np.int64]

_IS_UNSPACED = re.compile(f"[{UNSPACED_TERMS}]")
_FIRST_UNSPACED = UNSPACED_TERMS[0]
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")

_HALF = 4  # characters in a number, 16 bits each
_SEPARATOR = "\n\n"
_SPREAD = 1021  # odd and larger than most alphabets, so that few pairs of letters have the same fingerprint

# kinds of characters, found out when a character is first met
_UNKNOWN, _OTHER, _SPACED, _ALONE = 0, 1, 2, 3
_kinds = np.zeros(0x110000, dtype=np.uint8)


class TermPositions(NamedTuple):
    """The n words of a text: where they begin, and their first letters as numbers.

    Their numbers are kept as bytes: those of a hundred texts are joined in a tenth of the time that arrays take.

    Parameters
    ----------
    places : int32 of shape (n,), offset of the first character of each
    keys : uint64 of shape (n, 2), its characters 1 to 4 and 5 to 8, as read; 0 for those that it does not have
    fingerprints : uint16 of shape (n,), made of the first two characters, by which most words differ
    begins, ends : whether the text begins with a letter, and ends with one
    is_open : whether it ends in a hyphen
    reading : of the text
    """

    places: bytes
    keys: bytes
    fingerprints: bytes
    begins: bool
    ends: bool
    is_open: bool
    reading: Reading

    @property
    def offsets(self) -> NDArray[np.int32]:
        """Offset of each, as an array."""
        return np.frombuffer(self.places, dtype=np.int32)


def is_unspaced(character: str) -> bool:
    """Whether a character belongs to a script that is written without spaces between words."""
    return character >= _FIRST_UNSPACED and _IS_UNSPACED.match(character) is not None


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


def is_in_word(character: str) -> bool:
    """Whether a character of a text belongs to a word that is kept, or to none that is seen."""
    return all(is_letter(letter) and not is_unspaced(letter) for letter in read_text(character))


def split_words(text: str) -> list[tuple[str, bool]]:
    """Return the words of a text that was read, and whether each is of a script that is written without spaces.

    Examples
    --------
    >>> split_words("gpt-4 在用")
    [('gpt', False), ('4', False), ('在用', True)]
    """
    if text.isascii():  # a tenth of the time
        return [(word, False) for word in _ASCII_WORD.findall(text)]
    kinds = _kinds_of(text)[1]
    edges = [0, *(np.flatnonzero(kinds[1:] != kinds[:-1]) + 1).tolist(), len(text)]
    found = [(text[a:b], int(kinds[a])) for a, b in itertools.pairwise(edges) if a < b]
    return [(word, kind == _ALONE) for word, kind in found if kind != _OTHER]


def index_words(texts: Sequence[str]) -> list[TermPositions]:
    """Find the words of each text."""
    readings = list(map(read, texts))
    # all at once: what an array costs is the same for one text and for a hundred; the end is room for the last word
    codes, kinds = _kinds_of("\n".join([*[reading.text for reading in readings], "\n" * 2 * _HALF]))
    in_word = kinds == _SPACED
    begins = np.flatnonzero(in_word[1:] & ~in_word[:-1]) + 1
    if in_word[0]:
        begins = np.concatenate(([0], begins))
    keys = _first_letters(codes, in_word, begins)
    starts = np.cumsum([0, *[len(reading.text) + 1 for reading in readings]])
    edges = begins.searchsorted(starts)
    places = begins[: edges[-1]] - starts[:-1].repeat(np.diff(edges))
    for number, reading in enumerate(readings):
        if reading.offsets is not None:
            own = slice(edges[number], edges[number + 1])
            places[own] = reading.offsets[places[own]]
    columns = (places.astype(np.int32), keys.T, _fingerprints(keys[0]))
    has_text = starts[1:] - starts[:-1] > 1
    flags = [(in_word[at] & has_text).tolist() for at in (starts[:-1], starts[1:] - 2)]
    flags.append(list(map(ends_in_hyphen, texts)))
    return list(map(TermPositions, *[_cut_rows(column, edges.tolist()) for column in columns], *flags, readings))


def _cut_rows(column: NDArray[Any], edges: Sequence[int]) -> list[bytes]:
    """Return the rows between each two edges as bytes, which are cut in a tenth of the time that arrays take."""
    data, size = column.tobytes(), column[:1].nbytes
    return [data[low * size : high * size] for low, high in itertools.pairwise(edges)]


def _first_letters(codes: NDArray[np.uint32], in_word: NDArray[np.bool_], begins: Places) -> Keys:
    """Return characters 1 to 4 and 5 to 8 of the words that begin at places, shape (2, n)."""
    keys = np.zeros((2, len(begins)), dtype=np.uint64)
    inside = np.ones(len(begins), dtype=np.bool_)
    for half, key in enumerate(keys):
        for at in range(half * _HALF, (half + 1) * _HALF):
            inside &= in_word[begins + at]
            key <<= np.uint64(16)
            key |= np.where(inside, codes[begins + at] & 0xFFFF, 0).astype(np.uint64)
    return keys


def _fingerprints(heads: Keys) -> NDArray[np.uint16]:
    first, second = heads >> np.uint64(48), heads >> np.uint64(32) & np.uint64(0xFFFF)
    return (first * np.uint64(_SPREAD) + second).astype(np.uint16)


def join_rows(rows: Sequence[Sequence[Reading]], bases: Sequence[int] | Places) -> Reading:
    """Return what is read of rows of stretches that follow each other, with offsets on their axis.

    Parameters
    ----------
    rows : a separator stands between each two
    bases : where on the axis each stretch begins
    """
    text = _SEPARATOR.join(["".join([reading.text for reading in row]) for row in rows])
    if all(reading.offsets is None for row in rows for reading in row):
        return Reading(text)
    numbered = iter(np.asarray(bases).tolist())
    offsets: list[Offsets] = []
    for row in rows:
        for at, (reading, base) in enumerate(zip(row, numbered, strict=False)):
            if not at and offsets:
                offsets.append(np.arange(base - len(_SEPARATOR), base, dtype=np.int32))
            own = np.arange(len(reading.text), dtype=np.int32) if reading.offsets is None else reading.offsets
            offsets.append(own + np.int32(base))
    return Reading(text, np.concatenate(offsets))


class TermIndex:
    """The words of all candidates of a query, by their offsets in the candidates' joined text.

    Parameters
    ----------
    parts : words of stretches of text, in order
    bases : where on the axis each stretch begins
    make_text : called where the text itself is needed, as it is read; its offsets are those of the axis
    """

    def __init__(
        self, parts: Sequence[TermPositions], bases: Sequence[int] | Places, make_text: Callable[[], Reading]
    ) -> None:
        self._make_text = make_text
        if not parts:
            parts, bases = index_words([""]), [0]
        self._bases = np.asarray(bases, dtype=np.int64)
        places, keys, fingerprints, _, _, _, readings = zip(*parts, strict=True)
        self._is_moved = any(reading.offsets is not None for reading in readings)
        self._places = np.frombuffer(b"".join(places), dtype=np.int32)
        self._ends = np.array(list(map(len, places))).cumsum() // self._places.itemsize
        # these can be repaired
        self._keys = np.frombuffer(bytearray().join(keys), dtype=np.uint64).reshape(-1, 2)
        self._fingerprints = np.frombuffer(bytearray().join(fingerprints), dtype=np.uint16)
        self._kept = np.ones(len(self._places), dtype=np.bool_)
        self._counted: dict[str, int] = {}

    def repair(self, dropped: Sequence[tuple[int, int]], split: Sequence[int], windows: Sequence[str]) -> None:
        """Correct the words at the boundaries of overlapping stretches, and of stretches that split a word.

        Parameters
        ----------
        dropped : ranges of numbers of words that are none
        split : numbers of words that are longer than their stretch knows
        windows : text from the beginning of each of those
        """
        windows = list(map(read_text, windows))
        for first, end in dropped:
            self._kept[first:end] = False
        codes, kinds = _kinds_of("\n".join([*windows, "\n" * 2 * _HALF]))
        begins = np.cumsum([0, *[len(window) + 1 for window in windows[:-1]]])[: len(windows)]
        keys = _first_letters(codes, kinds == _SPACED, begins)
        self._keys[split] = keys.T
        self._fingerprints[split] = _fingerprints(keys[0])

    @classmethod
    def of(cls, texts: Sequence[str]) -> TermIndex:
        """Return the pool of some texts."""
        bases = np.cumsum([0, *[len(text) + len(_SEPARATOR) for text in texts[:-1]]])
        parts = index_words(texts)
        return cls(parts, bases, lambda: join_rows([[part.reading] for part in parts], bases))

    @cached_property
    def _reading(self) -> Reading:
        return self._make_text()

    @property
    def text(self) -> str:
        """All of the text, as it is read."""
        return self._reading.text

    @cached_property
    def _bytes(self) -> NDArray[np.uint8]:
        return np.frombuffer(self.text.encode("utf-8", "surrogatepass"), dtype=np.uint8)

    def places(self, words: Places | None = None) -> Places:
        """Return where on the axis words begin, given by their numbers; all of them by default."""
        if words is None:
            words = self._kept.nonzero()[0]
        part = self._ends.searchsorted(words, side="right")
        return np.asarray(self._places[words] + self._bases[part], dtype=np.int64)

    def find(self, terms: Sequence[tuple[str, bool]]) -> tuple[Places, Places]:
        """Return the words that are, or begin with, terms of letters.

        Parameters
        ----------
        terms : t terms, and whether a word has to end where the term does

        Returns
        -------
        numbers
            Shape (w,), ascending: of the term.
        places
            Shape (w,), ascending for each term: where on the axis the word begins.

        Examples
        --------
        >>> pool = TermIndex.of(["Bees are busy.", "A bee?"])
        >>> [found.tolist() for found in pool.find([("bee", False), ("bee", True)])]
        [[0, 0, 1], [0, 18, 18]]
        """
        keys, masks = _keys(terms)
        any_second = any(len(term) == 1 and not whole for term, whole in terms)
        words = np.arange(len(self._fingerprints)) if any_second else self._likely(keys[:, 0])
        heads, tails = self._keys.take(words, axis=0).T
        match = ((heads & masks[:, :1]) == keys[:, :1]).ravel().nonzero()[0]
        numbers = match // max(1, len(words))
        likely = match - numbers * len(words)
        words = words.take(likely)
        same = (tails.take(likely) & masks[:, 1].take(numbers)) == keys[:, 1].take(numbers)
        same &= self._kept.take(words)
        numbers, places = numbers[same], self.places(words[same])
        for number, (term, _) in enumerate(terms):
            if len(term) > 2 * _HALF or max(term) > "\uffff":  # more than the keys hold
                found = np.flatnonzero(numbers == number)
                wrong = found[[not self._begins(term, at) for at in places[found].tolist()]]
                numbers, places = np.delete(numbers, wrong), np.delete(places, wrong)
        if self._is_moved and len(numbers):  # a cut word and its first part stand in one place
            once = np.append(True, (numbers[1:] != numbers[:-1]) | (places[1:] != places[:-1]))
            numbers, places = numbers[once], places[once]
        return numbers, places

    def _begins(self, term: str, place: int) -> bool:
        """Whether what is read at a place of the axis begins with a term."""
        text, offsets = self._reading
        if offsets is None:
            return text.startswith(term, place)
        low, high = offsets.searchsorted([place, place + 1]).tolist()
        return any(text.startswith(term, at) for at in range(low, high))

    def _likely(self, heads: Keys) -> Places:
        """Numbers of the words whose first two letters are those of a term, given by characters 1 to 4."""
        wanted = np.zeros(1 << 16, dtype=np.bool_)
        wanted[_fingerprints(heads)] = True
        return wanted.take(self._fingerprints).nonzero()[0]

    def anywhere(self, term: str) -> Places:
        """Return where on the axis a term stands, in or outside words."""
        # splitting finds all places at once, at the speed of a search
        parts = self.text.split(term)
        sizes = np.fromiter(map(len, parts), dtype=np.int64, count=len(parts)) + len(term)
        places = np.asarray(np.cumsum(sizes)[:-1] - len(term), dtype=np.int64)
        return places if self._reading.offsets is None else self._reading.offsets[places].astype(np.int64)

    def count(self, letters: str) -> int:
        """Return how often one or two letters of words stand in the text, in and outside words, each counted once.

        Examples
        --------
        >>> TermIndex.of(["banana"]).count("an")
        2
        """
        if letters not in self._counted:
            self._counted[letters] = self._count(letters)
        return self._counted[letters]

    def _count(self, letters: str) -> int:
        if not letters.isascii() or letters[0] == letters[-1] != letters:
            return self.text.count(letters)
        # comparing bytes is several times as fast as a search for what stands everywhere
        found = self._bytes == ord(letters[0])
        if len(letters) > 1:
            found = found[:-1] & (self._bytes[1:] == ord(letters[1]))
        return int(np.count_nonzero(found))


def _keys(terms: Sequence[tuple[str, bool]]) -> tuple[Keys, Keys]:
    """Return the numbers of terms as in `TermPositions`, and the masks of what the words they find have in common.

    Both of shape (t, 2).
    """
    size = 2 * _HALF
    letters = "".join([term[:size].ljust(size, "\0") for term, _ in terms])
    if letters and max(letters) > "\uffff":
        letters = "".join([chr(ord(letter) & 0xFFFF) for letter in letters])
    known = "".join([("\uffff" * (size if whole else len(term)))[:size].ljust(size, "\0") for term, whole in terms])
    return _packed(letters), _packed(known)


def _packed(letters: str) -> Keys:
    # big-endian numbers, as a word's first letter counts most
    numbers = np.frombuffer(letters.encode("utf-16-be", "surrogatepass"), dtype=">u8")
    return numbers.astype(np.uint64).reshape(-1, 2)
