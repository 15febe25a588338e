"""The search for better options and coefficients by cross-validation (extra `tune`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from retrivex.composer.composer import SpanComposer
from retrivex.config import Effort, RetrievalConfig
from retrivex.errors import RetrivexError, install_hint
from retrivex.evaluation.metrics import score_context
from retrivex.evaluation.questions.labelled import LabelledQuestion
from retrivex.evaluation.run.measures import cited_ranges
from retrivex.evaluation.tune.samples import sample_of
from retrivex.scoring.calibrated import Coefficients
from retrivex.scoring.fitting import RIDGE, Sample, fit
from retrivex.tokens.tokenizer import TokenizerSpec

try:
    import optuna
except ImportError as error:
    raise ImportError(f"tuning searches with optuna: {install_hint('tune')}") from error

AS_IT_IS = "as it is"
"""The model of the config that the search starts from."""

RIDGES = {"fitted anew": RIDGE, "fitted anew, smoother": 10 * RIDGE}
"""Models that are fitted, by name: some tens of questions want a stronger ridge than thousands."""

RUN_COSTS = (0.0, 2.0)
MIN_VALUES = (0.0, 0.4)
POOL_FACTORS = (2.0, 4.0, 8.0, 16.0)
HEDGES = (0.0, 0.3, 0.6, 0.9)
WIDEST = 3
"""Largest window that is tried, in chunks, where the config names one."""

TOKEN_PRICE: dict[Effort, float] = {"lean": 0.065, "standard": 0.01, "full": 0.0}
"""Discount of the quality for each 100 tokens: else showing more would pay where evidence is in no place at all."""

_FEWEST_TO_FIT = 10  # questions whose evidence is among their candidates

Report: TypeAlias = Callable[[str, int, int], None]
"""`report(what, done, total)`: called with the progress."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A candidate: a model and options."""

    model: str
    options: tuple[tuple[str, Any], ...]

    def of(self, config: RetrievalConfig) -> RetrievalConfig:
        """Return the config with the candidate's options."""
        return config.override(**dict(self.options))


class Search:
    """Searches the best candidate on the fitting part.

    Parameters
    ----------
    questions : of the fitting part, also those without evidence
    parts : places in `questions` of each part of the cross-validation
    config, tokenizer : where it starts from
    folder : for files of coefficients that are tried
    report : called with the progress
    """

    def __init__(
        self,
        questions: Sequence[LabelledQuestion],
        parts: Sequence[Sequence[int]],
        config: RetrievalConfig,
        tokenizer: TokenizerSpec,
        folder: Path,
        report: Report,
    ) -> None:
        self.questions = questions
        self.config = config
        self.report = report
        self.composer = SpanComposer(config, tokenizer=tokenizer)
        self.part_of = {at: number for number, part in enumerate(parts) for at in part}
        self.samples = self._samples()
        self.models = self._models(len(parts), folder)
        self._scores: dict[Trial, float] = {}

    def _samples(self) -> list[Sample]:
        made = []
        for at, question in enumerate(self.questions):
            self.report("reading candidates", at, len(self.questions))
            valued = self.composer.value_units(**question.arguments())
            if valued.scores.model is None:
                raise RetrivexError("the weighted scorer has nothing to fit: leave scoring at 'auto' or 'calibrated'")
            sample = sample_of(valued, question.evidence)
            made.append(Sample(sample.values.astype(np.float32), sample.evidence))
        return made

    def _models(self, parts: int, folder: Path) -> dict[str, list[Path | None]]:
        """Return per model and part the coefficients to score the part with: those fitted did not see it."""
        made: dict[str, list[Path | None]] = {AS_IT_IS: [self.config.coefficients] * parts}
        others = [[s for at, s in enumerate(self.samples) if self.part_of[at] != part] for part in range(parts)]
        if not all(map(_can_be_fitted, others)):
            return made
        for number, (name, ridge) in enumerate(RIDGES.items()):
            made[name] = []
            for part, samples in enumerate(others):
                self.report("fitting", number * parts + part, len(RIDGES) * parts)
                made[name].append(folder / f"{number}-{part}.json")
                write_json(folder / f"{number}-{part}.json", fit(samples, ridge=ridge).to_dict())
        return made

    def score(self, trial: Trial) -> float:
        """Return the mean quality over the questions that have evidence."""
        if trial not in self._scores:
            models = self.models[trial.model]
            found = [
                measure(self.composer, question, {**dict(trial.options), "coefficients": models[self.part_of[at]]})
                for at, question in enumerate(self.questions)
                if question.evidence
            ]
            self._scores[trial] = float(np.mean([measures["quality"] for measures in found]))
        return self._scores[trial]

    def final_model(self, trial: Trial, fitted: Mapping[str, Any]) -> Coefficients | None:
        """Return the coefficients of a candidate, fitted to all questions; None where it keeps those of the config."""
        return None if trial.model == AS_IT_IS else fit(self.samples, ridge=RIDGES[trial.model], fitted=fitted)

    def best(self, trials: int, seed: int) -> Trial:
        """Search, then take back every change that brings nothing."""
        start = Trial(AS_IT_IS, ())
        sampler = optuna.samplers.TPESampler(seed=seed)
        verbosity = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        try:
            study = optuna.create_study(direction="maximize", sampler=sampler)
            first = {"model": AS_IT_IS, "run_cost": 0.0, "min_value": 0.0, "hedge": self.config.hedge}
            study.enqueue_trial(first, skip_if_exists=True)
            for done in range(trials):
                self.report("searching", done, trials)
                study.optimize(lambda trial: self.score(self._suggest(trial)), n_trials=1)
        finally:
            optuna.logging.set_verbosity(verbosity)
        found = max([start, *self._scores], key=self.score)
        return self._simplify(found)

    def _suggest(self, trial: optuna.Trial) -> Trial:
        config = self.config
        options: dict[str, Any] = {
            "run_cost": float(f"{trial.suggest_float('run_cost', *RUN_COSTS, step=0.02):.2g}"),
            "min_value": round(trial.suggest_float("min_value", *MIN_VALUES, step=0.02), 2),
        }
        if config.pool_factor is not None:
            options["pool_factor"] = trial.suggest_categorical(
                "pool_factor", sorted({*POOL_FACTORS, config.pool_factor})
            )
        elif isinstance(config.window, int):
            most = WIDEST if config.grow_until is None else min(WIDEST, config.max_window)
            options["window"] = trial.suggest_int("window", 0, most)
        options["hedge"] = trial.suggest_categorical("hedge", sorted({*HEDGES, config.hedge}))
        model = str(trial.suggest_categorical("model", list(self.models)))
        return Trial(model, tuple((name, value) for name, value in options.items() if value != getattr(config, name)))

    def _simplify(self, found: Trial) -> Trial:
        for name, _ in found.options:
            without = replace(found, options=tuple(pair for pair in found.options if pair[0] != name))
            if self.score(without) >= self.score(found):
                found = without
        same = replace(found, model=AS_IT_IS)
        return same if self.score(same) >= self.score(found) else found


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write a file of plain JSON types."""
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def _can_be_fitted(samples: Sequence[Sample]) -> bool:
    usable = sum(1 for s in samples if s.evidence.sum() > 0 and (s.evidence <= 0).any())
    return usable >= _FEWEST_TO_FIT


def measure(composer: SpanComposer, question: LabelledQuestion, options: Mapping[str, Any]) -> dict[str, float]:
    """Compose the context of a question that has evidence, and return its measures; `quality` is what is maximised."""
    made = composer.compose(**question.arguments(), **options)
    scores = score_context(cited_ranges(made.citations), question.evidence, tokens=made.tokens)
    return {
        "quality": quality(scores.recall, scores.complete, made.tokens, composer.config.effort),
        "recall": scores.recall,
        "complete": float(scores.complete),
        "precision": scores.precision,
        "spans": float(len(made.spans)),
        "tokens": float(made.tokens),
    }


def quality(recall: float, complete: bool, tokens: int, effort: Effort) -> float:
    """Return the mean of evidence recall and of whether all is there, discounted for its tokens.

    They discount what is shown by what they have to earn at an effort, and by nothing where the budget is to be filled.
    To show less is no gain by itself: evidence that tokens hold by chance alone goes with them.
    """
    return (recall + complete) / 2 / (1 + TOKEN_PRICE[effort] * tokens / 100)
