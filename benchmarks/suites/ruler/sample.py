"""One sample of a RULER task, and how it is written: JSON Lines in the official layout."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.suites.haystacks.marked import Marked
from retrivex.tokens.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Sample:
    """A prompt, in its parts, and what a model should say to it.

    Parameters
    ----------
    before, context, after : the prompt as RULER words it; `context` marks the evidence
    question : as in `after`, without label and instructions
    answer_prefix : words that the model goes on from
    outputs : what the answer has to hold
    room : tokens that the model may answer with; they count towards the length
    needed : whether any of `outputs` will do or all have to be given
    """

    before: str
    context: Marked
    after: str
    question: str
    answer_prefix: str
    outputs: tuple[str, ...]
    room: int
    needed: Literal["any", "all"] = "all"

    @property
    def input(self) -> str:
        """The prompt, without the answer's prefix."""
        return f"{self.before}{self.context.text}{self.after}"

    def length(self, tokenizer: Tokenizer) -> int:
        """Return the tokens of the prompt, the answer's prefix and the answer."""
        return tokenizer.count(self.input + self.answer_prefix) + self.room

    @property
    def depth(self) -> int | None:
        """Where the first evidence begins, in percent of the context's characters; None without evidence."""
        if not self.context.marks:
            return None
        return round(100 * self.context.marks[0][0] / len(self.context.text))


@dataclass(frozen=True, slots=True)
class Task:
    """How samples of one task are made.

    Parameters
    ----------
    build : makes the sample with that number out of that much hay; the generator chooses. The same three, the same
        sample
    smallest : amount of hay that a sample needs
    largest : amount of hay there is; None where it does not end
    questions : how many different samples there are; None where it does not end
    """

    build: Callable[[int, int, random.Random], Sample]
    smallest: int
    largest: int | None = None
    questions: int | None = None


def write_samples(path: Path, samples: Iterable[Sample], tokenizer: Tokenizer) -> None:
    """Write samples as RULER does, a line of JSON each, so that its own scripts can read them.

    `token_position_answer` counts the tokens before the first output, and is -1 where the prompt does not hold it.

    Parameters
    ----------
    path : the file; its folder must exist
    samples : in the order of their indexes
    tokenizer : the one they were made for; counts
    """
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for index, sample in enumerate(samples):
            at = sample.input.find(sample.outputs[0])
            record = {
                "index": index,
                "input": sample.input,
                "outputs": list(sample.outputs),
                "length": sample.length(tokenizer),
                "answer_prefix": sample.answer_prefix,
                "token_position_answer": tokenizer.count(sample.input[:at]) if at >= 0 else -1,
            }
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
