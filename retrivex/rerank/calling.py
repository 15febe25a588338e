"""Calls of a reranker: its batches, and checks of its answer."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from retrivex.errors import RerankError, quoted
from retrivex.rerank.policy import CallPolicy, ask, check_count, method_of
from retrivex.rerank.protocol import AnyReranker, AsyncReranker, ReadsSoMuch, Reranker, Scores, ScoreScale

_LIMITS: dict[str, tuple[float, float]] = {
    "unbounded": (-math.inf, math.inf),
    "cosine": (-1.0, 1.0),
    "unit": (0.0, 1.0),
}
_SLACK = 1e-6  # float32 cosines of equal vectors come out as 1.0000001

Answer: TypeAlias = tuple[Scores, Sequence[int]]
"""Scores of a batch, and the places of texts in it that were cut off."""


@dataclass(frozen=True, slots=True)
class RerankRequest:
    """Texts that are to be scored for a question."""

    query: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RerankReply:
    """The answer of a reranker.

    Parameters
    ----------
    scores : shape (n,), finite; None where it failed
    cut : places of the texts that it did not read to their end
    problem : why there are no scores
    """

    scores: NDArray[np.float64] | None = None
    cut: tuple[int, ...] = ()
    problem: RerankError | None = None


@dataclass(frozen=True)
class Reranking(CallPolicy):
    """A reranker with its call policy: batches, concurrency, time limit, retries.

    Whatever a reranker does, `scores` returns: a failure is a reply with a `problem` and no scores.

    Parameters
    ----------
    reranker : has `score(query, texts)` or `ascore`, or is a function of the two, plain or async
    batch_size : texts given to it at once; all of them where the reranker has `needs_all_texts = True`
    concurrency, timeout_s, retries, backoff_s : of the batches, see `CallPolicy`
    score_scale : range of its scores, as with hits: `unbounded`, `cosine` or `unit`; a score outside is an error

    Raises
    ------
    RerankError
        If an argument breaks its rule.

    Examples
    --------
    >>> def shared_words(query, texts):
    ...     return [len(set(query.lower().split()) & set(text.lower().split())) for text in texts]
    >>> Reranking(shared_words, batch_size=2).scores("a queen", ["a hive", "a queen bee", "honey"]).scores.tolist()
    [1.0, 2.0, 0.0]
    >>> print(Reranking(lambda query, texts: [0.5]).scores("a queen", ["a hive", "honey"]).problem)
    a reranker gave scores of shape (1,) for 2 texts: it must give one number a text, in the order of the texts
    """

    reranker: AnyReranker
    batch_size: int = 32
    score_scale: ScoreScale = "unbounded"
    _kind = "reranker"

    def __post_init__(self) -> None:
        usable = isinstance(self.reranker, (Reranker, AsyncReranker)) or callable(self.reranker)
        if not usable or isinstance(self.reranker, type):
            raise RerankError(f"reranker is {quoted(self.reranker)}: it must be an object with score, or a function")
        check_count("batch_size", self.batch_size, least=1)
        super().__post_init__()
        if not isinstance(self.score_scale, str) or self.score_scale not in _LIMITS:
            raise RerankError(f"score_scale is {quoted(self.score_scale)}: choose one of {', '.join(_LIMITS)}")

    @classmethod
    def of(cls, reranker: AnyReranker | Reranking) -> Reranking:
        """Return `reranker` if it says how it is asked already, else with the defaults."""
        return reranker if isinstance(reranker, Reranking) else cls(reranker)

    def scores(self, query: str, texts: Sequence[str]) -> RerankReply:
        """Score texts; works inside a running event loop too, which it blocks."""
        try:
            return self._reply(self._run(self._calls(query, texts, awaits=False)))
        except RerankError as error:
            return RerankReply(problem=error)

    async def ascores(self, query: str, texts: Sequence[str]) -> RerankReply:
        """Score texts without blocking the event loop; cancelling it leaves no batch to be started."""
        try:
            return self._reply(await self._arun(self._calls(query, texts, awaits=True)))
        except RerankError as error:
            return RerankReply(problem=error)

    def run(self, request: RerankRequest) -> RerankReply:
        """Answer a request of the pipeline."""
        return self.scores(request.query, request.texts)

    async def arun(self, request: RerankRequest) -> RerankReply:
        """Answer a request of the pipeline without blocking the event loop."""
        return await self.ascores(request.query, request.texts)

    def _calls(self, query: str, texts: Sequence[str], *, awaits: bool) -> list[Callable[[], Awaitable[Answer]]]:
        """Return a call for each batch."""
        call = method_of(self.reranker, "score", awaits=awaits)

        async def one(batch: Sequence[str]) -> Answer:
            made = await ask(call, query, batch, awaits=awaits)
            cut: Sequence[int] = ()
            if isinstance(self.reranker, ReadsSoMuch):
                cut = await ask(self.reranker.too_long, query, batch, awaits=False)
            return self._check(made, cut, len(batch))

        # places of an order cannot be compared with those of another batch
        size = max(len(texts), 1) if getattr(self.reranker, "needs_all_texts", False) is True else self.batch_size
        return [partial(one, texts[start : start + size]) for start in range(0, len(texts), size)]

    def _reply(self, answers: Sequence[Answer]) -> RerankReply:
        scores = [np.asarray(scores, dtype=np.float64) for scores, _ in answers]
        cut = [number * self.batch_size + at for number, (_, places) in enumerate(answers) for at in places]
        return RerankReply(np.concatenate(scores) if scores else np.zeros(0), tuple(cut))

    def _check(self, made: Any, cut: Sequence[int], count: int) -> Answer:
        try:
            given = np.asarray(made)
            scores = given.astype(np.float64) if given.dtype.kind in "fiub" else None
        except (TypeError, ValueError):
            scores = None
        if scores is None:
            raise RerankError(f"a reranker gave {quoted(made)}: it must give one number a text")
        if scores.shape != (count,):
            raise RerankError(
                f"a reranker gave scores of shape {scores.shape} for {count} texts: it must give one number a text, in "
                "the order of the texts"
            )
        low, high = _LIMITS[self.score_scale]
        good = np.isfinite(scores) & (scores >= low - _SLACK) & (scores <= high + _SLACK)
        if not good.all():
            raise RerankError(
                f"a reranker gave the score {scores[~good][0]:g}: it must be finite and in its score_scale, "
                f"{self.score_scale!r}; leave that at 'unbounded' for logits and sums"
            )
        if any(at not in range(count) for at in cut):
            raise RerankError(f"too_long of a reranker gave {quoted(cut)}: it must give places from 0 to {count - 1}")
        return scores, cut
