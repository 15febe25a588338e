"""A process killed while it ingests leaves whole documents, and a re-run brings the rest."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.whole_stores import ROUNDING, assert_documents_are_whole, assert_nearest_first, contents

from retrivex.stores import SQLiteStore

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")


class Ingester:
    """Talks to kill_ingest.py."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, path: Path, version: int, delay: float = -1.0) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{version} {delay} {path}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()

    def seconds(self, path: Path, version: int) -> float:
        """Ingest undisturbed and return how long it took."""
        ended, _, seconds = self.run(path, version).partition(" ")
        assert ended == "finished"
        return float(seconds)


@pytest.fixture
def environment() -> dict[str, str]:
    # threads of numpy's own would have to survive the fork
    single = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return {**os.environ, **single, "PYTHONPATH": os.pathsep.join(map(str, Path(__file__).parents[2:4]))}


@pytest.fixture
def ingester(environment: dict[str, str]) -> Iterator[Ingester]:
    script = Path(__file__).with_name("kill_ingest.py")
    with subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        yield Ingester(process)


@pytest.mark.parametrize("kills", [15, pytest.param(200, marks=pytest.mark.integration)])
def test_kill_at_any_moment(kills: int, tmp_path: Path, ingester: Ingester) -> None:
    path = tmp_path / "killed.db"
    rng = random.Random(kills)
    duration = max(ingester.seconds(tmp_path / "timing.db", version) for version in range(3))
    outcomes: list[str] = []
    while outcomes.count("killed") < kills and len(outcomes) < 20 * kills:
        outcomes.append(ingester.run(path, len(outcomes), rng.uniform(0.0, duration)))
        if outcomes[-1].startswith("finished"):  # too late: a busy machine was slower when it was timed
            duration = min(duration, float(outcomes[-1].split()[1]))
        with SQLiteStore(path) as store:
            assert store.check() == []
            assert_documents_are_whole(store)
    assert "failed" not in outcomes
    assert outcomes.count("killed") == kills, outcomes
    ingester.seconds(path, len(outcomes))
    ingester.seconds(tmp_path / "undisturbed.db", len(outcomes))
    with SQLiteStore(path) as killed, SQLiteStore(tmp_path / "undisturbed.db") as undisturbed:
        assert contents(killed) == contents(undisturbed)
        assert killed.check() == []


@pytest.mark.parametrize("kills", [4, pytest.param(100, marks=pytest.mark.integration)])
def test_kill_beside_another_process_that_writes(kills: int, tmp_path: Path, environment: dict[str, str]) -> None:
    code = "import pathlib, sys; from faults.kills import kill; "
    code += f"made = kill('beside', {kills}, {kills}, pathlib.Path(sys.argv[1])); print(made.killed, *made.violations)"
    ended = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, env=environment)
    assert (ended.stdout.strip(), ended.stderr) == (str(kills), "")


def test_hits_may_change_places_within_rounding_alone() -> None:
    assert_nearest_first([0.9, 0.5, 0.5 + ROUNDING, 0.5 - ROUNDING, 0.1])
    with pytest.raises(AssertionError):
        assert_nearest_first([0.9, 0.5, 0.5 + 3 * ROUNDING])
    with pytest.raises(AssertionError):  # nor by and by
        assert_nearest_first([0.5, 0.5 + 1.5 * ROUNDING, 0.5 + 3 * ROUNDING])


def test_stores_whose_nearest_hits_are_in_another_order_are_not_alike(
    tmp_path: Path, ingester: Ingester, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingester.seconds(tmp_path / "made.db", 0)
    search = SQLiteStore.search_vector
    with SQLiteStore(tmp_path / "made.db") as store:
        contents(store)
        monkeypatch.setattr(SQLiteStore, "search_vector", lambda *said, **more: search(*said, **more)[::-1])
        with pytest.raises(AssertionError):
            contents(store)
