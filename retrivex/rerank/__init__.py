"""Rerankers: they score how well each text answers a question.

The models and the client for endpoints live in modules of their own, as they need extras: `cross_encoder`,
`late_interaction` and `http`.
"""

from retrivex.rerank.calling import Reranking, RerankReply, RerankRequest
from retrivex.rerank.protocol import AnyReranker, AsyncReranker, ReadsSoMuch, Reranker, Scores, ScoreScale

__all__ = [
    "AnyReranker",
    "AsyncReranker",
    "ReadsSoMuch",
    "RerankReply",
    "RerankRequest",
    "Reranker",
    "Reranking",
    "ScoreScale",
    "Scores",
]
