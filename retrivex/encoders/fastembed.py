"""Encoding with fastembed: ONNX models without torch (extra `fastembed`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from retrivex.encoders.queries import prefixes_of
from retrivex.errors import EncoderError, describe_cause, install_hint
from retrivex.tokens.tokenizer import without_surrogates

try:
    from fastembed import TextEmbedding
    from fastembed.common.utils import define_cache_dir
    from huggingface_hub import try_to_load_from_cache
except ImportError as error:
    raise ImportError(f"encoding with fastembed needs its package: {install_hint('fastembed')}") from error


class FastEmbedEncoder:
    """Encodes with a model that fastembed lists, e.g. `BAAI/bge-small-en-v1.5`; questions as the model wants them.

    Parameters
    ----------
    model : as `fastembed.TextEmbedding.list_supported_models()` names it
    batch_size : texts encoded together; more is faster and takes more memory

    Raises
    ------
    EncoderError
        If fastembed has no such model, or cannot load it.
    """

    def __init__(self, model: str, *, batch_size: int = 32) -> None:
        if batch_size < 1:
            raise EncoderError(f"batch_size={batch_size}: a batch holds at least 1 text; 32 is usual")
        self._batch_size = batch_size
        try:
            self._model = TextEmbedding(model)
        except Exception as error:
            raise EncoderError(
                f"model {model!r}: fastembed cannot load it ({describe_cause(error)}). Give a name of its list, "
                "TextEmbedding.list_supported_models(); without a network, a model downloaded before"
            ) from error
        self._query_prefix, self._passage_prefix = prefixes_of(model)
        self.name = f"fastembed:{model}"

    def __repr__(self) -> str:
        return f"FastEmbedEncoder({self.name.removeprefix('fastembed:')!r})"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of passages, shape (len(texts), d)."""
        return self._rows(self._model.passage_embed, self._passage_prefix, texts)

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of questions, shape (len(texts), d)."""
        return self._rows(self._model.query_embed, self._query_prefix, texts)

    def _rows(
        self, embed: Callable[..., Iterable[NDArray[np.float32]]], prefix: str, texts: Sequence[str]
    ) -> NDArray[np.float32]:
        read = [prefix + without_surrogates(text) for text in texts] or [""]  # for none it would not give the dimension
        return np.stack([*embed(read, batch_size=self._batch_size)]).astype(np.float32)[: len(texts)]


def is_downloaded(model: str) -> bool:
    """Whether a model lies in fastembed's cache, so that it can be loaded without a network."""
    listed = (each for each in TextEmbedding.list_supported_models() if each["model"].lower() == model.lower())
    sources = [(each["sources"]["hf"], each["model_file"]) for each in listed if each["sources"]["hf"]]
    found = [try_to_load_from_cache(hub, file, cache_dir=define_cache_dir()) for hub, file in sources]
    return any(isinstance(path, str) for path in found)
