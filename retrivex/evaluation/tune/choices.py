"""Repeats the selection on known candidates, without composing, to try many options quickly.

Finding and valuing candidates takes most of a query's time, and most options of the selection do not touch it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from retrivex.composer.score import ScoredCandidates
from retrivex.config import Effort, RetrievalConfig
from retrivex.evaluation.metrics import COMPLETE, Range, covered, united
from retrivex.evaluation.questions.evidence import Copies, Evidence, with_originals
from retrivex.merging.exclusions import Exclusions
from retrivex.model.run import Run
from retrivex.rendering.render import Style
from retrivex.scoring.effort import count_needed
from retrivex.selection.candidates import CandidateSet, build_candidates
from retrivex.selection.greedy import choose
from retrivex.selection.problem import Limits, tokens_of
from retrivex.tokens.cache import TokenCache

Floats = NDArray[np.float64]

TOKEN_PRICE: dict[Effort, float] = {"lean": 0.065, "standard": 0.01, "full": 0.0}
"""Discount of the quality for each 100 tokens: else showing more would pay where evidence is in no place at all."""


@dataclass(frozen=True, slots=True)
class Choices:
    """The candidates of a question, ready for selection.

    Parameters
    ----------
    candidates : n of them, valued without `min_value`
    held : shape (p, n), characters of each of p passages of evidence in each candidate
    lengths : shape (p,), characters of each passage
    """

    candidates: CandidateSet
    held: Floats
    lengths: Floats

    def score(self, config: RetrievalConfig) -> float:
        """Return how good a context the composer would make of the candidates, see `quality`."""
        problem = self.candidates.problem
        if not len(problem):
            return 0.0
        chosen = self._choose(config)
        # a passage and its copy, both shown, hold no more than the passage
        shown = np.minimum(self.held[:, chosen].sum(axis=1), self.lengths)
        return quality(
            float(shown.sum() / self.lengths.sum()),
            bool((shown >= COMPLETE * self.lengths).all()),
            tokens_of(problem, sorted(chosen)),
            config.effort,
        )

    def _choose(self, config: RetrievalConfig) -> list[int]:
        problem = self.candidates.problem
        price = config.run_cost * float(problem.costs.mean())
        values = np.where(problem.values > config.min_value, problem.values, 0.0)
        limits = Limits(config.token_budget, config.max_spans, config.max_tokens_per_document)
        order = choose(replace(problem, values=values, span_price=price), limits)
        if self.candidates.expected is None:
            return order
        return order[: max(1, count_needed(self.candidates.expected[order], config.effort))]


def quality(recall: float, complete: bool, tokens: int, effort: Effort) -> float:
    """Return what is maximised: the mean of evidence recall and of whether all is there, discounted for its tokens.

    They discount what is shown by what they have to earn at an effort, and by nothing where the budget is to be filled.
    To show less is no gain by itself: evidence that tokens hold by chance alone goes with them.
    """
    return (recall + complete) / 2 / (1 + TOKEN_PRICE[effort] * tokens / 100)


def choices_of(
    valued: ScoredCandidates,
    evidence: Sequence[Evidence],
    config: RetrievalConfig,
    cache: TokenCache,
    copies: Copies | None = None,
) -> Choices:
    """Bring candidates into a form that is quickly chosen from.

    Parameters
    ----------
    valued : of `SpanComposer.value_units`
    evidence : of the question, not empty
    config : decides what opening a span costs
    cache : counts tokens
    copies : where else passages of the evidence stand
    """
    free = config.override(min_value=0.0)
    made = build_candidates(valued.runs, valued.scores, Exclusions.of(config.exclude), cache, Style.of(config), free)
    # passages that overlap would count twice
    gold = united((part.doc_id, part.start, part.end) for part in evidence)
    parts = [(doc_id, low, high) for doc_id, row in gold.items() for low, high in row]
    return Choices(
        candidates=made,
        held=_count_held(valued.runs, made, parts, copies or {}),
        lengths=np.asarray([high - low for _, low, high in parts], dtype=np.float64),
    )


def _count_held(runs: Sequence[Run], made: CandidateSet, parts: Sequence[Range], copies: Copies) -> Floats:
    """Characters of each passage in each candidate, shape (p, n)."""
    held = np.zeros((len(parts), len(made.pieces)))
    documents = {doc_id for doc_id, _, _ in parts} | {part.doc_id for part in chain.from_iterable(copies.values())}
    for at, piece in enumerate(made.pieces):
        run = runs[piece.run]
        for segment in run.segments(piece.first, piece.last, piece.start, piece.end) if run.doc_id in documents else ():
            if segment.char_start is not None:
                own = (run.doc_id, segment.char_start, segment.char_start + segment.end - segment.start)
                place = united(with_originals([own], copies))
                held[:, at] += [covered(part, place) for part in parts]
    return held
