"""The process that reads files for `retrivex.loading.sandbox`: one after the other, from standard input."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from retrivex.errors import LoadError, describe_cause
from retrivex.loading.files import load_bytes
from retrivex.loading.sandbox import READY, encode, receive, send

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_GRACE_S = 5.0  # after which a process whose parent is gone ends itself


def main() -> None:
    """Read files until standard input ends."""
    serve(_read)


def serve(answer: Callable[[dict[str, Any], bytes], dict[str, Any]]) -> None:
    """Answer until standard input ends, each time within the limits of the job.

    Parameters
    ----------
    answer : makes what is sent back, as JSON, of a job and the bytes of a file; may raise anything
    """
    inbox = sys.stdin.buffer
    outbox = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what a library prints is no answer
    outbox.write(READY)
    outbox.flush()
    while (received := receive(inbox)) is not None:
        send(outbox, _answer(answer, *received))


def _answer(answer: Callable[[dict[str, Any], bytes], dict[str, Any]], job: dict[str, Any], raw: bytes) -> bytes:
    # made before: where no memory is left, not even this can be, and Python 3.11 then tries without end
    too_much = encode({"error": f"reading it needs more than {job['memory_bytes'] // 2**20:,} MiB of memory; split it"})
    _limit_memory(job["memory_bytes"])
    _limit_time(job["timeout_s"] + _GRACE_S)
    try:
        return encode(answer(job, raw))
    except LoadError as error:
        return encode({"error": str(error)})
    except MemoryError as error:
        error.__traceback__ = error.__context__ = None  # which hold all that was made
        return too_much
    except Exception as error:  # noqa: BLE001 - what a file makes a reader raise must not cost the files after it
        said = describe_cause(error, 200)
        return encode({"error": f"it cannot be read ({said}); open it and save it anew"})
    finally:
        _limit_time(0)


def _read(job: dict[str, Any], raw: bytes) -> dict[str, Any]:
    loaded = load_bytes(raw, job["suffix"], job["doc_id"], job["source"])
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
