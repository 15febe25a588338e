"""The contextual-embeddings set: questions about source code."""

from __future__ import annotations

from pathlib import Path

from benchmarks.suites.datasets.formats import pair_of, read_list, whole_number
from retrivex.errors import LoadError
from retrivex.evaluation.questions.evidence import Evidence, EvidenceSet, Question
from retrivex.evaluation.questions.fields import list_of, object_of, strings_of, words_of
from retrivex.evaluation.questions.files import Record, read_each, read_lines
from retrivex.evaluation.questions.set_builder import EvidenceSetBuilder
from retrivex.model.serialization import string


def contextual_embeddings(folder: Path) -> EvidenceSet:
    """Read the contextual-embeddings set: source code; the evidence is one or more chunks of a file.

    Source: Anthropic cookbook, "Contextual Embeddings", 2024.
    """
    made = EvidenceSetBuilder("contextual_embeddings")
    where: dict[tuple[str, int], Evidence] = {}

    def place(record: Record) -> None:
        text = words_of(record.fields, "content")
        doc_id, begin = made.document(words_of(record.fields, "doc_id"), text), 0
        for chunk in (object_of(part, "chunk") for part in list_of(record.fields, "chunks")):
            content = string(chunk, "content", LoadError)
            start = text.find(content, begin)
            if start < 0 or not content:
                made.note([f"{chunk.get('chunk_id')}: not in its document; left out"])
                continue
            key = (
                words_of(record.fields, "original_uuid"),
                whole_number(chunk.get("original_index"), "original_index"),
            )
            # white space at its ends is nothing that a context has to show
            low, high = start + len(content) - len(content.lstrip()), start + len(content.rstrip())
            where[key] = Evidence(doc_id, low, max(high, low))
            begin = start

    def read(record: Record) -> None:
        keys = [pair_of(key, "golden_chunk_uuids") for key in list_of(record.fields, "golden_chunk_uuids")]
        gold = [where.get((str(uuid), whole_number(index, "index"))) for uuid, index in keys]
        if None in gold:
            raise LoadError("gold chunk not in the documents")
        evidence = tuple(sorted({part for part in gold if part}))
        answers = strings_of(record.fields, "answer")
        made.ask(Question(str(made.asked), words_of(record.fields, "query"), evidence, answers=answers))

    made.note(read_each(read_list(folder / "codebase_chunks.json"), place))
    made.note(read_each(read_lines(folder / "evaluation_set.jsonl"), read))
    return made.whole()
