from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import benchmarks.suites.datasets  # noqa: F401 - the public sets by name
from retrivex import RetrievalConfig, RetrivexError
from retrivex.encoders.encoder import HashingEncoder
from retrivex.errors import ConfigError
from retrivex.evaluation.questions.evidence import Evidence, EvidenceSet, Question
from retrivex.evaluation.run import Plan, evaluate, sets_of, summarise
from retrivex.evaluation.run.results import Row, read_rows
from retrivex.evaluation.run.sets import sampled


def made_set(name: str = "pumps", documents: int = 6, each: int = 6) -> EvidenceSet:
    """Questions about one sentence each; those of the first document are asked of two documents alone."""
    texts, questions = {}, []
    for number in range(documents):
        text = ""
        for at in range(each):
            start = len(text)
            text += f"Pump {number}{at} of plant {number} runs on oil{number}{at}. It was built in {1900 + 7 * at}. "
            within = ("plant0", "plant1") if number == 0 else ()
            evidence = (Evidence(f"plant{number}", start, start + len(f"Pump {number}{at} of plant {number}")),)
            questions.append(
                Question(
                    f"{number}-{at}", f"What does pump {number}{at} run on?", evidence, within,
                    (f"oil{number}{at}",), factors={"plant": number},
                )
            )  # fmt: skip
        texts[f"plant{number}"] = text
    questions.append(Question("none", "Who painted the pump?", ()))
    return EvidenceSet(name, texts, tuple(questions), ("record 7 was mended",))


PUMPS = made_set()
SMALL: dict[str, Any] = {"chunk_tokens": 30, "budgets": 120, "hits": 5}


def untimed(rows: Sequence[Row]) -> list[Row]:
    return [replace(row, measures={k: v for k, v in row.measures.items() if k != "ms"}) for row in rows]


def test_every_question_is_answered_in_every_way_in_order(tmp_path: Path) -> None:
    plan = Plan(**{**SMALL, "hits": (3, 5), "budgets": (60, 120)}, composers=["knn", "published"], keep_contexts=True)
    rows = evaluate(plan, [PUMPS], cache=tmp_path)
    assert len(rows) == 36 * 2 * 2 * 2
    assert [row.question_id for row in rows[::8]] == [question.question_id for question in PUMPS.questions[:-1]]
    first = [(row.way.hits, row.way.composer, row.way.budget, row.way.order) for row in rows[:8]]
    assert first == [
        (hits, composer, budget, order)
        for hits in (3, 5)
        for composer, order in (("knn", "score_desc"), ("published", "edge_balanced"))
        for budget in (60, 120)
    ]
    assert all(row.measures["tokens"] <= row.way.budget for row in rows)
    assert {row.factors["plant"] for row in rows} == set(range(6))
    assert all(
        ("oil" + row.question_id.replace("-", "") in (row.context or "")) == (row.measures["answer_in_context"] > 0)
        for row in rows
    )
    assert all(0.9 < found["measures"]["evidence_recall"] <= 1 for found in summarise(rows))


def test_what_is_missing_and_shown_instead_is_written_down(tmp_path: Path) -> None:
    plan = Plan(**{**SMALL, "hits": 1}, composers=["knn"], keep_contexts=True)
    rows = evaluate(plan, [PUMPS], cache=tmp_path)
    lacking = [row for row in rows if not row.measures["complete"]]
    for row in rows:
        wanted = f"Pump {row.question_id.replace('-', '')} of plant"
        if row in lacking:
            assert row.missing[0].text.startswith(wanted)
            assert row.shown[0].text[:40] in " ".join((row.context or "").split())
        else:
            assert (row.missing, row.shown) == ((), ())
            assert [(row.context or "")[start:end].startswith(wanted) for start, end in row.evidence] == [True]
    # without contexts, too, but no places in them
    plain = evaluate(Plan(**{**SMALL, "hits": 1}, composers=["knn"]), [PUMPS], cache=tmp_path)
    assert [row.missing for row in plain] == [row.missing for row in rows]
    assert {row.evidence for row in plain} == {()}


def test_questions_see_only_the_documents_they_are_asked_of(tmp_path: Path) -> None:
    rows = evaluate(Plan(**{**SMALL, "budgets": 2000, "hits": 50}, keep_contexts=True), [PUMPS], cache=tmp_path)
    for row in rows:
        others = [number for number in range(2, 6) if f"plant {number}" in (row.context or "")]
        assert not others or not row.question_id.startswith("0-")


def test_two_processes_give_what_one_gives(tmp_path: Path) -> None:
    plan = Plan(**SMALL, orders=["document", "shuffle"], seeds=(0, 1), encoder="hashing", retrievers=["fused", "bm25"])
    one = evaluate(plan, [PUMPS], out=tmp_path / "one", cache=tmp_path / "a")
    two = evaluate(plan, [PUMPS], out=tmp_path / "two", cache=tmp_path / "b", processes=2)
    assert untimed(one) == untimed(two)
    assert read_rows(tmp_path / "one") == one
    manifests = [(tmp_path / name / "manifest.json").read_text() for name in ("one", "two")]
    assert manifests[0] == manifests[1]


def test_finished_blocks_are_not_done_again(tmp_path: Path) -> None:
    plan = Plan(**SMALL)
    before = evaluate(plan, [PUMPS], out=tmp_path / "out", cache=tmp_path)
    written = (tmp_path / "out" / "results.jsonl").read_bytes()
    blocks = sorted((tmp_path / "blocks").iterdir())
    assert len(blocks) == 2 * 3  # 36 questions in two blocks, three composers
    for block in blocks[::2]:
        block.unlink()
    blocks[0].with_suffix(".jsonl.part").write_text("half a li")
    ages = {block: block.stat().st_mtime_ns for block in blocks[1::2]}
    told: list[tuple[str, int, int]] = []
    again = evaluate(plan, [PUMPS], cache=tmp_path, report=lambda *what: told.append(what))
    assert untimed(again) == untimed(before)
    assert {block: block.stat().st_mtime_ns for block in ages} == ages
    assert [done for what, done, total in told if what == "pumps: composing"] == [3, 4, 5, 6]
    evaluate(plan, [PUMPS], out=tmp_path / "out", cache=tmp_path)
    assert (tmp_path / "out" / "results.jsonl").read_bytes() != written  # half of them were timed anew
    whole = (tmp_path / "out" / "results.jsonl").read_bytes()
    evaluate(plan, [PUMPS], out=tmp_path / "out", cache=tmp_path)
    assert (tmp_path / "out" / "results.jsonl").read_bytes() == whole


def test_what_rows_depend_on_makes_other_blocks(tmp_path: Path) -> None:
    def blocks(found: EvidenceSet = PUMPS, **options: Any) -> int:
        evaluate(Plan(**{**SMALL, "composers": "mine", **options}), [found], cache=tmp_path)
        return len(list((tmp_path / "blocks").iterdir()))

    mine = {"mine": RetrievalConfig()}
    assert blocks(configs=mine) == 2
    assert blocks(configs=mine) == 2
    assert blocks(configs={"mine": RetrievalConfig(window=1)}) == 4
    assert blocks(configs=mine, chunk_tokens=25) == 6
    assert blocks(configs=mine, tokenizer="o200k_base") == 8
    assert blocks(replace(PUMPS, documents={**PUMPS.documents, "new": "A pump."}), configs=mine) == 10
    assert blocks(configs=mine, orders="document") == 12
    assert blocks(configs=mine, keep_contexts=True) == 14


def test_orders_share_what_was_chosen(tmp_path: Path) -> None:
    plan = Plan(**SMALL, composers=["knn", "balanced"], orders=["edge_balanced", "back_first", "shuffle"], seeds=(1, 2))
    rows = evaluate(plan, [PUMPS], cache=tmp_path)
    by_question: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        by_question.setdefault((row.question_id, row.way.composer), []).append(row)
    for some in by_question.values():
        ways = [(row.way.order, row.way.seed) for row in some]
        assert ways == [("edge_balanced", 0), ("back_first", 0), ("shuffle", 1), ("shuffle", 2)]
        assert len({row.measures["evidence_recall"] for row in some}) == 1
        assert len({row.measures["reciprocal_rank"] for row in some}) == 1
    moved = [len({row.measures.get("evidence_position") for row in some}) for some in by_question.values()]
    assert max(moved) > 1


def test_a_sample_is_the_same_every_time_and_leaves_out_what_cannot_be_measured() -> None:
    some = sampled(PUMPS.questions, 10)
    assert some == sampled(PUMPS.questions, 10)
    assert len(some) == 10
    assert some == [question for question in PUMPS.questions if question in some]
    assert len(sampled(PUMPS.questions, None)) == 36
    assert len(sampled(PUMPS.questions, None, unanswerable=True)) == 37


def test_questions_without_evidence_are_asked_where_that_is_wanted(tmp_path: Path) -> None:
    rows = evaluate(Plan(**SMALL, composers="knn", unanswerable=True), [PUMPS], cache=tmp_path)
    assert set(rows[-1].measures) == {"tokens", "spans", "ms", "broken_sentences"}


def test_the_manifest_says_what_was_run(tmp_path: Path) -> None:
    config = RetrievalConfig(window=1)
    plan = Plan(**SMALL, composers="knn", configs={"mine": config}, encoder="hashing-32", questions=7, data=tmp_path)
    rows = evaluate(plan, [PUMPS], out=tmp_path / "out", cache=tmp_path / "cache")
    text = (tmp_path / "out" / "manifest.json").read_text()
    manifest = json.loads(text)
    told = manifest["sets"][0]
    assert (told["name"], told["documents"], told["questions"], told["asked"]) == ("pumps", 6, 37, 7)
    assert told["odd"] == {"count": 1, "records": ["record 7 was mended"]}
    assert manifest["chunker"] == {"name": "sentence_packed", "tokens": 30}
    assert (manifest["encoder"], manifest["tokenizer"]) == ("hashing-32", "cl100k_base")
    assert manifest["composers"]["mine"]["config"]["window"] == 1
    assert manifest["orders"] == {"knn": ["score_desc"], "mine": ["edge_balanced"]}
    assert manifest["versions"]["retrivex"]
    assert manifest["answers"] is None
    assert manifest["rows"] == len(rows) == 14
    assert str(tmp_path) not in text
    assert os.path.expanduser("~") not in text


def test_estimated_tokens_are_told(tmp_path: Path) -> None:
    evaluate(Plan(**SMALL, tokenizer="estimate"), [PUMPS], out=tmp_path / "out", cache=tmp_path / "cache")
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["tokenizer"] == "estimate"


class Broken:
    """Fails with the second block."""

    name = "broken"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if any("oil55" in text for text in texts):
            raise RetrivexError("the model is gone")
        return HashingEncoder(16).encode(texts)


def test_an_encoder_of_ones_own_may_fail(tmp_path: Path) -> None:
    with pytest.raises(RetrivexError, match="the model is gone"):
        evaluate(Plan(**SMALL, encoder="broken"), [PUMPS], cache=tmp_path, encoder=Broken())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budgets": 0}, "greater than or equal to 1"),
        ({"budgets": []}, "at least 1 item"),
        ({"hits": [0]}, "greater than or equal to 1"),
        ({"orders": ["nix"]}, "order is 'nix': it must be one of"),
        ({"retrievers": ["nix"]}, "it should be 'bm25', 'dense', 'fused' or 'given'"),
        ({"retrievers": ["dense"]}, "there is no encoder"),
        ({"chunker": "nix"}, "sentence_packed"),
        ({"option": 1}, "there is no such option"),
    ],
)
def test_a_bad_option_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Plan(**options)


def test_what_cannot_be_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "knn.toml").write_text("window = 1\n")
    twice = replace(PUMPS, questions=(PUMPS.questions[0],) * 2)
    for plan, own, message in (
        (Plan(composers="nix"), [PUMPS], "composer is 'nix'"),
        (Plan(composers=["knn", str(tmp_path / "knn.toml")]), [PUMPS], "two composers are called 'knn'"),
        (Plan(composers=()), [PUMPS], "composers are empty"),
        (Plan(), [], "there are no questions"),
        (Plan(), [PUMPS, PUMPS], "two sets are called 'pumps'"),
        (Plan(sets="nix", data=tmp_path), [], "evaluation set 'nix' is unknown"),
        (Plan(sets="squad"), [], "there is no folder of data"),
        (Plan(), [twice], "share an id"),
    ):
        with pytest.raises(RetrivexError, match=message):
            evaluate(plan, own, cache=tmp_path)
    with pytest.raises(RetrivexError, match="processes is 0"):
        evaluate(Plan(), [PUMPS], cache=tmp_path, processes=0)


def test_real_sets_run(data_dir: Path, tmp_path: Path) -> None:
    plan = Plan(sets=["squad", "qmsum"], data=data_dir, questions=6, composers=["knn", "balanced"], budgets=1000)
    rows = evaluate(plan, cache=tmp_path)
    assert [(found["set_name"], found["questions"]) for found in summarise(rows)] == [
        ("squad", 6), ("squad", 6), ("qmsum", 6), ("qmsum", 6),
    ]  # fmt: skip
    assert [name for name, _ in sets_of(["squad"], data_dir)] == ["squad"]


def test_a_question_that_cannot_be_composed_is_named(tmp_path: Path) -> None:
    config = RetrievalConfig(score_scale="unit", strict=True)
    with pytest.raises(RetrivexError, match=r"question '.*' of pumps, composer 'mine': "):
        evaluate(Plan(**SMALL, composers="knn", configs={"mine": config}), [PUMPS], cache=tmp_path)
    assert len(list(tmp_path.glob("blocks/*.jsonl"))) == 1  # what was finished is kept


@pytest.mark.integration
def test_processes_that_are_not_forked_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Plan(**SMALL, encoder="hashing", retrievers=["fused", "bm25"], configs={"mine": RetrievalConfig(window=1)})
    forked = evaluate(plan, [PUMPS], cache=tmp_path / "a", processes=2)
    real = multiprocessing.get_context
    monkeypatch.setattr(multiprocessing, "get_context", lambda _: real("spawn"))
    assert untimed(evaluate(plan, [PUMPS], cache=tmp_path / "b", processes=2)) == untimed(forked)


@pytest.mark.integration
def test_a_process_that_is_killed_is_told(tmp_path: Path) -> None:
    def kill(what: str, done: int, _total: int) -> None:
        if what == "pumps: composing" and done == 1:
            for child in multiprocessing.active_children():
                os.kill(child.pid or 0, signal.SIGKILL)

    plan = Plan(**{**SMALL, "budgets": tuple(range(50, 58))})
    with pytest.raises(RetrivexError, match="ended from outside, or ran out of memory"):
        evaluate(plan, [PUMPS], cache=tmp_path, processes=2, report=kill)
    assert len(evaluate(plan, [PUMPS], cache=tmp_path, processes=2)) == 36 * 3 * 8


@pytest.mark.integration
def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    found = made_set(documents=12, each=25)
    for doc_id, text in found.documents.items():
        (tmp_path / "docs" / f"{doc_id}.txt").write_text(text)
    lines = [{"question": asked.text, "answers": asked.answers} for asked in found.questions if asked.answers]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, lines)))

    def command(out: str, cache: str) -> list[str]:
        options = ["--budget", "300", "--chunk-tokens", "40", "--order", "shuffle", "--order", "document"]
        return [
            sys.executable, "-m", "retrivex", "evaluate", str(tmp_path / "q.jsonl"), "--documents",
            str(tmp_path / "docs"), "--out", str(tmp_path / out), "--cache", str(tmp_path / cache), "--processes",
            "2", *options,
        ]  # fmt: skip

    subprocess.run(command("whole", "a"), check=True, capture_output=True)
    killed = 0
    for wanted in (3, 9, 20):
        with subprocess.Popen(command("killed", "b"), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as run:
            while len(list(tmp_path.glob("b/blocks/*.jsonl"))) < wanted and run.poll() is None:
                time.sleep(0.01)
            killed += run.poll() is None
            run.send_signal(signal.SIGKILL)
        assert not (tmp_path / "killed" / "results.jsonl").exists()
    assert killed == 3
    finished = {path: path.stat().st_mtime_ns for path in tmp_path.glob("b/blocks/*.jsonl")}
    assert len(finished) >= 20
    time.sleep(2)  # the killed run's processes end by themselves
    assert {path: path.stat().st_mtime_ns for path in finished} == finished
    finished = {path: path.stat().st_mtime_ns for path in tmp_path.glob("b/blocks/*.jsonl")}
    subprocess.run(command("killed", "b"), check=True, capture_output=True)
    assert untimed(read_rows(tmp_path / "killed")) == untimed(read_rows(tmp_path / "whole"))
    assert (tmp_path / "killed" / "manifest.json").read_text() == (tmp_path / "whole" / "manifest.json").read_text()
    assert {path: path.stat().st_mtime_ns for path in finished} == finished
