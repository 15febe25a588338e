"""Which order `auto` takes, and what its choice goes by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from retrivex.ordering import choose_order
from retrivex.reorder.budget import Budget
from retrivex.reorder.fields import read_field
from retrivex.reorder.options import ReorderOptions
from retrivex.reorder.passage import Candidate, group_key
from retrivex.reorder.priority import priorities


def chosen_strategy(
    candidates: Sequence[Candidate[Any]], query: str | None, options: ReorderOptions, budget: Budget
) -> tuple[str, str, ReorderOptions]:
    """Return the order to take, why, and the options to take it with: a comparison is grouped by document."""
    if options.strategy != "auto":
        return options.strategy, "as set", options
    tokens = _tokens_shown(candidates, options, budget)
    choice = choose_order(
        candidates,
        query,
        settings=options.auto,
        source=lambda one: group_key(read_field(one.metadata, options.document_field)),
        position=lambda one: one.section_index,
        timestamp=lambda one: one.timestamp,
        tokens=lambda one: tokens[one.place],
    )
    if choice.strategy != "group_by":
        return choice.strategy, choice.reason, options
    group_by = options.group_by or options.document_field
    return "edge_balanced", choice.reason, options.model_copy(update={"group_by": group_by})


def _tokens_shown(candidates: Sequence[Candidate[Any]], options: ReorderOptions, budget: Budget) -> dict[int, float]:
    """Return the tokens of each candidate by its place, all reduced alike to what the limits let through of them.

    That is about what is shown: which passages stay is known only once they are in order.
    """
    if options.auto.context_window is None:
        return {}
    tokens = {one.place: float(budget.tokens(one)) for one in candidates}
    total = sum(tokens.values())
    share = _fitting(candidates, tokens, options, budget) / total if total else 1.0
    return {place: count * share for place, count in tokens.items()}


def _fitting(
    candidates: Sequence[Candidate[Any]], tokens: Mapping[int, float], options: ReorderOptions, budget: Budget
) -> float:
    """Return about how many tokens `top_k` and the budget let through, or `min_top_k` where that is more."""
    worth = priorities(candidates, options.weights, options.score_normalization, options.softmax_temperature)
    best = [candidates[i] for i in sorted(range(len(worth)), key=lambda i: -worth[i])][: options.top_k]
    fitting = sum(tokens[one.place] for one in best)
    cost = 0.0 if budget.limit is None else sum(map(budget.cost, best))
    if budget.limit is not None and cost > budget.limit:
        fitting *= budget.limit / cost
    return max(fitting, sum(tokens[one.place] for one in best[: options.min_top_k or 0]))
