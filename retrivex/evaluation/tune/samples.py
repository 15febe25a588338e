"""Converts questions with evidence to training samples of the calibrated scorer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from retrivex.composer.score import ScoredCandidates
from retrivex.evaluation.metrics import covered
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
    held = [_count_evidence(valued.runs[unit.run], unit, evidence) / total for unit in table.units]
    scores = valued.scores
    return Sample(table.values, np.asarray(held, dtype=np.float64), scores.described, scores.kind)


def _count_evidence(run: Run, unit: Unit, evidence: Sequence[Evidence]) -> int:
    """Characters of evidence in a unit."""
    if run.doc_id not in {part.doc_id for part in evidence}:
        return 0
    shown = {
        run.doc_id: [
            (segment.char_start, segment.char_start + segment.end - segment.start)
            for segment in run.segments(unit.first, unit.last, unit.start, unit.end)
            if segment.char_start is not None
        ]
    }
    return sum(covered((part.doc_id, part.start, part.end), shown) for part in evidence)
