"""All measures of answers over a set of questions at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from retrivex.errors import RetrivexError
from retrivex.evaluation.metrics.answers import answerability_match, exact_match, is_answerable, token_f1
from retrivex.evaluation.metrics.arguments import list_of
from retrivex.evaluation.metrics.support import citation_coverage, faithfulness


@dataclass(frozen=True, slots=True)
class AnswerCase:
    """An answer, the reference answers, and the contexts it was generated from.

    Parameters
    ----------
    prediction : the answer
    references : right answers; none where the documents hold none
    contexts : the passages that were given; none leaves `faithfulness` and `citation_coverage` out
    """

    prediction: str
    references: Sequence[str]
    contexts: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class AnswerScores:
    """The scores of one answer, each in [0, 1]; support is None without an answer or without contexts."""

    exact_match: float
    token_f1: float
    answerability: float
    faithfulness: float | None
    citation_coverage: float | None


@dataclass(frozen=True, slots=True)
class AnswerSummary:
    """The means over all answers (of support over those that have it), and the scores of each."""

    exact_match: float
    token_f1: float
    answerability: float
    faithfulness: float | None
    citation_coverage: float | None
    answers: tuple[AnswerScores, ...]


def evaluate_answers(cases: Iterable[AnswerCase], *, no_answer: Collection[str] = ()) -> AnswerSummary:
    """Return every measure of every answer, and the means.

    Parameters
    ----------
    cases : at least one
    no_answer : phrases by which the model says that there is no answer; they count as an empty answer

    Raises
    ------
    RetrivexError
        If there are no cases.

    Examples
    --------
    >>> found = evaluate_answers([
    ...     AnswerCase("Paris", ["Paris"], ["Paris is the capital of France."]),
    ...     AnswerCase("Lyon", ["Paris"], ["Paris is the capital of France."]),
    ... ])
    >>> found.exact_match, found.token_f1, found.faithfulness
    (0.5, 0.5, 0.5)
    """
    answers = tuple(_scores(case, no_answer) for case in list_of(cases, "cases"))
    if not answers:
        raise RetrivexError("there are no answers to evaluate: give at least one AnswerCase")
    means = {field.name: _mean([getattr(one, field.name) for one in answers]) for field in fields(AnswerScores)}
    return AnswerSummary(**means, answers=answers)


def _scores(case: AnswerCase, no_answer: Collection[str]) -> AnswerScores:
    answered = is_answerable(case.prediction, no_answer=no_answer)
    prediction = case.prediction if answered else ""
    contexts = list_of(case.contexts, "contexts")
    with_support = answered and bool(contexts)
    return AnswerScores(
        exact_match=exact_match(prediction, case.references),
        token_f1=token_f1(prediction, case.references),
        answerability=answerability_match(prediction, case.references, no_answer=no_answer),
        faithfulness=faithfulness(prediction, contexts) if with_support else None,
        citation_coverage=citation_coverage(prediction, contexts) if with_support else None,
    )


def _mean(values: Sequence[float | None]) -> Any:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
