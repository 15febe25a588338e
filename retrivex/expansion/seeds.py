"""Seeds: retrieved hits, checked, fused, sorted, with scores normalised to [0, 1]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias
from unicodedata import category

from retrivex.config import RetrievalConfig
from retrivex.errors import HitError, quoted
from retrivex.expansion.fusion import reciprocal_rank_fusion
from retrivex.model.canonical import canonical_form
from retrivex.model.chunk import Chunk, ChunkKey
from retrivex.model.hit import DroppedHit, DropReason, SeedHit
from retrivex.model.span import Span

SeedHits: TypeAlias = Sequence[SeedHit] | Sequence[Sequence[SeedHit]] | Mapping[str, Sequence[SeedHit]]
"""Hits of one retriever, one list for each query or retriever, or a list by the question that it was found for."""

_RANGES = {
    ("similarity", "cosine"): (-1.0, 1.0),
    ("distance", "cosine"): (0.0, 2.0),
    ("similarity", "unit"): (0.0, 1.0),
    ("distance", "unit"): (0.0, 1.0),
}
_SLACK = 1e-6  # float32 cosines of equal vectors come out as 1.0000001


class Seed(NamedTuple):
    """A hit that may grow.

    Parameters
    ----------
    key : `(doc_id, chunk_id)`
    chunk : as the retriever gave it
    score : as the retriever gave it; with several lists, as the first one that holds it did
    relevance : in [0, 1] over the hits, 1 is the best; of the fused ranks where there are several lists
    by_list : relevance within each hit list that found it, by list number
    unplaced : why its place in the chunk store is unknown; None where it is known
    """

    key: ChunkKey
    chunk: Chunk
    score: float
    relevance: float
    by_list: dict[int, float]
    unplaced: str | None = None


def as_hit_lists(seed_hits: SeedHits) -> list[list[SeedHit]]:
    """Return `seed_hits` as a list of lists.

    Raises
    ------
    HitError
        If something in it is neither a SeedHit nor a list of them.
    """
    wrong = f"seed_hits is {type(seed_hits).__name__}: give a list of SeedHit, or one list per query"
    if isinstance(seed_hits, str):
        raise HitError(wrong)
    try:
        given = iter(seed_hits)
    except TypeError:
        raise HitError(wrong) from None
    items: list[Any] = list(seed_hits.values() if isinstance(seed_hits, Mapping) else given)
    lists: list[Any] = items if items and all(isinstance(item, (list, tuple)) for item in items) else [items]
    for hits in lists:
        for at, hit in enumerate(hits):
            if not isinstance(hit, SeedHit):
                raise HitError(
                    f"seed_hits[{at}] is {type(hit).__name__}: every hit must be a SeedHit(chunk, similarity_score); "
                    "wrap what your retriever returns, or give one list of them per query"
                )
    return [list(hits) for hits in lists]


def questions_of(seed_hits: SeedHits) -> tuple[str, ...]:
    """Return the questions of hit lists, in their order; none where they have none of their own.

    Raises
    ------
    HitError
        If one is no text, or blank, or has no list of hits.
    """
    given: Mapping[Any, Any] = seed_hits if isinstance(seed_hits, Mapping) else {}
    for question, hits in given.items():
        if not isinstance(question, str) or not question.strip() or not isinstance(hits, (list, tuple)):
            raise HitError(
                f"seed_hits has {type(hits).__name__} under {quoted(question)}: give {{'the question': [its hits]}}, "
                "with a list of SeedHit for each question"
            )
    return tuple(given)


def _separate(lists: Sequence[Sequence[SeedHit]], pinned: Sequence[Any]) -> Sequence[Sequence[SeedHit]]:
    """Keep hits without a place apart from what has one: `(doc_id, chunk_id)` is no place of theirs.

    One that another hit places has that place. Others of a document with placed hits, or with other pinned chunks, are
    given a document of their own, as their number there may be that of another chunk, or of a neighbour.
    """
    if all(hit.unplaced is None for hits in lists for hit in hits):
        return lists
    placed = {(hit.key, hit.chunk.text) for hits in lists for hit in hits if hit.unplaced is None}
    pins = [chunk for item in pinned for chunk in (item.chunks if isinstance(item, Span) else [item])]
    shown = {(chunk.key, chunk.text) for chunk in pins if isinstance(chunk, Chunk)}
    documents = {doc_id for (doc_id, _), _ in placed | shown}
    used = documents | {hit.key[0] for hits in lists for hit in hits}
    used |= {doc_id for hits in lists for hit in hits for doc_id, _ in hit.chunk.metadata.links}

    def unused_name(hit: SeedHit) -> str:
        """Return a name that no document has here, but for what an earlier turn showed of this one."""
        name = f"{hit.key[0]} (unplaced)"
        while name in used and ((name, hit.key[1]), hit.chunk.text) not in shown:
            name += " (unplaced)"
        return name

    def apart(hit: SeedHit) -> SeedHit:
        chunk, known = hit.chunk, (hit.key, hit.chunk.text)
        if hit.unplaced is None or hit.key[0] not in documents:
            return hit
        if known in placed:
            return replace(hit, unplaced=None)
        if known in shown:
            return hit
        metadata = replace(chunk.metadata, doc_id=unused_name(hit))
        return replace(hit, chunk=Chunk(chunk.text, metadata, chunk.embedding))

    return [[apart(hit) for hit in hits] for hits in lists]


def normalise(scores: Sequence[float], config: RetrievalConfig, *, fused: bool = False) -> list[float]:
    """Bring similarities to [0, 1]; the best is 1.

    Unbounded and fused scores by their range over the hits, :math:`(s - min) / (max - min)`, all 1 where they are
    equal or there is one; cosines and unit scores as a share of the best, negative ones as 0, and by their range
    where none is positive.
    """
    if not scores:
        return []
    low, high = min(scores), max(scores)
    if config.score_scale != "unbounded" and not fused and high > 0:
        return [max(score, 0.0) / high for score in scores]
    # halves, because the whole range of finite scores is not a finite number
    width = high / 2 - low / 2
    return [(score / 2 - low / 2) / width if width > 0 else 1.0 for score in scores]


def _similarities(scores: list[float], config: RetrievalConfig) -> list[float]:
    if config.score_kind == "similarity":
        return scores
    return [1.0 - score if config.score_scale != "unbounded" else -score for score in scores]


def _check_scale(hit: SeedHit, config: RetrievalConfig) -> str | None:
    limits = _RANGES.get((config.score_kind, config.score_scale))
    score = hit.similarity_score
    if limits is None or limits[0] - _SLACK <= score <= limits[1] + _SLACK:
        return None
    return (
        f"similarity_score of {hit.key!r} is {score:g}: a {config.score_scale} {config.score_kind} lies in "
        f"[{limits[0]:g}, {limits[1]:g}]; declare score_scale='unbounded' for other scores"
    )


def _order_tied(rows: list[_Row]) -> list[_Row]:
    """Order hits that differ in nothing but their metadata and embeddings by these: the input's order says nothing."""
    if len(rows) == 1:
        return rows
    return sorted(rows, key=lambda row: (row[5].unplaced or "", *canonical_form(row[5].chunk)))


_Row: TypeAlias = tuple[float, ChunkKey, str, float, int, SeedHit, "str | None"]
"""Similarity, turned round; key and text of the chunk; score; number in the list; hit; scope."""


class _Sorter:
    """Sorts hits into usable ones, by ranking, and dropped ones with their reasons."""

    def __init__(self, config: RetrievalConfig, allowed: frozenset[str | None]) -> None:
        self.config = config
        self.allowed = allowed
        self.dropped: list[DroppedHit] = []
        self.texts: dict[ChunkKey, str] = {}

    def drop(self, hit: SeedHit, reason: DropReason, detail: str) -> None:
        if self.config.strict:
            raise HitError(detail)
        self.dropped.append(DroppedHit(*hit.key, hit.similarity_score, reason, detail))

    def usable(self, hits: Sequence[SeedHit]) -> dict[ChunkKey, SeedHit]:
        """Hits of one list by key, best first, each chunk once."""
        best: dict[ChunkKey, SeedHit] = {}
        bounded, allowed = self.config.score_scale != "unbounded", self.allowed
        rows: list[_Row] = []
        similarities = _similarities([hit.similarity_score for hit in hits], self.config)
        for number, (hit, similarity) in enumerate(zip(hits, similarities, strict=True)):
            chunk, metadata = hit.chunk, hit.chunk.metadata
            key = (metadata.doc_id, metadata.chunk_id)
            # equal scores are ordered by their chunks, so that the order they came in does not matter
            rows.append((-similarity, key, chunk.text, hit.similarity_score, number, hit, metadata.scope))
        rows.sort()
        if len({row[1] for row in rows}) < len(rows):
            rows = [row for _, tied in groupby(rows, itemgetter(0, 1, 2, 3)) for row in _order_tied(list(tied))]
        for _, key, text, _, _, hit, scope in rows:
            detail = _check_scale(hit, self.config) if bounded else None
            if detail is not None:
                self.drop(hit, "out_of_scale", detail)
            elif scope not in allowed:
                self.drop(hit, "scope", scope_detail(key, scope))
            elif not text[0].isalnum() and all(map(_is_invisible, text)):
                detail = f"{key!r} holds nothing but white space and invisible characters: there is nothing to show"
                self.dropped.append(DroppedHit(*key, hit.similarity_score, "no_text", detail))
            elif self.texts.setdefault(key, text) == text:
                best.setdefault(key, hit)
            else:
                self.drop(
                    hit,
                    "duplicate_id",
                    f"two hits are called {key!r} and their texts differ: the better one (of the first list) is used; "
                    "give every chunk of a document its own chunk_id",
                )
        return best


def _is_invisible(character: str) -> bool:
    """Whether a character is white space, or a control or format character."""
    return character.isspace() or category(character) in ("Cc", "Cf")


def scope_detail(key: ChunkKey, scope: str | None) -> str:
    """Say why a chunk may not be seen, without saying whose it is."""
    if scope is None:
        return f"{key!r} carries no scope: a call with a scope sees only chunks of it; allow None in scope to see it"
    return f"{key!r} belongs to a scope that this call may not see; name it in scope to see it"


def prepare_seeds(
    seed_hits: SeedHits, config: RetrievalConfig, allowed: frozenset[str | None]
) -> tuple[list[Seed], list[DroppedHit]]:
    """Check hits, fuse lists, keep the best `k`.

    Parameters
    ----------
    seed_hits : one list of hits, or several
    config : `score_kind`, `score_scale`, `k`, `strict`
    allowed : scopes the caller may see

    Returns
    -------
    seeds
        Best first, equal scores by document and chunk; each chunk once.
    dropped
        Hits that cannot be used.

    Raises
    ------
    HitError
        With `strict`, at the first hit that cannot be used.
    """
    sorter = _Sorter(config, allowed)
    lists = [sorter.usable(hits) for hits in _separate(as_hit_lists(seed_hits), config.pinned)]
    given: dict[ChunkKey, float] = {}
    by_list: dict[ChunkKey, dict[int, float]] = {}
    for number, hits in enumerate(lists):
        scores = [hit.similarity_score for hit in hits.values()]
        for key, score, relevance in zip(hits, scores, normalise(_similarities(scores, config), config), strict=True):
            given.setdefault(key, score)
            by_list.setdefault(key, {})[number] = relevance
    fused, rankings = len(lists) > 1, [list(hits.values()) for hits in lists]
    ranked = reciprocal_rank_fusion(rankings) if fused else rankings[0]
    kept = ranked if config.k is None else ranked[: config.k]
    for hit in ranked[len(kept) :]:
        detail = f"only the best k={config.k} hits are used as seeds"
        sorter.dropped.append(DroppedHit(*hit.key, given[hit.key], "beyond_k", detail))
    scores = [hit.similarity_score for hit in kept]
    if not fused:
        scores = _similarities(scores, config)
    seeds = [
        Seed(key := hit.key, hit.chunk, given[key], relevance, by_list[key], hit.unplaced)
        for hit, relevance in zip(kept, normalise(scores, config, fused=fused), strict=True)
    ]
    return seeds, sorter.dropped


WORST_SEED = 0.3
"""Strength of a hit with relevance 0: a hit is worth something, or the retriever would not have returned it."""


def seed_strength(relevance: float) -> float:
    """Bring relevance in [0, 1] to strength in [`WORST_SEED`, 1]."""
    return WORST_SEED + (1.0 - WORST_SEED) * relevance
