from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.suites import datasets
from retrivex.errors import LoadError
from retrivex.evaluation.questions.evidence import Evidence, EvidenceSet, Question
from retrivex.evaluation.run.index import sentence_packed


def quoted(found: EvidenceSet, question: int = 0) -> list[str]:
    return [found.documents[part.doc_id][part.start : part.end] for part in found.questions[question].evidence]


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())  # without newline translation
    return path


def test_chunking_evaluation(tmp_path: Path) -> None:
    write(tmp_path / "corpora" / "bees.md", "Bees sleep.\r\nThey dance — often.")
    write(tmp_path / "corpora" / "ants.md", " ")
    (tmp_path / "corpora" / "flies.md").write_bytes(b"\xff")
    references = json.dumps([{"content": "They dance", "start_index": 13, "end_index": 23}]).replace('"', '""')
    write(
        tmp_path / "questions_df.csv",
        f'question,references,corpus_id\r\nDo they?,"{references}",bees\r\nWho?,[],wasps\r\nWhy?,[,bees\r\n',
    )
    found = datasets.chunking_evaluation(tmp_path)
    assert quoted(found) == ["They dance"]
    assert found.questions[0].within == ("bees",)
    assert [line.partition(":")[0] for line in found.odd] == ["ants.md", "flies.md", "record 2", "record 3"]
    assert "'wasps'" in found.odd[2]
    assert "references are not JSON" in found.odd[3]


def test_evidence_inference(tmp_path: Path) -> None:
    write(tmp_path / "txt_files" / "PMC7.txt", "Title\nDrug A helped more.")
    write(
        tmp_path / "prompts_merged.csv",
        "PromptID,PMCID,Outcome,Intervention,Comparator\n1,7,pain,drug A,drug B\n2,7,sleep,drug A,drug B\n",
    )
    write(
        tmp_path / "v2_annotations.csv",
        "PromptID,PMCID,Valid Label,Valid Reasoning,Evidence Start,Evidence End,Label\n"
        "1,7,True,True,6,25,significantly increase\n1,7,True,True,6,25,significantly increased\n"
        "2,7,True,False,0,5,\n1,7,True,True,9,9,\n1,7,True,True,x,9,\n1,8,True,True,1,9,\n",
    )
    found = datasets.evidence_inference(tmp_path)
    assert [question.question_id for question in found.questions] == ["1"]
    assert quoted(found) == ["Drug A helped more."]
    assert "drug A" in found.questions[0].text
    assert found.questions[0].answers == ("significantly increased",)
    assert "record 4: " in found.odd[0]
    assert "9-9" in found.odd[0]
    assert [line.partition(":")[0] for line in found.odd[1:]] == ["annotations, record 5", "annotations, record 6"]


def squad_file(path: Path, *answers: tuple[str, int], **extra: object) -> Path:
    asked = [
        {"id": f"q{number}", "question": "What?", "answers": [{"text": text, "answer_start": start}], **extra}
        for number, (text, start) in enumerate(answers)
    ]
    paragraphs = [
        {"context": "First one.", "qas": []},
        {"context": "Bees sleep at night.", "document_id": 9, "qas": asked},
    ]
    return write(path, json.dumps({"data": [{"title": "Bees", "paragraphs": paragraphs}]}))


def test_squad_joins_the_paragraphs_of_an_article(tmp_path: Path) -> None:
    found = datasets.squad(squad_file(tmp_path / "squad.json", ("night", 14)))
    assert found.documents == {"Bees": "First one.\n\nBees sleep at night."}
    assert quoted(found) == ["night"]


def test_squad_questions_without_an_answer_have_no_evidence(tmp_path: Path) -> None:
    found = datasets.squad(squad_file(tmp_path / "squad.json", ("night", 14), is_impossible=True))
    assert found.questions[0].evidence == ()
    assert found.questions[0].answers == ()


def test_squad_evidence_is_the_first_answer_and_all_are_references(tmp_path: Path) -> None:
    path = squad_file(tmp_path / "squad.json", ("night", 14))
    whole = json.loads(path.read_text())
    asked = whole["data"][0]["paragraphs"][1]["qas"][0]
    asked["answers"] += [{"text": "at night", "answer_start": 11}, {"text": "night", "answer_start": 14}]
    found = datasets.squad(write(path, json.dumps(whole)))
    assert quoted(found) == ["night"]
    assert found.questions[0].answers == ("night", "at night")


def test_squad_articles_and_questions_that_cannot_be_used_are_told(tmp_path: Path) -> None:
    path = squad_file(tmp_path / "squad.json", ("night", 14), ("wasps", 3))
    whole = json.loads(path.read_text())
    whole["data"][0]["paragraphs"][1]["qas"] += [7, {"id": "q0", "question": "Who?", "answers": []}]
    whole["data"] += ["article", {"title": "Ants"}]
    found = datasets.squad(write(path, json.dumps(whole)))
    assert [question.question_id for question in found.questions] == ["q0"]
    assert [line.partition(":")[0] for line in found.odd] == [
        "question q1",
        "question 3",
        "question q0",
        "record 2",
        "record 3",
    ]


def test_covid_qa_looks_near_the_offset_and_lists_what_it_cannot_find(tmp_path: Path) -> None:
    path = squad_file(tmp_path / "covid.json", (" sleep ", 7), ("wasps", 3))
    article = json.loads(path.read_text())
    article["data"][0]["paragraphs"].pop(0)
    found = datasets.covid_qa(write(path, json.dumps(article)))
    assert quoted(found) == ["sleep"]
    assert found.questions[0].answers == ("sleep",)
    assert found.odd == (
        "question q0: answer stands -2 characters from its offset; used where it stands",
        "question q1: answer not at its offset; left out",
    )


def test_qmsum_evidence_is_a_run_of_turns(tmp_path: Path) -> None:
    turns = [{"speaker": name, "content": content} for name, content in (("A", "Hello."), ("B", "Yes."), ("A", "No."))]
    queries = [
        {"query": "What?", "answer": "Yes and no.", "relevant_text_span": [["1", "2"]]},
        {"query": "When?", "answer": "", "relevant_text_span": [["1", "3"]]},
    ]
    meeting = {"meeting_transcripts": turns, "specific_query_list": queries}
    found = datasets.qmsum(write(tmp_path / "val.jsonl", json.dumps(meeting) + "\n"))
    assert quoted(found) == ["B: Yes.\nA: No."]
    assert found.questions[0].answers == ("Yes and no.",)
    assert found.questions[0].within == ("meeting-0",)
    assert len(found.odd) == 1


def test_contextual_embeddings(tmp_path: Path) -> None:
    chunks = [
        {"chunk_id": "c0", "original_index": 0, "content": "x = 1\n"},
        {"chunk_id": "c1", "original_index": 1, "content": "x = 1\ny"},
        {"chunk_id": "c2", "original_index": 2, "content": "z"},
    ]
    file = {"doc_id": "doc_1", "original_uuid": "u", "content": "x = 1\nx = 1\ny", "chunks": chunks}
    write(tmp_path / "codebase_chunks.json", json.dumps([file]))
    asked = [
        {"query": "y?", "answer": "2", "golden_chunk_uuids": [["u", 1]]},
        {"query": "z?", "golden_chunk_uuids": [["u", 2]]},
    ]
    write(tmp_path / "evaluation_set.jsonl", "\n".join(map(json.dumps, asked)))
    found = datasets.contextual_embeddings(tmp_path)
    assert quoted(found) == ["x = 1\ny"]
    assert found.questions[0].answers == ("2",)
    assert len(found.questions) == 1
    assert len(found.odd) == 2


def test_an_unknown_set_and_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="choose from chunking_evaluation"):
        list(datasets.load_sets(tmp_path, ("bees",)))
    with pytest.raises(LoadError, match="cannot be read"):
        list(datasets.load_sets(tmp_path, ("qmsum",)))
    with pytest.raises(LoadError, match="is not JSON"):
        datasets.squad(write(tmp_path / "squad.json", "{"))
    with pytest.raises(LoadError, match="a line that is not JSON"):
        datasets.qmsum(write(tmp_path / "val.jsonl", "{\n"))


@pytest.mark.parametrize(("part", "message"), [(Evidence("e", 0, 1), "does not hold"), (Evidence("d", 2, 9), "2-9")])
def test_evidence_outside_the_documents_is_refused(part: Evidence, message: str) -> None:
    with pytest.raises(LoadError, match=message):
        EvidenceSet("s", {"d": "Bees."}, (Question("q", "?", (part,)),))


def test_chunks_are_whole_sentences_without_gap_or_overlap() -> None:
    text = "One two. Three four five.\n\nSix. " + "long " * 20
    chunks = sentence_packed({"d": text, "empty": " "}, 6, tokenizer=lambda part: len(part.split()))
    assert "".join(chunk.text for chunk in chunks) == text.rstrip()
    assert [chunk.metadata.chunk_id for chunk in chunks] == list(range(len(chunks)))
    assert max(len(chunk.text.split()) for chunk in chunks) <= 6
    assert chunks[0].text.startswith("One two. Three four five.")
