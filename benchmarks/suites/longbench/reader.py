"""LongBench and LongBench-E: one long context to each question, in English, Chinese or code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from retrivex.errors import LoadError
from retrivex.evaluation.questions.evidence import Evidence, EvidenceSet, Factor, Question
from retrivex.evaluation.questions.fields import strings_of, words_of
from retrivex.evaluation.questions.files import AnyRecord, Record, read_each, read_lines
from retrivex.evaluation.questions.set_builder import EvidenceSetBuilder
from retrivex.model.serialization import string
from retrivex.text.sentences import trim_range

TASKS_WITHOUT_QUESTION: Mapping[str, str] = {
    "gov_report": "Write a one-page summary of the report.",
    "multi_news": "Write a one-page summary of all the news.",
    "vcsum": "写一段总结，总结会议的内容。",
    "passage_count": "How many unique paragraphs are there after removing duplicates?",
    "lcc": "Complete the code.",
}
"""What is asked where `input` is blank: the tasks' own prompts in short."""

_HEAD = re.compile(r"^(Paragraph \d+|Passage \d+|段落\d+)[:：]", re.MULTILINE)


def longbench(path: Path) -> EvidenceSet:
    """Read a file of LongBench or LongBench-E, JSON Lines as published.

    A context is one document, untouched, and shared by the questions asked of it. There is no evidence but in the
    tasks passage_retrieval, whose answer names a paragraph of the context: the evidence is that paragraph. Source: Bai
    et al., "LongBench", ACL 2024.
    """
    return longbench_records(read_lines(path), path.name.partition(".")[0])


def longbench_records(records: Iterable[AnyRecord], task: str) -> EvidenceSet:
    """Make a set of records in LongBench's layout; see `longbench`.

    Parameters
    ----------
    records : `input`, `context`, `answers`, `length`, `dataset`, `language`, `all_classes`, `_id`
    task : its name where a record does not say `dataset`
    """
    made = EvidenceSetBuilder(f"longbench/{task}")
    names: dict[str, str] = {}

    def read(record: Record) -> None:
        fields = record.fields
        question_id = str(fields.get("_id") or record.name)
        context = words_of(fields, "context")
        named = str(fields.get("dataset") or task)
        text = string(fields, "input", LoadError).strip() or TASKS_WITHOUT_QUESTION.get(named, "")
        if not text:
            raise LoadError(f"input is blank, and task {named!r} is none of those without a question")
        answers = strings_of(fields, "answers")
        if not answers:
            raise LoadError("answers are missing: nothing can be measured without")
        doc_id = made.document(names.setdefault(context, f"context-{len(names)}"), context)
        evidence = _paragraph(doc_id, context, answers) if named.startswith("passage_retrieval") else ()
        factors = {"task": named, **_factors(fields)}
        made.ask(Question(question_id, text, evidence, within=(doc_id,), answers=answers, factors=factors))

    made.note(read_each(records, read))
    return made.whole()


def _factors(fields: Mapping[str, Any]) -> dict[str, Factor]:
    """Return the language, the length in words (English, code) or characters (Chinese), and classes, one a line."""
    found: dict[str, Factor] = {
        key: fields[key] for key in ("language", "length") if isinstance(fields.get(key), str | int)
    }
    classes = strings_of(fields, "all_classes")
    return {**found, "all_classes": "\n".join(classes)} if classes else found


def _paragraph(doc_id: str, context: str, answers: tuple[str, ...]) -> tuple[Evidence, ...]:
    """Return the paragraph that the answer names, without its head."""
    heads = list(_HEAD.finditer(context))
    edges = [*(head.start() for head in heads), len(context)]
    found = [(head.end(), edges[number]) for number, head in enumerate(heads, 1) if head[1] in answers]
    if len(found) != 1:
        raise LoadError(f"paragraph {answers[0]!r} stands {len(found)} times in the context: it must stand there once")
    start, end = trim_range(context, *found[0])
    return (Evidence(doc_id, start, end),)
