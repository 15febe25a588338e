"""`retrivex compose`: JSON Lines of hits in, JSON Lines of compositions out, for retrievers in any language."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Self, cast

import typer

from retrivex.cli.failures import SOME_FAILED, describe
from retrivex.cli.options import AsJson, WithTrace, make_config, taking
from retrivex.cli.rerankers import make_reranker
from retrivex.cli.terminal import note, progress, write_text
from retrivex.composer.composer import SpanComposer
from retrivex.composer.requests import RequestError, compose_record, parse_line
from retrivex.config import RetrievalConfig
from retrivex.loading import read_chunks
from retrivex.model.chunk import Chunk, ChunkKey
from retrivex.rerank import Reranker
from retrivex.stores.memory import index_chunks

MAX_LINE_BYTES = 256 * 1024 * 1024
"""Limit for one line; a longer one gets an error and is skipped without being held in memory."""

_SKIP_BYTES = 1024 * 1024
_STANDARD = "-"


@taking(retrieval=make_config, reranker=make_reranker)
def compose(
    *,
    source: Annotated[str, typer.Option("--in", metavar="FILE", help="Requests; - is standard input.")] = _STANDARD,
    target: Annotated[
        str, typer.Option("--out", metavar="FILE", help="Compositions; - is standard output.")
    ] = _STANDARD,
    chunks: Annotated[
        Path | None, typer.Option("--chunks", metavar="FILE", help="JSONL of chunks that all lines share.", exists=True)
    ] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of a composition.")] = False,
    request_schema: Annotated[
        bool, typer.Option("--request-schema", help="Print the JSON Schema of a request.")
    ] = False,
    retrieval: RetrievalConfig,
    reranker: Reranker | None,
    trace: WithTrace = False,
    as_json: AsJson = False,
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
    composer = SpanComposer(retrieval, reranker=reranker)
    shared = {} if chunks is None else index_chunks(read_chunks(chunks))
    _check_files(source, target)
    failed = 0
    with (
        nullcontext(sys.stdin.buffer) if source == _STANDARD else open(source, "rb") as lines,
        _Output.open(target) as out,
        progress("composing") as show,
    ):
        for number, line in enumerate(split_lines(lines), start=1):
            if line is not None and not line.strip():
                continue
            answer = answer_line(line, number, composer, shared, trace=trace)
            written, is_answer = encode(answer, number)
            failed += "error" in answer or not is_answer
            out.write(written)
            show(number)
    if failed:
        lines_failed = "1 line" if failed == 1 else f"{failed:,} lines"
        note(f"{lines_failed} could not be composed: where a line's answer would be, its error says why")
        raise typer.Exit(SOME_FAILED)


def read_schema(name: str) -> str:
    """Return a JSON Schema that comes with the package."""
    return files("retrivex.composition.schemas").joinpath(f"{name}.json").read_text(encoding="utf-8")


def answer_line(
    line: bytes | None, number: int, composer: SpanComposer, shared: Mapping[ChunkKey, Chunk], *, trace: bool = False
) -> dict[str, Any]:
    """Return the composition of a line as plain JSON types, or its error.

    Parameters
    ----------
    line : as read; None where it was too long
    number : of the line, from 1
    composer : with the config of the command line
    shared : chunks that all lines share
    trace : whether the composition is written with its trace
    """
    request_id = None
    try:
        if line is None:
            raise RequestError(f"the line has over {MAX_LINE_BYTES:,} bytes: give shared chunks once with --chunks")
        record = parse_line(line)
        request_id = record.get("id")
        return {"id": request_id, **compose_record(record, composer, shared).to_dict(trace=trace)}
    except Exception as error:  # noqa: BLE001 - one bad line must not lose the others; it is handed back in its place
        return _error(request_id, error, number)


def _error(request_id: Any, error: Exception, number: int) -> dict[str, Any]:
    return {"id": request_id, "error": {"type": type(error).__name__, "message": describe(error), "line": number}}


def encode(answer: dict[str, Any], number: int) -> tuple[bytes, bool]:
    """Return an answer as one line of UTF-8 JSON and True; an error instead and False where JSON cannot hold it."""
    is_answer = True
    try:
        text = json.dumps(answer, ensure_ascii=False, allow_nan=False)
    except (ValueError, TypeError, RecursionError) as error:
        # NaN that came in with an id or with metadata
        problem = RequestError(f"the answer cannot be written as JSON: {error}")
        is_answer = False
        text = json.dumps(_error(_plain_id(answer.get("id")), problem, number))
    try:
        return text.encode("utf-8") + b"\n", is_answer
    except UnicodeEncodeError:
        # half a surrogate pair: only an escape can carry it
        return json.dumps(answer).encode("ascii") + b"\n", is_answer


def _plain_id(request_id: Any) -> Any:
    """Return an id that JSON can hold; None in place of any other."""
    try:
        json.dumps(request_id, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return None
    return request_id


def split_lines(stream: BinaryIO, limit: int = MAX_LINE_BYTES) -> Iterator[bytes | None]:
    """Yield the lines of a stream one by one; None for one of more than `limit` bytes."""
    while line := stream.readline(limit + 1):
        if len(line) <= limit:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = stream.readline(_SKIP_BYTES)
        yield None


def _check_files(source: str, target: str) -> None:
    if source != _STANDARD and not os.path.exists(source):
        raise typer.BadParameter(
            f"--in is {source!r}: it does not exist; name a file of requests, or - for standard input"
        )
    if target != _STANDARD and source != _STANDARD and os.path.realpath(source) == os.path.realpath(target):
        raise typer.BadParameter(f"--in and --out are both {source}: name another file for the compositions")
    if source == _STANDARD and sys.stdin.isatty():
        note("reading requests from the terminal, one JSON object a line; Ctrl-D ends")


@dataclass(slots=True)
class _Output:
    """Where answers go, line by line: a file holds whole lines alone, also on a disk that is full.

    Parameters
    ----------
    file : what is written
    name : of the file, for errors
    lines : written so far
    end : where they end; None where it cannot be cut off there, as a pipe
    """

    file: BinaryIO
    name: str
    lines: int = 0
    end: int | None = None

    @classmethod
    @contextmanager
    def open(cls, name: str) -> Iterator[Self]:
        """Open a file, or standard output."""
        if name == _STANDARD:
            yield cls(sys.stdout.buffer, "standard output")
            return
        # unbuffered, so that closing it has nothing left to write
        with open(name, "wb", buffering=0) as file:
            yield cls(cast(BinaryIO, file), name, end=0 if file.seekable() else None)

    def write(self, line: bytes) -> None:
        """Write a line, and hand it on: a program at the other end of a pipe may wait for it before it sends the next.

        Raises
        ------
        OSError
            With the file and the way out, if it cannot be written; the beginning of the line is taken back.
        """
        left = memoryview(line)
        try:
            while left:
                left = left[self.file.write(left) :]
            self.file.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            if self.end is not None:
                self.file.truncate(self.end)
            lines = "1 line is" if self.lines == 1 else f"{self.lines:,} lines are"
            said = f"{error.strerror}: {lines} written; make room and run again, or name another file"
            raise OSError(error.errno, said, self.name) from error
        self.lines += 1
        if self.end is not None:
            self.end += len(line)
