"""Ways in which places may be kept: asked for one after the other, first the one that found something last."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from retrivex.adapters.base.collection import Record, Records
from retrivex.adapters.base.fields import FieldMap
from retrivex.adapters.base.layouts import LayoutFinder, StorageLayout, candidate_layouts, split_name

SOMETHING = Records([Record("r", {})])
LAYOUTS = [StorageLayout(), StorageLayout(as_text=True), StorageLayout(whole=True)]


@pytest.mark.parametrize("is_async", [False, True])
def test_what_finds_something_is_the_first_way_from_then_on(is_async: bool) -> None:
    finder, asked = LayoutFinder(), list[StorageLayout]()

    def answer(right: StorageLayout | None) -> Callable[[StorageLayout], Records]:
        return lambda layout: (asked.append(layout), SOMETHING if layout == right else Records())[1]

    def ask(right: StorageLayout | None) -> Records:
        if not is_async:
            return finder.ask(LAYOUTS, answer(right))

        async def later(layout: StorageLayout) -> Records:
            return answer(right)(layout)

        return asyncio.run(finder.aask(LAYOUTS, later))

    assert ask(None) == Records()
    assert asked == LAYOUTS
    assert ask(LAYOUTS[1]) == SOMETHING
    assert asked[3:] == LAYOUTS[:2]
    assert ask(LAYOUTS[1]) == SOMETHING
    assert asked[5:] == [LAYOUTS[1]]
    assert ask(LAYOUTS[0]) == SOMETHING  # another part of the collection may be kept in another way
    assert asked[6:] == [LAYOUTS[1], LAYOUTS[0]]
    assert ask(LAYOUTS[0]) == SOMETHING
    assert asked[8:] == [LAYOUTS[0]]
    assert ask(None) == Records()
    assert asked[9:] == LAYOUTS


def test_as_many_ways_as_the_names_leave_open() -> None:
    assert candidate_layouts(FieldMap()) == [StorageLayout(), StorageLayout(as_text=True)]
    assert len(candidate_layouts(FieldMap(chunk_id="a.b"))) == 4
    assert candidate_layouts(FieldMap(), [True]) == [StorageLayout(as_text=True)]
    assert candidate_layouts(FieldMap(scope="a.b", root="meta.data"), [False]) == [StorageLayout()]


def test_roots_are_always_paths() -> None:
    fields = FieldMap(doc_id="file.name", root="meta.data")
    assert split_name(fields, "doc_id", whole=False) == ("meta", "data", "file", "name")
    assert split_name(fields, "doc_id", whole=True) == ("meta", "data", "file.name")
