"""Measures which share of the items has the metadata that an order reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from retrivex.model.numbers import number_of
from retrivex.ordering.chronological import is_time, may_be_time


class MetadataCoverage:
    """Share of the items that have each field, and the first value that no order can use.

    Parameters
    ----------
    times, sources, places : a value for each item, None where it has none
    """

    def __init__(self, times: Sequence[Any], sources: Sequence[Any], places: Sequence[Any]) -> None:
        named = [value for value in sources if _is_name(value)]
        self.documents = len(set(named))
        self.coverage = {
            "timestamp": _share(times, is_time),
            "source": len(named) / len(sources) if sources else 0.0,
            "section": _share(places, _is_number),
        }
        self.no_time = next((value for value in times if not may_be_time(value)), None)
        self.no_name = next((value for value in sources if not _has_hash(value)), None)


def _share(values: Sequence[Any], known: Callable[[Any], bool]) -> float:
    return sum(map(known, values)) / len(values) if values else 0.0


def _is_number(value: Any) -> bool:
    return number_of(value) is not None


def _is_name(value: Any) -> bool:
    return value is not None and not (type(value) is str and not value) and _has_hash(value)


def _has_hash(value: Any) -> bool:
    try:
        hash(value)
    except Exception:  # noqa: BLE001 - a class of the caller's may raise anything
        return False
    return True
