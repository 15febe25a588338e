r"""Which document a question means: the words of the question in each document's name, and in its candidates.

A word counts as much as it is rare among the documents of the candidates:

.. math:: s_d = \sum_{t \in d} \ln (D / n_t)

for the words :math:`t` of the question that document :math:`d` has, where :math:`n_t` of the :math:`D` documents have
them: in their name or their candidates, so that a small word in a name counts for nothing. A word that all of them have
says nothing, and neither does any word where there is one document.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from retrivex.merging.units import Units
from retrivex.model.chunk import Chunk
from retrivex.scoring.bm25 import find_terms, question_terms
from retrivex.scoring.term_index import TermIndexer
from retrivex.text.terms import split_words
from retrivex.text.words import read_text

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

DOCUMENT_FEATURES = (
    "document name", "document name, below best", "document words", "document words, below best",
)  # fmt: skip

NAME_FIELDS = ("title", "source")
"""Custom metadata that name a document, beside its `doc_id` and the top heading that all of its candidates share."""

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True)
class DocumentMatch:
    """Which words of a question stand in the names of the documents of its candidates.

    Parameters
    ----------
    names : doc_id -> names of the document; d of them
    terms : t words of the question, as `question_terms` gives them
    named : shape (t, d), whether a document's name has a word
    held : shape (t, d), whether its candidates have it
    """

    names: dict[str, list[str]]
    terms: Sequence[tuple[str, bool]]
    named: Flags
    held: Flags

    @cached_property
    def numbers(self) -> dict[str, int]:
        """doc_id -> number of the document, from 0."""
        return {doc_id: number for number, doc_id in enumerate(self.names)}

    @cached_property
    def scores(self) -> Floats:
        """How well each name fits, shape (d,); see the module's formula."""
        return rarity_sums(self.named, self.named | self.held)

    @cached_property
    def meant(self) -> int | None:
        """The number of the document that the question names: its name has a word more than any other; else None."""
        if len(self.numbers) < 2:
            return None
        second, best = np.partition(self.scores, -2)[-2:].tolist()
        return int(self.scores.argmax()) if best - second >= np.log(len(self.numbers)) - 1e-9 else None

    @property
    def name_terms(self) -> Flags:
        """Which words of the question name the document that is meant, shape (t,)."""
        return np.zeros(len(self.terms), dtype=np.bool_) if self.meant is None else self.named[:, self.meant]

    def explain(self, question: str) -> dict[str, object]:
        """Return the document that is meant and the words of the question that name it; empty where none is."""
        if self.meant is None:
            return {}
        terms = [self.terms[number] for number in np.flatnonzero(self.name_terms).tolist()]
        words = [
            word
            for word, _ in split_words(question)
            if any(low == term if whole else term in low for low in [read_text(word)] for term, whole in terms)
        ]
        return {"doc_id": list(self.numbers)[self.meant], "words": list(dict.fromkeys(words))}


def match_names(
    question: str, chunks: Sequence[Chunk], indexer: TermIndexer, known: DocumentMatch | None = None
) -> DocumentMatch:
    """Look for the words of a question in the names of the documents that some chunks are of.

    `known` is a match of the same question, which is returned where the names are the same.
    """
    names = names_of(chunks)
    if known is not None and known.names == names:
        return known
    terms = question_terms(question)
    named = np.zeros((len(terms), len(names)), dtype=np.bool_)
    if len(names) > 1 and terms:
        pool, starts = indexer.stretches([split_camel("\n".join(some)) for some in names.values()])
        found, places = find_terms(terms, pool)
        named[found, starts.searchsorted(places, side="right") - 1] = True
    return DocumentMatch(names, terms, named, np.zeros_like(named))


def names_of(chunks: Sequence[Chunk]) -> dict[str, list[str]]:
    """Return the names of each document: its id, its titles, and the top heading that all of its chunks share."""
    names: dict[str, list[str]] = {}
    headings: dict[str, str] = {}
    for chunk in chunks:
        metadata = chunk.metadata
        path = metadata.heading_path
        top = path[0] if path else ""
        if metadata.doc_id not in names:
            fields = [metadata.custom_metadata.get(name) for name in NAME_FIELDS] if metadata.custom_metadata else []
            names[metadata.doc_id] = [metadata.doc_id, *[value for value in fields if isinstance(value, str)]]
            headings[metadata.doc_id] = top
        elif headings[metadata.doc_id] != top:
            headings[metadata.doc_id] = ""
    return {doc_id: [*some, headings[doc_id]] for doc_id, some in names.items()}


@lru_cache(maxsize=4096)
def split_camel(name: str) -> str:
    """Part words that are written together, as in `ExpensesHandbook`."""
    return _CAMEL.sub(" ", name)


def rarity_sums(holds: Flags, among: Flags) -> Floats:
    """Return the sum of the rarity of the words that each document has, shape (d,).

    Parameters
    ----------
    holds : shape (t, d), whether a document has a word
    among : shape (t, d), by which a word's rarity is counted

    Examples
    --------
    >>> holds = np.array([[True, True], [True, False]])
    >>> rarity_sums(holds, holds).round(2).tolist()
    [0.69, 0.0]
    """
    holding = np.add.reduce(among, axis=1)
    rarity = np.log(holds.shape[1] / np.maximum(holding, 1))
    return np.asarray(rarity @ holds, dtype=np.float64)


def with_texts(match: DocumentMatch, counts: NDArray[np.int64], document: NDArray[np.int64]) -> DocumentMatch:
    """Return a match that knows which words the documents' candidates have.

    Parameters
    ----------
    match : names of the documents
    counts : shape (t, n), how often each word of the question stands in each unit
    document : shape (n,), number of each unit's document
    """
    if len(match.numbers) < 2 or not len(counts):
        return match
    held = np.zeros_like(match.named)
    firsts = np.concatenate(([0], (document[1:] != document[:-1]).nonzero()[0] + 1))
    # a document may have several runs, not all of them side by side
    for number, column in zip(document[firsts].tolist(), (np.add.reduceat(counts, firsts, axis=1) > 0).T, strict=True):
        held[:, number] |= column
    return replace(match, held=held)


def document_of_units(units: Units, match: DocumentMatch) -> NDArray[np.int64]:
    """Return the number of each unit's document, shape (n,)."""
    return np.array([match.numbers[run.doc_id] for run in units.axis.runs], dtype=np.int64)[units.run]


def document_features(match: DocumentMatch, kept: Flags, document: NDArray[np.int64]) -> Floats:
    """Return the features of the document of each unit, shape (4, n); all 0 where there is one document.

    Each is the logarithm of one more than a sum of rarities, so that a long title in a question does not outweigh what
    else is known.

    Parameters
    ----------
    match : of `with_texts`
    kept : shape (t,), which words of the question tell units apart
    document : shape (n,), number of each unit's document
    """
    if len(match.numbers) < 2:
        return np.zeros((len(DOCUMENT_FEATURES), len(document)))
    held = match.held[kept]
    sums = np.array((match.scores, rarity_sums(held, held)))
    below = np.maximum.reduce(sums, axis=1, keepdims=True) - sums
    made = np.log1p((sums[0], below[0], sums[1], below[1]))
    made[[1, 3]] *= -1
    return np.asarray(made[:, document], dtype=np.float64)
