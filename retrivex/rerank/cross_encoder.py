"""Reranking with a sentence-transformers cross-encoder (extra `models`)."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from retrivex.errors import RerankError, install_hint
from retrivex.rerank.local import LocalModel, load_model
from retrivex.tokens.tokenizer import without_surrogates

try:
    from sentence_transformers import CrossEncoder
except ImportError as error:
    raise ImportError(
        f"reranking with a cross-encoder needs sentence-transformers: {install_hint('models')}"
    ) from error

_HEAD = "ForSequenceClassification"


class CrossEncoderReranker(LocalModel):
    """Scores each pair of question and text with a cross-encoder.

    May be used from several threads, one of which computes at a time.

    Parameters
    ----------
    model : folder of a model, its name on the Hugging Face hub, or a `CrossEncoder`
    batch_size : pairs computed together; more is faster and takes more memory
    device : `cpu`, `cuda`, ...; None leaves the choice to sentence-transformers

    Raises
    ------
    RerankError
        If there is no such model, it cannot be loaded, its head for scores is not trained, or it gives a pair more than
        one number.
    """

    def __init__(
        self, model: str | PathLike[str] | CrossEncoder, *, batch_size: int = 32, device: str | None = None
    ) -> None:
        super().__init__(model if isinstance(model, CrossEncoder) else _load(model, device), batch_size)
        labels = self._model.config.num_labels
        if labels != 1:
            raise RerankError(
                f"the cross-encoder gives a pair {labels} numbers: a reranker gives one; take a model for ranking, not "
                "one for classes"
            )

    @property
    def max_tokens(self) -> int | None:
        """Most tokens of question and text together that the model reads; None without a limit."""
        own = getattr(self._model, "max_seq_length", None) or getattr(self._model, "max_length", None)
        return self._limit(own)

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return one number a text, shape (len(texts),), by the model's own activation: any range, larger is better."""
        if not texts:
            return np.zeros(0)
        with self._lock:
            made = self._model.predict(
                self._pairs(query, texts), batch_size=self._batch_size, convert_to_numpy=True, show_progress_bar=False
            )
        return np.asarray(made, dtype=np.float64)

    def too_long(self, query: str, texts: Sequence[str]) -> list[int]:
        """Return the places of texts whose pair with the question has more tokens than `max_tokens`."""
        pairs = self._pairs(query, texts)
        return self._longer(self.max_tokens, [asked for asked, _ in pairs], [text for _, text in pairs])

    @staticmethod
    def _pairs(query: str, texts: Sequence[str]) -> list[tuple[str, str]]:
        asked = without_surrogates(query)
        return [(asked, without_surrogates(text)) for text in texts]


def _load(name_or_path: str | PathLike[str], device: str | None) -> CrossEncoder:
    model = load_model(CrossEncoder, name_or_path, device)
    _check_head(model, str(name_or_path))
    return model


def _check_head(model: CrossEncoder, name: str) -> None:
    """Refuse a model that was saved without the head that makes scores: transformers adds one of random weights."""
    saved = getattr(model.config, "architectures", None) or []
    made_here = type(model.model).__name__
    if saved and made_here.endswith(_HEAD) and not any(kind.endswith(_HEAD) for kind in saved):
        raise RerankError(
            f"model {name!r} was saved as {saved[0]}, without a trained head for scores: it would score at random. "
            "Take a cross-encoder that was trained for ranking, such as cross-encoder/ms-marco-MiniLM-L6-v2"
        )
