"""The commands by name, each imported when it is asked for: `retrivex --version` needs none of them."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand

from retrivex.cli.failures import Guarded
from retrivex.errors import quoted

NAMES = (
    "index",
    "query",
    "compose",
    "batch",
    "reorder",
    "around",
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

_WITH_COMPOSER_OPTIONS = ("query", "compose", "tune")


class Command(TyperCommand):
    """A command; what is left over of its arguments is most often a text without quotes."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; refuse those that belong to nothing."""
        ctx.allow_extra_args = True
        rest = super().parse_args(ctx, args)
        huge = [name for name, value in ctx.params.items() if isinstance(value, int) and abs(value) > sys.maxsize]
        if huge:
            option = f"--{huge[0].replace('_', '-')}"
            ctx.fail(f"{option} is {quoted(ctx.params[huge[0]], 40)}: a number here is at most {sys.maxsize}")
        if rest and not ctx.resilient_parsing:
            ctx.fail(f"unexpected argument {' '.join(rest)!r}: put a text of several words in quotes")
        return rest


class Commands(Guarded):
    """The command group: its commands are imported on first use."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        named: dict[str, Any] = dict.fromkeys(NAMES)
        self.commands = named  # where typer looks for the names that are like a mistyped one

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, imported when it is asked for; None where there is no such one."""
        return _make_command(cmd_name) if cmd_name in NAMES else None


@cache
def _make_command(name: str) -> Any:
    made = getattr(import_module(f"retrivex.cli.{name}"), name)
    if isinstance(made, typer.Typer):
        return typer.main.get_command(made)
    epilog = import_module("retrivex.cli.options").describe_options() if name in _WITH_COMPOSER_OPTIONS else None
    app = typer.Typer(add_completion=False, rich_markup_mode="rich")
    app.command(name, cls=Command, epilog=epilog)(made)
    return typer.main.get_command(app)
