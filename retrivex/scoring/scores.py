"""What a scorer says of the candidates of a query."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from retrivex.config import ScorerName
from retrivex.merging.units import Units
from retrivex.scoring.calibrated import Coefficients
from retrivex.scoring.confidence import HitKind
from retrivex.scoring.document_match import DocumentMatch
from retrivex.scoring.features import UnitTable, name_without_embeddings
from retrivex.scoring.sentences import with_reason

MAX_REASONS = 5
"""Features that the trace names for a unit at most."""


@dataclass(frozen=True)
class Scores:
    """Values of the candidates, the best 1, or less where the nearest-neighbour fallback lowers them.

    Parameters
    ----------
    make_chunks : called once, when `chunks` is read; can be pickled, as a composition keeps it
    units : what is picked; None where whole chunks are
    values : of the units, as shares of the best
    probabilities : of each unit that it holds evidence; empty with the weighted scorer
    make_chunk_probabilities : called once, when `chunk_probabilities` is read
    table, log_odds, model : of the calibrated scorer; None with the weighted one
    hedged : of each unit, whether its value is that of the nearest-neighbour fallback
    match : names of the candidates' documents; None where the model does not read them
    named : documents that the strongest units of others name, with those others
    expected : of each unit the share of the evidence that is expected in it; None with the weighted scorer
    described : shape (4,), of `describe_question`
    kind, hits : of the hits, and how many
    sentence_log_odds : what a sentence model added to the log-odds of each unit; None without one
    parts, questions : scores by each question of the hit lists, and of each unit the question that it is valued by;
        empty where there is one question
    """

    make_chunks: Callable[[], list[list[float]]]
    units: Units | None = None
    values: list[float] = field(default_factory=list)
    probabilities: list[float] = field(default_factory=list)
    make_chunk_probabilities: Callable[[], list[list[float]]] = list
    table: UnitTable | None = None
    log_odds: NDArray[np.float64] | None = None
    model: Coefficients | None = None
    hedged: NDArray[np.bool_] | None = None
    match: DocumentMatch | None = None
    named: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    expected: NDArray[np.float64] | None = None
    described: NDArray[np.float64] = field(default_factory=lambda: np.zeros(4))
    kind: HitKind = "other"
    hits: int = 0
    sentence_log_odds: NDArray[np.float64] | None = None
    parts: Sequence[Scores] = ()
    questions: Sequence[str] = ()

    @cached_property
    def chunks(self) -> list[list[float]]:
        """Per run, one value a chunk."""
        return self.make_chunks()

    @cached_property
    def chunk_probabilities(self) -> list[list[float]]:
        """Per run, the best unit's probability of each chunk; empty with the weighted scorer."""
        return self.make_chunk_probabilities()

    @property
    def scorer(self) -> ScorerName:
        """Which scorer gave the values."""
        return "weighted" if self.model is None else "calibrated"

    @property
    def confidence(self) -> float | None:
        """Probability that the candidates hold evidence; None where it is not known, or there are none.

        Of several questions it is the least.
        """
        known = [part.confidence for part in self.parts]
        if known:
            return None if None in known else min(filter(None, known), default=0.0)
        if self.model is None or self.log_odds is None or not len(self.log_odds):
            return None
        if self.hits < self.model.fewest_hits:
            return None
        return self.model.confidence_of(float(self.log_odds.max()), self.described, self.kind)

    def reasons(self, unit: int) -> tuple[tuple[str, float], ...]:
        """Return the features that moved a unit's log-odds most; empty with the weighted scorer."""
        if self.model is None or self.table is None:
            return ()
        reasons = self.model.reasons(self.table.values[unit], MAX_REASONS)
        if self.kind != "embeddings":
            reasons = tuple((name_without_embeddings(name), moved) for name, moved in reasons)
        if self.sentence_log_odds is None or not self.sentence_log_odds[unit]:
            return reasons
        return with_reason(reasons, float(self.sentence_log_odds[unit]))[:MAX_REASONS]
