from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from retrivex import Reorderer
from retrivex.cli import app

run = CliRunner().invoke

PASSAGES = [{"id": name, "text": f"text {name}", "score": score, "more": {"é": 1}}
            for name, score in zip("abcde", (0.9, 0.8, 0.7, 0.6, 0.5), strict=True)]  # fmt: skip


def ids(passages: list[Any]) -> str:
    return "".join(passage["id"] for passage in passages)


def test_an_array_comes_back_in_order_and_as_it_was() -> None:
    made = json.loads(run(app, ["reorder"], input=json.dumps(PASSAGES)).stdout)
    assert made == Reorderer().reorder(PASSAGES)
    assert ids(made) == "acedb"


def test_lines_from_file_to_file(tmp_path: Path) -> None:
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text("\n\n".join(json.dumps(passage) for passage in PASSAGES), encoding="utf-8")
    assert run(app, ["reorder", str(source), "--jsonl", "--out", str(target), "--order", "best_last"]).exit_code == 0
    assert ids([json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]) == "edcba"


def test_separators_inside_texts_do_not_end_a_line() -> None:
    passage = {**PASSAGES[0], "text": "one\u2028two"}
    made = run(app, ["reorder", "--jsonl"], input=json.dumps(passage, ensure_ascii=False)).stdout
    assert json.loads(made) == passage


def test_options_presets_and_the_question() -> None:
    said = ["--preset", "auto", "--query", "When was it?", "--set", "top_k=3"]
    dated = [{**p, "metadata": {"timestamp": -i}} for i, p in enumerate(PASSAGES)]
    assert ids(json.loads(run(app, ["reorder", *said], input=json.dumps(dated)).stdout)) == "edc"


def test_an_order_by_groups() -> None:
    topics = [{**p, "metadata": {"topic": t}} for p, t in zip(PASSAGES, "pqpqp", strict=True)]
    said = ["--order", "group_by", "--set", "group_by=topic"]
    assert ids(json.loads(run(app, ["reorder", *said], input=json.dumps(topics)).stdout)) == "aecbd"


def test_what_was_mended_is_told() -> None:
    broken = [{**PASSAGES[0], "score": None}]
    result = run(app, ["reorder", "--set", "validation=coerce"], input=json.dumps(broken))
    assert ids(json.loads(result.stdout)) == "a"
    assert "score" in result.stderr


@pytest.mark.parametrize("said", [["--preset", "best"], ["--order", "best"], ["--set", "top_q=3"], ["--set", "top_q"]])
def test_wrong_arguments_are_a_usage_error(said: list[str]) -> None:
    assert run(app, ["reorder", *said], input="[]").exit_code == 2


@pytest.mark.parametrize(("said", "given", "message"), [
    ([], "{", "no JSON"),
    ([], "{}", "holds a dict"),
    (["--jsonl"], "\n[", "line 2 is no JSON"),
    ([], '[{"id": "a"}]', "text"),
    (["--set", "top_q=3"], "[]", "top_q: there is no such option; did you mean top_k?"),
    (["--preset", "best"], "[]", "preset"),
    (["missing.json"], "", "missing.json"),
])  # fmt: skip
def test_what_cannot_be_done_is_one_line(said: list[str], given: str, message: str) -> None:
    result = run(app, ["reorder", *said], input=given)
    assert result.exit_code in (2, 3)
    assert result.stdout == ""
    assert message in result.stderr
