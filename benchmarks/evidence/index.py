"""What the evidence benchmark retrieves from: chunks, embeddings and lexical weights of one or more sets.

View "all": every set in one index. View "alone": an index for each set, and for qmsum one for each meeting. Document
ids carry their set's name, `qmsum/meeting-3`, as sets may use the same ids.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.evidence.embeddings import embed
from benchmarks.evidence.lexical import words
from benchmarks.suites.datasets import READERS, load_sets
from retrivex import Chunk
from retrivex.evaluation.metrics import Range
from retrivex.evaluation.questions.evidence import Evidence, EvidenceSet, Question
from retrivex.evaluation.run.bm25 import BM25
from retrivex.evaluation.run.chunks import sentence_packed
from retrivex.evaluation.run.index import POOL, best_places
from retrivex.evaluation.run.sets import draw
from retrivex.expansion.fusion import DEFAULT_RRF_K
from retrivex.model.chunk import ChunkKey
from retrivex.tokens.tokenizer import Tokenizer, TokenizerSpec, get_tokenizer

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("RETRIVEX_DATA", ROOT.parent / "shared" / "data"))
SETS = tuple(READERS)
VIEWS = ("all", "alone")
MOST_QUESTIONS = 250
PIECE = 50  # tokens of the pieces by which sentences are ranked
_REMEMBERED = 200_000  # counted ranges
CHILDREN = 4  # chunks of a parent, for methods that know parents


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its embedding; evidence and `within` bear the set's name."""

    set_name: str
    question: Question
    embedding: NDArray[np.float32]


class Index:
    """Chunks in document order, document by document, and everything that is computed from them once.

    Parameters
    ----------
    documents : doc_id -> text
    chunks : of all documents, with embeddings
    embeddings : shape (n, d), unit length, a row for each chunk
    sets : where the documents come from; they may hold more documents than the index
    tokenizer : whose tokens budgets count
    """

    def __init__(
        self,
        documents: Mapping[str, str],
        chunks: Sequence[Chunk],
        embeddings: NDArray[np.float32],
        sets: Sequence[EvidenceSet] = (),
        tokenizer: TokenizerSpec = "cl100k_base",
    ) -> None:
        self.documents = documents
        self.sets = tuple(sets)
        self.chunks = chunks
        self.embeddings = embeddings
        self.store: dict[ChunkKey, Chunk] = {chunk.key: chunk for chunk in chunks}
        self.positions = {chunk.key: place for place, chunk in enumerate(chunks)}
        self._counts: dict[Range, int] = {}
        self.tokenizer: Tokenizer = get_tokenizer(tokenizer)

    @cached_property
    def bare_store(self) -> dict[ChunkKey, Chunk]:
        """The chunks without embeddings."""
        return {chunk.key: Chunk(chunk.text, chunk.metadata) for chunk in self.chunks}

    @cached_property
    def doc_numbers(self) -> NDArray[np.int64]:
        """The document of each chunk, numbered in the order of the index."""
        return numbered([chunk.metadata.doc_id for chunk in self.chunks])

    @cached_property
    def chunk_tokens(self) -> NDArray[np.int64]:
        """Tokens of each chunk."""
        return np.array(self.tokenizer.count_many([chunk.text for chunk in self.chunks]))

    @cached_property
    def bm25(self) -> BM25:
        """Lexical weights of all chunks."""
        return BM25([chunk.text for chunk in self.chunks], terms=words)

    @cached_property
    def parents(self) -> list[range]:
        """Runs of four chunks of one document, for methods that know parents: places of the chunks."""
        starts = [0, *(np.flatnonzero(np.diff(self.doc_numbers)) + 1).tolist(), len(self.chunks)]
        return [
            range(at, min(at + CHILDREN, end)) for start, end in pairwise(starts) for at in range(start, end, CHILDREN)
        ]

    def range_between(self, places: range) -> Range:
        """Return where chunks that follow one another stand."""
        (doc_id, start, _), (_, _, end) = self.range_of(places[0]), self.range_of(places[-1])
        return (doc_id, start, end)

    def text(self, part: Range) -> str:
        """Return the characters of a range."""
        return self.documents[part[0]][part[1] : part[2]]

    def range_of(self, place: int) -> Range:
        """Return where the chunk at a place of the index stands."""
        metadata = self.chunks[place].metadata
        return (metadata.doc_id, metadata.char_start or 0, metadata.char_end or 0)

    def count(self, part: Range) -> int:
        """Return the tokens of a range; those asked for last are remembered."""
        if part not in self._counts:
            if len(self._counts) >= _REMEMBERED:
                self._counts.clear()
            self._counts[part] = self.tokenizer.count(self.text(part))
        return self._counts[part]

    def neighbours(self, place: int, reach: int) -> range:
        """Return the places of a chunk and of up to `reach` chunks of its document on each side."""
        doc = self.doc_numbers
        low, high = place, place + 1
        while low > 0 and place - low < reach and doc[low - 1] == doc[place]:
            low -= 1
        while high < len(doc) and high - 1 - place < reach and doc[high] == doc[place]:
            high += 1
        return range(low, high)


def numbered(names: Sequence[str]) -> NDArray[np.int64]:
    """Return a number for each name, counting up in order of first appearance."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)


def retrieve(index: Index, asked: Asked, how: str, most: int) -> list[tuple[int, float]]:
    """Return the best chunks as (place, score): `dense` (cosine), `bm25`, or `fused` (reciprocal ranks of both)."""
    if how == "dense":
        scores = (index.embeddings @ asked.embedding).astype(np.float64)
        return _best(scores, most)
    if how == "bm25":
        return [(place, score) for place, score in _best(index.bm25.scores(asked.question.text), most) if score > 0]
    fused: dict[int, float] = {}
    for part in ("dense", "bm25"):
        for rank, (place, _) in enumerate(retrieve(index, asked, part, POOL), 1):
            fused[place] = fused.get(place, 0.0) + 1 / (DEFAULT_RRF_K + rank)
    return sorted(fused.items(), key=lambda item: (-item[1], item[0]))[:most]


def _best(scores: NDArray[np.float64], most: int) -> list[tuple[int, float]]:
    return [(int(place), float(scores[place])) for place in best_places(scores, most)]


def _named(question: Question, name: str) -> Question:
    evidence = tuple(Evidence(f"{name}/{part.doc_id}", part.start, part.end) for part in question.evidence)
    return replace(question, evidence=evidence, within=tuple(f"{name}/{doc_id}" for doc_id in question.within))


def sampled(questions: Sequence[Question], most: int = MOST_QUESTIONS) -> list[int]:
    """Return the places of at most `most` questions that have evidence, a seeded sample, in their order."""
    return draw([place for place, question in enumerate(questions) if question.evidence], most)


def ask(found: EvidenceSet, most: int = MOST_QUESTIONS) -> list[Asked]:
    """Return a set's questions, with embeddings."""
    embeddings = embed([question.text for question in found.questions], f"{found.name} questions")
    return [
        Asked(found.name, _named(found.questions[place], found.name), embeddings[place])
        for place in sampled(found.questions, most)
    ]


def make_index(sets: Sequence[EvidenceSet], size: int) -> Index:
    """Return one index over several sets, in chunks of whole sentences of at most `size` tokens."""
    documents: dict[str, str] = {}
    chunks: list[Chunk] = []
    embeddings = []
    for found in sets:
        documents |= {f"{found.name}/{doc_id}": text for doc_id, text in found.documents.items()}
        packed = sentence_packed(found.documents, size)
        embeddings.append(embed([chunk.text for chunk in packed], f"{found.name} {size}"))
        chunks += [
            Chunk(
                chunk.text,
                replace(chunk.metadata, doc_id=f"{found.name}/{chunk.metadata.doc_id}"),
                embedding,
            )
            for chunk, embedding in zip(packed, embeddings[-1], strict=True)
        ]
    return Index(documents, chunks, np.concatenate(embeddings), sets)


def part_of(index: Index, doc_ids: set[str]) -> Index:
    """Return an index of some of the documents, in the same chunks."""
    places = [place for place, chunk in enumerate(index.chunks) if chunk.metadata.doc_id in doc_ids]
    documents = {doc_id: text for doc_id, text in index.documents.items() if doc_id in doc_ids}
    return Index(documents, [index.chunks[place] for place in places], index.embeddings[places], index.sets)


class Indexes:
    """The indexes of one chunk size; a question's own is looked up by view.

    Parameters
    ----------
    sets : names of the sets
    size : tokens of a chunk at most
    """

    def __init__(self, sets: Sequence[str], size: int) -> None:
        self.sets = {found.name: found for found in load_sets(DATA, tuple(sets))}
        self.size = size
        self.all = make_index(list(self.sets.values()), size)
        self._alone: dict[str, Index] = {}

    def of(self, asked: Asked, view: str) -> Index:
        """Return the index that a question is asked of."""
        if view == "all":
            return self.all
        name = asked.question.within[0] if asked.set_name == "qmsum" else asked.set_name
        if name not in self._alone:
            within = {doc_id for doc_id in self.all.documents if doc_id == name or doc_id.startswith(f"{name}/")}
            self._alone[name] = part_of(self.all, within)
        return self._alone[name]

    def questions(self, most: int = MOST_QUESTIONS) -> Iterator[Asked]:
        """Yield the questions of all sets."""
        for found in self.sets.values():
            yield from ask(found, most)
