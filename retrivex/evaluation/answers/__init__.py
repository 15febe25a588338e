"""Answers: a model called through its endpoint, measures of its answers, and the depths at which it reads well.

`endpoint` needs the extra `evaluate`; nothing else here needs more than the core.
"""

from retrivex.evaluation.answers.answer_rows import AnsweredRows, answer_rows, answer_sets
from retrivex.evaluation.answers.measures import answer_measures
from retrivex.evaluation.answers.prompts import answer_request
from retrivex.model.asking import Model, ModelReply, ModelRequest, Usage

__all__ = [
    "AnsweredRows",
    "Model",
    "ModelReply",
    "ModelRequest",
    "Usage",
    "answer_measures",
    "answer_request",
    "answer_rows",
    "answer_sets",
]
