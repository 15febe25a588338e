"""The kNN baselines: the nearest chunks, alone or with their neighbours, best first until the budget is full."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from retrivex.config import RetrievalConfig
from retrivex.evaluation.run.context import Case, Order, Selection, arrange
from retrivex.model.chunk import Chunk, ChunkKey
from retrivex.model.hit import SeedHit
from retrivex.model.run import Segment
from retrivex.model.span import Span, cut_span
from retrivex.ordering.strategy import OrderingStrategy
from retrivex.rendering.render import SEPARATOR
from retrivex.tokens.cache import TokenCache
from retrivex.tokens.tokenizer import Tokenizer

PLAIN = RetrievalConfig(ordering_strategy=OrderingStrategy.SCORE_DESC, numbered=False, gap_markers=False)
"""How the baselines are written: passages with blank lines between them."""


class NearestChunks:
    """Selects the nearest chunks, each with its neighbours, best first; one that does not fit is skipped.

    Without neighbours every hit is a passage. With them a passage is a run of chunks that follow one another, as good
    as the best hit in it, and nothing is shown twice. Where not even the best hit fits, it is cut at its end.

    Parameters
    ----------
    name : in results
    reach : neighbours on each side
    tokenizer : counts the budget
    """

    own_order = OrderingStrategy.SCORE_DESC.value

    def __init__(self, name: str, reach: int, tokenizer: Tokenizer) -> None:
        self.name = name
        self.reach = reach
        self._tokenizer = TokenCache(tokenizer)  # as an index keeps the counts of its chunks

    def describe(self) -> dict[str, Any]:
        """Return what it does."""
        return {"kind": "nearest chunks", "neighbours": self.reach}

    def select(self, case: Case, budget: int, order: Order) -> Selection:
        """Return the passages."""
        started = time.thread_time()
        groups = self._fitting(case.hits, case.store, budget)
        spans = [self._span(chunks, score, case.documents) for chunks, score in groups]
        if not spans and case.hits:
            best = case.hits[0]
            spans = self._cut(self._span([best.chunk], best.similarity_score, case.documents), budget)
        # the parts were counted one by one, and tokenizers may join them in other ways
        while len(spans) > 1 and self._tokens(spans, order, case.question) > budget:
            spans.pop()
        return Selection(spans, PLAIN, 1e3 * (time.thread_time() - started))

    def _fitting(
        self, hits: Sequence[SeedHit], store: Mapping[ChunkKey, Chunk], budget: int
    ) -> list[tuple[list[Chunk], float]]:
        """Return the chunks of each passage and its score, best first."""
        taken: dict[ChunkKey, SeedHit] = {}
        left = budget
        for hit in hits:
            fresh = [key for key in self._window(hit, store) if key not in taken]
            # a separator for each chunk, although those that follow one another need none
            cost = sum(self._tokenizer.count_many([store[key].text + SEPARATOR for key in fresh]))
            if cost <= left:
                left -= cost
                taken.update(dict.fromkeys(fresh, hit))
        if not self.reach:
            return [([store[key]], hit.similarity_score) for key, hit in taken.items()]
        runs = list(_runs(sorted(taken)))
        rank = {hit.key: at for at, hit in enumerate(hits)}
        runs.sort(key=lambda run: min(rank[taken[key].key] for key in run))
        return [([store[key] for key in run], max(taken[key].similarity_score for key in run)) for run in runs]

    def _window(self, hit: SeedHit, store: Mapping[ChunkKey, Chunk]) -> list[ChunkKey]:
        doc_id, chunk_id = hit.key
        keys = [(doc_id, at) for at in range(chunk_id - self.reach, chunk_id + self.reach + 1)]
        return [key for key in keys if key in store]

    def _span(self, chunks: list[Chunk], score: float, documents: Mapping[str, str]) -> Span:
        """Return chunks that follow one another as the text of their document."""
        first = chunks[0].metadata
        start = first.char_start or 0
        end = max(chunk.metadata.char_end or 0 for chunk in chunks)
        text = documents[first.doc_id][start:end].rstrip()
        return Span(
            doc_id=first.doc_id,
            chunk_ids=[chunk.metadata.chunk_id for chunk in chunks],
            chunks=chunks,
            score=score,
            char_start=start,
            char_end=start + len(text),
            token_count=self._tokenizer.count(text),
            text=text,
            exact=True,
            segments=tuple(_segments(chunks, start, len(text))),
        )

    def _tokens(self, spans: Sequence[Span], order: Order, question: str) -> int:
        return self._tokenizer.count(arrange(Selection(spans, PLAIN, 0.0), order, question).text)

    def _cut(self, span: Span, budget: int) -> list[Span]:
        """Return as much of the start of a span as fits; nothing where not even a character does."""
        count = self._tokenizer.count
        kept = fitting_length(len(span.text), budget, lambda length: count(span.text[:length]))
        return [cut_span(span, 0, kept, count(span.text[:kept]))] if kept > 0 else []


def fitting_length(length: int, budget: int, count: Callable[[int], int]) -> int:
    """Return how many characters of a text's start fit a budget.

    Parameters
    ----------
    length : of the text
    budget : in tokens
    count : of so many characters of its start, in tokens
    """
    return bisect_right(range(length + 1), budget, key=count) - 1


def _runs(keys: Sequence[ChunkKey]) -> Iterator[list[ChunkKey]]:
    """Yield runs of chunks that follow one another."""
    run: list[ChunkKey] = []
    for key in keys:
        if run and key != (run[-1][0], run[-1][1] + 1):
            yield run
            run = []
        run.append(key)
    if run:
        yield run


def _segments(chunks: Sequence[Chunk], start: int, length: int) -> Iterator[Segment]:
    """Yield where the text of each chunk stands in a passage that begins at `start`; overlaps belong to the first."""
    reached = 0
    for chunk in chunks:
        end = min(length, (chunk.metadata.char_end or 0) - start)
        if end > reached:
            yield Segment(reached, end, chunk.metadata.chunk_id, start + reached)
            reached = end
