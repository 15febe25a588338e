"""Output: results to standard output, everything else to standard error, colours only on a terminal."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from retrivex.text.lines import one_line as one_line  # what commands print goes through here
from retrivex.text.lines import visible as visible

_WIDTH = 100  # characters of a line into a file or pipe, where COLUMNS does not say how many
_WIDEST = 10_000  # characters that a table may take where its cells do not wrap
_MOST_NOTES = 20  # of one kind, one by one


def make_streams_safe() -> None:
    """Write what an encoding cannot show as an escape, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


class _Console(Console):
    """A console that leaves a closed pipe to the command, whose exit code tells it."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console(*, to_stderr: bool = False) -> Console:
    """Return a console on standard output or error; nothing in what it prints is read as markup.

    It is as wide as the terminal, or as COLUMNS says.
    """
    stream = sys.stderr if to_stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else _WIDTH
    return _Console(file=stream, width=width, markup=False, highlight=False, emoji=False)


def say(text: str, *, style: str = "", indent: int = 0, to_stderr: bool = False, whole: bool = False) -> None:
    """Print a text, wrapped between words.

    Parameters
    ----------
    text : to print
    style : of rich
    indent : spaces before each line
    to_stderr : print to standard error
    whole : wrap on a terminal only, for lines that programs read, too
    """
    screen = console(to_stderr=to_stderr)
    if whole and not screen.is_terminal:
        screen.print(f"{' ' * indent}{text}", style=style, soft_wrap=True)
        return
    for line in Text(text).wrap(screen, max(1, screen.width - indent)):
        line.rstrip()
        screen.print(Text.assemble(" " * indent, line), style=style)


def is_interactive() -> bool:
    """Whether somebody looks at a terminal: output and progress go to one."""
    return sys.stdout.isatty() and sys.stderr.isatty()


def shorten(text: str, width: int) -> str:
    """Return `text`, with its middle left out where it has more than `width` characters, `width >= 2`.

    Examples
    --------
    >>> shorten("a/very/long/path.md", 11)
    'a/very…h.md'
    """
    text = one_line(text)
    half = width // 2
    return text if len(text) <= width else f"{text[: width - half]}…{text[len(text) - half + 1 :]}"


def counted(count: int, noun: str) -> str:
    """Return a number of things in words.

    Examples
    --------
    >>> counted(1, "hit"), counted(1200, "hit")
    ('1 hit', '1,200 hits')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def numbered(noun: str, first: int, last: int) -> str:
    """Return a number of a thing, or those from one to another.

    Examples
    --------
    >>> numbered("page", 3, 3), numbered("page", 3, 5)
    ('page 3', 'pages 3-5')
    """
    return f"{noun} {first}" if first == last else f"{noun}s {first}-{last}"


def note(message: str) -> None:
    """Write a note to standard error."""
    say(f"note: {one_line(message)}", style="dim", to_stderr=True, whole=True)


def note_each(messages: Sequence[str]) -> None:
    """Write notes to standard error, the first of many and how many there are."""
    for message in messages[:_MOST_NOTES]:
        note(message)
    if len(messages) > _MOST_NOTES:
        note(f"{len(messages) - _MOST_NOTES:,} more like these, {len(messages):,} in all")


def write_text(text: str) -> None:
    """Write a result to standard output: as it is into a file or pipe, without control characters on a terminal."""
    sys.stdout.write(visible(text) if sys.stdout.isatty() else text)
    if not text.endswith("\n"):
        sys.stdout.write("\n")


def dump_json(value: Any, *, indent: int | None = None) -> str:
    """Return JSON that standard output can take, whatever its encoding."""
    utf8 = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
    return json.dumps(value, ensure_ascii=not utf8, indent=indent, allow_nan=False)


def write_json(value: Any) -> None:
    """Write a result as JSON: indented for a terminal, one line otherwise."""
    write_text(dump_json(value, indent=2 if sys.stdout.isatty() else None))


def print_table(table: Table) -> None:
    """Print a table to standard output: as wide as the screen, or wider where its words need it."""
    table.box = None
    table.pad_edge = False
    screen = console()
    least = Measurement.get(screen, screen.options.update(max_width=_WIDEST), table).minimum
    screen.width = max(screen.width, least)
    screen.print(table)


@contextmanager
def progress(what: str) -> Iterator[Callable[..., None]]:
    """Show a progress bar on standard error while the block runs; nothing where nobody looks.

    Parameters
    ----------
    what : is being done

    Yields
    ------
    show : is called with how much is done, of how much, and may be given another `description`, and a `file`
    """
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(show_speed=True),
        TimeRemainingColumn(),
        TextColumn("{task.fields[file]}", markup=False),
    )
    with Progress(*columns, console=console(to_stderr=True), transient=True, disable=not is_interactive()) as bar:
        task = bar.add_task(what, total=None, file="")
        yield lambda done, total=None, **shown: bar.update(task, completed=done, total=total, **shown)
