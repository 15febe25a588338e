"""Whether runs of batches give the rows that `compose` gives in a loop, and the same bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.speed.batch_rules import COMPARED
from retrivex import SeedHit, SpanComposer, Window
from retrivex.batch import record_of
from retrivex.batch.folder import part_name
from retrivex.stores import SQLiteStore


def compose_one(row: dict[str, Any], composer: SpanComposer, store: SQLiteStore) -> dict[str, Any]:
    """Do what a loop does with a request: its hits out of the store, and then the context."""
    found = store.fetch([Window(hit["doc_id"], hit["chunk_id"], hit["chunk_id"] + 1) for hit in row["hits"]])
    chunks = {chunk.key: chunk for chunk in found}
    hits = [SeedHit(chunks[hit["doc_id"], hit["chunk_id"]], hit["score"]) for hit in row["hits"]]
    return {"id": row["id"], **composer.compose(hits, store, query=row["question"]).to_dict()}


def sample(sizes: Sequence[int], rows: int = COMPARED) -> list[list[int]]:
    """Choose rows of parts: about as many of each, spread over it, and so many in all where there are.

    Parameters
    ----------
    sizes : rows of each part
    rows : to choose in all; more parts than rows leave parts without one

    Examples
    --------
    >>> sample([10, 10, 2], 6)
    [[0, 5], [1, 6], [0, 1]]
    """
    parts = len(sizes)
    shares = [min(size, rows * (at + 1) // parts - rows * at // parts) for at, size in enumerate(sizes)]
    # one row further in each part, so that it is not always the first of a part or of a group within it
    return [
        sorted((at + row * size // share) % size for row in range(share))
        for at, (size, share) in enumerate(zip(sizes, shares, strict=True))
    ]


def as_loop(requests: Path, out: Path, composer: SpanComposer, rows: int = COMPARED) -> bool:
    """Whether a job has all rows, and a sample over all of its parts is what `compose` in a loop gives, as JSON."""
    given, start = pq.read_table(requests), 0
    paths = sorted(out.glob("part-*"))
    sizes = [pq.read_metadata(path).num_rows for path in paths]
    if sum(sizes) != given.num_rows:
        return False
    with SQLiteStore(requests.parent / "store.db", read_only=True) as store:
        for path, size, places in zip(paths, sizes, sample(sizes, rows), strict=True):
            made = [json.dumps(record_of(row)) for row in _rows(pq.read_table(path), places)]
            asked = _rows(given.slice(start, size), places)
            if made != [json.dumps(compose_one(row, composer, store)) for row in asked]:
                return False
            start += size
    return True


def _rows(table: pa.Table, places: Sequence[int]) -> list[dict[str, Any]]:
    return [table.slice(place, 1).to_pylist()[0] for place in places]


def same(out: Path, other: Path) -> bool:
    """Whether two folders have the same parts, byte for byte."""
    names = sorted(path.name for path in out.glob("part-*"))
    others = sorted(path.name for path in other.glob("part-*"))
    return names == others and all((out / name).read_bytes() == (other / name).read_bytes() for name in names)


def compare(outs: Mapping[str, Path], requests: Path, composer: SpanComposer) -> None:
    """Print whether engines gave the same bytes, and a sample of all parts what `compose` gives; else exit code 1.

    Parameters
    ----------
    outs : output folders by engine
    requests : file that all of them were given
    composer : for the loop
    """
    first, *others = outs
    agree = [first, *(engine for engine in others if same(outs[engine], outs[first]))]
    print(f"the same bytes: {', '.join(agree)}")
    looped = as_loop(requests, outs[first], composer)
    count = min(pq.read_metadata(requests).num_rows, COMPARED)
    print(f"{count} requests, of all parts, as compose in a loop gives them: {'yes' if looped else 'NO'}")
    if len(agree) < len(outs) or not looped:
        raise SystemExit("the engines do not agree, with one another or with the loop")


def begins_like(out: Path, other: Path, parts: int) -> bool:
    """Whether a folder has so many parts, and they are the first ones of another one, byte for byte."""
    names = sorted(path.name for path in out.glob("part-*"))
    return names == [part_name(number) for number in range(parts)] and all(
        (other / name).exists() and (out / name).read_bytes() == (other / name).read_bytes() for name in names
    )
