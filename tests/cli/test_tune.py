from __future__ import annotations

import builtins
import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from retrivex import RetrievalConfig
from retrivex.cli import app

run = CliRunner().invoke

WORDS = ("amber", "basalt", "cedar", "delta", "ember", "fjord", "glacier", "harbour", "island", "jungle")
TOO_DEAR = ["--set", "run_cost=40", "--budget", "120"]
FULL = ("--set", "effort=full")  # tokens cost nothing
FAR_TOO_DEAR = [*TOO_DEAR, "--trials", "12"]


def _documents() -> dict[str, list[str]]:
    """Two sentences of each document name what its question asks for; the others are of other things."""
    draws = random.Random(3)
    made = {}
    for number in range(28):
        sentences = [f"{' '.join(draws.choices(WORDS, k=26)).capitalize()}." for _ in range(12)]
        for at in draws.sample(range(0, 12, 2), 2):
            sentences[at] = f"The engine{number} pump runs on {' '.join(draws.choices(WORDS, k=22))}."
        made[f"d{number}"] = sentences
    return made


DOCUMENTS = _documents()


def _evidence(number: int) -> list[dict[str, Any]]:
    return [{"doc_id": f"d{number}", "quote": s} for s in DOCUMENTS[f"d{number}"] if s.startswith("The engine")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("tune")
    lines = [json.dumps({"id": name, "text": " ".join(sentences)}) for name, sentences in DOCUMENTS.items()]
    (made / "docs.jsonl").write_text("\n".join(lines))
    result = run(app, ["index", str(made / "docs.jsonl"), "--db", str(made / "store.db"), "--size", "45"])
    assert result.exit_code == 0, result.output
    asked = [{"question": f"What does the engine{n} pump run on?", "evidence": _evidence(n)} for n in range(28)]
    (made / "questions.jsonl").write_text("\n".join(map(json.dumps, asked)))
    return made


def tune(folder: Path, *args: str, questions: str = "questions.jsonl") -> Any:
    return run(app, ["tune", str(folder / questions), "--db", str(folder / "store.db"), "--trials", "4", *args])


def test_a_bad_option_is_repaired_and_the_file_is_read_by_query(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = tune(folder, "--out", str(out), "--json", *FAR_TOO_DEAR)
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["accepted"]
    assert report["measures"]["quality"]["low"] > 0
    assert report["config"] == str(out / "config.json")
    assert report["left_out"] == []
    config = RetrievalConfig.from_file(out / "config.json")
    assert config.token_budget == 120
    assert report["changes"] or report["refitted"]
    assert all(getattr(config, name) == value for name, value in report["changes"].items())
    assert (config.coefficients == out / "coefficients.json") == report["refitted"]
    question = "What does the engine7 pump run on?"
    asked = run(app, ["query", question, "--db", str(folder / "store.db"), "--config", str(out / "config.json")])
    assert asked.exit_code == 0, asked.output
    assert asked.stdout.count("The engine7 pump") == 2


def test_the_report_shows_before_and_after(folder: Path, tmp_path: Path) -> None:
    result = tune(folder, "--out", str(tmp_path / "out"), *FAR_TOO_DEAR)
    assert result.exit_code == 0, result.output
    assert "before    after   change   95 % interval" in result.stdout
    assert "fitted on 20 questions, held back 8 (no document in both)" in result.stdout
    assert "coefficients: " in result.stdout
    assert "accepted: better on the questions held back" in result.stdout
    assert f"written: {tmp_path / 'out' / 'config.json'}" in result.stdout


def test_no_improvement_writes_nothing_and_has_its_own_exit_code(folder: Path, tmp_path: Path) -> None:
    lines = (folder / "questions.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    mixed = [{**record, "evidence": records[at - 5]["evidence"]} for at, record in enumerate(records)]
    (folder / "mixed.jsonl").write_text("\n".join(map(json.dumps, mixed)))
    result = tune(folder, "--out", str(tmp_path / "out"), "--budget", "120", *FULL, questions="mixed.jsonl")
    assert result.exit_code == 4, result.output
    assert "refused: " in result.stdout
    assert "nothing written" in result.stdout
    assert "quality" in result.stdout
    assert not (tmp_path / "out").exists()


def test_evidence_that_is_not_found_is_told(folder: Path, tmp_path: Path) -> None:
    lost = {"question": "Where?", "evidence": [{"quote": "Nobody wrote this."}]}
    twice = {"question": "What does engine3 run on?", "evidence": ["The engine3 pump runs on"]}
    answered = {"question": "Who?", "answers": ["nobody"]}
    text = "\n".join([(folder / "questions.jsonl").read_text(), *map(json.dumps, (lost, twice, answered))])
    (folder / "lost.jsonl").write_text(text)
    result = tune(folder, "--out", str(tmp_path / "out"), "--json", *FAR_TOO_DEAR, questions="lost.jsonl")
    assert result.exit_code == 0, result.output
    assert "line 29: quote 'Nobody wrote this.' is not in any document" in result.stderr
    assert "1 questions have answers and no evidence; left out" in result.stderr
    assert len(json.loads(result.stdout)["left_out"]) == 3


@pytest.mark.parametrize(
    ("lines", "options", "code", "message"),
    [
        (None, [], 2, "none.jsonl' does not exist"),
        ([], [], 3, "there is no record"),
        (["{"], [], 3, "line 1: a line that is not JSON"),
        (['{"question": "a"}'], [], 3, "line 1: there are no answers, references or evidence"),
        (['{"question": "a", "evidence": [{"quote": "Nowhere to be seen."}]}'], [], 3, "is not in any document"),
        (['{"question": "a", "evidence": []}'], [], 3, "0 questions have evidence: tuning needs at least 20"),
        (['{"question": "a", "evidence": []}'], ["--db", "missing.db"], 3, "missing.db does not exist"),
        (['{"question": "a", "evidence": []}'], ["--hold-out", "0.9"], 2, "--hold-out"),
        (['{"question": "a", "evidence": []}'], ["--set", "nonsense=1"], 2, "there is no such option"),
    ],
)
def test_bad_input_is_one_clear_error(
    folder: Path, lines: list[str] | None, options: list[str], code: int, message: str
) -> None:
    name = "none.jsonl" if lines is None else "bad.jsonl"
    if lines is not None:
        (folder / name).write_text("\n".join(lines))
    result = tune(folder, *options, questions=name)
    assert result.exit_code == code, result.output
    assert message in result.stderr
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    as_json = tune(folder, "--json", *options, questions=name)
    assert as_json.exit_code == code
    assert message in json.loads(as_json.stderr.splitlines()[-1])["error"]["message"]


def test_without_optuna_the_extra_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **named: Any) -> Any:
        if name == "optuna":
            raise ImportError(name)
        return real(name, *args, **named)

    for module in ("retrivex.evaluation.tune.tuning", "retrivex.evaluation.tune.option_search"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    result = tune(folder)
    assert result.exit_code == 3
    assert "pip install 'retrivex-rag[tune]'" in result.stderr
