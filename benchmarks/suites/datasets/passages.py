"""Sets that give passages of long documents by their offsets: chunking_evaluation and Evidence Inference."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.suites.datasets.formats import number_records, read_csv, read_text, whole_number
from retrivex.errors import LoadError
from retrivex.evaluation.questions.evidence import Evidence, EvidenceSet, Question
from retrivex.evaluation.questions.fields import list_of, object_of, words_of
from retrivex.evaluation.questions.files import AnyRecord, Record, read_each
from retrivex.evaluation.questions.set_builder import EvidenceSetBuilder

# one of the labels is spelt in two ways
_LABELS = {"significantly increase": "significantly increased"}


def chunking_evaluation(folder: Path) -> EvidenceSet:
    """Read chunking_evaluation: long texts, often several passages to a question.

    Source: Smith & Troynikov, "Evaluating Chunking Strategies for Retrieval", Chroma 2024.
    """
    made = EvidenceSetBuilder("chunking_evaluation")
    texts = _documents(made, (folder / "corpora").glob("*.md"), "")
    numbers = count()

    def read(record: Record) -> None:
        number, doc_id = next(numbers), words_of(record.fields, "corpus_id")
        if doc_id not in texts:
            raise LoadError(f"corpus {doc_id!r} is not there")
        parts = [object_of(part, "references") for part in _references(record.fields)]
        evidence = tuple(_evidence(doc_id, texts, part.get("start_index"), part.get("end_index")) for part in parts)
        made.ask(Question(f"{doc_id}/{number}", words_of(record.fields, "question"), evidence, within=(doc_id,)))

    made.note(read_each(_rows(folder / "questions_df.csv"), read))
    return made.whole()


def _documents(made: EvidenceSetBuilder, paths: Iterable[Path], prefix: str) -> dict[str, str]:
    """Return the texts of files by their names without the prefix; those that cannot be used are told."""
    texts: dict[str, str] = {}
    for path in sorted(paths):
        try:
            text = read_text(path)
            texts[made.document(path.stem.removeprefix(prefix), text)] = text
        except LoadError as error:
            made.note([f"{path.name}: {error}; left out"])
    return texts


def _references(fields: Mapping[str, Any]) -> list[Any]:
    try:
        return list_of({"references": json.loads(words_of(fields, "references"))}, "references")
    except json.JSONDecodeError as error:
        raise LoadError(f"references are not JSON ({error})") from error


def _evidence(doc_id: str, texts: Mapping[str, str], start: Any, end: Any) -> Evidence:
    first, last = whole_number(start, "start"), whole_number(end, "end")
    if doc_id not in texts or not 0 <= first < last <= len(texts[doc_id]):
        raise LoadError(f"no document {doc_id!r}, or no range in it ({first}-{last})")
    return Evidence(doc_id, first, last)


def evidence_inference(folder: Path) -> EvidenceSet:
    """Read Evidence Inference 2.0: whole medical articles, one or more passages to a question.

    Annotations that their reviewers found invalid are left out. The answers are the labels of the others, about which
    annotators may disagree. Source: DeYoung et al., "Evidence Inference 2.0", 2020.
    """
    made = EvidenceSetBuilder("evidence_inference")
    texts = _documents(made, (folder / "txt_files").glob("PMC*.txt"), "PMC")
    found: dict[str, set[Evidence]] = {}
    labels: dict[str, dict[str, None]] = {}

    def annotate(record: Record) -> None:
        row = record.fields
        if row.get("Valid Label") != "True" or row.get("Valid Reasoning") != "True":
            return
        prompt = words_of(row, "PromptID")
        part = _evidence(words_of(row, "PMCID"), texts, row.get("Evidence Start"), row.get("Evidence End"))
        found.setdefault(prompt, set()).add(part)
        if label := row.get("Label"):
            labels.setdefault(prompt, {})[_LABELS.get(label, label)] = None

    def ask(record: Record) -> None:
        row, prompt = record.fields, words_of(record.fields, "PromptID")
        if prompt not in found:
            return
        text = (
            f"With respect to {words_of(row, 'Outcome')}, what is the reported difference between patients receiving "
            f"{words_of(row, 'Intervention')} and those receiving {words_of(row, 'Comparator')}?"
        )
        within, answers = (words_of(row, "PMCID"),), tuple(labels.get(prompt, ()))
        made.ask(Question(prompt, text, tuple(sorted(found[prompt])), within=within, answers=answers))

    made.note(f"annotations, {line}" for line in read_each(_rows(folder / "v2_annotations.csv"), annotate))
    made.note(f"prompts, {line}" for line in read_each(_rows(folder / "prompts_merged.csv"), ask))
    return made.whole()


def _rows(path: Path) -> Iterator[AnyRecord]:
    return number_records(read_csv(path))
