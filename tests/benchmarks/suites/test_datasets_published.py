"""The public files, where they are there: as many questions, passages and mismatches as were counted in them."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

from benchmarks.suites import datasets
from benchmarks.suites.datasets.letters import LetterIndex
from retrivex.errors import LoadError
from retrivex.evaluation.questions.evidence import EvidenceSet

# name -> documents, questions, passages of evidence, odd records
COUNTED = {
    "chunking_evaluation": (3, 276, 452, 0),
    "evidence_inference": (160, 420, 619, 0),
    "covid_qa": (60, 911, 911, 38),
    "qmsum": (35, 237, 248, 0),
    "squad": (5, 1407, 705, 0),
    "xquad": (48, 1190, 1190, 0),
    "contextual_embeddings": (90, 248, 306, 0),
    "hotpotqa": (600, 60, 152, 0),
    "loogle/shortdep_qa": (5, 80, 75, 6),
    "loogle/longdep_qa": (5, 43, 29, 30),
    "longbench/multifieldqa_zh": (63, 90, 0, 0),
    "longbench/multi_news": (60, 60, 0, 0),
    "longbench/passage_retrieval_zh": (80, 80, 80, 0),
    "lost_in_the_middle/oracle": (1374, 1400, 1400, 0),
    "lost_in_the_middle/10/4": (992, 200, 200, 0),
    "lost_in_the_middle/20": (1232, 600, 600, 0),
    "lost_in_the_middle/30/29": (1321, 200, 200, 0),
    "key_value/75": (200, 200, 200, 0),
    "key_value/140/139": (200, 200, 200, 0),
    "ruler_reference/niah_multikey_3/4096": (60, 60, 60, 0),
}


def quoted(found: EvidenceSet) -> list[list[str]]:
    return [
        [found.documents[part.doc_id][part.start : part.end] for part in question.evidence]
        for question in found.questions
    ]


def skip_without(data_dir: Path, *names: str) -> None:
    """Skip where the folder of real texts is there but not these sets."""
    if missing := {name.partition("/")[0] for name in names} - {
        name.partition("/")[0] for name in datasets.available(data_dir)
    }:
        pytest.skip(f"not in the folder of real texts: {', '.join(sorted(missing))}")


@pytest.mark.parametrize("name", COUNTED)
def test_the_published_files(name: str, data_dir: Path) -> None:
    skip_without(data_dir, name)
    found = datasets.load_set(name, data_dir)
    passages = sum(len(question.evidence) for question in found.questions)
    assert (len(found.documents), len(found.questions), passages, len(found.odd)) == COUNTED[name]
    assert found.name == name
    assert len({question.question_id for question in found.questions}) == len(found.questions)
    if name not in datasets.READERS:  # those are as published
        assert all(text.strip() == text for parts in quoted(found) for text in parts)


def test_every_set_that_is_there_can_be_read(data_dir: Path) -> None:
    listed = datasets.available(data_dir)
    if not listed:
        pytest.skip("no set in the folder of real texts")
    assert len(set(listed)) == len(listed)
    assert {name.partition("/")[0] for name in listed} <= set(datasets.FAMILIES)


def test_evidence_of_published_files_is_where_they_say(data_dir: Path) -> None:
    skip_without(data_dir, "covid_qa")
    found = datasets.load_set("covid_qa", data_dir)
    articles = json.loads((data_dir / "covid_qa" / "200423_covidQA.subset.json").read_text(encoding="utf-8"))["data"]
    answers = {
        str(asked["id"]): asked["answers"][0]["text"].strip()
        for article in articles
        for asked in article["paragraphs"][0]["qas"]
    }
    assert quoted(found) == [[answers[question.question_id]] for question in found.questions]
    assert all(question.answers == (answers[question.question_id],) for question in found.questions)


@pytest.mark.parametrize("name", ["lost_in_the_middle/20/9", "key_value/75", "ruler_reference/niah_multikey_3/4096"])
def test_answers_stand_in_the_evidence(name: str, data_dir: Path) -> None:
    skip_without(data_dir, name)
    found = datasets.load_set(name, data_dir)
    for question, parts in zip(found.questions, quoted(found), strict=True):
        letters = [re.sub(r"\W", "", part).casefold() for part in parts]
        assert any(re.sub(r"\W", "", answer).casefold() in part for answer in question.answers for part in letters)


def test_places_of_the_gold_passage_are_those_of_the_files(data_dir: Path) -> None:
    skip_without(data_dir, "lost_in_the_middle/20")
    found = datasets.load_set("lost_in_the_middle/20", data_dir)
    for question in found.questions:
        assert question.within.index(question.evidence[0].doc_id) == question.factors["gold_at"]
        assert len(question.within) == question.factors["documents"] == 20


@pytest.mark.parametrize(("task", "quotes", "whole", "by_letters"), [("short", 80, 61, 73), ("long", 124, 52, 64)])
def test_quotes_are_found_as_often_as_counted(
    task: str, quotes: int, whole: int, by_letters: int, data_dir: Path
) -> None:
    skip_without(data_dir, "loogle")
    given = verbatim = found = 0
    for line in (data_dir / "loogle" / f"{task}dep_qa.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        index = LetterIndex(record["input"])
        for asked in ast.literal_eval(record["qa_pairs"]):
            for quote in [asked["S"]] if isinstance(asked["S"], str) else asked["S"]:
                given += 1
                verbatim += quote in record["input"]
                found += index.find(quote) is not None
    assert (given, verbatim, found) == (quotes, whole, by_letters)


def test_paragraphs_of_passage_retrieval_begin_behind_their_heads(data_dir: Path) -> None:
    skip_without(data_dir, "longbench/passage_retrieval_zh")
    found = datasets.load_set("longbench/passage_retrieval_zh", data_dir)
    for question in found.questions:
        (part,) = question.evidence
        assert found.documents[part.doc_id][: part.start].endswith(f"{question.answers[0]}：")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("bees", "'bees' is unknown: choose from chunking_evaluation"),
        ("longbench", "behind longbench stand the task, as in longbench/multifieldqa_zh"),
        ("longbench/a/b", "'longbench/a/b' cannot be read"),
        ("longbench/bees", "cannot be read"),
        ("loogle/", "behind loogle stand the task"),
        ("lost_in_the_middle", "the documents and the place, as in lost_in_the_middle/20/9"),
        ("lost_in_the_middle/20", "cannot be read"),
        ("key_value", "as in key_value/75/37"),
        ("key_value/75/first", "place 'first': it counts keys from 0"),
        ("ruler/vt", "a set is named ruler/<task>/<tokens>"),
        ("squad", "cannot be read"),
    ],
)
def test_names_of_sets_that_are_not_there(spec: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=message):
        datasets.load_set(spec, tmp_path)


def test_files_of_any_name_in_a_known_layout(tmp_path: Path) -> None:
    asked = [{"id": "a", "question": "Who?", "answers": [{"text": "Bees", "answer_start": 0}]}]
    article = {"title": "Bees", "paragraphs": [{"context": "Bees sleep.", "qas": asked}]}
    inside, outside = tmp_path / "data" / "squad" / "dev-v1.1.json", tmp_path / "mine.json"
    inside.parent.mkdir(parents=True)
    for path in (inside, outside):
        path.write_text(json.dumps({"data": [article]}), encoding="utf-8")
    for spec in ("squad/dev-v1.1.json", f"squad/{outside}", "xquad/dev-v1.1.json"):
        found = datasets.load_set(spec, tmp_path / "data")
        assert quoted(found) == [["Bees"]]
        assert found.name == spec


def test_official_names_go_before_samples(tmp_path: Path) -> None:
    folder = tmp_path / "hotpotqa"
    folder.mkdir()
    record = {
        "_id": "a",
        "question": "Who?",
        "answer": "bees",
        "context": [["Bees", ["Bees."]]],
        "supporting_facts": [],
    }
    (folder / "hotpot_dev_distractor_v1.sample.json").write_text(json.dumps([record]), encoding="utf-8")
    assert datasets.available(tmp_path) == ["hotpotqa"]
    assert datasets.load_set("hotpotqa", tmp_path).questions[0].question_id == "a"
    (folder / "hotpot_dev_distractor_v1.json").write_text(json.dumps([{**record, "_id": "b"}]), encoding="utf-8")
    assert datasets.load_set("hotpotqa", tmp_path).questions[0].question_id == "b"
