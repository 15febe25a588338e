"""The protocol of the evidence benchmark: what a system is given, and how its answer becomes a context.

Spans are taken in the method's own order of priority; text already taken is free; a span that does not fit is skipped;
if nothing fits the first is cut. Tokens are cl100k_base, of the text taken.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from benchmarks.evidence.index import Asked, Index
from retrivex.evaluation.metrics import Range, uncovered, united
from retrivex.evaluation.run.knn import fitting_length


@dataclass(frozen=True, slots=True)
class Case:
    """What every system is given.

    Parameters
    ----------
    asked : the question and its embedding
    hits : (place in the index, score), best first
    index : what was searched
    size : tokens of a chunk at most
    budget : tokens of the context at most
    retrieval : where the scores come from: "dense" (cosines), "bm25" or "fused"
    """

    asked: Asked
    hits: Sequence[tuple[int, float]]
    index: Index
    size: int
    budget: int
    retrieval: str = "dense"

    @property
    def similarities(self) -> list[float]:
        """Scores in [0, 1] for methods that ask for such: cosines as they are, others as a share of the best."""
        best = 1.0 if self.retrieval == "dense" else max((score for _, score in self.hits), default=1.0)
        return [min(1.0, max(0.0, score / best)) for _, score in self.hits]

    def hit_ranges(self) -> list[Range]:
        """Return where the hits stand, best first."""
        return [self.index.range_of(place) for place, _ in self.hits]


@dataclass(frozen=True, slots=True)
class System:
    """A way to make a context.

    Parameters
    ----------
    name : in tables
    spans : gives the ranges it would show, in its own order of priority
    version : of a set's name; what it returns changes when results are to be computed anew
    prepare : makes what a program would have made before the question came; not timed
    all_hits : False for a method without a budget of its own, which is given one hit more than fits
    reads_hits : False where the answer does not depend on the hits
    """

    name: str
    spans: Callable[[Case], Sequence[Range] | Timed]
    version: Callable[[str], str] = lambda _: "1"
    prepare: Callable[[Case], object] = lambda _: None
    all_hits: bool = True
    reads_hits: bool = True


@dataclass(frozen=True, slots=True)
class Timed:
    """Spans, and the milliseconds of processor time that they took."""

    spans: Sequence[Range]
    ms: float


@dataclass(slots=True)
class Context:
    """What of a system's spans is shown."""

    ranges: list[Range] = field(default_factory=list)
    tokens: int = 0
    duplicate_tokens: int = 0


def take(spans: Iterable[Range], index: Index, budget: int) -> Context:
    """Return the context that a system's spans make within a budget, in tokens."""
    context = Context()
    first: Range | None = None
    for span in spans:
        if span[1] >= span[2]:
            continue
        first = first or span
        shown = united(context.ranges)
        pieces = uncovered(span, shown)
        cost = sum(index.count(piece) for piece in pieces)
        if context.tokens + cost > budget:
            continue
        context.tokens += cost
        context.duplicate_tokens += sum(index.count(piece) for piece in _between(span, pieces))
        context.ranges += pieces
    if first and not context.ranges:
        return cut(first, index, budget)
    return context


def _between(span: Range, pieces: Sequence[Range]) -> list[Range]:
    return uncovered(span, united(pieces))


def cut(span: Range, index: Index, budget: int) -> Context:
    """Return as much of the start of a span as has `budget` tokens."""
    doc_id, start, end = span
    length = fitting_length(end - start, budget, lambda kept: index.count((doc_id, start, start + kept)))
    part = (doc_id, start, start + length)
    return Context([part], index.count(part)) if length > 0 else Context()


def answer(system: System, case: Case) -> Timed:
    """Return a system's spans, and the time of the call that made them."""
    system.prepare(case)
    if system.all_hits:
        return _timed(system, case)
    for number in range(1, len(case.hits) + 1):
        found = _timed(system, replace(case, hits=case.hits[:number]))
        joined = [(doc_id, *part) for doc_id, parts in united(found.spans).items() for part in parts]
        if sum(case.index.count(part) for part in joined) > case.budget:
            return found
    return found if case.hits else Timed([], 0.0)


def _timed(system: System, case: Case) -> Timed:
    started = time.thread_time()
    spans = system.spans(case)
    return spans if isinstance(spans, Timed) else Timed(list(spans), 1e3 * (time.thread_time() - started))
