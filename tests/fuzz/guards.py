"""The guards' options as drawn by the fuzzer, and their rules written out a second time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrivex import Chunk, RetrievalConfig
from retrivex.expansion.continuity import neighbour_continuity
from retrivex.text.word_overlap import SignatureCache

GUARD_CHOICES: dict[str, Sequence[Any]] = {
    "stop_on_heading_change": (False, True),
    "min_continuity": (-1.0, 0.013, 0.161, 1.0),
    "stop_on_change": (("page",), (lambda left, right: left.metadata.page != right.metadata.page,)),
}

_SIGNATURES = SignatureCache()


def may_cross(left: Chunk, right: Chunk, config: RetrievalConfig) -> bool:
    """Whether a window may grow across the boundary between two neighbouring chunks."""
    (flow,), _ = neighbour_continuity([left, right], _SIGNATURES)
    headings = [tuple(chunk.metadata.heading_path or ()) for chunk in (left, right)]
    enough = 0.7 * config.min_continuity if flow.lexical else config.min_continuity
    if config.stop_on_heading_change and headings[0] != headings[1] and flow.value < enough:
        return False
    return not (config.stop_on_change and left.metadata.page != right.metadata.page)
