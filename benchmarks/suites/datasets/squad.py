"""SQuAD and sets in its layout: paragraphs, questions, and where in the paragraph the answer stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.suites.datasets.formats import number_records, read_json
from retrivex.errors import LoadError
from retrivex.evaluation.questions.evidence import Evidence, EvidenceSet, Question
from retrivex.evaluation.questions.fields import list_of, object_of, strings_of, words_of
from retrivex.evaluation.questions.files import AnyRecord, Record, read_each
from retrivex.evaluation.questions.set_builder import EvidenceSetBuilder
from retrivex.model.serialization import integer, string

_NEAR = 8  # characters that a quoted answer may stand away from its offset
_GAP = "\n\n"


def squad(path: Path) -> EvidenceSet:
    """Read a file of SQuAD 1.1 or 2.0: an article is its paragraphs joined by blank lines.

    The evidence is the first answer, as the others are other annotators' words for the same. Questions without an
    answer have no evidence. Source: Rajpurkar et al., 2018.
    """
    return squad_articles(_articles(path))


def squad_articles(records: Iterable[AnyRecord]) -> EvidenceSet:
    """Make a set of articles in the layout of SQuAD; see `squad`."""
    made = EvidenceSetBuilder("squad")

    def read(record: Record) -> None:
        paragraphs = [_Paragraph(part) for part in list_of(record.fields, "paragraphs")]
        title = record.fields.get("title") or f"article {record.place.rpartition(' ')[2]}"
        doc_id = made.document(str(title), _GAP.join(paragraph.text for paragraph in paragraphs))
        offset = 0
        for paragraph in paragraphs:
            made.note(_ask(made, doc_id, paragraph, offset, evidence_of=1))
            offset += len(paragraph.text) + len(_GAP)

    made.note(read_each(records, read))
    return made.whole()


def covid_qa(path: Path) -> EvidenceSet:
    """Read COVID-QA: whole articles in SQuAD's layout. Source: Möller et al., 2020."""
    return covid_qa_articles(_articles(path))


def covid_qa_articles(records: Iterable[AnyRecord]) -> EvidenceSet:
    """Make a set of articles in the layout of COVID-QA; see `covid_qa`."""
    made = EvidenceSetBuilder("covid_qa")

    def read(record: Record) -> None:
        for part in list_of(record.fields, "paragraphs"):
            paragraph = _Paragraph(part)
            doc_id = made.document(str(part.get("document_id", record.place)), paragraph.text)
            made.note(_ask(made, doc_id, paragraph, 0, evidence_of=None))

    made.note(read_each(records, read))
    return made.whole()


def _articles(path: Path) -> Iterator[AnyRecord]:
    whole = read_json(path)
    if not isinstance(whole, Mapping):
        raise LoadError(f"{path} holds a {type(whole).__name__}: SQuAD's layout is an object with 'data'")
    return number_records(list_of(whole, "data"))


class _Paragraph:
    """A paragraph with its questions, read but not judged."""

    def __init__(self, part: Any) -> None:
        fields = object_of(part, "paragraph")
        self.text = string(fields, "context", LoadError)
        self.asked = list_of(fields, "qas")


def _ask(
    made: EvidenceSetBuilder, doc_id: str, paragraph: _Paragraph, offset: int, *, evidence_of: int | None
) -> list[str]:
    """Ask the questions of a paragraph; `evidence_of` says of how many answers, all where None. Return the odd ones."""
    odd = []
    for number, asked in enumerate(paragraph.asked, 1):
        name = asked.get("id", number) if isinstance(asked, Mapping) else number
        try:
            question, moved = _question(doc_id, paragraph.text, offset, object_of(asked, "question"), evidence_of)
            made.ask(question)
        except LoadError as error:
            odd.append(f"question {name}: {error}; left out")
            continue
        if moved:
            odd.append(f"question {name}: answer stands {moved:+d} characters from its offset; used where it stands")
    return odd


def _question(
    doc_id: str, text: str, offset: int, asked: Mapping[str, Any], evidence_of: int | None
) -> tuple[Question, int]:
    """Return a question, and how far its evidence stands from the offset that the file gives."""
    listed = [] if asked.get("is_impossible") else list_of(asked, "answers")
    answers = [object_of(answer, "answer") for answer in listed]
    places = [_place(text, answer) for answer in answers[:evidence_of]]
    moves = [start - answer["answer_start"] for (start, _), answer in zip(places, answers, strict=False)]
    question = Question(
        str(asked["id"]) if "id" in asked else f"{doc_id}/{offset}/{asked.get('question')}",
        words_of(asked, "question"),
        tuple(Evidence(doc_id, offset + start, offset + end) for start, end in sorted(set(places))),
        within=(doc_id,),
        answers=strings_of({"text": [answer.get("text") for answer in answers]}, "text"),
    )
    return question, next((move for move in moves if move), 0)


def _place(text: str, answer: Mapping[str, Any]) -> tuple[int, int]:
    """Return where an answer stands: at its offset, or near it, as some files are off by a few characters."""
    quote = string(answer, "text", LoadError).strip()
    start = integer(answer.get("answer_start"), "answer_start", LoadError)
    near = max(0, start - _NEAR)
    at = start if text.startswith(quote, start) else text.find(quote, near, start + len(quote) + 2 * _NEAR)
    if not quote or at < 0:
        raise LoadError("answer not at its offset")
    return at, at + len(quote)
