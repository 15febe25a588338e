"""`retrivex index`: reads files and folders into a database."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from retrivex.chunking import get_chunker
from retrivex.cli import options
from retrivex.cli.endpoints import EndpointOptions, OptionalModelName, OptionalModelUrl
from retrivex.cli.terminal import counted, note, one_line, progress, say, shorten, write_json, write_text
from retrivex.errors import ChunkError, LoadError
from retrivex.loading import LoadProblem, describe_kinds
from retrivex.retrieval.headers import Headers, ModelHeaders, make_headers
from retrivex.retrieval.indexing import Indexer, IndexReport
from retrivex.retrieval.stored_encoder import encoder_for_index
from retrivex.stores import SQLiteStore
from retrivex.stores.sqlite.store import store_files
from retrivex.stores.sqlite.vectors import EXACT_UP_TO

_MAX_NAMED = 3  # files of one reason that are named; --json lists all
_FILE_WIDTH = 24
_MANY_VECTORS = (
    "{vectors:,} vectors, all of which a question is compared with: LanceDB, Qdrant, pgvector and Milvus are faster; "
    "retrivex batch index PATH -o FOLDER --store lancedb --address FOLDER --collection NAME --embed MODEL fills one"
)


@options.taking(cutting=options.Cutting, asking=EndpointOptions)
def index(
    *,
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files and folders.", show_default=False)],
    db: options.Database = options.DEFAULT_DATABASE,
    cutting: options.Cutting,
    embed: options.Embed = None,
    no_embed: Annotated[bool, typer.Option("--no-embed", help="Without vectors; deletes those there are.")] = False,
    headers: options.HeadersOrModel = None,
    model_url: OptionalModelUrl = None,
    model: OptionalModelName = None,
    asking: EndpointOptions,
    prune: Annotated[bool, typer.Option("--prune", help="Remove also what this run does not look for.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Index files and folders: text, Markdown, HTML, PDF, office files, tables, notebooks, mail, books, subtitles, ...

    Read are all of .adoc .csv .docx .eml .epub .html .ipynb .json .jsonl .md .pdf .pptx .rst .srt .tex .tsv .txt .vtt
    .xlsx .yaml, and some others.

    Runs again in no time: unchanged documents are skipped, changed ones replaced, vanished ones removed. What cannot
    be read is reported, and the rest goes on. Give the same options each time: other chunks mean cutting again.

    \b
    Examples:
      retrivex index docs/ notes.md
      retrivex index manuals/ --db manuals.db --include '*.pdf'
      retrivex index acme/ --scope acme --json
      retrivex index docs/ --embed hashing --headers path
      retrivex index docs/ --headers model --model-url http://localhost:11434/v1 --model qwen3 --spend-cap 1000000
    """
    if embed is not None and no_embed:
        raise typer.BadParameter("--embed and --no-embed exclude each other: give one of them")
    if not any(os.path.lexists(path) for path in paths):
        raise LoadError(f"{paths[0]} does not exist: name files or folders that do")
    counter = options.find_tokenizer(cutting.tokenizer)
    with _database(db) as store, ExitStack() as opened:
        if no_embed and store.vector_model is not None:
            store.drop_vectors()
        encoder = None if no_embed else encoder_for_index(embed, store)
        try:
            lines = _open_headers(headers, model_url, model, asking, db, opened)
            cutter = get_chunker(
                cutting.chunker, size=cutting.size, overlap=cutting.overlap, tokenizer=counter, encoder=encoder
            )
        except ChunkError as error:
            raise typer.BadParameter(str(error)) from error
        with progress("indexing") as show:
            report = Indexer(store, cutter, counter, encoder, lines).index(
                paths,
                include=cutting.include or (),
                exclude=cutting.exclude or (),
                scope=cutting.scope,
                prune=prune,
                on_progress=lambda file, done, total: show(done, total, file=shorten(file, _FILE_WIDTH)),
            )
        vectors = store.info().vectors
    own = {os.path.abspath(file) for file in store_files(db)}  # where the database lies in the folder itself
    report.problems = [problem for problem in report.problems if os.path.abspath(problem.path) not in own]
    report.passed_over = [path for path in report.passed_over if os.path.abspath(path) not in own]
    _report(report, db, as_json=as_json)
    if vectors > EXACT_UP_TO:
        note(_MANY_VECTORS.format(vectors=vectors))
    if not report.documents:
        raise LoadError("nothing was indexed: name files, or folders with files, that can be read")


def _open_headers(
    spec: str | None, url: str | None, model: str | None, asking: EndpointOptions, db: Path, opened: ExitStack
) -> Headers | None:
    """Return the headers that `--headers` asks for; what has to be closed goes onto `opened`."""
    if {url is not None, model is not None} != {spec == "model"}:
        raise typer.BadParameter("--headers model needs --model-url and --model, which belong to nothing else here")
    if spec != "model":
        return None if spec is None else make_headers(spec)
    endpoint = opened.enter_context(replace(asking, answers=None).open(str(url), str(model), None))
    opened.callback(lambda: note(str(endpoint.usage)))
    cache = asking.answers or db.with_name(f"{db.name}.headers.db")
    return opened.enter_context(closing(ModelHeaders(endpoint, str(model), cache=cache)))


@contextmanager
def _database(db: Path) -> Iterator[SQLiteStore]:
    """Open the database; one that was made for this run and stayed empty is removed again."""
    is_new = not os.path.lexists(db)
    is_empty = False
    try:
        with SQLiteStore(db) as store:
            try:
                yield store
            finally:
                is_empty = is_new and next(store.documents(), None) is None
    finally:
        if is_empty:
            for file in store_files(db):
                file.unlink(missing_ok=True)


def _report(report: IndexReport, db: Path, *, as_json: bool) -> None:
    if as_json:
        moved = [
            {"from_scope": before, "to_scope": after, "documents": count}
            for (before, after), count in report.moved.items()
        ]
        write_json({"db": str(db), **asdict(report), "moved": moved})
        return
    list_problems(report)
    if report.unselected:
        note(
            f"{len(report.unselected):,} other documents from under these paths stay in the database; "
            "--prune removes them"
        )
    for (before, after), count in report.moved.items():
        _say(f"moved: {counted(count, 'document')} from {_scope_name(before)} to {_scope_name(after)}", "yellow")
    if report.documents:
        write_text(_line(report, db))


def _say(text: str, style: str) -> None:
    say(one_line(text), style=style, to_stderr=True, whole=True)


def _scope_name(scope: str | None) -> str:
    return "no scope" if scope is None else f"scope {scope!r}"


def list_problems(report: IndexReport) -> None:
    """List what was not read, or not quite as it is, on standard error: a line for each reason."""
    if report.passed_over:
        note(f"{describe_kinds(report.passed_over)} passed over")
    _list("skipped", report.problems, "yellow")
    _list("note", report.notes, "dim")


def _line(report: IndexReport, db: Path) -> str:
    counts = ("added", report.added), ("updated", report.updated), ("unchanged", report.unchanged)
    parts = [f"{count:,} {word}" for word, count in (*counts, ("removed", len(report.removed))) if count]
    problems = f"; {len(report.problems):,} could not be read" if report.problems else ""
    new = f" ({report.chunks:,} chunks, {report.tokens:,} tokens)" if report.chunks else ""
    return f"{one_line(str(db))}: {', '.join(parts)}{new}{problems}"


def _list(what: str, items: list[LoadProblem], style: str) -> None:
    # a folder of pictures has one reason, not a thousand
    by_reason: dict[str, list[str]] = {}
    for item in items:
        by_reason.setdefault(item.reason, []).append(item.path)
    for reason, paths in by_reason.items():
        more = f" and {len(paths) - _MAX_NAMED:,} more" if len(paths) > _MAX_NAMED else ""
        _say(f"{what}: {', '.join(paths[:_MAX_NAMED])}{more}: {reason}", style)
