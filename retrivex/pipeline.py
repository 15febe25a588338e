"""One query, step by step: seeds, fetch, expand, merge, score, select, order, render.

Written as a generator that yields its requests to the stores and is sent the replies, so that the sync and the async
composer run the very same steps.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from retrivex.assembly import SpanScorer, pin
from retrivex.candidates import build_candidates
from retrivex.chunk import Chunk, ChunkKey, Embedding
from retrivex.composition import Composition
from retrivex.errors import HitError, RetrivexError
from retrivex.exclusions import Exclusions
from retrivex.expansion import Expansion, grow, plan_windows
from retrivex.fetching import ChunkReply, ChunkRequest, ParentReply, ParentRequest
from retrivex.intervals import Window, merge_windows
from retrivex.links import follow
from retrivex.parents import PlacedParent, place_parent
from retrivex.reporting import Account, citations_of, coverage_of
from retrivex.scoring.weighted import chunk_values
from retrivex.seed import DroppedHit
from retrivex.seeding import Seed, prepare_seeds, scope_detail
from retrivex.stitching import Run, stitch
from retrivex.tracing import Log, Trace
from retrivex.writing import Call, Writer, affordable

Request: TypeAlias = ChunkRequest | ParentRequest
Reply: TypeAlias = ChunkReply | ParentReply


def _vector(embedding: Embedding) -> NDArray[np.float64] | None:
    """Return an embedding as an array of shape (d,); None for what is no row of numbers."""
    try:
        made = np.asarray(embedding, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return made if made.ndim == 1 else None


class Pipeline:
    """Runs one call; used once."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.config = call.config
        self.log = Log(call.warnings)

    def run(self) -> Generator[Request, Reply, Composition]:
        """Yield requests, be sent replies, return the composition."""
        call, config = self.call, self.config
        seeds, dropped = prepare_seeds(call.seed_hits, config, call.allowed)
        self.log.mark("seeds", len(seeds) + len(dropped), len(seeds))
        planned = plan_windows(seeds, config)
        found, out_of_scope = yield from self._fetch(seeds, planned)
        if out_of_scope:
            seeds, planned = self._without(seeds, planned, out_of_scope, dropped)
        expansion = grow(seeds, planned, found, config, call.signatures, out_of_scope)
        self._warn_of(expansion)
        linked, links = yield from self._follow_links(seeds, found, expansion)
        self.log.mark("expand", len(seeds), sum(map(len, expansion.windows)))
        runs = self._merge(expansion, linked, found)
        relevance = {seed.key: seed.relevance for seed in seeds}
        values = chunk_values(runs, relevance, linked, expansion.continuity, config, self._likeness(runs))
        exclusions = Exclusions.of(config.exclude)
        pinned, problems = pin(config.pinned, call.allowed, call.counter.cache)
        self.log.warnings += problems
        pinned = affordable(pinned, call, self.log)
        for span in pinned:
            exclusions.add(span)
        build = partial(build_candidates, runs, values, exclusions, call.counter.cache, call.style, config)
        candidates = build()
        self.log.mark("score", sum(map(len, runs)), len(candidates.pieces))
        parents = yield from self._fetch_parents(runs, out_of_scope)
        seed_ids: dict[str, list[int]] = {}
        for doc_id, chunk_id in relevance:
            seed_ids.setdefault(doc_id, []).append(chunk_id)
        scorer = SpanScorer(relevance, seed_ids, expansion.continuity, parents, config)
        quotas = self._list_values(seeds, runs, linked, expansion)
        writer = Writer(call, self.log, runs, candidates, build, scorer, pinned, quotas, exclusions)
        layout = writer.write()
        account = Account(
            seeds, found, dropped, expansion, linked, runs, values, writer.candidates, layout.spans, config
        )
        account.absorb(layout.swaps)
        trace = Trace(
            steps=tuple(self.log.steps),
            requests=self.log.requests,
            windows=tuple(expansion.windows),
            links=tuple(links),
            scorer="weighted",
            selection=self.log.selection,
            make_notes=account.notes,
        )
        spans = tuple(layout.spans)
        return Composition(
            text=layout.rendered.text,
            spans=spans,
            tokens=layout.tokens,
            token_budget=config.token_budget,
            tokenizer=call.counter.cache.name,
            question=call.question,
            citations=citations_of(spans, layout.rendered),
            coverage=coverage_of(spans, seeds),
            dropped=account.dropped(layout.tokens),
            warnings=tuple(dict.fromkeys(self.log.warnings)),
            trace=trace,
            style=call.style,
            counter=call.counter.cache.tokenizer,
        )

    # ---- what the stores know

    def _fetch(
        self, seeds: Sequence[Seed], planned: Sequence[Window]
    ) -> Generator[Request, Reply, tuple[dict[ChunkKey, Chunk], list[ChunkKey]]]:
        """Fetch all planned windows in one request; seeds stand in for what the store does not have."""
        if not seeds:
            return {}, []
        windows = merge_windows(planned)
        reply = yield ChunkRequest(tuple(windows))
        self.log.requests += reply.requests
        self.log.mark("fetch", len(windows), len(reply.chunks) if isinstance(reply, ChunkReply) else 0)
        if not isinstance(reply, ChunkReply):
            raise TypeError(f"a chunk request was answered by {type(reply).__name__}")
        if reply.problem:
            self.log.warn(reply.problem)
        if reply.conflicts:
            self._complain(sorted(reply.conflicts), "are in the chunk store with several texts; one of them is used")
        found = reply.chunks
        hidden = set(reply.out_of_scope)
        absent = [seed for seed in seeds if seed.key not in hidden and not self._reconcile(seed, found)]
        if absent and not reply.problem:
            self._complain([seed.key for seed in absent], "not in the chunk store; used as the retriever gave them")
        return found, reply.out_of_scope

    def _without(
        self,
        seeds: Sequence[Seed],
        planned: Sequence[Window],
        out_of_scope: Sequence[ChunkKey],
        dropped: list[DroppedHit],
    ) -> tuple[list[Seed], list[Window]]:
        """Leave out seeds that the store says belong to another scope, whatever the retriever says."""
        hidden = set(out_of_scope)
        for seed in seeds:
            if seed.key in hidden:
                detail = scope_detail(seed.key, "of the store")
                if self.config.strict:
                    raise HitError(detail)
                dropped.append(DroppedHit(*seed.key, seed.score, "scope", detail))
        pairs = [(s, w) for s, w in zip(seeds, planned, strict=True) if s.key not in hidden]
        return [s for s, _ in pairs], [w for _, w in pairs]

    def _reconcile(self, seed: Seed, found: dict[ChunkKey, Chunk]) -> bool:
        """Put the seed among the found chunks; return whether the store had it.

        The store's text wins where the two differ, because it is the one that its neighbours fit to.
        """
        stored = found.get(seed.key)
        if stored is None:
            found[seed.key] = seed.chunk
            return False
        if stored is seed.chunk:
            return True
        if stored.text != seed.chunk.text:
            self._complain([seed.key], "have another text in the chunk store than in the hit; the store's is used")
        elif stored.embedding is None and seed.chunk.embedding is not None:
            found[seed.key] = Chunk(stored.text, stored.metadata, seed.chunk.embedding)
        return True

    def _complain(self, keys: Sequence[ChunkKey], what: str) -> None:
        """Report bad hits: one warning, or an error with `strict`."""
        shown = ", ".join(repr(key) for key in keys[:5]) + (f" and {len(keys) - 5} more" if len(keys) > 5 else "")
        if self.config.strict:
            raise HitError(f"hits {shown}: {what}; index them again, or leave strict off")
        self.log.warn(f"hits {shown}: {what}")

    def _warn_of(self, expansion: Expansion) -> None:
        if expansion.holes:
            keys = sorted(expansion.holes)
            shown = ", ".join(repr(key) for key in keys[:5]) + (f" and {len(keys) - 5} more" if len(keys) > 5 else "")
            self.log.warn(f"neighbours missing from the chunk store, spans end there: {shown}")
        if expansion.mixed:
            self.log.warn(
                "embeddings of different sizes among neighbours: their continuity was taken from common words"
            )

    def _follow_links(
        self, seeds: Sequence[Seed], found: dict[ChunkKey, Chunk], expansion: Expansion
    ) -> Generator[Request, Reply, tuple[dict[ChunkKey, float], list[tuple[ChunkKey, ChunkKey]]]]:
        if not self.config.follow_links:
            return {}, []
        linked, links, problems = yield from follow(seeds, found, expansion, self.config)
        self.log.requests += problems.requests
        self.log.warnings += problems.warnings
        return linked, links

    def _fetch_parents(
        self, runs: Sequence[Run], out_of_scope: Sequence[ChunkKey]
    ) -> Generator[Request, Reply, dict[str, PlacedParent]]:
        """All parents of all candidates in one request.

        A parent that is plain text carries no scope: where part of its document may not be seen, it is left alone.
        """
        children: dict[str, list[Chunk]] = {}
        if self.call.with_parents:
            for run in runs:
                for chunk in run.chunks:
                    if chunk.metadata.parent_id is not None:
                        children.setdefault(chunk.metadata.parent_id, []).append(chunk)
        if not children:
            return {}
        reply = yield ParentRequest(tuple(children))
        self.log.requests += reply.requests
        if not isinstance(reply, ParentReply):
            raise TypeError(f"a parent request was answered by {type(reply).__name__}")
        if reply.problem:
            self.log.warn(reply.problem)
        self.log.mark("parents", len(children), len(reply.parents))
        closed = {doc_id for doc_id, _ in out_of_scope}
        placed = {name: place_parent(name, parent, children[name]) for name, parent in reply.parents.items()}
        return {
            name: parent
            for name, parent in placed.items()
            if parent.doc_id not in closed or not isinstance(reply.parents[name], str)
        }

    # ---- values

    def _merge(self, expansion: Expansion, linked: Mapping[ChunkKey, float], found: dict[ChunkKey, Chunk]) -> list[Run]:
        windows = expansion.windows + [Window(doc_id, chunk_id, chunk_id + 1) for doc_id, chunk_id in linked]
        merged = merge_windows(windows)
        runs: list[Run] = []
        liars: list[Chunk] = []
        for window in merged:
            row = [found[window.doc_id, chunk_id] for chunk_id in range(window.start, window.end)]
            stitched, lying = stitch(row, self.config.joiner, self.config.max_gap_chars)
            runs += stitched
            liars += lying
        if liars:
            self.log.warn(
                f"offsets contradict the text in {len(liars)} chunks, first {liars[0].key!r}: they were joined by text"
            )
        self.log.mark("merge", len(windows), len(runs))
        return runs

    def _likeness(self, runs: Sequence[Run]) -> dict[ChunkKey, float]:
        """Cosine of every candidate with the question, as a share of the best; only where both are embedded."""
        if self.call.query_embedding is None:
            return {}
        try:
            query = np.asarray(self.call.query_embedding, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise RetrivexError(
                f"query_embedding is {type(self.call.query_embedding).__name__} and no vector of numbers ({error}); "
                "pass what the retriever's model made of the question"
            ) from error
        norm = float(np.linalg.norm(query)) if query.ndim == 1 else 0.0
        if not norm > 0 or not np.isfinite(norm):
            raise RetrivexError(
                f"query_embedding has shape {query.shape} and norm {norm:g}: it must be one finite, non-zero vector; "
                "pass what the retriever's model made of the question"
            )
        keys: list[ChunkKey] = []
        rows: list[NDArray[np.float64]] = []
        unlike = 0
        for run in runs:
            for chunk in run.chunks:
                if chunk.embedding is None:
                    continue
                vector = _vector(chunk.embedding)
                if vector is not None and len(vector) == len(query):
                    keys.append(chunk.key)
                    rows.append(vector)
                else:
                    unlike += 1
        if unlike:
            self.log.warn(
                f"{unlike} candidates have embeddings of another size than the query's {len(query)}: left uncompared"
            )
        if not rows:
            return {}
        matrix = np.asarray(rows, dtype=np.float64)
        norms = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))
        # an all-zero or non-finite embedding says nothing
        usable = np.isfinite(norms) & (norms > 0)
        cosines = matrix[usable] @ query / norms[usable] / norm
        best = float(cosines.max(initial=0.0))
        if not best > 0:
            return {}
        kept = [key for key, use in zip(keys, usable.tolist(), strict=True) if use]
        return dict(zip(kept, np.clip(cosines / best, 0.0, 1.0).tolist(), strict=True))

    def _list_values(
        self, seeds: Sequence[Seed], runs: Sequence[Run], linked: Mapping[ChunkKey, float], expansion: Expansion
    ) -> list[tuple[float, list[list[float]]]]:
        """Per hit list its share of the budget and its own chunk values; empty without `fusion='quota'`."""
        config = self.config
        count = 1 + max((number for seed in seeds for number in seed.by_list), default=0)
        if config.fusion != "quota" or count < 2:
            return []
        shares = config.quotas or (1.0,) * count
        if len(shares) < count:
            raise RetrivexError(f"quotas are {shares} for {count} hit lists: give one share for each list")
        made = []
        for number in range(count):
            relevance = {seed.key: seed.by_list[number] for seed in seeds if number in seed.by_list}
            if relevance:
                values = chunk_values(runs, relevance, linked, expansion.continuity, config)
                made.append((shares[number] / sum(shares), values))
        return made
