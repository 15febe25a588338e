"""`retrivex compare`: two ways in a table, their contexts side by side, as JSON and as a page."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from retrivex.cli import app
from retrivex.evaluation.results import RESULTS, Row, Way, write_rows

runner = CliRunner(env={"COLUMNS": "200"})


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Write results of two composers on four questions."""
    folder = tmp_path / "results"
    folder.mkdir()
    made = [
        Row(
            "bees",
            f"q{at}",
            Way("bm25", 6, composer, "document", 1000),
            {"evidence_recall": figure, "ms": 1.0, "evidence_tokens_per_1000": 1.0},
            question=f"Who is {at}?",
            context=f"{composer} says \x1b[31m{at}",
        )
        for composer, figures in (("balanced", [1, 1, 1, 0]), ("knn", [0, 0, 1, 1]))
        for at, figure in enumerate(figures)
    ]
    write_rows(folder / RESULTS, made)
    return folder


def test_table_and_contexts(results: Path) -> None:
    found = runner.invoke(
        app, ["compare", str(results), "--a", "composer=balanced", "--b", "composer=knn", "--show", "1"]
    )

    assert found.exit_code == 0, found.output
    assert "no effect seen" in found.stdout
    assert "+0.250" in found.stdout
    assert "balanced says" in found.stdout
    assert "Who is 0?" in found.stdout  # the win
    assert "Who is 3?" in found.stdout  # the loss
    assert "\x1b[31m" not in found.stdout


def test_figures_are_whole_in_a_pipe(results: Path) -> None:
    options = ["--a", "composer=balanced", "--b", "composer=knn"]
    found = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["compare", str(results), *options])

    assert "evidence_tokens_per_1000" in found.stdout
    assert "+0.000 to +0.000" in found.stdout
    assert "…" not in found.stdout


def test_json_and_page(results: Path, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    options = ["--a", "composer=balanced", "--b", "composer=knn", "--measure", "evidence_recall", "--json"]
    found = runner.invoke(app, ["compare", str(results), *options, "--out", str(target)])

    (line,) = json.loads(found.stdout)
    assert (line["ours"], line["theirs"], line["wins"], line["losses"], line["ties"]) == (0.75, 0.5, 2, 1, 1)
    assert line["pairs"][3] == {"set": "bees", "question_id": "q3", "ours": 0, "theirs": 1}
    assert "balanced against knn" in target.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--a", "composer"], "write FIELD=VALUE"),
        (["--a", "composer=other"], "there are balanced, knn"),
        (["--set", "ants"], "the results hold bees"),
        (["--measure", "f1"], "not known of both sides"),
    ],
)
def test_what_is_not_there_is_one_clear_error(results: Path, options: list[str], said: str) -> None:
    found = runner.invoke(app, ["compare", str(results), *options])

    assert found.exit_code in (2, 3)
    assert said in " ".join(found.stderr.split()).replace("│ ", "")
    assert "Traceback" not in found.output


def test_report_is_written_beside_the_results(results: Path) -> None:
    found = runner.invoke(app, ["report", str(results), "--title", "Bees"])

    assert found.exit_code == 0, found.output
    assert (results / "report.md").read_text(encoding="utf-8").startswith("# Bees\n")
    assert "<h1>Bees</h1>" in (results / "report.html").read_text(encoding="utf-8")
    assert "report.md" in found.stderr
