"""Which order `auto` takes, and what its choice goes by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from retrivex.ordering import OrderChoice, choose_order
from retrivex.reorder.arrangement import arrange, source_reader
from retrivex.reorder.budget import Budget
from retrivex.reorder.fitting import fitted
from retrivex.reorder.options import ReorderOptions
from retrivex.reorder.passage import Ranked


def chosen_strategy(
    ranked: Sequence[Ranked[Any]], query: str | None, options: ReorderOptions, budget: Budget
) -> tuple[str, str, ReorderOptions]:
    """Return the order to take, why, and the options to take it with: a comparison is grouped by document."""
    if options.strategy != "auto":
        return options.strategy, "as set", options
    choice = choose_order(
        ranked,
        query,
        settings=options.auto.model_copy(update={"context_window": None}),
        source=source_reader(options),
        position=lambda one: one.candidate.section_index,
        timestamp=lambda one: one.candidate.timestamp,
    )
    if options.auto.context_window is not None:
        choice = _filled(choice, options.auto.context_window, ranked, options, budget)
    strategy, options = _taken(choice, options)
    return strategy, choice.reason, options


def _filled(
    choice: OrderChoice, window: int, ranked: Sequence[Ranked[Any]], options: ReorderOptions, budget: Budget
) -> OrderChoice:
    """Return the choice with the share of the window that it fills; best last if that fills it nearly."""
    if choice.strategy == "edge_balanced":
        best_last = choice.filled(_tokens_packed(ranked, "best_last", options, budget), options.auto)
        if best_last.strategy == "best_last":
            return best_last
    return replace(choice, fill=_tokens_packed(ranked, *_taken(choice, options), budget) / window)


def _taken(choice: OrderChoice, options: ReorderOptions) -> tuple[str, ReorderOptions]:
    if choice.strategy != "group_by":
        return choice.strategy, options
    group_by = options.group_by or options.document_field
    return "edge_balanced", options.model_copy(update={"group_by": group_by})


def _tokens_packed(ranked: Sequence[Ranked[Any]], strategy: str, options: ReorderOptions, budget: Budget) -> float:
    """Return the tokens of the passages that are shown if the order is taken."""
    placed = arrange(ranked, strategy, options)
    return sum(budget.tokens(placed[at].ranked.candidate) for at in fitted(placed, strategy, options, budget).kept)
