"""What the checks of foreign data cost: composing with them beside composing without them, same code, processor time.

Run: `make bench-checks` (or `python -m benchmarks.speed.checks`); writes `results/checks.json`.

Two processes load the same package. One switches off, at run time, what `CHECKS` lists: every look at what a store, a
file, an earlier turn or a caller says, before it is used. They take turns, and which goes first alternates. A round is
the processor time of composing a few questions with 50 hits; the figure is the median ratio of the two in a round, and
its interval that of the median over resampled rounds (bootstrap; 95 %). Both must write the same contexts, as all of
the data is honest.

Not switched off: what is no check but how a thing is done, such as that a text is counted by the tokenizer at all, or
that values have twelve decimals; comparisons that are a part of a larger step, such as that of a hit's scope with those
that the caller may see. What cleans addresses runs only where something fails.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.speed import against, against_worker
from benchmarks.speed.latency import machine
from retrivex import Chunk, ChunkMetadata, RetrivexError, SeedHit, Span, SpanComposer
from retrivex.composer import call, pinned
from retrivex.expansion import seeds
from retrivex.merging import cuts, exclusions, parents, stored_cuts
from retrivex.model.document import Document
from retrivex.stores import InMemoryChunkStore, SQLiteStore, access, memory
from retrivex.tokens import get_tokenizer, stored

RESULTS = Path(__file__).parents[1] / "results" / "checks.json"
TURNS = "warm, scopes, parents, links, vectors, an earlier turn"
CASES = (*against.CASES, TURNS)
LIMIT = 5.0  # per cent


@dataclass(frozen=True)
class Check:
    """A check, and what takes its place where it is switched off.

    Parameters
    ----------
    says : what is looked at
    owner, name : the function or method
    instead : without the look
    """

    says: str
    owner: Any
    name: str
    instead: Callable[..., Any]


def _believe_count(counts: stored.CandidateCounts, text: str, said: Any) -> None:
    """Take a stored count for one of the tokenizer's own."""
    if said is not None:
        if not counts.cache.knows(text):
            counts.cache._counts.put([text], [said.tokens])
        if said.cuts is not None:
            counts.stored_cuts[text] = said.cuts


def _believe_cuts(packed: bytes, text: str) -> cuts.ChunkCuts:
    _, begin, end, punctuated, cased, count = stored_cuts._HEAD.unpack_from(packed)
    ends = stored_cuts.struct.unpack_from(f"<{count}I", packed, stored_cuts._HEAD.size)
    edges = cuts.Edges(stored_cuts._BEGINS[begin], stored_cuts._ENDS[end], bool(punctuated), stored_cuts._CASED[cased])
    fence = packed[stored_cuts._HEAD.size + 4 * count :].decode()
    return cuts.ChunkCuts.of(ends, edges, fence)


def _believe_mapping(store: Mapping[Any, Chunk], windows: Sequence[Any]) -> list[Chunk]:
    keys = ((window.doc_id, number) for window in windows for number in range(window.start, window.end))
    return [chunk for key in keys if (chunk := store.get(key)) is not None]


def _believe_reply(_: access.StoreAccess, request: access.ChunkRequest, found: Iterable[Chunk]) -> access.ChunkReply:
    return access.ChunkReply({chunk.key: chunk for chunk in found})


def _believe_parents(asked: access.StoreAccess, request: access.ParentRequest) -> dict[str, Any]:
    store = asked.parent_store
    if store is None or isinstance(store, Mapping):
        return {name: store[name] for name in request.parent_ids if name in store} if store else {}
    return dict(store.fetch_parents(request.parent_ids, asked.scope))


def _believe_pinned(item: Any, tokenizer: Any, original: Callable[..., Span] = pinned.pinned_span) -> Span:
    return replace(item, pinned=True) if isinstance(item, Span) else original(item, tokenizer)


CHECKS = (
    Check("counts of a store: checksum, range, text", stored.CandidateCounts, "add", _believe_count),
    Check("cuts of a store: checksum, range, order", stored_cuts, "unpack", _believe_cuts),
    Check("chunks of a mapping: filed under their own key", memory, "fetch_from_mapping", _believe_mapping),
    Check("chunks of a store: scope, asked for, one text each", access.StoreAccess, "_chunks", _believe_reply),
    Check("chunks of a store: are chunks", access, "_check_answer", list),
    Check("ends of rows: a set", access.StoreAccess, "_row_ends", lambda a: getattr(a.store, "row_ends", frozenset())),
    Check("parents: asked for, scope", access.StoreAccess, "_ask_parents", _believe_parents),
    Check("parents: told by chunks that may be seen", parents, "_find_uncovered", lambda *_: ""),
    Check("pinned spans: counted anew", pinned, "pinned_span", _believe_pinned),
    Check("pinned spans: shown once", exclusions.Exclusions, "left_of", lambda _, span: [(0, len(span.text))]),
    Check("hits: are hits", seeds, "as_hit_lists", lambda hits: [list(hits)]),
    Check("hits: something visible in them", seeds, "_is_invisible", lambda _: False),
    Check("hits: a place of their own", seeds, "_separate", lambda lists, _: lists),
    Check("options: names", call, "_refuse_misspelt_arguments", lambda _: None),
)  # fmt: skip


def find_places(check: Check) -> Iterator[tuple[Any, str]]:
    """Yield all places where a check is called from: its own, and those of the modules that have imported it."""
    original = getattr(check.owner, check.name)
    yield check.owner, check.name
    for module in list(sys.modules.values()):
        if module is not None and module is not check.owner and module.__name__.startswith("retrivex"):
            for name, value in list(vars(module).items()):
                if value is original:
                    yield module, name


def switch_off() -> None:
    """Put in place of each check what does without."""
    for check in CHECKS:
        for owner, name in list(find_places(check)):
            setattr(owner, name, check.instead)


# ---- what is composed


class Calls:
    """The questions of `against_worker`, with their stores; and a second turn over everything that checks look at."""

    def __init__(self, folder: Path) -> None:
        rng = against_worker.random.Random(7)
        records = list(against_worker.make_chunks(rng))
        self.memory = {(r["doc_id"], r["chunk_id"]): _make_chunk(r) for r in records}
        asked = against_worker.make_questions({key: chunk.text for key, chunk in self.memory.items()}, rng)
        self.database = SQLiteStore(folder / "chunks.db")
        tokenizer = get_tokenizer()
        for name in dict.fromkeys(doc_id for doc_id, _ in self.memory):
            chunks = [self.memory[name, number] for number in range(against_worker.CHUNKS)]
            texts = [chunk.text for chunk in chunks]
            counts = stored_cuts.count_and_cut(texts, tokenizer)
            self.database.put(Document(name, "".join(texts)), chunks, token_counts=counts, tokenizer=tokenizer.name)
        self.plain = [(question, self._hits(self.memory, keys)) for question, keys in asked]
        vector = np.random.default_rng(7)
        self.rich = {key: _enrich(chunk, vector) for key, chunk in self.memory.items()}
        self.parents = _make_parents(self.rich)
        self.store = InMemoryChunkStore(self.rich.values())
        self.query_vector = vector.normal(size=64)
        self.composer = SpanComposer()
        self.turns = [(question, self._hits(self.rich, keys), self._earlier(keys[5:])) for question, keys in asked]

    @staticmethod
    def _hits(store: Mapping[tuple[str, int], Chunk], keys: Sequence[tuple[str, int]]) -> list[SeedHit]:
        return [SeedHit(store[key], 1.0 / (rank + 1)) for rank, key in enumerate(keys)]

    def _earlier(self, keys: Sequence[tuple[str, int]]) -> Sequence[Span]:
        """Return what an earlier turn showed: two passages or more, some to pin and some to exclude."""
        hits = self._hits(self.rich, keys)
        made = SpanComposer().compose(hits, self.rich, scope="acme", token_budget=2000, window=0)
        if len(made.spans) < 2:
            raise RetrivexError("the earlier turn shows fewer than two passages: there is nothing to pin and exclude")
        return made.spans

    def compose(self, case: str) -> list[str]:
        """Return the contexts of a case."""
        if case == TURNS:
            return [
                self.composer.compose(
                    hits, self.store, self.parents, query=question, scope="acme", query_embedding=self.query_vector,
                    return_parents="auto", follow_links=1, diversity=0.3, pinned=spans[:1], exclude=spans[1:],
                ).text
                for question, hits, spans in self.turns
            ]  # fmt: skip
        store: Any = self.database if case.endswith("SQLite") else self.memory
        warm = case.startswith("warm")
        return [
            (self.composer if warm else SpanComposer()).compose(hits, store, query=question).text
            for question, hits in self.plain
        ]


def _make_chunk(record: Mapping[str, Any]) -> Chunk:
    start, text = record["start"], record["text"]
    count = against_worker.CHUNKS
    metadata = ChunkMetadata(record["doc_id"], record["chunk_id"], start, start + len(text), chunk_count=count)
    return Chunk(text, metadata)


def _enrich(chunk: Chunk, vector: np.random.Generator) -> Chunk:
    """Give a chunk all that checks look at: a mark to begin with, in every fourth, and no number of chunks."""
    doc_id, number = chunk.key
    text = f"({chunk.text[1:]}" if number % 4 == 0 else chunk.text
    other = (f"doc-{(int(doc_id[4:]) + 1) % against_worker.DOCUMENTS}", number)
    parent = f"{doc_id}/{number // _siblings(doc_id)}"
    metadata = replace(chunk.metadata, scope="acme", parent_id=parent, links=(other,), chunk_count=None)
    return Chunk(text, metadata, vector.normal(size=64))


def _siblings(doc_id: str) -> int:
    """Return the number of chunks of a parent: two, or four, which are longer than `max_parent_chars`."""
    return 2 if int(doc_id[4:]) % 2 else 4


def _make_parents(store: Mapping[tuple[str, int], Chunk]) -> dict[str, Chunk | str]:
    """Make a parent of every few chunks: a text, or a chunk."""
    made: dict[str, Chunk | str] = {}
    for (doc_id, number), first in store.items():
        count = _siblings(doc_id)
        if number % count == 0:
            text = "".join(store[doc_id, at].text for at in range(number, number + count))
            start = first.metadata.char_start or 0
            metadata = ChunkMetadata(doc_id, number, start, start + len(text), scope="acme")
            made[f"{doc_id}/{number // count}"] = Chunk(text, metadata) if number % (2 * count) else text
    return made


def work(folder: Path, *, checked: bool) -> None:
    """Answer the names of cases until standard input ends: with milliseconds a question, or a digest of all texts."""
    if not checked:
        switch_off()
    calls = Calls(folder)
    for line in sys.stdin:
        case = line.strip()
        if case == "same":
            texts = "\0".join(text for name in CASES for text in calls.compose(name))
            answer: Any = hashlib.sha256(texts.encode()).hexdigest()
        else:
            began = time.process_time()
            made = calls.compose(case)
            answer = (time.process_time() - began) * 1e3 / len(made)
        print(json.dumps(answer), flush=True)
    calls.database.close()


class Side(against.Version):
    """A process that composes with the checks, or without."""

    def __init__(self, folder: Path, *, checked: bool) -> None:
        folder.mkdir()
        said = ["-m", "benchmarks.speed.checks", "--work", str(folder), "--checked" if checked else "--no-checked"]
        self.start(said)


def main() -> None:
    """Measure all cases, print and keep them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=against.ROUNDS)
    parser.add_argument("--keep", action=argparse.BooleanOptionalAction, default=True, help="write the result")
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--checked", action=argparse.BooleanOptionalAction, default=True, help=argparse.SUPPRESS)
    said = parser.parse_args()
    if said.work is not None:
        work(said.work, checked=said.checked)
        return
    with TemporaryDirectory() as made:
        without, having = Side(Path(made) / "without", checked=False), Side(Path(made) / "with", checked=True)
        try:
            rows = [against.measure(without, having, case, said.rounds) for case in CASES]
            same = without.ask("same") == having.ask("same")
        finally:
            without.close()
            having.close()
    against.show(rows)
    print("the contexts are the same" if same else "the contexts differ")
    if said.keep:
        checks = [f"{check.says} ({check.name})" for check in CHECKS]
        result = {"checks": checks, "rows": rows, "same_contexts": same, "machine": machine()}
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
