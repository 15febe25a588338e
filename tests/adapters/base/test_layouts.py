"""Ways in which places may be kept: asked for one after the other, first the one that found something last."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from retrivex.adapters.base.collection import Record, Records
from retrivex.adapters.base.fields import FieldMap
from retrivex.adapters.base.layouts import Reading, Readings, split_name, ways_to_read

SOMETHING = Records([Record("r", {})])
WAYS = [Reading(), Reading(as_text=True), Reading(whole=True)]


@pytest.mark.parametrize("is_async", [False, True])
def test_what_finds_something_is_the_first_way_from_then_on(is_async: bool) -> None:
    readings, asked = Readings(), list[Reading]()

    def answer(right: Reading | None) -> Callable[[Reading], Records]:
        return lambda reading: (asked.append(reading), SOMETHING if reading == right else Records())[1]

    def ask(right: Reading | None) -> Records:
        if not is_async:
            return readings.ask(WAYS, answer(right))

        async def later(reading: Reading) -> Records:
            return answer(right)(reading)

        return asyncio.run(readings.aask(WAYS, later))

    assert ask(None) == Records()
    assert asked == WAYS
    assert ask(WAYS[1]) == SOMETHING
    assert asked[3:] == WAYS[:2]
    assert ask(WAYS[1]) == SOMETHING
    assert asked[5:] == [WAYS[1]]
    assert ask(WAYS[0]) == SOMETHING  # another part of the collection may be kept in another way
    assert asked[6:] == [WAYS[1], WAYS[0]]
    assert ask(WAYS[0]) == SOMETHING
    assert asked[8:] == [WAYS[0]]
    assert ask(None) == Records()
    assert asked[9:] == WAYS


def test_as_many_ways_as_the_names_leave_open() -> None:
    assert ways_to_read(FieldMap()) == [Reading(), Reading(as_text=True)]
    assert len(ways_to_read(FieldMap(chunk_id="a.b"))) == 4
    assert ways_to_read(FieldMap(), [True]) == [Reading(as_text=True)]
    assert ways_to_read(FieldMap(scope="a.b", root="meta.data"), [False]) == [Reading()]


def test_roots_are_always_paths() -> None:
    fields = FieldMap(doc_id="file.name", root="meta.data")
    assert split_name(fields, "doc_id", whole=False) == ("meta", "data", "file", "name")
    assert split_name(fields, "doc_id", whole=True) == ("meta", "data", "file.name")
