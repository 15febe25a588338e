"""The reranker of a command: an endpoint by its address, or a cross-encoder by its folder or name."""

from __future__ import annotations

import importlib
import os
from functools import partial
from typing import Annotated, TypeAlias, cast

import typer

from retrivex.rerank import Reranker, Reranking
from retrivex.text.addresses import find_fault, without_credentials

KEY_VARIABLE = "RETRIVEX_RERANK_KEY"
"""Environment variable of the key for an endpoint: everybody on a machine can read the options of its processes."""

_LLM_SECONDS = 300.0  # that a language model may take for all hits: it answers more slowly than a reranker
_AT_ONCE = 8  # requests for ratings

_option = partial(typer.Option, rich_help_panel="Reranking")

_RERANK_HELP = (
    "Score hits anew before they grow: address of a /rerank endpoint, or folder or name of a sentence-transformers "
    "cross-encoder; with an llm shape, the address of a chat model, mostly ending in /v1. "
    f"An endpoint's key stands in {KEY_VARIABLE}."
)
_SHAPE_HELP = (
    "Whose API the endpoint speaks: cohere, jina, tei, vllm or voyage; or llm-listwise (a language model orders the "
    "hits) or llm-pointwise (it rates each)."
)

Rerank: TypeAlias = Annotated[str | None, _option("--rerank", metavar="URL|MODEL", help=_RERANK_HELP)]
RerankShape: TypeAlias = Annotated[str | None, _option("--rerank-shape", metavar="NAME", help=_SHAPE_HELP)]
RerankModel: TypeAlias = Annotated[
    str | None, _option("--rerank-model", metavar="NAME", help="The model, as the endpoint calls it.")
]


def make_reranker(where: str | None, shape: str | None, model: str | None) -> Reranker | Reranking | None:
    """Return the reranker that the options of a command line ask for; None where they ask for none.

    Parameters
    ----------
    where : address of an endpoint, or folder or name of a cross-encoder
    shape, model : of the endpoint

    Raises
    ------
    typer.BadParameter
        If an option is missing, or belongs to an endpoint where there is none.
    RerankError, ImportError
        If the reranker cannot be had.
    """
    endpoint = where is not None and where.startswith(("http://", "https://"))
    if not endpoint and (shape is not None or model is not None):
        raise typer.BadParameter(
            "--rerank-shape and --rerank-model belong to an endpoint: give its address, as in --rerank "
            "http://localhost:8080/rerank"
        )
    if where is None:
        return None
    # both are extras, and models take seconds to import
    if not endpoint:
        module = importlib.import_module("retrivex.rerank.cross_encoder")
        return cast("Reranker", module.CrossEncoderReranker(where))
    if fault := find_fault(where):
        raise typer.BadParameter(f"--rerank {fault}")
    if shape is None:
        raise typer.BadParameter(
            f"--rerank {without_credentials(where)} is an endpoint: say whose API it speaks, as in --rerank-shape tei"
        )
    key = os.environ.get(KEY_VARIABLE) or None
    if shape in ("llm-listwise", "llm-pointwise"):
        if model is None:
            raise typer.BadParameter(f"--rerank-shape {shape} needs the name of the model: --rerank-model NAME")
        llm = importlib.import_module("retrivex.rerank.llm")
        if shape == "llm-listwise":
            return Reranking(llm.ListwiseReranker(where, model, api_key=key), timeout_s=_LLM_SECONDS)
        rates = llm.PointwiseReranker(where, model, api_key=key)
        return Reranking(rates, batch_size=1, concurrency=_AT_ONCE, timeout_s=_LLM_SECONDS)
    http = importlib.import_module("retrivex.rerank.http")
    return cast("Reranker", http.HttpReranker(where, shape=shape, model=model, api_key=key))
