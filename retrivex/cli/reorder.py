"""`retrivex reorder`: passages in, the same passages in a better order out, as JSON or JSON Lines."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from retrivex.cli.options import AsJson, parse_pairs
from retrivex.cli.terminal import note, write_text
from retrivex.errors import PassageError, RetrivexError
from retrivex.reorder import Reorderer
from retrivex.reorder.presets import PresetName

_STANDARD = "-"


def reorder(
    source: Annotated[str, typer.Argument(metavar="FILE", help="Passages; - is standard input.")] = _STANDARD,
    target: Annotated[
        str, typer.Option("--out", metavar="FILE", help="Where they go; - is standard output.")
    ] = _STANDARD,
    question: Annotated[str | None, typer.Option("--query", "-q", metavar="TEXT", help="The question.")] = None,
    strategy: Annotated[str | None, typer.Option("--order", metavar="NAME", help="Name of the order.")] = None,
    preset: Annotated[
        str | None, typer.Option("--preset", metavar="NAME", help="standard, narrative, temporal, diverse, auto, ...")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="OPTION=VALUE", help="Any other option of Reorderer; repeatable."),
    ] = None,
    lines: Annotated[bool, typer.Option("--jsonl", help="One passage a line, in and out.")] = False,
    as_json: AsJson = False,
) -> None:
    """Put passages of any retriever in order: a JSON array, or with --jsonl one object a line.

    Each has an id, a text, a score and, where wanted, metadata; they come back as they are.

    \b
    Examples:
      retrivex reorder passages.json --order edge_balanced --set top_k=8
      my-retriever | retrivex reorder --jsonl --query "When did it fail?" --preset auto
    """
    options = parse_pairs(settings, "--set")
    if strategy is not None:
        options["strategy"] = strategy
    reorderer = _reorderer(preset, options)
    text = sys.stdin.read() if source == _STANDARD else Path(source).read_text(encoding="utf-8")
    made = reorderer.reorder_with_diagnostics(read_passages(text, lines=lines), question)
    for warning in made.diagnostics.warnings:
        note(warning)
    rows = [json.dumps(passage, ensure_ascii=False) for passage in made.passages]
    output = "\n".join(rows) if lines else "[" + ",\n ".join(rows) + "]"
    if target == _STANDARD:
        write_text(output)
    else:
        Path(target).write_text(output + "\n", encoding="utf-8")


def _reorderer(preset: str | None, options: dict[str, Any]) -> Reorderer:
    try:
        # which refuses names that are none of a preset
        return Reorderer(**options) if preset is None else Reorderer.preset(cast("PresetName", preset), **options)
    except RetrivexError as error:
        raise typer.BadParameter(str(error)) from error


def read_passages(text: str, *, lines: bool) -> list[Any]:
    """Return the passages of a JSON array, or of JSON Lines; blank lines are skipped.

    Raises
    ------
    PassageError
        If it is no JSON, or no array.

    Examples
    --------
    >>> read_passages('{"id": 1}\\n\\n{"id": 2}', lines=True)
    [{'id': 1}, {'id': 2}]
    """
    found = []
    # not splitlines: JSON may hold other line separators inside its texts
    for number, part in enumerate(text.split("\n") if lines else [text], start=1):
        if lines and not part.strip():
            continue
        try:
            found.append(json.loads(part))
        except (ValueError, RecursionError) as error:
            where = f"line {number} is" if lines else "the input is"
            raise PassageError(f"{where} no JSON: {error}; give passages as JSON, one a line with --jsonl") from error
    if lines:
        return found
    if not isinstance(found[0], list):
        raise PassageError(f"the input holds a {type(found[0]).__name__}: give an array of passages, or use --jsonl")
    return found[0]
