"""Hits -> what a sentence model says of their sentences."""

from __future__ import annotations

from collections.abc import Sequence

from retrivex.composer.call import Call, Steps
from retrivex.expansion.seeds import Seed
from retrivex.model.run import Run
from retrivex.rerank.protocol import ScoredSentence
from retrivex.rerank.sentences import SentenceReply, SentenceRequest

MAX_TEXTS = 50
"""Hits that are read at most, the best: each costs as much as with a reranker."""


def score_sentences(
    call: Call, seeds: Sequence[Seed], runs: Sequence[Run]
) -> Steps[list[list[list[ScoredSentence]]] | None]:
    """Yield the texts of the best hits to a sentence scorer, those of each list with its question if it has one.

    Returns what it says by question and run, or None without it.

    Raises
    ------
    RerankError
        With `strict`, if the scorer failed.
    """
    if not call.with_sentences:
        return None
    if call.scorer.model is None:
        call.log.warn(
            "sentences were not scored: only the calibrated scorer reads them; pass query=... and leave scoring at "
            "'auto'"
        )
        return None
    made = []
    for number, question in enumerate([scorer.question for scorer in call.scorers] or [call.question or ""]):
        own = [seed for seed in seeds if not call.scorers or number in seed.by_list]
        made.append((yield from _score_for(call, question, own[:MAX_TEXTS], runs)))
    return [one or [[] for _ in runs] for one in made] if any(made) else None


def _score_for(
    call: Call, question: str, seeds: Sequence[Seed], runs: Sequence[Run]
) -> Steps[list[list[ScoredSentence]] | None]:
    """Return what the scorer says of the hits of one question; None where it says nothing."""
    best = {seed.key for seed in seeds}
    # as they stand in the runs, so that what is said of a text holds there
    places = [
        (number, low, run.text[low:high])
        for number, run in enumerate(runs)
        for chunk, (low, high) in zip(run.chunks, run.ranges, strict=True)
        if chunk.key in best and run.text[low:high].strip()
    ]
    if not places:
        return None
    reply = yield SentenceRequest(question, tuple(text for _, _, text in places))
    if not isinstance(reply, SentenceReply):
        raise TypeError(f"a SentenceRequest was answered with {type(reply).__name__}")
    if reply.problem is not None and call.config.strict:
        raise reply.problem
    if reply.problem is not None:
        call.log.warn(f"sentences were not scored, and the context is made without: {reply.problem}")
    scored = reply.sentences
    call.log.mark("sentences", len(places), sum(map(len, scored or ())))
    if scored is None:
        return None
    made: list[list[ScoredSentence]] = [[] for _ in runs]
    for (number, low, _), some in zip(places, scored, strict=True):
        made[number] += [ScoredSentence(low + start, low + end, probability) for start, end, probability in some]
    return made
