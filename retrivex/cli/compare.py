"""`retrivex compare`: which of two systems is better on the same questions, with confidence intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from retrivex.cli.options import AsJson
from retrivex.cli.terminal import console, note, one_line, print_table, visible, write_json
from retrivex.evaluation.compare.comparison import Comparison, Pair, select
from retrivex.evaluation.compare.comparison import compare as compare_rows
from retrivex.evaluation.compare.side_by_side import cells, described, head, page
from retrivex.evaluation.run.results import Row, read_rows, without_nan


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
    sets: Annotated[list[str] | None, typer.Option("--set", metavar="NAME", help="Only this set; repeatable.")] = None,
    measures: Annotated[
        list[str] | None, typer.Option("--measure", metavar="NAME", help="Only this measure; repeatable.")
    ] = None,
    show: Annotated[
        int, typer.Option("--show", metavar="N", min=0, help="Print the N widest wins and losses, both contexts.")
    ] = 0,
    target: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write a page of wins and losses, as HTML.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the bootstrap.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Compare two ways of making contexts, or two runs, on the questions that both have answered.

    Every difference has its 95 % interval (paired bootstrap over questions); where it holds 0, no effect was seen.

    \b
    Examples:
      retrivex compare results --a composer=balanced --b composer=knn
      retrivex compare before after --measure evidence_recall --show 3
      retrivex compare results --a order=edge_balanced --b order=document --out orders.html
    """
    first, second = _selection(ours_where, "--a"), _selection(theirs_where, "--b")
    mine = _read(ours)
    others = _read(theirs) if theirs is not None else mine
    rows = (_of_sets(select(mine, first), sets), _of_sets(select(others, second), sets))
    found = compare_rows(*rows, measures=measures, seed=seed)
    names = _names(rows, ours, theirs)
    read = measures[0] if measures else found[0].measure
    if as_json:
        write_json([_as_json(comparison) for comparison in found])
    else:
        _print(found, names)
        for comparison in found:
            if show and comparison.measure == read:
                _print_questions(comparison, names, show)
    if target is not None:
        target.write_text(page(found, read, ours=names[0], theirs=names[1], number=max(show, 10)), encoding="utf-8")
        note(f"wins and losses on {read} are in {target}")


def _read(path: Path) -> list[Row]:
    rows, not_measured = without_nan(read_rows(path))
    for line in not_measured:
        note(f"{path}: {line}")
    return rows


def _selection(settings: Sequence[str] | None, option: str) -> Mapping[str, str]:
    chosen = {}
    for setting in settings or ():
        name, equals, value = setting.partition("=")
        if not equals or not value:
            raise typer.BadParameter(f"{option} {setting!r}: write FIELD=VALUE, as in {option} composer=balanced")
        chosen[name.strip()] = value.strip()
    return chosen


def _of_sets(rows: Sequence[Row], names: Sequence[str] | None) -> list[Row]:
    if not names:
        return list(rows)
    there = dict.fromkeys(row.set_name for row in rows)
    unknown = [name for name in names if name not in there]
    if unknown:
        raise typer.BadParameter(f"--set {unknown[0]}: the results hold {', '.join(there)}")
    return [row for row in rows if row.set_name in names]


def _names(rows: Sequence[Sequence[Row]], ours: Path, theirs: Path | None) -> tuple[str, str]:
    """Return what the two sides are called: by what differs between their ways, else by their folders."""
    ways = [{name: {value} for name, value in asdict(side[0].way).items()} for side in rows]
    for way, side in zip(ways, rows, strict=True):
        for name in way:
            way[name] = {getattr(row.way, name) for row in side}
    differing = [name for name in ways[0] if ways[0][name] != ways[1][name]]
    called = [" ".join(",".join(sorted(map(str, way[name]))) for name in differing) for way in ways]
    if called[0] != called[1]:
        return called[0], called[1]
    return (ours.name, theirs.name) if theirs is not None and theirs.name != ours.name else ("A", "B")


def _print(found: Sequence[Comparison], names: tuple[str, str]) -> None:
    table = Table(*map(one_line, head(*names)))
    for comparison in found:
        table.add_row(*map(one_line, cells(comparison)))
    print_table(table)


def _print_questions(found: Comparison, names: tuple[str, str], number: int) -> None:
    for title, pairs in (("wins", found.best(number)), ("losses", found.worst(number))):
        for pair in pairs:
            _print_pair(f"{found.set_name}, {title} on {found.measure}", pair, names)


def _print_pair(title: str, pair: Pair, names: tuple[str, str]) -> None:
    row = pair.our_row
    table = Table(
        *(f"{one_line(name)} {value:.3f}" for name, value in zip(names, (pair.ours, pair.theirs), strict=True)),
        title=f"{one_line(title)}: {one_line(row.question or row.question_id)}",
        title_justify="left",
    )
    sides = [side.context or f"({described(side.way)}: no context was kept)" for side in (row, pair.their_row)]
    for left, right in zip_longest(*(visible(text).split("\n\n") for text in sides), fillvalue=""):
        table.add_row(left, right)
    console().print(table)


def _as_json(found: Comparison) -> dict[str, Any]:
    made = asdict(found)
    made["verdict"] = found.verdict
    made["pairs"] = [
        {"set": pair.asked[0], "question_id": pair.asked[1], "ours": pair.ours, "theirs": pair.theirs}
        for pair in found.pairs
    ]
    return made
