"""The systems that an evaluation compares: RetriVex in any configuration, and the kNN baselines."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from retrivex.composer.composer import SpanComposer
from retrivex.composer.spans import best_first
from retrivex.config import PRESETS, RetrievalConfig
from retrivex.errors import RetrivexError
from retrivex.evaluation.run.context import Case, Order, Selection
from retrivex.evaluation.run.index import VECTORS
from retrivex.evaluation.run.knn import NearestChunks
from retrivex.scoring.calibrated import load_coefficients
from retrivex.scoring.effort import SPARED
from retrivex.tokens.tokenizer import Tokenizer

BASELINES = {"knn": 0, "knn±1": 1, "knn±2": 2}
"""The nearest chunks, with so many neighbours on each side."""

COMPOSERS = (*BASELINES, *PRESETS, *SPARED)
"""Composers that need no file: baselines, presets, and the default at each level of effort."""

_FILES = (".json", ".toml")


class System(Protocol):
    """Selects passages for a question."""

    @property
    def name(self) -> str:
        """In results."""

    @property
    def own_order(self) -> str:
        """The order where none is given."""

    def select(self, case: Case, order: Order) -> Selection:
        """Return passages that make a context within the case's budget in an order."""

    def describe(self) -> dict[str, Any]:
        """Return what it does, as plain JSON types: other contents mean other results."""


class ConfiguredComposer:
    """RetriVex with a configuration; the evaluation sets the budget.

    Parameters
    ----------
    name : in results
    config : the options
    tokenizer : counts the budget

    Raises
    ------
    RetrivexError
        If the config holds a callable, which no manifest can describe.
    """

    def __init__(self, name: str, config: RetrievalConfig, tokenizer: Tokenizer) -> None:
        self.name = name
        self._config = config
        self.own_order = config.ordering_strategy.value
        self._options = _plain_options(name, config)
        self._composer = SpanComposer(config, tokenizer=tokenizer)

    def select(self, case: Case, order: Order) -> Selection:
        """Return the spans of the composition; vectors are seen where they found the hits."""
        started = time.thread_time()
        made = self._composer.compose(
            case.hits,
            case.store,
            query=case.question,
            query_embedding=case.embedding if case.retriever in VECTORS else None,
            token_budget=case.budget,
            ordering_strategy=order.name,
        )
        ms = 1e3 * (time.thread_time() - started)
        return Selection(best_first(made.spans), self._config, ms, order)

    def describe(self) -> dict[str, Any]:
        """Return the options; of files what they hold."""
        return {"kind": "retrivex", "config": self._options}


def unwritable_option(config: RetrievalConfig) -> str | None:
    """Return the first option of a config that no file can hold: a callable, a passage; None where all can be."""
    unfit = [option for option in ("boosts", "pinned", "exclude") if getattr(config, option)]
    unfit += [option for option in ("grow_until", "group_by", "order_key") if callable(getattr(config, option))]
    if config.auto_order is not None and config.auto_order.detector is not None:
        unfit.append("auto_order.detector")
    return unfit[0] if unfit else None


def _plain_options(name: str, config: RetrievalConfig) -> dict[str, Any]:
    if unfit := unwritable_option(config):
        raise RetrivexError(f"config {name!r} sets {unfit}, which no manifest can describe: leave it out")
    ours = ("token_budget", "tokenizer", "coefficients")
    options = {option: value for option, value in config.model_dump(mode="json").items() if option not in ours}
    if config.coefficients is not None:
        model = json.dumps(load_coefficients(config.coefficients).to_dict())
        options["coefficients"] = f"sha256 {hashlib.sha256(model.encode()).hexdigest()}"
    return options


def load_system(spec: str, configs: Mapping[str, RetrievalConfig], tokenizer: Tokenizer) -> System:
    """Return the system with a given name.

    Parameters
    ----------
    spec : one of `COMPOSERS`, a key of `configs`, or the path of a .toml or .json of options, called by its stem
    configs : configurations by name
    tokenizer : counts the budget

    Raises
    ------
    RetrivexError
        If it is none of them, or the file cannot be read.
    """
    if spec in configs:
        return ConfiguredComposer(spec, configs[spec], tokenizer)
    if spec in BASELINES:
        return NearestChunks(spec, BASELINES[spec])
    if spec in PRESETS:
        return ConfiguredComposer(spec, RetrievalConfig.preset(spec), tokenizer)  # type: ignore[arg-type]
    if spec in SPARED:
        return ConfiguredComposer(spec, RetrievalConfig.preset("balanced", effort=spec), tokenizer)
    if spec.endswith(_FILES):
        return ConfiguredComposer(Path(spec).stem, RetrievalConfig.from_file(spec), tokenizer)
    raise RetrivexError(
        f"composer is {spec!r}: it must be one of {', '.join([*COMPOSERS, *configs])}, or the path of a .toml or "
        ".json of options"
    )
