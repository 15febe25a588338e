"""Systems that are functions of hits and index, on hand-made cases; a token is a word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from benchmarks.evidence.index import part_of
from benchmarks.evidence.ranges import RangeSystem, Timed, cut, take
from benchmarks.evidence.systems import similarities
from retrivex import Chunk, ChunkMetadata, RetrivexError, SeedHit
from retrivex.evaluation.metrics import Range
from retrivex.evaluation.run import Case, Index

SENTENCES = (
    "Bees sleep at night. ",
    "Ants dig deep holes. ",
    "Wasps build paper nests. ",
    "Flies eat old fruit. ",
    "Moths love bright lamps. ",
)
TEXT = "".join(SENTENCES)


def _index(*doc_ids: str) -> Index:
    starts = [sum(map(len, SENTENCES[:number])) for number in range(len(SENTENCES))]
    chunks = [
        Chunk(sentence, ChunkMetadata(doc_id, number, start, start + len(sentence)))
        for doc_id in doc_ids
        for number, (sentence, start) in enumerate(zip(SENTENCES, starts, strict=True))
    ]
    return Index(dict.fromkeys(doc_ids, TEXT), tokenizer=lambda text: len(text.split()), chunks=chunks)


INDEX = _index("d", "e")


def case(places: Sequence[int], budget: int) -> Case:
    return Case("?", [SeedHit(INDEX.chunks[place], 0.9 - at / 10) for at, place in enumerate(places)], INDEX, budget)


def nearest(given: Case) -> list[Range]:
    return given.hit_ranges()


def words(ranges: Sequence[Range]) -> list[str]:
    return [INDEX.documents[doc_id][start:end].split()[0] for doc_id, start, end in ranges]


def test_ranges_are_taken_in_their_order_until_the_budget_is_used() -> None:
    context = take(nearest(case([3, 0, 2], 8)), INDEX, 8)
    assert words(context.ranges) == ["Flies", "Bees"]
    assert context.tokens == 8


def test_a_range_that_does_not_fit_is_skipped_and_a_later_one_may() -> None:
    context = take([INDEX.range_of(4), INDEX.range_between(range(3)), INDEX.range_of(3)], INDEX, 8)
    assert words(context.ranges) == ["Moths", "Flies"]


def test_text_already_taken_is_free_and_counts_as_duplicate() -> None:
    context = take([INDEX.range_between(range(2)), INDEX.range_between(range(1, 3))], INDEX, 12)
    assert context.tokens == 12
    assert context.duplicate_tokens == 4
    assert len(context.ranges) == 2


def test_if_nothing_fits_the_first_is_cut() -> None:
    context = take([INDEX.range_of(1), INDEX.range_of(0)], INDEX, 2)
    assert [TEXT[start:end] for _, start, end in context.ranges] == ["Ants dig "]
    assert context.tokens == 2
    assert take([INDEX.range_of(1)], INDEX, 0).ranges == []
    assert take([("d", 3, 3)], INDEX, 5).ranges == take([], INDEX, 5).ranges == []
    assert cut(INDEX.range_of(1), INDEX, 9).ranges == [INDEX.range_of(1)]


def test_a_method_without_a_budget_gets_one_hit_more_than_fits() -> None:
    asked: list[int] = []

    def ranges(given: Case) -> list[Range]:
        asked.append(len(given.hits))
        return nearest(given)

    system = RangeSystem("s", ranges, "1", all_hits=False)
    assert len(system.answer(case([0, 1, 2, 3, 4], 9)).ranges) == 3
    assert asked == [1, 2, 3]
    assert system.answer(case([], 9)).ranges == []


def test_a_system_may_bring_its_own_time_and_prepare_before_it() -> None:
    prepared: list[Case] = []
    asked = case([0], 9)
    system = RangeSystem("s", lambda _: Timed([], 7.5), "1", prepare=prepared.append)
    assert system.answer(asked).ms == 7.5
    assert prepared == [asked]


@pytest.mark.parametrize("wrong", [("nix", 0, 4), ("d", -1, 4), ("d", 0, len(TEXT) + 1)])
def test_a_range_outside_the_documents_is_refused(wrong: Range) -> None:
    with pytest.raises(RetrivexError, match=r"system 'mine' shows .*: a range must be \(doc_id, start, end\)"):
        RangeSystem("mine", lambda _: [wrong], "1").answer(case([0], 9))


def test_scores_are_shares_where_they_are_no_cosines() -> None:
    hits = [SeedHit(INDEX.chunks[0], 8.0), SeedHit(INDEX.chunks[1], 2.0)]
    assert similarities(Case("?", hits, INDEX, 9, "bm25")) == [1.0, 0.25]
    assert similarities(Case("?", hits, INDEX, 9, "dense")) == [1.0, 1.0]


def test_an_index_part_is_an_index_of_those_documents() -> None:
    part = part_of(INDEX, {"e"})
    assert list(part.documents) == ["e"]
    assert part.range_of(0) == INDEX.range_of(5)
    assert replace(case([5], 9), index=part).places == [0]
    assert part.holding(("e", 0, 22)) == range(2)
    assert part.neighbours(4, 3) == range(1, 5)
