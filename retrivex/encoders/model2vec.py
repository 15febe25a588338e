"""Encoding with static embeddings of model2vec: fast on any processor (extra `model2vec`)."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from retrivex.encoders.model_name import name_of_model
from retrivex.errors import EncoderError, describe_cause, install_hint
from retrivex.tokens.tokenizer import without_surrogates

try:
    from model2vec import StaticModel
except ImportError as error:
    raise ImportError(f"encoding with model2vec needs its package: {install_hint('model2vec')}") from error


class Model2VecEncoder:
    """Encodes with a static model: the mean of its tokens' vectors.

    Parameters
    ----------
    name_or_path : folder of a model, or its name on the Hugging Face hub, e.g. `minishlab/potion-retrieval-32M`

    Raises
    ------
    EncoderError
        If there is no such model, or it cannot be loaded.
    """

    def __init__(self, name_or_path: str | PathLike[str]) -> None:
        try:
            self._model = StaticModel.from_pretrained(str(name_or_path))
        except Exception as error:
            raise EncoderError(
                f"model {str(name_or_path)!r}: model2vec cannot load it ({describe_cause(error)}). Give the folder of "
                "a model or a name on the Hugging Face hub; without a network, a model downloaded before"
            ) from error
        self.name = f"model2vec:{name_of_model(name_or_path)}"

    def __repr__(self) -> str:
        return f"Model2VecEncoder({self.name.removeprefix('model2vec:')!r})"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array of shape (len(texts), d), rows as the model gives them; whole texts are read."""
        encoded = self._model.encode(
            [without_surrogates(text) for text in texts] or [""],  # for none it would not give the dimension
            max_length=None,
            use_multiprocessing=False,
        )
        return np.asarray(encoded, dtype=np.float32)[: len(texts)]
