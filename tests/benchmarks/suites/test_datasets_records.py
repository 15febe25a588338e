"""Whatever a record holds, a reader uses it or says what is the matter; it never fails on it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.suites import datasets
from benchmarks.suites.datasets.formats import number_records
from retrivex.errors import LoadError
from retrivex.evaluation.questions.evidence import EvidenceSet
from retrivex.evaluation.questions.files import read_lines
from retrivex.evaluation.questions.own import own

LONGBENCH = {
    "input": "Which?",
    "context": "Paragraph 1: Bees.\n\nParagraph 2: Ants.",
    "answers": ["Paragraph 2"],
    "length": 4,
    "dataset": "passage_retrieval_en",
    "language": "en",
    "all_classes": None,
    "_id": "a",
}
HOTPOTQA = {
    "_id": "a",
    "question": "Do bees sleep?",
    "answer": "yes",
    "type": "bridge",
    "level": "hard",
    "supporting_facts": [["Bees", 1]],
    "context": [["Bees", ["Bees live.", " They sleep."]], ["Ants", ["Ants work."]]],
}
LOOGLE = {
    "input": "Bees live in hives. They sleep.",
    "title": "Bees",
    "qa_pairs": [{"Q": "Where?", "A": "hives", "S": "They sleep."}],
    "output": "none",
}
NEEDLE = "One of the special magic numbers for bee-hive is: 42."
RULER = {
    "index": 0,
    "input": "A special magic number is hidden within the following text. Make sure to memorize it. I will quiz you "
    f"about the number afterwards.\nBees. {NEEDLE} Ants.\nWhat is the special magic number for bee-hive mentioned in "
    "the provided text?",
    "outputs": ["42"],
    "length": 40,
}
SQUAD = {
    "title": "Bees",
    "paragraphs": [
        {
            "context": "Bees sleep.",
            "document_id": 1,
            "qas": [{"id": "a", "question": "What?", "answers": [{"text": "sleep", "answer_start": 5}]}],
        }
    ],
}
PASSAGES = {
    "question": "Who sleeps?",
    "answers": ["Bees"],
    "ctxs": [{"title": "Bees", "text": "Bees sleep.", "isgold": True}, {"title": "Ants", "text": "Ants work."}],
}
KEYS = {"ordered_kv_records": [["a", "1"], ["b", "2"]], "key": "b", "value": "2"}
MEETING = {
    "meeting_transcripts": [{"speaker": "A", "content": "Hello."}, {"speaker": "B", "content": "Yes."}],
    "specific_query_list": [{"query": "What?", "answer": "Yes", "relevant_text_span": [["1", "1"]]}],
}
OWN = {
    "id": "a",
    "question": "Do bees sleep?",
    "answers": ["yes"],
    "needed": "any",
    "factors": {"kind": "bees"},
    "documents": ["bees", "ants"],
    "references": ["Ants work."],
    "evidence": [{"quote": "bees sleep"}, {"doc_id": "bees", "start": 0, "end": 4}],
}

Reader = Callable[[Path], EvidenceSet]
LINES: dict[str, tuple[dict[str, Any], Reader]] = {
    "longbench": (LONGBENCH, datasets.longbench),
    "loogle": (LOOGLE, datasets.loogle),
    "ruler": (RULER, datasets.ruler),
    "qmsum": (MEETING, datasets.qmsum),
    "lost_in_the_middle": (PASSAGES, lambda path: datasets.lost_in_the_middle([path])),
    "key_value": (KEYS, datasets.key_value),
    "own": (OWN, lambda path: own(path, {"bees": "Bees sleep.", "ants": "Ants work."})),
}
Maker = Callable[[Iterable[Any]], EvidenceSet]
RECORDS: dict[str, tuple[dict[str, Any], Maker]] = {
    "hotpotqa": (HOTPOTQA, lambda rows: datasets.hotpotqa_records(number_records(rows))),
    "squad": (SQUAD, lambda rows: datasets.squad_articles(number_records(rows))),
    "covid_qa": (SQUAD, lambda rows: datasets.covid_qa_articles(number_records(rows))),
}

anything = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.floats() | st.text(max_size=3) | st.sampled_from(["Bees", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place inside a record."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, part in inside for found in _paths(part, (*path, key)))]


@st.composite
def damaged(draw: st.DrawFn, record: dict[str, Any]) -> Any:
    """A record of which one part is something else, or is not there."""
    path = draw(st.sampled_from(_paths(record)))
    if not path:
        return draw(anything)
    broken = deepcopy(record)
    inside = broken
    for key in path[:-1]:
        inside = inside[key]
    if isinstance(inside, dict) and draw(st.booleans()):
        del inside[path[-1]]
    else:
        inside[path[-1]] = draw(anything)
    return broken


def _use(read: Callable[[], EvidenceSet]) -> None:
    """Read; what no record is left of is one clear error, and what is left out is told."""
    try:
        found = read()
    except LoadError:
        return
    assert found.questions
    assert len({question.question_id for question in found.questions}) == len(found.questions)


@pytest.mark.parametrize("name", LINES)
@given(data=st.data())
def test_a_damaged_line_is_used_or_told(
    name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    record, read = LINES[name]
    broken = data.draw(damaged(record))
    path = tmp_path_factory.getbasetemp() / "niah_single_1.jsonl"
    path.write_text(f"{json.dumps(broken)}\n", encoding="utf-8")
    _use(lambda: read(path))


@pytest.mark.parametrize("name", RECORDS)
@given(data=st.data())
def test_a_damaged_record_is_used_or_told(name: str, data: st.DataObject) -> None:
    record, read = RECORDS[name]
    broken = data.draw(damaged(record))
    _use(lambda: read([broken]))


CODE = {
    "doc_id": "doc_1",
    "original_uuid": "u",
    "content": "x = 1",
    "chunks": [{"chunk_id": "c0", "original_index": 0, "content": "x = 1"}],
}
ASKED = {"query": "What is x?", "answer": "1", "golden_chunk_uuids": [["u", 0]]}


@given(file=damaged(CODE), asked=damaged(ASKED))
def test_damaged_files_of_code_are_used_or_told(
    file: Any, asked: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp()
    for files, questions in (([CODE, file], ASKED), ([CODE], asked), (file, ASKED)):
        (folder / "codebase_chunks.json").write_text(json.dumps(files), encoding="utf-8")
        (folder / "evaluation_set.jsonl").write_text(json.dumps(questions), encoding="utf-8")
        _use(lambda: datasets.contextual_embeddings(folder))


cells = st.sampled_from(
    ["True", "7", "0", "4", "99", "", "x", "[]", "[1]", '[{"start_index": 0, "end_index": 4}]', "bees"]
)


@given(rows=st.lists(st.lists(cells, max_size=8), max_size=4), wide=st.booleans())
def test_damaged_tables_are_used_or_told(
    rows: list[list[str]], wide: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp()
    for inside, name in (("txt_files", "PMC7.txt"), ("corpora", "bees.md")):
        (folder / inside).mkdir(exist_ok=True)
        (folder / inside / name).write_text("Bees sleep.", encoding="utf-8")
    body = "".join(",".join(f"'{cell}'" for cell in row).replace('"', '""').replace("'", '"') + "\n" for row in rows)
    heads = {
        "questions_df.csv": "question,references,corpus_id",
        "v2_annotations.csv": "PromptID,PMCID,Valid Label,Valid Reasoning,Evidence Start,Evidence End,Label",
        "prompts_merged.csv": "PromptID,PMCID,Outcome,Intervention,Comparator",
    }
    for name, head in heads.items():
        (folder / name).write_text(f"{head if wide else head[:20]}\n{body}", encoding="utf-8")
    _use(lambda: datasets.chunking_evaluation(folder))
    _use(lambda: datasets.evidence_inference(folder))


@pytest.mark.parametrize("name", LINES)
def test_bad_lines_are_told_with_their_numbers_and_the_others_are_used(name: str, tmp_path: Path) -> None:
    record, read = LINES[name]
    path = tmp_path / "niah_single_1.jsonl"
    lines = [b"{", json.dumps(record).encode(), b"", b"[1]", b'{"input": "\xff"}']
    path.write_bytes(b"\xef\xbb\xbf" + b"\r\n".join(lines))
    found = read(path)
    assert len(found.questions) == 1
    told = [line.removeprefix(f"{path.name}, ") for line in found.odd]
    assert [line.partition(":")[0] for line in told] == ["line 1", "line 4", "line 5"]
    assert "not JSON" in told[0]
    assert "a list" in told[1]
    assert "UTF-8" in told[2]


@pytest.mark.parametrize("name", LINES)
def test_a_file_of_bad_lines_only_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "niah_single_1.jsonl"
    path.write_text("{\n[]\n", encoding="utf-8")
    with pytest.raises(LoadError, match=r"of 2 malformed records the first is .*line 1: a line that is not JSON"):
        LINES[name][1](path)
    path.write_text("\n", encoding="utf-8")
    with pytest.raises(LoadError, match="there is no record"):
        LINES[name][1](path)


def test_a_broken_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(b"no archive")
    with pytest.raises(LoadError, match="cannot be read"):
        list(read_lines(path))
