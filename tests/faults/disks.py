"""Disks that are full: a store, an index and a cache whose files may grow to this size and no further.

The limit is that of the process (`RLIMIT_FSIZE`), set in a forked child; it moves up page by page, so that every write
fails once.
"""

from __future__ import annotations

import json
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path

from faults.kills import CacheWriter, IndexWriter, StoreWriter, Writer, run_child
from typer.testing import CliRunner

from retrivex.cli import app
from retrivex.errors import RetrivexError
from retrivex.model.window import Window
from retrivex.stores import InMemoryChunkStore
from retrivex.stores.cache.sqlite import SQLiteCache
from retrivex.stores.cache.store import CachedChunkStore

PAGE = 4096


def limited(work: Callable[[], None], size: int) -> Callable[[], None]:
    """Return work in a process whose files may have so many bytes; it may fail, with an error of ours."""

    def run() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        try:
            work()
        except (RetrivexError, OSError):
            os._exit(0)

    return run


def fill(writer: Writer, folder: Path, steps: int) -> list[str]:
    """Let a writer meet its limit at so many sizes; return what went wrong."""
    folder.mkdir()
    writer.prepare(folder, 0)
    violations = []
    for step in range(steps):
        size = step * PAGE + (step * 997) % PAGE  # within pages, too
        writer.prepare(folder, step)
        ended, _ = run_child(limited(lambda: writer.write(folder, step), size), None)  # noqa: B023 - called at once
        try:
            assert ended == "finished", f"it {ended}"
            writer.check(folder)
        except Exception as error:  # noqa: BLE001 - whatever a broken file makes a store raise
            violations.append(f"{type(writer).__name__} at {size:,} bytes: {type(error).__name__}: {error}"[:300])
    try:
        undisturbed = folder.with_name(f"{folder.name}-undisturbed")
        undisturbed.mkdir()
        writer.finish(folder, undisturbed, steps)
    except Exception as error:  # noqa: BLE001 - as above
        violations.append(f"{type(writer).__name__}, with room again: {type(error).__name__}: {error}"[:300])
    return violations


def _compose_into(folder: Path, size: int) -> Callable[[], None]:
    chunks = [{"doc_id": "bees", "chunk_id": at, "text": f"Bees sleep {at} hours. " * 20} for at in range(9)]
    hit = {"doc_id": "bees", "chunk_id": 4, "score": 0.8}
    line = json.dumps({"id": 1, "question": "How long do bees sleep?", "hits": [hit], "chunks": chunks})
    (folder / "in.jsonl").write_text("\n".join([line] * 9))
    arguments = [
        "compose",
        "--in",
        str(folder / "in.jsonl"),
        "--out",
        str(folder / "out.jsonl"),
        "--set",
        "tokenizer=estimate",
    ]

    def run() -> None:
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code in (0, 1, 3), done.exit_code
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception

    return limited(run, size)


def fill_output(folder: Path, steps: int) -> list[str]:
    """Let `retrivex compose` meet the end of the disk at so many sizes of its output."""
    folder.mkdir()
    violations = []
    for step in range(steps):
        ended, _ = run_child(_compose_into(folder, step * 700), None)
        if ended != "finished":
            violations.append(f"retrivex compose at {step * 700:,} bytes {ended}")
    return violations


def fill_cached(folder: Path, steps: int) -> list[str]:
    """Let the cache around a store meet the end of the disk: the store's answers stay right."""
    folder.mkdir()
    chunks = [CacheWriter._entry(0, at)[0] for at in range(40)]
    windows = [Window("cached", 0, 40)]

    def fetch() -> None:
        with SQLiteCache(folder / "cache.db") as cache:
            found = CachedChunkStore(InMemoryChunkStore(chunks), cache, name="inner").fetch(windows)
        assert [chunk.text for chunk in found] == [chunk.text for chunk in chunks]

    violations = []
    for step in range(steps):
        ended, _ = run_child(limited(fetch, step * PAGE // 2), None)
        if ended != "finished":
            violations.append(f"cached store at {step * PAGE // 2:,} bytes {ended}")
    return violations


def fill_all(folder: Path, steps: int) -> tuple[int, list[str]]:
    """Meet every limit; return how many there were, and what went wrong."""
    violations = []
    for writer in (StoreWriter(), IndexWriter(), CacheWriter()):
        violations += fill(writer, folder / type(writer).__name__, steps)
    violations += fill_output(folder / "compose", min(steps, 20))
    violations += fill_cached(folder / "cached", min(steps, 40))
    return 3 * steps + min(steps, 20) + min(steps, 40), violations
