"""Token counts of many texts from a few: what is not shown needs no more than a fair estimate."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import numpy as np
from numpy.typing import NDArray

from retrivex.tokens.stored import TextCounts

SAMPLE = 8
"""Texts that are counted."""


def sampled_counts(texts: Sequence[str], known: Sequence[str], counts: TextCounts) -> NDArray[np.int64]:
    """Estimate the tokens of texts, shape (n,): the first of `known` are counted, others have as many for a byte.

    Examples
    --------
    >>> from retrivex.tokens.cache import TokenCache
    >>> from retrivex.tokens.tokenizer import CallableTokenizer
    >>> words = TokenCache(CallableTokenizer(lambda text: len(text.split()), name="words"))
    >>> sampled_counts(["one two three", "six"], ["four five"], words).tolist()
    [3, 1]
    """
    sample = known[:SAMPLE]
    counted = dict(zip(sample, counts.count_many(sample), strict=True))
    rate = sum(counted.values()) / max(1, sum(map(_size, counted)))
    return np.array([counted[text] if text in counted else ceil(rate * _size(text)) for text in texts], dtype=np.int64)


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
