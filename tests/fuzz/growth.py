"""What seeds may grow to, written out a second time, the slow way: what the composer is compared with."""

from __future__ import annotations

import math
from collections.abc import Callable
from unicodedata import category

from fuzz.cases import Case
from fuzz.guards import may_cross
from fuzz.stores import OddStore

from retrivex import Chunk, RetrievalConfig
from retrivex.expansion.guards import shape_goes_on
from retrivex.model.chunk import MAX_CHUNK_ID, ChunkKey
from retrivex.tokens.sampled import SAMPLE


def expected_windows(
    case: Case, config: RetrievalConfig, count: Callable[[str], int] | None
) -> list[tuple[str, int, int]] | None:
    """Windows by document and place; None where it depends on the ranking, or hits disagree with the store.

    With `count`, of tokens, windows widen as far as `pool_factor` asks.
    """
    if (config.expand_top, config.expand_top_documents, config.k) != (None, None, None) or not case.honest():
        return None
    chunks = _usable_chunks(case, config)
    if chunks is None:
        return None
    keys = _seed_keys(case, config)
    before, after = config.window if isinstance(config.window, tuple) else (config.window,) * 2
    if count is not None and config.pool_factor is not None:
        if len(keys) > SAMPLE:
            return None
        tokens = sum(count(chunks[key].text) for key in keys)
        widest = _widest(tokens, config.pool_factor * config.token_budget)
        before, after = before and max(before, widest), after and max(after, widest)
    return sorted(
        (key[0], _walk(key, -1, before, chunks, config), _walk(key, 1, after, chunks, config) + 1) for key in keys
    )


def _widest(tokens: int, wanted: float) -> int:
    """Neighbours on each side until seeds and neighbours of their size would hold what is wanted, or nothing more."""
    if not tokens:
        return 0
    return next((width for width in range(40) if tokens + 2 * width * tokens >= wanted), 40)


def _seed_keys(case: Case, config: RetrievalConfig) -> set[ChunkKey]:
    scopes = case.scopes()
    low, high = -math.inf, math.inf
    if config.score_scale == "cosine":
        low, high = (-1, 1) if config.score_kind == "similarity" else (0, 2)
    elif config.score_scale == "unit":
        low, high = 0, 1
    return {
        hit.key
        for hit in case.all_hits()
        if hit.chunk.metadata.scope in scopes
        and low - 1e-6 <= hit.similarity_score <= high + 1e-6
        and any(_is_seen(character) for character in hit.chunk.text)
    }


def _is_seen(character: str) -> bool:
    return not character.isspace() and category(character) not in ("Cc", "Cf")


def _usable_chunks(case: Case, config: RetrievalConfig) -> dict[ChunkKey, Chunk] | None:
    """Chunks by key as the walk should see them; None where hits disagree with the store or each other."""
    given: dict[ChunkKey, Chunk] = {}
    for hit in case.all_hits():
        if given.setdefault(hit.key, hit.chunk) is not hit.chunk:
            return None
        stored = case.world.store.get(hit.key)
        if stored is not None and stored is not hit.chunk:
            return None
    failing = isinstance(case.store, OddStore) and case.store.behaviour == "fails"
    seeds = {key: given[key] for key in _seed_keys(case, config)}
    visible = {k: c for k, c in case.world.store.items() if c.metadata.scope in case.scopes()}
    return seeds if failing else {**visible, **seeds}


def _walk(seed: ChunkKey, step: int, reach: int, chunks: dict[ChunkKey, Chunk], config: RetrievalConfig) -> int:
    doc_id, here = seed
    policies = config.grow_until
    for distance in range(1, (reach if policies is None else max(reach, config.max_window)) + 1):
        inner, outer = chunks[doc_id, here], chunks.get((doc_id, here + step))
        if outer is None or outer.metadata.chunk_id > MAX_CHUNK_ID:
            break
        left, right = (inner, outer) if step > 0 else (outer, inner)
        goes_on = isinstance(policies, tuple) and any(shape_goes_on(left.text, right.text, p) for p in policies)
        if (distance > reach and not goes_on) or not may_cross(left, right, config):
            break
        here += step
    return here
