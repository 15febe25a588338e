from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.batch_world import FailingStore, KillsItself, Slow, compose_loop, make_job, make_rows

from retrivex.batch import local, record_of
from retrivex.errors import BatchError

ROOT = Path(__file__).parents[2]


def composed(folder: Path) -> list[str]:
    return [json.dumps(record_of(row)) for row in pq.read_table(folder / "out").to_pylist()]


def test_processes_give_what_a_loop_gives_and_say_how_far_they_are(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    made = local.run(make_job(tmp_path, 35), workers=2, on_part=lambda done, total: told.append((done, total)))
    assert composed(tmp_path) == compose_loop(make_rows(35))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert (made.parts, made.made, made.rows, made.failed) == (4, 4, 35, 0)


def test_a_run_that_is_done_does_nothing_and_one_that_lacks_a_part_makes_it(tmp_path: Path) -> None:
    local.run(make_job(tmp_path, 25), workers=1)
    out = tmp_path / "out"
    before = {name: (out / name).read_bytes() for name in os.listdir(out)}
    assert local.run(make_job(tmp_path, 25), workers=1).made == 0
    (out / "part-00001.parquet").unlink()
    again = local.run(make_job(tmp_path, 25), workers=1)
    assert (again.made, again.rows) == (1, 25)
    assert {name: (out / name).read_bytes() for name in os.listdir(out)} == before


def test_a_worker_that_is_killed_ends_the_job_and_the_next_run_brings_the_rest(tmp_path: Path) -> None:
    (tmp_path / "kills").mkdir()
    job = make_job(tmp_path, 35, open_store=KillsItself(str(tmp_path / "kills"), 1))
    with pytest.raises(BatchError, match=r"a worker died: see whether memory is short.*run the same again to go on"):
        local.run(job, workers=1)
    assert local.run(job, workers=2).rows == 35
    assert composed(tmp_path) == compose_loop(make_rows(35))
    assert not list((tmp_path / "out").glob(".part*"))


def test_a_store_that_is_gone_ends_the_job_which_goes_on_when_it_is_back(tmp_path: Path) -> None:
    with pytest.raises(BatchError, match=r"StoreError: the store failed.*run the same again"):
        local.run(make_job(tmp_path, 8, open_store=FailingStore), workers=1)
    assert not list((tmp_path / "out").glob("part*"))


def test_no_worker_is_no_job(tmp_path: Path) -> None:
    with pytest.raises(BatchError, match="workers is 0"):
        local.run(make_job(tmp_path, 8), workers=0)


def run_script(folder: Path, script: str) -> str:
    (folder / "run.py").write_text(script)
    paths = [str(ROOT), str(ROOT / "tests"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OPENBLAS_NUM_THREADS": "1"}
    said = [sys.executable, folder / "run.py", folder]
    ended = subprocess.run(said, capture_output=True, text=True, env=environment, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


@pytest.mark.integration
def test_jobs_whose_processes_are_killed_leave_no_worker_and_lose_nothing(tmp_path: Path) -> None:
    # all at once, or the first one alone: the harness waits for the workers to end, and says what is left over
    script = (
        "import sys; from pathlib import Path; from faults.kills import kill\n"
        "if __name__ == '__main__':\n"
        "    made = kill('pool', 4, 1, Path(sys.argv[1])); print(made.killed, *made.violations)\n"
    )
    assert run_script(tmp_path, script) == "4"


def test_what_outlives_a_killed_process_is_found(tmp_path: Path) -> None:
    script = (
        "import subprocess, time; from faults import kills\n"
        "def work(): subprocess.Popen(['sleep', '3']); time.sleep(10)\n"
        "kills.LEFT_S = 0.2\n"
        "print(kills.run_child(work, 0.7)[0])\n"
        "try: kills.run_child(work, 0.7, alone=True)\n"
        "except AssertionError as error: print(error)\n"
    )
    assert run_script(tmp_path, script).split("\n") == ["killed", "1 processes are left over of one that was killed"]


@pytest.mark.integration
def test_a_job_that_is_killed_leaves_whole_parts_and_goes_on(tmp_path: Path) -> None:
    make_job(tmp_path, 60)
    script = (
        "import sys; from pathlib import Path\n"
        "from support.batch_world import Slow, make_job\n"
        "from retrivex.batch import local\n"
        "if __name__ == '__main__':\n"
        "    local.run(make_job(Path(sys.argv[1]), 60, open_store=Slow(0.2)), workers=2)\n"
    )
    (tmp_path / "run.py").write_text(script)
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"}
    process = subprocess.Popen([sys.executable, tmp_path / "run.py", tmp_path], env=environment, start_new_session=True)
    out = tmp_path / "out"
    until = time.monotonic() + 60
    while not list(out.glob("part*")) and time.monotonic() < until:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    whole = sorted(out.glob("part*"))
    assert whole
    assert all(pq.read_metadata(part).num_rows for part in whole)
    made = local.run(make_job(tmp_path, 60, open_store=Slow(0.2)), workers=2)
    assert made.made == made.parts - len(whole)
    assert composed(tmp_path) == compose_loop(make_rows(60))
