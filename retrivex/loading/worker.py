"""The process that reads files for `retrivex.loading.sandbox`: one after the other, from standard input."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from retrivex.errors import LoadError
from retrivex.loading.files import load_bytes
from retrivex.loading.report import Loaded
from retrivex.loading.sandbox import READY, receive, send

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_GRACE_S = 5.0  # after which a process whose parent is gone ends itself


def main() -> None:
    """Read files until standard input ends."""
    inbox = sys.stdin.buffer
    outbox = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what a library prints is no answer
    outbox.write(READY)
    outbox.flush()
    while (received := receive(inbox)) is not None:
        send(outbox, _answer(*received))


def _answer(job: dict[str, Any], raw: bytes) -> dict[str, Any]:
    _limit_memory(job["memory_bytes"])
    _limit_time(job["timeout_s"] + _GRACE_S)
    try:
        loaded = load_bytes(raw, job["suffix"], job["doc_id"], job["source"])
    except LoadError as error:
        return {"error": str(error)}
    except MemoryError:
        return {"error": f"reading it needs more than {job['memory_bytes'] // 2**20:,} MiB of memory; split it"}
    except Exception as error:  # noqa: BLE001 - what a file makes a reader raise must not cost the files after it
        said = f"{type(error).__name__}: {str(error)[:200]}"
        return {"error": f"it cannot be read ({said}); open it and save it anew"}
    finally:
        _limit_time(0)
    return _as_dict(loaded)


def _as_dict(loaded: Loaded) -> dict[str, Any]:
    return {"document": asdict(loaded.document), "notes": loaded.notes}


def _limit_memory(more: int) -> None:
    """Allow the process `more` bytes than it holds now."""
    if resource is None:
        return
    pages = Path("/proc/self/statm")
    held = int(pages.read_text(encoding="ascii").split()[0]) * resource.getpagesize() if pages.exists() else 0
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    most = held + more if hard == resource.RLIM_INFINITY else min(held + more, hard)
    try:
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    except (OSError, ValueError):
        return  # macOS knows the limit and refuses to set it


def _limit_time(seconds: float) -> None:
    """End the process after so many seconds, should nobody else do it; 0 for no limit."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)
