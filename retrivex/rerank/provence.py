"""Sentence scores of models of the Provence kind, which prune a context for a question.

Such a model has `process(question, context)`, which drops the sentences that do not help (Chirkova et al., 2025,
https://arxiv.org/abs/2501.16214): `naver/provence-reranker-debertav3-v1`, `naver/xprovence-reranker-bgem3-v2`,
`hotchpotch/open-provence-reranker-v1`. No such model is part of this package, and none is loaded by it.
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from retrivex.errors import RerankError, quoted
from retrivex.rerank.protocol import ScoredSentence
from retrivex.text.sentences import sentence_ranges
from retrivex.tokens.tokenizer import without_surrogates

_WORD = re.compile(r"[A-Za-z0-9]+|\S")  # other scripts character by character: some have no spaces


class PruningModel(Protocol):
    """A model that prunes a context for a question."""

    def process(self, question: str, context: str, **options: Any) -> Mapping[str, Any]:
        """Return a mapping with the text that is kept under `pruned_context`."""


class ProvenceScorer:
    """Scores sentences with a model that has `process(question, context)`.

    Where the model returns `sentence_probabilities` with the texts of `kept_sentences` and `removed_sentences`, these
    are the sentences and their probabilities. Else the sentences are our own, and each has the share of its words that
    `pruned_context` keeps: 1 or 0 where the model cuts where we do. May be used from several threads, one of which
    computes at a time.

    Parameters
    ----------
    model : as `AutoModel.from_pretrained(name, trust_remote_code=True)` of transformers returns it
    options : further arguments of `process`, e.g. `{"threshold": 0.1}`; an OpenProvence model returns probabilities
        with `{"return_sentence_metrics": True, "return_sentence_texts": True, "show_progress": False}`

    Raises
    ------
    RerankError
        If the model has no `process`.

    Examples
    --------
    >>> class Keeps:
    ...     def process(self, question, context):
    ...         return {"pruned_context": "Bees sleep.", "reranking_score": 0.7}
    >>> [tuple(one) for one in ProvenceScorer(Keeps()).score_sentences("Who sleeps?", "Ants work. Bees sleep.")]
    [(0, 10, 0.0), (11, 22, 1.0)]
    """

    def __init__(self, model: PruningModel, *, options: Mapping[str, Any] | None = None) -> None:
        if not callable(getattr(model, "process", None)):
            raise RerankError(
                f"model is {quoted(model)}: it must have process(question, context), as models of the Provence kind do"
            )
        self._model = model
        self._options = dict(options or {})
        self._lock = threading.Lock()

    def score_sentences(self, question: str, text: str) -> list[ScoredSentence]:
        """Return the sentences of a text with their probabilities.

        Raises
        ------
        RerankError
            If the model's answer is not that of a Provence model, or holds text that was not given to it.
        """
        # one character for another, so that offsets stay
        asked, read = without_surrogates(question), without_surrogates(text)
        with self._lock:
            answer = self._model.process(asked, read, **self._options)
        if not isinstance(answer, Mapping) or not isinstance(answer.get("pruned_context"), str):
            raise RerankError(
                f"the model's process gave {quoted(answer)}: it must give a mapping with the text under "
                "'pruned_context', as models of the Provence kind do for one question and one text"
            )
        probabilities, kept, removed = map(
            answer.get, ("sentence_probabilities", "kept_sentences", "removed_sentences")
        )
        if probabilities is not None and kept is not None and removed is not None:
            return _with_probabilities(read, probabilities, kept, removed)
        return _with_shares(read, answer["pruned_context"])


def _with_probabilities(
    text: str, probabilities: Sequence[float], kept: Sequence[str], removed: Sequence[str]
) -> list[ScoredSentence]:
    """Put kept and removed sentences back into their order in the text, which is that of the probabilities."""
    if len(probabilities) != len(kept) + len(removed):
        raise RerankError(
            f"the model's process gave {len(probabilities)} probabilities for {len(kept)} kept and {len(removed)} "
            "removed sentences: it must give one a sentence"
        )
    waiting = [[part.strip() for part in reversed(parts)] for parts in (kept, removed)]
    made, reached = [], 0
    for probability in probabilities:
        # the sentence that comes next is the first of one of the two lists
        starts = [(text.find(parts[-1], reached), parts) for parts in waiting if parts]
        found = [(start, -len(parts[-1]), number, parts) for number, (start, parts) in enumerate(starts) if start >= 0]
        if not found:
            raise RerankError(
                f"the model's process gave the sentence {quoted(starts[0][1][-1])}, which is not in the text behind "
                "its sentence before: leave out its options that change or add text, such as title"
            )
        start, _, _, parts = min(found)
        reached = start + len(parts.pop())
        if reached > start:
            made.append(ScoredSentence(start, reached, float(probability)))
    return made


def _with_shares(text: str, kept: str) -> list[ScoredSentence]:
    """Give each sentence the share of its words that a pruned text keeps."""
    words = list(_WORD.finditer(text))
    starts = [word.start() for word in words]
    shown = np.zeros(len(words))
    shown[_find_kept([word[0] for word in words], _WORD.findall(kept))] = 1.0
    made = []
    for start, end in sentence_ranges(text):
        own = shown[bisect_left(starts, start) : bisect_left(starts, end)]
        made.append(ScoredSentence(start, end, float(own.mean())))
    return made


def _find_kept(words: Sequence[str], kept: Sequence[str]) -> list[int]:
    """Return the places of kept words, in stretches that are as long as the words behind them allow.

    Raises
    ------
    RerankError
        If they are not words of the text in their order.
    """
    latest, place = [0] * len(kept), len(words)
    for at in range(len(kept) - 1, -1, -1):
        place -= 1
        while place >= 0 and words[place] != kept[at]:
            place -= 1
        if place < 0:
            raise RerankError(
                f"the model's process kept {quoted(' '.join(kept[at : at + 8]))}, which is not in the text before what "
                "it kept behind it: it must drop sentences and change none"
            )
        latest[at] = place
    made: list[int] = []
    while len(made) < len(kept):
        at, reached = len(made), made[-1] + 1 if made else 0
        begins = [place for place in range(reached, latest[at] + 1) if words[place] == kept[at]]
        lengths = [_common(words, place, kept, at, latest) for place in begins]
        best = max(range(len(begins)), key=lengths.__getitem__)
        made += range(begins[best], begins[best] + lengths[best])
    return made


def _common(words: Sequence[str], place: int, kept: Sequence[str], at: int, latest: Sequence[int]) -> int:
    """Return how many kept words stand at a place one after the other and leave room for those behind them."""
    length = 0
    for wanted, last in zip(kept[at:], latest[at:], strict=True):
        if place + length > last or words[place + length] != wanted:
            break
        length += 1
    return length
