"""Reading in a process that can be ended: limits, crashes, threads, forks."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from retrivex.errors import LoadError
from retrivex.loading import load_documents, load_file, sandbox
from retrivex.loading.html import load_html
from retrivex.loading.limits import LoadLimits
from retrivex.loading.sandbox import read_in_worker

PAGE = "<title>Bees</title><h1>Sleep</h1><p>At night \U0001f41d.".encode()
LIMITS = LoadLimits()
# nested elements, which the parser reads in squared time, many times over: minutes
SLOW = ("<div>" * 900 + "x" + "</div>" * 900).encode() * 3000


def test_a_file_is_read_as_it_is_here() -> None:
    for raw in (PAGE, PAGE.decode().encode("utf-16"), b"<p>caf\xe9"):
        assert read_in_worker(raw, ".html", "a.html", "/x/a.html", LIMITS) == load_html(raw, "a.html", "/x/a.html")


def test_its_problem_is_told_as_here() -> None:
    with pytest.raises(LoadError, match=r"^no text is left without its scripts"):
        read_in_worker(b"<script>1</script>", ".html", "a", None, LIMITS)


def test_one_process_reads_file_after_file() -> None:
    sandbox.close()
    read_in_worker(PAGE, ".html", "a", None, LIMITS)
    (first,) = sandbox._idle.values()
    with pytest.raises(LoadError):
        read_in_worker(b"<p>", ".html", "a", None, LIMITS)
    read_in_worker(PAGE, ".html", "b", None, LIMITS)
    assert list(sandbox._idle.values()) == [first]


def test_a_file_that_takes_too_long_is_given_up_and_the_next_one_read(tmp_path: Path) -> None:
    slow = tmp_path / "slow.html"
    slow.write_bytes(SLOW)
    with pytest.raises(LoadError, match=r"slow\.html: reading it took longer than 0\.2 s, the limit for one file"):
        load_file(slow, limits=LoadLimits(timeout_s=0.2))
    assert read_in_worker(PAGE, ".html", "a", None, LIMITS).document.title == "Bees"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems do not keep the limit")
def test_a_file_that_needs_too_much_memory_is_refused() -> None:
    page = b"<p>bees sleep</p>" * 500_000
    with pytest.raises(LoadError, match="needs more than 16 MiB of memory; split it"):
        read_in_worker(page, ".html", "a", None, LoadLimits(memory_bytes=16 * 1024 * 1024))
    assert read_in_worker(PAGE, ".html", "a", None, LIMITS).document.title == "Bees"


def test_a_process_that_dies_costs_one_file() -> None:
    sandbox.close()
    read_in_worker(PAGE, ".html", "a", None, LIMITS)
    next(iter(sandbox._idle.values()))._process.kill()
    with pytest.raises(LoadError, match="the process that read it ended"):
        read_in_worker(PAGE, ".html", "a", None, LIMITS)
    assert read_in_worker(PAGE, ".html", "a", None, LIMITS).document.title == "Bees"


def test_threads_read_at_once() -> None:
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda n: read_in_worker(PAGE, ".html", str(n), None, LIMITS), range(9)))
    assert [loaded.document.doc_id for loaded in found] == [str(n) for n in range(9)]
    assert len(sandbox._idle) <= 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_reads_with_a_process_of_its_own() -> None:
    read_in_worker(PAGE, ".html", "a", None, LIMITS)
    forked = multiprocessing.get_context("fork").Process(target=read_in_worker, args=(PAGE, ".html", "a", None, LIMITS))
    forked.start()
    forked.join(120)
    assert forked.exitcode == 0
    assert read_in_worker(PAGE, ".html", "b", None, LIMITS).document.doc_id == "b"


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals")
def test_no_process_is_left_behind(tmp_path: Path) -> None:
    """The end of a program, even by kill -9, ends the process that waits for its files."""
    page = tmp_path / "a.html"
    page.write_bytes(PAGE)
    script = (
        "import sys; from retrivex.loading import load_file, sandbox; load_file(sys.argv[1]); "
        "print(*(one._process.pid for one in sandbox._idle.values()), flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, page], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        worker = int(program.stdout.readline())
        program.kill()
    ended = threading.Event()
    for _ in range(600):
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            return
        if Path(f"/proc/{worker}/stat").exists() and " Z " in Path(f"/proc/{worker}/stat").read_text():
            return  # nobody collects orphans here
        ended.wait(0.1)
    pytest.fail("the process is still there")


def test_a_script_without_a_main_guard_reads_folders(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_bytes(PAGE)
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nfrom retrivex.loading import load_documents\nprint(load_documents(sys.argv[1])[1])\n"
    )
    done = subprocess.run([sys.executable, script, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout.count("loaded=1") == 1
    assert not done.stderr


def test_a_frozen_program_reads_in_its_own_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(subprocess, "Popen", pytest.fail)
    sandbox.close()
    (tmp_path / "a.html").write_bytes(PAGE)
    assert load_documents(tmp_path)[0][0].title == "Bees"
