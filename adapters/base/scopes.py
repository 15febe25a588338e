"""The names under which a collection may keep scopes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from .collection import Scopes

Place = TypeVar("Place")
Condition = TypeVar("Condition")


def scope_alternatives(
    places: Sequence[Place],
    scopes: Scopes,
    is_among: Callable[[Place, Sequence[str]], Condition],
    is_missing: Callable[[Place], Condition | None],
) -> list[list[Condition]]:
    """Return what holds of a record that `scopes` may see: one of the lists, all of its conditions.

    As a record is read, the first place with a value counts, and a later one only where those before it have none.

    Parameters
    ----------
    places : where a scope may be kept, the first one to be read first
    scopes : what the caller may see
    is_among : the condition that a place holds one of these values, of which there is at least one
    is_missing : the condition that a place holds nothing; None where that cannot be

    Examples
    --------
    >>> scope_alternatives(["a", "b"], frozenset({"x", None}), lambda a, names: f"{a} in {names}", "no {}".format)
    [["a in ['x']"], ['no a', "b in ['x']"], ['no a', 'no b']]
    """
    named = sorted(scope for scope in scopes if scope is not None)
    alternatives: list[list[Condition]] = []
    before: list[Condition] = []
    for place in places:
        if named:
            alternatives.append([*before, is_among(place, named)])
        missing = is_missing(place)
        if missing is None:
            return alternatives
        before = [*before, missing]
    return [*alternatives, before] if None in scopes and before else alternatives
