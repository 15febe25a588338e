"""Answers: a model asked through its endpoint, what its answers are worth, and where in a context it reads well.

`endpoint` needs the extra `evaluate`, Chinese words the extra `chinese`; nothing else here needs more than the core.
"""

from retrivex.evaluation.answering.answer_rows import AnsweredRows, answer_rows, answer_sets
from retrivex.evaluation.answering.judge import Judge, Verdict, read_verdict
from retrivex.evaluation.answering.measures import answer_measures
from retrivex.evaluation.answering.model import Model, ModelReply, ModelRequest, Usage
from retrivex.evaluation.answering.position_fit import PositionFit, fit_positions
from retrivex.evaluation.answering.probe import ProbeResult, probe
from retrivex.evaluation.answering.prompts import answer_request

__all__ = [
    "AnsweredRows",
    "Judge",
    "Model",
    "ModelReply",
    "ModelRequest",
    "PositionFit",
    "ProbeResult",
    "Usage",
    "Verdict",
    "answer_measures",
    "answer_request",
    "answer_rows",
    "answer_sets",
    "fit_positions",
    "probe",
    "read_verdict",
]
