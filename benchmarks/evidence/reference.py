"""The hand-tuned reference: what the calibrated scorer has to beat.

It sees the whole index, has no learned part and a handful of constants tuned on questions with short evidence:

1. chunk score: cosine + 0.2 BM25 / its largest (over the whole index, English stop words out);
2. wide smoothing (k: w = 0.1, j: w = 0.3, f: none): z(z(c) + w * sum over widths 400 and 1,100 tokens of
   z(sum of z(c) within that width of the chunk's centre, same document));
3. units: runs of whole sentences of at most 50 tokens; a unit between the centre of its chunk and that of the nearer
   neighbour takes the linear interpolation p of the two scores;
4. unit value: f: z(p + 0.3 B), k and j: z(p + 2 B), with B the unit's own BM25 / its largest; V = value * tokens / mean
   of the tokens;
5. selection: the largest sum(V - lambda * tokens) - 2 * runs, with the smallest lambda >= 0 that fits the budget; then
   what is left is filled with the units of the highest (V - [2 if not next to a chosen one]) / tokens.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from benchmarks.evidence.index import numbered
from benchmarks.evidence.lexical import content_words
from benchmarks.evidence.ranges import Timed
from retrivex.evaluation.metrics import Range
from retrivex.evaluation.run import Case, Index
from retrivex.evaluation.run.bm25 import BM25
from retrivex.evaluation.run.index import sentence_packed

UNIT_TOKENS = 50
WIDTHS = (400, 1100)  # tokens
OPENING = 2.0
LEXICAL = 0.2
STEPS = 30  # of the bisection
WEIGHTS = {"f": (0.0, 0.3), "k": (0.1, 2.0), "j": (0.3, 2.0)}  # of the wide smoothing, of the unit's own BM25

Floats = NDArray[np.float64]


class Reference:
    """What the reference computes once for an index: units, lexical weights, and who stands next to whom."""

    def __init__(self, index: Index, unit_tokens: int = UNIT_TOKENS) -> None:
        self.index = index
        units = sentence_packed(index.documents, unit_tokens, tokenizer=index.tokenizer)
        self.ranges: list[Range] = [
            (unit.metadata.doc_id, unit.metadata.char_start or 0, unit.metadata.char_end or 0) for unit in units
        ]
        self.tokens = np.array(index.tokenizer.count_many([unit.text for unit in units]), dtype=np.float64)
        self.unit_bm25 = BM25([unit.text for unit in units], terms=content_words)
        self.chunk_bm25 = BM25([chunk.text for chunk in index.chunks], terms=content_words)
        self.doc = numbered([unit.metadata.doc_id for unit in units])
        self.chunk_tokens = np.array(index.tokens.count_many([chunk.text for chunk in index.chunks]))
        self.chunk_doc = numbered([chunk.metadata.doc_id for chunk in index.chunks])
        self.answers: dict[tuple[str, str, bytes, int], Timed] = {}
        self._place_units()
        self._windows = [self._window(width) for width in WIDTHS]

    def _place_units(self) -> None:
        """Find for each unit its chunk, the nearer neighbour, and the share that the neighbour's score gets."""
        index = self.index
        stride = max(map(len, index.documents.values())) + 1  # documents one behind the other on one axis
        numbers = {doc_id: number for number, doc_id in enumerate(dict.fromkeys(part[0] for part in self.ranges))}
        places = [index.range_of(place) for place in range(len(index.chunks))]
        starts = np.array([numbers[doc_id] * stride + start for doc_id, start, _ in places])
        ends = np.array([numbers[doc_id] * stride + end for doc_id, _, end in places])
        centres = (starts + ends) / 2
        middle = np.array([numbers[doc_id] * stride + (low + high) / 2 for doc_id, low, high in self.ranges])
        own = np.clip(np.searchsorted(ends, middle, side="right"), 0, len(ends) - 1)
        other = np.clip(np.where(middle < centres[own], own - 1, own + 1), 0, len(ends) - 1)
        other = np.where(self.chunk_doc[other] == self.chunk_doc[own], other, own)
        apart = np.abs(centres[other] - centres[own])
        self.own, self.other = own, other
        self.share = np.divide(np.abs(middle - centres[own]), apart, out=np.zeros(len(own)), where=apart > 0)

    def _window(self, width: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return for each chunk the range of those whose centres lie within half the width of its own."""
        doc, tokens = self.chunk_doc, self.chunk_tokens
        far = int(tokens.sum()) + 10 * max(WIDTHS)
        centres = np.cumsum(tokens) - tokens / 2 + doc * float(far)
        low = np.searchsorted(centres, centres - width / 2, side="left")
        return low, np.searchsorted(centres, centres + width / 2, side="right")

    def values(self, case: Case, kind: str) -> Floats:
        """Return what each unit is worth to a question, shape (units,)."""
        smoothing, lexical = WEIGHTS[kind]
        question = case.question
        scores = self.index.vectors @ case.embedding + LEXICAL * share_of_largest(self.chunk_bm25.scores(question))
        if smoothing:
            scores = self._smoothed(z(scores), smoothing)
        near = (1 - self.share) * scores[self.own] + self.share * scores[self.other]
        value = z(near + lexical * share_of_largest(self.unit_bm25.scores(question)))
        return value * self.tokens / self.tokens.mean()

    def _smoothed(self, scores: Floats, weight: float) -> Floats:
        sums = np.concatenate([[0.0], np.cumsum(scores)])
        return z(scores + weight * np.sum([z(sums[high] - sums[low]) for low, high in self._windows], axis=0))

    def select(self, values: Floats, budget: int) -> list[int]:
        """Return the chosen units, in order."""
        chosen = self._within(values, budget)
        return sorted(self._filled(values, chosen, budget))

    def _within(self, values: Floats, budget: int) -> list[int]:
        best: list[int] = []
        low, high = 0.0, float((values / self.tokens).max())
        # downwards first: near the top few units are worth anything, so that looking is quick
        price = high / 2
        while price > high / 2**12:
            found = best_runs(values - price * self.tokens, self.doc)
            if self.tokens[found].sum() > budget:
                low = price
                break
            best, high, price = found, price, price / 2
        for _ in range(STEPS):
            price = (low + high) / 2
            found = best_runs(values - price * self.tokens, self.doc)
            if self.tokens[found].sum() > budget:
                low = price
            else:
                best, high = found, price
            if high - low <= 1e-6 * high:
                break
        return best

    def _filled(self, values: Floats, chosen: Sequence[int], budget: int) -> set[int]:
        taken = set(chosen)
        left = budget - float(self.tokens[list(taken)].sum())
        rate = (values - OPENING) / self.tokens
        for unit in taken:
            self._open_next_to(unit, values, rate)
        rate[list(taken)] = -np.inf
        while True:
            fitting = np.where(self.tokens <= left, rate, -np.inf)
            unit = int(fitting.argmax())
            if fitting[unit] == -np.inf:
                return taken
            taken.add(unit)
            left -= float(self.tokens[unit])
            self._open_next_to(unit, values, rate)
            rate[unit] = -np.inf

    def _open_next_to(self, unit: int, values: Floats, rate: Floats) -> None:
        for beside in (unit - 1, unit + 1):
            if 0 <= beside < len(rate) and self.doc[beside] == self.doc[unit] and rate[beside] > -np.inf:
                rate[beside] = values[beside] / self.tokens[beside]

    def runs(self, chosen: Sequence[int], values: Floats) -> list[Range]:
        """Return the chosen units as ranges, the most valuable first."""
        made: list[tuple[float, Range]] = []
        for unit in chosen:
            doc_id, start, end = self.ranges[unit]
            if made and made[-1][1][0] == doc_id and made[-1][1][2] == start:
                worth, (_, begin, _) = made[-1]
                made[-1] = (worth + values[unit], (doc_id, begin, end))
            else:
                made.append((float(values[unit]), (doc_id, start, end)))
        return [part for _, part in sorted(made, key=lambda item: -item[0])]


def best_runs(worth: Floats, doc: NDArray[np.int64]) -> list[int]:
    """Return the units of the runs with the largest sum of `worth`, each run costing `OPENING`; exact.

    With `d` the advantage of being inside a run over being outside, d_i = worth_i + clip(d_(i-1), -OPENING, 0). Runs
    begin and end with units worth something, so that only those are walked over, with the sum of what lies between.
    """
    good = np.flatnonzero(worth > 0)
    if not len(good):
        return []
    sums = np.concatenate([[0.0], np.cumsum(worth)])
    gaps = np.concatenate([[-np.inf], sums[good[1:]] - sums[good[:-1] + 1]])
    gaps[1:][doc[good[1:]] != doc[good[:-1]]] = -np.inf
    inside: list[float] = []
    joined: list[bool] = []
    before = 0.0
    for gain, gap in zip(worth[good].tolist(), gaps.tolist(), strict=True):
        entry = min(before, 0.0) + gap
        joined.append(entry > -OPENING)
        before = gain + max(entry, -OPENING)
        inside.append(before)
    chosen: list[int] = []
    carried = False
    for at in range(len(good) - 1, -1, -1):
        stays = carried or inside[at] > 0
        if stays:
            last = int(good[at])
            # back to the unit this run was joined to, with everything between
            first = int(good[at - 1]) + 1 if joined[at] else last
            chosen += range(first, last + 1)
        carried = stays and joined[at]
    return sorted(chosen)


def z(values: Floats) -> Floats:
    """Return values with mean 0 and standard deviation 1; all 0 where they are equal."""
    spread = values.std()
    return (values - values.mean()) / spread if spread > 0 else np.zeros_like(values)


def share_of_largest(values: Floats) -> Floats:
    """Return values over their largest; all 0 where that is 0."""
    largest = values.max()
    return values / largest if largest > 0 else values


@lru_cache(maxsize=40)  # one for each meeting
def reference_for(index: Index) -> Reference:
    """Return what is computed once for an index."""
    return Reference(index)


def prepare(case: Case) -> Reference:
    """Compute what does not depend on the question."""
    return reference_for(case.index)


def reference(kind: str) -> Callable[[Case], Timed]:
    """Return the reference as a system: `f`, `k` or `j`. It reads no hits: a question is answered once for a budget."""

    def ranges(case: Case) -> Timed:
        made = reference_for(case.index)
        key = (kind, case.question, np.asarray(case.embedding).tobytes(), case.budget)
        if key not in made.answers:
            started = time.thread_time()
            values = made.values(case, kind)
            found = made.runs(made.select(values, case.budget), values)
            made.answers[key] = Timed(found, 1e3 * (time.thread_time() - started))
        return made.answers[key]

    return ranges
