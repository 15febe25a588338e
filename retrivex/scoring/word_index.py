"""The words of chunks, found once and remembered."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retrivex.axis import GAP, Axis
from retrivex.scoring.words import Places, WordPool, Words, index_words, lowered

_MAX_CHARS = 32_000_000  # characters of chunk text whose words are remembered


class _Indexed(NamedTuple):
    """A text in lower case, and where its words begin."""

    lowered: str
    words: Words


class WordIndex:
    """Remembers the words of the chunks it has seen, up to `_MAX_CHARS` characters. Safe for several threads."""

    def __init__(self) -> None:
        self._known: dict[str, _Indexed] = {}
        self._chars = 0
        self._lock = threading.Lock()

    def pool(self, axis: Axis) -> WordPool:
        """Return where the words of all runs begin."""
        known = self._indexed([chunk.text for chunk in axis.chunks])
        tiled = _tiled(axis, [one.words for one in known])
        if tiled.all():
            return _pool(known, axis.starts, lambda: axis.rows(known))
        # a run whose words are not those of its chunks is read anew
        rows: list[Sequence[_Indexed]] = []
        bases: list[int] = []
        for run, first, size, whole in zip(axis.runs, axis.firsts, axis.sizes, tiled, strict=True):
            rows.append(known[first : first + size] if whole else _read([run.text]))
            bases += axis.starts[first : first + len(rows[-1])].tolist()
        return _pool([one for row in rows for one in row], bases, lambda: rows)

    def _indexed(self, texts: Sequence[str]) -> list[_Indexed]:
        """Return the words of each text, those met for the first time all at once."""
        remembered = self._known  # replaced as a whole by other threads, never emptied
        found = list(map(remembered.get, texts))
        fresh = list(dict.fromkeys([text for text, one in zip(texts, found, strict=True) if one is None]))
        if not fresh:
            return [one for one in found if one is not None]
        read = dict(zip(fresh, _read(fresh), strict=True))
        with self._lock:
            if self._chars > _MAX_CHARS:
                self._known = {}
                self._chars = 0
            self._known.update(read)
            self._chars += sum(map(len, fresh))
        return [read[text] if one is None else one for text, one in zip(texts, found, strict=True)]


def _read(texts: Sequence[str]) -> list[_Indexed]:
    low = [lowered(text) for text in texts]
    return [_Indexed(text, words) for text, words in zip(low, index_words(low), strict=True)]


def _tiled(axis: Axis, words: Sequence[Words]) -> NDArray[np.bool_]:
    """Per run, whether its words are those of its chunks: none overlap, and no word goes on across their borders."""
    begins = np.array([one.begins for one in words], dtype=np.bool_)
    ends = np.array([one.ends for one in words], dtype=np.bool_)
    apart = (axis.starts[1:] != axis.ends[:-1]) | (ends[:-1] & begins[1:])
    apart &= axis.run[1:] == axis.run[:-1]
    tiled = np.ones(len(axis.runs), dtype=np.bool_)
    tiled[axis.run[1:][apart]] = False
    return tiled


def _pool(
    parts: Sequence[_Indexed], bases: Sequence[int] | Places, rows: Callable[[], Sequence[Sequence[_Indexed]]]
) -> WordPool:
    def text() -> str:
        return ("\n" * GAP).join(["".join([one.lowered for one in row]) for row in rows()])

    return WordPool([one.words for one in parts], bases, [one.lowered for one in parts], text)
