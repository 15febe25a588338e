"""`retrivex compose`: JSON Lines of hits in, JSON Lines of compositions out, for retrievers in any language."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import typer

from retrivex.cli import options
from retrivex.cli.failures import SOME_FAILED, describe
from retrivex.cli.rerankers import Rerank, RerankModel, RerankShape, make_reranker
from retrivex.cli.terminal import counted, note, progress, write_text
from retrivex.composer.composer import SpanComposer
from retrivex.composer.requests import compose_record, parse_line
from retrivex.loading import read_chunks
from retrivex.model.chunk import Chunk, ChunkKey
from retrivex.model.serialization import escape_halves
from retrivex.stores.memory import index_chunks


def compose(
    source: Annotated[
        typer.FileBinaryRead, typer.Option("--in", metavar="FILE", help="Requests; - is standard input.")
    ] = "-",  # type: ignore[assignment]  # typer opens it
    target: Annotated[
        typer.FileBinaryWrite, typer.Option("--out", metavar="FILE", help="Compositions; - is standard output.")
    ] = "-",  # type: ignore[assignment]
    chunks: Annotated[
        Path | None, typer.Option(metavar="FILE", help="JSONL of chunks that all lines share.", exists=True)
    ] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of a composition.")] = False,
    request_schema: Annotated[bool, typer.Option("--request-schema", help="Print that of a request.")] = False,
    budget: options.Budget = None,
    window: options.WindowSize = None,
    k: options.BestHits = None,
    effort: options.EffortLevel = None,
    order: options.Order = None,
    preset: options.Preset = None,
    config: options.ConfigFile = None,
    settings: options.Settings = None,
    rerank: Rerank = None,
    rerank_shape: RerankShape = None,
    rerank_model: RerankModel = None,
    trace: options.WithTrace = False,
    as_json: options.AsJson = False,
) -> None:
    """Compose contexts from your own retriever's hits: JSON Lines in, JSON Lines out, in the same order.

    A line that cannot be composed gives {"id": ..., "error": {"type", "message", "line"}} in its place; the others go
    on, and the exit code is 1.

    \b
    Examples:
      retrivex compose --in requests.jsonl --out contexts.jsonl --budget 1500
      my-retriever | retrivex compose --chunks chunks.jsonl | jq -r .text
      retrivex compose --schema > composition.schema.json

    \b
    A request:
      {"id": 1, "question": "Do bees sleep?",
       "hits": [{"doc_id": "bees", "chunk_id": 1, "score": 0.8}],
       "chunks": [{"doc_id": "bees", "chunk_id": 0, "text": "Hives hum."},
                  {"doc_id": "bees", "chunk_id": 1, "text": "At night."}]}
    """
    if schema or request_schema:
        write_text(read_schema("composition-1" if schema else "compose-request-1"))
        return
    retrieval = options.make_config(
        preset, config, settings, token_budget=budget, window=window, k=k, effort=effort, ordering_strategy=order
    )
    composer = SpanComposer(retrieval, reranker=make_reranker(rerank, rerank_shape, rerank_model))
    shared = {} if chunks is None else index_chunks(read_chunks(chunks))
    read_from = getattr(source, "name", None)
    if read_from is not None and os.path.realpath(read_from) == os.path.realpath(getattr(target, "name", "")):
        raise typer.BadParameter(f"--in and --out are both {read_from}: name another file for the compositions")
    if source.isatty():
        note("reading requests from the terminal, one JSON object a line; Ctrl-D ends")
    failed = 0
    target.write(b"")  # opens it: no requests are an empty file
    with progress("composing") as bar:
        for number, line in enumerate(source, start=1):
            if not line.strip():
                continue
            answer = answer_line(line, number, composer, shared, trace=trace)
            failed += "error" in answer
            target.write(escape_halves(json.dumps(answer, ensure_ascii=False, allow_nan=False)).encode() + b"\n")
            target.flush()  # a program at the other end of a pipe may wait for it before it sends the next
            bar.update(bar.task_ids[0], completed=number)
    if failed:
        note(f"{counted(failed, 'line')} could not be composed: where a line's answer would be, its error says why")
        raise typer.Exit(SOME_FAILED)


def read_schema(name: str) -> str:
    """Return a JSON Schema that comes with the package."""
    return files("retrivex.composition.schemas").joinpath(f"{name}.json").read_text(encoding="utf-8")


def answer_line(
    line: bytes,
    number: int,
    composer: SpanComposer,
    shared: Mapping[ChunkKey, Chunk],
    *,
    trace: bool = False,
) -> dict[str, Any]:
    """Return the composition of a line as plain JSON types, or its error.

    Parameters
    ----------
    line : as read
    number : of the line, from 1
    composer : with the config of the command line
    shared : chunks that all lines share
    trace : whether the composition is written with its trace
    """
    request_id = None
    try:
        record = parse_line(line)
        json.dumps(record.get("id"), allow_nan=False)  # one that JSON cannot hold is an error, and not repeated
        request_id = record.get("id")
        return {"id": request_id, **compose_record(record, composer, shared).to_dict(trace=trace)}
    except Exception as error:  # noqa: BLE001 - one bad line must not lose the others; it is handed back in its place
        said = {"type": type(error).__name__, "message": describe(error), "line": number}
        return {"id": request_id, "error": said}
