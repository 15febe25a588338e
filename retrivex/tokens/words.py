"""Word by word: the exact count of a text, as the sum of the counts of its words, which are counted once and kept.

A byte-pair tokenizer of the GPT family first cuts a text into words with a regular expression and never merges across
a cut. Those of `PATTERNS` always cut before a space with no white space behind it, whatever stands in front, and behind
a line break with neither white space nor a slash behind it. Most words of a text were met before: to look their counts
up takes a fraction of the time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import cast

PATTERNS = frozenset({"cl100k_base", "o200k_base", "o200k_harmony"})
"""Encodings whose expressions cut as described above."""

MAX_WORDS = 100_000
"""Words whose counts are kept, some 10 MB; a language has fewer in use."""

_LEARNED = 40  # words that are counted one by one for a text: many more take longer than all of it
_LONGEST = 40  # characters; longer words seldom come again
_MEAN = 16  # characters of a word on average; where they are more, the text has few spaces, or none

_LINE = "\0"  # in front of a word that begins a text or a line, and has no space in front of it
_DOUBLED = 1 << 40  # marks the first of two spaces, one token: more than any sum of counts
_BEHIND = '.,;:!?)"\n'
_LONG_BLANK = re.compile(r"[^\S\n]  ")


class CountedText:
    """A text whose words were counted: so many tokens as it has, its parts have without a second look at most of it.

    Parameters
    ----------
    text : the whole
    words, reached : its words, and the tokens up to the end of each
    ends : tokens behind the last word
    counter : counts what is not a row of whole words
    """

    __slots__ = ("_counter", "_reached", "_text", "_words", "tokens")

    def __init__(self, text: str, words: Sequence[str], reached: list[int], ends: int, counter: WordCounter) -> None:
        self.tokens = reached[-1] % _DOUBLED + ends
        self._text = text
        self._words = words
        self._reached = reached
        self._counter = counter

    def parts(self, ends: Sequence[int]) -> list[int]:
        r"""Return the tokens of each part, given where they end, the first at 0 and each where the one before it ends.

        Examples
        --------
        >>> counted = WordCounter(lambda text: len(re.findall(r" ?\w+|.", text))).read("Bees sleep. Ants work.")
        >>> counted.tokens, counted.parts([12, 22])
        (6, [4, 3])
        """
        text, words, reached, made = self._text, self._words, self._reached, []
        low = at = 0
        in_row, has_lines = True, "\n" in text
        for high in ends:
            upto = at + text.count(" ", low, high)
            if has_lines:  # a word begins behind line breaks, too
                upto += text.count("\n", low, high) - text.count("\n\n", low, high)
                upto -= bool(low) and text.startswith("\n\n", low - 1)
            behind, was_in_row = text[high - 1 : high], in_row
            if high == len(text):
                upto = len(words)
            elif behind in (" ", "\n"):
                in_row = not text[high].isspace() and text[high] != "/"
            else:
                in_row = False
            if not (was_in_row and (in_row or high == len(text))) or (behind == " " and text[high - 2].isspace()):
                made.append(self._counter.count(text[low:high]))
            else:
                count = reached[upto - 1] - (reached[at - 1] if at else 0) + (behind == " ")
                if words[at][:1] != _LINE:
                    count += self._counter.difference(words[at])
                made.append(count % _DOUBLED)
            low, at = high, upto
        return made


class WordCounter:
    r"""Counts texts word by word, for tokenizers that always cut at such places; safe for several threads.

    Parameters
    ----------
    count : tokens of a text

    Examples
    --------
    >>> WordCounter(lambda text: len(re.findall(r" ?\w+|.", text))).count("Bees sleep. Ants work.")
    6
    """

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count
        self._known = _no_words()
        self._ends: dict[str, int] = {}

    def __len__(self) -> int:
        """Return how many words are kept."""
        return len(self._known)

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`."""
        found = self._find(text)
        if found is None:
            return self._count(text)
        _, counts, ends = found
        return sum(counts) % _DOUBLED + ends

    def read(self, text: str) -> CountedText | None:
        """Return a text with the tokens of its words; None where they do not say how many it has."""
        found = self._find(text)
        if found is None:
            return None
        words, counts, ends = found
        return CountedText(text, words, list(accumulate(counts)), ends, self)

    def difference(self, word: str) -> int:
        """Return the tokens that a word has more at the beginning of a text than behind a space."""
        led, spaced = self._known.get(_LINE + word), self._known.get(word)
        led = self._count_word(_LINE + word) if led is None else led
        return led - (self._count_word(word) if spaced is None else spaced)

    def _find(self, text: str) -> tuple[list[str], list[int], int] | None:
        """Words of a text, the tokens of each, and those behind the last; None where words do not say it."""
        words = _split(text)
        if len(text) > _MEAN * len(words) or _LINE in text:
            return None
        ends = 0
        if not words[-1]:  # one space at the end is one token
            if text[-2:-1].isspace():
                return None
            words.pop()
            ends = 1
        counts = list(map(self._known.get, words))
        known = self._learn(words, counts) if None in counts else cast("list[int]", counts)
        if known is None or ("  " in text and _LONG_BLANK.search(text)):
            return None
        return words, known, ends

    def _learn(self, words: Sequence[str], counts: Sequence[int | None]) -> list[int] | None:
        """Count words that are not known; None where these are many, or white space stands beside white space."""
        fresh = dict.fromkeys([word for word, count in zip(words, counts, strict=True) if count is None])
        if len(self._known) + len(fresh) > MAX_WORDS:
            self._known, self._ends = _no_words(), {}
        made = dict.fromkeys(fresh, 0)
        left = _LEARNED
        for word in fresh:
            begin = word[1:2] if word[0] == _LINE else word[0]
            if begin.isspace() or (begin == "/" and word[0] == _LINE):
                return None
            known = len(self._known)
            made[word] = self._count_word(word)
            left -= len(self._known) - known
            if left < 0:
                return None
        return [made[word] if count is None else count for word, count in zip(words, counts, strict=True)]

    def _count_word(self, word: str) -> int:
        count = self._count_parts(word)
        if count is None:
            count = self._count(word[1:] if word[0] == _LINE else f" {word}")
        if len(word) <= _LONGEST:
            self._known[word] = count
        return count

    def _count_parts(self, word: str) -> int | None:
        """Tokens of a word with signs or line breaks behind it, from those of both: signs are cut off from letters."""
        bare = word.rstrip(_BEHIND)
        if not len(bare) < len(word) <= _LONGEST or not bare[-1:].isalnum():
            return None
        end = word[len(bare) :]
        ends, count = self._ends.get(end), self._known.get(bare)
        if ends is None:
            ends = self._ends[end] = self._count(end)
        if count is None:
            count = self._known[bare] = self._count(bare[1:] if bare[0] == _LINE else f" {bare}")
        return count + ends


def _no_words() -> dict[str, int]:
    return {"": _DOUBLED + 1, _LINE: 0}


def _split(text: str) -> list[str]:
    """Return the words of a text, with the line breaks behind them; the words of single spaces are no more."""
    if "\n" in text:
        text = text.replace("\n", f"\n {_LINE}").replace(f"\n {_LINE}\n", "\n\n")
    return f"{_LINE}{text}".split(" ")
