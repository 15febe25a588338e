"""Rerankers score how well each text answers a question, sentence scorers how much each of its sentences helps.

The models and the clients for endpoints live in modules of their own, as most need extras: `cross_encoder`,
`late_interaction` and `http`; `provence` and `http_sentences`.
"""

from retrivex.rerank.calling import Reranking, RerankReply, RerankRequest
from retrivex.rerank.protocol import (
    AnyReranker,
    AnySentenceScorer,
    AsyncReranker,
    AsyncSentenceScorer,
    ReadsSoMuch,
    Reranker,
    ScoredSentence,
    Scores,
    ScoreScale,
    SentenceScorer,
)
from retrivex.rerank.sentences import SentenceReply, SentenceRequest, SentenceScoring

__all__ = [
    "AnyReranker",
    "AnySentenceScorer",
    "AsyncReranker",
    "AsyncSentenceScorer",
    "ReadsSoMuch",
    "RerankReply",
    "RerankRequest",
    "Reranker",
    "Reranking",
    "ScoreScale",
    "ScoredSentence",
    "Scores",
    "SentenceReply",
    "SentenceRequest",
    "SentenceScorer",
    "SentenceScoring",
]
