"""Link expansion: breadth-first search from the hits along chunk links, one store request per hop."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

from retrivex.config import RetrievalConfig
from retrivex.expansion.seeds import Seed, seed_strength
from retrivex.expansion.windows import Expansion
from retrivex.merging.intervals import merge_windows
from retrivex.model.chunk import Chunk, ChunkKey
from retrivex.model.window import Window
from retrivex.stores.access import ChunkReply, ChunkRequest, ParentReply, ParentRequest


@dataclass(slots=True)
class LinkReport:
    """The store requests of a link expansion, and its warnings."""

    requests: int = 0
    warnings: list[str] = field(default_factory=list)


def follow(
    seeds: Sequence[Seed], found: dict[ChunkKey, Chunk], expansion: Expansion, config: RetrievalConfig
) -> Generator[
    ChunkRequest | ParentRequest,
    ChunkReply | ParentReply,
    tuple[dict[ChunkKey, float], list[tuple[ChunkKey, ChunkKey]], LinkReport],
]:
    r"""Walk the link graph breadth first from the seeds, up to `follow_links` hops.

    A chunk reached in h hops from a seed of strength :math:`\rho` has strength :math:`\rho e^{-\beta h}`. It opens no
    window of its own: a link says that one passage belongs to another, not that its surroundings do.

    Parameters
    ----------
    seeds : best first
    found : chunks known so far; reached ones are added
    expansion : what the seeds grew to
    config : `follow_links`, `weights`

    Returns
    -------
    linked
        Strength of every reached chunk, by key.
    links
        Edges that were followed.
    report
        Requests and warnings.
    """
    sources: defaultdict[ChunkKey, set[ChunkKey]] = defaultdict(set)  # of every link, by the chunk that it leads to
    strength = {seed.key: seed_strength(seed.relevance) for seed in seeds}
    decay = math.exp(-config.weights.decay)
    linked: dict[ChunkKey, float] = {}
    report = LinkReport()
    grown = {(w.doc_id, chunk_id) for w in expansion.windows for chunk_id in range(w.start, w.end)}
    frontier = list(strength)
    for _ in range(config.follow_links):
        steps = [(key, (str(doc), int(place))) for key in frontier for doc, place in found[key].metadata.links]
        for source, target in steps:
            sources[target].add(source)
        layer = sorted({target for _, target in steps if target not in strength})
        wanted = merge_windows(Window(doc_id, i, i + 1) for doc_id, i in layer if (doc_id, i) not in found)
        if wanted:
            reply = yield ChunkRequest(tuple(wanted))
            report.requests += reply.requests
            if isinstance(reply, ChunkReply):
                found.update(reply.chunks)
            if reply.problem:
                report.warnings.append(reply.problem)
                break
        broken = [target for target in layer if target not in found]
        if broken:
            report.warnings.append(
                f"{len(broken)} links lead to chunks that are not in the store, or not for this call, "
                f"first {broken[0]!r}"
            )
        frontier = [target for target in layer if target in found]
        for target in frontier:
            reached = decay * max(strength[source] for source in sources[target])
            strength[target] = reached
            if target not in grown:
                linked[target] = reached
        if not frontier:
            break
    followed = sorted((source, target) for target in sources if target in strength for source in sources[target])
    return linked, followed, report
