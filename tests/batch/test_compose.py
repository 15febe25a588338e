from __future__ import annotations

import json
import pickle
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest
from fuzz.stores import OddStore
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.batch_world import CONFIG, FailingStore, MadeStore, compose_loop, make_chunks, make_rows, make_table
from support.strategies import budgets, count_words, make_chunk, option_choices, scores, worlds

from retrivex import Composition, RetrievalConfig, SpanComposer, Window
from retrivex.batch import ComposeWork, compose_table, record_of
from retrivex.cli.compose import answer_line
from retrivex.composer.requests import compose_request, read_checked
from retrivex.errors import StoreError, TokenizerError
from retrivex.model.media import Media
from retrivex.model.serialization import chunk_to_dict
from retrivex.stores import InMemoryChunkStore
from retrivex.tokens import get_tokenizer
from retrivex.tokens import tokenizer as tokenizers


def composed(table: pa.Table, *arguments: Any) -> list[dict[str, Any]]:
    return [record_of(row) for row in compose_table(table, *arguments).to_pylist()]


def test_rows_are_what_compose_in_a_loop_gives() -> None:
    rows = composed(make_table(30), SpanComposer(CONFIG), MadeStore())
    assert [json.dumps(row) for row in rows] == compose_loop(make_rows(30))


def test_a_row_reads_as_the_composition_that_it_is() -> None:
    record = composed(make_table(1), SpanComposer(CONFIG), MadeStore())[0]
    made = Composition.from_dict({key: value for key, value in record.items() if key != "id"})
    assert made.text == record["text"]
    assert made.tokens <= 60


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.Table.from_pylist([{name: row.get(name) for name in names} for row in rows])


NOT_UTF8 = pa.Array.from_buffers(
    pa.string(), 3, [None, pa.array([0, 1, 2, 3], pa.int32()).buffers()[1], pa.py_buffer(b"a\xffb")]
)


@pytest.mark.parametrize(
    ("ids", "kept", "message"),
    [
        (pa.array([1, 2**63, 3], pa.uint64()), [1, None, 3], f"id is {2**63}: a number must be below 2**63; write"),
        (pa.array([1, 2**63, 3], pa.uint64()).dictionary_encode(), [1, None, 3], f"id is {2**63}: a number must be"),
        (NOT_UTF8, ["a", None, "b"], "id is not UTF-8: write the column as UTF-8"),
    ],
)
def test_a_row_whose_id_cannot_be_written_carries_its_error(ids: pa.Array, kept: list[Any], message: str) -> None:
    made = compose_table(make_table(3).set_column(0, "id", ids), SpanComposer(CONFIG), MadeStore()).to_pylist()
    assert [row["id"] for row in made] == kept
    assert made[1]["error"]["message"].startswith(message)
    assert [row["error"] is None for row in made] == [True, False, True]
    assert made[0]["text"]


def test_a_row_whose_text_is_not_utf8_carries_its_error_and_its_id() -> None:
    table = make_table(3)
    made = composed(table.set_column(1, "question", NOT_UTF8), SpanComposer(CONFIG), MadeStore())
    assert [row["id"] for row in made] == [0, 1, 2]
    assert made[1]["error"]["message"] == "a text in 'question' is not UTF-8 (byte 0): write the column as UTF-8"
    assert "error" not in made[0] | made[2]


@pytest.mark.parametrize("ids", [pa.array([7, None, 9]), pa.array(["a", None, "c"])])
def test_ids_in_a_dictionary_come_back_as_what_it_holds(ids: pa.Array) -> None:
    made = compose_table(make_table(3).set_column(0, "id", ids.dictionary_encode()), SpanComposer(CONFIG), MadeStore())
    assert made.schema.field("id").type == ids.type
    assert made.column("id").to_pylist() == ids.to_pylist()


def test_a_null_among_lists_of_hits_is_said_to_be_one() -> None:
    hit = {"doc_id": "doc-0", "chunk_id": 1, "score": 0.5}
    kind = pa.list_(pa.list_(pa.struct([("doc_id", pa.string()), ("chunk_id", pa.int64()), ("score", pa.float64())])))
    hits = pa.array([[[hit], None, [hit]], [[hit], []]], kind)
    made = composed(pa.table({"id": [1, 2], "hits": hits}), SpanComposer(CONFIG), MadeStore())
    assert made[0]["error"]["message"] == (
        "'hits' holds 3 lists, of which number 2 is null: each must be a list of hits; write [] for a search that "
        "found nothing"
    )
    assert "error" not in made[1]


HIT = {"doc_id": "bees", "chunk_id": 0, "score": 0.8}
CHUNK = {"doc_id": "bees", "chunk_id": 0, "text": "Bees sleep.", "metadata": '{"year": 1792}', "page": 3}
LINES = [
    {
        "id": 1,
        "question": "Do bees sleep?",
        "hits": [{"doc_id": "bees", "chunk_id": 0, "score": 0.8}],
        "chunks": [CHUNK],
    },
    {"id": 2, "hits": [{"doc_id": "bees", "chunk_id": 0, "score": 0.8}]},
    {"id": 3, "hits": None},
    {"id": 4, "hits": []},
    {"id": 5, "hits": [None, {"doc_id": "bees", "chunk_id": None, "score": 0.1}], "chunks": [CHUNK]},
    {"id": 6, "hits": [{"doc_id": "bees", "chunk_id": 0, "score": float("nan")}], "chunks": [CHUNK]},
    {"id": 7, "hits": [HIT], "chunks": [CHUNK], "config": '{"window": -1}'},
    {"id": 8, "hits": [HIT], "chunks": [CHUNK], "config": "[1]"},
    {"id": 9, "hits": [HIT], "chunks": [CHUNK], "scope": ["acme", None]},
    {"id": 10, "hits": [HIT], "chunks": [CHUNK, CHUNK | {"text": "No."}]},
    {"id": 11, "hits": [HIT], "chunks": [CHUNK], "parents": '{"p": 5}'},
    {"id": 12, "hits": [HIT], "config": '{"tokenizer": "no/file.json"}'},
    {"id": None, "hits": [HIT], "chunks": [CHUNK], "query_embedding": []},
]


def as_line(row: Mapping[str, Any]) -> bytes:
    given = {name: json.loads(row[name]) if name in ("config", "parents") else row[name] for name in row}
    if "chunks" in given:
        given["chunks"] = [chunk | {"metadata": json.loads(chunk["metadata"])} for chunk in given["chunks"]]
    return json.dumps(given).encode()


def test_a_row_is_answered_in_the_words_of_retrivex_compose() -> None:
    composer = SpanComposer(CONFIG)
    lines = [answer_line(as_line(row), 1, composer, {}) for row in LINES]
    for line in lines:
        line.get("error", {}).pop("line", None)
    assert json.dumps(composed(table_of(LINES), composer)) == json.dumps(lines)
    assert [line["id"] for line in lines if "error" in line] == [2, 3, 5, 6, 7, 8, 10, 11, 12, None]


def test_over_a_store_a_row_may_bring_chunks_of_its_own() -> None:
    own = [{"doc_id": "doc-0", "chunk_id": 3, "text": "The bee of this row."}, CHUNK]
    rows = make_rows(3)
    rows[1]["hits"] = [
        {"doc_id": "doc-0", "chunk_id": 2, "score": 0.9},
        {"doc_id": "bees", "chunk_id": 0, "score": 0.8},
    ]
    rows[1]["chunks"] = own
    rows[1]["config"] = '{"effort": "full", "token_budget": 100}'
    first, second, third = composed(table_of(rows), SpanComposer(CONFIG), MadeStore())
    assert [json.dumps(first), json.dumps(third)] == compose_loop([rows[0], rows[2]])
    assert "The bee of this row." in second["text"]
    assert "Bees sleep." in second["text"]


def test_media_and_whole_documents_go_through_a_table() -> None:
    pictured = {**CHUNK, "metadata": json.dumps({"media": [{"uri": "hive.png", "alt": "A hive"}]})}
    chunks = [pictured, {**CHUNK, "chunk_id": 1, "text": "Wasps do not."}]
    row = {"question": "Do bees sleep?", "hits": [HIT], "chunks": chunks, "whole_documents": 50}
    [made] = compose_table(table_of([row]), SpanComposer(CONFIG.override(window=0))).to_pylist()
    assert made["spans"][0]["chunk_ids"] == [0, 1]
    read = Composition.from_dict({k: v for k, v in record_of(made).items() if k != "id"})
    assert [citation.media for citation in read.citations] == [(Media("hive.png", alt="A hive"),), ()]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string()), pa.int32()])
def test_an_id_comes_back_as_text_or_number(kind: pa.DataType) -> None:
    table = make_table(4)
    table = table.set_column(0, "id", table.column("id").cast(pa.string()).cast(kind))
    made = compose_table(table, SpanComposer(CONFIG), MadeStore())
    assert made.column("id").type == (pa.int64() if kind == pa.int32() else pa.string())
    assert [str(one) for one in made.column("id").to_pylist()] == ["0", "1", "2", "3"]


def test_a_table_without_ids_or_rows_is_a_table() -> None:
    assert compose_table(make_table(2).drop_columns(["id"]), SpanComposer(CONFIG), MadeStore())["id"].null_count == 2
    assert compose_table(make_table(2).slice(2), SpanComposer(CONFIG), MadeStore()).num_rows == 0


def test_half_a_surrogate_pair_is_an_escape_in_columns_of_json() -> None:
    half = LINES[0] | {"chunks": [CHUNK | {"metadata": '{"half": "\\ud83d"}'}]}
    [made] = composed(table_of([half]), SpanComposer(CONFIG))
    assert made["spans"][0]["chunks"][0]["metadata"] == {"half": "\ud83d"}


def test_a_store_that_dies_ends_the_table_and_no_row_goes_without_neighbours() -> None:
    for left in (0, 1):
        with pytest.raises(StoreError, match="no route to host"):
            compose_table(make_table(5), SpanComposer(CONFIG), FailingStore(left))


def test_a_store_that_dies_when_a_row_follows_links_ends_the_table_too() -> None:
    class Linked(InMemoryChunkStore):
        calls = 0

        def fetch(self, windows: Any, scope: Any = None) -> Any:
            self.calls += 1
            if self.calls > 2:
                raise ConnectionError("no route to host")
            return super().fetch(windows, scope)

    store = Linked([make_chunk("a", 0, "Bees sleep.", links=[("b", 0)]), make_chunk("b", 0, "Wasps do not.")])
    row = {"hits": [{"doc_id": "a", "chunk_id": 0, "score": 0.9}], "config": '{"follow_links": 1}'}
    with pytest.raises(StoreError, match="no route to host"):
        compose_table(table_of([row]), SpanComposer(CONFIG), store)
    assert store.calls == 3


def test_work_goes_to_another_process_without_its_composer() -> None:
    work = ComposeWork(CONFIG, MadeStore)
    made = work(make_table(3))
    again = pickle.loads(pickle.dumps(work))
    assert again == work
    assert again(make_table(3)).equals(made)
    assert len(pickle.dumps(work)) < 10_000


def test_a_worker_with_another_tokenizer_refuses() -> None:
    named = RetrievalConfig(token_budget=60, tokenizer="folder/of-another-machine/tokenizer.json")
    with pytest.raises(TokenizerError, match=r"of-another-machine"):
        ComposeWork(named, MadeStore)(make_table(1))


def test_work_names_the_tokenizer_that_auto_stands_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tokenizers._named, "auto", (get_tokenizer("estimate"), ()))
    assert ComposeWork(RetrievalConfig()).config.tokenizer == get_tokenizer("estimate").name
    assert ComposeWork(ComposeWork(RetrievalConfig()).config, MadeStore)(make_table(1)).num_rows == 1


# ---- whatever the documents, the options and the store


@st.composite
def batches(draw: st.DrawFn) -> tuple[Any, list[dict[str, Any]], str]:
    """A world, requests over it, and how its store behaves."""
    world = draw(worlds())
    keys = st.sampled_from(list(world.chunks))
    hits = st.lists(
        st.builds(lambda key, score: {"doc_id": key[0], "chunk_id": key[1], "score": score}, keys, scores), max_size=5
    )
    options = option_choices.map(
        lambda given: {name: value for name, value in given.items() if _is_plain(value) and name != "position_profile"}
    )
    rows = draw(
        st.lists(
            st.fixed_dictionaries(
                {
                    "question": st.sampled_from((None, "bees in winter", "what of the honey?")),
                    "hits": hits,
                    "scope": st.sampled_from((None, ["acme"], ["acme", None])),
                    "config": st.builds(lambda given, budget: {**given, "token_budget": budget}, options, budgets),
                }
            ),
            min_size=1,
            max_size=5,
        )
    )
    return world, rows, draw(st.sampled_from(("memory", "limited", "ignores scope", "gives everything")))


def _is_plain(value: Any) -> bool:
    try:
        return bool(json.loads(json.dumps(value)) == value or isinstance(value, tuple)) and not callable(value)
    except TypeError:
        return False


def alone(row: dict[str, Any], composer: SpanComposer, store: Any) -> dict[str, Any]:
    """What a row becomes by itself, its hits asked for one by one."""
    scope = None if row["scope"] is None else frozenset(row["scope"])
    windows = [Window(hit["doc_id"], hit["chunk_id"], hit["chunk_id"] + 1) for hit in row["hits"]]
    allowed = {None} if scope is None else set(scope)
    found = [chunk for window in windows for chunk in store.fetch([window], scope)]
    known = {chunk.key: chunk for chunk in found if chunk.metadata.scope in allowed}
    given = {name: value for name, value in row.items() if value is not None}
    try:
        request = read_checked(given, composer, known)
        made = compose_request(composer, request, request.scope, store)
        return json.loads(json.dumps(made.to_dict()))  # type: ignore[no-any-return]
    except Exception as error:  # noqa: BLE001 - compared with what the batch says
        return {"error": {"type": type(error).__name__}}


@given(batches())
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_a_batch_over_a_store_is_the_same_as_its_rows_alone(case: tuple[Any, list[dict[str, Any]], str]) -> None:
    world, rows, behaviour = case
    with_parents = InMemoryChunkStore(world.store.values(), world.parents)
    stores = [with_parents, OddStore(world.store, behaviour, 2 if behaviour == "limited" else None)]
    composer = SpanComposer(RetrievalConfig(), tokenizer=count_words)
    table = pa.Table.from_pylist([{**row, "config": json.dumps(row["config"])} for row in rows])
    for store in stores:
        made = composed(table, composer, store)
        for record in made:
            del record["id"]
            record.get("error", {}).pop("message", None)
        assert made == [alone(row, composer, store) for row in rows]


def test_chunks_of_rows_and_of_a_store_are_the_same_context() -> None:
    chunks = [chunk_to_dict(chunk) for chunk in make_chunks()]
    rows = [{**row, "chunks": chunks} for row in make_rows(5)]
    assert [json.dumps(row) for row in composed(table_of(rows), SpanComposer(CONFIG))] == compose_loop(make_rows(5))
