"""Errors of commands as one line and an exit code."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import typer
from typer.core import TyperGroup

from retrivex.cli.terminal import say
from retrivex.errors import ConfigError, RetrivexError
from retrivex.text.lines import describe_error

OK = 0
SOME_FAILED = 1
USAGE = 2
CANNOT = 3
NO_IMPROVEMENT = 4
INTERRUPTED = 130
PIPE_CLOSED = 141

# Newer versions of typer carry their own copy of click, older ones import it: these are the errors of either.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]
_ClickError: type[Exception] = typer.BadParameter.__mro__[2]  # a file that cannot be opened, too

_EXPECTED = (RetrivexError, OSError, ImportError, UnicodeError)


def describe(error: BaseException) -> str:
    """Return what an error says, as one line.

    Examples
    --------
    >>> describe(ValueError("first\\nsecond"))
    'first second'
    """
    if not isinstance(error, _ClickError):
        return describe_error(error)
    if not isinstance(error, typer.BadParameter) or not error.message:
        return describe_error(error, error.format_message())  # type: ignore[attr-defined]
    parameter, message = error.param, error.message
    if parameter is None:
        return describe_error(error, message)
    # of the names that it goes by, --budget and -b, the longest; an argument has none but its own
    name = parameter.metavar if parameter.param_type_name == "argument" else max(parameter.opts, key=len)
    # as pydantic, which newer versions of typer read values with, begins and ends
    rule = message.removeprefix("Value error, ").partition(", unable to parse")[0].rstrip(".")
    return describe_error(error, f"{name}: {rule}; --help says more")


def report(error: BaseException, *, as_json: bool) -> None:
    """Write an error to standard error: a line for people, or `{"error": {"type", "message"}}`."""
    message = describe(error)
    if as_json:
        sys.stderr.write(json.dumps({"error": {"type": type(error).__name__, "message": message}}) + "\n")
    else:
        say(f"retrivex: {message}", to_stderr=True, whole=True)


def _close_quietly() -> int:
    """Point standard output at nothing, so that Python does not complain of a closed pipe at exit."""
    with suppress(OSError, ValueError), open(os.devnull, "wb") as nothing:  # a test's buffer has no file behind it
        os.dup2(nothing.fileno(), sys.stdout.fileno())
    return PIPE_CLOSED


class Guarded(TyperGroup):
    """The command group: turns errors into one line and an exit code, never a traceback."""

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, *, standalone_mode: bool = True, **more: Any
    ) -> int:
        """Run a command line and exit with its code; with `standalone_mode=False` return the code."""
        given = list(sys.argv[1:] if args is None else args)
        code = self._run(given, **more)
        if standalone_mode:
            sys.exit(code)
        return code

    def _run(self, args: list[str], **more: Any) -> int:
        try:
            try:
                code = super().main(args, standalone_mode=False, **more)
            finally:
                sys.stdout.flush()
        except (KeyboardInterrupt, typer.Abort):
            return INTERRUPTED
        except BrokenPipeError:
            return _close_quietly()
        except (_ClickError, *_EXPECTED) as error:
            if str(
                error
            ):  # without a command, typer has printed the help already and raises an error that says nothing
                report(error, as_json="--json" in args)
            return USAGE if isinstance(error, (UsageError, ConfigError)) else CANNOT
        return code if isinstance(code, int) else OK

    def invoke(self, ctx: Any) -> Any:
        """Run the command; a closed pipe goes past typer, which would end with another code."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise typer.Exit(_close_quietly()) from None
