"""Numbers for collections without, and counts: where they come from, runs that were stopped, and use."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.memory_collection import MemoryCollection
from support.properties import try_examples
from support.strategies import tile
from typer.testing import CliRunner

from retrivex import RetrievalConfig, SeedHit, SpanComposer
from retrivex.adapters.base import opening, retries
from retrivex.adapters.base.backfill import Backfilled, backfill
from retrivex.adapters.base.collection import Collection, Record
from retrivex.adapters.base.fields import LAYOUTS, FieldMap
from retrivex.adapters.base.store import VectorChunkStore
from retrivex.cli import app
from retrivex.errors import ConfigError, StoreError, TokenizerError
from retrivex.merging import stored_cuts
from retrivex.merging.cuts import ChunkCuts
from retrivex.model.window import Window
from retrivex.testing import vector_of
from retrivex.timeouts import Backoff
from retrivex.tokens import StoredCount, get_tokenizer, tokenizer


def record(id: str, doc: str | None = "d", text: str = "text", **fields: Any) -> Record:
    return Record(id, {"text": text, **({} if doc is None else {"doc_id": doc}), **fields}, None, vector_of(id))


def collection_of(records: Sequence[Record], fields: FieldMap | None = None) -> MemoryCollection:
    made = MemoryCollection(fields=fields)
    made.records = list(records)
    return made


def run(records: Sequence[Record], fields: FieldMap | None = None, **said: Any) -> tuple[Backfilled, dict[str, int]]:
    """Number records; return what was done, and the numbers by id."""
    collection = collection_of(records, fields)
    made = backfill(collection, write=True, **said)
    numbered = {one.id: one.payload for one in collection.records if "chunk_count" in one.payload}
    return made, {id: payload["chunk_id"] for id, payload in numbered.items()}


def node(id: str, before: str | None, after: str | None, doc: str = "d") -> Record:
    """A node as LlamaIndex keeps it."""
    links = {name: {"node_id": other} for name, other in (("2", before), ("3", after)) if other}
    content = {"text": f"text of {id}", "relationships": links}
    return Record(id, {"ref_doc_id": doc, "_node_content": json.dumps(content)}, None, vector_of(id))


def test_offsets_number_pieces_in_the_order_of_the_text() -> None:
    records = [record(f"r{start}", char_start=start) for start in (200, 0, 100, 300)]
    made, numbers = run(records)
    assert numbers == {"r0": 0, "r100": 1, "r200": 2, "r300": 3}
    assert made == Backfilled(4, {"offsets": 1}, {}, 0, 0, 4)


def test_offsets_that_begin_anew_on_every_page_count_by_page() -> None:
    records = [record(f"p{page}-{start}", page=page, char_start=start) for page in (2, 1) for start in (50, 0)]
    assert run(records)[1] == {"p1-0": 0, "p1-50": 1, "p2-0": 2, "p2-50": 3}


def test_links_number_pieces_and_chains_do_not_touch() -> None:
    records = [node("b", "a", None), node("x", None, "y"), node("a", None, "b"), node("y", "x", None)]
    made, numbers = run(records, LAYOUTS["llamaindex"])
    assert made.documents == {"links": 1}
    assert numbers["b"] == numbers["a"] + 1
    assert numbers["y"] == numbers["x"] + 1
    assert len({*numbers.values()}) == 4
    assert abs(numbers["b"] - numbers["x"]) != 1
    assert abs(numbers["y"] - numbers["a"]) != 1


def test_numbers_that_are_there_stay() -> None:
    made, numbers = run([record("a", chunk_id=7), record("b", chunk_id=3)])
    assert (made.documents, numbers) == ({"numbers": 1}, {"a": 7, "b": 3})


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ([{}, {}], "only if the collection gives its records in the order"),
        ([{"char_start": 5}, {"char_start": 5}], "two pieces begin at the same offset"),
        ([{"chunk_id": 1}, {}], "only 1 of 2 pieces have a number"),
        ([{"chunk_id": 1}, {"chunk_id": 1}], "number 1 is there 2 times"),
        ([{"char_start": 5}, {}], "without numbers, links or offsets"),
    ],
)
def test_what_does_not_say_its_order_stays_without_numbers(fields: list[dict[str, int]], reason: str) -> None:
    made, numbers = run([record(f"r{i}", **known) for i, known in enumerate(fields)])
    assert numbers == {}
    assert made.unnumbered_count == 1
    assert reason in made.unnumbered["d"]


def test_the_order_of_the_collection_counts_where_it_is_trusted() -> None:
    made, numbers = run([record("c"), record("a"), record("b")], by_order=True)
    assert (made.documents, numbers) == ({"order": 1}, {"c": 0, "a": 1, "b": 2})


def test_records_without_a_document_or_a_text_are_counted() -> None:
    made, numbers = run([record("a", doc=None), record("b", text=""), record("c")])
    assert (made.records, made.orphans, numbers) == (3, 2, {"c": 0})


@pytest.mark.parametrize("root", [None, "metadata"])
def test_numbers_are_written_where_the_store_looks_for_them(root: str | None) -> None:
    fields = FieldMap(root=root)
    records = []
    for i in (2, 0, 1):
        known = {"doc_id": "d", "char_start": 10 * i}
        payload = {"text": f"text {i}", **(known if root is None else {root: known})}
        records.append(Record(f"r{i}", payload, None, vector_of(str(i))))
    collection = collection_of(records, fields)
    made = backfill(collection, write=True, batch=2)
    assert made.written == 3
    assert [len(changes) for changes in collection.written] == [2, 1]
    found = VectorChunkStore(collection).fetch([Window("d", 0, 9)])
    assert sorted((c.metadata.chunk_id, c.text, c.metadata.chunk_count) for c in found) == [
        (0, "text 0", 3),
        (1, "text 1", 3),
        (2, "text 2", 3),
    ]


class Stopped(BaseException):
    """As a kill: nothing catches it."""


@try_examples(40)
@given(st.integers(0, 12), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_a_run_that_was_stopped_goes_on_and_ends_as_if_it_had_not(stop_at: int, batch: int, seed: int) -> None:
    starts = random.Random(seed).sample(range(100), 9)
    whole = {f"r{start}": number for number, start in enumerate(sorted(starts))}
    collection = collection_of([record(f"r{start}", char_start=start) for start in starts])
    calls = 0

    def counted(method: Any) -> Any:
        def call(*args: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == stop_at:
                raise Stopped
            return method(*args)

        return call

    collection.ask = counted(collection.ask)  # type: ignore[method-assign]
    collection.write = counted(collection.write)  # type: ignore[method-assign]
    for _ in range(2):
        try:
            backfill(collection, write=True, batch=batch)
        except Stopped:
            continue
        break
    assert {r.id: r.payload["chunk_id"] for r in collection.records} == whole


def test_a_second_run_writes_nothing_and_without_write_nothing_is_written() -> None:
    collection = collection_of([record("a", char_start=0), record("b", char_start=5)])
    assert backfill(collection).written == 0
    for _ in range(2):
        assert backfill(collection, write=True).written == 2
    assert len(collection.written) == 1


@pytest.mark.parametrize("batch", [0, -1, True, 2.5, 10**6])
def test_a_batch_is_a_number(batch: Any) -> None:
    with pytest.raises(StoreError, match="batch is"):
        backfill(collection_of([]), batch=batch)


@pytest.mark.parametrize("as_page", [int, str, float])
def test_pages_are_numbers_however_they_are_written(as_page: Any) -> None:
    records = [
        record(f"p{p}-{start}", page=as_page(p), char_start=start) for p, start in ((2, 3), (1, 0), (1, 50), (2, 60))
    ]
    assert run(records)[1] == {"p1-0": 0, "p1-50": 1, "p2-3": 2, "p2-60": 3}


def test_documents_of_two_tenants_are_two_documents() -> None:
    records = [
        record(f"{who}{start}", scope=who, char_start=start) for start in (0, 10, 20) for who in ("acme", "zebra")
    ]
    collection = collection_of(records)
    assert backfill(collection, write=True).documents == {"offsets": 2}
    for who in ("acme", "zebra"):
        found = VectorChunkStore(collection).fetch([Window("d", 0, 9)], who)
        assert sorted((c.metadata.chunk_id, c.metadata.chunk_count) for c in found) == [(0, 3), (1, 3), (2, 3)]
        assert {c.metadata.scope for c in found} == {who}


@pytest.mark.parametrize("odd", [{"chunk_id": "9" * 5000}, {"char_start": 10**30}, {"page": 10**30}])
def test_one_odd_record_does_not_end_the_run(odd: dict[str, Any]) -> None:
    made, numbers = run([record("a", **{"doc_id": "odd", **odd}), record("b", char_start=0)])
    assert made.records == 2
    assert numbers["b"] == 0


def test_a_collection_that_cannot_be_written_to_is_one_clear_error() -> None:
    class ReadOnly(MemoryCollection):
        write = Collection.write

    collection = ReadOnly()
    collection.records = [record("a", char_start=0)]
    with pytest.raises(StoreError, match="cannot be written to"):
        backfill(collection, write=True)


# ---- counts

SENTENCES = [f"Worker bees of hive {n} store honey. They sleep at night. " * 9 for n in range(12)]
EXACT = get_tokenizer("cl100k_base")
QUESTION = "Where do worker bees store honey?"


def hive(fields: FieldMap | None = None) -> tuple[MemoryCollection, list[SeedHit]]:
    chunks = list(tile("hives", SENTENCES, chunk_count=len(SENTENCES)).values())
    made = MemoryCollection([replace(chunk, embedding=vector_of(chunk.text)) for chunk in chunks], fields=fields)
    return made, [SeedHit(chunks[n], 1 / (1 + n)) for n in (2, 6, 9)]


def with_counts(collection: MemoryCollection, **said: Any) -> Backfilled:
    return backfill(collection, write=True, tokenizer=EXACT, **said)


@pytest.mark.parametrize(
    "fields",
    [
        None,
        FieldMap(root="metadata"),
        FieldMap(counts="tokens_of_it"),
        FieldMap(counts="extra.counts"),
        FieldMap(counts="extra.more.counts", root="metadata"),
    ],
)
def test_counts_in_the_payload_save_reading_and_change_nothing(
    fields: FieldMap | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection, hits = hive(fields)
    store = VectorChunkStore(collection)
    composer = partial(SpanComposer, RetrievalConfig(token_budget=300), tokenizer="cl100k_base")
    before = composer().compose(hits, store, query=QUESTION)
    assert with_counts(collection, batch=5).counted == 12
    read: list[str] = []
    monkeypatch.setattr(ChunkCuts, "read", lambda text, *_: read.append(text))
    counted = EXACT.count(before.text)
    made = composer().compose(hits, store, query=QUESTION)
    again = asyncio.run(composer().acompose(hits, store, query=QUESTION))
    assert made.to_json() == again.to_json() == before.to_json()
    assert made.tokens == counted <= 300
    assert read == []


def changed(collection: MemoryCollection, change: Callable[[str], Any]) -> None:
    """Change what the records say of their counts."""
    for at, one in enumerate(collection.records):
        said = change(one.payload["chunk_counts"])
        collection.records[at] = Record(one.id, {**one.payload, "chunk_counts": said}, None, one.vector)


LIES: list[Callable[[str], Any]] = [
    lambda said: said.replace(said.split()[0], "1", 1),
    lambda said: said.replace(said.split()[0], "-5", 1),
    lambda said: said.replace(said.split()[0], "9" * 400, 1),
    lambda said: said.replace(said.split()[0], "\u0664", 1),
    lambda said: " ".join([*said.split()[:2], "not-base64!", "cl100k_base"]),
    lambda said: " ".join([*said.split()[:2], "\u00e9", "cl100k_base"]),
    lambda said: said + " " * 5000,
    lambda said: StoredCount.of("another text", 1, "cl100k_base").to_field("cl100k_base"),
    lambda said: said.removesuffix("cl100k_base"),
    lambda said: "",
    lambda said: 17,
    lambda said: ["1", "2"],
    lambda said: {"tokens": 1},
    lambda said: None,
]


@pytest.mark.parametrize("lie", range(len(LIES)))
def test_counts_that_do_not_hold_change_nothing(lie: int) -> None:
    collection, hits = hive()
    store = VectorChunkStore(collection)
    composer = partial(SpanComposer, RetrievalConfig(token_budget=300), tokenizer="cl100k_base")
    before = composer().compose(hits, store, query=QUESTION)
    with_counts(collection)
    changed(collection, LIES[lie])
    made = composer().compose(hits, store, query=QUESTION)
    assert made.to_json() == before.to_json()
    assert made.tokens == EXACT.count(made.text)


@try_examples(40)
@given(st.integers(0, 700), st.sampled_from([None, QUESTION]))
def test_the_budget_holds_for_counts_that_were_signed_and_are_wrong(tokens: int, query: str | None) -> None:
    collection, hits = hive()
    for at, one in enumerate(collection.records):
        lie = StoredCount.of(one.payload["text"], tokens, "cl100k_base").to_field("cl100k_base")
        collection.records[at] = Record(one.id, {**one.payload, "chunk_counts": lie}, None, one.vector)
    composer = SpanComposer(RetrievalConfig(token_budget=200), tokenizer="cl100k_base")
    made = composer.compose(hits, VectorChunkStore(collection), query=query)
    assert made.tokens == EXACT.count(made.text) <= 200


def test_a_text_that_was_changed_is_counted() -> None:
    collection, _ = hive()
    with_counts(collection)
    at = next(at for at, one in enumerate(collection.records) if one.payload["chunk_id"] == 3)
    one = collection.records[at]
    collection.records[at] = Record(one.id, {**one.payload, "text": "Something else."}, None, one.vector)
    store = VectorChunkStore(collection)
    holding = {
        chunk.metadata.chunk_id: count is not None and count.holds(chunk.text, "cl100k_base")
        for chunk, count in store.fetch_counted([Window("hives", 2, 5)], tokenizer="cl100k_base")
    }
    assert holding == {2: True, 3: False, 4: True}


def test_fields_stay_small() -> None:
    collection = collection_of(
        [record("long", text="A. B! C? " * 25_000, chunk_id=0), record("no", text="", chunk_id=1)]
    )
    with_counts(collection)
    payload = collection.records[0].payload
    assert len(payload["chunk_counts"]) < 100
    ((chunk, count),) = VectorChunkStore(collection).fetch_counted([Window("d", 0, 1)], tokenizer="cl100k_base")
    assert count is not None
    assert count.holds(chunk.text, "cl100k_base")
    assert count.cuts is None
    assert "chunk_counts" not in collection.records[1].payload


def test_counts_of_another_tokenizer_take_the_place_of_the_first_ones() -> None:
    collection, _ = hive()
    for name in ("cl100k_base", "estimate"):
        made = backfill(collection, write=True, tokenizer=get_tokenizer(name))
        assert (made.written, made.counted) == (12, 12)
    assert {one.payload["chunk_counts"].split()[-1] for one in collection.records} == {"estimate"}


@try_examples(25)
@given(st.integers(0, 20), st.integers(1, 5))
def test_counting_that_was_stopped_goes_on_and_ends_as_if_it_had_not(stop_at: int, batch: int) -> None:
    whole, _ = hive()
    collection, _ = hive()
    calls = 0

    def stopping(method: Any) -> Any:
        def call(*args: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == stop_at:
                raise Stopped
            return method(*args)

        return call

    collection.ask = stopping(collection.ask)  # type: ignore[method-assign]
    collection.write = stopping(collection.write)  # type: ignore[method-assign]
    with_counts(whole)
    for _ in range(2):
        try:
            with_counts(collection, batch=batch)
        except Stopped:
            continue
        break
    assert [one.payload for one in collection.records] == [one.payload for one in whole.records]


def test_counts_are_not_kept_beside_a_collection() -> None:
    collection, _ = hive()
    with pytest.raises(StoreError, match="kept in the collection only: backfill with write=True"):
        backfill(collection, tokenizer=EXACT)
    collection.fields = FieldMap(counts=())
    with pytest.raises(StoreError, match=r"no field for counts: name one with fields=FieldMap\(counts"):
        backfill(collection, write=True, tokenizer=EXACT)


def payloads(collection: MemoryCollection) -> list[dict[str, Any]]:
    return [dict(one.payload) for one in collection.records]


def put(collection: MemoryCollection, at: int, **values: Any) -> None:
    one = collection.records[at]
    collection.records[at] = Record(one.id, {**one.payload, **values}, None, one.vector)


@pytest.mark.parametrize("root", [None, "metadata"])
@pytest.mark.parametrize(
    ("counts", "read"),
    [
        ("doc_id", "doc_id"),
        ("scope", "scope"),
        ("chunk_id", "chunk_id"),
        ("chunk_index", "chunk_id"),
        ("timestamp", "timestamp"),
        ("score", "score"),
        ("meta", "parent_id"),
        ("meta.parent.counts", "parent_id"),
    ],
)
def test_counts_are_not_written_over_another_field(root: str | None, counts: str, read: str) -> None:
    collection, _ = hive(FieldMap(root=root, counts=counts, parent_id="meta.parent"))
    before = payloads(collection)
    with pytest.raises(
        ConfigError, match=rf"counts would be written to '.*{counts}', and {read} .*--field counts=OTHER"
    ):
        with_counts(collection)
    assert (payloads(collection), collection.written, collection.asked) == (before, [], [])


@pytest.mark.parametrize("counts", ["text", "content", "vector", "embedding"])
def test_counts_are_not_written_over_texts_and_vectors(counts: str) -> None:
    collection, _ = hive(FieldMap(counts=counts))
    with pytest.raises(ConfigError, match=f"counts would be written to '{counts}', and (text|embedding) is read"):
        with_counts(collection)
    assert collection.written == []


@pytest.mark.parametrize(
    "value", [17, 0, False, "3", "3 5", "three of them", ["1"], {"tokens": 1}, "9 9 ! name", "x" * 5000]
)
@pytest.mark.parametrize("name", ["chunk_counts", "extra.counts"])
def test_a_value_of_somebody_else_is_not_overwritten(value: Any, name: str) -> None:
    collection, _ = hive(FieldMap(counts=name))
    first, _, inner = name.partition(".")
    put(collection, 11, **{first: {inner: value} if inner else value})
    before = payloads(collection)
    id = collection.records[11].id
    for _ in range(2):
        with pytest.raises(
            StoreError, match=rf"record '{id}' has .* in '{name}', which .*--field counts=OTHER"
        ) as error:
            with_counts(collection, batch=5)
        assert len(str(error.value)) < 400
        assert (payloads(collection), collection.written) == (before, [])
    collection.fields = FieldMap(counts="own_counts")  # the way out, with the same file
    assert with_counts(collection).counted == 12
    assert [{**one, "own_counts": ""} for one in before] == [{**one, "own_counts": ""} for one in payloads(collection)]


@pytest.mark.parametrize("value", [None, "", [], {}])
def test_an_empty_value_is_no_value(value: Any) -> None:
    collection, _ = hive()
    put(collection, 3, chunk_counts=value)
    assert with_counts(collection).counted == 12
    assert StoredCount.is_field(collection.records[3].payload["chunk_counts"])


def test_a_field_that_the_store_keeps_for_itself_is_refused() -> None:
    collection, _ = hive(FieldMap(counts="id"))
    collection.refuses_text = {"id": "it holds the ids"}.get  # type: ignore[method-assign]
    with pytest.raises(StoreError, match=r"cannot keep counts in 'id': it holds the ids; .*--field counts=OTHER"):
        with_counts(collection)
    assert collection.written == []


# ---- counts: a second run


def counts_hold(collection: MemoryCollection) -> bool:
    said = [StoredCount.from_field(one.payload.get("chunk_counts"), "cl100k_base") for one in collection.records]
    texts = [one.payload["text"] for one in collection.records]
    return all(one is not None and one.holds(text, "cl100k_base") for one, text in zip(said, texts, strict=True))


def test_a_second_run_with_counts_reads_all_and_counts_and_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    collection, _ = hive()
    first = with_counts(collection, batch=5)
    written, asked = len(collection.written), len(collection.asked)
    monkeypatch.setattr(type(EXACT), "count", lambda *_: pytest.fail("counted again"))
    assert with_counts(collection, batch=5) == first
    assert len(collection.written) == written
    assert len(collection.asked) == asked + 3


def test_a_second_run_counts_what_was_changed() -> None:
    collection, _ = hive()
    with_counts(collection)
    put(collection, 3, text="Something else.")
    put(collection, 5, chunk_counts=None)
    put(collection, 7, chunk_counts=StoredCount.of("another text", 1, "cl100k_base").to_field("cl100k_base"))
    collection.written.clear()
    assert with_counts(collection).counted == 12
    assert counts_hold(collection)
    (changes,) = collection.written
    assert set(changes) == {collection.records[at].id for at in (3, 5, 7)}


@pytest.mark.parametrize("renamed", [False, True])
def test_a_second_run_finds_a_collection_that_was_filled_again(renamed: bool) -> None:
    filled = [record(f"r{start}", text=f"Text {start}.", char_start=start) for start in (20, 0, 10, 30)]
    collection = collection_of(filled)
    assert with_counts(collection).counted == 4
    collection.records = [replace(one, id=f"new {one.id}") if renamed else one for one in filled]
    made = with_counts(collection)
    assert (made.records, made.written, made.counted) == (4, 4, 4)
    assert counts_hold(collection)
    assert [one.payload["chunk_id"] for one in collection.records] == [2, 0, 1, 3]


def test_a_second_run_finds_records_that_were_added_and_deleted() -> None:
    collection = collection_of([record(f"r{start}", text=f"Text {start}.", char_start=start) for start in (0, 10, 20)])
    with_counts(collection)
    collection.records.insert(1, record("r5", text="Text 5.", char_start=5))
    made = with_counts(collection)
    assert (made.records, made.written, made.counted) == (4, 4, 4)
    assert [one.payload["chunk_id"] for one in collection.records] == [0, 1, 2, 3]
    assert counts_hold(collection)
    del collection.records[2]
    made = with_counts(collection)
    assert (made.records, made.written, made.counted) == (3, 3, 3)


def test_a_second_run_keeps_the_name_that_a_document_was_given_since() -> None:
    collection = collection_of([record("a", char_start=0), record("b", char_start=5)])
    with_counts(collection)
    put(collection, 1, doc_id="another")
    with_counts(collection)
    assert [one.payload["doc_id"] for one in collection.records] == ["d", "another"]


def test_a_run_that_was_stopped_while_writing_looks_again() -> None:
    collection = collection_of([record(f"r{n}", text=f"Text {n}.", chunk_id=n) for n in range(4)])
    filled = list(collection.records)
    write = collection.write

    def stop_at_counts(changes: Any) -> None:
        write(changes)
        if "r1" in changes and "chunk_counts" in changes["r1"]:
            raise Stopped

    collection.write = stop_at_counts  # type: ignore[method-assign]
    with pytest.raises(Stopped):
        with_counts(collection, batch=2)
    collection.write = write  # type: ignore[method-assign]
    collection.records = filled
    assert with_counts(collection, batch=2).counted == 4
    assert counts_hold(collection)


@pytest.mark.parametrize("fails", [1, 9])
def test_a_store_that_is_down_while_it_is_written_to_is_asked_again(
    fails: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retries, "_BACKOFF", Backoff(0.0))
    collection, _ = hive()
    write, left = collection.write, [ConnectionError("gone")] * fails

    def failing(changes: Any) -> None:
        if left:
            raise left.pop()
        write(changes)

    collection.write = failing  # type: ignore[method-assign]
    if fails == 1:
        assert with_counts(collection).counted == 12
    else:
        with pytest.raises(StoreError, match=r"memory 'test' is down, asked 3 times \(ConnectionError: gone\)"):
            with_counts(collection)


def test_cuts_by_other_rules_are_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    collection, _ = hive()
    with_counts(collection)
    old = payloads(collection)
    stored_cuts.rules.cache_clear()
    monkeypatch.setattr(stored_cuts, "VERSION", stored_cuts.VERSION + 1)
    try:
        assert with_counts(collection).counted == 12
    finally:
        stored_cuts.rules.cache_clear()
    assert all(
        one["chunk_counts"] != before["chunk_counts"] for one, before in zip(payloads(collection), old, strict=True)
    )


def test_estimates_are_not_written_where_auto_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> Any:
        raise TokenizerError(f"tokenizer {name!r}: no file. Set TIKTOKEN_CACHE_DIR to a folder that holds it")

    collection, _ = hive()
    monkeypatch.setattr(opening, "open_collection", lambda *_: collection)
    monkeypatch.setattr(tokenizer, "_named", {})
    monkeypatch.setattr(tokenizer, "load_encoding", refuse)
    said = ["backfill", "qdrant", "x", "docs", "--write", "--counts"]
    result = CliRunner().invoke(app, [*said, "auto"])
    assert result.exit_code != 0
    assert "TIKTOKEN_CACHE_DIR" in result.output + str(result.exception)
    assert collection.written == []
    assert CliRunner().invoke(app, [*said, "estimate"]).exit_code == 0
    assert {one["chunk_counts"].split()[-1] for one in payloads(collection)} == {"estimate"}
