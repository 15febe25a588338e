r"""The one way in which words are read: by the index, the scorer, names of documents, duplicates and quotes.

What differs in how the same word is written is evened out, and offsets lead back to the text:

- **Case and forms.** Case folding (`ß` is `ss`) and compatibility forms of letters and digits (Unicode NFKC: ligatures,
  full width, decomposed letters). Symbols and punctuation stay: a trade mark makes no letters of a word.
- **Marks that writers leave out.** Accents of Latin and Greek; in Cyrillic the stress, and the dots of `ё`; vowel marks
  of Arabic, Hebrew and Syriac, the hamza and madda of alef, and tatweel. Of letters with no decomposition: `ł`, `ø`,
  `ı`, `æ`, `œ`. Marks that make another letter stay: `й`, `ї`, `ў`, the voicing of kana, vowels of Indic and Thai
  scripts, and letters that only Vietnamese has.
- **What is not seen.** Soft hyphens, zero-width characters and variation selectors are gone.
- **Words of several parts.** `getUserName` and `1,250.00` are read as one word (`1250`) and as their parts.
- **Cut words.** A word that a hyphen cuts at a line's end is read as one word and as its parts, as a compound's own
  hyphen may fall there; a word of Arabic script with a zero-width non-joiner as well. Scripts that are written without
  spaces cut theirs without a hyphen, so that they have none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retrivex.text.scripts import UNSPACED_TERMS

Offsets = NDArray[np.int32]
Parts = list[tuple[int, int]]

_LETTERS = str.maketrans({"ł": "l", "ø": "o", "ı": "i", "æ": "ae", "œ": "oe"})
_WITHOUT_MARKS = re.compile("[a-z\u00e6\u00f8\u0370-\u03ff]")  # Latin and Greek, decomposed
_KEPT = re.compile("[\u01a1\u01b0\u1ea0-\u1ef9\u0453\u045c]")  # Vietnamese; two letters of Macedonian
_LEFT_OUT = "\u0300\u0301"  # of every letter: the stress in Cyrillic
_LEFT_OUT_OF = {"\u0435": "\u0308", "\u0627": "\u0653\u0654\u0655"}  # the dots of yo; hamza and madda of alef
_NOT_SEEN = re.compile(
    "[\u0300-\u036f\u0483-\u0487"  # what no letter before took, and Cyrillic titles
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"  # Hebrew
    "\u0610-\u061a\u0640\u064b-\u0652\u0656-\u065f\u0670\u06d6-\u06ed\u08d3-\u08ff\u0711\u0730-\u074a"  # Arabic, Syriac
    "\ufe00-\ufe0f\U000e0100-\U000e01ef]"  # variation selectors
)
_UNSPACED = re.compile(f"[{UNSPACED_TERMS}]")
_HALF_VOICED = "\uff9e\uff9f"  # marks of half-width kana are letters to Unicode

_UNKNOWN = 255
_MOST_MARKS = 30  # of one letter that are put together: UAX 15, stream-safe text

_BLANK = r"[^\S\r\n\f]{0,8}"
_LINE_END = rf"{_BLANK}(?:\r\n?|[\n\f]){{1,2}}{_BLANK}"
# each begins with one character, which is found a hundred times as fast as one of several
_CUTS = {hyphen: re.compile(hyphen + _LINE_END) for hyphen in "-\u2010\u00ad"}
_CUTS["\u200c"] = re.compile("\u200c(?<=[\u0600-\u06ff].)(?=[\u0600-\u06ff])")

# capitals behind small letters, and groups of digits, are looked for in the kinds of characters: most texts have none
_KINDS = bytes.maketrans(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZ" + b"abcdefghijklmnopqrstuvwxyz" + b"0123456789", b"A" * 26 + b"a" * 26 + b"0" * 10
)
_CAPITALS = re.compile(b"(?<=a)A")
_GROUPED = re.compile(r"(?<![\w.,])[0-9]{1,3}(?:(?:,[0-9]{3})+(?!,?\w)|(?:\.[0-9]{3}){2,}(?!\.?\w))")
_GROUP_MARK = re.compile("[,.]")  # one point alone is that of a decimal


class Reading(NamedTuple):
    """A text as it is read.

    Parameters
    ----------
    text : n characters
    offsets : shape (n,), ascending, where in the source each of them stands; None where each stands in its place
    """

    text: str
    offsets: Offsets | None = None


def is_letter(character: str) -> bool:
    """Whether a character belongs to a word: letters, digits, and the marks that some scripts write vowels with."""
    return character.isalnum() or _is_mark(character)


def read(text: str, *, join: bool = False, cased: bool = False) -> Reading:
    """Read the words of a text; see the module.

    Parameters
    ----------
    text : any
    join : read a cut word as one word only, not as its parts too
    cased : keep capitals

    Examples
    --------
    >>> read("Straße").text, read("Straße").offsets.tolist()
    ('strasse', [0, 1, 2, 3, 4, 4, 5])
    >>> read("War-\\nranty").text
    'war warranty ranty'
    """
    offsets = None
    if not text.isascii():
        if not unicodedata.is_normalized("NFC", text) or any(mark in text for mark in _HALF_VOICED):
            text, offsets = _compose(text)
        if parts := cut_words(text, at_lines=join):
            text, offsets = _mend(text, offsets, parts, join=join)
        return (_cased if cased else _folded).read(text, offsets)
    if parts := cut_words(text, at_lines=join):
        text, offsets = _mend(text, None, parts, join=join)
    return Reading(text if cased else text.lower(), offsets)


def read_text(text: str, *, join: bool = False, cased: bool = False) -> str:
    """Return a text as it is read, without offsets; arguments as of `read`.

    Examples
    --------
    >>> read_text("Die Lindenstraße"), read_text("Βιβλιοθήκη"), read_text("Ещё мой")
    ('die lindenstrasse', 'βιβλιοθηκη', 'еще мой')
    """
    return read(text, join=join, cased=cased).text


def cut_words(text: str, *, at_lines: bool = False) -> list[Parts]:
    """Return where the parts of each word stand that has several.

    Parameters
    ----------
    text : any
    at_lines : only words that are cut at the end of a line

    Examples
    --------
    >>> cut_words("The war-\\nranty"), cut_words("getUser, 1,250.00")
    ([[(4, 7), (9, 14)]], [[(0, 3), (3, 7)], [(9, 10), (11, 14)]])
    """
    found = [cut.span() for mark, line_end in _CUTS.items() if mark in text for cut in line_end.finditer(text)]
    last = len(text)
    cuts = [(a, b) for a, b in found if a > 0 and b < last and _may_be_cut(text[a - 1]) and _may_be_cut(text[b])]
    if not at_lines:
        kinds = text.encode("ascii", "replace").translate(_KINDS)
        if b"aA" in kinds:
            cuts += [(capital.start(), capital.start()) for capital in _CAPITALS.finditer(kinds)]
        if b"0,000" in kinds or b"0.000" in kinds:
            numbers = [number.span() for number in _GROUPED.finditer(text)]
            cuts += [mark.span() for low, high in numbers for mark in _GROUP_MARK.finditer(text, low, high)]
    words: list[Parts] = []
    for begin, end in sorted(cuts):
        if words and begin <= words[-1][-1][1]:
            low, high = words[-1].pop()
            high = max(end, high)
        else:
            words.append([])
            low, high = begin, end
            while low and _is_of_word(text[low - 1]):
                low -= 1
        while high < last and _is_of_word(text[high]):
            high += 1
        words[-1] += [(low, begin), (end, high)]
    return words


def ends_in_hyphen(text: str) -> bool:
    """Whether the last word of a text may go on behind it, on another line."""
    return text.rstrip()[-1:] in _CUTS


class _Characters:
    """How each character is read, found out when it is first met.

    Parameters
    ----------
    cased : keep capitals
    """

    def __init__(self, *, cased: bool) -> None:
        self._cased = cased
        self._texts: dict[int, str] = {}  # of those that are not read as one character; no other is read as one of them
        self._codes = np.zeros(0x110000, dtype=np.uint32)
        self._sizes = np.full(0x110000, _UNKNOWN, dtype=np.uint8)

    def read(self, text: str, offsets: Offsets | None) -> Reading:
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        sizes = self._sizes.take(codes)
        if sizes.max(initial=1) == _UNKNOWN:
            for code in np.unique(codes[sizes == _UNKNOWN]).tolist():
                self._meet(code)
            sizes = self._sizes.take(codes)
        made = self._codes.take(codes).tobytes().decode("utf-32-le", "surrogatepass")
        odd = (sizes != 1).nonzero()[0]
        if not len(odd):
            return Reading(made, offsets)
        for code in np.unique(codes[odd]).tolist():
            made = made.replace(chr(code), self._texts[code])
        return Reading(made, (np.arange(len(text), dtype=np.int32) if offsets is None else offsets).repeat(sizes))

    def _meet(self, code: int) -> None:
        character = chr(code)
        found = _fold(character)
        if self._cased and character.isupper():
            found = found.upper()
        self._codes[code] = ord(found) if len(found) == 1 else code
        if len(found) != 1:
            self._texts[code] = found
        self._sizes[code] = len(found)  # last, as other threads go by it


def _fold(character: str) -> str:
    kind = unicodedata.category(character)
    if kind == "Cf":
        return ""
    if kind[0] not in "LNM":
        return character
    base, letters = "", []
    for letter in unicodedata.normalize("NFC", unicodedata.normalize("NFKC", character).lower()):
        marks = unicodedata.normalize("NFD", letter)
        if not _is_mark(letter):
            base, marks = marks[0], marks[1:]
            letters.append(base)
        letters += [mark for mark in marks if _KEPT.match(letter) or not _is_left_out(base, mark)]
    made = _NOT_SEEN.sub("", unicodedata.normalize("NFC", "".join(letters)))
    # case last, as it would make a letter of the iota below a Greek vowel
    return made.translate(_LETTERS).casefold()


def _is_left_out(base: str, mark: str) -> bool:
    """Whether writers leave a mark out that stands on a letter."""
    return bool(_WITHOUT_MARKS.match(base)) or mark in _LEFT_OUT or mark in _LEFT_OUT_OF.get(base, "")


def _is_mark(character: str) -> bool:
    return character > "\u02ff" and unicodedata.category(character)[0] == "M"


@lru_cache(maxsize=4096)
def _goes_on(character: str) -> bool:
    """Whether a character may be part of the letter before it: marks, vowels and ends of Korean syllables."""
    return _is_mark(character) or "\u1160" <= character <= "\u11ff" or character in _HALF_VOICED


def _compose(text: str) -> tuple[str, Offsets]:
    """Put letters and their marks together, as far as Unicode has a character for both."""
    marks = "".join(filter(_goes_on, sorted(set(text))))
    letters = re.compile(f"(?s:.)[{re.escape(marks)}]{{1,{_MOST_MARKS}}}" if marks else "(?!)")
    made: list[str] = []
    starts: list[int] = []
    lengths: list[int] = []
    gone: list[int] = []
    reached = 0
    for found in letters.finditer(text):
        start, end = found.span()
        letter = unicodedata.normalize("NFKC", found[0])
        made += (text[reached:start], letter)
        if len(letter) != end - start:
            starts.append(start)
            lengths.append(len(letter))
            gone += range(start + 1, end)
        reached = end
    sizes = np.ones(len(text), dtype=np.int32)
    sizes[starts] = lengths
    sizes[gone] = 0
    return "".join([*made, text[reached:]]), np.arange(len(text), dtype=np.int32).repeat(sizes)


def _mend(text: str, offsets: Offsets | None, words: Sequence[Parts], *, join: bool) -> tuple[str, Offsets]:
    """Read cut words as one, in front of their second part."""
    places = np.arange(len(text), dtype=np.int32) if offsets is None else offsets
    made: list[str] = []
    numbers: list[Offsets] = []
    reached = 0
    for (start, first_end), (second, end), *others in words:
        rest = text[second:end] + "".join([text[low:high] for low, high in others])
        if join:
            made.append(text[reached:first_end] + rest)
            numbers += [places[reached:first_end], places[second:end], *[places[low:high] for low, high in others]]
            reached = others[-1][1] if others else end
            continue
        first = text[start:first_end]
        made += [text[reached:start], first, " ", first, rest, " "]
        # ascending: the first part stands at its beginning, the rest of the whole word at that of the second part
        numbers += [
            places[reached:start],
            places[start].repeat(len(first) + 1),
            places[start:first_end],
            places[second].repeat(len(rest) + 1),
        ]
        reached = second
        for (_, high), (low, _) in pairwise([(second, end), *others]):
            if high == low:  # nothing parts them
                made += [text[reached:high], " "]
                numbers += [places[reached:high], places[low : low + 1]]
                reached = high
    return "".join([*made, text[reached:]]), np.concatenate([*numbers, places[reached:]])


@lru_cache(maxsize=4096)
def _is_of_word(character: str) -> bool:
    """Whether a character belongs to a word between spaces, which a line's end may cut."""
    return is_letter(character) and not _UNSPACED.search(_fold(character))


def _may_be_cut(character: str) -> bool:
    """Whether a hyphen beside a character may cut a word: numbers keep theirs."""
    return (character.isalpha() or _is_mark(character)) and _is_of_word(character)


_folded = _Characters(cased=False)
_cased = _Characters(cased=True)
