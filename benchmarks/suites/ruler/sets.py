"""RULER: thirteen tasks over long contexts of a given length, as questions with evidence.

Source: Hsieh et al., "RULER: What's the Real Context Size of Your Long-Context Language Models?", 2024
(arXiv:2404.06654). Code is our own.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.suites.haystacks.essays import ESSAYS, read_essays
from benchmarks.suites.ruler.needles import NEEDLE_TASKS, EssayHay, needle_task
from benchmarks.suites.ruler.questions import questions, read_hotpotqa, read_squad
from benchmarks.suites.ruler.sample import Sample, Task
from benchmarks.suites.ruler.variables import variable_tracking
from benchmarks.suites.ruler.words import common_words, frequent_words
from retrivex.errors import LoadError
from retrivex.evaluation.questions.evidence import Evidence, EvidenceSet, Factor, Question
from retrivex.tokens.tokenizer import Tokenizer, TokenizerSpec, get_tokenizer

TASKS = (*NEEDLE_TASKS, "vt", "cwe", "fwe", "qa_1", "qa_2")

SAMPLES = 100
"""How many samples a task has where nobody says; RULER itself takes 500."""

# A sample of less than this share of the length asked for would be called what it is not.
_NEAR = 0.9


def ruler_task(name: str, tokens: int, data: Path) -> Task:
    """Return the maker of a task's samples.

    Parameters
    ----------
    name : one of `TASKS`
    tokens : of a sample
    data : the folder of the evaluation data; essays, SQuAD and HotpotQA are read where the task needs them

    Raises
    ------
    LoadError
        If the task is unknown or its data are not there.
    """
    if name in NEEDLE_TASKS:
        task = NEEDLE_TASKS[name]
        essays = EssayHay(list(read_essays(data / ESSAYS).values())) if task.hay == "essay" else None
        return needle_task(task, essays)
    if name == "vt":
        return variable_tracking()
    if name == "cwe":
        return common_words(read_essays(data / ESSAYS).values(), tokens)
    if name == "fwe":
        return frequent_words(tokens)
    if name == "qa_1":
        return questions(read_squad(_files(data / "squad")))
    if name == "qa_2":
        return questions(read_hotpotqa(_files(data / "hotpotqa")))
    raise LoadError(f"RULER task {name!r} is unknown: choose from {', '.join(TASKS)}")


def _files(folder: Path) -> list[Path]:
    found = sorted(folder.glob("*.json"))
    if not found:
        raise LoadError(f"no .json file is in {folder}: RULER's questions are made of the set's own files")
    return found


def ruler_samples(
    name: str,
    tokens: int,
    data: Path,
    *,
    samples: int = SAMPLES,
    seed: int = 0,
    tokenizer: TokenizerSpec = "cl100k_base",
) -> list[Sample]:
    """Return samples of a task, as long as asked for or a little shorter.

    Parameters
    ----------
    name : one of `TASKS`
    tokens : of a sample at most: prompt, answer's prefix and room for the answer
    data : the folder of the evaluation data
    samples : how many; fewer where the task has fewer questions
    seed : of everything that is drawn
    tokenizer : counts the tokens

    Raises
    ------
    LoadError
        If the task is unknown, its data are not there or too few for the length, or the length is too short for it.
    """
    task = ruler_task(name, tokens, data)
    fitting = _Fitting(task, name, tokens, seed, get_tokenizer(tokenizer))
    return [fitting.sample(index) for index in range(min(samples, task.questions or samples))]


class _Fitting:
    """Makes samples that fit a length; remembers how much hay the last one took, as the next takes about as much."""

    def __init__(self, task: Task, name: str, tokens: int, seed: int, tokenizer: Tokenizer) -> None:
        self._task = task
        self._name = name
        self._tokens = tokens
        self._seed = seed
        self._tokenizer = tokenizer
        self._size = task.smallest

    def sample(self, index: int) -> Sample:
        """Return a sample of which not one percent of the length is left, or as little as its hay allows.

        Raises
        ------
        LoadError
            If it cannot be so short, or so long.
        """
        fits, beyond = self._task.smallest - 1, (self._task.largest or sys.maxsize) + 1
        best: Sample | None = None
        length = reached = 0
        while beyond - fits > 1 and reached < 0.99 * self._tokens:
            sample = self._build(index)
            length = sample.length(self._tokenizer)
            if length > self._tokens:
                beyond = self._size
            else:
                best, fits, reached = sample, self._size, length
            aimed_at = int(self._size * 0.995 * self._tokens / length)
            self._size = min(max(aimed_at, fits + 1), beyond - 1)
        self._size = fits
        if best is None:
            raise LoadError(f"a sample of {self._name} has {length} tokens at least, {self._tokens} are too few")
        if fits == self._task.largest and reached < _NEAR * self._tokens:
            raise LoadError(
                f"a sample of {self._name} cannot have {self._tokens} tokens: the data at hand suffice for {reached}"
            )
        return best

    def _build(self, index: int) -> Sample:
        # a text seeds by its SHA-512: the same on every machine, whatever the hash seed
        rng = random.Random(f"{self._seed}/{self._name}/{self._tokens}/{index}")
        return self._task.build(index, self._size, rng)


def ruler(name: str, tokens: int, samples: Sequence[Sample]) -> EvidenceSet:
    """Return samples as questions: each asked of a document of its own, the context.

    Factors: task, tokens, and depth where there is evidence.

    Parameters
    ----------
    name : of the task
    tokens : that the samples were made for
    samples : of the task
    """
    documents: dict[str, str] = {}
    asked = []
    for index, sample in enumerate(samples):
        doc_id = f"{name}/{tokens}/{index}"
        documents[doc_id] = sample.context.text
        factors: dict[str, Factor] = {"task": name, "tokens": tokens}
        if sample.depth is not None:
            factors["depth"] = sample.depth
        asked.append(
            Question(
                str(index),
                sample.question,
                tuple(Evidence(doc_id, start, end) for start, end in sample.context.marks),
                within=(doc_id,),
                answers=sample.outputs,
                needed=sample.needed,
                factors=factors,
            )
        )
    return EvidenceSet(f"ruler/{name}/{tokens}", documents, tuple(asked))
