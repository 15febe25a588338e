"""A bounded cache of values by text, shared by everything that is computed once for each text."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Generic, TypeVar, cast

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def entry(_key: object) -> int:
    """Size of a key where entries are counted."""
    return 1


class TextCache(Generic[K, V]):
    """A two-generation cache: bounded, and safe for several threads.

    New entries go into the young generation. When it holds half of `capacity`, it becomes the old one, and what was
    old is forgotten. A hit in the old generation moves to the young one, so that what is in use stays; a hit in the
    young one costs a dictionary look-up and no bookkeeping.

    Parameters
    ----------
    capacity : most that both generations hold together, in the unit of `size`
    size : of a key, at least 1; by default each entry counts as one

    Examples
    --------
    >>> lengths = TextCache[str, int](capacity=4)
    >>> lengths.find(["bees", "ants", "bees"], lambda texts: [len(text) for text in texts])
    [4, 4, 4]
    >>> lengths.get("bees"), lengths.get("wasps"), len(lengths)
    (4, None, 2)
    """

    def __init__(self, capacity: int, size: Callable[[K], int] = entry) -> None:
        self.capacity = capacity
        self._size = size
        self._young: dict[K, V] = {}
        self._old: dict[K, V] = {}
        self._young_size = 0
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.capacity, self._size)  # copied, and handed to other processes, without its entries

    def __len__(self) -> int:
        return len(self._young.keys() | self._old.keys())

    def get(self, key: K) -> V | None:
        """Return the value of a key; None where it is not known."""
        value = self._young.get(key)
        if value is None and (value := self._old.get(key)) is not None:
            self.put([key], [value])
        return value

    def find(self, keys: Sequence[K], make: Callable[[list[K]], Iterable[V]]) -> list[V]:
        """Return the value of each key; `make` is called once, with the different keys that are not known, if any."""
        found = list(map(self._young.get, keys))
        if None in found:
            self._fill(keys, found, make)
        return cast("list[V]", found)

    def put(self, keys: Iterable[K], values: Iterable[V]) -> None:
        """Keep values, none of them None; a key that alone would fill a generation is not kept."""
        half = self.capacity // 2
        with self._lock:
            for key, value in zip(keys, values, strict=True):
                size = self._size(key)
                if size > half:
                    continue
                if self._young_size + size > half:
                    self._old, self._young, self._young_size = self._young, {}, 0
                if key not in self._young:
                    self._young_size += size
                self._young[key] = value

    def _fill(self, keys: Sequence[K], found: list[V | None], make: Callable[[list[K]], Iterable[V]]) -> None:
        """Replace each None in `found`, from the old generation or by `make`."""
        gaps = [place for place, value in enumerate(found) if value is None]
        fresh = dict.fromkeys(keys[place] for place in gaps)
        known = {key: value for key in fresh if (value := self._old.get(key)) is not None}
        unknown = [key for key in fresh if key not in known]
        if unknown:
            known.update(zip(unknown, make(unknown), strict=True))
        self.put(known.keys(), known.values())
        for place in gaps:
            found[place] = known[keys[place]]
