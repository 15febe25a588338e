"""A user's own questions for evaluation: JSON Lines, with a folder of documents, documents or reference passages."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from retrivex.errors import LoadError, quoted
from retrivex.evaluation.questions.evidence import Evidence, EvidenceSet, Factor, Question
from retrivex.evaluation.questions.fields import list_of, object_of, strings_of, words_of
from retrivex.evaluation.questions.files import Record, read_each, read_lines
from retrivex.evaluation.questions.labelled import FORMS, EvidenceFinder
from retrivex.evaluation.questions.set_builder import EvidenceSetBuilder
from retrivex.loading import SUPPORTED_SUFFIXES, LoadProblem, document_from_dict, load_documents
from retrivex.loading.report import describe_kinds
from retrivex.model.serialization import as_text, is_finite

Documents: TypeAlias = Mapping[str, str] | str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""Texts by their names, or files and folders."""


def own(path: str | Path, documents: Documents | None = None) -> EvidenceSet:
    r"""Read a user's own questions, one JSON object a line.

    A line holds `question` and what is known of it: `answers` (or `answer`), `evidence` in one of the forms of
    `labelled.FORMS` (an empty list: nothing answers), or `references`, passages that answer it, as texts. It may hold
    `id`, `documents` (see Notes), `needed` ("any" of the answers will do, or "all" have to be given) and `factors`, an
    object by whose values results are grouped. Other keys are passed over.

    Parameters
    ----------
    path : the questions
    documents : what is searched for questions that bring no documents of their own

    Notes
    -----
    `documents` of a line are texts, objects with `doc_id` and `text`, an object of texts by name, or names of the
    documents given to this function; the question is asked of these alone. Where there are documents, `references`
    are looked for in them like quotes. Where there are none, the references of all lines are the documents, and those
    of a line its evidence, unless it has `evidence`, too.

    A line that cannot be used is left out as a whole and reported in `odd` with its number; so is a document that
    cannot be read.

    Raises
    ------
    LoadError
        If the file or no line of it can be used.
    """
    made = EvidenceSetBuilder(Path(path).name.partition(".")[0])
    reading = _LineReader(made, _read_shared(made, documents))
    made.note(read_each(read_lines(Path(path)), reading.read))
    return reading.whole()


def _read_shared(made: EvidenceSetBuilder, documents: Documents | None) -> dict[str, str]:
    """Return the texts of the documents that all questions share, by name."""
    if documents is None:
        return {}
    if isinstance(documents, Mapping):
        return {made.document(name, text): text for name, text in documents.items()}
    roots = [Path(root) for root in ([documents] if isinstance(documents, str | os.PathLike) else documents)]
    loaded, report = load_documents(roots)
    made.note(f"{_describe_problem(problem, roots)}; left out" for problem in report.problems)
    made.note(_describe_problem(note, roots) for note in report.notes)
    if report.passed_over:
        made.note([f"{describe_kinds(report.passed_over)} passed over"])
    if not loaded:
        why = f": {report.problems[0] if report.problems else report.summary()}"
        raise LoadError(f"documents {documents!s} hold none that can be read{why}")
    return {made.document(document.doc_id, document.text): document.text for document in loaded}


def _describe_problem(problem: LoadProblem, roots: Sequence[Path]) -> str:
    """Return what there is to say of a file, by its name in the folder given: malformed records stand in manifests."""
    path = Path(problem.path)
    inside = [path.relative_to(root).as_posix() for root in roots if path != root and path.is_relative_to(root)]
    name = inside[0] if inside else path.name or problem.path
    return f"document {name}: {problem.reason.replace(problem.path, name)}"


class _LineReader:
    """Reads the lines of a file; equal passages without a name become one document."""

    def __init__(self, made: EvidenceSetBuilder, shared: Mapping[str, str]) -> None:
        self._made = made
        self._shared = shared
        self._finder = EvidenceFinder(shared)
        self._nameless: dict[str, str] = {}
        self._questions: list[tuple[str, Question]] = []
        self._common = dict.fromkeys(shared)  # documents of every question that brings none of its own

    def read(self, record: Record) -> None:
        """Take down the question of a line."""
        fields = record.fields
        brought = self._read_documents(record)
        references = strings_of(fields, "references")
        searched = brought or self._shared
        own_documents = brought if searched else self._name_passages(record, references, "reference")
        claims = _claims(fields, references if searched else (), {} if searched else own_documents)
        evidence = self._find_evidence(claims, own_documents)
        question = Question(
            _name(fields, record.name),
            words_of(fields, "question"),
            (),
            answers=_answers(fields),
            needed=_read_needed(fields),
            factors=_factors(fields),
        )
        self._made.ask(question)
        # documents are added only now, so that a line which is left out leaves none behind
        names = {name: self._made.document(name, text) for name, text in own_documents.items()}
        if not brought:
            self._common.update(dict.fromkeys(names.values()))
        placed = sorted({replace(part, doc_id=names.get(part.doc_id, part.doc_id)) for part in evidence})
        within = tuple(names[name] for name in brought)
        self._questions.append((record.place, replace(question, evidence=tuple(placed), within=within)))

    def _read_documents(self, record: Record) -> dict[str, str]:
        """Return the texts of the documents that a line names or holds, by name."""
        given = record.fields.get("documents")
        if given is None:
            return {}
        if isinstance(given, Mapping):
            return {name: _read_searchable(as_text(text, "documents", LoadError)) for name, text in given.items()}
        texts = {}
        for part in list_of(record.fields, "documents"):
            if isinstance(part, str) and part in self._shared:
                texts[part] = self._shared[part]
            elif isinstance(part, str) and self._shared and _is_file_name(part):
                raise LoadError(
                    f"documents name {quoted(part)}, which is not there: check its name; a text that ends so goes into "
                    "doc_id and text"
                )
            elif isinstance(part, str):
                texts.update(self._name_passages(record, [part], f"document-{len(texts) + 1}"))
            else:
                document = document_from_dict(object_of(part, "document"))
                if texts.setdefault(document.doc_id, document.text) != document.text:
                    raise LoadError(f"documents hold {document.doc_id!r} twice, with two texts: give each a name")
        return texts

    def _name_passages(self, record: Record, texts: Iterable[str], kind: str) -> dict[str, str]:
        """Return passages by a name that equal ones share."""
        return {
            self._nameless.setdefault(
                _read_searchable(text), f"{record.name}/{kind}{f'-{number}' if number else ''}"
            ): text
            for number, text in enumerate(texts)
        }

    def _find_evidence(self, claims: Sequence[Any], documents: Mapping[str, str]) -> list[Evidence]:
        if claims and not documents and not self._shared:
            raise LoadError("there are no documents to find the evidence in: give them, or references")
        finder = EvidenceFinder(documents) if documents else self._finder
        return [finder.find(claim) for claim in claims]

    def whole(self) -> EvidenceSet:
        """Return the set; questions without documents of their own are asked of those that all share."""
        made = self._made.whole()
        apart = any(question.within for _, question in self._questions)
        common = tuple(self._common)
        questions = [
            replace(question, within=common) if apart and not question.within else question
            for _, question in self._questions
            if question.within or common
        ]
        lost = [place for place, question in self._questions if not question.within and not common]
        if not questions:
            raise LoadError(f"{made.name} has no documents to search: give a folder of them, or them in the lines")
        odd = (*made.odd, *(f"{place}: there are no documents to search; left out" for place in lost))
        return replace(made, questions=tuple(questions), odd=odd)


def _name(fields: Mapping[str, Any], place: str) -> str:
    given = fields.get("id")
    if given is None:
        return place
    if isinstance(given, bool) or not isinstance(given, str | int) or not str(given).strip():
        raise LoadError(f"id is {given!r}: it must be a text or a whole number")
    return as_text(str(given), "id", LoadError)


def _answers(fields: Mapping[str, Any]) -> tuple[str, ...]:
    return strings_of(fields, "answers") or strings_of(fields, "answer")


def _claims(fields: Mapping[str, Any], quoted: Sequence[str], whole: Mapping[str, str]) -> list[Any]:
    """Return the evidence of a line as claims: as given, and references as quotes or whole documents."""
    given = list_of(fields, "evidence") if fields.get("evidence") is not None else None
    if given is None and not quoted and not whole and not _answers(fields):
        raise LoadError(
            f"there are no answers, references or evidence: give one of them, evidence as a list of {FORMS}, empty "
            "where nothing answers"
        )
    if given is None and whole:
        return [{"doc_id": name, "start": 0, "end": len(text)} for name, text in whole.items()]
    return [*(given or ()), *({"quote": text} for text in quoted)]


def _is_file_name(text: str) -> bool:
    return len(text.splitlines()) == 1 and Path(text).suffix.lower() in SUPPORTED_SUFFIXES


def _read_searchable(text: str) -> str:
    if not text.strip():
        raise LoadError("documents or references hold a blank text: leave it out")
    return text


def _read_needed(fields: Mapping[str, Any]) -> Literal["any", "all"]:
    needed = fields.get("needed", "any")
    if needed not in ("any", "all"):
        raise LoadError(f"needed is {needed!r}: it must be 'any' or 'all' of the answers")
    return "all" if needed == "all" else "any"


def _factors(fields: Mapping[str, Any]) -> dict[str, Factor]:
    given = object_of(fields.get("factors") or {}, "factors")
    for name, value in given.items():
        if isinstance(value, str):
            as_text(value, f"factor {name!r}", LoadError)
        elif not isinstance(value, int | float) or not is_finite(value):
            raise LoadError(f"factors have {name!r} = {quoted(value)}: each must be a text or a finite number")
        as_text(name, f"factor {name!r}", LoadError)
    return dict(given)
