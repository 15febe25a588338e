"""What the evidence benchmark retrieves from: the chunks and embeddings of one or more sets.

View "all": every set in one index. View "named": the same, asked with the name of the document that is meant. View
"alone": an index for each set, and for qmsum one for each meeting. Document ids carry their set's name,
`qmsum/meeting-3`, as sets may use the same ids.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.evidence.embeddings import embed
from benchmarks.evidence.lexical import words
from benchmarks.suites.datasets import READERS, load_sets
from retrivex import Chunk, SeedHit
from retrivex.evaluation.questions.evidence import Evidence, EvidenceSet, Question
from retrivex.evaluation.run.chunks import sentence_packed
from retrivex.evaluation.run.index import POOL, Index
from retrivex.evaluation.run.sets import draw

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("RETRIVEX_DATA", ROOT.parent / "shared" / "data"))
SETS = tuple(READERS)
MOST_QUESTIONS = 250
PIECE = 50  # tokens of the pieces by which sentences are ranked
CHILDREN = 4  # chunks of a parent, for methods that know parents


TITLES: Mapping[str, Callable[[str, str], str]] = {
    "evidence_inference": lambda _, text: text.removeprefix("TITLE:").lstrip().partition("\n")[0],
    "covid_qa": lambda _, text: text.partition("\n")[0],
    "squad": lambda doc_id, _: doc_id.replace("_", " "),
}
"""Sets whose documents have titles, and where a title stands; of the others it is not known."""

NAMING = ("In {}: {}", "Consider {}; {}", "According to {}, {}")
FEW = 4  # words of a title that is not named in full


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its embedding; evidence and `within` bear the set's name."""

    set_name: str
    question: Question
    embedding: NDArray[np.float32]


def parents_of(index: Index) -> list[range]:
    """Return runs of four chunks of one document, for methods that know parents: places of the chunks."""
    documents = groupby(range(len(index.chunks)), lambda place: index.chunks[place].metadata.doc_id)
    whole = [list(places) for _, places in documents]
    return [
        range(places[at], min(places[at] + CHILDREN, places[-1] + 1))
        for places in whole
        for at in range(0, len(places), CHILDREN)
    ]


def numbered(names: Sequence[str]) -> NDArray[np.int64]:
    """Return a number for each name, counting up in order of first appearance."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)


def retrieve(index: Index, asked: Asked, how: str, most: int) -> list[SeedHit]:
    """Return the best chunks of an index: `dense`, `bm25`, or `fused`; of equal scores the first in the index."""
    found = index.hits(
        [replace(asked.question, within=())], how, 2 * POOL if how == "fused" else most, asked.embedding[None]
    )[0]
    if how == "fused":
        found.sort(key=lambda hit: (-hit.similarity_score, index.positions[hit.key]))
    return found[:most]


def _named(question: Question, name: str) -> Question:
    evidence = tuple(Evidence(f"{name}/{part.doc_id}", part.start, part.end) for part in question.evidence)
    return replace(question, evidence=evidence, within=tuple(f"{name}/{doc_id}" for doc_id in question.within))


def sampled(questions: Sequence[Question], most: int = MOST_QUESTIONS) -> list[int]:
    """Return the places of at most `most` questions that have evidence, a seeded sample, in their order."""
    return draw([place for place, question in enumerate(questions) if question.evidence], most)


@cache
def load(name: str) -> EvidenceSet:
    """Return a set by its name."""
    return next(load_sets(DATA, (name,)))


def ask(name: str, most: int = MOST_QUESTIONS) -> list[Asked]:
    """Return a set's questions, with embeddings."""
    found = load(name)
    embeddings = embed([question.text for question in found.questions], f"{found.name} questions")
    return [
        Asked(found.name, _named(found.questions[place], found.name), embeddings[place])
        for place in sampled(found.questions, most)
    ]


@cache
def ask_named(name: str, most: int = MOST_QUESTIONS) -> list[Asked]:
    """Return a set's questions as `ask` does, each with the name of the document that answers it in front.

    Every other one has a few words of a long title, as people seldom write all of it.
    """
    questions = [_naming(at, asked, name) for at, asked in enumerate(ask(name, most))]
    embeddings = embed([question.text for question in questions], f"{name} questions with names")
    return [Asked(name, question, vector) for question, vector in zip(questions, embeddings, strict=True)]


def _naming(at: int, asked: Asked, name: str) -> Question:
    doc_id = asked.question.evidence[0].doc_id.removeprefix(f"{name}/")
    words = title_of(name, doc_id, load(name).documents[doc_id]).split()
    if at % 2 and len(words) > FEW:
        begin = random.Random(asked.question.question_id).randrange(len(words) - FEW + 1)
        words = words[begin : begin + FEW]
    return replace(asked.question, text=NAMING[at % len(NAMING)].format(" ".join(words), asked.question.text))


def title_of(name: str, doc_id: str, text: str) -> str:
    """Return the title of a document of a set; empty where it has none."""
    return TITLES[name](doc_id, text).strip() if name in TITLES else ""


def make_index(sets: Sequence[str], size: int) -> Index:
    """Return one index over several sets, in chunks of whole sentences of at most `size` tokens."""
    documents: dict[str, str] = {}
    chunks: list[Chunk] = []
    embeddings = []
    for found in map(load, sets):
        documents |= {f"{found.name}/{doc_id}": text for doc_id, text in found.documents.items()}
        packed = sentence_packed(found.documents, size)
        embeddings.append(embed([chunk.text for chunk in packed], f"{found.name} {size}"))
        titles = {doc_id: title_of(found.name, doc_id, text) for doc_id, text in found.documents.items()}
        for chunk in packed:
            doc_id = chunk.metadata.doc_id
            named = {"title": titles[doc_id]} if titles[doc_id] else {}
            chunks.append(
                Chunk(chunk.text, replace(chunk.metadata, doc_id=f"{found.name}/{doc_id}", custom_metadata=named))
            )
    return Index(documents, size=size, terms=words, chunks=chunks, vectors=np.concatenate(embeddings))


@cache
def pieces(set_name: str) -> Index:
    """Return a set in pieces of 50 tokens, by whose embeddings sentences are ranked; all views share them."""
    return make_index([set_name], PIECE)


class Indexes:
    """The indexes of one chunk size; a question's own is looked up by view.

    Parameters
    ----------
    sets : names of the sets
    size : tokens of a chunk at most
    """

    def __init__(self, sets: Sequence[str], size: int) -> None:
        self.sets = tuple(sets)
        self.all = make_index(sets, size)
        self._alone: dict[str, Index] = {}

    def of(self, asked: Asked, view: str) -> Index:
        """Return the index that a question is asked of."""
        if view in ("all", "named"):
            return self.all
        name = asked.question.within[0] if asked.set_name == "qmsum" else asked.set_name
        if name not in self._alone:
            self._alone[name] = self.all.part(
                {doc_id for doc_id in self.all.documents if doc_id == name or doc_id.startswith(f"{name}/")}
            )
        return self._alone[name]

    def questions(self, most: int = MOST_QUESTIONS) -> Iterator[Asked]:
        """Yield the questions of all sets."""
        for name in self.sets:
            yield from ask(name, most)
