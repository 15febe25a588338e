"""Guards: the rules that stop a window's growth at the boundary between two neighbouring chunks."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TypeAlias

from retrivex.config import GrowPolicy, RetrievalConfig, StopOnChange
from retrivex.errors import RetrivexError
from retrivex.expansion.continuity import Continuity
from retrivex.model.chunk import Chunk, ChunkMetadata
from retrivex.ordering import question_type

_FIELDS = frozenset(field.name for field in fields(ChunkMetadata))

LEXICAL_CONTINUITY = 0.7
"""Share of common words that stands for a cosine of 1, between chunks without embeddings."""

Rule: TypeAlias = Callable[[Chunk, Chunk, Continuity, RetrievalConfig], bool]
"""`rule(left, right, continuity, config)`: whether no window may grow across the boundary, from either side."""


@dataclass(frozen=True, slots=True)
class Guard:
    """A rule that stops growth.

    Parameters
    ----------
    reason : given in traces and in `dropped`
    rule : whether growth stops between two neighbouring chunks
    within_section : whether it may stop growth between two chunks that have the same heading path
    """

    reason: str
    rule: Rule
    within_section: bool = True


def _changes_heading(left: Chunk, right: Chunk, continuity: Continuity, config: RetrievalConfig) -> bool:
    if tuple(left.metadata.heading_path or ()) == tuple(right.metadata.heading_path or ()):
        return False
    needed = LEXICAL_CONTINUITY * config.min_continuity if continuity.lexical else config.min_continuity
    return continuity.value < needed


_HEADING = Guard("heading", _changes_heading, within_section=False)

STORE_STOPS = {"missing": "m", "document end": "e"}
"""Reasons, with their letters, for which growth stops at what the store does not return, or may not."""

_LETTERS = {"heading": "h", "page": "p", **STORE_STOPS}


def stop_letter(reason: str | None) -> str:
    """Return the letter that `retrivex query --explain` draws where a window stopped."""
    return _LETTERS.get(reason or "", "x")


def guards_of(config: RetrievalConfig) -> tuple[Guard, ...]:
    """Return the guards that are on, in the order in which they are asked: the first that refuses gives the reason."""
    heading = (_HEADING,) if config.stop_on_heading_change else ()
    return (*heading, *map(_guard_of, config.stop_on_change))


def _guard_of(change: str | StopOnChange) -> Guard:
    if callable(change):
        name = getattr(change, "__name__", "a rule")
        return Guard(name, lambda left, right, _continuity, _config: _stops(change, left, right))
    if change in _FIELDS:
        return Guard(change, lambda left, right, *_: getattr(left.metadata, change) != getattr(right.metadata, change))
    return Guard(
        change,
        lambda left, right, *_: left.metadata.custom_metadata.get(change) != right.metadata.custom_metadata.get(change),
    )


def _stops(change: StopOnChange, left: Chunk, right: Chunk) -> bool:
    stops = change(left, right)
    if not isinstance(stops, bool):
        raise RetrivexError(
            f"stop_on_change gave {stops!r} between {left.key!r} and {right.key!r}: it must return True or False"
        )
    return stops


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

_LINE_SHAPES: dict[str, re.Pattern[str]] = {
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


def shape_goes_on(before: str, after: str, policy: GrowPolicy | re.Pattern[str]) -> bool:
    """Whether a table, list, code block, numbered steps or lines of a pattern run across a boundary between two texts.

    Examples
    --------
    >>> shape_goes_on("| a | b |", "| c | d |", "table"), shape_goes_on("The end.", "| c | d |", "table")
    (True, False)
    """
    if policy == "code" and len(_FENCE.findall(before)) % 2 == 1:
        return True  # a fence was opened and not closed
    pattern = _LINE_SHAPES[policy] if isinstance(policy, str) else policy
    last, first = _facing_lines(before, after)
    return bool(pattern.search(last) and pattern.search(first))


def policies_for(question: str | None) -> tuple[GrowPolicy, ...]:
    """Return the structures that `grow_until="auto"` follows: steps, lists and code where a way is asked for.

    Else tables and lists, which hold facts, times and what is compared.

    Examples
    --------
    >>> policies_for("How do I build a hive?"), policies_for("How much honey is in a hive?")
    (('steps', 'list', 'code'), ('table', 'list'))
    """
    return ("steps", "list", "code") if question_type(question) == "narrative" else ("table", "list")


def with_policies(config: RetrievalConfig, question: str | None) -> RetrievalConfig:
    """Return a config whose `grow_until` names the structures that `auto` stands for."""
    given = config.grow_until
    if not isinstance(given, tuple) or "auto" not in given:
        return config
    named = [policy for policy in given if policy != "auto"]
    return config.override(grow_until=tuple(dict.fromkeys((*named, *policies_for(question)))))


def stop_rule(config: RetrievalConfig) -> Callable[[Chunk, Chunk], bool] | None:
    """Return `stop(inner, outer)` for growth past the window; None where the window is the end."""
    policies = config.grow_until
    if policies is None or callable(policies):
        return policies
    named: Sequence[GrowPolicy | re.Pattern[str]] = policies

    def stop(inner: Chunk, outer: Chunk) -> bool:
        before, after = (inner, outer) if inner.metadata.chunk_id < outer.metadata.chunk_id else (outer, inner)
        return not any(shape_goes_on(before.text, after.text, policy) for policy in named)

    return stop
