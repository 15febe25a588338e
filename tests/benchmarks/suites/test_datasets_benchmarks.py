"""LongBench, lost in the middle, HotpotQA, LooGLE and RULER, from small files in their official layouts."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.suites import datasets
from retrivex.errors import LoadError
from retrivex.evaluation.questions.evidence import EvidenceSet


def quoted(found: EvidenceSet, question: int = 0) -> list[str]:
    return [found.documents[part.doc_id][part.start : part.end] for part in found.questions[question].evidence]


def lines(path: Path, *records: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    raw = "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records).encode()
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    return path


def item(**fields: Any) -> dict[str, Any]:
    made = {"input": "Who?", "context": "Bees.", "answers": ["bees"], "length": 1, "dataset": "qasper"}
    return {**made, "language": "en", "all_classes": None, "_id": "a", **fields}


def test_longbench_keeps_the_context_and_shares_it(tmp_path: Path) -> None:
    context = " Passage 1:\nBees.\r\nPassage 2:\nAnts. "
    asked = [item(context=context), item(context=context, _id="b", answers=["ants", "the ants"])]
    found = datasets.longbench(lines(tmp_path / "hotpotqa_e.jsonl", *asked))
    assert list(found.documents.values()) == [context]
    assert found.questions[0].within == tuple(found.documents)
    assert found.questions[0].evidence == ()
    assert found.questions[1].answers == ("ants", "the ants")
    assert found.questions[0].factors == {"task": "qasper", "language": "en", "length": 1}


@pytest.mark.parametrize(
    ("answer", "context"),
    [
        ("Paragraph 12", "Paragraph 1: Bees.\n\nParagraph 12: Ants work.\n\nParagraph 13: Wasps."),
        ("段落2", "段落1：蜜蜂。\n\n段落2：Ants work.\n\n段落3：黄蜂见段落2：。"),
        ("段落2", "段落1：蜜蜂。\n\n段落2：Ants work."),
    ],
)
def test_passage_retrieval_has_the_paragraph_as_evidence(answer: str, context: str, tmp_path: Path) -> None:
    asked = item(dataset="passage_retrieval_zh", answers=[answer], context=context)
    found = datasets.longbench(lines(tmp_path / "passage_retrieval_zh.jsonl", asked))
    assert quoted(found) == ["Ants work."]
    assert found.questions[0].answers == (answer,)


def test_classes_are_kept_for_the_scorer(tmp_path: Path) -> None:
    asked = item(dataset="trec", all_classes=["Food", "City"], answers=["City"])
    found = datasets.longbench(lines(tmp_path / "trec.jsonl", asked))
    assert found.questions[0].factors["all_classes"] == "Food\nCity"


def test_summaries_are_asked_for_in_words(tmp_path: Path) -> None:
    asked = [item(input="", dataset="multi_news"), item(input="", dataset="qasper", _id="b")]
    found = datasets.longbench(lines(tmp_path / "multi_news.jsonl", *asked))
    assert "summary" in found.questions[0].text
    assert found.odd[0].startswith("line 2: input is blank, and task 'qasper'")


def test_a_passage_that_is_not_there_is_told(tmp_path: Path) -> None:
    asked = [item(dataset="passage_retrieval_en", answers=["Paragraph 9"]), item(_id="b"), item(), item(answers=[])]
    found = datasets.longbench(lines(tmp_path / "passage_retrieval_en.jsonl", *asked))
    assert [question.question_id for question in found.questions] == ["b", "a"]
    assert "'Paragraph 9' stands 0 times" in found.odd[0]
    assert found.odd[1].startswith("line 4: answers are missing")


GOLD = {"title": "Bees", "text": "Bees sleep.", "hasanswer": True, "isgold": True}
OTHERS = [{"id": str(at), "title": "Ants", "text": f"Ants work, {at}.", "isgold": False} for at in range(2)]


def passages(place: int) -> dict[str, Any]:
    ctxs = [*OTHERS[:place], GOLD, *OTHERS[place:]]
    return {"question": "Who sleeps?", "answers": ["bees", "Bees"], "ctxs": ctxs, "nq_annotated_gold": {}}


def test_lost_in_the_middle(tmp_path: Path) -> None:
    for place in range(3):
        name = f"nq-open-3_total_documents_gold_at_{place}.jsonl.gz"
        folder = tmp_path / "lost_in_the_middle" / "qa_data" / "3_total_documents"
        lines(folder / name, passages(place))
    found = datasets.load_set("lost_in_the_middle/3/1", tmp_path)
    assert quoted(found) == ["Bees sleep."]
    assert [found.documents[name] for name in found.questions[0].within] == [
        "Ants\nAnts work, 0.",
        "Bees\nBees sleep.",
        "Ants\nAnts work, 1.",
    ]
    assert found.questions[0].factors == {"documents": 3, "gold_at": 1}
    assert found.questions[0].answers == ("bees", "Bees")
    every = datasets.load_set("lost_in_the_middle/3", tmp_path)
    assert [question.factors["gold_at"] for question in every.questions] == [0, 1, 2]
    lines(folder / "nq-open-3_total_documents_gold_at_1.jsonl", passages(1))
    assert datasets.load_set("lost_in_the_middle/3", tmp_path) == every
    assert len(every.documents) == 3
    assert datasets.available(tmp_path) == [f"lost_in_the_middle/3/{place}" for place in range(3)]


def test_one_passage_is_gold(tmp_path: Path) -> None:
    path = lines(tmp_path / "nq-open-oracle.jsonl", {**passages(0), "ctxs": OTHERS}, passages(0))
    found = datasets.lost_in_the_middle([path])
    assert found.odd == ("nq-open-oracle.jsonl, line 1: 0 passages are gold: one has to be; left out",)


PAIRS = [["k1", "v1"], ["key2", "value2"], ["k3", "v3"]]


@pytest.mark.parametrize("key", ["k1", "key2", "k3"])
@pytest.mark.parametrize("gold_at", [None, 0, 1, 2])
def test_key_value_has_the_pair_as_evidence(key: str, gold_at: int | None, tmp_path: Path) -> None:
    record = {"ordered_kv_records": PAIRS, "key": key, "value": dict(PAIRS)[key]}
    found = datasets.key_value(lines(tmp_path / "kv-retrieval-3_keys.jsonl.gz", record), gold_at)
    assert quoted(found) == [f'"{key}": "{dict(PAIRS)[key]}"']
    (text,) = found.documents.values()
    assert json.loads(text) == dict(PAIRS)
    place = [name for name, _ in PAIRS].index(key) if gold_at is None else gold_at
    assert list(json.loads(text))[place] == key
    assert found.questions[0].factors == {"keys": 3, "gold_at": place}
    assert found.questions[0].answers == (dict(PAIRS)[key],)


def test_key_value_is_laid_out_as_published(tmp_path: Path) -> None:
    path = lines(tmp_path / "kv.jsonl", {"ordered_kv_records": PAIRS, "key": "k1", "value": "v1"})
    assert list(datasets.key_value(path).documents.values()) == ['{"k1": "v1",\n "key2": "value2",\n "k3": "v3"}']
    with pytest.raises(LoadError, match="gold_at is 3: there are 3, counted from 0"):
        datasets.key_value(path, 3)


def hop(**fields: Any) -> dict[str, Any]:
    context = [["Bees", ["Bees live.", " They sleep.", " "]], ["Ants", ["Ants", " work."]]]
    facts = [["Ants", 1], ["Bees", 1], ["Bees", 1]]
    made = {"_id": "a", "question": "Who?", "answer": "yes", "type": "bridge", "level": "hard"}
    return {**made, "supporting_facts": facts, "context": context, **fields}


def test_hotpotqa(tmp_path: Path) -> None:
    path = tmp_path / "hotpot_dev_distractor_v1.json"
    path.write_text(json.dumps([hop(), hop(_id="b"), hop(_id="c", context=[["Bees", ["Bees differ."]]])]))
    found = datasets.hotpotqa(path)
    assert found.documents == {
        "Bees": "Bees\nBees live. They sleep. ",
        "Ants": "Ants\nAnts work.",
        "Bees (2)": "Bees\nBees differ.",
    }
    assert sorted(quoted(found)) == ["They sleep.", "work."]
    assert found.questions[0].within == ("Bees", "Ants")
    assert found.questions[1].within == ("Bees", "Ants")
    assert found.questions[2].within == ("Bees (2)",)
    assert found.questions[0].factors == {"type": "bridge", "level": "hard"}
    assert found.questions[0].answers == ("yes",)


@pytest.mark.parametrize("fact", [["Bees", 9], ["Bees", 2], ["Wasps", 0], [["Bees"], 0], ["Bees", "x"]])
def test_a_supporting_fact_that_is_not_there_is_told_and_the_question_kept(fact: Any, tmp_path: Path) -> None:
    path = tmp_path / "hotpot.json"
    path.write_text(json.dumps([hop(supporting_facts=[["Ants", 1], fact])]))
    found = datasets.hotpotqa(path)
    assert found.questions[0].evidence == ()
    assert found.questions[0].answers == ("yes",)
    assert found.odd[0].startswith("record 1: sentence")
    assert found.odd[0].endswith("kept without evidence")


def test_hotpotqa_is_a_list(tmp_path: Path) -> None:
    path = tmp_path / "hotpot.json"
    path.write_text("{}")
    with pytest.raises(LoadError, match="holds a dict: its published layout is a list"):
        datasets.hotpotqa(path)


NOVEL = 'Bees[1] live in "hives" (of wood).  They sleep at night. Ants work. They eat honey. Ants work.'


@pytest.mark.parametrize(
    ("quote", "parts"),
    [
        ("They sleep at night.", ["They sleep at night."]),
        ("Ants work.", ["Ants work."]),
        ("bees live in 'hives' of wood", []),
        ("bees 1 live in 'hives' of wood", ['Bees[1] live in "hives" (of wood']),
        ("They sleep at night. They eat honey.", ["They sleep at night.", "They eat honey."]),
        ("They sleep at night. They eat ants.", []),
        ("ees 1 live", []),
        ("...", []),
    ],
)
def test_loogle_looks_for_quotes_in_three_ways(quote: str, parts: list[str], tmp_path: Path) -> None:
    pairs = [{"Q": "Who?", "A": "bees", "S": quote, "type": "computation"}]
    record = {"input": NOVEL, "title": "Bees", "qa_pairs": repr(pairs), "output": "none"}
    found = datasets.loogle(lines(tmp_path / "longdep_qa.jsonl", record))
    assert quoted(found) == parts
    assert found.questions[0].answers == ("bees",)
    assert found.questions[0].factors == {"task": "longdep_qa", "type": "computation"}
    assert len(found.odd) == (not parts)
    if not parts:
        assert found.odd[0].startswith("line 1, question 1: 1 of 1 quotes are not in the document")
        assert found.odd[0].endswith("kept without evidence")


def test_loogle_needs_all_quotes_of_a_question(tmp_path: Path) -> None:
    pairs = [
        {"Q": "Who?", "A": "bees", "S": ["They sleep at night.", "Nobody said so."]},
        {"Q": "What?", "A": "work", "S": ["Ants work.", "They sleep at night."]},
        {"A": "no question"},
    ]
    records = [{"input": NOVEL, "title": "Bees", "qa_pairs": repr(pairs)}, {"input": "Ants.", "qa_pairs": "none"}]
    found = datasets.loogle(lines(tmp_path / "longdep_qa.jsonl", *records))
    assert quoted(found, 0) == []
    assert quoted(found, 1) == ["They sleep at night.", "Ants work."]
    assert [line.partition(":")[0] for line in found.odd] == ["line 1, question 1", "line 1, question 3", "line 2"]


def test_loogle_with_a_question_in_each_line(tmp_path: Path) -> None:
    rows = [
        {"context": NOVEL, "title": "Bees", "question": "Who?", "answer": "bees", "evidence": "['Ants work.']"},
        {"context": NOVEL, "title": "Bees", "question": "What?", "answer": "work", "evidence": ["Ants work."]},
    ]
    found = datasets.loogle(lines(tmp_path / "shortdep_qa.jsonl", *rows))
    assert len(found.documents) == 1
    assert quoted(found, 0) == quoted(found, 1) == ["Ants work."]


HEAD = (
    "Some special magic {} are hidden within the following text. Make sure to memorize it. I will quiz you about the {}"
)
NEEDLES = [
    f"One of the special magic numbers for {key} is: {value}." for key, value in (("bee", 1), ("ant", 2), ("bee", 3))
]
ASKED = "What are all the special magic numbers for bee, and ant mentioned in the provided text?"
NIAH = f"{HEAD.format('numbers', 'numbers')} afterwards.\nBees.\n{' Ants. '.join(NEEDLES)}\nWasps.\n{ASKED}"


@pytest.mark.parametrize(
    ("prompt", "newer"),
    [
        (f"{NIAH} The special magic numbers for bee, and ant mentioned in the provided text are", {}),
        (NIAH, {"answer_prefix": " The special", "token_position_answer": 9, "length_w_model_temp": 90}),
        (f"[INST] {NIAH} [/INST]", {}),
    ],
)
def test_ruler_needles(prompt: str, newer: dict[str, Any], tmp_path: Path) -> None:
    record = {"index": 7, "input": prompt, "outputs": ["1", "3"], "length": 80, **newer}
    found = datasets.ruler(lines(tmp_path / "niah_multivalue.jsonl", record))
    (context,) = found.documents.values()
    assert context.startswith("Bees.")
    assert context.endswith("Wasps.")
    assert quoted(found) == [NEEDLES[0], NEEDLES[2]]
    question = found.questions[0]
    assert (question.question_id, question.text, question.answers, question.needed) == ("7", ASKED, ("1", "3"), "all")
    assert question.factors == {"task": "niah_multivalue", "tokens": 80}


def test_ruler_variables_after_a_solved_example(tmp_path: Path) -> None:
    head = "Memorize and track the chain(s) of variable assignment hidden in the following text.\n\n"
    asked = "Question: Find all variables that are assigned the value {} in the text above."
    example = f"{head}VAR X = 5 Noise. VAR Y = VAR X\n{asked.format(5)} Answer: they are: X Y"
    prompt = f"{example}\n\n{head}VAR A = 7 Noise. VAR Z = 8 VAR B = VAR A\n{asked.format(7)}"
    record = {"index": 0, "input": prompt, "outputs": ["A", "B"], "length": 50}
    found = datasets.ruler(lines(tmp_path / "4096" / "vt" / "validation.jsonl", record))
    assert list(found.documents.values()) == ["VAR A = 7 Noise. VAR Z = 8 VAR B = VAR A"]
    assert quoted(found) == ["VAR A = 7", "VAR B = VAR A"]
    assert found.questions[0].text == "Find all variables that are assigned the value 7 in the text above."
    assert found.questions[0].factors["task"] == "vt"


GIVEN = "Answer the question based on the given documents. Only give me the answer and do not output any other words."


@pytest.mark.parametrize(
    ("task", "prompt", "context", "question", "needed"),
    [
        (
            "qa_1",
            f"{GIVEN}\n\nThe following are given documents.\n\nDocument 1:\nBees.\n\n{GIVEN}\n\nQuestion: Who? Answer:",
            "Document 1:\nBees.",
            "Who?",
            "any",
        ),
        (
            "qa_2",
            f"{GIVEN}\n\nThe following are given documents.\n\nDocument 1:\nBees.\n\n{GIVEN}\n\nQuestion: Who?",
            "Document 1:\nBees.",
            "Who?",
            "any",
        ),
        (
            "cwe",
            "Below is a numbered list of words. In these words, some appear more often than others. Memorize the ones "
            "that appear most often.\n1. bee 2. ant\nQuestion: What are the 10 most common words in the above list? "
            "Answer: The top 10 words",
            "1. bee 2. ant",
            "What are the 10 most common words in the above list?",
            "all",
        ),
        (
            "fwe",
            "Read the following coded text and track the frequency of each coded word. Find the three most frequently "
            "appeared coded words. bee .... ant\nQuestion: Do not provide any explanation. Please ignore the dots "
            "'....'. What are the three most frequently appeared words in the above coded text? Answer:",
            "bee .... ant",
            "Do not provide any explanation. Please ignore the dots '....'. What are the three most frequently "
            "appeared words in the above coded text?",
            "all",
        ),
    ],
)
def test_ruler_tasks_without_a_place(
    task: str, prompt: str, context: str, question: str, needed: str, tmp_path: Path
) -> None:
    record = {"index": 0, "input": prompt, "outputs": ["bee"], "length": 50}
    found = datasets.ruler(lines(tmp_path / f"{task}.jsonl", record))
    assert list(found.documents.values()) == [context]
    asked = found.questions[0]
    assert (asked.text, asked.needed, asked.evidence) == (question, needed, ())


@pytest.mark.parametrize("inside", ["vt.jsonl", "vt/validation.jsonl", "data/vt.jsonl", "data/vt/validation.jsonl"])
def test_ruler_files_are_found_where_the_generator_leaves_them(inside: str, tmp_path: Path) -> None:
    head = "Memorize and track the chain(s) of variable assignment hidden in the following text.\n\n"
    prompt = f"{head}VAR A = 7\nQuestion: Find all variables that are assigned the value 7 in the text above."
    lines(tmp_path / "ruler" / "4096" / inside, {"index": 0, "input": prompt, "outputs": ["A"], "length": 50})
    assert datasets.available(tmp_path) == ["ruler/vt/4096"]
    assert quoted(datasets.load_set("ruler/vt/4096", tmp_path)) == ["VAR A = 7"]


def test_ruler_records_that_are_no_prompts_are_told(tmp_path: Path) -> None:
    record = {"index": 0, "input": NIAH, "outputs": ["1"], "length": 50}
    records = [
        record,
        {**record, "input": "Bees?"},
        {**record, "index": 1, "outputs": ["9"]},
        {**record, "outputs": []},
    ]
    found = datasets.ruler(lines(tmp_path / "niah_single_1.jsonl", *records))
    assert found.questions[0].factors["depth"] == 3.6
    assert "not of the template of 'niah_single_1'" in found.odd[0]
    assert found.odd[1].startswith("line 3: answer '9' is in no needle")
    assert found.odd[2].startswith("line 4: outputs are missing")
    with pytest.raises(LoadError, match="RULER has no task 'bees'"):
        datasets.ruler(lines(tmp_path / "bees.jsonl", record))
