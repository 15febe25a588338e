"""The public sets of a plan, by name."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from retrivex.errors import LoadError
from retrivex.evaluation.questions.evidence import EvidenceSet, Question

Item = TypeVar("Item")

FAMILIES: dict[str, Callable[[Sequence[str], Path], EvidenceSet]] = {}

SAMPLE_SEED = 0
"""Of the questions that are asked where not all are: the same ones every time."""


def sets_of(specs: Sequence[str], data: Path | None) -> Iterator[tuple[str, EvidenceSet]]:
    """Yield sets under the names they were asked for, one in memory at a time.

    Raises
    ------
    LoadError
        If a name is unknown, a file is missing or broken, or there is no folder of data. Unknown names are reported
        before the first set is read.

    Examples
    --------
    >>> next(sets_of(["bees"], Path("data")))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    retrivex.errors.LoadError: evaluation set 'bees' is unknown here: the public sets are in ...
    """
    for spec in specs:
        if spec.split("/")[0] not in FAMILIES:
            raise LoadError(
                f"evaluation set {spec!r} is unknown here: the public sets are in benchmarks/suites of its "
                "repository (python -m benchmarks.suites evaluate --set ...); for your own questions give their file"
            )
    if specs and data is None:
        raise LoadError("there is no folder of data: name it, as the sets do not come with RetriVex")
    for spec in specs:
        family, *rest = spec.split("/")
        yield spec, replace(FAMILIES[family](rest, data or Path()), name=spec)


def sampled(questions: Sequence[Question], most: int | None, *, unanswerable: bool = False) -> list[Question]:
    """Return the questions that are asked: those that can be measured, at most so many, a seeded sample in order.

    Examples
    --------
    >>> some = [Question(str(number), "Who?", (), answers=("Bees",)) for number in range(4)]
    >>> [question.question_id for question in sampled(some, 2)]
    ['1', '3']
    """
    fit = [question for question in questions if unanswerable or question.evidence or question.answers]
    return draw(fit, most)


def draw(items: list[Item], most: int | None) -> list[Item]:
    """Return at most `most` of the items, a seeded sample in their order."""
    if most is None or len(items) <= most:
        return items
    return [items[place] for place in sorted(random.Random(SAMPLE_SEED).sample(range(len(items)), most))]
