"""Which passages take part: within the limit, above the least score, each once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from retrivex.errors import PassageError
from retrivex.reorder.account import Account
from retrivex.reorder.diagnostics import DroppedPassage
from retrivex.reorder.options import ReorderOptions
from retrivex.reorder.passage import Candidate
from retrivex.similarity.deduplicate import find_duplicates

T = TypeVar("T")


def limited(candidates: Sequence[Candidate[T]], options: ReorderOptions, account: Account) -> list[Candidate[T]]:
    """Return the first `max_input` candidates, or all.

    Raises
    ------
    PassageError
        If there are more and `max_input_behavior` is `raise`.
    """
    most = options.max_input
    if most is None or len(candidates) <= most:
        return list(candidates)
    if options.max_input_behavior == "raise":
        raise PassageError(
            f"{len(candidates)} passages are more than max_input={most}: give fewer, raise it, or pass "
            "max_input_behavior='truncate'"
        )
    account.drop(candidates[most:], "max_input")
    account.warnings.append(f"only the first {most} of {len(candidates)} passages are taken (max_input)")
    return list(candidates[:most])


def filtered(candidates: Sequence[Candidate[T]], options: ReorderOptions, account: Account) -> list[Candidate[T]]:
    """Clamp scores, then leave out what scores too low, then duplicates."""
    left = list(candidates)
    if options.score_clamp is not None:
        low, high = options.score_clamp
        left = [one._replace(score=min(high, max(low, one.score))) for one in left]
    if options.min_score is not None:
        account.drop((one for one in left if one.score < options.min_score), "min_score")
        left = [one for one in left if one.score >= options.min_score]
    return _deduplicated(left, options, account) if options.deduplicate else left


def _deduplicated(candidates: Sequence[Candidate[T]], options: ReorderOptions, account: Account) -> list[Candidate[T]]:
    duplicates = find_duplicates(
        candidates,
        options.deduplicate_threshold,
        options.deduplicate_keep,
        text=lambda one: one.text,
        score=lambda one: one.score,
    )
    for found in duplicates:
        one = candidates[found.position]
        account.dropped.append(DroppedPassage(one.place, one.id, "duplicate", candidates[found.kept].id))
    gone = {found.position for found in duplicates}
    return [one for position, one in enumerate(candidates) if position not in gone]
