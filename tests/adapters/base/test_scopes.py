"""Scopes under several names."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from retrivex.adapters.base.fields import FieldMap
from retrivex.adapters.base.scopes import scope_alternatives
from retrivex.model.chunk import allowed_scopes

names = st.sampled_from([None, "acme", "bee"])


@given(st.lists(names, max_size=4), st.frozensets(names))
def test_a_record_is_found_by_the_scope_that_is_read_of_it(
    values: list[str | None], allowed: frozenset[str | None]
) -> None:
    places = range(len(values))
    found = scope_alternatives(places, allowed, lambda at, named: values[at] in named, lambda at: values[at] is None)
    read = FieldMap(scope=tuple(f"name_{at}" for at in places)).read(
        {f"name_{at}": value for at, value in enumerate(values)}, "scope"
    )
    assert any(map(all, found)) == (bool(values) and read in allowed)


def test_what_comes_after_a_place_that_is_never_empty_is_not_asked() -> None:
    found = scope_alternatives(["tenant", "scope"], allowed_scopes(["x", None]), lambda at, _: at, lambda _: None)
    assert found == [["tenant"]]
