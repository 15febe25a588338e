"""`retrivex backfill`: adds chunk numbers to a collection of a vector store that was filled without them."""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from retrivex.adapters import STORES
from retrivex.cli.failures import SOME_FAILED
from retrivex.cli.options import AsJson, parse_pairs
from retrivex.cli.terminal import note, progress, write_json, write_text
from retrivex.tokens.tokenizer import DEFAULT_ENCODING, get_tokenizer

if TYPE_CHECKING:
    from retrivex.adapters.base.backfill import Backfilled


class StoreKind(StrEnum):
    """A vector store that has an adapter."""

    vars().update((row.name.upper(), row.name) for row in STORES)


_SHOWN = 10  # documents without numbers that are listed


def backfill(
    kind: Annotated[StoreKind, typer.Argument(metavar="STORE", help="Which vector store it is.")],
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="URL, folder, or connection string.")],
    collection: Annotated[str, typer.Argument(metavar="COLLECTION", help="Collection, table or index.")],
    layout: Annotated[str, typer.Option(help="Who filled it: retrivex, langchain, llamaindex, ...")] = "retrivex",
    field: Annotated[
        list[str] | None, typer.Option(metavar="NAME=PATH", help="As doc_id=metadata.file; repeatable.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN=VALUE", help="Rows of a table of several collections.")
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Write the numbers into the collection, too.")] = False,
    counts: Annotated[
        str | None, typer.Option(metavar="TOKENIZER", help="With --write: token counts and cuts, too.")
    ] = None,
    by_order: Annotated[bool, typer.Option("--by-order", help="Trust the order of the records.")] = False,
    batch: Annotated[int, typer.Option(min=1, max=10_000, metavar="N", help="Records a request.")] = 500,
    api_key: Annotated[str | None, typer.Option(envvar="RETRIVEX_API_KEY", help="Where the server wants one.")] = None,
    as_json: AsJson = False,
) -> None:
    """Give the chunks of a collection the numbers it was filled without, so that hits can grow to neighbours.

    Numbers come from links between records, or from offsets. Without --write the collection is only read. A run that
    was stopped is run again: what is written stays. Exit code 1: some documents have no numbers.

    \b
    Examples:
      retrivex backfill qdrant http://localhost:6333 docs --layout llamaindex
      retrivex backfill pgvector postgresql://localhost/rag langchain_pg_embedding --layout langchain --write \
        --only collection_id="3f2c..."
      retrivex backfill lancedb data/lance notes --field doc_id=file --field char_start=offset
    """
    opening = import_module("retrivex.adapters.base.opening")
    found = opening.open_collection(kind.value, address, collection, layout, api_key, parse_pairs(only, "--only"))
    if field:
        found.fields = replace(found.fields, **_names(found.fields, field))
    if counts is not None and not write:
        raise typer.BadParameter("--counts: counts are kept in the collection only; add --write, or leave --counts out")
    # what `auto` means, by its name: that never falls back to estimates, which would stay in the records
    named = DEFAULT_ENCODING if counts == "auto" else counts
    tokenizer = None if named is None else get_tokenizer(named)
    with progress("reading") as show:
        made = import_module("retrivex.adapters.base.backfill").backfill(
            found,
            by_order=by_order,
            write=write,
            tokenizer=tokenizer,
            batch=batch,
            report=lambda step, done, total: show(done, total, description=step),
        )
    _show(made, as_json=as_json)
    if made.unnumbered_count or made.orphans:
        raise typer.Exit(SOME_FAILED)


def _names(known: Any, given: list[str]) -> dict[str, tuple[str, ...]]:
    allowed = [one.name for one in fields(known) if one.name != "root"]
    pairs = parse_pairs(given, "--field", as_text=tuple(allowed))
    wrong = [name for name in pairs if name not in allowed]
    if wrong:
        raise typer.BadParameter(f"--field {wrong[0]}: there is no such field; choose of {', '.join(allowed)}")
    prefix = f"{known.root}." if known.root else ""
    return {name: (str(path).removeprefix(prefix),) for name, path in pairs.items()}


def _show(made: Backfilled, *, as_json: bool) -> None:
    if as_json:
        write_json(asdict(made))
        return
    how = ", ".join(f"{count:,} by {name}" for name, count in sorted(made.documents.items()))
    write_text(f"{made.records:,} records; documents numbered: {how or 'none'}\n")
    if made.written:
        write_text(f"{made.written:,} records have their numbers in the collection\n")
    if made.counted:
        write_text(f"{made.counted:,} records have their token counts in the collection\n")
    if made.orphans:
        note(f"{made.orphans:,} records name no document or have no text")
    for name, reason in list(made.unnumbered.items())[:_SHOWN]:
        note(f"{name}: {reason}")
    if made.unnumbered_count > _SHOWN:
        note(f"and {made.unnumbered_count - _SHOWN:,} more documents without numbers")
