"""Reads files of complex formats in a process of its own, which is ended where it takes too long or too much memory."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import threading
from dataclasses import asdict
from typing import IO, Any

from retrivex.errors import LoadError
from retrivex.loading.limits import LoadLimits
from retrivex.loading.report import Loaded
from retrivex.model.document import Document

READY = b"ready"

# The search path is handed on: a program may have changed its own. -P keeps the current folder out until then.
_START = (
    "import sys; sys.path[:] = sys.argv[2:]; from importlib import import_module; import_module(sys.argv[1]).main()"
)
_READER = "retrivex.loading.worker"


def read_in_worker(raw: bytes, suffix: str, doc_id: str, source: str | None, limits: LoadLimits) -> Loaded:
    """Read the bytes of a file as `files.load_bytes` does, within limits.

    A process that has read a file reads the next one. Where Python cannot be started anew (a program frozen into one
    file), there is no such process, and the file is read here.

    Raises
    ------
    LoadError
        If it cannot be read, takes longer than `timeout_s`, needs more than `memory_bytes`, or ends its process.
    """
    answer = ask_worker(_READER, {"suffix": suffix, "doc_id": doc_id, "source": source}, raw, limits)
    return Loaded(document_of(answer["document"]), tuple(answer["notes"]))


def document_of(fields: dict[str, Any]) -> Document:
    """Return the document whose fields a process sent as JSON."""
    return Document(**{**fields, "page_starts": tuple(fields["page_starts"])})


def ask_worker(program: str, job: dict[str, Any], raw: bytes, limits: LoadLimits) -> dict[str, Any]:
    """Return what a process of its own makes of the bytes of a file.

    Parameters
    ----------
    program : module whose `main` calls `worker.serve`; a process of it is kept for the next file
    job : what it is to do, as JSON
    raw : the bytes
    limits : of time and memory

    Raises
    ------
    LoadError
        As `read_in_worker`.
    """
    worker = _take(program)
    try:
        answer = worker.ask({**job, **asdict(limits)}, raw, limits.timeout_s)
    except BaseException:
        worker.end()
        raise
    _give_back(worker)
    if "error" in answer:
        raise LoadError(answer["error"])
    return answer


def is_available() -> bool:
    """Whether Python can be started anew, so that a file can be read in another process."""
    return bool(sys.executable) and not getattr(sys, "frozen", False)


class _Worker:
    """A process that reads one file after the other."""

    def __init__(self, program: str) -> None:
        self.program = program
        try:
            # of a session of its own: Ctrl-C is for this process, which then ends the other one
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _START, program, *sys.path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise LoadError(f"no process to read it in could be started: {error.strerror or error}") from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._back = self._process.stdin, self._process.stdout
        if self._back.read(len(READY)) != READY:
            self.end()
            raise LoadError(f"the process to read it in did not start: see that {sys.executable} can import retrivex")

    def ask(self, job: dict[str, Any], raw: bytes, timeout_s: float) -> dict[str, Any]:
        late = threading.Event()

        def kill() -> None:
            late.set()
            self._process.kill()

        timer = threading.Timer(timeout_s, kill)
        timer.daemon = True
        timer.start()
        try:
            send(self._to, encode(job), raw)
            received = receive(self._back)
        except OSError:
            received = None
        except RecursionError:
            raise LoadError("it holds JSON that is nested too deeply to be read: flatten it") from None
        finally:
            timer.cancel()
        if received is not None:
            return received[0]
        if late.is_set():
            raise LoadError(f"reading it took longer than {timeout_s:g} s, the limit for one file; split it")
        code = self._process.wait()
        raise LoadError(f"the process that read it ended (exit code {code}): the file is broken; save it anew")

    def end(self) -> None:
        self._process.kill()
        for pipe in (self._to, self._back):
            with contextlib.suppress(OSError):  # what is left in a broken pipe
                pipe.close()
        self._process.wait()


# by the process that they belong to, which a fork may leave, and what they read with
_idle: dict[tuple[int, str], _Worker] = {}


def _take(program: str) -> _Worker:
    return _idle.pop((os.getpid(), program), None) or _Worker(program)


def _give_back(worker: _Worker) -> None:
    if _idle.setdefault((os.getpid(), worker.program), worker) is not worker:
        worker.end()


def close() -> None:
    """End the processes that wait for another file."""
    for owner, program in list(_idle):
        if owner == os.getpid() and (worker := _idle.pop((owner, program), None)):
            worker.end()


atexit.register(close)


def encode(record: dict[str, Any]) -> bytes:
    """Return a JSON object as it is sent: in one line."""
    return json.dumps(record).encode()


def send(stream: IO[bytes], head: bytes, raw: bytes = b"") -> None:
    """Write a JSON object that is encoded, and bytes."""
    stream.write(b"%d %b\n" % (len(raw), head))
    stream.write(raw)
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[dict[str, Any], bytes] | None:
    """Return what `send` wrote; None at the end of the stream."""
    size, _, head = stream.readline().partition(b" ")
    if not head.endswith(b"\n"):
        return None
    raw = stream.read(int(size))
    return (json.loads(head), raw) if len(raw) == int(size) else None
