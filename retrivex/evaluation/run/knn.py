"""The kNN baselines: the nearest chunks, alone or with their neighbours, best first until the budget is full."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any

from retrivex.config import RetrievalConfig
from retrivex.evaluation.metrics import Range
from retrivex.evaluation.run.context import Case, Order, Selection, arrange
from retrivex.evaluation.run.index import Index
from retrivex.model.chunk import Chunk
from retrivex.model.hit import SeedHit
from retrivex.model.run import Segment
from retrivex.model.span import Span, cut_span
from retrivex.ordering.strategy import OrderingStrategy
from retrivex.rendering.render import SEPARATOR

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
    """

    own_order = OrderingStrategy.SCORE_DESC.value

    def __init__(self, name: str, reach: int) -> None:
        self.name = name
        self.reach = reach

    def describe(self) -> dict[str, Any]:
        """Return what it does."""
        return {"kind": "nearest chunks", "neighbours": self.reach}

    def select(self, case: Case, order: Order) -> Selection:
        """Return the passages."""
        started = time.thread_time()
        spans = [span_of(part, hit.similarity_score, case.index) for part, hit in self._read_passages(case)]
        if not spans and case.hits:
            spans = self._cut(span_of(case.hit_ranges()[0], case.hits[0].similarity_score, case.index), case)
        spans = fitting_spans(spans, case, order)
        return Selection(spans, PLAIN, 1e3 * (time.thread_time() - started))

    def _read_passages(self, case: Case) -> list[tuple[Range, SeedHit]]:
        """Return each passage with its best hit, best first."""
        index, left = case.index, case.budget
        taken: dict[int, int] = {}  # place of a chunk -> rank of the hit that it came with
        for rank, place in enumerate(case.places):
            fresh = [at for at in index.neighbours(place, self.reach) if at not in taken]
            # a separator for each chunk, although those that follow one another need none
            cost = sum(index.tokens.count_many([index.chunks[at].text + SEPARATOR for at in fresh]))
            if cost <= left:
                left -= cost
                taken.update(dict.fromkeys(fresh, rank))
        runs = _runs(sorted(taken), index) if self.reach else [[place] for place in taken]
        best = sorted((min(taken[place] for place in run), run) for run in runs)
        return [(index.range_between(range(run[0], run[-1] + 1)), case.hits[rank]) for rank, run in best]

    def _cut(self, span: Span, case: Case) -> list[Span]:
        """Return as much of the start of a span as fits; nothing where not even a character does."""
        count = case.index.tokens.count
        kept = fitting_length(len(span.text), case.budget, lambda length: count(span.text[:length]))
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


def span_of(part: Range, score: float, index: Index) -> Span:
    """Return a range of a document as a passage, without white space at its end."""
    doc_id, start, end = part
    text = index.documents[doc_id][start:end].rstrip()
    chunks = [index.chunks[place] for place in index.holding(part)]
    return Span(
        doc_id=doc_id,
        chunk_ids=[chunk.metadata.chunk_id for chunk in chunks],
        chunks=chunks,
        score=score,
        char_start=start,
        char_end=start + len(text),
        token_count=index.tokens.count(text),
        text=text,
        exact=True,
        segments=tuple(_segments(chunks, start, len(text))),
    )


def fitting_spans(spans: Sequence[Span], case: Case, order: Order) -> list[Span]:
    """Return the best passages whose text fits the budget as it is written, one at least.

    They were counted one by one, and tokenizers may join them in other ways.
    """
    kept = list(spans)
    while len(kept) > 1 and _written(kept, case, order) > case.budget:
        kept.pop()
    return kept


def _written(spans: Sequence[Span], case: Case, order: Order) -> int:
    return case.index.tokenizer.count(arrange(Selection(spans, PLAIN, 0.0), order, case.question).text)


def _runs(places: Sequence[int], index: Index) -> list[list[int]]:
    """Return runs of chunks that follow one another in a document."""

    def run_of(pair: tuple[int, int]) -> tuple[str, int]:
        at, place = pair
        return index.chunks[place].metadata.doc_id, place - at

    return [[place for _, place in run] for _, run in groupby(enumerate(places), run_of)]


def _segments(chunks: Sequence[Chunk], start: int, length: int) -> Iterator[Segment]:
    """Yield where the text of each chunk stands in a passage that begins at `start`; overlaps belong to the first."""
    reached = 0
    for chunk in chunks:
        end = min(length, (chunk.metadata.char_end or 0) - start)
        if end > reached:
            yield Segment(reached, end, chunk.metadata.chunk_id, start + reached)
            reached = end
