"""Systems of other libraries, and one's own: a function that says which characters it would show.

The same protocol makes a context of every answer. Ranges are taken in the system's own order of priority; text already
taken is free; a range that does not fit is skipped; if nothing fits the first is cut.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from retrivex.errors import RetrivexError, quoted
from retrivex.evaluation.metrics import Range, uncovered, united
from retrivex.evaluation.run.context import Case
from retrivex.evaluation.run.index import Index
from retrivex.evaluation.run.knn import PLAIN, fitting_length


@dataclass(frozen=True, slots=True)
class Timed:
    """Ranges in order of priority, and the milliseconds of processor time that they took."""

    ranges: Sequence[Range]
    ms: float


@dataclass(slots=True)
class Taken:
    """The part of a system's ranges that is shown.

    Parameters
    ----------
    ranges : neither overlapping nor empty, in order of priority
    tokens : of their text, and of what stands between them where that is counted
    duplicate_tokens : that the system would have shown a second time
    """

    ranges: list[Range] = field(default_factory=list)
    tokens: int = 0
    duplicate_tokens: int = 0


def _prepare_nothing(_case: Case) -> None:
    """Prepare nothing."""


@dataclass(frozen=True, slots=True)
class RangeSystem:
    """A system: a function of a question's hits and their index.

    Parameters
    ----------
    name : in results
    ranges : returns the characters that the system would show, in its own order of priority
    version : of whatever `ranges` calls: finished results are computed anew when it changes
    prepare : makes what a program would have made before the question came; not timed
    all_hits : False for a method without a budget of its own: it gets the fewest of the best hits whose ranges exceed
        the budget

    Examples
    --------
    >>> def with_next_chunk(case: Case) -> list[Range]:
    ...     last = len(case.index.chunks)
    ...     return [case.index.range_between(range(at, min(at + 2, last))) for at in case.places]
    >>> RangeSystem("with next chunk", with_next_chunk, version="1").own_order
    'score_desc'
    """

    name: str
    ranges: Callable[[Case], Sequence[Range] | Timed]
    version: str
    prepare: Callable[[Case], object] = _prepare_nothing
    all_hits: bool = True

    @property
    def own_order(self) -> str:
        """The order of priority."""
        return PLAIN.ordering_strategy.value

    def answer(self, case: Case) -> Timed:
        """Return the ranges, and the time of the call that made them.

        Raises
        ------
        RetrivexError
            If a range lies outside the documents that were searched.
        """
        self.prepare(case)
        if self.all_hits:
            return self._timed(case)
        found = Timed([], 0.0)
        for number in range(1, len(case.hits) + 1):
            found = self._timed(replace(case, hits=case.hits[:number]))
            if sum(map(case.index.count, _joined(found.ranges))) > case.budget:
                break
        return found

    def _timed(self, case: Case) -> Timed:
        started = time.thread_time()
        made = self.ranges(case)
        found = made if isinstance(made, Timed) else Timed(list(made), 1e3 * (time.thread_time() - started))
        for doc_id, start, end in found.ranges:
            if start < 0 or end > len(case.index.documents.get(doc_id, "")):
                raise RetrivexError(
                    f"system {self.name!r} shows {quoted((doc_id, start, end))}: a range must be (doc_id, start, end), "
                    "characters of a document that was searched"
                )
        return found


def take(ranges: Iterable[Range], index: Index, budget: int, *, apart: int = 0) -> Taken:
    """Return what fits a budget.

    Parameters
    ----------
    ranges : in order of priority
    index : counts them
    budget : in tokens
    apart : tokens between a range and the next, counted for each
    """
    taken = Taken()
    first: Range | None = None
    by_document: dict[str, list[Range]] = {}
    for part in ranges:
        if part[1] >= part[2]:
            continue
        first = first or part
        shown = by_document.setdefault(part[0], [])
        pieces = uncovered(part, united(shown))
        cost = sum(index.count(piece) + apart for piece in pieces)
        if taken.tokens + cost > budget:
            continue
        taken.tokens += cost
        taken.duplicate_tokens += sum(map(index.count, uncovered(part, united(pieces))))
        taken.ranges += pieces
        shown += pieces
    return taken if taken.ranges or first is None else cut(first, index, budget)


def cut(part: Range, index: Index, budget: int) -> Taken:
    """Return as much of the start of a range as has `budget` tokens."""
    doc_id, start, end = part
    length = fitting_length(end - start, budget, lambda kept: index.count((doc_id, start, start + kept)))
    kept = (doc_id, start, start + length)
    return Taken([kept], index.count(kept)) if length > 0 else Taken()


def _joined(ranges: Iterable[Range]) -> list[Range]:
    return [(doc_id, *part) for doc_id, parts in united(ranges).items() for part in parts]
