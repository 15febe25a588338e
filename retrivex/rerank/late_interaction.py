"""Reranking by late interaction, as in ColBERT, with a sentence-transformers multi-vector encoder (extra `models`)."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from retrivex.errors import RerankError, install_hint
from retrivex.rerank.local import LocalModel, load_model
from retrivex.tokens.tokenizer import without_surrogates

try:
    from sentence_transformers import MultiVectorEncoder
except ImportError as error:
    hint = f"pip install 'sentence-transformers>=6.0', and {install_hint('models')}"
    raise ImportError(f"reranking by late interaction needs sentence-transformers 6: {hint}") from error


class LateInteractionReranker(LocalModel):
    r"""Scores by MaxSim: one vector per token, each token of the question matched with its best token of the text.

    .. math:: s(q, t) = \sum_{i \in q} \max_{j \in t} v_i \cdot w_j

    (MaxSim: Khattab and Zaharia, "ColBERT", 2020, arXiv:2004.12832); by a model that says so, divided by the number of
    the question's tokens. May be used from several threads, one of which computes at a time.

    Parameters
    ----------
    model : folder of a model (sentence-transformers, PyLate or Stanford ColBERT), its name on the Hugging Face hub, or
        a `MultiVectorEncoder`
    batch_size : texts encoded together; more is faster and takes more memory
    device : `cpu`, `cuda`, ...; None leaves the choice to sentence-transformers

    Raises
    ------
    RerankError
        If there is no such model, it cannot be loaded, or it was not made for late interaction, so that
        sentence-transformers would put random numbers between its token vectors and the scores.
    """

    def __init__(
        self, model: str | PathLike[str] | MultiVectorEncoder, *, batch_size: int = 32, device: str | None = None
    ) -> None:
        super().__init__(model if isinstance(model, MultiVectorEncoder) else _load(model, device), batch_size)

    @property
    def max_tokens(self) -> int | None:
        """Most tokens of a text that the model reads; None without a limit."""
        return self._limit(getattr(self._model[0], "document_length", None), self._model.max_seq_length)

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return one MaxSim a text, shape (len(texts),)."""
        if not texts:
            return np.zeros(0)
        with self._lock:
            asked = self._model.encode_query([without_surrogates(query)], show_progress_bar=False)
            read = self._model.encode_document(
                [without_surrogates(text) for text in texts], batch_size=self._batch_size, show_progress_bar=False
            )
            made = self._model.similarity(asked, read)
        return np.asarray(made.cpu().numpy()[0], dtype=np.float64)

    def too_long(self, query: str, texts: Sequence[str]) -> list[int]:
        """Return the places of texts with more tokens than `max_tokens`; the question takes no room of theirs."""
        prompt = self._model.prompts.get("document", "")
        return self._longer(self.max_tokens, [prompt + without_surrogates(text) for text in texts])


def _load(name_or_path: str | PathLike[str], device: str | None) -> MultiVectorEncoder:
    model = load_model(MultiVectorEncoder, name_or_path, device)
    if any(_is_fresh(module) for module in model):
        raise RerankError(
            f"model {str(name_or_path)!r} was not made for late interaction: sentence-transformers gave it a random "
            "projection. Take a ColBERT model, or give MultiVectorEncoder(modules=[...]) without one"
        )
    return model


def _is_fresh(module: object) -> bool:
    """Whether a projection has never been trained: torch draws its weights below 1 / sqrt(n); training leaves that."""
    linear = getattr(module, "linear", None)
    return linear is not None and float(linear.weight.detach().abs().max()) <= linear.in_features**-0.5
