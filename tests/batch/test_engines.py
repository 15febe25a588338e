"""Ray and Spark: the same bytes as the local engine and as a loop, also where workers are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.batch_world import (
    CONFIG,
    FailingStore,
    KillsItself,
    MadeStore,
    Slow,
    compose_loop,
    make_job,
    make_rows,
    make_table,
)
from support.worker_kills import find_below, find_workers, killing

from retrivex.batch import ComposeWork, Job, local, record_of
from retrivex.batch.folder import Done
from retrivex.batch.job import MOST_TRIES
from retrivex.errors import BatchError

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
ENGINES = ("local", "ray", "spark")
OTHERS = ("ray", "spark")


@pytest.fixture(autouse=True)
def _path_of_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    # what is sent to a worker names modules of the tests
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{ROOT / 'tests'}")
    monkeypatch.setenv("RAY_ADDRESS", "local")  # no cluster that somebody left behind


def runner(engine: str) -> Callable[..., Any]:
    run: Callable[..., Any] = import_module(f"retrivex.batch.{engine}").run
    return run


def composed(folder: Path) -> list[str]:
    return [json.dumps(record_of(row)) for row in pq.read_table(folder / "out").to_pylist()]


@pytest.mark.parametrize("engine", OTHERS)
def test_an_engine_writes_the_bytes_of_the_local_one(tmp_path: Path, engine: str) -> None:
    told: list[tuple[int, int]] = []
    (tmp_path / "local").mkdir()
    (tmp_path / engine).mkdir()
    local.run(make_job(tmp_path / "local", 55), workers=2)
    made = runner(engine)(make_job(tmp_path / engine, 55), on_part=lambda done, total: told.append((done, total)))
    assert (made.parts, made.made, made.rows, made.failed) == (6, 6, 55, 0)
    for number in range(6):
        name = f"out/part-{number:05}.parquet"
        assert (tmp_path / engine / name).read_bytes() == (tmp_path / "local" / name).read_bytes()
    assert composed(tmp_path / engine) == compose_loop(make_rows(55))
    assert told == sorted(told)
    assert all(total == 6 for _, total in told)


@pytest.mark.parametrize("engine", OTHERS)
def test_an_engine_goes_on_with_what_another_one_began(tmp_path: Path, engine: str) -> None:
    local.run(make_job(tmp_path, 25), workers=1)
    (tmp_path / "out" / "part-00001.parquet").unlink()
    assert runner(engine)(make_job(tmp_path, 25), workers=1).made == 1
    assert composed(tmp_path) == compose_loop(make_rows(25))


@pytest.mark.parametrize("engine", OTHERS)
def test_2000_requests_with_workers_killed_are_what_a_loop_gives(tmp_path: Path, engine: str) -> None:
    # a part takes a quarter of a second at least, so that kills meet parts that are being made
    job = make_job(tmp_path, 2000, rows_per_part=100, open_store=Slow(0.1))
    with killing(engine, 3.0, most=3) as killed:
        made = runner(engine)(job)
    assert (made.rows, made.failed) == (2000, 0)
    assert killed
    assert composed(tmp_path) == compose_loop(make_rows(2000))
    assert not list((tmp_path / "out").glob(".part*"))


@pytest.mark.parametrize("engine", OTHERS)
def test_a_store_that_is_gone_ends_the_job_in_the_same_words(tmp_path: Path, engine: str) -> None:
    with pytest.raises(
        BatchError, match=r"part-0000\d.*StoreError: the store failed: ConnectionError: no route to host"
    ):
        runner(engine)(make_job(tmp_path, 12, open_store=FailingStore))
    assert not list((tmp_path / "out").glob("part*"))


@pytest.mark.parametrize("engine", OTHERS)
def test_a_part_that_kills_every_worker_ends_the_job(tmp_path: Path, engine: str) -> None:
    (tmp_path / "kills").mkdir()
    job = make_job(tmp_path, 8, open_store=KillsItself(str(tmp_path / "kills"), 6))
    with pytest.raises(BatchError, match=r"part-00000.*0 of 1 parts are done"):
        runner(engine)(job, workers=1)
    assert len(os.listdir(tmp_path / "kills")) == MOST_TRIES
    # the next run counts anew
    assert runner(engine)(job, workers=1).rows == 8
    assert not list((tmp_path / "out").glob(".part*"))


@pytest.mark.parametrize("engine", OTHERS)
def test_an_engine_takes_at_least_one_worker(tmp_path: Path, engine: str) -> None:
    with pytest.raises(BatchError, match="workers is 0"):
        runner(engine)(make_job(tmp_path, 2), workers=0)


@pytest.mark.parametrize("engine", ENGINES)
def test_jobs_that_are_killed_again_and_again_lose_and_double_nothing(tmp_path: Path, engine: str) -> None:
    make_job(tmp_path, 400, rows_per_part=20)
    script = (
        "import sys; from importlib import import_module; from pathlib import Path\n"
        "from support.batch_world import Slow, make_job\n"
        "if __name__ == '__main__':\n"
        "    job = make_job(Path(sys.argv[1]), 400, rows_per_part=20, open_store=Slow(0.05))\n"
        "    import_module(f'retrivex.batch.{sys.argv[2]}').run(job)\n"
    )
    (tmp_path / "run.py").write_text(script)
    out = tmp_path / "out"
    for _ in range(2):
        before = len(list(out.glob("part*")))
        process = subprocess.Popen([sys.executable, tmp_path / "run.py", tmp_path, engine], start_new_session=True)
        until = time.monotonic() + 90
        while len(list(out.glob("part*"))) <= before and process.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        left = find_workers(engine, process.pid)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pid in left:  # Ray's have sessions of their own
            _kill_quietly(pid)
        assert all(pq.read_metadata(part).num_rows == 20 for part in out.glob("part*"))
    runner(engine)(make_job(tmp_path, 400, rows_per_part=20, open_store=Slow(0.05)))
    assert composed(tmp_path) == compose_loop(make_rows(400))
    assert not list(out.glob(".part*"))


def _kill_quietly(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


# ---- the benchmark


def test_a_long_run_that_is_done_is_not_run_again_and_its_memory_is_known_by_tenths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    benchmark = import_module("benchmarks.speed.batch")

    def look(_over: Any, looks: list[tuple[int, float]], _out: Path) -> None:
        looks += [(rows, 100.0 + rows) for rows in range(100)]

    monkeypatch.setattr(benchmark, "_look", look)
    monkeypatch.setattr(benchmark, "make_job", lambda *_: make_job(tmp_path, 20))
    run = partial(benchmark.run_long, "local", tmp_path / "requests.parquet", tmp_path / "out")
    accounts: list[dict[str, Any]] = list(run({}))
    assert [account["done"] for account in accounts if "done" in account] == [True]
    memory = [tenth["mb"] for tenth in accounts[-1]["memory"]]
    assert len(memory) == 10
    assert memory == sorted(memory)
    assert list(run(accounts[-1])) == []


# ---- tables of the engines' own


@pytest.fixture(scope="module")
def expected() -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = ComposeWork(CONFIG, MadeStore)(make_table(60)).to_pylist()
    return made


@pytest.fixture
def ray_session() -> Iterator[Any]:
    import ray  # noqa: PLC0415 - of the environment of this file alone

    ray.init(include_dashboard=False, log_to_driver=False)
    yield ray
    ray.shutdown()


def test_a_ray_dataset_of_requests_becomes_one_of_compositions(
    ray_session: Any, expected: list[dict[str, Any]]
) -> None:
    map_dataset = import_module("retrivex.batch.ray").map_dataset
    dataset = ray_session.data.from_arrow(make_table(60))
    made = map_dataset(dataset, ComposeWork(CONFIG, MadeStore), rows_at_once=25)
    rows = sorted(made.take_all(), key=lambda row: row["id"])
    assert [row["text"] for row in rows] == [row["text"] for row in expected]
    assert [len(row["spans"]) for row in rows] == [len(row["spans"]) for row in expected]


_ON_A_CLUSTER = """
import sys
import ray
from ray.cluster_utils import Cluster
from pathlib import Path
from retrivex.batch import ComposeWork
from retrivex.batch import ray as engine
from support.batch_world import CONFIG, MadeStore, make_job

nodes, workers = eval(sys.argv[2]), eval(sys.argv[3])
small = {"object_store_memory": 80 * 1024 * 1024}
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": nodes[0], "include_dashboard": False, **small})
for cpus in nodes[1:]:
    cluster.add_node(num_cpus=cpus, **small)
ray.init(address=cluster.address, log_to_driver=False)
Path(sys.argv[1], "started").touch()
dataset = ray.data.read_parquet(sys.argv[1] + "/given", override_num_blocks=2)
made = engine.map_dataset(dataset, ComposeWork(CONFIG, MadeStore), workers=workers, rows_at_once=20)
counts = len(made.take_all()), engine.run(make_job(Path(sys.argv[1]), 25), workers=workers).rows
Path(sys.argv[1], "counts").write_text(repr(counts))
ray.shutdown()
cluster.shutdown()
"""


def _run_on_a_cluster(folder: Path, nodes: list[int], workers: int | None) -> str:
    """Run the program above until it ends; return what was said, where Ray warns of workers that are slow to start."""
    with (folder / "said").open("w+", encoding="utf-8", errors="replace") as said:
        process = subprocess.Popen(
            [sys.executable, "-c", _ON_A_CLUSTER, folder, repr(nodes), repr(workers)], stdout=said, stderr=said
        )
        try:
            process.wait(timeout=600)  # it waited for ever
        finally:
            for pid in [] if process.poll() is not None else [*find_below(process.pid), process.pid]:
                _kill_quietly(pid)
        said.seek(0)
        return said.read()


@pytest.mark.parametrize(("nodes", "workers"), [([2, 2], None), ([2, 2, 2], 2), ([1], None), ([1, 1], None)])
def test_a_cluster_of_several_nodes_has_a_cpu_left_for_reading(
    tmp_path: Path, nodes: list[int], workers: int | None
) -> None:
    (tmp_path / "given").mkdir()
    for number in range(2):
        pq.write_table(make_table(30), tmp_path / "given" / f"{number}.parquet")
    for _ in range(3):  # Ray gives a node 30 seconds to start, which on a busy machine are too few
        said = _run_on_a_cluster(tmp_path, nodes, workers)
        if (tmp_path / "started").exists():
            break
    assert (tmp_path / "counts").exists(), said
    assert (tmp_path / "counts").read_text() == "(60, 25)"


@pytest.fixture
def spark_session() -> Iterator[Any]:
    from pyspark.sql import SparkSession  # noqa: PLC0415 - of the environment of this file alone

    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    yield spark
    spark.stop()


def test_a_spark_frame_of_requests_becomes_one_of_compositions(
    spark_session: Any, expected: list[dict[str, Any]], tmp_path: Path
) -> None:
    map_frame = import_module("retrivex.batch.spark").map_frame
    pq.write_table(make_table(60), tmp_path / "requests.parquet")
    frame = spark_session.read.parquet(str(tmp_path / "requests.parquet")).repartition(3)
    made = map_frame(frame, ComposeWork(CONFIG, MadeStore)).orderBy("id")
    made.write.parquet(str(tmp_path / "made"))
    rows = sorted(pq.read_table(tmp_path / "made").to_pylist(), key=lambda row: row["id"])
    assert [record_of(row) for row in rows] == [record_of(row) for row in expected]
    with pytest.raises(BatchError, match="column 'text' of the requests is unknown"):
        map_frame(made, ComposeWork(CONFIG, MadeStore))


@pytest.mark.parametrize(
    ("engine", "code", "message"),
    [
        (
            "ray",
            "import ray\ndef full(**_): raise Exception('The current node timed out during startup.')\nray.init = full",
            "Ray did not start (The current node timed out during startup.): see that this machine has memory",
        ),
        (
            "spark",
            "import os\nos.environ['JAVA_HOME'] = '/nowhere'",
            "it needs Java 17 or later on the PATH or in JAVA_HOME",
        ),
    ],
)
def test_an_engine_that_does_not_start_is_one_error(tmp_path: Path, engine: str, code: str, message: str) -> None:
    run = (
        f"{code}\nfrom pathlib import Path\nfrom support.batch_world import make_job\n"
        f"from retrivex.batch import {engine}\nfrom retrivex.errors import BatchError\n"
        f"try: {engine}.run(make_job(Path({str(tmp_path)!r}), 3))\nexcept BatchError as error: print(error)"
    )
    made = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, timeout=300, check=False)
    assert message in made.stdout, made.stderr
    assert not list((tmp_path / "out").glob("part*"))


class _GivingUp:
    """A dataset of Ray that makes one part and then raises what Ray raises."""

    def __init__(self, job: Job, error: Exception) -> None:
        self.job = job
        self.error = error

    def map_batches(self, *_: Any, **__: Any) -> _GivingUp:
        return self

    def iter_rows(self) -> Iterator[dict[str, Any]]:
        assert isinstance(self.job.make_part(0), Done)
        yield {"number": 0, "kind": None, "message": None}
        raise self.error


@pytest.mark.parametrize("raised", ["RayActorError", "OutOfMemoryError", "NodeDiedError", "RaySystemError", "system"])
def test_ray_that_gives_up_in_the_middle_is_one_clear_error_and_another_engine_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raised: str
) -> None:
    ray = pytest.importorskip("ray")
    said = "a worker died\n" * 100
    kinds: dict[str, Any] = {
        "RayActorError": lambda: ray.exceptions.RayActorError(None, said),
        "RaySystemError": lambda: ray.exceptions.RaySystemError(said),
        "system": lambda: SystemError(said),  # raised bare by its core
    }
    error = kinds.get(raised, lambda: getattr(ray.exceptions, raised)(said))()
    job = make_job(tmp_path, 25)
    monkeypatch.setattr(ray, "is_initialized", lambda: True)
    monkeypatch.setattr(ray, "cluster_resources", lambda: {"CPU": 2.0})
    monkeypatch.setattr(ray.data, "from_items", lambda *_, **__: _GivingUp(job, error))
    with pytest.raises(BatchError) as caught:
        runner("ray")(job)
    message = str(caught.value)
    assert message.startswith(f"part-00001.parquet: {type(error).__name__}: ")
    assert "a worker died" in message
    assert "1 of 3 parts are done and stay" in message
    assert len(message) < 1000
    assert "\n" not in message
    assert [job.folder.has(number) for number in range(3)] == [True, False, False]
    made = local.run(make_job(tmp_path, 25), workers=1)
    assert (made.parts, made.made) == (3, 2)
    assert composed(tmp_path) == compose_loop(make_rows(25))
