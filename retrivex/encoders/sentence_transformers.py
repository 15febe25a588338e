"""Encoding with a sentence-transformers model (extra `models`)."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from retrivex.encoders.model_name import name_of_model
from retrivex.errors import EncoderError, describe_cause, install_hint
from retrivex.tokens.tokenizer import without_surrogates

try:
    from sentence_transformers import SentenceTransformer
except ImportError as error:
    raise ImportError(f"encoding with a model needs sentence-transformers: {install_hint('models')}") from error


class SentenceTransformerEncoder:
    """Encodes with a sentence-transformers model.

    Parameters
    ----------
    name_or_path : folder of a model, or its name on the Hugging Face hub
    batch_size : texts encoded together; more is faster and takes more memory
    device : `cpu`, `cuda`, ...; None leaves the choice to sentence-transformers

    Raises
    ------
    EncoderError
        If there is no such model, or it cannot be loaded.
    """

    def __init__(self, name_or_path: str | PathLike[str], *, batch_size: int = 32, device: str | None = None) -> None:
        if batch_size < 1:
            raise EncoderError(f"batch_size={batch_size}: a batch holds at least 1 text; 32 is usual")
        self._batch_size = batch_size
        try:
            self._model = SentenceTransformer(str(name_or_path), device=device)
        except (OSError, ValueError, RuntimeError, KeyError) as error:
            raise EncoderError(
                f"model {str(name_or_path)!r}: sentence-transformers cannot load it ("
                f"{describe_cause(error)}). Give the folder of a "
                "model or a name on the Hugging Face hub; without a network, a model downloaded before"
            ) from error
        self.name = name_of_model(name_or_path)

    def __repr__(self) -> str:
        return f"SentenceTransformerEncoder({self.name!r})"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array of shape (len(texts), d), rows as the model gives them."""
        encoded = self._model.encode(
            [without_surrogates(text) for text in texts] or [""],  # for none it would not tell the dimension
            batch_size=self._batch_size,
            convert_to_numpy=True,
            show_progress_bar=False,
        )
        return np.asarray(encoded, dtype=np.float32)[: len(texts)]
