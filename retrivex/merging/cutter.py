"""Runs -> units: each chunk is cut by itself, with a cache of where; what is one part of a text is joined again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from retrivex.merging.borders import JoinedUnits
from retrivex.merging.cuts import UNIT_BYTES, ChunkCuts
from retrivex.merging.offsets import OffsetIndex
from retrivex.merging.stored_cuts import unpack
from retrivex.merging.torn import EdgeRules
from retrivex.merging.units import Units
from retrivex.text.cache import TextCache
from retrivex.text.structure import begins_block, fence_at_start, is_finished, structure_of

Integers = NDArray[np.int64]


_MAX_CHARS = 32_000_000  # characters of chunk text whose cuts are remembered
_PER_TEXT = 200  # that a text counts beside its own, as short texts take memory too


def _size(text: str) -> int:
    return len(text) + _PER_TEXT


class Fineness(NamedTuple):
    """Which of c chunks are cut into units; each of the others is valued as a whole.

    Parameters
    ----------
    cut : shape (c,)
    tokens : shape (c,), of each, to choose by: a unit has its share of those of its chunk
    """

    cut: NDArray[np.bool_]
    tokens: Integers

    @classmethod
    def full(cls, tokens: Integers) -> Fineness:
        """Cut all."""
        return cls(np.ones(len(tokens), dtype=np.bool_), tokens)


class UnitCutter:
    """Cuts runs into units, with a cache of the cuts of texts; safe for several threads.

    Parameters
    ----------
    size : bytes of a group of sentences, about
    """

    def __init__(self, size: int = UNIT_BYTES) -> None:
        self.size = size
        self._known = TextCache[str, ChunkCuts](_MAX_CHARS, _size)
        self._in_fences = TextCache[tuple[str, str], ChunkCuts](_MAX_CHARS // 8, lambda key: _size(key[1]))
        self._stored = TextCache[str, tuple[bytes, ChunkCuts]](_MAX_CHARS, _size)

    def cuts(self, text: str) -> tuple[int, ...]:
        """Return where a chunk's text may be cut."""
        return self._look_up([text], None)[0].ends

    def _look_up(self, texts: Sequence[str], stored: Mapping[str, bytes] | None) -> list[ChunkCuts]:
        if not stored or self.size != UNIT_BYTES:
            return self._known.find(texts, self._read_all)
        found = [self._known.get(text) or self._believe(text, stored.get(text)) for text in texts]
        missing = [text for text, one in zip(texts, found, strict=True) if one is None]
        made = dict(zip(missing, self._known.find(missing, self._read_all), strict=True))
        return [made[text] if one is None else one for text, one in zip(texts, found, strict=True)]

    def _believe(self, text: str, packed: bytes | None) -> ChunkCuts | None:
        """Return what a store keeps of a text, if it holds: apart from what was cut here, as it is another's word."""
        if packed is None:
            return None
        known = self._stored.get(text)
        if known is not None and known[0] == packed:
            return known[1]
        cuts = unpack(packed, text)
        if cuts is not None:
            self._stored.put([text], [(packed, cuts)])
        return cuts

    def _read_all(self, texts: Sequence[str]) -> list[ChunkCuts]:
        return self._read([("", text) for text in texts])

    def _read(self, keys: Sequence[tuple[str, str]]) -> list[ChunkCuts]:
        return [ChunkCuts.read(text, fence, self.size) for fence, text in keys]

    def cut(
        self, axis: OffsetIndex, rules: EdgeRules, fineness: Fineness, stored: Mapping[str, bytes] | None = None
    ) -> Units:
        """Return the units of some chunks, in order, and each of the others as one, which is hidden.

        The units of a run tile what its chunks say, each character once. A sentence, row or fence that the end of a
        chunk cuts through is repaired: its parts become one unit, and so do a heading and its text. Where the rest of
        it is not in the run, its unit is `torn`, and `hidden` unless it has text of a hit.

        Parameters
        ----------
        axis : chunks of the candidates
        rules : what is known of the edges of their runs
        fineness : which of them are cut, and how many tokens each has
        stored : what the store of a call says of where texts may be cut, unchecked
        """
        found = self._cut_some(np.flatnonzero(fineness.cut).tolist(), axis, stored)
        found |= self._cut_some([at for at in _open_ends(axis, found) if at not in found], axis, stored)
        fine = [at in found for at in range(len(axis.chunks))]
        known = [found[at] if fine[at] else ChunkCuts.whole(text) for at, text in enumerate(axis.texts)]
        # single letters are found in a tenth of the time of strings
        if any(("`" in text and "```" in text) or ("~" in text and "~~~" in text) for text in axis.texts):
            known = self._in_order(axis, known, fine)
        return JoinedUnits(axis, known, np.array(fine, dtype=np.bool_), fineness.cut, fineness.tokens, self.size).units(
            rules
        )

    def _cut_some(
        self, places: Sequence[int], axis: OffsetIndex, stored: Mapping[str, bytes] | None
    ) -> dict[int, ChunkCuts]:
        return dict(zip(places, self._look_up([axis.texts[at] for at in places], stored), strict=True))

    def _in_order(self, axis: OffsetIndex, known: Sequence[ChunkCuts], fine: list[bool]) -> list[ChunkCuts]:
        """Read the chunks again that begin inside a fence; those that a fence of one that is cut goes on in, too."""
        made: list[ChunkCuts] = []
        goes_on = [False, *axis.goes_on.tolist()]
        for at, (text, one) in enumerate(zip(axis.texts, known, strict=True)):
            follows = goes_on[at] and fine[at - 1]
            fine[at] = fine[at] or bool(follows and made[-1].fence)
            if not fine[at]:
                made.append(one)
                continue
            if follows:
                fence = made[-1].fence
            else:
                lead = axis.chunks[at].metadata.prefix
                fence = structure_of(lead).fence if lead and begins_block(lead, 0) else fence_at_start(text)
            made.append(self._in_fences.find([(fence, text)], self._read)[0] if fence else one)
        return made


def _open_ends(axis: OffsetIndex, cut: Mapping[int, ChunkCuts]) -> list[int]:
    """Return the chunks that may hold the rest of a sentence which begins or ends in one that is cut, ascending."""
    goes_on = [False, *axis.goes_on.tolist(), False]
    behind = {at + 1 for at, one in cut.items() if goes_on[at + 1] and not one.done}
    # a name with a capital letter may go on what the chunk before ends with
    before = {at - 1 for at, one in cut.items() if goes_on[at] and not (one.begins and is_finished(axis.texts[at - 1]))}
    return sorted(behind | before)
