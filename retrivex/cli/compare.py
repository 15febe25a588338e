"""`retrivex compare`: which of two systems is better on the same questions, with confidence intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from retrivex.cli.options import AsJson, parse_pairs
from retrivex.cli.terminal import console, note, one_line, print_table, say, visible, write_json
from retrivex.evaluation.compare.comparison import EVERY_SET, Comparison, Pair, averaged, select
from retrivex.evaluation.compare.comparison import compare as compare_rows
from retrivex.evaluation.report.side_by_side import (
    FIGURES,
    INTERVAL,
    MORE,
    cells,
    described,
    explanations,
    groups,
    head,
    marked,
    standing,
    verdict,
)
from retrivex.evaluation.run.measure_words import label_measure
from retrivex.evaluation.run.results import Row, Way, read_rows


def compare(
    ours: Annotated[Path, typer.Argument(metavar="A", help="Results: a folder of `retrivex evaluate --out`.")],
    theirs: Annotated[Path | None, typer.Argument(metavar="[B]", help="Other results; left out, the same.")] = None,
    ours_where: Annotated[
        list[str] | None,
        typer.Option("--a", metavar="FIELD=VALUE", help="Only these of A, as in composer=balanced; repeatable."),
    ] = None,
    theirs_where: Annotated[
        list[str] | None, typer.Option("--b", metavar="FIELD=VALUE", help="Only these of B; repeatable.")
    ] = None,
    measures: Annotated[
        list[str] | None, typer.Option("--measure", metavar="NAME", help="Only this measure; repeatable.")
    ] = None,
    show: Annotated[
        int,
        typer.Option(
            "--show", metavar="N", min=0, help="Print the N questions in which each is furthest ahead, both contexts."
        ),
    ] = 0,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the bootstrap.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Compare two ways of making contexts, or two runs, on the questions that both have answered.

    Every difference has its 95 % interval (paired bootstrap over questions); where it holds 0, no effect was seen.

    \b
    Examples:
      retrivex compare results --a composer=balanced --b composer=knn
      retrivex compare before after --measure evidence_recall --show 3
      retrivex compare results --a order=edge_balanced --b order=document --show 1
    """
    first, second = (
        parse_pairs(pairs, option, as_text=tuple(Way.__dataclass_fields__))
        for pairs, option in ((ours_where, "--a"), (theirs_where, "--b"))
    )
    mine = read_rows(ours)
    others = read_rows(theirs) if theirs is not None else mine
    rows = (select(mine, first), select(others, second))
    found = compare_rows(*rows, measures=measures, seed=seed)
    if theirs is None and first == second:
        raise typer.BadParameter(
            "A and B are the same results: choose two ways, as in --a composer=balanced --b composer=knn, or "
            "name other results as B"
        )
    _note_means(averaged(*rows))
    names = _names(rows, ours, theirs)
    first_set, *_ = groups(found).values()
    read = measures[0] if measures else first_set[0].measure
    if as_json:
        write_json([_as_json(comparison) for comparison in found])
    else:
        _print(found, names, read, whole=bool(measures))
        for comparison in found:
            if show and comparison.measure == read and comparison.set_name != EVERY_SET:
                _print_questions(comparison, show)


def _note_means(fields: Mapping[str, Sequence[str]]) -> None:
    """Say what each figure is a mean over, and how to compare one of it."""
    if not fields:
        return
    over = " and ".join(f"{name} ({', '.join(values)})" for name, values in fields.items())
    (name, values), *_ = fields.items()
    one = f"{name}={values[0]}"
    note(f"each figure is a mean over {over}: --a {one} --b {one} compares one of them, as another value would")


def _names(rows: Sequence[Sequence[Row]], ours: Path, theirs: Path | None) -> tuple[str, str]:
    """Return what the two sides are called: by what differs between their ways, else by their folders."""
    fields = Way.__dataclass_fields__
    ways = [{name: {getattr(row.way, name) for row in side} for name in fields} for side in rows]
    differing = [name for name in ways[0] if ways[0][name] != ways[1][name]]
    called = [", ".join("/".join(sorted(map(str, way[name]))) for name in differing) for way in ways]
    if called[0] != called[1]:
        return called[0], called[1]
    return (ours.name, theirs.name) if theirs is not None and theirs.name != ours.name else ("A", "B")


def _print(found: Sequence[Comparison], names: tuple[str, str], read: str, *, whole: bool) -> None:
    say(one_line(verdict(found, read, *names)))
    say(f"\nA: {one_line(names[0])}\nB: {one_line(names[1])}")
    tables = groups(found)
    more = [] if whole else tables.pop(MORE, [])
    for title, comparisons in tables.items():
        say(f"\n{title}", style="bold")
        _print_table(comparisons)
        for line in explanations(comparisons):
            say(line, style="dim", indent=2)
    say(f"\n{INTERVAL}", style="dim")
    if more:
        hidden = ", ".join(dict.fromkeys(one.measure for one in more))
        say(f"More measures, each with --measure NAME: {hidden}", style="dim")


def _print_table(comparisons: Sequence[Comparison]) -> None:
    columns = head(comparisons)
    table = Table(header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=column in FIGURES)
    for comparison in comparisons:
        table.add_row(*map(one_line, cells(comparison, with_set="set" in columns)))
    print_table(table)


def _print_questions(found: Comparison, number: int) -> None:
    label = label_measure(found.measure)
    for title, pairs in (("A is ahead", found.best(number)), ("B is ahead", found.worst(number))):
        for pair in pairs:
            _print_pair(f"{found.set_name}, {title} in {label}", pair, found.measure)


def _print_pair(title: str, pair: Pair, measure: str) -> None:
    row = pair.our_row
    screen = console()
    screen.print()
    screen.print(f"{one_line(title)}: {one_line(row.question or row.question_id)}", style="bold")
    screen.print(one_line(standing(pair, measure)), style="dim")
    sides = (row, pair.their_row)
    heads = (f"{letter}: {described(side.way)}" for letter, side in zip("AB", sides, strict=True))
    table = Table(*map(one_line, heads), box=None, pad_edge=False, expand=True)
    for column in table.columns:
        column.ratio = 1
    table.add_row(*map(_context, sides))
    screen.print(table)


def _context(row: Row) -> Text:
    text = Text()
    for part, is_evidence in marked(row):
        text.append(visible(part), style="bold underline" if is_evidence else "")
    return text


def _as_json(found: Comparison) -> dict[str, Any]:
    made = asdict(found)
    made["verdict"] = found.verdict
    made["pairs"] = [
        {"set": pair.asked[0], "question_id": pair.asked[1], "ours": pair.ours, "theirs": pair.theirs}
        for pair in found.pairs
    ]
    return made
