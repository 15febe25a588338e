"""Bad input: a clear error, or a drop that is reported; never a wrong answer."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.strategies import bare, compose, count_words, hits_of, make_chunk, make_store, sentences, shown_ids, tile

from retrivex import Chunk, ChunkMetadata, RetrievalConfig, RetrivexError, SeedHit, SpanComposer
from retrivex.errors import MOST_SAID, ConfigError, HitError, StoreError
from retrivex.model.chunk import MAX_CHUNK_ID
from retrivex.stores import InMemoryChunkStore, SQLiteStore

TEN = bare("d", sentences("d", 10))
ODD_IDS = ["it's", 'a "b"', "line\nbreak", "tab\t", "nul\0", "; DROP TABLE chunks", "../up", "ключ 🐝", "x" * 5000, " "]


@pytest.mark.parametrize("hits", [[], [[]], [[], []], ()], ids=repr)
@pytest.mark.parametrize("preset", ["balanced", "published", "speed", "quality"])
def test_no_hits(hits: Any, preset: str) -> None:
    options = {"published": {"selection_unit": "span"}}.get(preset, {})
    made = compose(hits, TEN, **options)
    assert (made.text, made.spans, made.tokens, made.dropped, made.citations) == ("", (), 0, (), ())
    assert asyncio.run(SpanComposer(tokenizer=count_words).aretrieve(hits, TEN, **options)) == []


def test_long_names_do_not_fill_the_warnings() -> None:
    long = "d" * 100_000
    made = compose([SeedHit(make_chunk(long, number, "Bees sleep."), 0.5) for number in range(3)], TEN)
    assert any(repr(long)[:100] in warning for warning in made.warnings)
    assert max(map(len, made.warnings)) <= MOST_SAID


def test_budget_0_and_negative() -> None:
    made = compose(hits_of(TEN, {5: 1.0}), TEN, token_budget=0)
    assert (made.text, made.tokens) == ("", 0)
    assert [hit.reason for hit in made.dropped] == ["budget"]
    with pytest.raises(ValueError, match="token_budget"):
        compose(hits_of(TEN, {5: 1.0}), TEN, token_budget=-1)


@pytest.mark.parametrize(
    ("misspelt", "meant"),
    [
        ("qestion", "query"),
        ("questoin", "query"),
        ("querry", "query"),
        ("query_embeding", "query_embedding"),
        ("scopes", "scope"),
        ("store", "chunk_store"),
        ("token_buget", "token_budget"),
        ("orderingstrategy", "ordering_strategy"),
    ],
)
def test_a_misspelt_argument_names_the_one_that_is_meant(misspelt: str, meant: str) -> None:
    with pytest.raises(ConfigError, match=rf"^{misspelt}: there is no such (argument|option); did you mean {meant}\?$"):
        SpanComposer(tokenizer=count_words).compose(hits_of(TEN, {5: 1.0}), TEN, **{misspelt: 5})


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_nan_scores(score: float) -> None:
    with pytest.raises(HitError, match="must be a finite number; drop the hit"):
        SeedHit(TEN["d", 0], score)


def test_huge_scores() -> None:
    made = compose(hits_of(TEN, {1: 1.7e308, 5: -1.7e308, 8: 5e-324}), TEN, window=0)
    assert made.spans[0].chunk_ids == [1]
    assert shown_ids(made.spans) == [1, 5, 8]


def test_the_same_id_with_another_text() -> None:
    other = make_chunk("d", 5, "Something else.")
    made = compose([*hits_of(TEN, {5: 0.9}), SeedHit(other, 0.8)], TEN, window=0)
    assert [(hit.chunk_id, hit.reason) for hit in made.dropped] == [(5, "duplicate_id")]
    assert "d5a" in made.text
    with pytest.raises(HitError, match="their texts differ"):
        compose([*hits_of(TEN, {5: 0.9}), SeedHit(other, 0.8)], TEN, strict=True)
    with pytest.raises(StoreError, match="share the id"):
        InMemoryChunkStore([TEN["d", 5], other])


def test_another_text_in_the_hit_than_in_the_store() -> None:
    stale = SeedHit(make_chunk("d", 5, "An old version of it."), 0.9)
    made = compose([stale], TEN, window=1)
    assert "old version" not in made.text
    assert any("another text in the chunk store" in warning for warning in made.warnings)
    with pytest.raises(HitError, match="another text"):
        compose([stale], TEN, window=1, strict=True)


def test_a_hit_that_is_not_in_the_store() -> None:
    stray = SeedHit(make_chunk("elsewhere", 7, "Known to the retriever alone."), 0.9)
    made = compose([stray, *hits_of(TEN, {5: 0.5})], TEN)
    assert "Known to the retriever alone." in made.text
    assert any("('elsewhere', 7)" in warning for warning in made.warnings)
    with pytest.raises(HitError, match="not in the chunk store"):
        compose([stray], TEN, strict=True)


def test_a_missing_neighbour() -> None:
    store = {key: chunk for key, chunk in TEN.items() if key[1] not in (4, 6)}
    made = compose(hits_of(TEN, {5: 1.0}), store)
    assert shown_ids(made.spans) == [5]
    assert any("('d', 4)" in warning for warning in made.warnings)


@pytest.mark.parametrize(
    "odd", [[1.0, 2.0, 3.0], [], [0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0], None, [10**400, 1]]
)
def test_odd_embeddings(odd: Any) -> None:
    store = make_store(
        *(
            make_chunk("d", i, text, embedding=odd if i == 5 else [1.0, i / 9])
            for i, text in enumerate(sentences("d", 9))
        )
    )
    made = compose(hits_of(store, {4: 1.0, 5: 0.9}), store, query="d4a", query_embedding=[1.0, 0.0])
    assert {4, 5} <= set(shown_ids(made.spans))
    assert all(note.value is None or 0.0 <= note.value <= 1.0 for note in made.trace.notes)
    if odd == [1.0, 2.0, 3.0]:
        assert any("embeddings of another size than the query's 2" in warning for warning in made.warnings)


@pytest.mark.parametrize("odd", [[10**400, 1], [-(10**400), 0], ["1", "x"], [None, 1.0], [[1.0]], "text", [1.0j, 0]])
def test_diversity_with_embeddings_that_are_no_floats(odd: Any) -> None:
    chunks = [make_chunk(f"d{i}", 0, text, embedding=odd) for i, text in enumerate(sentences("d", 4))]
    made = compose([SeedHit(chunk, 1.0) for chunk in chunks], make_store(*chunks), query="d0a", diversity=0.3)
    assert made.spans
    assert any("embeddings" in warning for warning in made.warnings)


@pytest.mark.parametrize("vector", [[0.0, 0.0], [float("nan"), 1.0], [[1.0], [2.0]], [], 5.0])
def test_a_query_embedding_must_be_a_vector(vector: Any) -> None:
    with pytest.raises(RetrivexError, match="must be one finite, non-zero vector"):
        compose(hits_of(TEN, {5: 1.0}), TEN, query_embedding=vector)


@pytest.mark.parametrize("doc_id", ODD_IDS, ids=lambda doc_id: repr(doc_id)[:20])
@pytest.mark.parametrize("context_format", ["text", "markdown", "xml"])
def test_odd_ids(doc_id: str, context_format: str) -> None:
    store = bare(doc_id, sentences("d", 5))
    made = compose(
        hits_of(store, {2: 1.0}, doc_id), store, span_header="full", context_format=context_format, token_budget=9000
    )
    assert shown_ids(made.spans, doc_id) == [0, 1, 2, 3, 4]
    assert made.from_dict(made.to_dict()) == made


@pytest.mark.parametrize("chunk_id", [2**31, 2**53 + 1, MAX_CHUNK_ID])
def test_huge_numbers(chunk_id: int) -> None:
    chunk = make_chunk("d", chunk_id, "Far out.", 10**15)
    made = compose([SeedHit(chunk, 1.0)], make_store(chunk), window=2000)
    assert made.citations[0].char_start == 10**15


def test_empty_text() -> None:
    with pytest.raises(RetrivexError, match="cannot be empty"):
        make_chunk("d", 0, "")


@pytest.mark.parametrize(
    "text", [" ", "\n\n", "\u200b", "\u0301", "🐝", "\ud83d", "\x00", "<|endoftext|>", "x" * 50_000]
)
def test_odd_texts(text: str) -> None:
    store = bare("d", ["Before it.", text, "After it."])
    made = compose(hits_of(store, {1: 1.0}), store, token_budget=20)
    assert made.tokens == count_words(made.text) <= 20
    assert made.spans or made.dropped


RUNS = {
    "marks": "e" + "\u0301" * 4000,
    "marks alone": "\u0301" * 4000,
    "selectors": "\ufe0f" * 4000,
    "joiners": "\U0001f468\u200d" * 2000,
    "skin tones": "\U0001f3fd" * 4000,
    "half surrogates": "\ud83d" * 4000,
    "blanks": " " * 4000,
    "line ends": "\n\r\r\n" * 1000,
    "dots": "." * 4000,
}


@pytest.mark.parametrize("scoring", ["auto", "weighted"])
@pytest.mark.parametrize("run", RUNS)
def test_a_run_that_must_not_be_parted_takes_down_neither_itself_nor_its_neighbours(run: str, scoring: Any) -> None:
    store = bare("d", ["Bees sleep at night.", RUNS[run] + " bees", "Ants do not sleep."])
    for hit in (0, 1):
        made = compose(hits_of(store, {hit: 1.0}), store, query="Do bees sleep?", scoring=scoring, token_budget=60)
        assert made.tokens == count_words(made.text) <= 60
        assert hit in shown_ids(made.spans)
    cut = SpanComposer(tokenizer=len).compose(hits_of(store, {1: 1.0}), store, query="bees?", token_budget=50)
    assert cut.tokens == len(cut.text) <= 50


@pytest.mark.parametrize(
    "offsets", [(0, 5), (10**12, 10**12 + 29), (29, 29), (28, 57), (0, 29)], ids=lambda pair: f"{pair[0]}-{pair[1]}"
)  # fmt: skip
def test_offsets_that_lie(offsets: tuple[int, int]) -> None:
    texts = sentences("d", 3)
    store = tile("d", texts)
    store["d", 1] = Chunk(texts[1], ChunkMetadata("d", 1, *offsets))
    made = compose(hits_of(store, {0: 0.9, 1: 0.8, 2: 0.7}), store)
    for text in texts:
        assert made.text.count(text.strip()) == 1
    for cited in made.citations:
        if cited.chunk_id != 1 and cited.char_start is not None:
            source = "".join(texts)
            assert source[cited.char_start : cited.char_end] == made.text[cited.start : cited.end]


class Failing:
    """A store that raises, or hangs."""

    def __init__(self, *, hangs: bool = False) -> None:
        self.hangs = hangs

    def fetch(self, windows: Any, scope: Any = None) -> Any:
        if self.hangs:
            threading.Event().wait()
        raise OSError("disk is gone")


@pytest.mark.parametrize(
    ("hangs", "limit_s", "word"), [(False, None, "disk is gone"), (True, 0.05, "no answer within store_timeout_s=0.05")]
)
def test_a_store_that_raises_or_hangs(hangs: bool, limit_s: float | None, word: str) -> None:
    store = Failing(hangs=hangs)
    made = compose(hits_of(TEN, {5: 1.0}), store, store_timeout_s=limit_s)
    assert shown_ids(made.spans) == [5]
    assert any(word in warning for warning in made.warnings)
    with pytest.raises(StoreError, match=word):
        compose(hits_of(TEN, {5: 1.0}), store, store_timeout_s=limit_s, strict=True)


@pytest.mark.parametrize("content", [b"", b"not a database at all", b"SQLite format 3\x00" + b"\xff" * 200])
def test_a_database_that_is_not_one(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "chunks.db"
    path.write_bytes(content)
    if not content:
        with SQLiteStore(path) as store:  # SQLite takes an empty file for a new database
            assert compose(hits_of(TEN, {5: 1.0}), store).warnings
        return
    with pytest.raises(StoreError, match=r"chunks\.db"):
        SQLiteStore(path)


def test_another_database(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table chunks (x)")
    connection.close()
    with pytest.raises(StoreError, match=r"other\.db"):
        SQLiteStore(path)


@pytest.mark.parametrize(
    "hits", [None, 5, "text", [5], [None], [("a", 1)], [[SeedHit(TEN["d", 1], 1.0)], None], np.array(1)], ids=repr
)
def test_what_is_no_list_of_hits(hits: Any) -> None:
    with pytest.raises(RetrivexError, match="seed_hits"):
        compose(hits, TEN)


def test_no_hits_are_told() -> None:
    for nothing in ([], [[], []]):
        assert [warning for warning in compose(nothing, TEN).warnings if warning.startswith("no hits were given")]
    bad = SeedHit(make_chunk("d", 1, "Secret.", scope="zeta"), 1.0)
    assert not compose([bad], TEN).warnings  # it is listed as dropped


@pytest.mark.parametrize("option", ["token_budget", "window", "k", "run_cost", "store_timeout_s"])
@pytest.mark.parametrize("value", [True, False])
def test_true_and_false_are_no_numbers(option: str, value: bool) -> None:
    for make in (lambda: RetrievalConfig(**{option: value}), lambda: RetrievalConfig().override(**{option: value})):
        with pytest.raises(ValueError, match=f"{option} is {value}: it must be a number"):
            make()
    assert RetrievalConfig(strict=value).strict is value


@pytest.mark.parametrize("path", [None, 5, b"config.toml"], ids=repr)
def test_a_config_file_has_a_path(path: Any) -> None:
    with pytest.raises(RetrivexError, match=r"path is .*: give the path of a \.json or \.toml file"):
        RetrievalConfig.from_file(path)


@pytest.mark.parametrize("requests", [None, 5, "text", {"seed_hits": []}], ids=repr)
def test_what_is_no_list_of_requests(requests: Any) -> None:
    with pytest.raises(RetrivexError, match=r"requests is .*: give a list"):
        SpanComposer(tokenizer=count_words).compose_batch(requests)


@pytest.mark.parametrize("broken", [[float("nan"), 1.0], [1.0, float("inf")]], ids=repr)
@pytest.mark.parametrize("said", [{}, {"query_embedding": [1.0, 0.0]}], ids=["alone", "compared"])
def test_embeddings_that_are_not_finite_are_told(broken: list[float], said: dict[str, Any]) -> None:
    texts = sentences("d", 3)
    vectors = [[1.0, 0.0], broken, [0.5, 0.5]]
    store = make_store(*(make_chunk("d", i, texts[i], embedding=vectors[i]) for i in range(3)))
    made = compose(hits_of(store, {1: 1.0}), store, scoring="weighted", **said)
    assert any("not finite, among neighbours" in warning for warning in made.warnings)
    assert any("1 candidates have embeddings with NaN" in warning for warning in made.warnings) == bool(said)


@pytest.mark.parametrize("scope", [5, [5], object(), np.array(1)], ids=["number", "numbers", "object", "array"])
def test_what_is_no_scope(scope: Any) -> None:
    with pytest.raises(RetrivexError, match="scope"):
        compose(hits_of(TEN, {5: 1.0}), TEN, scope=scope)


@pytest.mark.parametrize(
    "links", [[("d",)], ["d"], [("d", "x")], [5], [("d", -1)], [(None, 1)], "ab", np.array(1), np.int64(3)], ids=repr
)
def test_broken_links(links: Any) -> None:
    with pytest.raises(RetrivexError, match=r"links of \('d', 0\) (hold|are)"):
        make_chunk("d", 0, "Links badly.", links=links)


@pytest.mark.parametrize("count", [lambda text: None, lambda text: -1, lambda text: 1.5, lambda text: "many"])
def test_a_tokenizer_that_does_not_count(count: Any) -> None:
    with pytest.raises(RetrivexError, match="tokenizer"):
        SpanComposer(tokenizer=count).compose(hits_of(TEN, {5: 1.0}), TEN)


def test_a_grow_until_that_raises_is_the_callers_error() -> None:
    def stop(inner: Chunk, outer: Chunk) -> bool:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        compose(hits_of(TEN, {5: 1.0}), TEN, grow_until=stop)


@pytest.mark.parametrize(("option", "value"), [("window", 10**12), ("window", (1, 10**12)), ("max_window", 10**12)])
def test_windows_that_no_memory_would_hold_are_refused(option: str, value: Any) -> None:
    with pytest.raises(ValueError, match=r"10,?000"):
        RetrievalConfig(**{option: value})


def test_the_widest_window_looks_at_what_there_is() -> None:
    made = compose(hits_of(TEN, {1: 0.9}), TEN, window=10_000)
    assert made.text.count("\n") < 3
    assert made.spans[0].chunk_ids == list(range(10))


def test_scores_near_the_largest_float_are_written_as_json() -> None:
    made = compose(hits_of(TEN, {1: 1.7e308, 2: 1.7e308}), TEN)
    assert made.coverage[0].mean_score == pytest.approx(1.7e308)
    assert "Infinity" not in made.to_json()


@pytest.mark.parametrize("blank", [" \n", "\u200b", "\u2060 ", "\x00"])
@pytest.mark.parametrize("query", [None, "Where do bees sleep?"])
def test_a_hit_without_anything_visible_does_not_push_out_another(blank: str, query: str | None) -> None:
    store = make_store(make_chunk("a", 0, blank * 400), make_chunk("b", 0, "Bees sleep in hives."))
    hits = [SeedHit(store["a", 0], 1.0), SeedHit(store["b", 0], 0.5)]
    made = SpanComposer(tokenizer="estimate").compose(hits, store, query=query, token_budget=30)
    assert "Bees sleep in hives." in made.text
    assert [(hit.doc_id, hit.reason) for hit in made.dropped] == [("a", "no_text")]


@pytest.mark.parametrize(
    "options",
    [
        {"query": None},
        {"scoring": "weighted"},
        {"selection_unit": "span", "query": None},
        {"max_tokens_per_document": 100, "query": None},
    ],
)
@pytest.mark.parametrize("times", [1, 12])
def test_a_hit_whose_prefix_is_longer_than_the_budget_does_not_push_out_another(
    times: int, options: dict[str, Any]
) -> None:
    prefix = "head of the table " * 500
    long = [make_chunk(f"long {at}", 0, f"Bees of hive {at} fly by day. " * 20, prefix=prefix) for at in range(times)]
    short = make_chunk("short", 0, "Bees sleep in winter, in the warm middle of the hive.")
    store = make_store(*long, short)
    hits = [SeedHit(chunk, 1 - at / 100) for at, chunk in enumerate([*long, short])]
    options = {"query": "When do bees sleep in winter?", **options}
    made = SpanComposer(tokenizer="estimate").compose(hits, store, token_budget=200, **options)
    assert [span.doc_id for span in made.spans] == ["short"]
    assert {hit.doc_id: hit.reason for hit in made.dropped} == {chunk.metadata.doc_id: "budget" for chunk in long}


def test_what_leaves_no_room_is_told_once_where_nothing_else_is_shown_either() -> None:
    pinned = make_chunk("p", 0, "Ants walk home every evening, one behind the other, along the wall.")
    hits = [SeedHit(make_chunk(f"d{at}", 0, f"Bees of hive {at} fly by day."), 1 - at / 100) for at in range(20)]
    composer = SpanComposer(tokenizer="estimate")
    budget = composer.compose([], {}, pinned=[pinned], token_budget=1000).tokens
    made = composer.compose(hits, {}, pinned=[pinned], token_budget=budget)
    assert [span.doc_id for span in made.spans] == ["p"]
    told = [warning for warning in made.warnings if "leaves no room" in warning]
    assert told == [f"token_budget={budget} leaves no room for any of the best passage: the context holds no hit"]


@pytest.mark.parametrize("real", ["d (unplaced)", "d (unplaced) (unplaced)"])
def test_a_made_up_name_is_not_that_of_a_real_document(real: str) -> None:
    names = ["d (unplaced)", real]
    store = make_store(make_chunk("d", 0, "Bees sleep."), *(make_chunk(name, 0, f"Of {name}.") for name in set(names)))
    lost = SeedHit(make_chunk("d", 0, "Ants dig."), 0.8, unplaced="it has no chunk_id")
    made = compose([*(SeedHit(chunk, 0.9) for chunk in store.values()), lost], store, window=0)
    assert {"Ants dig.", "Bees sleep.", *(f"Of {name}." for name in names)} <= {span.text for span in made.spans}
    assert made.dropped == ()
    (span,) = [span for span in made.spans if span.text == "Ants dig."]
    assert span.doc_id not in {"d", *names}


@pytest.mark.parametrize("scoring", ["calibrated", "weighted"])
@pytest.mark.parametrize("behind", ["\n" * 60_000, "\n \t\n" * 5000], ids=["blank lines", "blanks and tabs"])
def test_a_short_hit_before_pages_of_nothing_is_shown(behind: str, scoring: Any) -> None:
    first = Chunk("Bees sleep at night in their hive.", ChunkMetadata("a", 0, 0, 34))
    text = f"The vault code is 4711.{behind}"
    second = Chunk(text, ChunkMetadata("b", 0, 0, len(text)))
    hits = [SeedHit(first, 1.0), SeedHit(second, 0.9)]
    store = {chunk.key: chunk for chunk in (first, second)}
    composer = SpanComposer(RetrievalConfig(scoring=scoring, effort="full"), tokenizer=len)
    made = composer.compose(hits, store, query="What is the vault code of bees?", token_budget=120)
    assert {span.text for span in made.spans} == {first.text, "The vault code is 4711."}
    assert made.tokens == len(made.text) <= 120


def test_a_short_hit_in_a_sentence_that_does_not_fit_is_shown_alone() -> None:
    texts = ["The vault code ", "is 4711, ", "as " + "everybody " * 60 + "knows."]
    starts = [0, len(texts[0]), len(texts[0]) + len(texts[1])]
    chunks = [
        Chunk(text, ChunkMetadata("b", at, start, start + len(text)))
        for at, (text, start) in enumerate(zip(texts, starts, strict=True))
    ]
    best = Chunk("Bees dance in front of the vault.", ChunkMetadata("a", 0, 0, 33))
    store = {chunk.key: chunk for chunk in (best, *chunks)}
    hits = [SeedHit(best, 1.0), SeedHit(chunks[1], 0.9)]
    config = RetrievalConfig(effort="full", run_cost=0.0, token_budget=100)
    made = SpanComposer(config, tokenizer=len).compose(hits, store, query="Where do bees dance?")
    assert {span.text for span in made.spans} == {best.text, "The vault code is 4711,"}
