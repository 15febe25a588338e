"""Measures: of the evidence in a context, of rankings, of positions in the prompt, and of answers.

They have no model behind them: what a measure cannot see (an answer that is right in other words, a claim that follows
from two passages) is said where it is defined.
"""

from retrivex.evaluation.metrics.answers import (
    answer_tokens,
    answerability_match,
    exact_match,
    is_answerable,
    normalise_answer,
    token_f1,
)
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
from retrivex.evaluation.metrics.key_points import key_point_precision, key_point_recall
from retrivex.evaluation.metrics.positions import edge_weights, position_effectiveness
from retrivex.evaluation.metrics.ranking import ndcg, recall_at_k
from retrivex.evaluation.metrics.support import citation_coverage, faithfulness, informative_tokens

__all__ = [
    "COMPLETE",
    "ContextScores",
    "Range",
    "Shown",
    "answer_tokens",
    "answerability_match",
    "citation_coverage",
    "covered",
    "edge_weights",
    "exact_match",
    "faithfulness",
    "informative_tokens",
    "is_answerable",
    "key_point_precision",
    "key_point_recall",
    "ndcg",
    "normalise_answer",
    "position_effectiveness",
    "recall_at_k",
    "score_context",
    "token_f1",
    "uncovered",
    "united",
]
