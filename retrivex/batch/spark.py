"""Spark: DataFrames through `mapInArrow`, and jobs whose parts are made by Spark's tasks."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from retrivex.batch.job import (
    MOST_SAID,
    MOST_TRIES,
    Failed,
    Job,
    OnPart,
    Summary,
    Work,
    check_workers,
    count_cores,
    make_reported,
    read_sent,
)
from retrivex.errors import BatchError, install_hint
from retrivex.text.lines import describe_error

try:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
except ImportError as error:
    raise ImportError(f"retrivex.batch.spark needs pyspark: {install_hint('spark')}") from error

_REPORT = "number long, kind string, message string"


def map_frame(frame: DataFrame, work: Work) -> DataFrame:
    """Return a DataFrame of what the rows of another one become, such as compositions of requests.

    Parameters
    ----------
    frame : of rows that `work` takes, such as `spark.read.parquet(...)`; its partitions are kept
    work : such as `ComposeWork(...)`; each Python worker of Spark makes one composer

    Raises
    ------
    BatchError
        If the columns are not what `work` takes.
    """
    pickled = pickle.dumps(work)
    made = work.schema(to_arrow_schema(frame.schema))

    def compute(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from read_sent(pickled)(pa.Table.from_batches([batch])).to_batches()

    return frame.mapInArrow(compute, from_arrow_schema(made))


def run(job: Job, *, workers: int | None = None, on_part: OnPart | None = None) -> Summary:
    """Make the missing parts of a job with Spark: in the session that is active, else on this machine.

    The output folder has to be one that all executors reach by the same path. A task whose worker dies is tried again
    by Spark.

    Parameters
    ----------
    job : what to do
    workers : cores of this machine to use, where no session is active; None: all
    on_part : is given this at the end; Spark shows meanwhile what it does

    Raises
    ------
    BatchError
        If the output folder is another job's, a part fails, or Spark does not start or gives up on one. Parts that are
        done stay.
    """
    check_workers(workers)

    def make(missing: list[int]) -> None:
        with _session(workers) as spark:
            _make(spark, job, missing)
        if on_part is not None:
            on_part(job.source.parts, job.source.parts)

    return job.run(make)


def _make(spark: SparkSession, job: Job, missing: list[int]) -> None:
    pickled = pickle.dumps(job)

    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from make_reported(pickled, (missing[at] for at in batch.column(0).to_pylist())).to_batches()

    # a task for each part
    parts = spark.range(0, len(missing), 1, len(missing)).mapInArrow(make, _REPORT)
    try:
        failed = parts.where("kind IS NOT NULL").collect()
    except Exception as error:  # what Spark raises depends on where it gave up
        raise job.give_up(error) from error
    if failed:
        raise job.stop(Failed(**failed[0].asDict()))


@contextmanager
def _session(workers: int | None) -> Iterator[SparkSession]:
    """Give the active session, or one on this machine that ends with the block."""
    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = (
        SparkSession.builder.master(f"local[{workers or count_cores()},{MOST_TRIES}]")
        .appName("retrivex batch")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.showConsoleProgress", "false")
    )
    try:
        spark = builder.getOrCreate()
    except Exception as error:  # what is raised depends on how far Java came
        raise BatchError(
            f"Spark did not start ({describe_error(error)[:MOST_SAID]}): it needs Java 17 or later on the PATH or in "
            "JAVA_HOME, or an active session"
        ) from error
    spark.sparkContext.setLogLevel("OFF")
    try:
        yield spark
    finally:
        spark.stop()
