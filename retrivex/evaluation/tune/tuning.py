"""Tunes options and coefficients on a user's own questions, and accepts them only if significantly better.

1. A part of the questions is held back; where possible, no document serves both parts.
2. On the rest the calibrated scorer is fitted anew, and the options are searched by cross-validation: what a model is
   worth is measured on questions it was not fitted to.
3. The best candidate of the search, that one alone, is compared with the config it started from on the questions held
   back, with the composer as it will run. It is refused unless the interval of its improvement lies above 0.

Many candidates are tried, but held-back questions judge one of them once, so that no luck of the search is taken for an
improvement. What is maximised, and judged, is the mean of evidence recall and complete rate at the token budget.
"""

from __future__ import annotations

import datetime as dt
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retrivex.composer.composer import SpanComposer
from retrivex.config import RetrievalConfig
from retrivex.errors import RetrivexError
from retrivex.evaluation.compare.bootstrap import Difference, paired_bootstrap
from retrivex.evaluation.questions.labelled import LabelledQuestion
from retrivex.evaluation.questions.partition import folds, grouped, hold_back
from retrivex.evaluation.run.systems import unwritable_option
from retrivex.evaluation.tune.option_search import AS_IT_IS, Report, Search, Trial, measure, write_json
from retrivex.scoring.calibrated import Coefficients, load_coefficients
from retrivex.tokens.tokenizer import TokenizerSpec
from retrivex.version import __version__

Floats = NDArray[np.float64]

FEWEST_QUESTIONS = 20
"""Questions with evidence that tuning needs at least."""

FOLDS = 3
"""Parts of the cross-validation."""

SEARCHED = ("run_cost", "min_value", "window", "pool_factor", "hedge")
"""Options that are searched, beside the coefficients."""

MAX_CHANCE = 0.025
"""Share of chance results that may be as good: what a 95 % interval leaves above it."""

_FLIPS = 10_000

_APART = ("before", "coefficients")  # of a result: they have files of their own
_UNCHANGED = "the search found nothing better than the config it started from"


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure on the held-out questions.

    Parameters
    ----------
    before, after : means over the questions
    difference : after - before, with its paired bootstrap interval of 95 %
    """

    before: float
    after: float
    difference: Difference


@dataclass(frozen=True, slots=True)
class TuneResult:
    """The result of tuning, and whether it is accepted.

    Parameters
    ----------
    accepted : whether the candidate is significantly better
    reason : why it is accepted or refused, for people
    before : the config that tuning started from
    changes : options that the candidate turns
    coefficients : of the candidate; None where those it started from are kept
    measures : on the questions held back, by name: `quality` (what decides), `recall`, `complete`, `precision`,
        `spans`, `tokens`
    chance : share of random signs of the differences that would look as good
    fitted_on, held_back, unanswerable : questions with evidence in both parts, and those without any
    by_document : whether no document holds evidence for both parts
    searched : quality on the fitting part, cross-validated, before and after
    trials, seed : of the search
    """

    accepted: bool
    reason: str
    before: RetrievalConfig
    changes: Mapping[str, Any]
    coefficients: Coefficients | None
    measures: Mapping[str, Measure]
    chance: float
    fitted_on: int
    held_back: int
    unanswerable: int
    by_document: bool
    searched: tuple[float, float]
    trials: int
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the configs' other options and the weights, as plain JSON types."""
        made = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in _APART}
        return {
            **made,
            "changes": dict(self.changes),
            "refitted": self.coefficients is not None,
            "measures": {name: _plain_measure(found) for name, found in self.measures.items()},
            "searched": {"before": self.searched[0], "after": self.searched[1]},
        }

    def save(self, folder: str | Path) -> Path:
        """Write `config.json`, and `coefficients.json` where it needs one, and return the path of the config.

        Each file is there whole or not at all.

        Raises
        ------
        RetrivexError
            If the candidate was refused, or the config holds something that no file can (a callable, a passage).
        """
        if not self.accepted:
            raise RetrivexError(f"nothing to save: {self.reason}")
        folder = Path(folder)
        options = {**_plain_options(self.before), **self.changes}
        model = self.coefficients
        if model is None and self.before.coefficients is not None:
            model = load_coefficients(self.before.coefficients)  # so that the folder can be moved
        folder.mkdir(parents=True, exist_ok=True)
        if model is not None:
            options["coefficients"] = "coefficients.json"
            write_json(folder / "coefficients.json", model.to_dict())
        write_json(folder / "config.json", options)
        return folder / "config.json"


def _plain_measure(found: Measure) -> dict[str, float]:
    change = found.difference
    return {
        "before": found.before, "after": found.after, "difference": change.mean, "low": change.low, "high": change.high,
    }  # fmt: skip


def _plain_options(config: RetrievalConfig) -> dict[str, Any]:
    """Return the options that were set, as plain JSON types."""
    if unfit := unwritable_option(config):
        raise RetrivexError(
            f"the config sets {unfit}, which no file can hold: tune without it and set it where you read the file"
        )
    plain = config.model_dump(mode="json", include=config.model_fields_set)
    return {name: plain[name] for name in type(config).model_fields if name in plain}


def tune(
    questions: Sequence[LabelledQuestion],
    *,
    config: RetrievalConfig | None = None,
    tokenizer: TokenizerSpec = None,
    trials: int = 40,
    hold_out: float = 0.3,
    seed: int = 0,
    report: Report | None = None,
) -> TuneResult:
    """Look for a better config, and say whether it is one.

    Parameters
    ----------
    questions : with their evidence and hits; those without evidence serve the confidence alone
    config : where to start from: what it sets beside `SEARCHED` and `coefficients` stays
    tokenizer : takes the place of `config.tokenizer`, as for `SpanComposer`
    trials : candidates that are tried
    hold_out : share of the questions that decide
    seed : of the parts and of the search
    report : called with the progress: what is being done, how much of it is done, and of how much

    Raises
    ------
    RetrivexError
        If there are too few questions with evidence, an argument is out of range, or the config has no use for what is
        tuned (the weighted scorer, whole chunks).
    """
    config = config or RetrievalConfig()
    _check(questions, config, hold_out)
    notify = report or (lambda _what, _done, _total: None)
    fitting, parts, theirs = _split(questions, hold_out, seed)
    with tempfile.TemporaryDirectory() as folder:
        search = Search(fitting, parts, config, tokenizer, Path(folder), notify)
        start, found = Trial(AS_IT_IS, ()), search.best(trials, seed)
        model = search.final_model(found, _provenance(fitting, seed))
        candidate = found.of(config)
        if model is not None:
            write_json(Path(folder) / "coefficients.json", model.to_dict())
            candidate = candidate.override(coefficients=Path(folder) / "coefficients.json")
        before = _measure(theirs, SpanComposer(config, tokenizer=tokenizer), notify)
        after = before if found == start else _measure(theirs, SpanComposer(candidate, tokenizer=tokenizer), notify)
    measures = _compare(before, after)
    chance = chance_of(after["quality"] - before["quality"], seed)
    accepted, reason = judge(measures["quality"].difference, chance) if found != start else (False, _UNCHANGED)
    return TuneResult(
        accepted=accepted,
        reason=reason,
        before=config,
        changes=dict(found.options),
        coefficients=model,
        measures=measures,
        chance=chance,
        fitted_on=sum(1 for question in fitting if question.evidence),
        held_back=len(theirs),
        unanswerable=sum(1 for question in questions if not question.evidence),
        by_document=_documents(fitting).isdisjoint(_documents(theirs)),
        searched=(search.score(start), search.score(found)),
        trials=trials,
        seed=seed,
    )


def _check(questions: Sequence[LabelledQuestion], config: RetrievalConfig, hold_out: float) -> None:
    answered = sum(1 for question in questions if question.evidence)
    if answered < FEWEST_QUESTIONS:
        raise RetrivexError(
            f"{answered} questions have evidence: tuning needs at least {FEWEST_QUESTIONS}, and some hundred to "
            "detect small improvements"
        )
    if not 0.1 <= hold_out <= 0.7:
        raise RetrivexError(f"hold_out is {hold_out}: it must be a share from 0.1 to 0.7 of the questions")
    if config.scoring == "weighted":
        raise RetrivexError("scoring is 'weighted': what is tuned belongs to the calibrated scorer, set scoring='auto'")
    if config.selection_unit not in ("auto", "unit"):
        raise RetrivexError(f"selection_unit is {config.selection_unit!r}: tuning chooses units, set it to 'auto'")


def _split(
    questions: Sequence[LabelledQuestion], hold_out: float, seed: int
) -> tuple[list[LabelledQuestion], list[list[int]], list[LabelledQuestion]]:
    """Return the questions to fit on, their parts for the cross-validation, and those held back."""
    groups = grouped([{part.doc_id for part in question.evidence} for question in questions])
    rest, held = hold_back(groups, hold_out, seed)
    place = {at: number for number, at in enumerate(rest)}
    inner = [[place[at] for at in group] for group in groups if group[0] in place]
    fitting = [questions[at] for at in rest]
    theirs = [questions[at] for at in held if questions[at].evidence]
    fewest = min(len(theirs), sum(1 for question in fitting if question.evidence))
    if fewest < FEWEST_QUESTIONS // 4:
        raise RetrivexError(
            f"a part of the questions has only {fewest} with evidence: give more questions, or another hold_out"
        )
    return fitting, folds(inner, FOLDS, seed), theirs


def _documents(questions: Sequence[LabelledQuestion]) -> set[str]:
    return {part.doc_id for question in questions for part in question.evidence}


def _provenance(fitting: Sequence[LabelledQuestion], seed: int) -> dict[str, Any]:
    return {
        "by": f"retrivex tune {__version__}",
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "questions": len(fitting),
        "with_evidence": sum(1 for question in fitting if question.evidence),
        "seed": seed,
    }


def _measure(questions: Sequence[LabelledQuestion], composer: SpanComposer, report: Report) -> dict[str, Floats]:
    """Compose every question's context and return each measure, shape (n,)."""
    rows = []
    for at, question in enumerate(questions):
        report("measuring", at, len(questions))
        rows.append(measure(composer, question, {}))
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _compare(before: Mapping[str, Floats], after: Mapping[str, Floats]) -> dict[str, Measure]:
    return {
        name: Measure(
            float(before[name].mean()), float(after[name].mean()), paired_bootstrap(after[name], before[name])
        )
        for name in before
    }


def chance_of(differences: Floats, seed: int = 0) -> float:
    """Return the share of random signs of the differences whose mean is as large: a paired randomisation test.

    The bootstrap overstates its confidence where few questions differ: three gains and no loss are no proof.

    Parameters
    ----------
    differences : shape (n,), after - before of each question
    seed : of the signs

    Examples
    --------
    >>> round(chance_of(np.array([1.0] * 5 + [0.0] * 7)), 2)
    0.03
    """
    signs = np.random.default_rng(seed).choice((-1.0, 1.0), (_FLIPS, len(differences)))
    means = (signs * differences).mean(axis=1)
    return float((1 + (means >= differences.mean() - 1e-12).sum()) / (1 + _FLIPS))


def judge(found: Difference, chance: float) -> tuple[bool, str]:
    """Return whether an improvement is accepted, and why, for people.

    Parameters
    ----------
    found : the improvement with its interval of 95 %, which must lie above 0
    chance : from `chance_of`, at most `MAX_CHANCE`
    """
    interval = f"{found.mean:+.3f}, 95 % interval {found.low:+.3f} to {found.high:+.3f}"
    if found.low <= 0:
        return False, f"no significant improvement on the questions held back ({interval})"
    if chance > MAX_CHANCE:
        return (
            False,
            f"too few questions held back differ for a significant improvement ({interval}; chance {chance:.3f})",
        )
    return True, f"better on the questions held back ({interval})"
