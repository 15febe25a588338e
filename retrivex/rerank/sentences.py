"""Calls of a sentence scorer, text by text, and checks of its answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from operator import index
from typing import Any

from retrivex.errors import RerankError, quoted
from retrivex.model.numbers import finite
from retrivex.rerank.policy import CallPolicy, finish
from retrivex.rerank.protocol import (
    AnySentenceScorer,
    AsyncSentenceScorer,
    ScoredSentence,
    SentenceScorer,
    SentenceTriples,
)
from retrivex.timeouts import in_own_task, in_thread

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
class SentenceScoring:
    """A sentence scorer with its call policy: concurrency, time limit, retries.

    Whatever a scorer does, `sentences` returns: a failure is a reply with a `problem` and no sentences.

    Parameters
    ----------
    scorer : has `score_sentences(question, text)` or `ascore_sentences`, or is a function of the two, plain or async
    concurrency : texts that it may be asked about at the same time
    timeout_s : seconds that all texts together may take; None waits for ever
    retries : how often a text is tried again after a failure that may pass, as in `Reranking`
    backoff_s : seconds before the first new attempt, as in `Reranking`

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
    concurrency: int = 1
    timeout_s: float | None = 30.0
    retries: int = 2
    backoff_s: float = 0.5

    def __post_init__(self) -> None:
        usable = isinstance(self.scorer, (SentenceScorer, AsyncSentenceScorer)) or callable(self.scorer)
        if not usable or isinstance(self.scorer, type):
            raise RerankError(
                f"sentence_scorer is {quoted(self.scorer)}: it must be an object with score_sentences(question, text), "
                "or a function of the two"
            )
        self._policy.check()

    @classmethod
    def of(cls, scorer: AnySentenceScorer | SentenceScoring) -> SentenceScoring:
        """Return `scorer` if it says how it is asked already, else with the defaults."""
        return scorer if isinstance(scorer, SentenceScoring) else cls(scorer)

    def sentences(self, question: str, texts: Sequence[str]) -> SentenceReply:
        """Score the sentences of texts; works inside a running event loop too, which it blocks."""
        try:
            return SentenceReply(tuple(self._policy.run(self._calls(question, texts, self._ask))))
        except RerankError as error:
            return SentenceReply(problem=error)

    async def asentences(self, question: str, texts: Sequence[str]) -> SentenceReply:
        """Score the sentences of texts without blocking the event loop; cancelling it leaves no text to be begun."""
        try:
            return SentenceReply(tuple(await self._policy.arun(self._calls(question, texts, self._aask))))
        except RerankError as error:
            return SentenceReply(problem=error)

    def run(self, request: SentenceRequest) -> SentenceReply:
        """Answer a request of the pipeline."""
        return self.sentences(request.question, request.texts)

    async def arun(self, request: SentenceRequest) -> SentenceReply:
        """Answer a request of the pipeline without blocking the event loop."""
        return await self.asentences(request.question, request.texts)

    @property
    def _policy(self) -> CallPolicy:
        return CallPolicy("sentence scorer", self.concurrency, self.timeout_s, self.retries, self.backoff_s)

    def _calls(
        self, question: str, texts: Sequence[str], ask: Callable[[str, str], Awaitable[SentenceTriples]]
    ) -> list[Callable[[], Awaitable[tuple[ScoredSentence, ...]]]]:
        async def one(text: str) -> tuple[ScoredSentence, ...]:
            return check_sentences(await ask(question, text), len(text))

        return [partial(one, text) for text in texts]

    async def _ask(self, question: str, text: str) -> SentenceTriples:
        return await in_thread(partial(self._answer, question, text))

    async def _aask(self, question: str, text: str) -> SentenceTriples:
        if isinstance(self.scorer, AsyncSentenceScorer):
            return await in_own_task(partial(self.scorer.ascore_sentences, question, text))
        if iscoroutinefunction(self.scorer):
            return await in_own_task(partial(self.scorer, question, text))
        return await self._ask(question, text)

    def _answer(self, question: str, text: str) -> SentenceTriples:
        """Ask in a thread that no event loop runs in."""
        scorer = self.scorer
        made: SentenceTriples | Awaitable[SentenceTriples]
        if isinstance(scorer, SentenceScorer):
            made = scorer.score_sentences(question, text)
        elif isinstance(scorer, AsyncSentenceScorer):
            made = scorer.ascore_sentences(question, text)
        else:
            made = scorer(question, text)
        return finish(made) if isawaitable(made) else made


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
