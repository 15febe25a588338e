"""Questions: some models embed them otherwise than the passages that answer them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from retrivex.encoders.encoder import Encoder
from retrivex.errors import EncoderError

_PREFIXES = (
    (re.compile(r"(^|[/_-])(multilingual-)?e5-(?!.*(instruct|mistral))", re.IGNORECASE), ("query: ", "passage: ")),
    (re.compile(r"(^|/)nomic-embed-text", re.IGNORECASE), ("search_query: ", "search_document: ")),
    (re.compile(r"(^|/)embeddinggemma", re.IGNORECASE), ("task: search result | query: ", "title: none | text: ")),
)


@runtime_checkable
class QueryEncoder(Encoder, Protocol):
    """An encoder whose model embeds questions otherwise than passages; `encode` is for passages."""

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.floating[Any]]:
        """Return an array of shape (len(texts), d), one row a question."""


class QuestionEncoder:
    """What an encoder makes of questions, as an encoder of its own: a cache of vectors keeps them apart from passages.

    Parameters
    ----------
    encoder : of passages and questions
    """

    def __init__(self, encoder: QueryEncoder) -> None:
        self._encoder = encoder
        self.name = f"{encoder.name}, questions"

    def encode(self, texts: Sequence[str]) -> NDArray[np.floating[Any]]:
        """Return the vectors of questions, shape (len(texts), d)."""
        return self._encoder.encode_queries(texts)


def encode_question(encoder: Encoder, question: str) -> NDArray[np.floating[Any]]:
    """Return the vector of a question, shape (d,): by `encode_queries` where the encoder has it, else by `encode`.

    Raises
    ------
    EncoderError
        If the encoder does not give one row.

    Examples
    --------
    >>> from retrivex.encoders.encoder import HashingEncoder
    >>> encode_question(HashingEncoder(8), "Who lays eggs?").shape
    (8,)
    """
    name, encode = (
        ("encode_queries", encoder.encode_queries) if isinstance(encoder, QueryEncoder) else ("encode", encoder.encode)
    )
    vectors = np.asarray(encode([question]))
    if vectors.ndim != 2 or len(vectors) != 1:
        raise EncoderError(
            f"encoder {encoder.name!r} gave the shape {vectors.shape} for one question: {name}() must return one row a "
            "text, shape (1, d)"
        )
    vector: NDArray[np.floating[Any]] = vectors[0]
    return vector


def encode_beside(encoder: Encoder, question: str, texts: Sequence[str]) -> NDArray[np.floating[Any]]:
    """Return the vectors of a question and of texts, shape (1 + len(texts), d), the question's first."""
    if isinstance(encoder, QueryEncoder):
        return np.vstack([encoder.encode_queries([question]), encoder.encode(texts)])
    return np.asarray(encoder.encode([question, *texts]))


def prefixes_of(model: str) -> tuple[str, str]:
    """Return what a model wants in front of a question and of a passage, by its name; nothing for most models.

    Servers and fastembed put nothing there by themselves. The words are those of the models' cards: E5
    (arXiv:2402.05672), Nomic Embed (arXiv:2402.01613), EmbeddingGemma (arXiv:2509.20354).

    Examples
    --------
    >>> prefixes_of("intfloat/multilingual-e5-small"), prefixes_of("BAAI/bge-m3")
    (('query: ', 'passage: '), ('', ''))
    """
    return next((words for named, words in _PREFIXES if named.search(model)), ("", ""))
