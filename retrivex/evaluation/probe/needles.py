"""Invented facts, hidden in neutral text, that a position probe asks for."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from retrivex.errors import RetrivexError
from retrivex.tokens.tokenizer import Tokenizer

_THINGS = (
    "lighthouse", "observatory", "ferry", "printing press", "weather station", "windmill", "cable car", "greenhouse",
    "clock tower", "salt mine", "tide gauge", "water pump", "kiln", "archive", "signal box", "drawbridge", "foundry",
    "aviary", "ropeway", "ice house",
)  # fmt: skip
_PLACES = (
    "Ardvale", "Bramwick", "Corlund", "Dunmeer", "Eskholm", "Farrowby", "Glenmoor", "Hartsund", "Iverness Bay",
    "Jorvale", "Kelmouth", "Lorneby", "Marrowick", "Nordhaven", "Ostermark", "Pellworth", "Quarndon", "Ristoft",
    "Selmark", "Tolvaren",
)  # fmt: skip

_WHO = ("neighbour", "teacher", "gardener", "baker", "traveller", "child", "painter", "driver", "sailor", "clerk")
_WHAT = ("garden", "street", "kitchen", "harbour", "market", "meadow", "library", "staircase", "orchard", "workshop")
_HOW = ("quiet", "narrow", "sunny", "crowded", "familiar", "dusty", "cheerful", "distant", "tidy", "draughty")
_DOES = ("walked past", "looked at", "talked about", "waited near", "wrote about", "thought of", "cleaned", "crossed")
_WHEN = (
    "in the morning",
    "after lunch",
    "towards evening",
    "before the rain",
    "on the way home",
    "once again",
    "at noon",
)
_SHAPES = (
    "The {who} {does} the {how} {what} {when}.",
    "{When}, the {what} was {how}, and the {who} did not mind.",
    "Nobody remembered why the {who} {does} the {what}.",
    "It was a {how} {what}, and the {who} {does} it {when}.",
    "Another {who} {does} a {how} {what}, as people do.",
    "The {what} looked {how} {when}, or so the {who} said.",
)


@dataclass(frozen=True, slots=True)
class Needle:
    """A fact, the question that it answers, and the answer: a number of seven digits."""

    sentence: str
    question: str
    value: str


@dataclass(frozen=True, slots=True)
class Haystack:
    """A text with a needle in it.

    Parameters
    ----------
    text : sentences, the needle's among them
    position : relative token position of the needle's middle, 0 first .. 1 last
    tokens : of the text, nearly
    """

    text: str
    position: float
    tokens: int


def make_needles(count: int, seed: int) -> list[Needle]:
    """Return different facts.

    Raises
    ------
    RetrivexError
        If there are not so many.

    Examples
    --------
    >>> needle = make_needles(1, seed=0)[0]
    >>> needle.value in needle.sentence, needle.value in needle.question
    (True, False)
    """
    subjects = [(thing, place) for thing in _THINGS for place in _PLACES]
    if not 1 <= count <= len(subjects):
        raise RetrivexError(f"{count} needles: there are from 1 to {len(subjects)}")
    draws = random.Random(f"needles {seed}")
    values = draws.sample(range(1_000_000, 10_000_000), count)
    return [
        Needle(
            f"The registration number of the {thing} in {place} is {value}.",
            f"What is the registration number of the {thing} in {place}?",
            str(value),
        )
        for (thing, place), value in zip(draws.sample(subjects, count), values, strict=True)
    ]


def plain_sentences(draws: random.Random) -> Iterator[str]:
    """Yield made-up sentences without names and numbers, about nothing in particular."""
    while True:
        when = draws.choice(_WHEN)
        yield draws.choice(_SHAPES).format(
            who=draws.choice(_WHO),
            does=draws.choice(_DOES),
            how=draws.choice(_HOW),
            what=draws.choice(_WHAT),
            when=when,
            When=when.capitalize(),
        )


def hide(needle: Needle, filler: Sequence[str], costs: Sequence[int], depth: float, tokenizer: Tokenizer) -> Haystack:
    """Put a needle between the sentences of a filler, as near to a relative depth as can be.

    Parameters
    ----------
    filler : the sentences
    costs : tokens of each
    depth : 0 in front of all of them, 1 behind

    Examples
    --------
    >>> from retrivex.tokens.tokenizer import get_tokenizer
    >>> words = get_tokenizer(lambda text: len(text.split()))
    >>> needle = Needle("It is 1.", "What is it?", "1")
    >>> hide(needle, ["A b c.", "D e f."], [3, 3], 0.5, words)
    Haystack(text='A b c. It is 1. D e f.', position=0.5, tokens=9)
    """
    before = [0, *accumulate(costs)]
    wanted = depth * before[-1]
    at = bisect_left(before, wanted)
    if at and wanted - before[at - 1] <= before[at] - wanted:
        at -= 1
    own = tokenizer.count(needle.sentence)
    text = " ".join([*filler[:at], needle.sentence, *filler[at:]])
    return Haystack(text, (before[at] + own / 2) / (before[-1] + own), before[-1] + own)


def fill(sentences: Iterator[str], tokens: int, tokenizer: Tokenizer) -> tuple[list[str], list[int]]:
    """Take sentences until they have so many tokens, each counted by itself; return them and their tokens."""
    taken: list[str] = []
    costs: list[int] = []
    total = 0
    for sentence in sentences:
        cost = max(1, tokenizer.count(f" {sentence}"))
        if taken and total + cost > tokens:
            break
        taken.append(sentence)
        costs.append(cost)
        total += cost
    return taken, costs
