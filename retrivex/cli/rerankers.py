"""The reranker of a command: an endpoint by its address, or a cross-encoder by its folder or name."""

from __future__ import annotations

import importlib
import os
from functools import partial
from typing import Annotated, cast

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


def make_reranker(
    rerank: Annotated[str | None, _option("--rerank", metavar="URL|MODEL", help=_RERANK_HELP)] = None,
    rerank_shape: Annotated[str | None, _option("--rerank-shape", metavar="NAME", help=_SHAPE_HELP)] = None,
    rerank_model: Annotated[
        str | None, _option("--rerank-model", metavar="NAME", help="The model, as the endpoint calls it.")
    ] = None,
) -> Reranker | Reranking | None:
    """Return the reranker that the options of a command line ask for; None where they ask for none.

    Parameters
    ----------
    rerank : address of an endpoint, or folder or name of a cross-encoder
    rerank_shape, rerank_model : of the endpoint

    Raises
    ------
    typer.BadParameter
        If an option is missing, or belongs to an endpoint where there is none.
    RerankError, ImportError
        If the reranker cannot be had.
    """
    endpoint = rerank is not None and rerank.startswith(("http://", "https://"))
    if not endpoint and (rerank_shape is not None or rerank_model is not None):
        raise typer.BadParameter(
            "--rerank-shape and --rerank-model belong to an endpoint: give its address, as in --rerank "
            "http://localhost:8080/rerank"
        )
    if rerank is None:
        return None
    # both are extras, and models take seconds to import
    if not endpoint:
        module = importlib.import_module("retrivex.rerank.cross_encoder")
        return cast("Reranker", module.CrossEncoderReranker(rerank))
    if fault := find_fault(rerank):
        raise typer.BadParameter(f"--rerank {fault}")
    if rerank_shape is None:
        raise typer.BadParameter(
            f"--rerank {without_credentials(rerank)} is an endpoint: say whose API it speaks, as in --rerank-shape tei"
        )
    key = os.environ.get(KEY_VARIABLE) or None
    if rerank_shape in ("llm-listwise", "llm-pointwise"):
        if rerank_model is None:
            raise typer.BadParameter(f"--rerank-shape {rerank_shape} needs the name of the model: --rerank-model NAME")
        llm = importlib.import_module("retrivex.rerank.llm")
        if rerank_shape == "llm-listwise":
            return Reranking(llm.ListwiseReranker(rerank, rerank_model, api_key=key), timeout_s=_LLM_SECONDS)
        rates = llm.PointwiseReranker(rerank, rerank_model, api_key=key)
        return Reranking(rates, batch_size=1, concurrency=_AT_ONCE, timeout_s=_LLM_SECONDS)
    http = importlib.import_module("retrivex.rerank.http")
    return cast("Reranker", http.HttpReranker(rerank, shape=rerank_shape, model=rerank_model, api_key=key))
