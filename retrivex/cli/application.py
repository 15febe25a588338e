"""The command group with its options, exit codes and help."""

from __future__ import annotations

import os
import warnings
from typing import Annotated, Any

import typer

from retrivex.cli.commands import Commands
from retrivex.cli.terminal import make_streams_safe, note, write_text
from retrivex.version import __version__

_EXIT_CODES = (
    "Exit codes: 0 done, 1 some items failed, 2 wrong usage, 3 cannot be done, 4 no improvement, 130 interrupted."
)

_python_shows = warnings.showwarning

app = typer.Typer(
    cls=Commands,
    name="retrivex",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_EXIT_CODES,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        write_text(f"retrivex {__version__}")
        raise typer.Exit


@app.callback()
def retrivex(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Whole, ordered, cited passages inside a token budget: from a folder of files, or from your own hits.

    \b
    Examples:
      retrivex demo
      retrivex index handbook/
      retrivex query "Which meals are paid on a business trip?" --explain
      retrivex compose --in hits.jsonl --out contexts.jsonl
    """


def _note_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, *rest: Any, **more: Any
) -> None:
    """Write a warning of RetriVex's own as a note; those of other packages as Python does."""
    if category.__module__.startswith("retrivex."):
        note(str(message))
    else:
        _python_shows(message, category, filename, lineno, *rest, **more)


def run() -> None:
    """Run the command line of this process."""
    make_streams_safe()
    warnings.showwarning = _note_warning
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")  # those of transformers, too
    app(prog_name="retrivex")
