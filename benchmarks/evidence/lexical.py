"""The terms of the benchmarks' BM25: words as `\\w+` finds them, with and without English function words."""

from __future__ import annotations

import re

_WORDS = re.compile(r"\w+")

# English function words; only the hand-tuned reference leaves them out
STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        a about above after again against all am an and any are as at be because been before being below
        between both but by can could did do does doing down during each few for from further had has have
        having he her here hers herself him himself his how i if in into is it its itself just me more most my
        myself no nor not now of off on once only or other our ours ourselves out over own same she should so
        some such than that the their theirs them themselves then there these they this those through to too
        under until up very was we were what when where which while who whom why will with would you your
        yours yourself yourselves
        """,
    )
)


def words(text: str) -> list[str]:
    """Return the lower-case words of a text."""
    return _WORDS.findall(text.lower())


def content_words(text: str) -> list[str]:
    """Return the lower-case words of a text without English function words."""
    return [word for word in words(text) if word not in STOP_WORDS]
