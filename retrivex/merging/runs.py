"""Windows -> runs: the chunks of windows that touch, stitched to contiguous text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from retrivex.config import RetrievalConfig
from retrivex.merging.intervals import merge_windows
from retrivex.model.chunk import Chunk, ChunkKey
from retrivex.model.run import SURE_GAP, Gap, Run, stitch
from retrivex.model.window import Window


class Merged(NamedTuple):
    """Runs of contiguous text, and warnings about how they were joined."""

    runs: list[Run]
    warnings: list[str]


def merge(windows: Sequence[Window], found: Mapping[ChunkKey, Chunk], config: RetrievalConfig) -> Merged:
    """Join windows that touch or overlap, and stitch the chunks of each to runs.

    Parameters
    ----------
    windows : of seeds and linked chunks, in any order
    found : every chunk of the windows
    config : `max_gap_chars`
    """
    stitched = [
        stitch([found[window.doc_id, chunk_id] for chunk_id in range(window.start, window.end)], config.max_gap_chars)
        for window in merge_windows(windows)
    ]
    inconsistent = [chunk for part in stitched for chunk in part.inconsistent]
    gaps = [gap for part in stitched for gap in part.gaps]
    return Merged([run for part in stitched for run in part.runs], _warnings(inconsistent, gaps))


def _warnings(inconsistent: Sequence[Chunk], gaps: Sequence[Gap]) -> list[str]:
    """Report offsets that contradict the text, and gaps that may have held words."""
    made = []
    if inconsistent:
        made.append(
            f"offsets contradict the text in {len(inconsistent)} chunks, first {inconsistent[0].key!r}: they were "
            "joined by text"
        )
    if gaps:
        count = "1 gap" if len(gaps) == 1 else f"{len(gaps)} gaps"
        made.append(
            f"{count} of more than {SURE_GAP} characters closed as dropped white space, first the "
            f"{gaps[0].width} before {gaps[0].chunk.key!r}: where there may be words, lower max_gap_chars or keep "
            "white space in the chunks (strip_whitespace=False in LangChain's splitters)"
        )
    return made
