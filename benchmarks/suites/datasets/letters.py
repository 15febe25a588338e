"""Finding quotes that differ from the text in everything but letters and digits."""

from __future__ import annotations

from retrivex.text.terms import is_letter, is_unspaced

_LONG = 20  # letters and digits, from which on a quote is known even if its first or last letter was lost


class LetterIndex:
    """Finds quotes of a text by their letters and digits alone, whatever stands between them and whatever their case.

    For quotes that an annotator typed, with other punctuation, hyphens or references left out. A quote cuts no word,
    unless it is long and its first or last letters were lost: then what is found is the whole words. In scripts without
    spaces between words it may begin and end anywhere.

    Parameters
    ----------
    text : what is quoted

    Examples
    --------
    >>> LetterIndex("The bees[1] (of Bonn) sleep-walk; ants do not.").find("the bees 1 of Bonn sleepwalk!")
    (0, 32)
    >>> LetterIndex("The bees sleep.").find("bees slee") is None
    True
    """

    def __init__(self, text: str) -> None:
        self._text = text
        letters: list[str] = []
        self._places: list[int] = []
        for at, letter in enumerate(text):
            if is_letter(letter):
                folded = letter.casefold()
                letters.append(folded)
                self._places.extend([at] * len(folded))
        self._letters = "".join(letters)

    def find(self, quote: str) -> tuple[int, int] | None:
        """Return where the quote stands first, as `(start, end)`; None where it does not, or has no letter or digit."""
        wanted = "".join(letter.casefold() for letter in quote if is_letter(letter))
        found: tuple[int, int] | None = None
        at = self._letters.find(wanted) if wanted else -1
        while at != -1:
            start, end = self._places[at], self._places[at + len(wanted) - 1] + 1
            if not self._parts_word(start) and not self._parts_word(end):
                return start, end
            if found is None and len(wanted) >= _LONG:
                found = start, end
            at = self._letters.find(wanted, at + 1)
        return found and self._whole_words(*found)

    def _parts_word(self, at: int) -> bool:
        around = self._text[max(0, at - 1) : at + 1]
        return len(around) == 2 and all(is_letter(letter) and not is_unspaced(letter) for letter in around)

    def _whole_words(self, start: int, end: int) -> tuple[int, int]:
        while self._parts_word(start):
            start -= 1
        while self._parts_word(end):
            end += 1
        return start, end
