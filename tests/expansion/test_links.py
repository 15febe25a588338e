"""Links to chunks of other documents, hop by hop."""

from __future__ import annotations

from typing import Any

import pytest
from support.strategies import compose, make_chunk, make_store, shown_ids

from retrivex import Composition, SeedHit

STORE = make_store(
    make_chunk("a", 0, "See the appendix.", links=[("b", 3)]),
    make_chunk("b", 2, "Before it."),
    make_chunk("b", 3, "The appendix.", links=[("c", 0), ("a", 0)]),
    make_chunk("c", 0, "A footnote.", links=[("nowhere", 1)]),
    make_chunk("s", 0, "Points to a secret.", links=[("s", 9)]),
    make_chunk("s", 9, "The secret.", scope="zeta"),
)


def made(hops: int, doc_id: str = "a", **said: Any) -> Composition:
    return compose([SeedHit(STORE[doc_id, 0], 1.0)], STORE, follow_links=hops, run_cost=0.0, **said)


@pytest.mark.parametrize(
    ("hops", "documents"), [(0, ["a"]), (1, ["a", "b"]), (2, ["a", "b", "c"]), (9, ["a", "b", "c"])]
)  # fmt: skip
def test_hops(hops: int, documents: list[str]) -> None:
    assert sorted({span.doc_id for span in made(hops).spans}) == documents


def test_a_linked_chunk_opens_no_window() -> None:
    assert shown_ids(made(1).spans, "b") == [3]


def test_one_request_a_hop() -> None:
    assert made(2).trace.requests - made(0).trace.requests == 2
    assert made(1, window=0).trace.requests == 2


def test_farther_is_worth_less() -> None:
    value = {(note.doc_id, note.chunk_id): note.value for note in made(2).trace.notes}
    assert value["a", 0] == 1.0
    assert 1.0 > (value["b", 3] or 0) > (value["c", 0] or 0) > 0.0


def test_followed_links_are_in_the_graph() -> None:
    composition = made(2)
    assert (("a", 0), ("b", 3)) in composition.trace.links
    assert [note.role for note in composition.trace.notes if note.doc_id == "c"] == ["link"]


def test_a_link_to_nowhere_is_warned_of() -> None:
    assert any("('nowhere', 1)" in warning for warning in made(9).warnings)


def test_links_do_not_cross_scopes() -> None:
    composition = made(1, "s")
    assert "secret." not in composition.text.replace("a secret.", "")
    assert shown_ids(composition.spans, "s") == [0]
