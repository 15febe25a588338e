"""Options of commands that call a model, and the endpoint that they describe."""

from __future__ import annotations

import os
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, cast

import typer

from retrivex.cli.options import parse_pairs

if TYPE_CHECKING:
    from retrivex.evaluation.answers.endpoint import Endpoint

_option = partial(typer.Option, rich_help_panel="Model")
_url = partial(_option, "--model-url", metavar="URL", help="OpenAI-compatible endpoint, e.g. http://localhost:8000/v1.")
_name = partial(_option, "--model", metavar="NAME", help="As the endpoint calls it.")

_ANSWERS_HELP = "Keeps answers, so that nothing is asked twice and a run that was stopped goes on."
_FIELD_HELP = "Further field of a request, null for none of it; repeatable."

ModelUrl: TypeAlias = Annotated[str, _url(envvar="RETRIVEX_MODEL_URL")]
ModelName: TypeAlias = Annotated[str, _name()]
# not out of the environment: where a model is optional, nobody is to pay for one that was not asked for here
OptionalModelUrl: TypeAlias = Annotated[str | None, _url()]
OptionalModelName: TypeAlias = Annotated[str | None, _name()]
KeyVariable: TypeAlias = Annotated[
    str, _option("--api-key-env", metavar="VARIABLE", help="Variable that holds the API key.")
]
DEFAULT_KEY_VARIABLE = "OPENAI_API_KEY"
AnswerFile: TypeAlias = Annotated[Path | None, _option("--answers", metavar="FILE", help=_ANSWERS_HELP)]
SpendCapTokens: TypeAlias = Annotated[
    int | None, _option("--spend-cap", min=0, metavar="TOKENS", help="Of prompts and answers at most.")
]
Concurrency: TypeAlias = Annotated[int, _option("--concurrency", min=1, metavar="N", help="Requests at a time.")]
DEFAULT_CONCURRENCY = 4
ModelOptions: TypeAlias = Annotated[
    list[str] | None, _option("--model-option", metavar="FIELD=VALUE", help=_FIELD_HELP)
]


def open_endpoint(
    url: str,
    model: str,
    *,
    key_variable: str = DEFAULT_KEY_VARIABLE,
    answers: Path | None = None,
    options: list[str] | None = None,
    **more: Any,
) -> Endpoint:
    """Return the endpoint that the options of a command line ask for; `more` are further arguments of `Endpoint`.

    Raises
    ------
    ImportError
        If the extra `evaluate` is not there.
    EndpointError, StoreError
        If url, model or key break their rule, or the file of answers cannot be opened.
    """
    key, fields = os.environ.get(key_variable) or None, parse_pairs(options, "--model-option")
    module = import_module("retrivex.evaluation.answers.endpoint")  # it needs an extra
    return cast("Endpoint", module.Endpoint(url, model, api_key=key, cache=answers, options=fields, **more))
