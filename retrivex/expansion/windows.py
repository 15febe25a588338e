"""Windows: each seed grows to its neighbouring chunks until a guard stops it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from retrivex.config import RetrievalConfig
from retrivex.expansion.continuity import Continuity, SharedWords, neighbour_continuity
from retrivex.expansion.guards import guards_of, refusal, stop_rule
from retrivex.expansion.seeds import Seed
from retrivex.model.chunk import MAX_CHUNK_ID, Chunk, ChunkKey
from retrivex.model.window import Window
from retrivex.text.word_overlap import SignatureCache

MAX_WIDENING = 40
"""Neighbours on each side that `pool_factor` asks for at most, in chunks."""


@dataclass(slots=True)
class Expansion:
    """The windows that the seeds grew to, and where growth stopped.

    Parameters
    ----------
    windows : per seed, what it grew to
    refused : chunks at which a walk stopped, and why; they are not in any window of that walk
    continuity : of each chunk with the one before it, by key
    holes : chunks that should be there and are not
    mixed : whether embeddings of different sizes met
    """

    windows: list[Window] = field(default_factory=list)
    refused: dict[ChunkKey, str] = field(default_factory=dict)
    continuity: Mapping[ChunkKey, Continuity] = field(default_factory=dict)
    holes: set[ChunkKey] = field(default_factory=set)
    mixed: bool = False


def growing_seeds(seeds: Sequence[Seed], config: RetrievalConfig) -> list[bool]:
    """Per seed, best first, whether it may grow: `expand_top` hits of `expand_top_documents` documents, if placed."""
    grows = [config.expand_top is None or rank < config.expand_top for rank in range(len(seeds))]
    if config.expand_top_documents is not None:
        documents: list[str] = []
        for rank, seed in enumerate(seeds):
            if seed.key[0] not in documents and len(documents) < config.expand_top_documents:
                documents.append(seed.key[0])
            grows[rank] = grows[rank] and seed.key[0] in documents
    return [may and seed.unplaced is None for may, seed in zip(grows, seeds, strict=True)]


def widened_reach(
    seeds: Sequence[Seed], config: RetrievalConfig, count_many: Callable[[Sequence[str]], Sequence[int]]
) -> tuple[int, int]:
    r"""Neighbours before and after a seed that let the candidates hold `pool_factor` times the token budget.

    With T tokens in the seeds, g of which may grow and have t tokens on the mean, windows are widened to

    .. math:: L = \lceil (f \cdot B - T) / (2 g t) \rceil

    for the factor *f* and the budget *B*, as if none of them met: at least what the config says, at most 40. A side
    without neighbours stays without. What is chosen from too little is whatever is there: a wider pool brings more of
    the evidence, at the price of time and, where the budget is far larger than the evidence, of precision.
    """
    before, after = config.reach
    grows = growing_seeds(seeds, config)
    if config.pool_factor is None or not any(grows) or not (before or after):
        return before, after
    counts = count_many([seed.chunk.text for seed in seeds])
    growing = sum(count for count, may in zip(counts, grows, strict=True) if may)
    missing = config.pool_factor * config.token_budget - sum(counts)
    wanted = ceil(min(missing / (2 * growing), MAX_WIDENING)) if missing > 0 and growing else 0
    return (max(before, wanted) if before else 0), (max(after, wanted) if after else 0)


def plan_windows(seeds: Sequence[Seed], config: RetrievalConfig, reaches: Sequence[tuple[int, int]]) -> list[Window]:
    """Per seed, the widest window it may grow to: what has to be fetched; reaches are chunks before and after it."""
    least = 0 if config.grow_until is None else config.max_window
    planned: list[Window] = []
    for seed, grows, reach in zip(seeds, growing_seeds(seeds, config), reaches, strict=True):
        before, after = max(reach[0], least), max(reach[1], least)
        doc_id, chunk_id = seed.key
        if grows:
            planned.append(Window(doc_id, max(0, chunk_id - before), min(MAX_CHUNK_ID, chunk_id + after) + 1))
        else:
            planned.append(Window(doc_id, chunk_id, chunk_id + 1))
    return planned


def _boundaries(
    windows: Sequence[Window], found: Mapping[ChunkKey, Chunk], signatures: SignatureCache
) -> tuple[Mapping[ChunkKey, Continuity], bool]:
    """Continuity across every boundary inside `windows`, which do not touch, by the key of the chunk after it."""
    if sum(map(len, windows)) <= 4 * len(found):
        wanted = [(window.doc_id, at) for window in windows for at in range(window.start, window.end)]
        keys = wanted if all(map(found.__contains__, wanted)) else [key for key in wanted if key in found]
    else:  # windows may be far wider than documents are long
        keys = sorted(found)
    chunks = [found[key] for key in keys]
    if all(chunk.embedding is None for chunk in chunks):
        return SharedWords(keys, [chunk.text for chunk in chunks], signatures), False
    continuities, mixed = neighbour_continuity(chunks, signatures)
    # neighbours in the row that are no neighbours in a document are measured too, and never asked for
    return dict(zip(keys[1:], continuities, strict=True)), mixed


class _Walker:
    """Walks outwards from seeds over what was fetched."""

    def __init__(
        self, found: Mapping[ChunkKey, Chunk], config: RetrievalConfig, made: Expansion, ends: Collection[ChunkKey]
    ) -> None:
        self.found = found
        self.config = config
        self.made = made
        self.ends = ends
        self.stop: Callable[[Chunk, Chunk], bool] | None = stop_rule(config)
        self.guards = guards_of(config)
        self.asks_everywhere = any(guard.within_section for guard in self.guards)

    def walk(self, seed: ChunkKey, step: int, reach: int) -> int:
        """Return the last chunk id reached, going by `step` (+1 or -1); stops for good at the first refusal."""
        doc_id, here = seed
        found, stop = self.found, self.stop
        limit = reach if stop is None else max(reach, self.config.max_window)
        inner = found[seed]
        for distance in range(1, limit + 1):
            key = (doc_id, here + step)
            outer = found.get(key)
            if outer is None:
                self._miss(key, inner)
                break
            if distance > reach and stop is not None and stop(inner, outer):
                break
            if self.asks_everywhere or inner.metadata.heading_path != outer.metadata.heading_path:
                reason = self._refusal(inner, outer) if step > 0 else self._refusal(outer, inner)
            else:
                reason = None
            if reason is not None:
                # Stop at the first refused neighbour: stepping over it would leave a hole in the span.
                self.made.refused[key] = reason
                break
            here, inner = key[1], outer
        return here

    def _refusal(self, left: Chunk, right: Chunk) -> str | None:
        return refusal(left, right, self.made.continuity[right.key], self.config, self.guards)

    def _miss(self, key: ChunkKey, inner: Chunk) -> None:
        chunk_id, count = key[1], inner.metadata.chunk_count
        if chunk_id < 0 or (count is not None and chunk_id >= count):
            return
        if key in self.ends:
            self.made.refused[key] = "document end"
            return
        self.made.refused[key] = "missing"
        # without a chunk count, a hole behind the last chunk looks like the end of the document, and a missing first
        # chunk like numbers that begin at 1
        if count is not None or 0 < chunk_id < inner.metadata.chunk_id:
            self.made.holes.add(key)


def grow(
    seeds: Sequence[Seed],
    planned: Sequence[Window],
    merged: Sequence[Window],
    found: Mapping[ChunkKey, Chunk],
    config: RetrievalConfig,
    reaches: Sequence[tuple[int, int]],
    signatures: SignatureCache,
    ends: Collection[ChunkKey] = (),
) -> Expansion:
    """Grow every seed inside its planned window, guards asked at every boundary.

    Parameters
    ----------
    seeds, planned : n each; `planned[i]` is the widest that `seeds[i]` may get
    merged : `planned`, joined where they touch
    found : every chunk that may be used, seeds included
    reaches : neighbours before and after each seed, further ones only under `grow_until`
    ends : places where the store says that there is nothing and nothing is missing

    Returns
    -------
    Expansion
        With one window per seed.
    """
    made = Expansion()
    made.continuity, made.mixed = _boundaries(merged, found, signatures)
    walker = _Walker(found, config, made, ends)
    for seed, plan, (before, after) in zip(seeds, planned, reaches, strict=True):
        if len(plan) == 1:
            made.windows.append(plan)
            continue
        start = walker.walk(seed.key, -1, before)
        end = walker.walk(seed.key, +1, after) + 1
        as_planned = start == plan.start and end == plan.end
        made.windows.append(plan if as_planned else Window(plan.doc_id, start, end))
    return made
