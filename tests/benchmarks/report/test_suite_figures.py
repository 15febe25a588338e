"""The plots of a suite. Needs matplotlib."""

import io
from dataclasses import replace
from typing import Any

import pytest
from support.report_rows import needles

from retrivex.evaluation.run.results import Row, Way

pytestmark = pytest.mark.integration


def test_plots_are_drawn_and_are_the_same_each_time() -> None:
    figures = pytest.importorskip("benchmarks.report.suite_figures")
    rows = needles(lambda composer, depth, needle, budget: float(depth != 50), orders=("edge_balanced", "document"))
    plots = figures.draw(rows)

    assert plots == figures.draw(rows)
    assert sorted(plot.file for plot in plots) == [
        "evidence_per_token.png",
        "evidence_recall_by_budget.png",
        "milliseconds.png",
        "niah_complete_by_depth.png",
        "places_by_order.png",
    ]
    assert any(plot.shows.startswith("evidence recall = complete against the token budget") for plot in plots)


def test_factors_called_as_those_of_needles_may_hold_texts() -> None:
    figures = pytest.importorskip("benchmarks.report.suite_figures")
    asked = [
        Row("own", f"q{at}", Way("bm25", 6, "knn", "document", 500), {"complete": 1.0}, {"depth": depth, "tokens": "?"})
        for at, depth in enumerate(("deep", "shallow"))
    ]
    mixed = [replace(row, factors={**row.factors, "depth": ""}) for row in needles(lambda *_: 1.0)[:1]]
    assert figures.draw(asked) == []
    assert figures.draw([*needles(lambda *_: 1.0), *mixed])


def test_tasks_and_lengths_are_a_map_and_depths_only_where_the_same_was_asked_at_each() -> None:
    figures = pytest.importorskip("benchmarks.report.suite_figures")
    rows = [
        Row(f"ruler/{task}/{tokens}", f"q{at}", Way("bm25", 6, "knn", "document", 500), {"complete": 1.0},
            {"depth": 10 * at + (task == "vt"), "tokens": tokens, "task": task})
        for task in ("niah_single_1", "vt")
        for at in range(4)
        for tokens in (4096, 8192)
    ]  # fmt: skip
    drawn = {plot.file: plot.section for plot in figures.draw(rows) if plot.file.startswith("ruler")}

    assert drawn == {"ruler_complete_by_task.png": "By task"}


def test_no_label_is_cut_at_the_edge_of_a_plot(monkeypatch: pytest.MonkeyPatch) -> None:
    figures = pytest.importorskip("benchmarks.report.suite_figures")
    text_kind = pytest.importorskip("matplotlib.text").Text
    cut = []
    draw = figures.png

    def check(figure: Any) -> bytes:
        made: bytes = draw(figure)
        for text in figure.findobj(text_kind):
            box = text.get_window_extent()
            if text.get_text() and text.get_visible() and not (box.y0 >= -1 and box.y1 <= figure.bbox.y1 + 1):
                cut.append(text.get_text())
        return made

    monkeypatch.setattr(figures, "png", check)
    assert figures.draw(needles(lambda composer, depth, *_: float(depth != 50)))
    assert cut == []


def test_plots_keep_their_colours_and_are_small() -> None:
    figures = pytest.importorskip("benchmarks.report.suite_figures")
    image = pytest.importorskip("PIL.Image")
    drawn = figures.Figure(figsize=(2, 2))
    axis = drawn.subplots()
    axis.bar(range(4), range(1, 5), color=["#777777", "#cc2222", "#fff7b1", "#f5fbb1"])
    with image.open(io.BytesIO(figures.png(drawn))) as made:
        colours = {colour for _, colour in made.convert("RGB").getcolors()}

        assert made.mode == "P"
        assert len(colours) <= 64
        # two shades of a heat map that are close to each other, too
        assert {(255, 255, 255), (0, 0, 0), (119, 119, 119), (204, 34, 34), (255, 247, 177), (245, 251, 177)} <= colours


def test_bars_of_several_kinds_of_hits_stand_apart() -> None:
    figures = pytest.importorskip("benchmarks.report.suite_figures")
    image = pytest.importorskip("PIL.Image")
    rows = needles(lambda *_: 1.0)
    both = [*rows, *(replace(row, way=replace(row.way, retriever="dense")) for row in rows)]

    def width(of: list[Row]) -> int:
        drawn = next(plot for plot in figures.draw(of) if plot.file == "milliseconds.png")
        with image.open(io.BytesIO(drawn.data)) as made:
            return int(made.width)

    assert width(both) > width(rows)  # a panel for each kind


def test_time_against_hits_and_windows_is_drawn() -> None:
    pytest.importorskip("matplotlib")
    from benchmarks.report import plots  # noqa: PLC0415 - needs matplotlib

    rows = [
        {"scorer": scorer, "k": k, "window": window, "us": 1000.0 * k * (window + 1), "floor_us": {"fetch": 100.0}}
        for scorer in ("weighted", "calibrated")
        for k in (3, 20, 100)
        for window in (0, 2)
    ]
    figure = plots.against_hits(rows)

    assert [axis.get_title() for axis in figure.axes] == ["weighted", "calibrated"]
    lines = {line.get_label(): list(line.get_ydata()) for line in figure.axes[0].lines}
    assert lines["L = 2"] == [9.0, 60.0, 300.0]


def test_a_name_that_the_font_lacks_is_not_quoted_to_the_terminal(recwarn: pytest.WarningsRecorder) -> None:
    figures = pytest.importorskip("benchmarks.report.suite_figures", exc_type=ImportError)
    figure = pytest.importorskip("matplotlib.figure").Figure()
    figure.supxlabel("\x1b[31m\u8702")
    assert figures.png(figure).startswith(b"\x89PNG")
    assert [str(warning.message) for warning in recwarn if "Glyph" in str(warning.message)] == []
