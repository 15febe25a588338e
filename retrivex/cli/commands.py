"""The commands by name, each imported when it is asked for: `retrivex --version` needs none of them."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand

from retrivex.cli.failures import Guarded

NAMES = (
    "index",
    "query",
    "compose",
    "reorder",
    "inspect",
    "tune",
    "evaluate",
    "compare",
    "report",
    "probe",
    "backfill",
    "demo",
)
"""Commands in the order of the help; each is a function of the module of its name."""

_WITH_COMPOSER_OPTIONS = ("query", "compose")


class Command(TyperCommand):
    """A command; what is left over of its arguments is most often a text without quotes."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; refuse those that belong to nothing."""
        ctx.allow_extra_args = True
        rest = super().parse_args(ctx, args)
        if rest and not ctx.resilient_parsing:
            ctx.fail(f"unexpected argument {' '.join(rest)!r}: put a text of several words in quotes")
        return rest


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
    function = getattr(import_module(f"retrivex.cli.{name}"), name)
    epilog = import_module("retrivex.cli.options").describe_options() if name in _WITH_COMPOSER_OPTIONS else None
    app = typer.Typer(add_completion=False, rich_markup_mode="rich")
    app.command(name, cls=Command, epilog=epilog)(function)
    return typer.main.get_command(app)
