"""May a window go on from a chunk to the next one outwards? Heading, page, continuity, shape."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from retrivex.config import GrowPolicy, RetrievalConfig
from retrivex.expansion.continuity import Continuity
from retrivex.model.chunk import Chunk

Refusal: TypeAlias = Literal["heading", "page", "continuity", "missing", "document end", "scope"]


def heading_of(chunk: Chunk, level: int | None) -> tuple[str, ...]:
    """First `level` titles of the heading path; no path and an empty one are the same."""
    path = chunk.metadata.heading_path
    return tuple(path[:level]) if path else ()


def refusal(left: Chunk, right: Chunk, continuity: Continuity, config: RetrievalConfig) -> Refusal | None:
    """Return why no window may grow across the boundary between two neighbouring chunks; None where it may.

    The same whichever side the seed is on.
    """
    lexical = continuity.lexical
    floor = config.lexical_continuity_floor if lexical else config.continuity_floor
    if floor is not None and continuity.value < floor:
        return "continuity"
    if config.stop_on_heading_change and left.metadata.heading_path != right.metadata.heading_path:
        level = config.heading_level
        crossing = config.min_lexical_continuity if lexical else config.min_continuity
        if heading_of(left, level) != heading_of(right, level) and continuity.value < crossing:
            return "heading"
    if config.stop_on_page_change and left.metadata.page != right.metadata.page:
        return "page"
    return None


_TABLE_ROW = re.compile(r"^\s*\|.*\|\s*$|^[^\t\n]+(\t[^\t\n]+)+$")
_LIST_ITEM = re.compile(r"^\s*([-*+•‣◦]|\(?\w{1,3}[.)])\s+\S|^\s{2,}\S")
_NUMBERED_STEP = re.compile(r"^\s*(step\s+)?\(?\d{1,3}[.):]\s*\S|^\s*第[\d一二三四五六七八九十百]+步", re.IGNORECASE)
_CODE_LINE = re.compile(r"^( {4}|\t)\s*\S|[{};]\s*$|^\s*(def|class|return|if|else|for|while|import|from|#include)\b.*")
_FENCE = re.compile(r"^\s*(```|~~~)", re.MULTILINE)

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
