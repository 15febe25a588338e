"""The headings of a passage in a line, also where it spans several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_UNDER = " > "
_TO = " … "


def cite_headings(paths: Iterable[Sequence[str]]) -> str:
    """Return what a passage's chunks stand under: what all share, then the first and the last of the rest.

    Parameters
    ----------
    paths : heading path of each chunk, in order; empty where it has none

    Examples
    --------
    >>> cite_headings([("Guests",), ("Guests", "Dinner"), ("Guests", "Events"), ("Guests", "Gifts")])
    'Guests > Dinner … Gifts'
    >>> cite_headings([("Guests", "Dinner"), ("Guests", "Dinner")])
    'Guests > Dinner'
    """
    known = [tuple(path) for path in dict.fromkeys(map(tuple, paths)) if path]
    if not known:
        return ""
    shared = 0
    while all(len(path) > shared and path[shared] == known[0][shared] for path in known):
        shared += 1
    # what stands between a heading and the first under it is cited with that one
    rests = [_UNDER.join(path[shared:]) for path in known if len(path) > shared]
    ends = rests[:1] if rests[:1] == rests[-1:] else [rests[0], rests[-1]]
    return _UNDER.join([*known[0][:shared], *([_TO.join(ends)] if ends else [])])
