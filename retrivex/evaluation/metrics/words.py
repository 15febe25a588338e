"""Finds phrases in texts: as whole words, or as characters in scripts without spaces between words."""

from __future__ import annotations

import re
from collections.abc import Callable

from retrivex.text.scripts import UNSPACED_ANSWERS

_LETTER = rf"[^\W{UNSPACED_ANSWERS}]"  # of a word that has an end to be seen
_STARTS, _ENDS = re.compile(_LETTER), re.compile(_LETTER + r"\Z")


def finder(phrase: str) -> Callable[[str], bool]:
    """Return a function that says of a text whether the phrase stands in it and cuts no word.

    Examples
    --------
    >>> finder("hen")("the queen then"), finder("hen")("a hen.")
    (False, True)
    >>> finder("北京")("北京是中国的首都"), finder("2008")("北京2008年")
    (True, True)
    """
    before = f"(?<!{_LETTER})" if _STARTS.match(phrase) else ""
    after = f"(?!{_LETTER})" if _ENDS.search(phrase) else ""
    found = re.compile(before + re.escape(phrase) + after)
    return lambda text: found.search(text) is not None
