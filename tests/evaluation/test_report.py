"""The report of a run: what was run, what reaches the context, where it loses, plots that show it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from retrivex.errors import LoadError
from retrivex.evaluation.metrics import position_sensitivity
from retrivex.evaluation.report import to_html, write_report
from retrivex.evaluation.results import MANIFEST, RESULTS, Row, Way, write_rows

DEPTHS = (0, 25, 50, 75, 100)


def needles(
    figure: Callable[[str, int, int, int], float], *, orders: tuple[str, ...] = ("edge_balanced",)
) -> list[Row]:
    """Make rows of needles at depths and lengths, for two composers and two budgets."""
    return [
        Row(
            f"niah/{tokens}",
            f"needle-{needle}/{depth}",
            Way("bm25", 6, composer, order, budget),
            {
                "evidence_recall": figure(composer, depth, needle, budget),
                "complete": figure(composer, depth, needle, budget),
                "evidence_position": (needle % 7) / 6 if order == "document" else 0.0,
                "tokens": 0.9 * budget,
                "evidence_tokens_per_1000": 20.0,
                "ms": 1.5,
            },
            {"depth": depth, "tokens": tokens, "needle": needle, "task": "needle|<b>"},
            question=f"Where is {needle}?",
        )
        for tokens in (4096, 8192)
        for needle in range(8)
        for depth in DEPTHS
        for composer in ("knn", "balanced")
        for order in orders
        for budget in (500, 1000)
    ]


def write(folder: Path, rows: list[Row]) -> Path:
    """Write a folder of results."""
    folder.mkdir(exist_ok=True)
    write_rows(folder / RESULTS, rows)
    told = {"name": "niah/4096", "asked": 40, "documents": 7, "odd": {"count": 1, "records": ["line 3: <i>"]}}
    (folder / MANIFEST).write_text(json.dumps({"sets": [told], "seeds": [0], "code": "abc"}), encoding="utf-8")
    return folder


def section(page: str, title: str) -> str:
    """Return the text under a heading."""
    return page.split(f"## {title}\n")[1].split("\n## ")[0]


def test_report_says_what_was_run_and_what_was_not(tmp_path: Path) -> None:
    folder = write(tmp_path / "run", needles(lambda composer, depth, needle, budget: 1.0))
    write_report(folder, title="Needles")
    page = (folder / "report.md").read_text(encoding="utf-8")

    assert page.startswith("# Needles\n")
    assert "| niah/4096 | 40 | 7 | 0 | 0 | 0 | 1 |" in section(page, "What was run")
    assert "- line 3: &lt;i>" in section(page, "What was run")
    assert "abc" not in page
    assert "Answers were not generated" in section(page, "Answers")
    assert "In no set and at no budget" in section(page, "Where it loses")
    # a line for each budget and composer, of both lengths together
    assert section(page, "What reaches the context").count("1.000 [1.000, 1.000]") == 8
    assert "needle\\|&lt;b>" in section(page, "By task")


def test_losses_are_said(tmp_path: Path) -> None:
    rows = needles(lambda composer, depth, needle, budget: float(composer == "knn" or budget == 1000))
    write_report(write(tmp_path / "run", rows))
    found = section((tmp_path / "run" / "report.md").read_text(encoding="utf-8"), "Where it loses")

    assert found.count("knn is better") == 4  # two sets, two measures, and the small budget alone
    assert "| niah/4096 | 500 | 6 bm25 | balanced | evidence recall | -1.000 |" in found


def test_depth_that_matters_is_told_from_noise(tmp_path: Path) -> None:
    rows = needles(lambda composer, depth, needle, budget: float(composer == "balanced" or depth != 50))
    write_report(write(tmp_path / "run", rows))
    found = section((tmp_path / "run" / "report.md").read_text(encoding="utf-8"), "Depth of the evidence")
    lines = [line for line in found.splitlines() if "complete" in line]

    assert [("knn" in line, "depends on depth" in line) for line in lines] == [(True, True)] * 2 + [(False, False)] * 2
    assert "0.000 at 50 %" in lines[0]


def test_orders_say_where_the_evidence_stands(tmp_path: Path) -> None:
    rows = needles(lambda composer, depth, needle, budget: 1.0, orders=("edge_balanced", "document"))
    write_report(write(tmp_path / "run", rows))
    found = section((tmp_path / "run" / "report.md").read_text(encoding="utf-8"), "Orders")

    edges = next(line for line in found.splitlines() if "| knn | edge_balanced |" in line)
    document = next(line for line in found.splitlines() if "| knn | document |" in line)
    assert "0.000 [0.000, 0.000] | 1.00 | 0.00" in edges
    assert document.endswith(
        "| 0.38 | 0.38 |"
    )  # by hand: 0 twice and 1 once of 8 needles; 2, 3, 4 of 0-6 in the middle


def test_composers_with_orders_of_their_own_stand_beside_each_other(tmp_path: Path) -> None:
    rows = [
        Row("bees", "q", Way("bm25", 6, composer, order, 500), {"evidence_recall": figure})
        for composer, order, figure in (("knn", "score_desc", 0.25), ("balanced", "edge_balanced", 0.75))
    ]
    write_report(write(tmp_path / "run", rows))
    found = section((tmp_path / "run" / "report.md").read_text(encoding="utf-8"), "What reaches the context")

    assert "0.250" in found
    assert "0.750" in found


def test_folder_without_results_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="cannot be read"):
        write_report(tmp_path)
    write_rows(tmp_path / RESULTS, [])
    with pytest.raises(LoadError, match="holds no results"):
        write_report(tmp_path)


def test_html_holds_its_images_and_no_foreign_markup(tmp_path: Path) -> None:
    (tmp_path / "plot.png").write_bytes(b"PNG")
    made = to_html("![a plot](plot.png)\n\n<script>alert(1)</script>\n", tmp_path, title="x<y")

    assert 'src="data:image/png;base64,UE5H"' in made
    assert "<script>" not in made
    assert "<title>x&lt;y</title>" in made
    with pytest.raises(LoadError, match=r"none\.png"):
        to_html("![](none.png)", tmp_path, title="x")
    inside = tmp_path / "inside"
    inside.mkdir()
    for path in ("../plot.png", str(tmp_path / "plot.png")):
        assert "base64" not in to_html(f"![]({path})", inside, title="x")


@pytest.mark.integration
def test_plots_are_drawn_and_are_the_same_each_time(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    rows = needles(lambda composer, depth, needle, budget: float(depth != 50), orders=("edge_balanced", "document"))
    first, second = (write(tmp_path / name, rows) for name in ("first", "second"))

    assert write_report(first) == write_report(second) == []
    names = sorted(path.name for path in (first / "figures").iterdir())
    assert names == [
        "complete_by_budget.png",
        "evidence_per_token.png",
        "evidence_recall_by_budget.png",
        "milliseconds.png",
        "niah_complete_by_depth.png",
        "places_by_order.png",
    ]
    page = (first / "report.md").read_text(encoding="utf-8")
    for name in names:
        assert f"(figures/{name})" in page
        assert (first / "figures" / name).read_bytes() == (second / "figures" / name).read_bytes()
    assert (first / "report.html").read_text(encoding="utf-8").count("data:image/png") == len(names)


def test_sensitivity_of_noise_is_not_seen() -> None:
    figures = {depth: [float((needle + depth) % 3 == 0) for needle in range(30)] for depth in range(5)}
    found = position_sensitivity(figures)

    assert not found.seen
    assert 0 < found.by_chance < 0.5
    assert found.spread == pytest.approx(0.0)


@pytest.mark.integration
def test_factors_called_as_those_of_needles_may_hold_texts(tmp_path: Path) -> None:
    asked = [
        Row("own", f"q{at}", Way("bm25", 6, "knn", "document", 500), {"complete": 1.0}, {"depth": depth, "tokens": "?"})
        for at, depth in enumerate(("deep", "shallow"))
    ]
    assert write_report(write(tmp_path / "run", asked)) == []
