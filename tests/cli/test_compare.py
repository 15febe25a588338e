"""`retrivex compare`: two ways in a table, their contexts side by side, and as JSON."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from retrivex.cli import app
from retrivex.evaluation.run.results import RESULTS, Row, Way, write_rows

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


def test_what_a_figure_is_a_mean_over_is_said(results: Path) -> None:
    found = runner.invoke(app, ["compare", str(results), str(results)])
    assert found.exit_code == 0, found.output
    assert found.stderr == (
        "note: each figure is a mean over composer (balanced, knn): --a composer=balanced --b composer=balanced "
        "compares one of them, as another value would\n"
    )
    chosen = runner.invoke(app, ["compare", str(results), "--a", "composer=balanced", "--b", "composer=knn"])
    assert chosen.stderr == ""


def test_figures_are_whole_in_a_pipe(results: Path) -> None:
    options = ["--a", "composer=balanced", "--b", "composer=knn"]
    found = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["compare", str(results), *options])

    assert "milliseconds" in found.stdout
    assert "+0.00 [+0.00, +0.00]" in found.stdout
    assert max(map(len, found.stdout.splitlines())) <= 80
    assert not set("┏┃│─") & set(found.stdout)
    assert "…" not in found.stdout


def test_a_and_b_are_named_and_measures_are_explained(results: Path) -> None:
    found = runner.invoke(app, ["compare", str(results), "--a", "composer=balanced", "--b", "composer=knn"])
    lines = found.stdout.splitlines()

    assert lines[0] == (
        "No difference between balanced (A) and knn (B) is more than chance: evidence recall 0.750 against 0.500, "
        "4 questions."
    )
    assert {"A: balanced", "B: knn"} <= set(lines)
    assert "share of the evidence's characters that stand in the context" in found.stdout
    assert "ours" not in found.stdout
    assert "theirs" not in found.stdout
    # what a context costs stands apart, and the rest is named
    assert found.stdout.index("What they cost") < found.stdout.index("milliseconds")
    assert "with --measure NAME: evidence_tokens_per_1000" in found.stdout


@pytest.mark.parametrize("width", [80, 200])
def test_nothing_is_wider_than_the_terminal(results: Path, width: int) -> None:
    options = ["--a", "composer=balanced", "--b", "composer=knn", "--show", "2", "--measure", "evidence_recall"]
    options += ["--measure", "evidence_tokens_per_1000"]
    found = CliRunner(env={"COLUMNS": str(width)}).invoke(app, ["compare", str(results), *options])

    assert found.exit_code == 0, found.output
    assert max(map(len, found.stdout.splitlines())) <= width


def test_json(results: Path) -> None:
    options = ["--a", "composer=balanced", "--b", "composer=knn", "--measure", "evidence_recall", "--json"]
    found = runner.invoke(app, ["compare", str(results), *options])

    (line,) = json.loads(found.stdout)
    assert (line["ours"], line["theirs"], line["wins"], line["losses"], line["ties"]) == (0.75, 0.5, 2, 1, 1)
    assert line["pairs"][3] == {"set": "bees", "question_id": "q3", "ours": 0, "theirs": 1}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--a", "composer"], "--a 'composer' is not of the form key=value"),
        (["--a", "composer=other"], "there are balanced, knn"),
        (["--measure", "f1"], "not known of both sides"),
        ([], "A and B are the same results: choose two ways, as in --a composer=balanced --b composer=knn"),
        (["--a", "composer=knn", "--b", "composer=knn"], "A and B are the same results"),
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


def edit(results: Path, **fields: object) -> None:
    """Put other values into the first line of the results."""
    first, *rest = (results / RESULTS).read_text(encoding="utf-8").splitlines()
    lines = [json.dumps({**json.loads(first), **fields}), *rest]
    (results / RESULTS).write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.parametrize("command", [["report"], ["compare", "--a", "composer=balanced", "--b", "composer=knn"]])
def test_a_budget_that_is_text_is_one_clear_error(results: Path, command: list[str]) -> None:
    edit(results, budget="many")
    found = runner.invoke(app, [command[0], str(results), *command[1:]])

    assert found.exit_code == 3
    assert "line 1 of" in found.stderr
    assert "budget is 'many'" in " ".join(found.stderr.split())
    assert "Traceback" not in found.output


def test_nothing_in_common_is_one_clear_error(results: Path) -> None:
    lines = [json.loads(line) for line in (results / RESULTS).read_text(encoding="utf-8").splitlines()]
    kept = [
        {**line, "measures": {"f1": 1.0}}
        for line in lines
        if (line["composer"], line["question_id"]) in {("balanced", "q0"), ("knn", "q1")}
    ]
    others = [{**line, "measures": {}} for line in lines]
    merged = {(line["composer"], line["question_id"]): line for line in [*others, *kept]}
    (results / RESULTS).write_text("".join(json.dumps(line) + "\n" for line in merged.values()), encoding="utf-8")
    found = runner.invoke(app, ["compare", str(results), "--a", "composer=balanced", "--b", "composer=knn"])

    assert found.exit_code == 3
    assert "no question has f1 on both sides" in " ".join(found.stderr.split())


def test_a_measure_has_the_same_digits_in_every_cell(results: Path) -> None:
    lines = [json.loads(line) for line in (results / RESULTS).read_text(encoding="utf-8").splitlines()]
    for line in lines:
        line["measures"] = {"tokens": 106.0 if line["composer"] == "balanced" else 49.577}
    (results / RESULTS).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    found = runner.invoke(app, ["compare", str(results), "--a", "composer=balanced", "--b", "composer=knn"])

    (line,) = (line for line in found.stdout.splitlines() if line.startswith("tokens  "))
    assert line.split()[1:5] == ["106.0", "49.6", "+56.4", "[+56.4,"]
