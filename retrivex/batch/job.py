"""A job: what is read, what is done with it, where its parts go. Every engine runs one and the same."""

from __future__ import annotations

import hashlib
import os
import pickle
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from retrivex.batch.folder import Done, OutputFolder, part_name
from retrivex.errors import BatchError
from retrivex.text.lines import describe_error

ROWS_PER_PART = 1_000
"""Requests of a part: what a killed worker loses at most, some seconds of work."""

MOST_TRIES = 4
"""Times that Ray and Spark make a part on this machine whose worker dies: more is not bad luck, but the part."""

MOST_SAID = 500
"""Characters of what an engine says that are kept: it quotes whole stacks."""


class Work(Protocol):
    """A function from a table to a table that can be sent to another process."""

    def __call__(self, table: pa.Table) -> pa.Table:
        """Return what the table becomes, with a column `error`."""

    def schema(self, given: pa.Schema) -> pa.Schema:
        """Return the schema of what a table of this schema becomes, or raise BatchError."""

    def describe(self) -> dict[str, Any]:
        """Return all that the result depends on, as plain JSON types without secrets."""


class OncePerProcess:
    """Work with things that each process makes once and that are not sent: its cached properties."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}  # type: ignore[attr-defined]


class Source(Protocol):
    """What a job reads, part by part; it can be sent to another process."""

    @property
    def parts(self) -> int:
        """How many parts there are, at least one."""

    def read(self, number: int) -> pa.Table:
        """Return a part, from 0."""

    def describe(self) -> dict[str, Any]:
        """Return what identifies the input, as plain JSON types."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A part that could not be made.

    Parameters
    ----------
    number : of the part
    kind : type of the error
    message : what it says
    """

    number: int
    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Summary:
    """The result of a job.

    Parameters
    ----------
    parts : of the whole output
    made : parts that this run made; the others were there
    rows, failed, warned : of the whole output: rows, those with an error, those with a warning
    seconds : that this run took
    """

    parts: int
    made: int
    rows: int
    failed: int
    warned: int
    seconds: float


OnPart: TypeAlias = Callable[[int, int], None]
"""Is given how many parts are done, and of how many."""


@dataclass(frozen=True)
class Job:
    """A job that any engine can run, at once or in several runs.

    Parameters
    ----------
    source : what is read
    work : what is done with each part
    folder : where the parts go
    """

    source: Source
    work: Work
    folder: OutputFolder

    @contextmanager
    def open(self) -> Iterator[list[int]]:
        """Make the output folder or go on with it; give the parts that are missing.

        Raises
        ------
        BatchError
            If the folder is another job's, see `OutputFolder.open`.
        """
        manifest = {"input": self.source.describe(), **self.work.describe()}
        with self.folder.open(manifest):
            yield [number for number in range(self.source.parts) if not self.folder.has(number)]

    def make_part(self, number: int) -> Done | Failed:
        """Make a part and write it, in whichever process."""
        try:
            return self.folder.write(number, self.work(self.source.read(number)))
        except Exception as error:  # noqa: BLE001 - it ends the job, in another process than this one
            return Failed(number, type(error).__name__, describe_error(error))

    def run(self, make: Callable[[list[int]], object]) -> Summary:
        """Make the missing parts by a function, which is given their numbers, and sum up all parts."""
        began = time.perf_counter()
        with self.open() as missing:
            if missing:
                make(missing)
            done = [self.folder.read_done(number) for number in range(self.source.parts)]
        rows, failed, warned = (sum(getattr(part, name) for part in done) for name in ("rows", "failed", "warned"))
        return Summary(len(done), len(missing), rows, failed, warned, time.perf_counter() - began)

    def give_up(self, error: Exception) -> BatchError:
        """Return the error of an engine that gave up on some part; of what it says, which may be stacks, the first."""
        first = next((number for number in range(self.source.parts) if not self.folder.has(number)), 0)
        return self.stop(Failed(first, type(error).__name__, describe_error(error)[:MOST_SAID]))

    def stop(self, failed: Failed) -> BatchError:
        """Return the error that ends a job."""
        total = self.source.parts
        kept = sum(self.folder.has(number) for number in range(total))
        return BatchError(
            f"{part_name(failed.number)}: {failed.kind}: {failed.message}; {kept} of {total} parts are done and stay "
            f"in {self.folder.path}: see to it, and run the same again to go on"
        )


def digest_file(path: str | os.PathLike[str]) -> str:
    """Return the digest of all that a file holds, read in blocks.

    It costs reading the file once more and 0.6 s of processor time per GB. Whatever is cheaper takes changed input for
    the same: sizes, times of change and Parquet's footer, with its least and largest values, may all stay as they were.
    """
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


REPORT_SCHEMA = pa.schema([("number", pa.int64()), ("kind", pa.string()), ("message", pa.string())])
"""How a part went, as Ray and Spark hand it back; `kind` and `message` are null where it was made."""


@lru_cache(maxsize=1)
def read_sent(pickled: bytes) -> Any:
    """Return a job or work that was sent to this process, the same each time: its composer is made once."""
    return pickle.loads(pickled)


def make_reported(pickled: bytes, numbers: Iterable[int]) -> pa.Table:
    """Make parts of a job that was sent here, and return a row for each, by `REPORT_SCHEMA`."""
    job: Job = read_sent(pickled)
    made = [job.make_part(number) for number in numbers]
    rows = [asdict(one) if isinstance(one, Failed) else {"number": one.number} for one in made]
    return pa.Table.from_pylist(rows, schema=REPORT_SCHEMA)


def check_workers(workers: int | None) -> None:
    """Refuse a number of workers that could not make anything."""
    if workers is not None and workers < 1:
        raise BatchError(f"workers is {workers}: it takes at least one")


def count_cores() -> int:
    """Return how many cores this process may use."""
    usable = getattr(os, "sched_getaffinity", None)  # not on every system
    return len(usable(0)) if usable is not None else os.cpu_count() or 1


# ---- Parquet


@dataclass(frozen=True)
class ParquetSource:
    """Rows of Parquet files, in parts of so many rows; a part never spans two files.

    Parameters
    ----------
    files : paths with their rows
    digests : of the files' content, in the same order
    rows_per_part : at least 1
    """

    files: tuple[tuple[str, int], ...]
    digests: tuple[str, ...]
    rows_per_part: int
    _reader: list[_Reader] = field(default_factory=list, compare=False, repr=False)

    @property
    def parts(self) -> int:
        """How many parts there are."""
        return max(1, sum(self._parts_of(rows) for _, rows in self.files))

    def describe(self) -> dict[str, Any]:
        """Return names, rows and digests of the files."""
        files = [
            {"name": Path(path).name, "rows": rows, "digest": digest}
            for (path, rows), digest in zip(self.files, self.digests, strict=True)
        ]
        return {"files": files, "rows_per_part": self.rows_per_part}

    def read(self, number: int) -> pa.Table:
        """Return the rows of a part; parts that are read in ascending order read each file once."""
        for path, rows in self.files:
            if number < self._parts_of(rows):
                return self._read(path, number)
            number -= self._parts_of(rows)
        path = self.files[0][0]
        with _naming(path):
            return pq.read_table(path)  # the only part of files without a row

    def _parts_of(self, rows: int) -> int:
        return -(-rows // self.rows_per_part)

    def _read(self, path: str, number: int) -> pa.Table:
        kept = self._reader.pop() if self._reader else None
        reader = kept if kept and kept.path == path and kept.at <= number else _Reader(path, self.rows_per_part)
        with _naming(path):
            made = reader.read(number)
        self._reader.append(reader)  # not one that has failed
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_reader": []}


@contextmanager
def _naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the file in an error of reading it: what Arrow says does not."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise BatchError(
            f"{path} cannot be read ({describe_error(error)}): it is no Parquet file or damaged, or was changed since "
            "the job began; write it anew"
        ) from error


class _Reader:
    """The parts of a Parquet file, one after the other, so that it is read once.

    Parameters
    ----------
    path : of the file
    rows : of a part
    """

    def __init__(self, path: str, rows: int) -> None:
        self.path = path
        self.at = 0
        self._tables = _split(path, rows)

    def read(self, number: int) -> pa.Table:
        """Return a part that was not read yet; those before it are passed over."""
        table = next(islice(self._tables, number - self.at, None), None)
        if table is None:
            raise BatchError(f"{self.path} has fewer rows than when the job began: write it anew")
        self.at = number + 1
        return table


def _split(path: str, rows: int) -> Iterator[pa.Table]:
    with pq.ParquetFile(path) as file:
        waiting = file.schema_arrow.empty_table()
        for batch in file.iter_batches(batch_size=rows):  # which may end with its row group
            waiting = pa.concat_tables([waiting, pa.Table.from_batches([batch])])
            while waiting.num_rows >= rows:
                yield waiting.slice(0, rows)
                waiting = waiting.slice(rows)
        yield waiting


def parquet_source(path: str | os.PathLike[str], work: Work, rows_per_part: int = ROWS_PER_PART) -> ParquetSource:
    """Return a Parquet file, or all of a folder, as the source of a job.

    Parameters
    ----------
    path : of a file, or of a folder whose `*.parquet` files are read in the order of their names
    work : what will be done with the rows: it says which columns they may have
    rows_per_part : rows of a part, at least 1

    Raises
    ------
    BatchError
        If there is no such file, it is not Parquet or a folder itself, or its rows are not what `work` takes.
    """
    if rows_per_part < 1:
        raise BatchError(f"rows_per_part is {rows_per_part}: a part has at least one row; {ROWS_PER_PART} are usual")
    found = sorted(Path(path).glob("*.parquet")) if os.path.isdir(path) else [Path(path)]
    found = [file for file in found if not file.name.startswith((".", "_"))]
    if not found:
        raise BatchError(f"{path} is a folder without *.parquet files: name a Parquet file, or a folder of them")
    opened = [_open_parquet(file) for file in found]
    if len({work.schema(schema) for schema, _, _ in opened}) > 1:
        raise BatchError(f"the files of {path} have ids of different types: give all files of one job the same")
    files = tuple((os.path.abspath(file), rows) for file, (_, rows, _) in zip(found, opened, strict=True))
    return ParquetSource(files, tuple(digest for _, _, digest in opened), rows_per_part)


def _open_parquet(path: Path) -> tuple[pa.Schema, int, str]:
    """Return the schema of a file, its rows, and its digest."""
    if not path.is_file():
        raise BatchError(f"{path} is no regular file: name a Parquet file, or a folder with such files right in it")
    with _naming(path), pq.ParquetFile(path) as file:
        return file.schema_arrow, file.metadata.num_rows, digest_file(path)
