"""The commands by name, each imported when it is asked for: `retrivex --version` needs none of them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any, cast

import typer
from typer.core import TyperCommand

from retrivex.cli.failures import Guarded, UsageError
from retrivex.errors import quoted

NAMES = (
    "index",
    "query",
    "compose",
    "batch",
    "reorder",
    "inspect",
    "tune",
    "evaluate",
    "compare",
    "report",
    "probe",
    "backfill",
    "serve",
    "mcp",
    "keys",
    "demo",
)
"""Commands in the order of the help; each is a function of the module of its name, or a group of several."""

_WITH_COMPOSER_OPTIONS = ("query", "compose")


class Command(TyperCommand):
    """A command; what is left over of its arguments is most often a text without quotes."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; refuse those that belong to nothing."""
        ctx.allow_extra_args = True
        given = list(args)
        try:
            rest = super().parse_args(ctx, args)
        except typer.BadParameter as error:
            raise self._with_value(error, ctx, given) from None
        huge = [name for name, value in ctx.params.items() if isinstance(value, int) and abs(value) > sys.maxsize]
        if huge:
            option = f"--{huge[0].replace('_', '-')}"
            ctx.fail(f"{option} is {quoted(ctx.params[huge[0]], 40)}: a number here is at most {sys.maxsize}")
        if rest and not ctx.resilient_parsing:
            ctx.fail(f"unexpected argument {' '.join(rest)!r}: put a text of several words in quotes")
        return rest

    def _with_value(self, error: Any, ctx: Any, args: list[str]) -> Exception:
        """Return the error of an option's value with option, value, rule and way out, whichever typer it comes from."""
        parameter = error.param
        if parameter is None or not error.message:  # one that is missing has no value
            return cast("Exception", error)
        # of the names that it goes by, --budget and -b, the longest; an argument has none but its own
        name = parameter.metavar if parameter.param_type_name == "argument" else max(parameter.opts, key=len)
        value = parameter.consume_value(ctx, self.make_parser(ctx).parse_args(args=args)[0])[0]
        shown = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        rule = _plain_rule(error.message, shown)
        return UsageError(f"{name} is {shown!r}: {rule}; {ctx.command_path} --help says more", ctx)


def _plain_rule(message: str, value: str) -> str:
    """Return the rule that an error of typer, or of the pydantic in it, states.

    Examples
    --------
    >>> _plain_rule("Input should be a valid integer, unable to parse string as an integer", "abc")
    'it should be a valid integer'
    >>> _plain_rule("Value error, 'best' is not one of 'document', 'auto'.", "best")
    "it is not one of 'document', 'auto'"
    >>> _plain_rule("File 'q.jsonl' does not exist.", "q.jsonl")
    'it does not exist'
    """
    rule = message.removeprefix("Value error, ").partition(", unable to parse")[0].rstrip(".")
    rule = re.sub("^Input should", "it should", rule)
    return re.sub(rf"^(\w+ )?'?{re.escape(value)}'? (?=is|does)", "it ", rule)


class CommandsOnUse(MutableMapping[str, Any]):
    """The commands by their names, each made when it is first looked up."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = dict.fromkeys(NAMES)

    def __getitem__(self, name: str) -> Any:
        if self._made[name] is None:
            self._made[name] = _make_command(name)
        return self._made[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        del self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


class Commands(Guarded):
    """The command group: its commands are imported on first use."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = CommandsOnUse()

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands, without making any."""
        return list(self.commands)


def _make_command(name: str) -> Any:
    made = getattr(import_module(f"retrivex.cli.{name}"), name)
    if isinstance(made, typer.Typer):
        return typer.main.get_command(made)
    epilog = import_module("retrivex.cli.options").describe_options() if name in _WITH_COMPOSER_OPTIONS else None
    app = typer.Typer(add_completion=False, rich_markup_mode="rich")
    app.command(name, cls=Command, epilog=epilog)(made)
    return typer.main.get_command(app)
