"""The columns that the Hugging Face hub has for the sets, in data sets made in memory: no network."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import pytest

from retrivex.errors import LoadError
from retrivex.evaluation.questions.evidence import EvidenceSet
from tests.benchmarks.suites.test_datasets_records import LONGBENCH

pytestmark = pytest.mark.integration

hub_datasets = pytest.importorskip("datasets")


@pytest.fixture
def hub() -> Any:
    return importlib.import_module("benchmarks.suites.datasets.hub")


def quoted(found: EvidenceSet, question: int = 0) -> list[str]:
    return [found.documents[part.doc_id][part.start : part.end] for part in found.questions[question].evidence]


def rows(*records: dict[str, Any]) -> Any:
    return hub_datasets.Dataset.from_list(list(records))


HOP = {
    "id": "a",
    "question": "Who works?",
    "answer": "ants",
    "type": "bridge",
    "level": "hard",
    "supporting_facts": {"title": ["Ants", "Bees"], "sent_id": [0, 1]},
    "context": {"title": ["Bees", "Ants"], "sentences": [["Bees live.", " They sleep."], ["Ants work."]]},
}


def asked(name: str, context: str, text: str | None, **fields: Any) -> dict[str, Any]:
    at = [] if text is None else [context.index(text)]
    answers = {"text": [] if text is None else [text], "answer_start": at}
    return {"id": name, "context": context, "question": "Who?", "answers": answers, **fields}


def test_hotpotqa(hub: Any) -> None:
    broken = {**HOP, "id": "b", "supporting_facts": {"title": ["Ants"], "sent_id": [0, 1]}}
    found = hub.from_rows("hotpotqa", rows(HOP, broken))
    assert found.documents == {"Bees": "Bees\nBees live. They sleep.", "Ants": "Ants\nAnts work."}
    assert quoted(found) == ["Ants work.", "They sleep."]
    assert found.questions[0].question_id == "a"
    assert found.odd == ("record 2: title has 1 members and sent_id 2: they must be as many; left out",)


def test_squad_rows_of_an_article_are_joined(hub: Any) -> None:
    found = hub.from_rows(
        "squad",
        rows(
            asked("a", "Bees sleep.", "sleep", title="Bees"),
            asked("b", "Bees sleep.", None, title="Bees"),
            asked("c", "They eat.", "eat", title="Bees"),
            asked("d", "Ants work.", "work", title="Ants"),
        ),
    )
    assert found.name == "squad"
    assert found.documents == {"Bees": "Bees sleep.\n\nThey eat.", "Ants": "Ants work."}
    assert [quoted(found, number) for number in range(4)] == [["sleep"], [], ["eat"], ["work"]]
    assert [question.question_id for question in found.questions] == ["a", "b", "c", "d"]


def test_rows_without_title_are_articles_of_one_paragraph(hub: Any) -> None:
    found = hub.from_rows("xquad", rows(asked("a", "Bees sleep.", "sleep"), asked("b", "Ants work.", "work")))
    assert sorted(found.documents.values()) == ["Ants work.", "Bees sleep."]
    assert quoted(found, 1) == ["work"]


def test_covid_qa_rows_name_their_documents(hub: Any) -> None:
    record = asked("a", "Bees sleep.", "sleep", document_id=9)
    found = hub.from_rows("covid_qa", rows(record))
    assert found.documents == {"9": "Bees sleep."}
    assert quoted(found) == ["sleep"]


def test_longbench(hub: Any) -> None:
    found = hub.from_rows("longbench/passage_retrieval_en", rows(LONGBENCH))
    assert found.name == "longbench/passage_retrieval_en"
    assert quoted(found) == ["Ants."]


def test_loogle(hub: Any) -> None:
    record = {
        "context": "Bees. Ants work.",
        "title": "A",
        "question": "Who?",
        "answer": "ants",
        "evidence": "Ants work.",
    }
    assert quoted(hub.from_rows("loogle/shortdep_qa", rows(record))) == ["Ants work."]


@pytest.mark.parametrize("spec", ["squad", "covid_qa", "hotpotqa"])
def test_odd_rows_are_told_and_the_others_are_used(hub: Any, spec: str) -> None:
    good = {**HOP, "id": "h"} if spec == "hotpotqa" else asked("a", "Bees sleep.", "sleep", title="Bees")
    odd = [7, {}, {**good, "id": "b", "context": 7}, {**good, "id": "c", "question": " "}]
    if spec != "hotpotqa":
        odd.append({**good, "id": "d", "answers": {"text": ["sleep"], "answer_start": []}})
    found = hub.from_rows(spec, [*odd, good])
    assert len(found.questions) == 1
    assert len(found.odd) == len(odd)


def test_a_source_is_read_with_its_config_and_split(hub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def load_dataset(*args: Any, **kwargs: Any) -> Any:
        calls.append((args, kwargs))
        return rows(HOP)

    monkeypatch.setattr(hub_datasets, "load_dataset", load_dataset)
    assert hub.from_hub("hotpotqa").name == "hotpotqa"
    with pytest.raises(LoadError, match="loogle/shortdep_qa has no question that can be used"):
        hub.from_hub("loogle/shortdep_qa", source=hub.HubSource("mine/mirror", "qa"))
    with pytest.raises(LoadError, match="no question that can be used"):
        hub.from_hub("longbench/qasper")
    assert calls == [
        (("hotpotqa/hotpot_qa",), {"name": "distractor", "split": "validation"}),
        (("mine/mirror",), {"name": "qa", "split": "test"}),
        (
            ("THUDM/LongBench",),
            {"data_files": {"test": "qasper/test/*.parquet"}, "revision": "refs/convert/parquet", "split": "test"},
        ),
    ]


def test_rows_come_out_of_files_on_disk_too(hub: Any, tmp_path: Any) -> None:
    path = tmp_path / "test.jsonl"
    rows(HOP).to_json(path)
    found = hub.from_hub("hotpotqa", source=hub.HubSource(str(tmp_path)))
    assert quoted(found) == ["Ants work.", "They sleep."]


@pytest.mark.parametrize("failure", [ConnectionError("no route"), ValueError("no config"), RuntimeError("a script")])
def test_a_hub_out_of_reach_is_one_clear_error(hub: Any, failure: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def load_dataset(*args: Any, **kwargs: Any) -> Any:
        raise failure

    monkeypatch.setattr(hub_datasets, "load_dataset", load_dataset)
    with pytest.raises(LoadError, match=r"squad_v2 cannot be had from the Hugging Face hub .*check the network"):
        hub.from_hub("squad")


def test_the_hub_is_not_asked_when_it_may_not_be(hub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_datasets.config, "HF_HUB_OFFLINE", True)
    with pytest.raises(LoadError, match="cannot be had from the Hugging Face hub"):
        hub.from_hub("hotpotqa", source=hub.HubSource("retrivex/not-there"))


@pytest.mark.parametrize("spec", ["bees", "longbench", "squad/a", "niah/4096"])
def test_sets_that_the_hub_does_not_have(hub: Any, spec: str) -> None:
    with pytest.raises(LoadError, match=r"is not known on the hub: choose from squad, .*longbench/<task>"):
        hub.from_hub(spec)


def test_without_the_package_its_group_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    monkeypatch.delitem(sys.modules, "benchmarks.suites.datasets.hub", raising=False)
    with pytest.raises(ImportError, match="pip install --group hub"):
        importlib.import_module("benchmarks.suites.datasets.hub")
