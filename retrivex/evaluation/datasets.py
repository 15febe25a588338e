"""Readers of public question sets with exact evidence, in their official layouts.

Each reader takes the folder or file as published and returns an `EvidenceSet`. Offsets count characters, so files are
read without newline translation. Records that had to be repaired or left out are listed in `EvidenceSet.odd`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from retrivex.errors import LoadError
from retrivex.evaluation.evidence import Evidence, EvidenceSet, Question

csv.field_size_limit(2**31 - 1)

_NEAR = 8  # characters that a quoted answer may stand away from its offset


def _text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise LoadError(f"{path} cannot be read ({error}): see the set's own page for its files") from error


def _rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(_text(path), newline="")))


def _json(path: Path) -> Any:
    try:
        return json.loads(_text(path))
    except json.JSONDecodeError as error:
        raise LoadError(f"{path} is not JSON ({error})") from error


def _jsonl(path: Path) -> list[Any]:
    try:
        return [json.loads(line) for line in _text(path).split("\n") if line.strip()]
    except json.JSONDecodeError as error:
        raise LoadError(f"{path} holds a line that is not JSON ({error})") from error


def chunking_evaluation(folder: Path) -> EvidenceSet:
    """Read chunking_evaluation: long texts, often several passages to a question.

    Source: Smith & Troynikov, "Evaluating Chunking Strategies for Retrieval", Chroma 2024.
    """
    documents = {path.stem: _text(path) for path in sorted((folder / "corpora").glob("*.md"))}
    questions, odd = [], []
    for number, row in enumerate(_rows(folder / "questions_df.csv")):
        doc_id = row["corpus_id"]
        if doc_id not in documents:
            odd.append(f"question {number}: corpus {doc_id!r} is not there; left out")
            continue
        evidence = tuple(
            Evidence(doc_id, part["start_index"], part["end_index"]) for part in json.loads(row["references"])
        )
        questions.append(Question(f"{doc_id}/{number}", row["question"], evidence, within=(doc_id,)))
    return EvidenceSet("chunking_evaluation", documents, tuple(questions), tuple(odd))


def evidence_inference(folder: Path) -> EvidenceSet:
    """Read Evidence Inference 2.0: whole medical articles, one or more passages to a question.

    Annotations that their reviewers found invalid are left out. Source: DeYoung et al., "Evidence Inference 2.0", 2020.
    """
    documents = {path.stem[3:]: _text(path) for path in sorted((folder / "txt_files").glob("PMC*.txt"))}
    found: dict[str, set[Evidence]] = {}
    odd = []
    for row in _rows(folder / "v2_annotations.csv"):
        if row["Valid Label"] != "True" or row["Valid Reasoning"] != "True":
            continue
        start, end = int(row["Evidence Start"]), int(row["Evidence End"])
        if row["PMCID"] in documents and 0 <= start < end:
            found.setdefault(row["PromptID"], set()).add(Evidence(row["PMCID"], start, end))
        else:
            odd.append(f"prompt {row['PromptID']}: no article or no range ({start}-{end}); annotation left out")
    questions = [
        Question(
            row["PromptID"],
            f"With respect to {row['Outcome']}, what is the reported difference between patients receiving "
            f"{row['Intervention']} and those receiving {row['Comparator']}?",
            tuple(sorted(found[row["PromptID"]])),
            within=(row["PMCID"],),
        )
        for row in _rows(folder / "prompts_merged.csv")
        if row["PromptID"] in found
    ]
    return EvidenceSet("evidence_inference", documents, tuple(questions), tuple(odd))


def _squad_answer(text: str, answer: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return where an answer stands: at its offset, or near it, as some files are off by a few characters."""
    quote = answer["text"].strip()
    start = answer["answer_start"]
    near = max(0, start - _NEAR)
    at = start if text.startswith(quote, start) else text.find(quote, near, start + len(quote) + 2 * _NEAR)
    return (at, at + len(quote)) if quote and at >= 0 else None


def covid_qa(path: Path) -> EvidenceSet:
    """Read COVID-QA: whole articles in SQuAD's layout. Source: Möller et al., 2020."""
    documents: dict[str, str] = {}
    questions, odd = [], []
    for article in _json(path)["data"]:
        for paragraph in article["paragraphs"]:
            doc_id, text = str(paragraph["document_id"]), paragraph["context"]
            documents[doc_id] = text
            for asked in paragraph["qas"]:
                found = [_squad_answer(text, answer) for answer in asked["answers"]]
                if None in found:
                    odd.append(f"question {asked['id']}: answer not at its offset; left out")
                    continue
                evidence = tuple(sorted({Evidence(doc_id, *part) for part in found if part}))
                questions.append(Question(str(asked["id"]), asked["question"], evidence, within=(doc_id,)))
    return EvidenceSet("covid_qa", documents, tuple(questions), tuple(odd))


def squad(path: Path) -> EvidenceSet:
    """Read a file of SQuAD 1.1 or 2.0: an article is its paragraphs joined by blank lines.

    The evidence is the first answer, as the others are other annotators' words for the same. Questions without an
    answer have no evidence. Source: Rajpurkar et al., 2018.
    """
    documents: dict[str, str] = {}
    questions, odd = [], []
    for article in _json(path)["data"]:
        doc_id, offset = article["title"], 0
        documents[doc_id] = "\n\n".join(paragraph["context"] for paragraph in article["paragraphs"])
        for paragraph in article["paragraphs"]:
            for asked in paragraph["qas"]:
                answers = [] if asked.get("is_impossible") else asked["answers"][:1]
                found = [_squad_answer(paragraph["context"], answer) for answer in answers]
                if None in found:
                    odd.append(f"question {asked['id']}: answer not at its offset; left out")
                    continue
                evidence = tuple(Evidence(doc_id, offset + part[0], offset + part[1]) for part in found if part)
                questions.append(Question(asked["id"], asked["question"], evidence, within=(doc_id,)))
            offset += len(paragraph["context"]) + len("\n\n")
    return EvidenceSet("squad", documents, tuple(questions), tuple(odd))


def qmsum(path: Path) -> EvidenceSet:
    """Read QMSum's specific questions: meetings, a line for each turn, wide runs of turns as evidence.

    Source: Zhong et al., "QMSum", 2021.
    """
    documents: dict[str, str] = {}
    questions, odd = [], []
    for number, meeting in enumerate(_jsonl(path)):
        doc_id = f"meeting-{number}"
        lines = [f"{turn['speaker']}: {turn['content']}\n" for turn in meeting["meeting_transcripts"]]
        edges = [0]
        for line in lines:
            edges.append(edges[-1] + len(line))
        documents[doc_id] = "".join(lines)
        for index, asked in enumerate(meeting["specific_query_list"]):
            turns = [(int(first), int(last)) for first, last in asked["relevant_text_span"]]
            if any(not 0 <= first <= last < len(lines) for first, last in turns):
                odd.append(f"{doc_id}, question {index}: turns {turns} of {len(lines)}; left out")
                continue
            # without the line break behind the last turn, which no context needs to hold
            evidence = tuple(Evidence(doc_id, edges[first], edges[last + 1] - 1) for first, last in turns)
            questions.append(Question(f"{doc_id}/{index}", asked["query"], evidence, within=(doc_id,)))
    return EvidenceSet("qmsum", documents, tuple(questions), tuple(odd))


def contextual_embeddings(folder: Path) -> EvidenceSet:
    """Read the contextual-embeddings set: source code; the evidence is one or more chunks of a file.

    Source: Anthropic cookbook, "Contextual Embeddings", 2024.
    """
    documents: dict[str, str] = {}
    where: dict[tuple[str, int], Evidence] = {}
    odd = []
    for file in _json(folder / "codebase_chunks.json"):
        doc_id, text = file["doc_id"], file["content"]
        documents[doc_id] = text
        begin = 0
        for chunk in file["chunks"]:
            start = text.find(chunk["content"], begin)
            if start < 0 or not chunk["content"]:
                odd.append(f"{chunk['chunk_id']}: not in its document; left out")
                continue
            where[file["original_uuid"], chunk["original_index"]] = Evidence(
                doc_id, start, start + len(chunk["content"])
            )
            begin = start
    questions = []
    for number, asked in enumerate(_jsonl(folder / "evaluation_set.jsonl")):
        gold = [where.get((uuid, index)) for uuid, index in asked["golden_chunk_uuids"]]
        if None in gold:
            odd.append(f"question {number}: gold chunk not in the documents; left out")
            continue
        evidence = tuple(sorted({part for part in gold if part}))
        questions.append(Question(str(number), asked["query"], evidence))
    return EvidenceSet("contextual_embeddings", documents, tuple(questions), tuple(odd))


# name -> reader and where its files lie in the data folder
READERS: Mapping[str, tuple[Callable[[Path], EvidenceSet], str]] = {
    "chunking_evaluation": (chunking_evaluation, "chunking_evaluation"),
    "evidence_inference": (evidence_inference, "evidence_inference"),
    "covid_qa": (covid_qa, "covid_qa/200423_covidQA.subset.json"),
    "qmsum": (qmsum, "qmsum/val.jsonl"),
    "squad": (squad, "squad/dev-v2.0.subset.json"),
    "contextual_embeddings": (contextual_embeddings, "contextual_embeddings"),
}


def load_sets(data: Path, names: tuple[str, ...] = tuple(READERS)) -> Iterator[EvidenceSet]:
    """Yield the named sets out of a folder that holds each in its published layout.

    Raises
    ------
    LoadError
        If a name is unknown or a file is missing or broken.
    """
    for name in names:
        if name not in READERS:
            raise LoadError(f"evaluation set {name!r} is unknown: choose from {', '.join(READERS)}")
        reader, where = READERS[name]
        yield reader(data / where)
