"""Generates and measures a model's answers to the contexts of a run, and writes them beside the other measures."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from retrivex.evaluation.answers import AnsweredRows, Model, answer_sets
from retrivex.evaluation.questions.evidence import EvidenceSet
from retrivex.evaluation.run import Plan, sets_of, write_run
from retrivex.evaluation.run.results import Row, read_manifest


def answer_run(
    out: Path,
    rows: Sequence[Row],
    own: Sequence[EvidenceSet],
    plan: Plan,
    model: Model,
    name: str,
    *,
    keep_contexts: bool,
    report: Callable[[int, int], None],
) -> AnsweredRows:
    """Let a model answer the contexts of a run, and write the run anew with the answers and their measures.

    Parameters
    ----------
    out : folder of the run
    rows : of the run, with contexts
    own, plan : the sets it was over
    model, name : an endpoint, and what its model is called
    keep_contexts : whether what is written still holds them
    report : called with how many are answered, of how many
    """
    sets = itertools.chain(own, (found for _, found in sets_of(plan.sets, plan.data)))
    made = answer_sets(rows, sets, model, report=report)
    usage = None if made.usage is None else asdict(made.usage)
    answers = {"model": name, "usage": usage, "warnings": list(made.warnings)}
    written = made.rows if keep_contexts else [replace(row, context=None) for row in made.rows]
    write_run(out, written, {**read_manifest(out), "answers": answers})
    return made
