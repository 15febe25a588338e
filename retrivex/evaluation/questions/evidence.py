"""Questions with evidence, answers or both: the input of every measurement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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


Copies: TypeAlias = Mapping[Evidence, Sequence[Evidence]]
"""Where else the text of a passage stands: what is shown of a copy counts as shown of the passage."""


def with_originals(ranges: Iterable[tuple[str, int, int]], copies: Copies) -> list[tuple[str, int, int]]:
    """Return ranges of characters, and for those that lie in copies the same characters of the passages.

    Examples
    --------
    >>> with_originals([("b", 12, 30)], {Evidence("a", 0, 10): [Evidence("b", 10, 20)]})
    [('b', 12, 30), ('a', 2, 10)]
    """
    shown = list(ranges)
    found = [
        _original(part, copy, max(start, copy.start), min(end, copy.end))
        for part, others in copies.items()
        for copy in others
        for doc_id, start, end in shown
        if doc_id == copy.doc_id and max(start, copy.start) < min(end, copy.end)
    ]
    return shown + [(doc_id, start, end) for doc_id, start, end in found if start < end]


def _original(part: Evidence, copy: Evidence, start: int, end: int) -> tuple[str, int, int]:
    # white space and quotation marks may make a copy longer or shorter than the passage
    first = min(part.start + start - copy.start, part.end)
    last = part.end if end == copy.end else min(part.start + end - copy.start, part.end)
    return part.doc_id, first, last


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
