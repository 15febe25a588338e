"""Converts questions with evidence to training samples of the calibrated scorer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from retrivex.composer.score import ScoredCandidates
from retrivex.evaluation.questions.evidence import Evidence
from retrivex.merging.units import Unit
from retrivex.model.run import Run
from retrivex.scoring.fitting import Sample


def sample_of(valued: ScoredCandidates, evidence: Sequence[Evidence]) -> Sample:
    """Label a question's candidates with the share of its evidence that each unit holds.

    Parameters
    ----------
    valued : of `SpanComposer.value_units`
    evidence : of the question; none for a question that the documents do not answer
    """
    table = valued.scores.table
    if table is None:
        raise TypeError("only candidates of the calibrated scorer have features")
    total = sum(part.end - part.start for part in evidence) or 1
    held = [_held(valued.runs[unit.run], unit, evidence) / total for unit in table.units]
    return Sample(table.values, np.asarray(held, dtype=np.float64))


def _held(run: Run, unit: Unit, evidence: Sequence[Evidence]) -> int:
    """Characters of evidence in a unit."""
    own = [part for part in evidence if part.doc_id == run.doc_id]
    if not own:
        return 0
    held = 0
    for segment in run.segments(unit.first, unit.last, unit.start, unit.end):
        if segment.char_start is None:
            continue
        low, high = segment.char_start, segment.char_start + segment.end - segment.start
        held += sum(max(0, min(high, part.end) - max(low, part.start)) for part in own)
    return held
