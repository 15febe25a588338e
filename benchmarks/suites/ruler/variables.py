"""RULER's variable tracking: which names hold a value, directly or through other names.

Definition, templates and parameters (one chain, four hops, in noise, one worked example before): Hsieh et al., "RULER",
2024 (arXiv:2404.06654) and its repository NVIDIA/RULER (Apache-2.0), variable_tracking.py and constants.py.
"""

from __future__ import annotations

import random
import string
from itertools import pairwise

from benchmarks.suites.haystacks.marked import Marked, join
from benchmarks.suites.ruler.needles import NOISE
from benchmarks.suites.ruler.sample import Sample, Task

HOPS = 4

_ROOM = 30
_EXAMPLE_LINES = 16  # RULER's worked example fills 500 tokens: with its chain, these lines have 494 of cl100k_base
_BEFORE = "Memorize and track the chain(s) of variable assignment hidden in the following text.\n\n"
_QUESTION = "Find all variables that are assigned the value {value} in the text above."
# "assgined" is RULER's own spelling; prompts are only comparable with it
_PREFIX = (
    " Answer: According to the chain(s) of variable assignment in the text above, {count} variables are assgined the "
    "value {value}, they are: "
)


def variable_tracking() -> Task:
    """Return the maker of samples; its hay is counted in lines of noise."""

    def build(_: int, size: int, rng: random.Random) -> Sample:
        example = _sample(_EXAMPLE_LINES, 3, "", rng)
        worked = f"{example.input}{example.answer_prefix} {' '.join(example.outputs)}\n\n"
        return _sample(size, 5, worked, rng)

    return Task(build, smallest=HOPS + 1)


def _sample(lines: int, letters: int, example: str, rng: random.Random) -> Sample:
    names = _names(HOPS + 1, letters, rng)
    value = str(rng.randrange(10_000, 99_999))
    links = [f"VAR {names[0]} = {value}", *(f"VAR {name} = VAR {of}" for of, name in pairwise(names))]
    parts = [Marked(NOISE)] * lines
    for number, place in enumerate(sorted(rng.sample(range(lines), len(links)))):
        # RULER puts a space behind every link but the first
        parts.insert(place + number, join("", [Marked.whole(links[number]), Marked(" " if number else "")]))
    return Sample(
        example + _BEFORE,
        join("\n", parts),
        f"\nQuestion: {_QUESTION.format(value=value)}",
        _QUESTION.format(value=value),
        _PREFIX.format(count=len(names), value=value),
        tuple(names),
        _ROOM,
    )


def _names(count: int, letters: int, rng: random.Random) -> list[str]:
    """Return different names of capital letters."""
    names: list[str] = []
    while len(names) < count:
        name = "".join(rng.choice(string.ascii_uppercase) for _ in range(letters))
        if name not in names:
            names.append(name)
    return names
