"""What rerankers share that compute with a model of sentence-transformers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, TypeVar

from retrivex.errors import RerankError, describe_cause

T = TypeVar("T")

_UNLIMITED = 1_000_000  # tokenizers without a limit say they read a thousand billion billion tokens


class LocalModel:
    """A model that one thread at a time computes with: tokenizers keep their truncation where all threads share it.

    Parameters
    ----------
    model : of sentence-transformers, with a `tokenizer`
    batch_size : texts computed together

    Raises
    ------
    RerankError
        If the batch size is below 1.
    """

    def __init__(self, model: Any, batch_size: int) -> None:
        if batch_size < 1:
            raise RerankError(f"batch_size={batch_size}: a batch holds at least 1 text; 32 is usual")
        self._model = model
        self._batch_size = batch_size
        self._lock = threading.Lock()

    def _limit(self, *own: int | None) -> int | None:
        """Return the least of the model's limits, in tokens; None without one."""
        limit = min(int(one) for one in (*own, self._model.tokenizer.model_max_length) if one is not None)
        return None if limit >= _UNLIMITED else limit

    def _longer(self, limit: int | None, *columns: list[str]) -> list[int]:
        """Return the places of texts, or of rows of several columns, that have more tokens than a limit."""
        if limit is None or not columns[0]:
            return []
        with self._lock:
            encoded: Sequence[Sequence[int]] = self._model.tokenizer(*columns, truncation=False, verbose=False)[
                "input_ids"
            ]
        return [at for at, tokens in enumerate(encoded) if len(tokens) > limit]


def load_model(kind: Callable[..., T], name: str | PathLike[str], device: str | None) -> T:
    """Load a model of some kind.

    Raises
    ------
    RerankError
        If there is none, or it cannot be loaded.
    """
    try:
        return kind(str(name), device=device)
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        raise RerankError(
            f"model {str(name)!r}: sentence-transformers cannot load it as a {getattr(kind, '__name__', kind)} ("
            f"{describe_cause(error)}). Give the folder of a model or a name on the Hugging Face hub; without a "
            "network, a model downloaded before"
        ) from error
