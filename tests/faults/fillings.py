"""What writes until its disk is full: stores, indexes, batches and files of answers."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from faults.disks import PAGE, Filling, Tell, Walk, walk_up
from faults.kills import BatchWriter, IndexWriter
from stores.sqlite.kill_ingest import documents, vectors_of
from support.early_files import with_vectors_inside
from support.whole_stores import assert_documents_are_whole, contents
from typer.testing import CliRunner

from retrivex.batch import StoreAddress, open_writer, write_parts
from retrivex.batch.folder import Done, part_name
from retrivex.cli import app
from retrivex.errors import StoreError
from retrivex.model.chunk import Chunk
from retrivex.model.document import Document
from retrivex.retrieval import indexing
from retrivex.stores import SQLiteStore

SHARED_BYTES = 8 * PAGE
"""Of the file that processes share beside a database: below it, none is opened."""
_REQUESTS = 12
_DIMENSION = 256


class _Silent:
    """Takes no notice."""

    def begun(self) -> None: ...

    def kept(self, *names: str) -> None: ...

    def room(self) -> None: ...


def schema_bytes() -> int:
    """Return the size of a store without documents."""
    with tempfile.TemporaryDirectory() as folder:
        SQLiteStore(Path(folder) / "store.db").close()
        return (Path(folder) / "store.db").stat().st_size


@contextmanager
def opened(path: Path) -> Iterator[SQLiteStore | None]:
    """Open a store that is whole; None where there is no file, nor anything that was to lie beside it."""
    if not path.exists():
        assert list(path.parent.glob(f"{path.name}*")) == [], "files are left beside a store that is not there"
        yield None
        return
    with SQLiteStore(path) as store:
        assert store.check() == []
        yield store


def _texts(store: SQLiteStore) -> dict[str, Any]:
    found = {info.doc_id: store.get_document(info.doc_id, {None, "acme"}) for info in store.documents()}
    return {doc_id: document and document.text for doc_id, document in found.items()}


class StoreFilling:
    """Documents with vectors, put one by one or in batches; others deleted.

    Parameters
    ----------
    before : version that is there; None for no file
    version : that is written; odd ones in batches
    early : whether the file is one of version 0.2.0, which is brought up to date
    """

    def __init__(self, before: int | None, version: int, *, early: bool = False) -> None:
        how = "in batches" if version % 2 else "one by one"
        kept = "an early file" if early else "a file" if before is not None else "nothing"
        self.name, self.strict = f"store, {how}, over {kept}", not version % 2
        self.first = schema_bytes() if before is None else SHARED_BYTES
        self._before, self._version, self._early = before, version, early

    def prepare(self, folder: Path) -> None:
        if self._before is not None:
            with SQLiteStore(folder / "store.db") as store:
                self._bring(store, self._before, _Silent(), [])
        if self._early:
            with_vectors_inside(folder / "store.db")

    def write(self, folder: Path, tell: Tell) -> None:
        last: list[tuple[Document, list[Chunk]]] = []
        with SQLiteStore(folder / "store.db") as store:
            try:
                self._bring(store, self._version, tell, last)
            except StoreError:
                tell.room()
                # who keeps a store open goes on with it once there is room
                for document, chunks in last[-1:]:
                    _put(store, document, chunks)
                    tell.kept(document.doc_id)
                raise

    def _bring(self, store: SQLiteStore, version: int, tell: Tell, last: list[tuple[Document, list[Chunk]]]) -> None:
        names = []
        with store.batch(40) if version % 2 else nullcontext():
            for document, chunks in documents(version):
                tell.begun()
                last.append((document, chunks))
                _put(store, document, chunks)
                names.append(document.doc_id)
                if not version % 2:
                    tell.kept(document.doc_id)
        tell.kept(*names)
        tell.kept(*store.delete_missing(names))

    def read(self, folder: Path) -> dict[str, Any]:
        with opened(folder / "store.db") as store:
            if store is None:
                return {}
            assert_documents_are_whole(store)
            return _texts(store)

    def whole(self, folder: Path) -> Any:
        with SQLiteStore(folder / "store.db") as store:
            return contents(store)


def _put(store: SQLiteStore, document: Document, chunks: list[Chunk]) -> None:
    vectors = vectors_of(document, len(chunks), _DIMENSION)
    store.put(document, chunks, {f"{document.doc_id}#all": document.text}, vectors, encoder="random")


class IndexFilling:
    """`Indexer.index` over a folder, committed every few chunks.

    Parameters
    ----------
    before : version of the folder that is indexed already; None for no file
    """

    strict = False

    def __init__(self, before: int | None) -> None:
        self.name = "index" if before is None else "index, over a file"
        self.first = schema_bytes() if before is None else SHARED_BYTES
        self._before, self._writer = before, IndexWriter()

    def prepare(self, folder: Path) -> None:
        if self._before is not None:
            self._writer.prepare(folder, self._before)
            self._writer.write(folder, self._before)
        self._writer.prepare(folder, 1)

    def write(self, folder: Path, tell: Tell) -> None:
        indexing._BATCH_CHUNKS = 4
        seen = set()

        def begin(path: str, done: int, of: int) -> None:
            if path and path not in seen:
                seen.add(path)
                tell.begun()

        with SQLiteStore(folder / "store.db") as store:
            indexer = indexing.Indexer(store, self._writer.chunker, self._writer.tokenizer)
            indexer.index([folder / "pages"], on_progress=begin)

    def read(self, folder: Path) -> dict[str, Any]:
        with opened(folder / "store.db") as store:
            return {} if store is None else _texts(store)

    def whole(self, folder: Path) -> Any:
        with SQLiteStore(folder / "store.db") as store:
            return [(hit.key, hit.similarity_score) for hit in store.search_text("Page state0", 1000)]


class BatchFilling:
    """A batch: requests to compositions, and files to chunks that are written into a store."""

    name, strict = "batch", True
    first = 256  # of a part's file, which is there whole or not at all

    def __init__(self) -> None:
        self._writer = BatchWriter()

    def prepare(self, folder: Path) -> None:
        self._writer._jobs(folder)

    def write(self, folder: Path, tell: Tell) -> None:
        jobs = self._writer._jobs(folder)
        for job in jobs:
            with job.open() as missing:
                for number in missing:
                    tell.begun()
                    made = job.make_part(number)
                    if not isinstance(made, Done):
                        raise job.stop(made)
                    tell.kept(f"{job.folder.path.name} {number}")
        chunks = jobs[1]
        writer = open_writer(StoreAddress("sqlite", str(folder / self._writer.address)))

        def keep(parts: int, of: int) -> None:
            tell.kept(*chunks.folder.read(parts - 1).column("doc_id").to_pylist())
            tell.begun()

        try:
            write_parts(chunks.folder, chunks.source.parts, writer, keep)
        finally:
            writer.close()

    def read(self, folder: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for job in self._writer._jobs(folder):
            for number in range(job.source.parts):
                if job.folder.has(number):
                    table = pq.read_table(job.folder.path / part_name(number))
                    # these are of the folder
                    kept = [name for name in table.column_names if name not in ("source", "content_hash")]
                    found[f"{job.folder.path.name} {number}"] = table.select(kept).to_pylist()
        with opened(folder / self._writer.address) as store:
            return found if store is None else found | _texts(store)

    def whole(self, folder: Path) -> Any:
        # what killed and failed workers leave is removed by the next
        return sorted(path.name for path in folder.glob("*/*"))


class ComposeFilling:
    """`retrivex compose`, whose output has a line for each request: whole ones, as many as it says."""

    name, first, strict = "compose", 256, True

    def prepare(self, folder: Path) -> None:
        chunks = [{"doc_id": "bees", "chunk_id": at, "text": f"Bees sleep {at} hours. " * 20} for at in range(9)]
        hit = {"doc_id": "bees", "chunk_id": 4, "score": 0.8}
        request = {"question": "How long do bees sleep?", "hits": [hit], "chunks": chunks}
        lines = [json.dumps({"id": number, **request}) for number in range(_REQUESTS)]
        (folder / "in.jsonl").write_text("\n".join(lines))

    def write(self, folder: Path, tell: Tell) -> None:
        files = ["--in", str(folder / "in.jsonl"), "--out", str(folder / "out.jsonl")]
        done = CliRunner().invoke(app, ["compose", *files, "--set", "tokenizer=estimate"])
        if done.exit_code:
            assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
            said = re.search(r"(\d+) lines? (?:is|are) written", done.stderr)
            self._tell(int(said[1]) if said else 0, tell)
            tell.begun()
            raise OSError(done.stderr.strip())
        self._tell(_REQUESTS, tell)

    def _tell(self, lines: int, tell: Tell) -> None:
        for number in range(lines):
            tell.begun()
            tell.kept(str(number))

    def read(self, folder: Path) -> dict[str, Any]:
        path = folder / "out.jsonl"
        if not path.exists():
            return {}
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return {str(at): {**line, "timings": None} for at, line in enumerate(lines)}

    def whole(self, folder: Path) -> Any:
        return len(self.read(folder))


def fillings() -> list[Filling]:
    """Return everything that writes."""
    return [
        StoreFilling(None, 2),
        StoreFilling(None, 1),
        StoreFilling(2, 3),
        StoreFilling(3, 4),
        StoreFilling(3, 4, early=True),
        IndexFilling(None),
        IndexFilling(0),
        BatchFilling(),
        ComposeFilling(),
    ]


def fill_all(sample: int | None = None) -> tuple[dict[str, Walk], list[str]]:
    """Let everything that writes meet its limits; return the walks by name, and what went wrong.

    Parameters
    ----------
    sample : so many sizes of each alone, as in `walk_up`
    """
    walks, violations = {}, []
    for filling in fillings():
        with tempfile.TemporaryDirectory(prefix="retrivex-faults-") as folder:
            walks[filling.name], found = walk_up(filling, Path(folder) / "disks", sample)
        violations += found
        print(f"  {filling.name}: a write failed at {walks[filling.name].sizes:,} sizes", flush=True)
    return walks, violations
