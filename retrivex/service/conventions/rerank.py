"""Rerank endpoints: `POST /v1/rerank` and `/v2/rerank` as Cohere and Jina have them, `/rerank` as TEI has it.

Published in https://docs.cohere.com/reference/rerank, https://jina.ai/reranker and
https://huggingface.github.io/text-embeddings-inference; tested with Cohere's official client.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import ConfigDict, Field

from retrivex.composer.texts import Floats
from retrivex.scoring.calibrated import probabilities
from retrivex.service.bodies import Body, read_body
from retrivex.service.engine import Engine


class TextDocument(Body):
    """A document with its text; what else it holds comes back with it."""

    model_config = ConfigDict(extra="allow")

    text: str


class Rerank(Body):
    """Documents to rank, as Cohere's and Jina's clients send them; what else they send is without effect."""

    model_config = ConfigDict(extra="ignore")

    query: str = Field(min_length=1)
    documents: Annotated[list[str | TextDocument], Field(min_length=1)]
    top_n: int | None = Field(None, ge=1, description="results at most; left out, all of them")
    return_documents: bool | None = Field(None, description="whether results hold their documents; left out, they do")
    rank_fields: list[Literal["text"]] | None = Field(None, description="of a document, text alone is read")
    relevant_spans: None = Field(None, description="refused: a document has one score, and none for its parts")


class TextRank(Body):
    """Texts to rank, as clients of Text Embeddings Inference send them; what else they send is without effect."""

    model_config = ConfigDict(extra="ignore")

    query: str = Field(min_length=1)
    texts: list[str] = Field(min_length=1)
    raw_scores: bool = Field(False, description="answer with log-odds in place of probabilities")
    return_text: bool = Field(False, description="whether results hold their texts")


def rerank_documents(engine: Engine, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return results, best first, ties in their order, as Cohere's and Jina's clients read them.

    Parameters
    ----------
    engine : that answers
    record : by `Rerank`

    Raises
    ------
    RetrivexError
        If the request breaks a rule, there is no encoder that ranks texts well, or it fails.
    """
    body = read_body(Rerank, record)
    documents = [TextDocument(text=one) if isinstance(one, str) else one for one in body.documents]
    texts = [document.text for document in documents]
    log_odds, encoder = engine.score_texts(body.query, texts)
    scores = probabilities(log_odds).tolist()
    results: list[dict[str, Any]] = [
        {"index": at, "relevance_score": scores[at]} for at in _order(log_odds)[: body.top_n]
    ]
    if body.return_documents is not False:
        results = [{**result, "document": documents[result["index"]].model_dump()} for result in results]
    tokens = sum(engine.tokenizer.count(text) for text in (body.query, *texts))
    return {
        "model": f"retrivex+{encoder}",
        "results": results,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},  # of Jina
        "meta": {"tokens": {"input_tokens": tokens}},  # of Cohere
    }


def rank_texts(engine: Engine, record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return ranks, best first, ties in their order, as clients of Text Embeddings Inference read them.

    Parameters
    ----------
    engine : that answers
    record : by `TextRank`

    Raises
    ------
    RetrivexError
        If the request breaks a rule, there is no encoder that ranks texts well, or it fails.
    """
    body = read_body(TextRank, record)
    log_odds, _ = engine.score_texts(body.query, body.texts)
    scores = log_odds.tolist() if body.raw_scores else probabilities(log_odds).tolist()
    ranks: list[dict[str, Any]] = [{"index": at, "score": scores[at]} for at in _order(log_odds)]
    return [{**rank, "text": body.texts[rank["index"]]} for rank in ranks] if body.return_text else ranks


def _order(log_odds: Floats) -> list[int]:
    places: list[int] = np.argsort(-log_odds, kind="stable").tolist()
    return places
