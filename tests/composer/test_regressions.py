"""Defects that a reader found once, each as the smallest case that showed it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from fuzz.compositions import fuzz

from retrivex import Chunk, ChunkMetadata, SeedHit, SpanComposer, Window
from retrivex.errors import HitError, RetrivexError
from retrivex.model.chunk import ChunkKey


@pytest.fixture(scope="module")
def composer() -> SpanComposer:
    return SpanComposer(tokenizer=lambda text: max(1, len(text) // 4))


def stored(*chunks: Chunk) -> dict[ChunkKey, Chunk]:
    return {chunk.key: chunk for chunk in chunks}


def test_a_shorter_prompt_keeps_the_numbers_of_its_sources(composer: SpanComposer) -> None:
    chunks = [Chunk(f"Document {name} says a word or two.", ChunkMetadata(name, 0)) for name in "abz"]
    made = composer.compose(
        [SeedHit(chunk, score) for chunk, score in zip(chunks, (0.9, 0.5, 0.1), strict=True)],
        stored(*chunks),
        query="?",
    )
    whole = made.prompt()
    shorter = made.prompt(max_tokens=len(whole) // 4 - 3)
    left = {number for number in (1, 2, 3) if f"[{number}] Document" in shorter}
    assert 0 < len(left) < 3
    for number in left:
        (cited,) = made.resolve(f"[{number}]")
        assert f"[{number}] Document {cited.doc_id}" in shorter


@pytest.mark.parametrize("scope", [None, "acme"])
def test_the_scope_of_the_store_counts_whatever_the_hit_says(composer: SpanComposer, scope: str | None) -> None:
    hit = SeedHit(Chunk("top secret plan", ChunkMetadata("d", 0, scope=scope)), 1.0)
    store = stored(Chunk("top secret plan", ChunkMetadata("d", 0, scope="secret")))
    made = composer.compose([hit], store, scope=scope)
    assert made.text == ""
    assert [dropped.reason for dropped in made.dropped] == ["scope"]
    with pytest.raises(HitError, match="scope"):
        composer.compose([hit], store, scope=scope, strict=True)


def test_a_parent_that_lies_about_its_place_replaces_nothing(composer: SpanComposer) -> None:
    first = Chunk("Children hold real text. ", ChunkMetadata("d", 0, 0, 25, parent_id="p"))
    second = Chunk("Second child real text..", ChunkMetadata("d", 1, 25, 49, parent_id="p"))
    parents = {"p": Chunk("X" * 60, ChunkMetadata("d", 0, 0, 60))}
    hits = [SeedHit(first, 1.0), SeedHit(second, 0.9)]
    made = composer.compose(hits, stored(first, second), parents, return_parents="auto")
    assert made.spans[0].text == "Children hold real text. Second child real text.."


def test_a_parent_is_cited_page_by_page_and_unknown_pages_are_not_made_up(composer: SpanComposer) -> None:
    source = "".join(f"Page {number} says something here. " for number in range(1, 5))
    size = len(source) // 4
    chunks = [
        Chunk(
            source[at * size : (at + 1) * size],
            ChunkMetadata("d", at, at * size, (at + 1) * size, parent_id="p", page=at + 1),
        )
        for at in range(4)
    ]
    hits = [SeedHit(chunk, 1.0) for chunk in chunks[:3]]
    parent = Chunk(source, ChunkMetadata("d", 0, 0, len(source)))
    # the last page stands in a chunk, or in the parent alone, where the document has no more chunks than the store
    three = [Chunk(chunk.text, replace(chunk.metadata, chunk_count=3)) for chunk in chunks[:3]]
    for store, parents, last in [(chunks, {"p": source}, 4), (three, {"p": parent}, None)]:
        made = composer.compose(hits, stored(*store), parents, return_parents="auto", window=0)
        assert made.spans[0].parent_id == "p"
        assert [(cited.page, cited.char_start) for cited in made.citations] == [
            (1, 0),
            (2, size),
            (3, 2 * size),
            (last, 3 * size),
        ]


def test_a_parent_given_as_text_is_left_alone_where_part_of_its_document_is_hidden(composer: SpanComposer) -> None:
    texts, scopes = ["Public part one. ", "TOP SECRET NUMBER ", "Public part two."], [None, "boss", None]
    starts = [0, 17, 35]
    chunks = [
        Chunk(text, ChunkMetadata("d", at, starts[at], starts[at] + len(text), parent_id="p", scope=scopes[at]))
        for at, text in enumerate(texts)
    ]
    hits = [SeedHit(chunks[0], 1.0), SeedHit(chunks[2], 0.9)]
    made = composer.compose(hits, stored(*chunks), {"p": "".join(texts)}, return_parents="auto")
    assert "SECRET" not in made.text


def test_a_repeated_text_counts_where_the_better_copy_is_not_shown(composer: SpanComposer) -> None:
    text = "The same passage of some forty characters and more."
    long = Chunk("filler " * 200, ChunkMetadata("a", 1, 51, 51 + 1400))
    chunks = [
        Chunk("best " * 60, ChunkMetadata("c", 0, 0, 300)),
        Chunk(text, ChunkMetadata("a", 0, 0, 51)),
        long,
        Chunk(text, ChunkMetadata("b", 0, 0, 51)),
    ]
    hits = [SeedHit(chunks[0], 3.0), SeedHit(chunks[1], 2.0), SeedHit(long, 2.0), SeedHit(chunks[3], 1.0)]
    made = composer.compose(hits, stored(*chunks), selection_unit="span", token_budget=120)
    assert text in made.text


def test_a_short_excluded_text_does_not_cut_words(composer: SpanComposer) -> None:
    chunk = Chunk("concatenate the catalogue of category cats", ChunkMetadata("d", 0))
    made = composer.retrieve([SeedHit(chunk, 1.0)], stored(chunk), exclude=["cat"])
    assert [span.text for span in made] == [chunk.text]


def test_a_pinned_passage_that_does_not_fit_is_still_a_hit(composer: SpanComposer) -> None:
    chunk = Chunk("word " * 150, ChunkMetadata("d", 0, 0, 750))
    made = composer.compose([SeedHit(chunk, 1.0)], stored(chunk), pinned=[chunk], token_budget=30)
    assert made.text.startswith("[1] word word")
    assert any("not pinned" in warning for warning in made.warnings)


def test_window_0_treats_bad_hits_as_any_other_window(composer: SpanComposer) -> None:
    chunk = Chunk("Bees sleep.", ChunkMetadata("d", 0))
    assert "not in the chunk store" in composer.compose([SeedHit(chunk, 1.0)], {}, window=0).warnings[0]
    with pytest.raises(HitError, match="not in the chunk store"):
        composer.compose([SeedHit(chunk, 1.0)], {}, window=0, strict=True)


class Listed:
    """A store that answers with the chunks it was given, in their order, some requests after others fail or hang."""

    def __init__(self, chunks: Sequence[Chunk], batch_limit: int | None = None, *, hangs: bool = False) -> None:
        self.chunks = list(chunks)
        self.batch_limit = batch_limit
        self.hangs = hangs
        self.fail_at = -1
        self.requests = 0

    def fetch(self, windows: Sequence[Window], scope: object = None) -> list[Chunk]:
        self.requests += 1
        if self.hangs:
            threading.Event().wait()
        if self.requests == self.fail_at:
            raise OSError("gone")
        return [c for c in self.chunks if any(c.key[0] == w.doc_id and c.key[1] in w for w in windows)]


def test_two_texts_under_one_id_give_the_same_answer_in_any_order(composer: SpanComposer) -> None:
    chunks = [
        Chunk("seed ", ChunkMetadata("d", 0)),
        Chunk("one text", ChunkMetadata("d", 1)),
        Chunk("other", ChunkMetadata("d", 1)),
    ]
    made = [composer.compose([SeedHit(chunks[0], 1.0)], Listed(order)) for order in (chunks, chunks[::-1])]
    assert made[0] == made[1]
    assert any("several texts" in warning for warning in made[0].warnings)


def test_a_hanging_store_does_not_hold_up_the_end_of_an_event_loop(composer: SpanComposer) -> None:
    chunk = Chunk("Bees sleep.", ChunkMetadata("d", 0))
    made = asyncio.run(composer.acompose([SeedHit(chunk, 1.0)], Listed([], hangs=True), store_timeout_s=0.1))
    assert "store_timeout_s=0.1" in made.warnings[0]


def test_words_that_a_splitter_lost_between_chunks_are_never_glued_over_in_silence(composer: SpanComposer) -> None:
    source = "The drug is safe, but NOT for kids under five."
    chunks = [
        Chunk(source[start:end], ChunkMetadata("d", at, start, end))
        for at, (start, end) in enumerate([(0, 17), (29, 46)])
    ]
    hits = [SeedHit(chunk, 1.0) for chunk in chunks]
    parted = composer.compose(hits, stored(*chunks), run_cost=0.0)
    assert sorted(span.text for span in parted.spans) == [" kids under five.", "The drug is safe,"]
    assert not parted.warnings
    closed = composer.compose(hits, stored(*chunks), run_cost=0.0, max_gap_chars=12)
    assert len(closed.spans) == 1
    assert any(
        "1 gap of more than 2 characters closed" in warning and "('d', 1)" in warning for warning in closed.warnings
    )


def test_a_batch_limit_of_0_is_refused(composer: SpanComposer) -> None:
    chunk = Chunk("Bees sleep.", ChunkMetadata("d", 0))
    store = Listed([chunk], batch_limit=0)
    assert "batch_limit of the store is 0" in composer.compose([SeedHit(chunk, 1.0)], store).warnings[0]
    with pytest.raises(RetrivexError, match="batch_limit of the store is 0"):
        composer.compose([SeedHit(chunk, 1.0)], store, strict=True)


@pytest.mark.parametrize("ends", [None, 7, "d", [("d", 1)]])
def test_row_ends_that_are_no_set_are_refused(composer: SpanComposer, ends: Any) -> None:
    chunk = Chunk("Bees sleep.", ChunkMetadata("d", 0))
    store = Listed([chunk])
    store.row_ends = ends  # type: ignore[attr-defined]
    assert "row_ends of the store is" in composer.compose([SeedHit(chunk, 1.0)], store).warnings[0]
    with pytest.raises(RetrivexError, match="it must be a set"):
        composer.compose([SeedHit(chunk, 1.0)], store, strict=True)


def test_batches_that_came_before_a_failure_are_used(composer: SpanComposer) -> None:
    chunks = [Chunk(f"Sentence {at}. ", ChunkMetadata("d", at)) for at in range(5)]
    store = Listed(chunks, batch_limit=1)
    store.fail_at = 5
    made = composer.compose([SeedHit(chunks[2], 1.0)], store, window=2)
    assert made.spans[0].chunk_ids == [0, 1, 2, 3]
    assert "OSError: gone" in made.warnings[0]


def test_of_a_hit_whose_whole_sentences_others_show_the_torn_rest_is_shown(composer: SpanComposer) -> None:
    texts = {
        2: "e larva swarm bees ミツバチは蜜を集める。Dr. Who came. flower colon",
        3: "bees ミツバチは蜜を集める。D",
        4: "チは蜜を集める。Dr",
    }
    chunks = [Chunk(text, ChunkMetadata("a", at, chunk_count=9)) for at, text in texts.items()]
    hits = [SeedHit(chunk, 1.0) for chunk in chunks]
    made = composer.compose(hits, stored(*chunks), query="?!", token_budget=1800, window=0)
    assert made.dropped == ()
    assert all(any(text in span.text for span in made.spans) for text in texts.values())


def test_a_hit_whose_text_in_the_store_is_white_space_alone_is_not_shown(composer: SpanComposer) -> None:
    blank, other = Chunk("\xa0", ChunkMetadata("d", 0, 0, 1)), Chunk("\xa0 changed", ChunkMetadata("d", 0))
    made = composer.compose([SeedHit(other, 1.0)], stored(blank), query="bees?")
    assert made.text == ""
    (dropped,) = made.dropped
    assert (dropped.reason, dropped.detail) == ("no_value", "nothing of it is left to read")


@pytest.mark.parametrize("number", [20502, 34489, 82987, 83337, 87586, 88726, 92872, 107526, 125367])
def test_a_world_that_broke_a_rule_once_holds(number: int) -> None:
    found = fuzz(1, range(number, number + 1))
    assert [violation.what for violation in found.violations] == []
