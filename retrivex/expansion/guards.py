"""Guards: the rules that stop a window's growth at the boundary between two neighbouring chunks."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from retrivex.config import GrowPolicy, RetrievalConfig
from retrivex.expansion.continuity import Continuity
from retrivex.model.chunk import Chunk

LEXICAL_CONTINUITY = 0.7
"""Share of common words that stands for a cosine of 1, between chunks without embeddings."""

Rule: TypeAlias = Callable[[Chunk, Chunk, Continuity, RetrievalConfig], bool]
"""`rule(left, right, continuity, config)`: whether no window may grow across the boundary, from either side."""


@dataclass(frozen=True, slots=True)
class Guard:
    """A rule that stops growth, with the reason and the letter it is reported by.

    Parameters
    ----------
    reason : given in traces and in `dropped`
    letter : drawn by `retrivex query --explain` where a window stopped
    option : of the config, that switches the guard on
    rule : whether growth stops between two neighbouring chunks
    within_section : whether it may stop growth between two chunks that have the same heading path
    """

    reason: str
    letter: str
    option: str
    rule: Rule
    within_section: bool = True

    def is_on(self, config: RetrievalConfig) -> bool:
        """Whether the config asks for it."""
        return bool(getattr(config, self.option))


def _changes_heading(left: Chunk, right: Chunk, continuity: Continuity, config: RetrievalConfig) -> bool:
    if tuple(left.metadata.heading_path or ()) == tuple(right.metadata.heading_path or ()):
        return False
    needed = LEXICAL_CONTINUITY * config.min_continuity if continuity.lexical else config.min_continuity
    return continuity.value < needed


def _changes_page(left: Chunk, right: Chunk, _continuity: Continuity, _config: RetrievalConfig) -> bool:
    return left.metadata.page != right.metadata.page


GUARDS = (
    Guard("heading", "h", "stop_on_heading_change", _changes_heading, within_section=False),
    Guard("page", "p", "stop_on_page_change", _changes_page),
)
"""Every guard, in the order in which they are asked: the first that refuses gives the reason."""

STORE_STOPS = {"missing": "m", "document end": "e"}
"""Reasons, with their letters, for which growth stops at what the store does not return, or may not."""

STOP_LETTERS = {guard.reason: guard.letter for guard in GUARDS} | STORE_STOPS
"""The letter of every reason for which growth stops."""


def guards_of(config: RetrievalConfig) -> tuple[Guard, ...]:
    """Return the guards that are on, in the order in which they are asked."""
    return tuple(guard for guard in GUARDS if guard.is_on(config))


def refusal(
    left: Chunk, right: Chunk, continuity: Continuity, config: RetrievalConfig, guards: Sequence[Guard] | None = None
) -> str | None:
    """Return why no window may grow across the boundary between two neighbouring chunks; None where it may.

    The same whichever side the seed is on.

    Parameters
    ----------
    left, right : the chunks before and after the boundary
    continuity : of `right` with `left`
    config : options of the guards
    guards : those to ask; None: those that are on
    """
    asked = guards_of(config) if guards is None else guards
    return next((guard.reason for guard in asked if guard.rule(left, right, continuity, config)), None)


_TABLE_ROW = re.compile(r"^\s*\|.*\|\s*$|^[^\t\n]+(\t[^\t\n]+)+$")
_LIST_ITEM = re.compile(r"^\s*([-*+•‣◦]|\(?\w{1,3}[.)])\s+\S|^\s{2,}\S")
_NUMBERED_STEP = re.compile(r"^\s*(step\s+)?\(?\d{1,3}[.):]\s*\S|^\s*第[\d一二三四五六七八九十百]+步", re.IGNORECASE)
_CODE_LINE = re.compile(r"^( {4}|\t)\s*\S|[{};]\s*$|^\s*(def|class|return|if|else|for|while|import|from|#include)\b.*")
_FENCE = re.compile(r"^[^\S\n]*(```|~~~)", re.MULTILINE)

_LINE_SHAPES: dict[GrowPolicy, re.Pattern[str]] = {
    "table": _TABLE_ROW,
    "list": _LIST_ITEM,
    "code": _CODE_LINE,
    "steps": _NUMBERED_STEP,
}


def _facing_lines(before: str, after: str) -> tuple[str, str]:
    """Last line of `before` and first line of `after` that hold anything."""
    last = next((line for line in reversed(before.splitlines()) if line.strip()), "")
    first = next((line for line in after.splitlines() if line.strip()), "")
    return last, first


def shape_goes_on(before: str, after: str, policy: GrowPolicy) -> bool:
    """Whether a table, list, code block or numbered steps run across the boundary between two texts.

    Examples
    --------
    >>> shape_goes_on("| a | b |", "| c | d |", "table"), shape_goes_on("The end.", "| c | d |", "table")
    (True, False)
    """
    if policy == "code" and len(_FENCE.findall(before)) % 2 == 1:
        return True  # a fence was opened and not closed
    pattern = _LINE_SHAPES[policy]
    last, first = _facing_lines(before, after)
    return bool(pattern.search(last) and pattern.search(first))


def stop_rule(config: RetrievalConfig) -> Callable[[Chunk, Chunk], bool] | None:
    """Return `stop(inner, outer)` for growth past the window; None where the window is the end."""
    policies = config.grow_until
    if policies is None or callable(policies):
        return policies
    named: Sequence[GrowPolicy] = policies

    def stop(inner: Chunk, outer: Chunk) -> bool:
        before, after = (inner, outer) if inner.metadata.chunk_id < outer.metadata.chunk_id else (outer, inner)
        return not any(shape_goes_on(before.text, after.text, policy) for policy in named)

    return stop
