"""Processes killed while they write: what they leave is whole, and the next run brings the rest.

Each kill is of a child that was forked from a process which has imported everything, so that it takes milliseconds.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

import pyarrow.parquet as pq
from stores.sqlite.kill_ingest import ingest, write_beside
from support.batch_world import CONFIG, MadeStore, make_table, write_requests
from support.early_files import with_vectors_inside
from support.whole_stores import assert_documents_are_whole, contents

from retrivex.batch import (
    ChunkWork,
    ComposeWork,
    FilesWork,
    Job,
    OutputFolder,
    StoreAddress,
    file_source,
    local,
    open_writer,
    parquet_source,
    write_parts,
)
from retrivex.batch.folder import Done, part_name
from retrivex.chunking import get_chunker
from retrivex.loading import LoadReport
from retrivex.retrieval.indexing import Indexer
from retrivex.stores import SQLiteStore
from retrivex.tokens.tokenizer import get_tokenizer

ENTRIES = 40
LEFT_S = 60.0
"""Seconds that workers may take to see that the process that started them is gone: they finish the part they are at."""


class Writer(Protocol):
    """What is killed while it writes, and what must hold afterwards."""

    def prepare(self, folder: Path, version: int) -> None:
        """Lay out what is read, in the parent: a half-written file would be no fault of the writer."""

    def write(self, folder: Path, version: int) -> None:
        """Bring what is in `folder` to a version; runs in the child."""

    def check(self, folder: Path) -> None:
        """Check that what a killed child left is whole."""

    def finish(self, folder: Path, undisturbed: Path, version: int) -> None:
        """Check that one more run brings what a run without a kill would have."""


class StoreWriter:
    """`put` and `delete_missing` of a store with vectors, and bringing an early database up to date."""

    def prepare(self, folder: Path, version: int) -> None:
        if version % 3 == 2 and (folder / "store.db").exists():
            with_vectors_inside(folder / "store.db")

    def write(self, folder: Path, version: int) -> None:
        ingest(folder / "store.db", version)

    def check(self, folder: Path) -> None:
        with SQLiteStore(folder / "store.db") as store:
            assert store.check() == []
            assert_documents_are_whole(store)

    def finish(self, folder: Path, undisturbed: Path, version: int) -> None:
        for place in (folder, undisturbed):
            ingest(place / "store.db", version)
        with SQLiteStore(folder / "store.db") as killed, SQLiteStore(undisturbed / "store.db") as other:
            assert contents(killed) == contents(other)


class BesideWriter(StoreWriter):
    """A store that another process writes at the same time.

    That one is never killed, and ends before what the killed one left is looked at.
    """

    def __init__(self) -> None:
        self.other = 0

    def prepare(self, folder: Path, version: int) -> None:
        """Start the other process."""
        SQLiteStore(folder / "store.db").close()  # two processes that create a file at once are another matter
        self.other = start_child(lambda: write_beside(folder / "store.db", folder / "stop"))

    def write(self, folder: Path, version: int) -> None:
        ingest(
            folder / "store.db", 2 * version
        )  # every second version is written in batches, which hold the write lock

    def check(self, folder: Path) -> None:
        (folder / "stop").touch()
        _, status = os.waitpid(self.other, 0)
        (folder / "stop").unlink()
        assert status == 0, "the process beside the killed one failed"
        super().check(folder)

    def finish(self, folder: Path, undisturbed: Path, version: int) -> None:
        super().finish(folder, undisturbed, 2 * version)  # this deletes what the other process wrote


class IndexWriter:
    """`Indexer.index` over a folder whose files change, vanish and come back."""

    def __init__(self) -> None:
        self.tokenizer = get_tokenizer("estimate")
        self.chunker = get_chunker("token", size=20, tokenizer=self.tokenizer)

    def _texts(self, version: int) -> dict[str, str]:
        return {
            f"page{number}.txt": f"Page {number} of state{version if number % 3 else 0}. " * (5 + number)
            for number in range(10)
            if (number + version) % 4
        }

    def _lay_out(self, folder: Path, version: int) -> Path:
        pages = folder / "pages"
        pages.mkdir(exist_ok=True)
        texts = self._texts(version)
        for path in pages.iterdir():
            if path.name not in texts:
                path.unlink()
        for name, text in texts.items():
            (pages / name).write_text(text)
        return pages

    def write(self, folder: Path, version: int) -> None:
        with SQLiteStore(folder / "store.db") as store:
            Indexer(store, self.chunker, self.tokenizer).index([folder / "pages"])

    def prepare(self, folder: Path, version: int) -> None:
        """Change the files that are indexed."""
        self._lay_out(folder, version)

    def check(self, folder: Path) -> None:
        with SQLiteStore(folder / "store.db") as store:
            assert store.check() == []
            for info in store.documents():
                document = store.get_document(info.doc_id)
                assert document is not None
                states = {word for word in document.text.split() if word.startswith("state")}
                number = int(info.doc_id.removeprefix("page").removesuffix(".txt"))
                assert len(states) == 1
                assert document.text.count("Page ") == 5 + number

    def finish(self, folder: Path, undisturbed: Path, version: int) -> None:
        for place in (folder, undisturbed):
            self._lay_out(place, version)
            self.write(place, version)
        shown = []
        for place in (folder, undisturbed):
            with SQLiteStore(place / "store.db") as store:
                documents = sorted(info.doc_id for info in store.documents())
                hits = store.search_text("Page state0", 1000)
                texts = [store.get_document(doc_id) for doc_id in documents]
                shown.append(
                    (documents, [t and t.text for t in texts], [(hit.key, hit.similarity_score) for hit in hits])
                )
        assert shown[0] == shown[1]


class BatchWriter:
    """Jobs of a batch in one process: requests to compositions, and files to chunks that are written into a store."""

    def __init__(self) -> None:
        self.address = "store.db"
        self.chunks = FilesWork(ChunkWork("token", 20, tokenizer="estimate"))
        self.composing = ComposeWork(CONFIG, MadeStore)
        self.composing(make_table(1))  # what a child would import before it does anything

    def _jobs(self, folder: Path) -> tuple[Job, Job]:
        requests, pages = folder / "requests.parquet", folder / "pages"
        if not requests.exists():
            write_requests(requests, 30)
            pages.mkdir()
            for number in range(12):
                (pages / f"page{number}.txt").write_text(f"Page {number} tells of bees. " * (3 + number))
        files = file_source([pages], LoadReport(), files_per_part=2)
        composing = Job(parquet_source(requests, self.composing, 5), self.composing, OutputFolder(folder / "contexts"))
        return composing, Job(files, self.chunks, OutputFolder(folder / "chunks"))

    def prepare(self, folder: Path, version: int) -> None:
        """Nothing: requests and documents are the same for each version."""

    def write(self, folder: Path, version: int) -> None:
        jobs = self._jobs(folder)
        for job in jobs:
            if all(map(job.folder.has, range(job.source.parts))):  # by an earlier version: begin anew
                for path in [*job.folder.path.glob("part-*"), *job.folder.path.glob("_written-*")]:
                    path.unlink()
            self._run(job)
        writer = open_writer(StoreAddress("sqlite", str(folder / self.address)))
        write_parts(jobs[1].folder, jobs[1].source.parts, writer)
        writer.close()

    def _run(self, job: Job) -> None:
        with job.open() as missing:
            for number in missing:
                made = job.make_part(number)
                assert isinstance(made, Done), made

    def check(self, folder: Path) -> None:
        for job in self._jobs(folder):
            for number in range(job.source.parts):
                if job.folder.has(number):
                    made = pq.read_table(job.folder.path / part_name(number))
                    assert made.equals(job.work(job.source.read(number)))
        with SQLiteStore(folder / self.address) as store:
            assert store.check() == []
            for info in store.documents():
                document = store.get_document(info.doc_id)
                number = int(info.doc_id.removeprefix("page").removesuffix(".txt"))
                assert document is not None
                assert document.text.count("Page ") == 3 + number

    def finish(self, folder: Path, undisturbed: Path, version: int) -> None:
        for place in (folder, undisturbed):
            self.write(place, version)
        for name in ("contexts", "chunks"):
            tables = [pq.read_table(place / name) for place in (folder, undisturbed)]
            kept = [
                column for column in tables[0].column_names if column not in ("source", "content_hash")
            ]  # of the folder
            assert tables[0].select(kept).equals(tables[1].select(kept))
            assert not list((folder / name).glob(".part*"))
        with SQLiteStore(folder / self.address) as killed, SQLiteStore(undisturbed / self.address) as other:
            found = [sorted((i.doc_id, i.chunk_count) for i in store.documents()) for store in (killed, other)]
        assert found[0] == found[1]
        assert len(found[0]) == 12


class PoolWriter(BatchWriter):
    """The same jobs on the local engine, whose workers are processes of their own."""

    def _run(self, job: Job) -> None:
        local.run(job, workers=2)


WRITERS: dict[str, Callable[[], Writer]] = {
    "store": StoreWriter,
    "beside": BesideWriter,
    "index": IndexWriter,
    "batch": BatchWriter,
    "pool": PoolWriter,
}


@dataclass
class Kills:
    """What killing one writer again and again came to; `alone`: how often its first process was, and no worker."""

    killed: int = 0
    alone: int = 0
    finished: int = 0
    violations: list[str] = field(default_factory=list)


def start_child(work: Callable[[], None]) -> int:
    """Run work in a child; return its number."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException as error:  # noqa: BLE001 - the exit code tells the parent, whatever it was
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
            os._exit(1)
    return child


def run_child(work: Callable[[], None], delay: float | None, *, alone: bool = False) -> tuple[str, float]:
    """Run work in a child with a session of its own, and kill it after a delay, with all that it started or `alone`.

    Returns
    -------
    str, float
        How it ended, and after how many seconds.
    """

    def lead() -> None:
        os.setsid()
        work()

    began = time.perf_counter()
    child = start_child(lead)
    status = None
    while delay is not None and status is None and (left := began + delay - time.perf_counter()) > 0:
        time.sleep(min(left, 0.002))
        done, found = os.waitpid(child, os.WNOHANG)
        status = found if done else None
    if status is None:
        if delay is not None:  # the child has not been reaped yet, so its number is still its own
            try:
                (os.kill if alone else os.killpg)(child, signal.SIGKILL)
            except ProcessLookupError:  # it does not lead a session yet
                os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    ended = "killed" if os.WIFSIGNALED(status) else "finished" if status == 0 else "failed"
    seconds = time.perf_counter() - began
    until = time.monotonic() + LEFT_S
    while left := processes_of(child):
        assert time.monotonic() < until, f"{len(left)} processes are left over of one that was {ended}"
        time.sleep(0.01)
    return ended, seconds


def processes_of(session: int) -> list[int]:
    """Return the processes of a session that live; on Linux."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, of, *_ = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except (OSError, ValueError):  # it ended meanwhile
            continue
        if state not in "ZX" and int(of) == session:
            found.append(int(path.parent.name))
    return found


def kill(name: str, kills: int, seed: int, folder: Path) -> Kills:
    """Kill a writer so many times at random moments; check what it leaves each time, and at the end."""
    rng, made, writer = random.Random(f"{name}:{seed}"), Kills(), WRITERS[name]()
    disturbed, undisturbed = folder / "killed", folder / "undisturbed"
    for place in (disturbed, undisturbed):
        place.mkdir()
    longest, version = 0.0, 0
    while made.killed < kills and made.finished + made.killed < 20 * kills + 3 and not made.violations:
        writer.prepare(disturbed, version)
        # the first ones are only timed
        delay = None if version < 3 else rng.uniform(0.0, longest)
        alone = version % 2 == 1
        write = partial(writer.write, disturbed, version)
        try:
            ended, seconds = run_child(write, delay, alone=alone)
        except AssertionError as error:  # something is left over
            made.violations.append(f"{name}, seed {seed}, version {version}: {error}")
            return made
        # a machine that has less to do, or more, takes another time
        longest = 1.05 * longest if ended == "killed" else max(longest, seconds) if delay is None else seconds
        made.killed += ended == "killed"
        made.alone += alone and ended == "killed"
        made.finished += ended == "finished"
        try:
            assert ended != "failed", f"version {version} failed"
            writer.check(disturbed)
        except Exception as error:  # noqa: BLE001 - whatever a broken file makes a store raise
            made.violations.append(f"{name}, seed {seed}, version {version}: {type(error).__name__}: {error}"[:300])
        version += 1
    try:
        if not made.violations:
            writer.finish(disturbed, undisturbed, version)
    except Exception as error:  # noqa: BLE001 - as above
        made.violations.append(f"{name}, seed {seed}, after all: {type(error).__name__}: {error}"[:300])
    return made
