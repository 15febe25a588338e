"""Embeddings of sentences, for peers that compare the sentences of the hits with the question.

They are encoded once, before the processes of a run begin: each later finds them in memory, and what a call costs is
the peer's own work and not the model's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.evidence.embeddings import MiniLM
from benchmarks.evidence.ranges import RangeSystem
from retrivex.evaluation.run import Case
from retrivex.evaluation.run.vector_cache import VectorCache, cache_folder

_KNOWN: dict[str, NDArray[np.float32]] = {}


def _no_texts(_case: Case) -> Iterable[str]:
    return ()


@dataclass(frozen=True, slots=True)
class SentenceSystem(RangeSystem):
    """A system that embeds parts of the hits.

    Parameters
    ----------
    texts : returns all that it may embed of a question's hits
    """

    texts: Callable[[Case], Iterable[str]] = _no_texts


def encode(texts: Iterable[str], label: str) -> None:
    """Embed texts that are not known yet; `label` names them in the progress."""
    fresh = [text for text in dict.fromkeys(texts) if text not in _KNOWN]
    if fresh:
        rows = VectorCache(MiniLM(), cache_folder() / "vectors").encode(fresh, label)
        _KNOWN.update(zip(fresh, rows, strict=True))


def encode_for(systems: Iterable[RangeSystem], cases: Sequence[Case]) -> None:
    """Embed what some systems will ask for."""
    for texts in dict.fromkeys(system.texts for system in systems if isinstance(system, SentenceSystem)):
        encode((text for case in cases for text in texts(case)), "sentences")


def vectors_of(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return unit-length embeddings, shape (len(texts), 384)."""
    encode(texts, "sentences")
    return np.stack([_KNOWN[text] for text in texts]) if texts else np.zeros((0, 384), dtype=np.float32)
