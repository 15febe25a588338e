"""A user's own questions for evaluation: JSON Lines, with the documents that they are about."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from retrivex.errors import LoadError, quoted
from retrivex.evaluation.questions.evidence import EvidenceSet, Factor, Question
from retrivex.evaluation.questions.fields import list_of, object_of, strings_of, words_of
from retrivex.evaluation.questions.files import Record, read_each, read_lines
from retrivex.evaluation.questions.labelled import FORMS, EvidenceFinder
from retrivex.evaluation.questions.set_builder import EvidenceSetBuilder
from retrivex.loading import LoadProblem, load_documents
from retrivex.loading.report import describe_kinds
from retrivex.model.serialization import as_text, is_finite

Documents: TypeAlias = Mapping[str, str] | str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""Texts by their names, or files and folders."""


def own(path: str | Path, documents: Documents) -> EvidenceSet:
    r"""Read a user's own questions, one JSON object a line.

    A line holds `question` and what is known of it: `answers` (or `answer`), `evidence` in one of the forms of
    `labelled.FORMS` (an empty list: nothing answers), or `references`, passages that answer it, as texts that are
    looked for like quotes. It may hold `id`, `documents` (names of those that it is asked of alone), `needed` ("any" of
    the answers will do, or "all" have to be given) and `factors`, an object by whose values results are grouped. Other
    keys are passed over.

    Parameters
    ----------
    path : the questions
    documents : what is searched

    Notes
    -----
    A line that cannot be used is left out as a whole and reported in `odd` with its number; so is a document that
    cannot be read.

    Raises
    ------
    LoadError
        If the file or no line of it can be used.
    """
    made = EvidenceSetBuilder(Path(path).name.partition(".")[0])
    texts = _read_documents(made, documents)
    finder = EvidenceFinder(texts)
    made.note(read_each(read_lines(Path(path)), lambda record: made.ask(_question(record, texts, finder))))
    return made.whole()


def _read_documents(made: EvidenceSetBuilder, documents: Documents) -> dict[str, str]:
    """Return the texts of the documents by name."""
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


def _question(record: Record, texts: Mapping[str, str], finder: EvidenceFinder) -> Question:
    fields = record.fields
    return Question(
        _name(fields, record.name),
        words_of(fields, "question"),
        tuple(sorted(set(map(finder.find, _claims(fields))))),
        within=_within(fields, texts),
        answers=_answers(fields),
        needed=_read_needed(fields),
        factors=_factors(fields),
    )


def _within(fields: Mapping[str, Any], texts: Mapping[str, str]) -> tuple[str, ...]:
    """Return the documents that a line is asked of alone; empty for all."""
    names = strings_of(fields, "documents")
    for name in names:
        if name not in texts:
            raise LoadError(f"documents name {quoted(name)}, which is not there: check its name")
    return names


def _name(fields: Mapping[str, Any], place: str) -> str:
    given = fields.get("id")
    if given is None:
        return place
    if isinstance(given, bool) or not isinstance(given, str | int) or not str(given).strip():
        raise LoadError(f"id is {given!r}: it must be a text or a whole number")
    return as_text(str(given), "id", LoadError)


def _answers(fields: Mapping[str, Any]) -> tuple[str, ...]:
    return strings_of(fields, "answers") or strings_of(fields, "answer")


def _claims(fields: Mapping[str, Any]) -> list[Any]:
    """Return the evidence of a line as claims: as given, and references as quotes."""
    references = strings_of(fields, "references")
    if fields.get("evidence") is None and not references and not _answers(fields):
        raise LoadError(
            f"there are no answers, references or evidence: give one of them, evidence as a list of {FORMS}, empty "
            "where nothing answers"
        )
    given = list_of(fields, "evidence") if fields.get("evidence") is not None else []
    return [*given, *({"quote": text} for text in references)]


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
