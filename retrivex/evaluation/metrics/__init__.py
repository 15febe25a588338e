"""Measures: of the evidence in a context, of rankings, of positions in the prompt, and of answers.

They have no model behind them: what a measure cannot see (an answer that is right in other words, a claim that follows
from two passages) is said where it is defined.
"""

from retrivex.evaluation.metrics.answer_set import AnswerCase, AnswerScores, AnswerSummary, evaluate_answers
from retrivex.evaluation.metrics.answers import (
    answer_tokens,
    answerability_match,
    exact_match,
    is_answerable,
    normalise_answer,
    token_f1,
)
from retrivex.evaluation.metrics.contexts import context_precision, context_recall, relevance_of
from retrivex.evaluation.metrics.evidence import (
    COMPLETE,
    ContextScores,
    Range,
    Shown,
    covered,
    score_context,
    uncovered,
    united,
)
from retrivex.evaluation.metrics.key_points import key_point_precision, key_point_recall, span_recall
from retrivex.evaluation.metrics.positions import (
    PositionSensitivity,
    edge_weights,
    position_effectiveness,
    position_sensitivity,
)
from retrivex.evaluation.metrics.ranking import mean_reciprocal_rank, ndcg, recall_at_k, reciprocal_rank
from retrivex.evaluation.metrics.support import citation_coverage, faithfulness, informative_tokens

__all__ = [
    "COMPLETE",
    "AnswerCase",
    "AnswerScores",
    "AnswerSummary",
    "ContextScores",
    "PositionSensitivity",
    "Range",
    "Shown",
    "answer_tokens",
    "answerability_match",
    "citation_coverage",
    "context_precision",
    "context_recall",
    "covered",
    "edge_weights",
    "evaluate_answers",
    "exact_match",
    "faithfulness",
    "informative_tokens",
    "is_answerable",
    "key_point_precision",
    "key_point_recall",
    "mean_reciprocal_rank",
    "ndcg",
    "normalise_answer",
    "position_effectiveness",
    "position_sensitivity",
    "recall_at_k",
    "reciprocal_rank",
    "relevance_of",
    "score_context",
    "span_recall",
    "token_f1",
    "uncovered",
    "united",
]
