"""Measures of an answer: general ones, and the score that the question's set was published with."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

from retrivex.evaluation.answers.prompts import NO_ANSWER, published_as
from retrivex.evaluation.metrics import exact_match, faithfulness, is_answerable, token_f1
from retrivex.evaluation.questions.evidence import Question

SetScorer: TypeAlias = Callable[[str, Question], float]
"""Answer, question -> score in [0, 1]; the question has answers."""


SCORERS: dict[str, Callable[[str, Sequence[str]], SetScorer]] = {}


def set_scorer(set_name: str, classes: Sequence[str] = ()) -> SetScorer:
    """Return the score that a set was published with.

    Parameters
    ----------
    set_name : of a public set, whose score is in `SCORERS`; other sets have the token F1 of SQuAD
    classes : of LongBench's trec and lsht

    Raises
    ------
    RetrivexError
        If LongBench has no such task.
    ImportError
        If it needs an extra that is not there.
    """
    family, task = published_as(set_name)
    made = SCORERS.get(family)
    return best_f1 if made is None else made(task, classes)


def answer_measures(
    set_name: str, question: Question, answer: str, context: str, *, scorer: SetScorer | None = None
) -> dict[str, float]:
    """Return the measures of an answer, each in [0, 1]; one that the question does not allow is not there.

    Parameters
    ----------
    set_name : says which `score` it gets, see `set_scorer`
    question : with the right answers
    answer : of the model, as it is
    context : what it was given
    scorer : in place of that of the set

    Returns
    -------
    measures
        `em` and `f1`: exact match and token F1, as in SQuAD 2.0, where one answer will do or there is none;
        `score`: that of the set, where answers are known;
        `answerable`: whether it answers where there is an answer, and says that there is none where there is none;
        `faithfulness`: the share of its informative words that stand in the context, where it answers

    Examples
    --------
    >>> measures = answer_measures("own", Question("1", "Who?", (), answers=("Ada",)), "Ada Lovelace", "Ada wrote it.")
    >>> measures["em"], round(measures["f1"], 2), measures["faithfulness"]
    (0.0, 0.67, 0.5)
    """
    answers = _answers(answer)
    there_is = any(map(_answers, question.answers)) if question.answers else bool(question.evidence)
    measures = {"answerable": float(answers == there_is)}
    if question.needed == "any" and (question.answers or not there_is):
        said = answer if answers or question.answers else ""  # some sets have "unanswerable" as a reference
        measures["em"] = exact_match(said, question.answers)
        measures["f1"] = token_f1(said, question.answers)
    if question.answers:
        measures["score"] = (scorer or set_scorer(set_name))(answer, question)
    if answers and context:
        measures["faithfulness"] = faithfulness(answer, [context])
    return measures


def best_f1(answer: str, question: Question) -> float:
    """Return the token F1 of the best answer; where all are needed, that of all of them together."""
    if question.needed == "all":
        return token_f1(answer, " ".join(question.answers))
    return token_f1(answer, question.answers)


def _answers(text: str) -> bool:
    return is_answerable(text, no_answer=NO_ANSWER)


def classes_of(questions: Collection[Question]) -> tuple[str, ...]:
    """Return the classes that questions are sorted into: as they say, in lines, or else all of their answers.

    LongBench's trec and lsht list the same classes with every question. Where a reader keeps them, they are the factor
    `all_classes`, a class a line.

    Examples
    --------
    >>> asked = [Question("1", "?", (), answers=("City",)), Question("2", "?", (), answers=("Animal",))]
    >>> classes_of(asked)
    ('Animal', 'City')
    """
    for question in questions:
        if isinstance(said := question.factors.get("all_classes"), str):
            return tuple(said.split("\n"))
    return tuple(sorted({answer for question in questions for answer in question.answers}))
