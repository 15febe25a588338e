"""The protocols of rerankers and sentence scorers: anything that scores texts, or their sentences, for a question."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Scores: TypeAlias = NDArray[np.floating[Any]] | Sequence[float]
"""One finite number a text, in the order of the texts; larger is better."""

ScoreScale: TypeAlias = Literal["unbounded", "cosine", "unit"]
"""Range of a reranker's scores: anything (logits, MaxSim), -1 to 1, or 0 to 1."""


@runtime_checkable
class Reranker(Protocol):
    """Scores texts for a question.

    Two more methods are used where a reranker has them: `ascore`, the same as `score` for event loops, and `too_long`,
    see `ReadsSoMuch`. One that sets `needs_all_texts = True` gets all texts in one call: its scores are places.
    """

    def score(self, query: str, texts: Sequence[str]) -> Scores:
        """Return one score a text, shape (len(texts),), larger for a better text."""


@runtime_checkable
class AsyncReranker(Protocol):
    """A reranker that can be awaited."""

    async def ascore(self, query: str, texts: Sequence[str]) -> Scores:
        """Return what `score` returns."""


@runtime_checkable
class ReadsSoMuch(Protocol):
    """A reranker that reports which texts exceed its maximum length."""

    def too_long(self, query: str, texts: Sequence[str]) -> Sequence[int]:
        """Return the places in `texts` of those that would be cut off."""


RerankFunction: TypeAlias = Callable[[str, Sequence[str]], Scores | Awaitable[Scores]]
"""`rerank(query, texts)`: a plain or an async function may stand for a reranker."""

AnyReranker: TypeAlias = Reranker | AsyncReranker | RerankFunction
"""What a composer takes as `reranker`."""


class ScoredSentence(NamedTuple):
    """A sentence of a text.

    Parameters
    ----------
    start, end : characters (Unicode code points) of the text, end exclusive
    probability : that it helps to answer the question, in [0, 1]
    """

    start: int
    end: int
    probability: float


SentenceTriples: TypeAlias = Sequence[tuple[int, int, float]]
"""(start, end, probability) of sentences, as in `ScoredSentence`; in any order, not all have to be there."""


@runtime_checkable
class SentenceScorer(Protocol):
    """Says of each sentence of a text how probable it is that it helps to answer a question."""

    def score_sentences(self, question: str, text: str) -> SentenceTriples:
        """Return (start, end, probability) of the sentences."""


@runtime_checkable
class AsyncSentenceScorer(Protocol):
    """A sentence scorer that can be awaited."""

    async def ascore_sentences(self, question: str, text: str) -> SentenceTriples:
        """Return what `score_sentences` returns."""


SentenceFunction: TypeAlias = Callable[[str, str], SentenceTriples | Awaitable[SentenceTriples]]
"""`score(question, text)`: a plain or an async function may stand for a sentence scorer."""

AnySentenceScorer: TypeAlias = SentenceScorer | AsyncSentenceScorer | SentenceFunction
"""What a composer takes as `sentence_scorer`."""
