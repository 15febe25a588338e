"""Which passages stay within a budget."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.passages import FIVE, ids, passage

from retrivex import Reorderer
from retrivex.reorder.packing import pack

SIZED = [passage(name, score, "w " * words) for name, score, words in
         zip("abcde", (0.9, 0.8, 0.7, 0.6, 0.5), (3, 4, 1, 2, 5), strict=True)]  # fmt: skip
WORDS: dict[str, Any] = {"tokenizer": lambda text: len(text.split())}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"max_tokens": 7}, "ab"),
        ({"max_tokens": 8}, "acb"),
        ({"max_tokens": 6}, "acd"),
        ({"max_tokens": 2}, "c"),
        ({"max_tokens": 0}, ""),
        ({"max_tokens": 6, "packing": "prefix"}, "ac"),
        ({"max_tokens": 9, "packing": "prefix", "strategy": "score_desc"}, "abc"),
        ({"max_tokens": 10, "packing": "best", "strategy": "best_last"}, "dcba"),
        ({"max_tokens": 10, "strategy": "best_last"}, "dcba"),
        ({"max_tokens": 5, "strategy": "score_desc"}, "a"),
        ({"max_tokens": 0, "min_top_k": 2}, "ab"),
        ({"max_tokens": 0, "min_top_k": 3, "packing": "prefix"}, "ace"),
        ({"top_k": 3}, "acb"),
        ({"top_k": 1}, "a"),
        ({"top_k": 3, "packing": "prefix"}, "ace"),
        ({"top_k": 2, "strategy": "best_last"}, "ba"),
        ({"max_chars": 15}, "ab"),
        ({"max_chars": 15, "count_chars": lambda text: 5}, "acb"),
    ],
)
def test_what_stays(options: dict[str, Any], expected: str) -> None:
    assert ids(Reorderer(**WORDS | options).reorder(SIZED)) == expected


def test_characters_take_over_only_without_a_tokenizer() -> None:
    both = Reorderer(max_tokens=7, max_chars=0, **WORDS)
    assert ids(both.reorder(SIZED)) == "ab"
    assert ids(both.reorder(SIZED, tokenizer=None)) == ""


def test_token_counts_that_come_with_passages_are_taken() -> None:
    counted = [{**one, "token_count": 1} for one in SIZED[:2]] + [passage("c", 0.1, "w w w", token_count=2)]
    made = Reorderer(max_tokens=4, **WORDS).reorder_with_diagnostics(counted)
    assert (ids(made.passages), made.diagnostics.tokens_used) == ("acb", 4)
    assert made.diagnostics.cached_tokens_used == 4


def test_a_budget_that_gives_way_is_told() -> None:
    made = Reorderer(max_tokens=1, min_top_k=2, **WORDS).reorder_with_diagnostics(SIZED)
    assert ids(made.passages) == "ab"
    assert made.diagnostics.tokens_used == 7
    assert any("more than 1" in warning and "min_top_k=2" in warning for warning in made.diagnostics.warnings)


def test_what_is_left_out_is_listed() -> None:
    made = Reorderer(max_tokens=8, top_k=2, **WORDS).reorder_with_diagnostics(SIZED)
    assert ids(made.passages) == "ab"
    left_out = [(one.id, one.index, one.reason) for one in made.diagnostics.dropped]
    assert left_out == [("c", 2, "top_k"), ("d", 3, "budget"), ("e", 4, "budget")]
    assert (made.diagnostics.pruned_by_budget, made.diagnostics.output_count) == (3, 2)
    exactly = Reorderer(max_tokens=8, **WORDS).reorder_with_diagnostics(SIZED)
    assert (exactly.diagnostics.tokens_used, exactly.diagnostics.warnings) == (8, ())


def test_a_counter_of_characters_is_checked() -> None:
    with pytest.raises(ValueError, match="count_chars returned -1"):
        Reorderer(max_chars=5, count_chars=lambda text: -1).reorder(FIVE)


costs = st.lists(st.integers(0, 9), max_size=12)


@given(costs, st.integers(0, 40), st.sampled_from(["prefix", "edge_aware", "best"]))
def test_the_budget_holds_and_what_fits_stays_in_order(sizes: list[int], budget: int, packing: Any) -> None:
    packed = pack(range(len(sizes)), packing, cost=sizes.__getitem__, budget=budget)
    assert sum(sizes[at] for at in packed.kept) <= budget
    assert packed.kept == sorted(packed.kept)
    assert sorted(packed.kept + packed.over_budget) == list(range(len(sizes)))
    if packing != "prefix":
        # nothing that is left out would still fit
        room = budget - sum(sizes[at] for at in packed.kept)
        assert all(sizes[at] > room for at in packed.over_budget)


@given(costs, st.integers(1, 8), st.integers(0, 8))
def test_limits_on_numbers_hold(sizes: list[int], fewest: int, more: int) -> None:
    limits = {"min_top_k": fewest, "top_k": fewest + more}
    packed = pack(range(len(sizes)), "edge_aware", cost=sizes.__getitem__, budget=5, **limits)
    assert min(len(sizes), fewest) <= len(packed.kept) <= fewest + more
