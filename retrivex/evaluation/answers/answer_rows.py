"""Generates and measures a model's answers to contexts that were measured already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from retrivex.errors import RetrivexError
from retrivex.evaluation.answers.measures import SetScorer, answer_measures, classes_of, set_scorer
from retrivex.evaluation.answers.prompts import answer_request
from retrivex.evaluation.questions.evidence import EvidenceSet, Question
from retrivex.evaluation.run.results import Row
from retrivex.model.asking import Model, Usage

NOT_GENERATED = "answers were not generated: no endpoint was given"
"""What a report says where there was no model."""

_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class AnsweredRows:
    """Rows with answers, and the problems that occurred.

    Parameters
    ----------
    rows : as many as were given, in their order; those that were not answered as they were
    warnings : why some have no answer, each reason once, with how many
    usage : what was asked and spent; None where there was no model
    """

    rows: list[Row]
    warnings: tuple[str, ...]
    usage: Usage | None = None


def answer_rows(
    rows: Iterable[Row],
    questions: Mapping[str, Question] | Iterable[Question],
    model: Model | None,
    *,
    report: Callable[[int, int], None] | None = None,
) -> AnsweredRows:
    """Let a model answer the questions of rows from their contexts.

    Parameters
    ----------
    rows : of one set or of several whose questions have different ids; each with its context
    questions : of these sets; those that no row has are passed over
    model : an `Endpoint`, or anything else that answers; None generates nothing and says so
    report : called with how many are answered, of how many

    Raises
    ------
    RetrivexError
        If a row has no context, or its question is not there.
    EndpointError
        If there is no use in asking on; with a cache, what was answered is kept.
    ImportError
        If the score of a set needs an extra that is not there; nothing is asked then.
    """
    given = list(rows)
    if model is None:
        return AnsweredRows(given, (NOT_GENERATED,))
    known = questions if isinstance(questions, Mapping) else {question.question_id: question for question in questions}
    pairs = [(row, _question(row, known), _context(row)) for row in given]
    classes = classes_of(known.values())
    scorers = {name: set_scorer(name, classes) for name in {row.set_name for row in given}}
    answered: list[Row] = []
    problems: Counter[str] = Counter()
    for at in range(0, len(pairs), _AT_ONCE):
        part = pairs[at : at + _AT_ONCE]
        answered += _answer(part, model, scorers, problems)
        if report is not None:
            report(len(answered), len(given))
    warnings = tuple(f"{count} of {len(given)} answers: {problem}" for problem, count in problems.items())
    return AnsweredRows(answered, warnings, model.usage)


def answer_sets(
    rows: Iterable[Row], sets: Iterable[EvidenceSet], model: Model, *, report: Callable[[int, int], None] | None = None
) -> AnsweredRows:
    """Do the same as `answer_rows` for a whole run, set by set: ids of questions may be the same in two sets.

    Parameters
    ----------
    rows : of a run that kept its contexts
    sets : all that it was over, one in memory at a time if they come so
    model, report : as for `answer_rows`

    Raises
    ------
    RetrivexError, EndpointError, ImportError
        As `answer_rows` does; if a set of a row is missing.
    """
    left: dict[str, list[tuple[int, Row]]] = {}
    for at, row in enumerate(rows):
        left.setdefault(row.set_name, []).append((at, row))
    total = sum(map(len, left.values()))
    made: dict[int, Row] = {}
    warnings: list[str] = []
    for found in sets:
        own = left.pop(found.name, [])
        counting = (
            None if report is None else partial(lambda before, done, _of: report(before + done, total), len(made))
        )
        answered = answer_rows([row for _, row in own], found.questions, model, report=counting)
        made |= dict(zip((at for at, _ in own), answered.rows, strict=True))
        warnings += [f"{found.name}: {warning}" for warning in answered.warnings]
    if left:
        raise RetrivexError(f"rows are of {next(iter(left), '')}, and that set is not there: give every set of the run")
    return AnsweredRows([made[at] for at in sorted(made)], tuple(warnings), model.usage)


def _answer(
    pairs: Sequence[tuple[Row, Question, str]], model: Model, scorers: Mapping[str, SetScorer], problems: Counter[str]
) -> list[Row]:
    replies = model.ask([answer_request(row.set_name, question, context) for row, question, context in pairs])
    made: list[Row] = []
    for (row, question, context), reply in zip(pairs, replies, strict=True):
        if reply.text is None:
            problems[reply.problem or "no answer"] += 1
            made.append(row)
            continue
        found = answer_measures(row.set_name, question, reply.text, context, scorer=scorers[row.set_name])
        made.append(replace(row, answer=reply.text, measures={**row.measures, **found}))
    return made


def _question(row: Row, known: Mapping[str, Question]) -> Question:
    if row.question_id not in known:
        raise RetrivexError(
            f"row of question {row.question_id!r} of {row.set_name}: the question is not there; give those of its set"
        )
    return known[row.question_id]


def _context(row: Row) -> str:
    if row.context is None:
        raise RetrivexError(
            f"row of question {row.question_id!r} of {row.set_name} has no context: keep contexts when measuring "
            "(retrivex evaluate --keep-contexts)"
        )
    return row.context
