"""Questions with exact evidence: what every measurement of a context starts from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from retrivex.errors import LoadError


@dataclass(frozen=True, slots=True, order=True)
class Evidence:
    """Characters of a document that answer a question.

    Parameters
    ----------
    doc_id : the document
    start, end : range of characters (Unicode code points) in its text, end exclusive, not empty
    """

    doc_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Question:
    """A question and where its answer stands.

    Parameters
    ----------
    question_id : unique in its set
    text : as a user would ask it
    evidence : every passage that is needed; empty for a question that the documents do not answer
    within : the one document that the question is about, for sets that index each document alone; None for all
    """

    question_id: str
    text: str
    evidence: tuple[Evidence, ...]
    within: str | None = None


@dataclass(frozen=True, slots=True)
class EvidenceSet:
    """Documents, questions about them, and what of the files could not be used.

    Parameters
    ----------
    name : of the set
    documents : doc_id -> text
    questions : in the order of the files
    odd : one line for each record that was repaired or left out, and why

    Raises
    ------
    LoadError
        If evidence names an unknown document or lies outside its text.
    """

    name: str
    documents: Mapping[str, str]
    questions: tuple[Question, ...]
    odd: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for question in self.questions:
            for part in question.evidence:
                text = self.documents.get(part.doc_id)
                if text is None:
                    raise LoadError(
                        f"question {question.question_id!r} of {self.name} has evidence in document {part.doc_id!r}, "
                        "which the set does not hold: add the document or leave the evidence out"
                    )
                if not 0 <= part.start < part.end <= len(text):
                    raise LoadError(
                        f"question {question.question_id!r} of {self.name} has evidence {part.start}-{part.end} in "
                        f"document {part.doc_id!r} of {len(text)} characters: give 0 <= start < end <= length"
                    )
