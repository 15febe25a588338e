"""The guards' options as drawn by the fuzzer, and their rules written out a second time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrivex import Chunk, RetrievalConfig
from retrivex.expansion.continuity import neighbour_continuity
from retrivex.text.word_overlap import SignatureCache

GUARD_CHOICES: dict[str, Sequence[Any]] = {
    "stop_on_heading_change": (False, True),
    "heading_level": (1, 2),
    "min_continuity": (-1.0, 0.013, 1.0),
    "min_lexical_continuity": (0.0, 0.113, 1.0),
    "stop_on_page_change": (True,),
    "continuity_floor": (-0.513, 0.217, 1.0),
    "lexical_continuity_floor": (0.0, 0.217, 1.0),
}

_SIGNATURES = SignatureCache()


def may_cross(left: Chunk, right: Chunk, config: RetrievalConfig) -> bool:
    """Whether a window may grow across the boundary between two neighbouring chunks."""
    (flow,), _ = neighbour_continuity([left, right], _SIGNATURES)
    floor = config.lexical_continuity_floor if flow.lexical else config.continuity_floor
    if floor is not None and flow.value < floor:
        return False
    level = config.heading_level
    headings = [tuple(chunk.metadata.heading_path or ())[:level] for chunk in (left, right)]
    enough = config.min_lexical_continuity if flow.lexical else config.min_continuity
    if config.stop_on_heading_change and headings[0] != headings[1] and flow.value < enough:
        return False
    return not (config.stop_on_page_change and left.metadata.page != right.metadata.page)
