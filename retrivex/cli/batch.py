"""`retrivex batch`: many compositions, or an index of many documents, on the engine that is there."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from retrivex.cli import options
from retrivex.cli.backfill import StoreKind
from retrivex.cli.commands import Command
from retrivex.cli.failures import SOME_FAILED
from retrivex.cli.terminal import counted, note, one_line, progress, write_json, write_text
from retrivex.config import RetrievalConfig
from retrivex.errors import ChunkError
from retrivex.loading.report import LoadReport, describe_kinds

if TYPE_CHECKING:
    from retrivex.batch import Job, StoreAddress, Summary, Written

_MOST_LISTED = 20  # problems that are listed one by one; --json lists more


class Engine(StrEnum):
    """What runs a job: the modules of `retrivex.batch` with a function `run`."""

    LOCAL = "local"
    RAY = "ray"
    SPARK = "spark"


class Source(StrEnum):
    """Where chunks are: the embedded store, or a vector store."""

    SQLITE = "sqlite"
    vars().update((kind.name, kind.value) for kind in StoreKind)


Out: TypeAlias = Annotated[
    Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where parts go; a run that was stopped goes on there.")
]
Engines: TypeAlias = Annotated[Engine, typer.Option("--engine", help="What runs it.")]
Workers: TypeAlias = Annotated[
    int | None, typer.Option("--workers", min=1, metavar="N", help="Processes; all cores if left out.")
]
Store: TypeAlias = Annotated[
    Source | None, typer.Option("--store", help="Where chunks are, or what they are written into.")
]
Address: TypeAlias = Annotated[
    str | None, typer.Option("--address", metavar="ADDRESS", help="File, URL, folder or connection string.")
]
CollectionName: TypeAlias = Annotated[
    str, typer.Option("--collection", metavar="NAME", help="Collection, table or index; SQLite has none.")
]
Layout: TypeAlias = Annotated[
    str, typer.Option("--layout", help="Who filled the collection: retrivex, langchain, llamaindex, ...")
]

batch = typer.Typer(name="batch", add_completion=False, rich_markup_mode="rich", no_args_is_help=True)


@batch.callback()
def jobs() -> None:
    """Compose many contexts, or index many documents, on processes of this machine, Ray or Spark."""


@batch.command("compose", cls=Command, epilog=options.describe_options())
@options.taking(retrieval=options.make_config)
def compose(
    *,
    requests: Annotated[
        Path, typer.Argument(metavar="REQUESTS", help="A Parquet file of requests, or a folder of them.")
    ],
    out: Out,
    engine: Engines = Engine.LOCAL,
    workers: Workers = None,
    rows: Annotated[int, typer.Option("--rows", min=1, metavar="N", help="Requests of a part.")] = 1_000,
    store: Store = None,
    address: Address = None,
    collection: CollectionName = "",
    layout: Layout = "retrivex",
    retrieval: RetrievalConfig,
    as_json: options.AsJson = False,
) -> None:
    """Compose a context for every row of requests; a row that fails carries its error, and the others go on.

    The output is FOLDER/part-*.parquet, the same on every engine. A key of a server is read from RETRIVEX_API_KEY.
    Exit code 1: some rows failed.

    \b
    Examples:
      retrivex batch compose requests.parquet -o contexts/
      retrivex batch compose requests/ -o contexts/ --engine ray --store sqlite --address handbook.db
    """
    batches = import_module("retrivex.batch")
    place = _place(store, address, collection, layout)
    if place is not None:
        place.check()
    work = batches.ComposeWork(retrieval, place)
    job = batches.Job(batches.parquet_source(requests, work, rows), work, batches.OutputFolder(out))
    _report(_run(job, engine, workers, "composing"), out, as_json=as_json)


@batch.command("index", cls=Command)
@options.taking(cutting=options.Cutting)
def index(
    *,
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files and folders.", show_default=False)],
    out: Out,
    engine: Engines = Engine.LOCAL,
    workers: Workers = None,
    files: Annotated[int, typer.Option("--files", min=1, metavar="N", help="Most files of a part.")] = 100,
    store: Store = None,
    address: Address = None,
    collection: CollectionName = "",
    cutting: options.Cutting,
    embed: Annotated[
        str | None,
        typer.Option("--embed", metavar="MODEL", help="A model, as retrivex index takes it; none: no vectors."),
    ] = None,
    headers: options.Headers = None,
    as_json: options.AsJson = False,
) -> None:
    """Read, cut and encode files on an engine, and write the chunks into a store.

    FOLDER/part-*.parquet has a document a row, with its chunks; a file that cannot be read carries its error, and the
    others go on. The store gets each part once, by one writer. Exit code 1: some files are not in the store.

    \b
    Examples:
      retrivex batch index docs/ -o chunks/ --store sqlite --address docs.db
      retrivex batch index docs/ -o chunks/ --engine ray --embed hashing --store lancedb --address lance/ \\
        --collection docs
    """
    batches = import_module("retrivex.batch")
    place = _place(store, address, collection)
    if place is not None and place.kind != Source.SQLITE and embed is None:
        raise typer.BadParameter(f"--store {place.kind} keeps vectors: name a model with --embed")
    if place is not None:
        batches.check_writer(place)
    report = LoadReport()
    folder = batches.OutputFolder(out)
    source = batches.file_source(
        paths, report, include=cutting.include or (), exclude=cutting.exclude or (), files_per_part=files
    )
    try:
        chunks = batches.ChunkWork(cutting.chunker, cutting.size, cutting.overlap, cutting.tokenizer, embed, headers)
        work = batches.FilesWork(chunks, cutting.scope)
        # as in `retrivex backfill`: estimates stay in records only where they are asked for by their name
        counts = chunks.resources[1].exact or cutting.tokenizer != "auto"
    except ChunkError as error:
        raise typer.BadParameter(str(error)) from error
    job = batches.Job(source, work, folder)
    made = _run(job, engine, workers, "cutting")
    written = batches.Written() if place is None else _write(job, place, counts=counts)
    _report_index(made, written, report, out, place, as_json=as_json)


def _place(store: Source | None, address: str | None, collection: str, *layout: str) -> StoreAddress | None:
    if (store is None) != (address is None):
        raise typer.BadParameter("--store and --address go together: what the store is, and where")
    if store is None:
        return None
    made: StoreAddress = import_module("retrivex.batch").StoreAddress(store.value, address, collection, *layout)
    return made


def _write(job: Job, place: StoreAddress, *, counts: bool) -> Written:
    batches = import_module("retrivex.batch")
    writer = batches.open_writer(place, counts=counts)
    try:
        with progress("writing") as show:
            made: Written = batches.write_parts(job.folder, job.source.parts, writer, show)
    finally:
        writer.close()
    return made


def _report_index(
    made: Summary, written: Written, report: LoadReport, out: Path, place: StoreAddress | None, *, as_json: bool
) -> None:
    failed = max(made.failed, len(written.problems)) + len(report.problems)
    if as_json:
        problems = [{"path": name, "reason": reason} for name, reason in written.problems]
        problems += [{"path": problem.path, "reason": problem.reason} for problem in report.problems]
        counts = {"documents": written.documents, "chunks": written.chunks, "tokens": written.tokens}
        known = {"failed": failed, "problems": problems, "notes": written.notes}
        write_json({"out": str(out), **asdict(made), **counts, **known})
    else:
        write_text(_line(made, out))
        if place is not None:
            write_text(
                f"{place}: {written.documents:,} documents, {written.chunks:,} chunks, {written.tokens:,} tokens"
            )
        if report.passed_over:
            note(f"{describe_kinds(report.passed_over)} passed over")
        for said in written.notes:
            note(said)
        for name, reason in [*written.problems, *((one.path, one.reason) for one in report.problems)][:_MOST_LISTED]:
            note(f"{name}: {reason}")
    _end(failed, "document")


def _run(job: Job, engine: Engine, workers: int | None, what: str) -> Summary:
    runner = import_module(f"retrivex.batch.{engine.value}")
    with progress(what) as show:
        made: Summary = runner.run(job, workers=workers, on_part=show)
    return made


def _report(made: Summary, out: Path, *, as_json: bool) -> None:
    if as_json:
        write_json({"out": str(out), **asdict(made)})
    else:
        write_text(_line(made, out))
    _end(made.failed, "row")


def _end(failed: int, what: str) -> None:
    if failed:
        note(f"{counted(failed, what)} failed: the column error says why")
        raise typer.Exit(SOME_FAILED)


def _line(made: Summary, out: Path) -> str:
    parts = counted(made.parts, "part")
    if made.made < made.parts:
        parts += f", {made.parts - made.made:,} of them there already"
    counts = ((made.failed, "failed"), (made.warned, "with warnings"))
    problems = "".join(f", {count:,} {what}" for count, what in counts if count)
    return f"{one_line(str(out))}: {made.rows:,} rows{problems} in {parts}, {made.seconds:,.1f} s"
