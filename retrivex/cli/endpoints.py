"""Options of commands that call a model, and the endpoint that they describe."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from retrivex.cli.options import parse_pairs

if TYPE_CHECKING:
    from retrivex.evaluation.answers.endpoint import Endpoint

_MODEL = "Model"

_URL_HELP = "OpenAI-compatible endpoint, e.g. http://localhost:8000/v1."
_NAME_HELP = "As the endpoint calls it."

ModelUrl: TypeAlias = Annotated[
    str,
    typer.Option("--model-url", metavar="URL", envvar="RETRIVEX_MODEL_URL", help=_URL_HELP, rich_help_panel=_MODEL),
]
ModelName: TypeAlias = Annotated[str, typer.Option("--model", metavar="NAME", help=_NAME_HELP, rich_help_panel=_MODEL)]
# not out of the environment: where a model is optional, nobody is to pay for one that was not asked for here
OptionalModelUrl: TypeAlias = Annotated[
    str | None, typer.Option("--model-url", metavar="URL", help=_URL_HELP, rich_help_panel=_MODEL)
]
OptionalModelName: TypeAlias = Annotated[
    str | None, typer.Option("--model", metavar="NAME", help=_NAME_HELP, rich_help_panel=_MODEL)
]
KeyVariable: TypeAlias = Annotated[
    str,
    typer.Option("--api-key-env", metavar="VARIABLE", help="Variable that holds the API key.", rich_help_panel=_MODEL),
]
DEFAULT_KEY_VARIABLE = "OPENAI_API_KEY"
AnswerFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--answers",
        metavar="FILE",
        help="Keeps answers, so that nothing is asked twice and a run that was stopped goes on.",
        rich_help_panel=_MODEL,
    ),
]
SpendCapTokens: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--spend-cap", min=0, metavar="TOKENS", help="Of prompts and answers at most.", rich_help_panel=_MODEL
    ),
]
Concurrency: TypeAlias = Annotated[
    int, typer.Option("--concurrency", min=1, metavar="N", help="Requests at a time.", rich_help_panel=_MODEL)
]
DEFAULT_CONCURRENCY = 4
PerMinute: TypeAlias = Annotated[
    int | None,
    typer.Option("--requests-per-minute", min=1, metavar="N", help="At most.", rich_help_panel=_MODEL),
]
TokensPerMinute: TypeAlias = Annotated[
    int | None, typer.Option("--tokens-per-minute", min=1, metavar="N", help="At most.", rich_help_panel=_MODEL)
]
ModelOptions: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--model-option",
        metavar="FIELD=VALUE",
        help="Further field of a request, null for none of it; repeatable.",
        rich_help_panel=_MODEL,
    ),
]


def open_endpoint(
    url: str,
    model: str,
    *,
    key_variable: str = DEFAULT_KEY_VARIABLE,
    answers: Path | None = None,
    spend_cap: int | None = None,
    concurrency: int = DEFAULT_CONCURRENCY,
    requests_per_minute: int | None = None,
    tokens_per_minute: int | None = None,
    options: list[str] | None = None,
    seed: int = 0,
) -> Endpoint:
    """Return the endpoint that the options of a command line ask for.

    Raises
    ------
    ImportError
        If the extra `evaluate` is not there.
    EndpointError, StoreError
        If url, model or key break their rule, or the file of answers cannot be opened.
    """
    made: Endpoint = import_module("retrivex.evaluation.answers.endpoint").Endpoint(  # it needs an extra
        url,
        model,
        api_key=os.environ.get(key_variable) or None,
        cache=answers,
        options=parse_pairs(options, "--model-option"),
        seed=seed,
        concurrency=concurrency,
        requests_per_minute=requests_per_minute,
        tokens_per_minute=tokens_per_minute,
        spend_cap=spend_cap,
    )
    return made
