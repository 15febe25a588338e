"""Incremental token counts: the tokens of a joined text from the counts of its parts.

A byte-pair tokenizer of the GPT family first cuts a text into words with a regular expression and never merges
across a cut. In "...letter, space, letter..." it always cuts before the space, whatever stands around it. So the
count of a joined text differs from the sum of its parts only through what lies between the last such place before a
join and the first one behind it: a handful of characters, counted here as they stand and as they come to stand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from retrivex.text.cache import TextCache
from retrivex.tokens.cache import TokenCache

REACH = 256
"""Characters on each side of a join in which a safe cut is looked for; without one the whole text is counted."""

_JOINT_CHARS = 4_000_000  # characters around joins whose tokens are remembered; a join has a few dozen

_CUT = re.compile(r"[a-zA-Z](?= [a-zA-Z])")


class _Edges(NamedTuple):
    """The text before the first and after the last safe cut of a part, with their token counts."""

    head: str
    head_count: int
    tail: str
    tail_count: int


_NO_CUTS = _Edges("", 0, "", 0)
"""Edges of a part without two safe cuts: it has to be counted with what stands around it."""


class JoinCounter:
    """Counts the tokens of joined texts; caches the edges of parts and the counts across joins.

    Parameters
    ----------
    cache : counts the parts, and knows whether its tokenizer cuts words as described above
    max_entries : most parts whose edges are kept
    """

    def __init__(self, cache: TokenCache, max_entries: int = 50_000) -> None:
        self.cache = cache
        self.max_entries = max_entries
        self.local = bool(getattr(cache.tokenizer, "cuts_before_spaces", False))
        self._joints = TokenCache(cache.tokenizer, max_chars=_JOINT_CHARS)
        self._edges = TextCache[str, _Edges](max_entries)

    def count(self, text: str, ends: Sequence[tuple[str, str]], glue: Sequence[str], counts: Sequence[int]) -> int:
        """Return the tokens of `text`, which is `glue[0] + part[0] + glue[1] + ... + part[n - 1] + glue[n]`.

        Parameters
        ----------
        text : the whole
        ends : per part, a text that begins as it does and one that ends as it does: itself, or the first and the last
            of the texts that it is made of, whose edges are known from other queries
        glue : n + 1 short texts around the parts
        counts : tokens of each part by itself
        """
        if ends and not self.local:
            return self.cache.tokenizer.count(text)
        total, tail = sum(counts), ""
        joints: list[str] = []
        for between, (first, last) in zip(glue, ends, strict=False):  # behind the last part comes one glue more
            begins = self._edges.get(first) or self._edges_of(first)
            closes = begins if last is first else self._edges.get(last) or self._edges_of(last)
            if begins is _NO_CUTS or closes is _NO_CUTS:
                return self.cache.tokenizer.count(text)
            joints.append(tail + between + begins.head)
            tail = closes.tail
            total -= begins.head_count + closes.tail_count
        if tail or glue[-1]:
            joints.append(tail + glue[-1])
        return total + sum(self._joints.count_many(joints))

    def _edges_of(self, part: str) -> _Edges:
        """Head up to the first safe cut and tail from the last one, each with its tokens."""
        first = _CUT.search(part, 0, REACH)
        last = max((match.end() for match in _CUT.finditer(part, max(0, len(part) - REACH))), default=-1)
        edges = _NO_CUTS
        if first is not None and last >= first.end():
            head, tail = part[: first.end()], part[last:]
            edges = _Edges(head, self.cache.tokenizer.count(head), tail, self.cache.tokenizer.count(tail))
        self._edges.put([part], [edges])
        return edges
