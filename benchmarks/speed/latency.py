"""What composing a context costs, as a multiple of what nobody can avoid.

Run: `make bench` (or `python -m benchmarks.speed.latency`); writes `results/latency.json`. `--grid` measures only
the grid of hits and windows and leaves the rest of the file as it is; `make report` prints and draws it. `--indexed`
does the same with a composer that has never seen the chunks, which come out of memory, or out of an embedded store that
keeps their counts and where they may be cut, as `retrivex index` writes them; reading them is a part of it. `records`
are those of a vector store, in memory, without counts and with those that `retrivex backfill --counts` writes.

The floor of a query is to look its chunks up, join those that are shown, and count the tokens of the result once.
Every figure is the median over many queries in one process, after a warm-up, with validation on: by the weighted
scorer, and by the calibrated one with the question given. All of a row are timed in turns, so that what else the
machine does falls on all alike. Warm: chunks in memory and their token counts known. Cold: a composer that has never
seen the chunks. The columns: `no count` leaves counting out (every count that is asked for is known beforehand), `exact
count` is what users get (tiktoken: the text is encoded whenever it is laid out), `full recount` is the same with a
tokenizer that RetriVex knows nothing about (any callable).
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.code import made_by
from retrivex import Chunk, ChunkMetadata, RetrievalConfig, SeedHit, SpanComposer
from retrivex.adapters.base.collection import ByWindows, Collection, Failure, Record, Records, Request
from retrivex.adapters.base.fields import FieldMap, colon_id
from retrivex.adapters.base.store import VectorChunkStore
from retrivex.merging.stored_cuts import count_and_cut
from retrivex.model.chunk import ChunkKey
from retrivex.model.document import Document
from retrivex.stores import SQLiteStore
from retrivex.tokens.tokenizer import Tokenizer, get_tokenizer

RESULTS = Path(__file__).parents[1] / "results" / "latency.json"
SCORERS = ("weighted", "calibrated")
GRID_HITS = (3, 6, 20, 50, 100)
GRID_WINDOWS = (0, 1, 2, 3)
GRID_BUDGET = 2000
GRID_CHUNKS = 12_000
WORDS = """\
the of and to in a is that for it as was with be by on not he his but at are this have from or had an they
which one you were all her she there would their we him been has when who will no more if out so up said
what its about than into them can only other time new some could these two may first then do any like my now
over such our man me even most made after also did many off before must well back through years where much
your way down should because long each just state those people too mister how little good world make very
year still see own work men day get here old life both between being under three never know same last
another while us might great go come since right against himself few house use during without again place
american around however home small found mrs thought went say part once general high upon school every don
does got united left number course war until always away something fact water though public less put think
almost hand enough far took head yet government system set better told nothing night end why called didn
eyes find going look asked later knew point next program city business give group
"""

Store = dict[ChunkKey, Chunk]


class Remembering:
    """Knows every count that was ever asked for: what remains without counting."""

    name = "remembering"
    exact = True

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.known: dict[str, int] = {}

    def count(self, text: str) -> int:
        """Tokens of a text."""
        if text not in self.known:
            self.known[text] = self.tokenizer.count(text)
        return self.known[text]

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        return [self.count(text) for text in texts]


def make_text(words: Sequence[str], rng: random.Random) -> str:
    """Make some 200 tokens: 12 sentences of 15 words."""
    return "".join(" ".join(rng.choices(words, k=15)).capitalize() + ". " for _ in range(12))


def make_store(chunks: int, rng: random.Random, *, dimension: int) -> Store:
    """Make documents of 100 chunks of some 200 tokens, with offsets and (dimension > 0) float32 embeddings."""
    vectors = np.random.default_rng(rng.randrange(2**32))
    words = WORDS.split()
    store: Store = {}
    for number in range(chunks):
        doc_id, chunk_id = f"doc-{number // 100}", number % 100
        text = make_text(words, rng)
        start = store[doc_id, chunk_id - 1].metadata.char_end if chunk_id else 0
        metadata = ChunkMetadata(doc_id, chunk_id, start, (start or 0) + len(text), chunk_count=100)
        vector = vectors.standard_normal(dimension).astype(np.float32) if dimension else None
        store[doc_id, chunk_id] = Chunk(text, metadata, vector)
    return store


def make_queries(store: Store, k: int, count: int, rng: random.Random) -> list[list[SeedHit]]:
    """Make hit lists: half of the hits next to each other in a few documents, as retrievers give them."""
    keys = list(store)
    queries = []
    for _ in range(count):
        picked: dict[ChunkKey, None] = {}
        while len(picked) < k:
            doc_id, chunk_id = rng.choice(keys)
            picked[doc_id, chunk_id] = None
            if rng.random() < 0.5 and (doc_id, chunk_id + 2) in store:
                picked[doc_id, chunk_id + 2] = None
        queries.append([SeedHit(store[key], rng.random()) for key in list(picked)[:k]])
    return queries


Timed = tuple[Callable[[Any], object], Sequence[Any]]
"""What is timed, and the items it is called with, one after the other."""


def medians_us(timed: Mapping[str, Timed], repeats: int) -> dict[str, float]:
    """Median times in microseconds of this thread's processor time, by name.

    All are timed in turns, so that what else the machine does falls on all alike and their ratios can be trusted.
    """
    times: dict[str, list[int]] = {name: [] for name in timed}
    for _ in range(repeats):
        for name, (run, items) in timed.items():
            for item in items:
                began = time.thread_time_ns()
                run(item)
                times[name].append(time.thread_time_ns() - began)
    return {name: statistics.median(of) / 1e3 for name, of in times.items()}


def median_us(run: Callable[[Any], object], items: Sequence[Any], repeats: int) -> float:
    """Median time of `run` over `items`, in microseconds of this thread's processor time."""
    return medians_us({"": (run, items)}, repeats)[""]


def floor_of(
    store: Store, queries: Sequence[list[SeedHit]], texts: Sequence[str], window: int, count: Tokenizer
) -> dict[str, Timed]:
    """Return the unavoidable: look the windows up, join what is shown, count it once."""

    def fetch(hits: list[SeedHit]) -> list[Chunk]:
        return [
            found
            for hit in hits
            for chunk_id in range(hit.key[1] - window, hit.key[1] + window + 1)
            if (found := store.get((hit.key[0], chunk_id))) is not None
        ]

    def join(text: str) -> str:
        return "".join([text[at : at + 1000] for at in range(0, len(text), 1000)])

    return {"fetch": (fetch, queries), "join": (join, texts), "count": (count.count, texts)}


def measure(k: int, window: int | None, budget: int, *, dimension: int, scorer: str, quick: bool) -> dict[str, Any]:
    """One row of the table; without a window, of the default settings, whose windows follow the budget."""
    rng = random.Random(20_000 + k)
    store = make_store(12_000, rng, dimension=dimension)
    queries = make_queries(store, k, 10 if quick else 60, rng)
    repeats = 2 if quick else 7
    config = (
        RetrievalConfig(token_budget=budget) if window is None else RetrievalConfig(window=window, token_budget=budget)
    )
    tokenizer = get_tokenizer("auto")
    asked: dict[str, Any] = {}
    if scorer == "calibrated":
        asked["query"] = " ".join(rng.sample(WORDS.split(), 10))
        if dimension:
            asked["query_embedding"] = np.random.default_rng(1).standard_normal(dimension)

    def warm(count: Any) -> Timed:
        composer = SpanComposer(config, tokenizer=count)
        for hits in queries:
            composer.compose(hits, store, **asked)
        return lambda hits: composer.compose(hits, store, **asked), queries

    exact = SpanComposer(config, tokenizer=tokenizer)
    made = [exact.compose(hits, store, **asked) for hits in queries]
    reach = max(len(one) for one in made[0].trace.windows) // 2
    unavoidable = floor_of(store, queries, [one.text for one in made], reach, tokenizer)
    composing = {
        "no count": warm(Remembering(tokenizer)),
        "exact count": warm(tokenizer),
        "full recount": warm(lambda text: tokenizer.count(text)),
    }
    times = medians_us({**unavoidable, **composing}, repeats)
    floor = {name: times.pop(name) for name in unavoidable}
    times["cold"] = median_us(
        lambda hits: SpanComposer(config, tokenizer=tokenizer).compose(hits, store, **asked), queries, 1
    )
    steps = {
        step.name: statistics.median(s.microseconds for one in made for s in one.trace.steps if s.name == step.name)
        for step in made[0].trace.steps
    }
    total = sum(floor.values())
    return {
        "scorer": scorer, "k": k, "window": window, "budget": budget, "embeddings": dimension,
        "tokens shown": statistics.median(one.tokens for one in made),
        "spans": statistics.median(len(one.spans) for one in made),
        "floor_us": floor, "us": times, "steps_us": steps,
        "ratio": {name: value / total for name, value in times.items()},
        "floor share": total / times["full recount"],
    }  # fmt: skip


def from_index(quick: bool) -> list[dict[str, float]]:
    """Milliseconds of composing chunks never seen, out of memory and out of an index, default settings, in turns."""
    rng = random.Random(13)
    store = make_store(GRID_CHUNKS, rng, dimension=0)
    query = " ".join(rng.sample(WORDS.split(), 10))
    tokenizer = get_tokenizer("auto")
    rows = []
    for k in (6, 20, 50):
        queries = make_queries(store, k, 5 if quick else 40, rng)
        with tempfile.TemporaryDirectory() as folder, SQLiteStore(Path(folder) / "store.db") as indexed:
            fill(indexed, store, {hit.key[0] for hits in queries for hit in hits}, tokenizer)
            warm = SpanComposer(tokenizer=tokenizer)
            records = VectorChunkStore(RecordsInMemory(store, None))
            counted = VectorChunkStore(RecordsInMemory(store, tokenizer))

            def compose(hits: list[SeedHit], composer: SpanComposer | None, source: Any) -> None:
                (composer or SpanComposer(tokenizer=tokenizer)).compose(hits, source, query=query)

            timed: dict[str, Timed] = {
                "warm": (lambda hits: compose(hits, warm, store), queries),  # noqa: B023 - called at once
                "cold": (lambda hits: compose(hits, None, store), queries),
                "indexed": (lambda hits: compose(hits, None, indexed), queries),
                "records": (lambda hits: compose(hits, None, records), queries),  # noqa: B023 - called at once
                "counted records": (lambda hits: compose(hits, None, counted), queries),  # noqa: B023
            }
            for run, items in timed.values():
                run(items[0])
            for hits in queries:
                compose(hits, warm, store)
                compose(hits, None, records)  # records are made
                compose(hits, None, counted)
            rows.append({"k": k, **{name: us / 1e3 for name, us in medians_us(timed, 3).items()}})
    return rows


class RecordsInMemory(Collection):
    """Chunks as records of a vector store, with the counts of a tokenizer where one is given; made when asked for."""

    name, batch_limit, fields, is_sync = "records in memory", 5000, FieldMap(), True

    def __init__(self, store: Store, tokenizer: Tokenizer | None) -> None:
        self._store = store
        self._tokenizer = tokenizer
        self._made: dict[ChunkKey, Record] = {}

    def ask(self, request: Request) -> Records:
        """Answer a request for windows."""
        assert isinstance(request, ByWindows)
        keys = [(w.doc_id, n) for w in request.windows for n in range(w.start, w.end) if (w.doc_id, n) in self._store]
        return Records([self._record(key) for key in keys])

    def _record(self, key: ChunkKey) -> Record:
        if key not in self._made:
            payload = self.fields.payload(self._store[key])
            if self._tokenizer is not None:
                (count,) = count_and_cut([self._store[key].text], self._tokenizer)
                payload["chunk_counts"] = count.to_field(self._tokenizer.name)
            self._made[key] = Record(colon_id(*key), payload)
        return self._made[key]

    def failure(self, error: Exception) -> Failure:
        """Name a failure; there is none."""
        return "refused"


def fill(indexed: SQLiteStore, store: Store, doc_ids: set[str], tokenizer: Tokenizer) -> None:
    """Write documents as `retrivex index` does, with counts, cuts and embeddings."""
    with indexed.batch():
        for doc_id in sorted(doc_ids):
            chunks = [chunk for key, chunk in store.items() if key[0] == doc_id]
            vectors = None if chunks[0].embedding is None else np.array([chunk.embedding for chunk in chunks])
            counts = count_and_cut([chunk.text for chunk in chunks], tokenizer)
            document = Document(doc_id, "".join(chunk.text for chunk in chunks))
            encoder = None if vectors is None else "made up"
            indexed.put(
                document, chunks, embeddings=vectors, encoder=encoder, token_counts=counts, tokenizer=tokenizer.name
            )


def grid(quick: bool) -> dict[str, Any]:
    """Time against hits and windows for both scorers: tokens counted, chunks known, one budget, no embeddings."""
    rng = random.Random(11)
    store = make_store(GRID_CHUNKS, rng, dimension=0)
    query = " ".join(rng.sample(WORDS.split(), 10))
    tokenizer = get_tokenizer("auto")
    queries = {k: make_queries(store, k, 5 if quick else 40, rng) for k in GRID_HITS}
    rows = [
        grid_row(store, queries[k], window, tokenizer, {"query": query} if scorer == "calibrated" else {}, quick=quick)
        | {"scorer": scorer, "k": k, "window": window}
        for scorer in SCORERS
        for k in GRID_HITS
        for window in GRID_WINDOWS
    ]
    return {**machine(), "budget": GRID_BUDGET, "rows": rows}


def grid_row(
    store: Store, queries: Sequence[list[SeedHit]], window: int, tokenizer: Tokenizer, asked: Any, *, quick: bool
) -> dict[str, Any]:
    """One cell of the grid."""
    composer = SpanComposer(RetrievalConfig(window=window, token_budget=GRID_BUDGET), tokenizer=tokenizer)
    made = [composer.compose(hits, store, **asked) for hits in queries]
    unavoidable = floor_of(store, queries, [one.text for one in made], window, tokenizer)
    composing: Timed = (lambda hits: composer.compose(hits, store, **asked), queries)
    times = medians_us({**unavoidable, "compose": composing}, 2 if quick else 5)
    return {
        "us": times.pop("compose"),
        "floor_us": times,
        "tokens shown": statistics.median(one.tokens for one in made),
        "spans": statistics.median(len(one.spans) for one in made),
    }


def machine() -> dict[str, str]:
    """Return what the times depend on."""
    return {**made_by(), "tokenizer": get_tokenizer("auto").name}


def growth(quick: bool) -> list[dict[str, float]]:
    """Time and memory against the number of hits, budget 2,000, window 2."""
    rng = random.Random(7)
    store = make_store(60_000, rng, dimension=0)
    composer = SpanComposer(RetrievalConfig(window=2, token_budget=2000))
    rows = []
    for k in (10, 100, 1_000) if quick else (10, 100, 1_000, 10_000):
        queries = make_queries(store, k, 3, rng)
        for hits in queries:
            composer.compose(hits, store)
        spent = median_us(lambda hits: composer.compose(hits, store), queries, 3)
        tracemalloc.start()
        composer.compose(queries[0], store)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        rows.append({"k": k, "ms": spent / 1e3, "us per hit": spent / k, "peak MiB": peak / 2**20})
    return rows


def show_grid(found: dict[str, Any]) -> None:
    """Print the grid, milliseconds."""
    table = Table("scorer", "hits", *(f"±{window}" for window in GRID_WINDOWS), title="milliseconds (floor)")
    cells = {(row["scorer"], row["k"], row["window"]): row for row in found["rows"]}
    for scorer in SCORERS:
        for k in GRID_HITS:
            of = [cells[scorer, k, window] for window in GRID_WINDOWS]
            times = [f"{row['us'] / 1e3:.2f} ({sum(row['floor_us'].values()) / 1e3:.2f})" for row in of]
            table.add_row(scorer, f"{k}", *times)
    Console().print(table)


def show(rows: Sequence[dict[str, Any]], grown: Sequence[dict[str, float]]) -> None:
    """Print both tables."""
    console = Console()
    table = Table(title="compose, milliseconds (multiple of the floor)")
    for name in (
        "scorer",
        "k",
        "L",
        "budget",
        "emb.",
        "tokens",
        "spans",
        "floor",
        "no count",
        "exact count",
        "full recount",
        "cold",
    ):
        table.add_column(name, justify="right")
    for row in rows:
        times = [
            f"{row['us'][n] / 1e3:.2f} ({row['ratio'][n]:.1f}x)"
            for n in ("no count", "exact count", "full recount", "cold")
        ]
        floor = f"{sum(row['floor_us'].values()) / 1e3:.2f}"
        numbers = [row[name] for name in ("k", "window", "budget", "embeddings", "tokens shown", "spans")]
        shown = ["default" if number is None else f"{number:g}" for number in numbers]
        table.add_row(row["scorer"], *shown, floor, *times)
    console.print(table)
    table = Table(title="growth, window 2, budget 2,000")
    for name in ("k", "ms", "us per hit", "peak MiB"):
        table.add_column(name, justify="right")
    for row in grown:
        table.add_row(f"{row['k']:,}", f"{row['ms']:.2f}", f"{row['us per hit']:.0f}", f"{row['peak MiB']:.1f}")
    console.print(table)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer queries; writes nothing unless --out")
    parser.add_argument("--grid", action="store_true", help="only the grid of hits and windows")
    parser.add_argument("--indexed", action="store_true", help="only chunks never seen, in memory and in an index")
    parser.add_argument("--out", type=Path, help=f"file to write to; {RESULTS.name} of the results by default")
    given = parser.parse_args()
    found: dict[str, Any] = {} if given.grid or given.indexed else measured(quick=given.quick)
    if not given.indexed:
        found["grid"] = grid(given.quick)
        show_grid(found["grid"])
    if not given.grid:
        found["indexed"] = from_index(given.quick)
        print(*found["indexed"], sep="\n")
    out = given.out or (None if given.quick else RESULTS)
    if out is not None:
        kept = json.loads(out.read_text(encoding="utf-8")) if (given.grid or given.indexed) and out.exists() else {}
        out.write_text(json.dumps({**kept, **found}, indent=1) + "\n", encoding="utf-8")


def measured(*, quick: bool) -> dict[str, Any]:
    """Measure and print the queries in detail, and the growth."""
    rows = [
        measure(k, window, budget, dimension=dimension, scorer=scorer, quick=quick)
        for scorer, k, window, budget in (
            ("weighted", 6, 2, 2000),
            ("weighted", 50, 2, 4000),
            ("calibrated", 6, None, 2000),
            ("calibrated", 20, None, 2000),
            ("calibrated", 50, None, 2000),
            ("calibrated", 50, 1, 2000),
        )
        for dimension in (0, 384)
    ]
    grown = growth(quick)
    show(rows, grown)
    return {**machine(), "rows": rows, "growth": grown}


if __name__ == "__main__":
    main()
