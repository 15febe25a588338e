"""QMSum: questions about meetings."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.suites.datasets.formats import pair_of, whole_number
from retrivex.errors import LoadError
from retrivex.evaluation.questions.evidence import Evidence, EvidenceSet, Question
from retrivex.evaluation.questions.fields import list_of, object_of, strings_of, words_of
from retrivex.evaluation.questions.files import Record, read_each, read_lines
from retrivex.evaluation.questions.set_builder import EvidenceSetBuilder
from retrivex.model.serialization import string


def qmsum(path: Path) -> EvidenceSet:
    """Read QMSum's specific questions: meetings, a line for each turn, wide runs of turns as evidence.

    Source: Zhong et al., "QMSum", 2021.
    """
    made = EvidenceSetBuilder("qmsum")
    meetings = count()

    def read(record: Record) -> None:
        name = f"meeting-{next(meetings)}"
        lines = [_line(object_of(turn, "turn")) for turn in list_of(record.fields, "meeting_transcripts")]
        doc_id = made.document(name, "".join(lines))
        edges = [0]
        for line in lines:
            edges.append(edges[-1] + len(line))
        for index, asked in enumerate(list_of(record.fields, "specific_query_list")):
            try:
                made.ask(_question(doc_id, index, object_of(asked, "question"), edges))
            except LoadError as error:
                made.note([f"{doc_id}, question {index}: {error}; left out"])

    made.note(read_each(read_lines(path), read))
    return made.whole()


def _line(turn: Mapping[str, Any]) -> str:
    return f"{string(turn, 'speaker', LoadError)}: {string(turn, 'content', LoadError)}\n"


def _question(doc_id: str, index: int, asked: Mapping[str, Any], edges: list[int]) -> Question:
    spans = [pair_of(span, "relevant_text_span") for span in list_of(asked, "relevant_text_span")]
    turns = [(whole_number(first, "turn"), whole_number(last, "turn")) for first, last in spans]
    if any(not 0 <= first <= last < len(edges) - 1 for first, last in turns):
        raise LoadError(f"turns {turns} of {len(edges) - 1}")
    # without the line break behind the last turn, which no context needs to hold
    evidence = tuple(Evidence(doc_id, edges[first], edges[last + 1] - 1) for first, last in turns)
    answers = strings_of(asked, "answer")
    return Question(f"{doc_id}/{index}", words_of(asked, "query"), evidence, within=(doc_id,), answers=answers)
