"""Bugs planted in how counts of stores are believed, for the fuzzer to find."""

from __future__ import annotations

from typing import Any

from fuzz.mutants import Mutant

from retrivex.merging import cutter, stored_cuts
from retrivex.tokens.stored import CandidateCounts, StoredCount


def _kept_as_own(original: Any) -> Any:
    """Keep what a store says as what the tokenizer counted."""

    def add(self: CandidateCounts, text: str, stored: Any) -> None:
        original(self, text, stored)
        if type(stored) is StoredCount and stored.holds(text, self.cache.name):
            self.cache._counts.put([text], [stored.tokens])

    return add


def _without_checksum(_: Any) -> Any:
    def holds(self: StoredCount, text: str, tokenizer: str) -> bool:
        return type(self.tokens) is int and 0 <= self.tokens <= len(text.encode("utf-8", "surrogatepass"))

    return holds


def _any_number(_: Any) -> Any:
    def holds(self: StoredCount, text: str, tokenizer: str) -> bool:
        return type(self.tokens) is int and self == StoredCount.of(text, self.tokens, tokenizer, self.cuts)

    return holds


def _cuts_without_checksum(original: Any) -> Any:
    def unpack(packed: bytes, text: str) -> Any:
        signed = stored_cuts._checksum(packed, text).to_bytes(4, "little") + packed[4:]
        return original(signed, text)

    return unpack


def _any_cuts(original: Any) -> Any:
    """Believe whatever is signed, where its ends are in the text."""

    def unpack(packed: bytes, text: str) -> Any:
        made = original(packed, text)
        head = stored_cuts._HEAD
        if made is not None or len(packed) < head.size:
            return made
        checksum, _, _, _, _, count = head.unpack_from(packed)
        if len(packed) < head.size + 4 * count or checksum != stored_cuts._checksum(packed, text):
            return None
        ends = stored_cuts.struct.unpack_from(f"<{count}I", packed, head.size)
        edges = stored_cuts.Edges(stored_cuts._BEGINS[0], stored_cuts._ENDS[0], punctuated=False, cased=None)
        return stored_cuts.ChunkCuts.of(ends, edges, "")

    return unpack


def _cuts_kept_as_own(original: Any) -> Any:
    """Keep the cuts that a store gives as those that were made here."""

    def believe(self: cutter.UnitCutter, text: str, packed: bytes | None) -> Any:
        made = original(self, text, packed)
        if made is not None:
            self._known.put([text], [made])
        return made

    return believe


PLANTED = (
    Mutant("stored counts are the tokenizer's own", CandidateCounts, "add", _kept_as_own),
    Mutant("stored counts need no checksum", StoredCount, "holds", _without_checksum),
    Mutant("signed counts may be impossible", StoredCount, "holds", _any_number),
    Mutant("stored cuts need no checksum", cutter, "unpack", _cuts_without_checksum),
    Mutant("signed cuts may be impossible", cutter, "unpack", _any_cuts),
    Mutant("cuts of one store are another's", cutter.UnitCutter, "_believe", _cuts_kept_as_own),
)
