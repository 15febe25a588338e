"""Ray: tables of a Ray dataset, and jobs whose parts are made by Ray's actors."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from retrivex.batch.job import MOST_TRIES, Failed, Job, OnPart, Summary, Work, check_workers, make_reported
from retrivex.errors import BatchError, install_hint
from retrivex.text.lines import describe_error

try:
    import ray
    from ray.data import ActorPoolStrategy, DataContext, Dataset
except ImportError as error:
    raise ImportError(f"retrivex.batch.ray needs ray: {install_hint('ray')}") from error

ROWS_AT_ONCE = 200
"""Rows that an actor gets at once."""


def map_dataset(
    dataset: Dataset, work: Work, *, workers: int | None = None, rows_at_once: int = ROWS_AT_ONCE
) -> Dataset:
    """Return a dataset of what the rows of another one become, such as compositions of requests.

    Parameters
    ----------
    dataset : of rows that `work` takes, such as `ray.data.read_parquet(...)`
    work : such as `ComposeWork(...)`; each actor makes one composer
    workers : actors; None: one for each CPU of the cluster
    rows_at_once : rows that an actor gets at once

    Raises
    ------
    BatchError
        If `workers` is less than 1.
    """
    count = _count_actors(workers)
    return dataset.map_batches(
        _TableActor,
        fn_constructor_args=(pickle.dumps(work),),
        batch_size=rows_at_once,
        batch_format="pyarrow",
        compute=ActorPoolStrategy(size=count),
        num_cpus=0,  # reading takes a whole CPU: a pool that held all of them would wait for ever
    )


def run(job: Job, *, workers: int | None = None, on_part: OnPart | None = None) -> Summary:
    """Make the missing parts of a job with Ray: on its cluster where `ray.init` was called, else on this machine.

    The output folder has to be one that all nodes reach by the same path. An actor that dies is started anew by Ray,
    and its part made again, until one has died `MOST_TRIES` times.

    Parameters
    ----------
    job : what to do
    workers : as in `map_dataset`
    on_part : is given how many parts are done, and of how many

    Raises
    ------
    BatchError
        If the output folder is another job's, a part fails, or Ray does not start or gives up. Parts that are done
        stay.
    """
    return job.run(lambda missing: _make(job, missing, workers, on_part))


def _make(job: Job, missing: list[int], workers: int | None, on_part: OnPart | None) -> None:
    is_ours = not ray.is_initialized()
    if is_ours:
        try:
            ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        except Exception as error:  # Ray raises bare ones
            raise BatchError(
                f"Ray did not start ({describe_error(error)}): see that this machine has memory and processor time to "
                "spare, or connect to a cluster with ray.init(...) first"
            ) from error
        DataContext.get_current().enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
    try:
        count = min(_count_actors(workers), len(missing))
        parts = ray.data.from_items(missing, override_num_blocks=len(missing)).map_batches(
            _PartActor,
            fn_constructor_args=(pickle.dumps(job),),
            batch_size=1,
            batch_format="pyarrow",
            compute=ActorPoolStrategy(size=count),
            num_cpus=0,
            max_restarts=MOST_TRIES - 1,
            max_task_retries=MOST_TRIES - 1,
        )
        total = job.source.parts
        for done, row in enumerate(_rows_of(parts, job), start=total - len(missing) + 1):
            if row["kind"] is not None:
                raise job.stop(Failed(**row))
            if on_part is not None:
                on_part(done, total)
    finally:
        if is_ours:
            ray.shutdown()


def _rows_of(parts: Dataset, job: Job) -> Iterator[dict[str, Any]]:
    try:
        yield from parts.iter_rows()
    except Exception as error:  # what Ray raises depends on where it gave up
        raise job.give_up(error) from error


def _count_actors(workers: int | None) -> int:
    """Return how many actors there are; Ray is started where it was not."""
    check_workers(workers)
    if not ray.is_initialized():
        ray.init()
    return workers or max(1, int(ray.cluster_resources().get("CPU", 1)))


class _TableActor:
    """An actor that does work with tables.

    Parameters
    ----------
    work : pickled
    """

    def __init__(self, work: bytes) -> None:
        self._work: Work = pickle.loads(work)

    def __call__(self, table: pa.Table) -> pa.Table:
        """Return what a table becomes."""
        return self._work(table)


class _PartActor:
    """An actor that makes parts of a job.

    Parameters
    ----------
    job : pickled
    """

    def __init__(self, job: bytes) -> None:
        self._job = job

    def __call__(self, numbers: pa.Table) -> pa.Table:
        """Make the parts of these numbers, and say how it went."""
        return make_reported(self._job, numbers.column(0).to_pylist())
