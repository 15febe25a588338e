"""Token counts that somebody else made: of pinned spans, of compositions kept as JSON, of stores."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fuzz.cases import Case
from hypothesis import given
from hypothesis import strategies as st
from support.properties import try_examples
from support.strategies import cases, count_words, hits_of, tile

from retrivex import Chunk, Composition, Document, SpanComposer, Window
from retrivex.merging.cuts import ChunkCuts
from retrivex.merging.stored_cuts import count_and_cut, pack
from retrivex.stores import SQLiteStore
from retrivex.text.structure import Begin, Edges, End
from retrivex.tokens import StoredCount, get_tokenizer
from retrivex.tokens.tokenizer import CallableTokenizer

QUESTION = "Where do worker bees store honey?"
TEXTS = [f"Worker bees of hive {number} store their honey in the combs near the roof. " * 8 for number in range(12)]
TILED = tile("d", TEXTS, chunk_count=len(TEXTS))
HITS = hits_of(TILED, {1: 0.9, 5: 0.8, 9: 0.7})
EXACT = get_tokenizer("cl100k_base")
BUDGET = 200


def check_budget(made: Composition, count: Any = EXACT.count, budget: int = BUDGET) -> None:
    assert made.tokens == count(made.text) <= budget
    assert [span.token_count for span in made.spans] == [count(span.text) for span in made.spans]


# ---- pinned


def test_a_pinned_span_is_counted_by_the_tokenizer_of_the_call() -> None:
    first = SpanComposer(tokenizer=count_words).compose(HITS, TILED, token_budget=150)
    assert first.spans
    for budget in (155, 1000):
        made = SpanComposer(tokenizer="cl100k_base").compose([], {}, pinned=first.spans, token_budget=budget)
        check_budget(made, budget=budget)
    assert {span.text for span in made.spans} == {span.text for span in first.spans}


@pytest.mark.parametrize("count", [0, -50, 1])
def test_a_session_kept_as_json_cannot_say_how_long_its_spans_are(count: int) -> None:
    kept = SpanComposer(tokenizer="cl100k_base").compose(HITS, TILED).to_dict()
    for span in kept["spans"]:
        span["token_count"] = count
    pinned = Composition.from_dict(kept).spans
    composer = SpanComposer(tokenizer="cl100k_base")
    made = composer.compose(HITS, TILED, pinned=pinned, token_budget=20)
    check_budget(made, budget=20)
    assert any("does not fit token_budget=20" in warning for warning in made.warnings)
    fits = composer.compose(HITS, TILED, pinned=pinned, token_budget=2000)
    check_budget(fits, budget=2000)
    assert [span.text for span in fits.spans if span.pinned] == [span.text for span in pinned]


@try_examples(300)
@given(cases(tokenizers=("words", "characters", "seams", "cl100k_base")), st.integers(-100, 5000), st.data())
def test_the_budget_holds_whatever_pinned_and_excluded_spans_say(case: Case, count: int, data: Any) -> None:
    tokenizer: Any = {"words": count_words, "characters": len}.get(case.tokenizer, "cl100k_base")
    composer = SpanComposer(tokenizer=tokenizer)
    options = {**case.options, "pinned": (), "exclude": ()}
    asked = {"query": case.query, "scope": case.scope, **options}
    first = SpanComposer(tokenizer=lambda text: len(text) // 3).compose(case.hits, case.store, **asked)
    foreign = [replace(span, token_count=count) for span in first.spans]
    chosen = data.draw(st.lists(st.sampled_from(foreign), max_size=4)) if foreign else []
    name = data.draw(st.sampled_from(["pinned", "exclude"]))
    made = composer.compose(case.hits, case.store, **{**asked, name: tuple(chosen)})
    check_budget(made, get_tokenizer(tokenizer).count, options["token_budget"])


# ---- stores


@pytest.fixture
def indexed(tmp_path: Path) -> Iterator[SQLiteStore]:
    with SQLiteStore(tmp_path / "store.db") as store:
        counts = count_and_cut(TEXTS, EXACT)
        chunks = list(TILED.values())
        store.put(Document("d", "".join(TEXTS)), chunks, token_counts=counts, tokenizer="cl100k_base")
        yield store


@pytest.mark.parametrize("count", ["1", "-5", "'x'", "tokens + 1", "2.5", "0", "NULL"])
@pytest.mark.parametrize("query", [None, QUESTION])
def test_a_count_that_was_changed_in_the_file_is_not_believed(
    indexed: SQLiteStore, count: str, query: str | None
) -> None:
    honest = SpanComposer(tokenizer="cl100k_base").compose(HITS, TILED, query=query, token_budget=BUDGET)
    with sqlite3.connect(indexed.path) as file:
        file.execute(f"UPDATE chunks SET tokens = {count}")
    composer = SpanComposer(tokenizer="cl100k_base")
    for store in (indexed, TILED):
        made = composer.compose(HITS, store, query=query, token_budget=BUDGET)
        check_budget(made)
        assert made.text == honest.text


def test_a_count_of_another_text_is_not_believed(indexed: SQLiteStore) -> None:
    with sqlite3.connect(indexed.path) as file:
        file.execute("UPDATE chunks SET tokens = (SELECT tokens FROM chunks WHERE chunk_id = 0)")
        file.execute("UPDATE chunks SET tokens_checksum = (SELECT tokens_checksum FROM chunks WHERE chunk_id = 0)")
    ((chunk, stored),) = indexed.fetch_counted([Window("d", 3, 4)], tokenizer="cl100k_base")
    assert stored is not None
    assert not stored.holds(chunk.text, "cl100k_base")


class Claims:
    """A store that says of each chunk what a function says of its text."""

    in_process = True

    def __init__(self, say: Any) -> None:
        self.say = say

    def fetch(self, windows: Sequence[Window], scope: Any = None) -> list[Chunk]:
        return [TILED[w.doc_id, at] for w in windows for at in range(w.start, w.end) if (w.doc_id, at) in TILED]

    def fetch_counted(self, windows: Sequence[Window], scope: Any = None, *, tokenizer: str) -> list[Any]:
        return [(chunk, self.say(chunk.text)) for chunk in self.fetch(windows)]


@pytest.mark.parametrize("said", [1, -5, "x", 10**30, 2.5, True, [], StoredCount(1, None), StoredCount("x", 1)])  # type: ignore[arg-type]
def test_whatever_a_store_says_of_counts_changes_nothing(said: Any) -> None:
    for query in (None, QUESTION):
        composer = SpanComposer(tokenizer="cl100k_base")
        made, again = (
            composer.compose(HITS, store, query=query, token_budget=BUDGET) for store in (Claims(lambda _: said), TILED)
        )
        assert made.text == again.text
        check_budget(made)


def lying_cuts(text: str, size: int) -> StoredCount:
    """Signed cuts of a text, wrong in every number."""
    ends = (*range(size, len(text), size), len(text))
    edges = Edges(Begin.TORN, End.OPEN, punctuated=True, cased=True)
    made = ChunkCuts.of(ends, edges, "```")
    return StoredCount.of(text, EXACT.count(text), "cl100k_base", pack(made, text))


@try_examples(60)
@given(st.integers(1, 80), st.sampled_from([None, QUESTION]))
def test_the_budget_holds_for_cuts_that_were_signed_and_are_wrong(size: int, query: str | None) -> None:
    composer = SpanComposer(tokenizer="cl100k_base")
    honest = SpanComposer(tokenizer="cl100k_base").compose(HITS, TILED, query=query, token_budget=BUDGET)
    for _ in range(2):
        liar = Claims(lambda text: lying_cuts(text, size))
        check_budget(composer.compose(HITS, liar, query=query, token_budget=BUDGET))
        # one store's cuts are not another's
        assert composer.compose(HITS, TILED, query=query, token_budget=BUDGET).text == honest.text


@pytest.mark.parametrize("query", [None, QUESTION])
def test_stored_cuts_save_encoding_and_change_nothing(query: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = SpanComposer(tokenizer="cl100k_base").compose(HITS, TILED, query=query, token_budget=BUDGET)
    kept = dict(zip(TEXTS, count_and_cut(TEXTS, EXACT), strict=True))
    read: list[str] = []
    monkeypatch.setattr(ChunkCuts, "read", lambda text, *_: read.append(text))
    composer = SpanComposer(tokenizer="cl100k_base")
    for _ in range(2):
        made = composer.compose(HITS, Claims(kept.get), query=query, token_budget=BUDGET)
        assert (made.text, made.tokens) == (honest.text, honest.tokens)
    assert read == []


def test_cuts_of_another_text_are_not_believed() -> None:
    honest = SpanComposer(tokenizer="cl100k_base").compose(HITS, TILED, query=QUESTION, token_budget=BUDGET)
    other = count_and_cut(TEXTS[:1], EXACT)[0]
    for said in (other, other._replace(cuts=b""), other._replace(cuts="x"), other._replace(cuts=other.cuts[:-3])):  # type: ignore[index,arg-type]
        liar = Claims(lambda _, said=said: said)
        made = SpanComposer(tokenizer="cl100k_base").compose(HITS, liar, query=QUESTION, token_budget=BUDGET)
        assert made.text == honest.text


@try_examples(60)
@given(st.integers(-2, 1000), st.sampled_from([None, QUESTION]), st.sampled_from(["cl100k_base", count_words]))
def test_the_budget_holds_for_counts_that_were_signed_and_are_wrong(count: int, query: str | None, spec: Any) -> None:
    tokenizer = get_tokenizer(spec)
    composer = SpanComposer(tokenizer=spec)
    liar = Claims(lambda text: StoredCount.of(text, count, tokenizer.name))
    honest = SpanComposer(tokenizer=spec).compose(HITS, TILED, query=query, token_budget=BUDGET)
    for _ in range(2):
        check_budget(composer.compose(HITS, liar, query=query, token_budget=BUDGET), tokenizer.count)
    made = composer.compose(HITS, TILED, query=query, token_budget=BUDGET)
    check_budget(made, tokenizer.count)
    if query is None or abs(count - tokenizer.count(TEXTS[0])) > 20:
        assert made.text == honest.text  # one store's counts are not another's


def test_stored_counts_that_hold_save_counting() -> None:
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return len(text.split())

    signed = Claims(lambda text: StoredCount.of(text, len(text.split()), "words"))
    made = SpanComposer(tokenizer=CallableTokenizer(count, name="words")).compose(HITS, signed, token_budget=BUDGET)
    shown = {chunk.text for span in made.spans for chunk in span.chunks}
    assert not (set(TEXTS) - shown) & set(counted)
