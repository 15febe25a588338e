"""Output: results to standard output, everything else to standard error, colours only on a terminal."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

_WIDTH = 132  # characters of a table that goes into a file, at least
_WIDEST = 1000
_BAR = 20  # characters of a progress bar with a file name beside it

# Escape sequences in a document or a file name must not move the cursor or colour the screen of who reads it.
_CONTROLS = {
    code: "\N{REPLACEMENT CHARACTER}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"
}


def make_streams_safe() -> None:
    """Write what an encoding cannot show as an escape, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def console(*, to_stderr: bool = False) -> Console:
    """Return a console on standard output or error; nothing in what it prints is read as markup."""
    stream = sys.stderr if to_stderr else sys.stdout
    return Console(file=stream, markup=False, highlight=False, emoji=False)


def print_table(table: Table) -> None:
    """Print a table to standard output; where that is no terminal, as wide as its figures need."""
    screen = console()
    if not screen.is_terminal:
        screen.width = max(_WIDTH, screen.measure(table, options=screen.options.update(max_width=_WIDEST)).maximum)
    screen.print(table)


def is_interactive() -> bool:
    """Whether somebody looks at a terminal: output and progress go to one."""
    return sys.stdout.isatty() and sys.stderr.isatty()


def visible(text: str) -> str:
    """Return `text` without characters that would steer a terminal.

    Examples
    --------
    >>> visible("red: \\x1b[31m") == "red: \\ufffd[31m"
    True
    """
    return text.translate(_CONTROLS)


def one_line(text: str) -> str:
    """Return `text` as one line that is safe to show.

    Examples
    --------
    >>> one_line("two\\n  lines")
    'two lines'
    """
    return " ".join(visible(text).split())


def shorten(text: str, width: int, *, ellipsis: str = "…") -> str:
    """Return `text`, with its middle left out where it has more than `width` characters.

    Examples
    --------
    >>> shorten("a/very/long/path.md", 11)
    'a/ver…th.md'
    """
    text = one_line(text)
    if len(text) <= width:
        return text
    if width <= len(ellipsis):
        return text[:width]
    room = width - len(ellipsis)
    head = room - room // 2
    return text[:head] + ellipsis + text[len(text) - room // 2 :]


def note(message: str) -> None:
    """Write a note to standard error."""
    console(to_stderr=True).print(f"note: {one_line(message)}", style="dim", soft_wrap=True)


def write_text(text: str) -> None:
    """Write a result to standard output: as it is into a file or pipe, without control characters on a terminal."""
    sys.stdout.write(visible(text) if sys.stdout.isatty() else text)
    if not text.endswith("\n"):
        sys.stdout.write("\n")


def dump_json(value: Any, *, indent: int | None = None) -> str:
    """Return JSON that standard output can take, whatever its encoding."""
    utf8 = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
    text = json.dumps(value, ensure_ascii=not utf8, indent=indent, allow_nan=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        # half a surrogate pair: only an escape can carry it
        return json.dumps(value, indent=indent, allow_nan=False)
    return text


def write_json(value: Any) -> None:
    """Write a result as JSON: indented for a terminal, one line otherwise."""
    write_text(dump_json(value, indent=2 if sys.stdout.isatty() else None))


@contextmanager
def progress(what: str, *, in_bytes: bool = False) -> Iterator[Progress]:
    """Show a progress bar on standard error while the block runs; nothing where nobody looks.

    Parameters
    ----------
    what : is being done
    in_bytes : count bytes, and show the task's field `file` beside them
    """
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(_BAR if in_bytes else 2 * _BAR),
        DownloadColumn() if in_bytes else MofNCompleteColumn(),
        TimeRemainingColumn(),
        *([TextColumn("{task.fields[file]}", markup=False)] if in_bytes else []),
    )
    with Progress(*columns, console=console(to_stderr=True), transient=True, disable=not is_interactive()) as bar:
        bar.add_task(what, total=None, file="")
        yield bar
