"""The sets of a plan: public ones by name, and a user's own questions."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from retrivex.errors import LoadError
from retrivex.evaluation.datasets import READERS, load_sets
from retrivex.evaluation.evidence import EvidenceSet, Question
from retrivex.evaluation.labelled import EvidenceFinder
from retrivex.loading import load_documents

SAMPLE_SEED = 0
"""Of the questions that are asked where not all are: the same ones every time."""


def sets_of(specs: Sequence[str], data: Path | None) -> Iterator[tuple[str, EvidenceSet]]:
    """Yield sets under the names they were asked for, one in memory at a time.

    Raises
    ------
    LoadError
        If a name is unknown, a file is missing or broken, or there is no folder of data.
    """
    unknown = [spec for spec in specs if spec not in READERS]
    if unknown:
        raise LoadError(f"evaluation set {unknown[0]!r} is unknown: choose from {', '.join(READERS)}")
    if specs and data is None:
        raise LoadError("there is no folder of data: name it, as the sets do not come with RetriVex")
    for spec in specs:
        for found in load_sets(data or Path(), (spec,)):
            yield spec, found


def sampled(questions: Sequence[Question], most: int | None, *, unanswerable: bool = False) -> list[Question]:
    """Return the questions that are asked: those that can be measured, at most so many, a seeded sample in order.

    Examples
    --------
    >>> some = [Question(str(number), "Who?", (), answers=("Bees",)) for number in range(4)]
    >>> [question.question_id for question in sampled(some, 2)]
    ['1', '3']
    """
    fit = [question for question in questions if unanswerable or question.evidence or question.answers]
    if most is None or len(fit) <= most:
        return fit
    return [fit[place] for place in sorted(random.Random(SAMPLE_SEED).sample(range(len(fit)), most))]


def own_set(questions: Path, documents: Path) -> EvidenceSet:
    """Read a user's own questions over a folder of files.

    A line is `{"question": ...}` with `evidence` (quotes or offsets), `answers`, or both; one that cannot be used is
    told in `odd`, with its number and the reason.

    Raises
    ------
    LoadError
        If a file or the folder cannot be read, or no line can be used.
    """
    loaded, report = load_documents(documents)
    texts = {document.doc_id: document.text for document in loaded}
    if not texts:
        reason = f"; {report.problems[0]}" if report.problems else ""
        raise LoadError(f"{documents} holds no document that can be read{reason}")
    finder = EvidenceFinder(texts)
    made: list[Question] = []
    odd = [f"document left out: {problem}" for problem in report.problems]
    for number, line in enumerate(_lines(questions), 1):
        try:
            made += [_question(number, line, finder)] if line.strip() else []
        except LoadError as error:
            odd.append(f"line {number} left out: {error}")
    if not made:
        raise LoadError(f"no question of {questions} can be used; {odd[-1] if odd else 'it holds no line'}")
    return EvidenceSet(questions.stem, texts, tuple(made), tuple(odd))


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise LoadError(f"questions {path} cannot be read ({error}): give a JSONL file, one question a line") from error


def _question(number: int, line: str, finder: EvidenceFinder) -> Question:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise LoadError(f"it is not JSON ({error}): write one object a line") from error
    if not isinstance(record, dict) or not isinstance(record.get("question"), str) or not record["question"].strip():
        raise LoadError("it must be an object with a 'question' that is not blank")
    evidence = tuple(sorted({finder.find(claim) for claim in _list(record, "evidence")}))
    answers = tuple(_list(record, "answers"))
    if not all(isinstance(answer, str) for answer in answers):
        raise LoadError(f"'answers' are {record['answers']!r}: give a list of texts")
    return Question(str(record.get("id", number)), record["question"], evidence, answers=answers)


def _list(record: dict[str, Any], key: str) -> list[Any]:
    found = record.get(key, [])
    if not isinstance(found, list):
        raise LoadError(f"{key!r} is {found!r}: give a list")
    return found
