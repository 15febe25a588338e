"""Many compositions and many documents at once: Arrow tables in, Arrow tables out, on the engine that is there.

`compose_table` and `chunk_table` are functions from a table to a table, `ComposeWork` and `ChunkWork` the same as
objects that can be sent to another process. `local`, `ray` and `spark` run them over the parts of a job; each of these
modules imports its engine alone.
"""

from importlib.util import find_spec

from retrivex.errors import install_hint

if find_spec("pyarrow") is None:
    raise ImportError(f"retrivex.batch needs pyarrow: {install_hint('batch')}")

from retrivex.batch.compose import ComposeWork, compose_table
from retrivex.batch.documents import ChunkWork, FilesWork, chunk_table
from retrivex.batch.files import file_source
from retrivex.batch.folder import OutputFolder
from retrivex.batch.job import Job, Summary, parquet_source
from retrivex.batch.rows import record_of
from retrivex.batch.stores import StoreAddress
from retrivex.batch.writing import Written, check_writer, open_writer, write_parts

__all__ = [
    "ChunkWork",
    "ComposeWork",
    "FilesWork",
    "Job",
    "OutputFolder",
    "StoreAddress",
    "Summary",
    "Written",
    "check_writer",
    "chunk_table",
    "compose_table",
    "file_source",
    "open_writer",
    "parquet_source",
    "record_of",
    "write_parts",
]
