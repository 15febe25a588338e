"""RULER's eight needle tasks: special magic numbers, in noise, in essays, or among other needles.

Definitions, templates and parameters: Hsieh et al., "RULER", 2024 (arXiv:2404.06654) and its repository NVIDIA/RULER
(Apache-2.0), niah.py, constants.py and synthetic.yaml. Different from there: keys and numbers of one sample never
repeat, so that a question has one answer; words of keys are our own, see key_words.py; sentences of essays are found by
our own splitter.
"""

from __future__ import annotations

import random
import uuid
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Literal

from benchmarks.suites.haystacks.key_words import keys
from benchmarks.suites.haystacks.marked import Marked, join
from benchmarks.suites.ruler.sample import Sample, Task
from retrivex.errors import LoadError
from retrivex.text.sentences import sentence_ranges

NOISE = "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again."

_ROOM = 128
_DEPTHS = tuple(round(100 * step / 39) for step in range(40))  # where needles go among sentences, in percent
_ONE = (
    "A special magic {kind} is hidden within the following text. Make sure to memorize it. I will quiz you about the "
    "{kind} afterwards.\n",
    "What is the special magic {kind} for {query} mentioned in the provided text?",
    " The special magic {kind} for {query} mentioned in the provided text is",
)
_SEVERAL = (
    "Some special magic {kind}s are hidden within the following text. Make sure to memorize it. I will quiz you about "
    "the {kind}s afterwards.\n",
    "What are all the special magic {kind}s for {query} mentioned in the provided text?",
    " The special magic {kind}s for {query} mentioned in the provided text are",
)


@dataclass(frozen=True, slots=True)
class NeedleTask:
    """What a needle task varies.

    Parameters
    ----------
    hay : what the needles lie in: noise, essays, or needles of other keys
    key, value : what they are
    keys_hidden, values_per_key, keys_asked : how many
    """

    hay: Literal["noise", "essay", "needle"]
    key: Literal["word", "uuid"] = "word"
    value: Literal["number", "uuid"] = "number"
    keys_hidden: int = 1
    values_per_key: int = 1
    keys_asked: int = 1


NEEDLE_TASKS: Mapping[str, NeedleTask] = {
    "niah_single_1": NeedleTask("noise"),
    "niah_single_2": NeedleTask("essay"),
    "niah_single_3": NeedleTask("essay", value="uuid"),
    "niah_multikey_1": NeedleTask("essay", keys_hidden=4),
    "niah_multikey_2": NeedleTask("needle"),
    "niah_multikey_3": NeedleTask("needle", key="uuid", value="uuid"),
    "niah_multivalue": NeedleTask("essay", values_per_key=4),
    "niah_multiquery": NeedleTask("essay", keys_hidden=4, keys_asked=4),
}


class EssayHay:
    """Essays as one run of words, begun again where they end, cut into sentences.

    Parameters
    ----------
    essays : in order

    Raises
    ------
    LoadError
        If they hold no word.
    """

    def __init__(self, essays: Sequence[str]) -> None:
        text = " ".join(" ".join(essays).split())
        if not text:
            raise LoadError(f"{len(essays)} essays hold no word: haystacks are made of text")
        self._sentences = [text[start:end] for start, end in sentence_ranges(text)]
        self._words = list(accumulate(len(sentence.split()) for sentence in self._sentences))

    def sentences(self, words: int) -> list[str]:
        """Return the sentences of the first words; the last is cut to fit."""
        rounds, rest = divmod(words, self._words[-1])
        whole = bisect_left(self._words, rest)
        made = self._sentences * rounds + self._sentences[: whole + 1]
        cut = made.pop().split()
        over = self._words[whole] - rest
        return [*made, " ".join(cut[: len(cut) - over])] if len(cut) > over else made


def needle_task(task: NeedleTask, essays: EssayHay | None = None) -> Task:
    """Return the maker of samples of a needle task; its hay is counted in words, lines of noise, or needles.

    Parameters
    ----------
    task : what it varies
    essays : where they are its hay
    """

    def build(_: int, size: int, rng: random.Random) -> Sample:
        return _sample(task, essays, size, rng)

    return Task(build, smallest=task.keys_hidden * task.values_per_key)


def _sample(task: NeedleTask, essays: EssayHay | None, size: int, rng: random.Random) -> Sample:
    others = size if task.hay == "needle" else 0
    names = _different(task.key, task.keys_hidden + others, rng)
    values = _different(task.value, task.keys_hidden * task.values_per_key + others, rng)
    per_key = [[values.pop() for _ in range(task.values_per_key)] for _ in range(task.keys_hidden)]
    asked = rng.sample(range(task.keys_hidden), task.keys_asked)
    needles = [
        _needle(task, names[number], value, asked=number in asked)
        for number, held in enumerate(per_key)
        for value in held
    ]
    rng.shuffle(needles)
    if essays:
        context = _among_sentences(essays.sentences(size), needles, rng)
    else:
        lines = [Marked(NOISE)] * size
        if task.hay == "needle":
            lines = [_needle(task, *pair, asked=False) for pair in zip(names[task.keys_hidden :], values, strict=True)]
        context = _among_lines(lines, needles, rng)
    outputs = tuple(value for number in asked for value in per_key[number])
    return _worded(task, context, [names[number] for number in asked], outputs)


def _different(kind: str, count: int, rng: random.Random) -> list[str]:
    if kind == "word":
        return keys(count, rng)
    if kind == "number":
        return [str(number) for number in rng.sample(range(10**6, 10**7), count)]
    return [str(uuid.UUID(int=rng.getrandbits(128), version=4)) for _ in range(count)]


def _needle(task: NeedleTask, key: str, value: str, *, asked: bool) -> Marked:
    text = f"One of the special magic {task.value}s for {key} is: {value}."
    return Marked.whole(text) if asked else Marked(text)


def _among_sentences(sentences: list[str], needles: Sequence[Marked], rng: random.Random) -> Marked:
    places = sorted(len(sentences) * depth // 100 for depth in rng.sample(_DEPTHS, len(needles)))
    parts = []
    for needle, (start, end) in zip(needles, pairwise([0, *places]), strict=True):
        parts += [*map(Marked, sentences[start:end]), needle]
    return join(" ", [*parts, *map(Marked, sentences[places[-1] :])])


def _among_lines(lines: list[Marked], needles: Sequence[Marked], rng: random.Random) -> Marked:
    for place, needle in zip(sorted(rng.sample(range(len(lines)), len(needles)), reverse=True), needles, strict=True):
        lines.insert(place, needle)
    return join("\n", lines)


def _worded(task: NeedleTask, context: Marked, asked: Sequence[str], outputs: tuple[str, ...]) -> Sample:
    query = f"{', '.join(asked[:-1])}, and {asked[-1]}" if len(asked) > 1 else asked[0]
    words = _ONE if len(outputs) == 1 else _SEVERAL
    before, question, prefix = (part.format(kind=task.value, query=query) for part in words)
    return Sample(before, context, f"\n{question}", question, prefix, outputs, _ROOM)
