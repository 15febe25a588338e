"""Options of commands that call a model, and the endpoint that they describe."""

from __future__ import annotations

import os
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class EndpointOptions:
    """How a model is asked, by the options of a command line."""

    api_key_env: Annotated[
        str, _option("--api-key-env", metavar="VARIABLE", help="Variable that holds the API key.")
    ] = "OPENAI_API_KEY"
    answers: Annotated[Path | None, _option("--answers", metavar="FILE", help=_ANSWERS_HELP)] = None
    spend_cap: Annotated[
        int | None, _option("--spend-cap", min=0, metavar="TOKENS", help="Of prompts and answers at most.")
    ] = None
    concurrency: Annotated[int, _option("--concurrency", min=1, metavar="N", help="Requests at a time.")] = 4
    model_option: Annotated[list[str] | None, _option("--model-option", metavar="FIELD=VALUE", help=_FIELD_HELP)] = None

    def open(self, url: str, model: str, answers: Path | None, **more: Any) -> Endpoint:
        """Open an endpoint; its key is read from the environment, never from the command line.

        Parameters
        ----------
        url, model : of the endpoint
        answers : file that keeps answers, where the options name none; None for none
        **more : as `Endpoint` takes it

        Raises
        ------
        EndpointError
            If an option breaks its rule.
        ImportError
            If the extra 'evaluate' is not installed.
        """
        module = import_module("retrivex.evaluation.answers.endpoint")  # it needs an extra
        made = module.Endpoint(
            url,
            model,
            api_key=os.environ.get(self.api_key_env) or None,
            cache=self.answers or answers,
            spend_cap=self.spend_cap,
            concurrency=self.concurrency,
            options=parse_pairs(self.model_option, "--model-option"),
            **more,
        )
        return cast("Endpoint", made)
