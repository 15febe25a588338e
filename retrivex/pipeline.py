"""One query, step by step: seeds, fetch, expand, merge, score, select, order, render.

Written as a generator that yields its requests to the stores and is sent the replies, so that the sync and the async
composer run the very same steps.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

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
from retrivex.seeding import Seed, prepare_seeds
from retrivex.stitching import Run, stitch
from retrivex.tracing import Log, Trace
from retrivex.writing import Call, Writer

Request: TypeAlias = ChunkRequest | ParentRequest
Reply: TypeAlias = ChunkReply | ParentReply


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
        expansion = grow(seeds, planned, found, config, call.signatures, out_of_scope)
        self._warn_of(expansion)
        linked, links = yield from self._follow_links(seeds, found, expansion)
        self.log.mark("expand", len(seeds), sum(map(len, expansion.windows)))
        runs = self._merge(expansion, linked, found)
        relevance = {seed.key: seed.relevance for seed in seeds}
        values = chunk_values(runs, relevance, linked, expansion.continuity, config, self._likeness(runs))
        exclusions = Exclusions()
        for item in config.exclude:
            exclusions.add(item)
        pinned, problems = pin(config.pinned, call.allowed, exclusions, call.counter.cache)
        self.log.warnings += problems
        candidates = build_candidates(runs, values, exclusions, call.counter.cache, call.style, config)
        self.log.mark("score", sum(map(len, runs)), len(candidates.pieces))
        parents = yield from self._fetch_parents(runs)
        seed_ids: dict[str, list[int]] = {}
        for doc_id, chunk_id in relevance:
            seed_ids.setdefault(doc_id, []).append(chunk_id)
        scorer = SpanScorer(relevance, seed_ids, expansion.continuity, parents, config)
        quotas = self._list_values(seeds, runs, linked, expansion)
        writer = Writer(call, self.log, runs, candidates, scorer, pinned, quotas, exclusions)
        layout = writer.write()
        account = Account(seeds, found, dropped, expansion, linked, runs, values, candidates, layout.spans, config)
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
        if all(len(window) == 1 for window in planned):
            return {seed.key: seed.chunk for seed in seeds}, []
        windows = merge_windows(planned)
        reply = yield ChunkRequest(tuple(windows))
        self.log.requests += reply.requests
        self.log.mark("fetch", len(windows), len(reply.chunks) if isinstance(reply, ChunkReply) else 0)
        if not isinstance(reply, ChunkReply):
            raise TypeError(f"a chunk request was answered by {type(reply).__name__}")
        if reply.problem:
            self.log.warn(reply.problem)
        found = reply.chunks
        absent = [seed for seed in seeds if not self._reconcile(seed, found)]
        if absent and not reply.problem:
            self._complain([seed.key for seed in absent], "not in the chunk store; used as the retriever gave them")
        return found, reply.out_of_scope

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

    def _fetch_parents(self, runs: Sequence[Run]) -> Generator[Request, Reply, dict[str, PlacedParent]]:
        """All parents of all candidates in one request."""
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
        return {name: place_parent(name, parent, children[name]) for name, parent in reply.parents.items()}

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
        query = np.asarray(self.call.query_embedding, dtype=np.float64)
        norm = float(np.linalg.norm(query)) if query.ndim == 1 else 0.0
        if not norm > 0 or not np.isfinite(norm):
            raise RetrivexError(
                f"query_embedding has shape {query.shape} and norm {norm:g}: it must be one finite, non-zero vector; "
                "pass what the retriever's model made of the question"
            )
        keys: list[ChunkKey] = []
        rows: list[Embedding] = []
        unlike = 0
        for run in runs:
            for chunk in run.chunks:
                if chunk.embedding is None:
                    continue
                if len(chunk.embedding) == len(query):
                    keys.append(chunk.key)
                    rows.append(chunk.embedding)
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
