"""The features of `features.NAMES` in words, for people who read why a passage is shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_SIGNALS = {
    "similarity": "closeness in meaning to the question",
    "hit score": "the retriever's score",
    "words": "words shared with the question, rare ones most",
    "document name": "words of the question in its document's name",
    "document words": "words of the question in its document, rare ones most",
    "words together": "several words of the question close together",
}
_OTHERS = {
    "is a hit": "being a hit of the retriever",
    "chunks from a hit": "distance to the nearest hit",
    "sentence model": "the sentence model's probability",
    "share of words": "the share of the question's words that it has",
}
_SIGNAL = "|".join(sorted(map(re.escape, _SIGNALS), key=len, reverse=True))
_ANY = f"({_SIGNAL})"

# the first rule that fits the whole name writes it
_RULES: Sequence[tuple[re.Pattern[str], Callable[[re.Match[str]], str]]] = (
    (re.compile(_ANY), lambda found: _SIGNALS[found[1]]),
    (re.compile(f"{_ANY} within (\\d+) tokens"), lambda found: f"{_SIGNALS[found[1]]}, in {found[2]} tokens around it"),
    (
        re.compile(f"{_ANY} within (\\d+) tokens, below best"),
        lambda found: f"being near the best of the candidates in {_SIGNALS[found[1]]}, in {found[2]} tokens around it",
    ),
    (
        re.compile(f"{_ANY},? below best"),
        lambda found: f"being near the best of the candidates in {_SIGNALS[found[1]]}",
    ),
    (re.compile(f"{_ANY}, better side"), lambda found: f"{_SIGNALS[found[1]]}, on the better of its two sides"),
    (re.compile(f"{_ANY}, worse side"), lambda found: f"{_SIGNALS[found[1]]}, on the worse of its two sides"),
    (re.compile(f"{_ANY} x {_ANY}"), lambda found: f"{_SIGNALS[found[1]]}, together with {_SIGNALS[found[2]]}"),
)


def describe_feature(name: str) -> str:
    """Return what a feature looks at, in words; a name that no rule fits comes back as it is.

    Examples
    --------
    >>> describe_feature("words within 400 tokens")
    'words shared with the question, rare ones most, in 400 tokens around it'
    """
    if name in _OTHERS:
        return _OTHERS[name]
    return next((write(found) for rule, write in _RULES if (found := rule.fullmatch(name))), name)
