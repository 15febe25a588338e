"""Questions with evidence, answers or both: the input of every measurement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from retrivex.errors import LoadError


@dataclass(frozen=True, slots=True, order=True)
class Evidence:
    """A range of characters of a document that answers a question.

    Parameters
    ----------
    doc_id : the document
    start, end : range of characters (Unicode code points) in its text, end exclusive, not empty
    """

    doc_id: str
    start: int
    end: int


Factor: TypeAlias = str | int | float | bool
"""What a benchmark varies: the depth of a needle, a length, a task, a language."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its evidence, its answers and its properties, as far as the set has them.

    Parameters
    ----------
    question_id : unique in its set
    text : as a user would ask it
    evidence : every passage that is needed; empty where the documents do not answer it, or the set only has answers
    within : the documents that are searched for this question alone; empty for all of the set
    answers : references
    needed : whether any of `answers` will do (other words for the same) or all have to be given
    factors : what the benchmark varies, by name; results are grouped by them
    """

    question_id: str
    text: str
    evidence: tuple[Evidence, ...]
    within: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    needed: Literal["any", "all"] = "any"
    factors: Mapping[str, Factor] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EvidenceSet:
    """Documents, questions about them, and the malformed records of the files (`odd`).

    Parameters
    ----------
    name : of the set
    documents : doc_id -> text
    questions : in the order of the files
    odd : one line for each record that was repaired or left out, and why

    Raises
    ------
    LoadError
        If evidence names an unknown document or lies outside its text, or `within` names an unknown one.
    """

    name: str
    documents: Mapping[str, str]
    questions: tuple[Question, ...]
    odd: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for question in self.questions:
            where = f"question {question.question_id!r} of {self.name}"
            for doc_id in (*question.within, *(part.doc_id for part in question.evidence)):
                if doc_id not in self.documents:
                    raise LoadError(f"{where} names document {doc_id!r}, which the set does not hold: add the document")
            for part in question.evidence:
                length = len(self.documents[part.doc_id])
                if not 0 <= part.start < part.end <= length:
                    raise LoadError(
                        f"{where} has evidence {part.start}-{part.end} in document {part.doc_id!r} of {length} "
                        "characters: give 0 <= start < end <= length"
                    )
