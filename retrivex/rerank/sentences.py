"""Calls of a sentence scorer, text by text, and checks of its answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import index
from typing import Any

from retrivex.errors import RerankError, quoted
from retrivex.model.numbers import finite
from retrivex.rerank.policy import CallPolicy, ask, method_of
from retrivex.rerank.protocol import AnySentenceScorer, AsyncSentenceScorer, ScoredSentence, SentenceScorer

_SLACK = 1e-6  # float32 probabilities may lie a little above 1


@dataclass(frozen=True, slots=True)
class SentenceRequest:
    """Texts whose sentences are to be scored for a question."""

    question: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SentenceReply:
    """The answer of a sentence scorer.

    Parameters
    ----------
    sentences : of each text; None where it failed
    problem : why there are none
    """

    sentences: tuple[tuple[ScoredSentence, ...], ...] | None = None
    problem: RerankError | None = None


@dataclass(frozen=True)
class SentenceScoring(CallPolicy):
    """A sentence scorer with its call policy: concurrency, time limit, retries.

    Whatever a scorer does, `sentences` returns: a failure is a reply with a `problem` and no sentences.

    Parameters
    ----------
    scorer : has `score_sentences(question, text)` or `ascore_sentences`, or is a function of the two, plain or async
    concurrency, timeout_s, retries, backoff_s : of the texts, see `CallPolicy`

    Raises
    ------
    RerankError
        If an argument breaks its rule.

    Examples
    --------
    >>> def mentions(question, text):
    ...     return [(0, len(text), 0.9 if question in text else 0.1)]
    >>> SentenceScoring(mentions).sentences("queen", ["a hive", "a queen bee"]).sentences[1]
    (ScoredSentence(start=0, end=11, probability=0.9),)
    >>> print(SentenceScoring(lambda question, text: [(0, 99, 0.5)]).sentences("queen", ["a hive"]).problem)
    a sentence scorer gave (0, 99, 0.5) for a text of 6 characters: each is (start, end, probability), with \
    0 <= start < end <= 6 in characters and a probability from 0 to 1
    """

    scorer: AnySentenceScorer
    _kind = "sentence scorer"

    def __post_init__(self) -> None:
        usable = isinstance(self.scorer, (SentenceScorer, AsyncSentenceScorer)) or callable(self.scorer)
        if not usable or isinstance(self.scorer, type):
            what = "it must be an object with score_sentences(question, text), or a function"
            raise RerankError(f"sentence_scorer is {quoted(self.scorer)}: {what}")
        super().__post_init__()

    @classmethod
    def of(cls, scorer: AnySentenceScorer | SentenceScoring) -> SentenceScoring:
        """Return `scorer` if it says how it is asked already, else with the defaults."""
        return scorer if isinstance(scorer, SentenceScoring) else cls(scorer)

    def sentences(self, question: str, texts: Sequence[str]) -> SentenceReply:
        """Score the sentences of texts; works inside a running event loop too, which it blocks."""
        try:
            return SentenceReply(tuple(self._run(self._calls(question, texts, awaits=False))))
        except RerankError as error:
            return SentenceReply(problem=error)

    async def asentences(self, question: str, texts: Sequence[str]) -> SentenceReply:
        """Score the sentences of texts without blocking the event loop; cancelling it leaves no text to be begun."""
        try:
            return SentenceReply(tuple(await self._arun(self._calls(question, texts, awaits=True))))
        except RerankError as error:
            return SentenceReply(problem=error)

    def run(self, request: SentenceRequest) -> SentenceReply:
        """Answer a request of the pipeline."""
        return self.sentences(request.question, request.texts)

    async def arun(self, request: SentenceRequest) -> SentenceReply:
        """Answer a request of the pipeline without blocking the event loop."""
        return await self.asentences(request.question, request.texts)

    def _calls(
        self, question: str, texts: Sequence[str], *, awaits: bool
    ) -> list[Callable[[], Awaitable[tuple[ScoredSentence, ...]]]]:
        call = method_of(self.scorer, "score_sentences", awaits=awaits)

        async def one(text: str) -> tuple[ScoredSentence, ...]:
            return check_sentences(await ask(call, question, text, awaits=awaits), len(text))

        return [partial(one, text) for text in texts]


def check_sentences(made: Any, length: int) -> tuple[ScoredSentence, ...]:
    """Return the sentences that a scorer gave for a text of some length.

    Raises
    ------
    RerankError
        If one is no (start, end, probability) inside the text.
    """
    if not isinstance(made, Iterable) or isinstance(made, str):
        raise RerankError(f"a sentence scorer gave {quoted(made)}: it must give a list of (start, end, probability)")
    return tuple(_check_sentence(one, length) for one in made)


def _check_sentence(one: Any, length: int) -> ScoredSentence:
    try:
        start, end, given = one
        low, high, probability = index(start), index(end), finite(given)
    except (TypeError, ValueError):
        low, high, probability = 0, 0, None
    if probability is None or not 0 <= low < high <= length or not -_SLACK <= probability <= 1 + _SLACK:
        raise RerankError(
            f"a sentence scorer gave {quoted(one)} for a text of {length} characters: each is (start, end, "
            f"probability), with 0 <= start < end <= {length} in characters and a probability from 0 to 1"
        )
    return ScoredSentence(low, high, min(1.0, max(0.0, probability)))
