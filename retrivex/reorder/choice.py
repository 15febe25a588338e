"""Which order `auto` takes, and what its choice goes by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrivex.ordering import choose_order
from retrivex.reorder.budget import Budget
from retrivex.reorder.fields import read_field
from retrivex.reorder.options import ReorderOptions
from retrivex.reorder.passage import Candidate, group_key


def chosen_strategy(
    candidates: Sequence[Candidate[Any]], query: str | None, options: ReorderOptions, budget: Budget
) -> tuple[str, str, ReorderOptions]:
    """Return the order to take, why, and the options to take it with: a comparison is grouped by document."""
    if options.strategy != "auto":
        return options.strategy, "as set", options
    share = _share_that_fits(candidates, options, budget)
    choice = choose_order(
        candidates,
        query,
        settings=options.auto,
        source=lambda one: group_key(read_field(one.metadata, options.document_field)),
        position=lambda one: one.section_index,
        timestamp=lambda one: one.timestamp,
        tokens=lambda one: budget.tokens(one) * share,
    )
    if choice.strategy != "group_by":
        return choice.strategy, choice.reason, options
    group_by = options.group_by or options.document_field
    return "edge_balanced", choice.reason, options.model_copy(update={"group_by": group_by})


def _share_that_fits(candidates: Sequence[Candidate[Any]], options: ReorderOptions, budget: Budget) -> float:
    """Share of all tokens that `max_tokens` lets through: the window is filled by those alone."""
    if options.auto.context_window is None or options.max_tokens is None:
        return 1.0
    total = sum(map(budget.tokens, candidates))
    return min(1.0, options.max_tokens / total) if total else 1.0
