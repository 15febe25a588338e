"""Errors of commands as one line and an exit code."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
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

# Newer versions of typer carry their own copy of click, older ones import it: this is the usage error of either.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]

_EXPECTED = (RetrivexError, OSError, ImportError, UnicodeError)


def describe(error: BaseException) -> str:
    """Return what an error says, as one line.

    Examples
    --------
    >>> describe(ValueError("first\\nsecond"))
    'first second'
    """
    if not isinstance(error, UsageError):
        return describe_error(error)
    # "Invalid value:" before a sentence of RetriVex's own says nothing
    is_own = isinstance(error, typer.BadParameter) and error.param is None and error.message
    return describe_error(error, error.message if is_own else error.format_message())  # type: ignore[attr-defined]


def report(error: BaseException, *, as_json: bool) -> None:
    """Write an error to standard error: a line for people, or `{"error": {"type", "message"}}`."""
    message = describe(error)
    if as_json:
        sys.stderr.write(json.dumps({"error": {"type": type(error).__name__, "message": message}}) + "\n")
    else:
        say(f"retrivex: {message}", to_stderr=True, whole=True)


def close_quietly() -> None:
    """Point standard output at nothing, so that Python does not complain of a closed pipe at exit."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, sys.stdout.fileno())
    except (OSError, ValueError):
        # no file behind it (a test's buffer, for one): nothing will complain either
        return
    finally:
        os.close(nothing)


class Guarded(TyperGroup):
    """The command group: turns errors into one line and an exit code, never a traceback."""

    def main(  # type: ignore[override]
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> int:
        """Run a command line and exit with its code; with `standalone_mode=False` return the code."""
        given = list(sys.argv[1:] if args is None else args)
        code = self._run(given, prog_name, complete_var, **extra)
        if standalone_mode:
            sys.exit(code)
        return code

    def _run(self, args: list[str], prog_name: str | None, complete_var: str | None, **extra: Any) -> int:
        as_json = "--json" in args
        try:
            try:
                code = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
            finally:
                sys.stdout.flush()
        except UsageError as error:
            # without a command, typer has printed the help already and raises an error that says nothing
            if str(error):
                report(error, as_json=as_json)
            return USAGE
        except ConfigError as error:
            report(error, as_json=as_json)
            return USAGE
        except (KeyboardInterrupt, typer.Abort):
            return INTERRUPTED
        except BrokenPipeError:
            close_quietly()
            return PIPE_CLOSED
        except _EXPECTED as error:
            report(error, as_json=as_json)
            return CANNOT
        return code if isinstance(code, int) else OK

    def invoke(self, ctx: Any) -> Any:
        """Run the command; a closed pipe goes past typer, which would end with another code."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            close_quietly()
            raise typer.Exit(PIPE_CLOSED) from None
