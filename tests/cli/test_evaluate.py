from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import benchmarks.suites.datasets  # noqa: F401 - the public sets by name
from retrivex.cli import app
from retrivex.evaluation.run.results import read_rows

run = CliRunner().invoke

ANIMALS = ("bees", "ants", "wasps", "moths", "flies", "fleas", "mites", "gnats", "crickets", "beetles")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    for number, name in enumerate(ANIMALS):
        text = (
            f"# {name.title()}\n\n{name.title()} are insects.\n\n## Sleep\n\n{name.title()} sleep {number + 2} hours.\n"
        )
        (tmp_path / "docs" / f"{name}.md").write_text(text)
    lines = [
        {"question": f"How long do {name} sleep?", "evidence": [{"quote": f"{name} sleep {number + 2} hours"}]}
        for number, name in enumerate(ANIMALS)
    ]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return tmp_path


def evaluate(folder: Path, *args: str) -> Any:
    own = [str(folder / "q.jsonl"), "--documents", str(folder / "docs")]
    where = ["--out", str(folder / "out"), "--cache", str(folder / "cache"), "--processes", "1"]
    return run(app, ["evaluate", *own, *where, *args])


def test_ten_questions_over_markdown_in_one_command(folder: Path) -> None:
    result = evaluate(folder, "--budget", "60", "--chunk-tokens", "20")
    assert result.exit_code == 0, result.output
    header, *lines = result.stdout.splitlines()
    assert " ".join(header.split()) == "composer budget asked recall complete precision MRR spans tokens ms"
    assert [line.split()[:4] for line in lines[:3]] == [
        ["knn", "60", "10", "1.000"], ["knn±1", "60", "10", "1.000"], ["balanced", "60", "10", "1.000"],
    ]  # fmt: skip
    assert "30 results and report.html; answers were not generated" in result.stdout
    assert len(read_rows(folder / "out")) == 30
    assert json.loads((folder / "out" / "manifest.json").read_text())["sets"][0]["documents"] == 10


def test_bad_lines_are_told_and_the_rest_is_measured(folder: Path) -> None:
    with (folder / "q.jsonl").open("a") as file:
        file.write('\n{"question": "How long do newts sleep?", "evidence": [{"quote": "newts sleep"}]}\n{oops')
    result = evaluate(folder, "--composer", "knn")
    assert result.exit_code == 1
    assert "note: q: line 11: quote 'newts sleep' is not in any document" in result.stderr
    assert "note: q: line 12: " in result.stderr
    assert len(read_rows(folder / "out")) == 10
    odd = json.loads((folder / "out" / "manifest.json").read_text())["sets"][0]["odd"]
    assert odd["count"] == 2
    assert odd["records"][0].startswith("line 11: ")
    told = json.loads(evaluate(folder, "--composer", "knn", "--json").stdout)
    assert [line[:10] for line in told["left_out"]] == ["q: line 11", "q: line 12"]


def test_files_that_are_no_texts_are_told_last_and_are_no_failure(folder: Path) -> None:
    documents = next(path for path in folder.iterdir() if path.is_dir())
    for number in range(30):
        (documents / f"a{number}.png").write_bytes(b"PNG")
    assert evaluate(folder, "--composer", "knn").exit_code == 0
    with (folder / "q.jsonl").open("a") as file:
        file.write("\n{oops")
    result = evaluate(folder, "--composer", "knn")
    told = [line for line in result.stderr.splitlines() if line.startswith("note: q: ")]
    assert result.exit_code == 1
    assert told[0].startswith("note: q: line 11: ")
    assert told[1:] == ["note: q: 30 files of other kinds (30 .png) passed over"]


def test_where_the_documents_lie_stands_in_no_manifest(folder: Path) -> None:
    documents = folder / "docs"
    (documents / "more").mkdir()
    (documents / "more" / "x.png").write_bytes(b"PNG")
    (documents / "broken.pdf").write_bytes(b"no PDF")
    (documents / "line 3").write_bytes(b"\0")
    (documents / "latin.txt").write_bytes(b"Caf\xe9s are no insects.")
    result = evaluate(folder, "--composer", "knn")
    written = [(folder / "out" / name).read_text() for name in ("manifest.json", "report.md", "report.html")]
    odd = json.loads(written[0])["sets"][0]["odd"]["records"]
    assert result.exit_code == 0, result.output  # no line of the questions was left out
    named = ("1 file of other kinds", "document broken.pdf: ", "document latin.txt: ", "document line 3: ")
    assert sorted(record[: len(name)] for record, name in zip(sorted(odd), named, strict=True)) == list(named)
    assert [page for page in written if str(folder) in page] == []


def test_help_says_what_the_endpoint_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = " ".join(run(app, ["evaluate", "--help"], env={"COLUMNS": "300"}).stdout.split())
    assert "--model-url URL OpenAI-compatible endpoint" in said
    assert "--model NAME As the endpoint calls it." in said
    monkeypatch.setenv("RETRIVEX_MODEL_URL", "http://127.0.0.1:9/v1")
    assert evaluate(folder, "--composer", "knn").exit_code == 0  # no model is asked that was not named here


def test_no_questions_are_not_all_questions(folder: Path) -> None:
    result = evaluate(folder, "--questions", "0")
    assert result.exit_code == 2
    assert "questions" in result.stderr


def test_report_of_questions_about_markdown_and_with_factors_of_their_own(folder: Path) -> None:
    (folder / "out" / "img").mkdir(parents=True)
    (folder / "out" / "img" / "secret.png").write_bytes(b"secret")
    with (folder / "q.jsonl").open("a") as file:
        file.write('\n{"question": "Where?", "evidence": [{"quote": "see ![a picture](img/x.png)"}]}\n')
        for kind in ("numbers", "![x](img/secret.png)"):
            asked = {
                "question": "Do bees sleep?",
                "evidence": [{"quote": "bees sleep 2 hours"}],
                "factors": {"kind of": kind},
            }
            file.write(json.dumps(asked) + "\n")
    result = evaluate(folder, "--composer", "knn", "--composer", "balanced")
    assert result.exit_code == 1, result.output
    page = (folder / "out" / "report.md").read_text()
    html = (folder / "out" / "report.html").read_text()
    assert "## By kind of" in page
    assert "| q | numbers | 2,000 | knn | 1.000 |" in page
    assert "c2VjcmV0" not in html  # base64 of the file's content
    assert "![a picture](img/x.png)" in html  # as text


def test_what_cannot_be_answered_is_told(folder: Path) -> None:
    with (folder / "q.jsonl").open("a") as file:
        file.write('\n{"question": "How long do newts sleep?", "evidence": []}\n')
    result = evaluate(folder, "--composer", "knn")
    assert result.exit_code == 0
    assert "note: q: 1 of 11 questions have neither evidence nor answers" in result.stderr
    result = evaluate(folder, "--composer", "knn", "--unanswerable")
    assert "neither" not in result.stderr
    assert len(read_rows(folder / "out")) == 11
    (folder / "q.jsonl").write_text('{"question": "How long do newts sleep?", "evidence": []}')
    result = evaluate(folder)
    assert result.exit_code == 3
    assert "no question of q has evidence or answers" in result.stderr


def test_everything_can_be_given_more_than_once(folder: Path) -> None:
    (folder / "mine.toml").write_text("window = 1\n")
    options = {
        "--composer": ["knn", str(folder / "mine.toml")], "--order": ["document", "shuffle"], "--seed": ["1", "2"],
        "--budget": ["40", "80"], "--hits": ["3", "6"], "--retriever": ["bm25", "dense", "fused"],
        "--embed": ["hashing-64"], "--questions": ["4"], "--chunk-tokens": ["15"], "--chunker": ["auto"],
    }  # fmt: skip
    args = [word for name, values in options.items() for value in values for word in (name, value)]
    result = evaluate(folder, *args, "--keep-contexts", "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["rows"] == 4 * 2 * 3 * 2 * 2 * 3
    assert len(told["summary"]) == told["rows"] / 4
    rows = read_rows(folder / "out")
    assert all(row.context for row in rows)
    assert {row.way.composer for row in rows} == {"knn", "mine"}
    header = evaluate(folder, *args, "--keep-contexts").stdout.splitlines()[0].split()
    assert header[:6] == ["retriever", "hits", "composer", "budget", "order", "seed"]


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["--composer", "nix"], 2, "composer is 'nix': it must be one of knn, knn±1"),
        (["--order", "nix"], 2, "order is 'nix'"),
        (["--retriever", "dense"], 2, "there is no encoder"),
        (["--retriever", "nix"], 2, "retrievers.0 is 'nix': it should be"),
        (["--budget", "0"], 2, "budgets.0 is 0: it should be greater than or equal to 1"),
        (["--chunker", "nix"], 2, "chunker is 'nix': it should be"),
        (["--set", "nix", "--data", "."], 3, "evaluation set 'nix' is unknown"),
        (["--tokenizer", "nix"], 3, "tokenizer 'nix'"),
    ],
)
def test_wrong_usage_is_one_line(folder: Path, args: list[str], code: int, message: str) -> None:
    result = evaluate(folder, *args)
    assert result.exit_code == code
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_questions_need_something_to_be_asked_of(folder: Path) -> None:
    for args in (["evaluate"], ["evaluate", "--documents", str(folder)], ["evaluate", str(folder / "q.jsonl")]):
        assert run(app, args).exit_code == 2


def test_a_public_set_and_own_questions_side_by_side(folder: Path, data_dir: Path) -> None:
    args = ["--set", "chunking_evaluation", "--data", str(data_dir), "--questions", "5", "--composer", "knn"]
    result = evaluate(folder, *args)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0].split()[0] == "set"
    assert {row.set_name for row in read_rows(folder / "out")} == {"q", "chunking_evaluation"}


def test_no_word_of_the_table_is_cut_where_the_screen_is_narrow(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    result = evaluate(folder, "--budget", "60", "--budget", "90", "--hits", "5", "--hits", "20", "--composer", "knn")

    table, _, _ = result.stdout.partition("\nwritten: ")
    assert {"recall", "complete", "precision", "MRR", "spans", "tokens", "ms"} <= set(table.split())


def test_a_budget_below_a_chunk_is_noted(folder: Path) -> None:
    assert "At 15 tokens a whole chunk, of up to 20," in evaluate(folder, "--budget=15", "--chunk-tokens=20").stderr
    assert "a whole chunk" not in evaluate(folder, "--budget=20", "--chunk-tokens=20").stderr
