"""What the evidence benchmark retrieves from: the chunks and embeddings of one or more sets.

View "all": every set in one index. View "named": the same, asked with the name of the document that is meant. View
"alone": an index for each set, and for qmsum one for each meeting. Document ids carry their set's name,
`qmsum/meeting-3`, as sets may use the same ids. The set `double_questions` asks of the documents of others and adds
none.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.evidence import double_questions as double
from benchmarks.evidence.embeddings import EncoderName, embed
from benchmarks.evidence.lexical import words
from benchmarks.suites.datasets import READERS, load_set
from retrivex import Chunk, ChunkMetadata, SeedHit
from retrivex.evaluation.questions.evidence import Evidence, EvidenceSet, Question
from retrivex.evaluation.run.index import POOL, Index, sentence_packed
from retrivex.evaluation.run.sets import draw

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("RETRIVEX_DATA", ROOT.parent / "shared" / "data"))
DOCUMENT_SETS = (*READERS, "hotpotqa")
"""Sets with documents of their own."""

SETS = (*DOCUMENT_SETS, double.NAME)
SIZE = 200
"""Tokens of a chunk, where nothing else is said."""

SMALL_SETS = ("hotpotqa", "squad", "contextual_embeddings", "chunking_evaluation", double.NAME)
"""Those that are also asked with another encoder, other chunks and parts of chunks: the others take hours."""

MOST_QUESTIONS = 100
PIECE = 50  # tokens of the pieces by which sentences are ranked
CHILDREN = 4  # chunks of a parent, for methods that know parents
CHARACTERS_OF_A_TOKEN = 4
ChunkKind: TypeAlias = Literal["sentences", "characters"]


TITLES: Mapping[str, Callable[[str, str], str]] = {
    "evidence_inference": lambda _, text: text.removeprefix("TITLE:").lstrip().partition("\n")[0],
    "covid_qa": lambda _, text: text.partition("\n")[0],
    "squad": lambda doc_id, _: doc_id.replace("_", " "),
    "hotpotqa": lambda _, text: text.partition("\n")[0],
}
"""Sets whose documents have titles, and where a title stands; of the others it is not known."""

ASKED_BY_NAME = ("evidence_inference", "covid_qa", "squad")
"""Sets whose questions are asked again with the title of the document: one of them answers a question alone."""

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
    return double.double_questions(load) if name == double.NAME else load_set(name, DATA)


def ask(name: str, most: int = MOST_QUESTIONS, encoder: EncoderName = "MiniLM") -> list[Asked]:
    """Return a set's questions, with embeddings."""
    found = load(name)
    texts = [question.text for question in found.questions]
    embeddings = embed(texts, f"{found.name} questions", encoder, questions=True)
    named = (lambda question, _: question) if name == double.NAME else _named  # its documents are named already
    return [
        Asked(found.name, named(found.questions[place], found.name), embeddings[place])
        for place in sampled(found.questions, most)
    ]


@cache
def ask_named(name: str, most: int = MOST_QUESTIONS, encoder: EncoderName = "MiniLM") -> list[Asked]:
    """Return a set's questions as `ask` does, each with the name of the document that answers it in front.

    Every other one has a few words of a long title, as people seldom write all of it.
    """
    questions = [_naming(at, asked, name) for at, asked in enumerate(ask(name, most, encoder))]
    texts = [question.text for question in questions]
    embeddings = embed(texts, f"{name} questions with names", encoder, questions=True)
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


def part_of(index: Index, doc_ids: Collection[str]) -> Index:
    """Return the index of some of the documents, in the same chunks."""
    places = [place for place, chunk in enumerate(index.chunks) if chunk.metadata.doc_id in doc_ids]
    return Index(
        {doc_id: text for doc_id, text in index.documents.items() if doc_id in doc_ids},
        size=index.size,
        tokenizer=index.tokenizer,
        terms=words,
        chunks=[index.chunks[place] for place in places],
        vectors=None if index.vectors is None else index.vectors[places],
    )


def make_index(
    sets: Sequence[str], size: int, encoder: EncoderName = "MiniLM", chunks: ChunkKind = "sentences"
) -> Index:
    """Return one index over several sets.

    Parameters
    ----------
    sets : names of the sets; those without documents of their own add nothing
    size : tokens of a chunk at most
    encoder : of the vectors
    chunks : "sentences", whole ones, or "characters", cut between words as recursive splitters do, of `size` times 4
        characters at most, without overlap
    """
    documents: dict[str, str] = {}
    made: list[Chunk] = []
    embeddings = []
    for found in (load(name) for name in sets if name in DOCUMENT_SETS):
        documents |= {f"{found.name}/{doc_id}": text for doc_id, text in found.documents.items()}
        cut = sentence_packed(found.documents, size) if chunks == "sentences" else _cut(found.documents, size)
        embeddings.append(embed([chunk.text for chunk in cut], f"{found.name} {size} {chunks} {encoder}", encoder))
        titles = {doc_id: title_of(found.name, doc_id, text) for doc_id, text in found.documents.items()}
        for chunk in cut:
            doc_id = chunk.metadata.doc_id
            named = {"title": titles[doc_id]} if titles[doc_id] else {}
            made.append(
                Chunk(chunk.text, replace(chunk.metadata, doc_id=f"{found.name}/{doc_id}", custom_metadata=named))
            )
    return Index(documents, size=size, terms=words, chunks=made, vectors=np.concatenate(embeddings))


def _cut(documents: Mapping[str, str], size: int) -> list[Chunk]:
    from langchain_text_splitters import RecursiveCharacterTextSplitter  # noqa: PLC0415 - for these chunks alone

    splitter = RecursiveCharacterTextSplitter(
        chunk_size=CHARACTERS_OF_A_TOKEN * size, chunk_overlap=0, add_start_index=True
    )
    made = []
    for doc_id, text in documents.items():
        for ordinal, part in enumerate(splitter.create_documents([text])):
            start = part.metadata["start_index"]
            end = start + len(part.page_content)
            made.append(Chunk(part.page_content, ChunkMetadata(doc_id, ordinal, start, end)))
    return made


@cache
def pieces(set_name: str) -> Index:
    """Return a set in pieces of 50 tokens, by whose embeddings sentences are ranked; all views share them."""
    return make_index([set_name], PIECE)


def documents_of(asked: Asked) -> str:
    """Return the set that holds the documents of a question: its own, or that of a double question's parts."""
    return str(asked.question.factors["set"]) if asked.set_name == double.NAME else asked.set_name


def sets_of(size: int, encoder: EncoderName, chunks: ChunkKind) -> Sequence[str]:
    """Return the sets whose documents are in the index of a size of chunks, an encoder and a kind of chunks."""
    return SETS if (size, encoder, chunks) == (SIZE, "MiniLM", "sentences") else SMALL_SETS


class Indexes:
    """The indexes of one chunk size; a question's own is looked up by view.

    Parameters
    ----------
    sets : names of the sets
    size, encoder, chunks : see `make_index`
    """

    def __init__(
        self, sets: Sequence[str], size: int, encoder: EncoderName = "MiniLM", chunks: ChunkKind = "sentences"
    ) -> None:
        self.sets = tuple(sets)
        self.encoder = encoder
        self.all = make_index(sets, size, encoder, chunks)
        self._alone: dict[str, Index] = {}

    def of(self, asked: Asked, view: str) -> Index:
        """Return the index that a question is asked of."""
        if view in ("all", "named"):
            return self.all
        set_name = documents_of(asked)
        name = asked.question.within[0] if set_name == "qmsum" else set_name
        if name not in self._alone:
            own = {doc_id for doc_id in self.all.documents if doc_id == name or doc_id.startswith(f"{name}/")}
            self._alone[name] = part_of(self.all, own)
        return self._alone[name]

    def ask(self, name: str, view: str = "all", most: int = MOST_QUESTIONS) -> list[Asked]:
        """Return the questions of a set; of double questions those whose documents are in the index."""
        found = (ask_named if view == "named" else ask)(name, most, self.encoder)
        return [asked for asked in found if documents_of(asked) in self.sets]

    def questions(self, most: int = MOST_QUESTIONS) -> Iterator[Asked]:
        """Yield the questions of all sets."""
        for name in self.sets:
            yield from self.ask(name, most=most)
