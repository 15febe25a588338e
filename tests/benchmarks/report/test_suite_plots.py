"""Plots in a folder: what an earlier report wrote is taken away, what anybody else wrote stays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.report.suite_plots import Plot, listed_plots, write_plots
from retrivex.errors import LoadError


def plot(file: str, data: bytes = b"PNG") -> Plot:
    """Make a plot of one section."""
    return Plot("Time", file, f"shows {file}", data)


def names(folder: Path) -> list[str]:
    """Return what is in a folder."""
    return sorted(path.name for path in folder.iterdir())


def test_plots_are_listed_as_they_were_written(tmp_path: Path) -> None:
    write_plots([plot("a.png"), plot("b.png", b"other")], tmp_path / "figures")

    assert (tmp_path / "figures" / "b.png").read_bytes() == b"other"
    assert listed_plots(tmp_path / "figures") == {"Time": [("a.png", "shows a.png"), ("b.png", "shows b.png")]}
    assert listed_plots(tmp_path) == {}


def test_only_what_was_written_before_is_taken_away(tmp_path: Path) -> None:
    write_plots([plot("a.png"), plot("b.png"), plot("c.png")], tmp_path)
    (tmp_path / "b.png").write_bytes(b"drawn over by hand")
    (tmp_path / "mine.png").write_bytes(b"PNG")
    write_plots([plot("c.png", b"new")], tmp_path)

    assert names(tmp_path) == ["b.png", "c.png", "mine.png", "report.json"]
    assert (tmp_path / "c.png").read_bytes() == b"new"
    write_plots([], tmp_path)
    assert names(tmp_path) == ["b.png", "mine.png"]


def test_reports_that_share_a_folder_leave_each_other_alone(tmp_path: Path) -> None:
    write_plots([plot("niah_a.png")], tmp_path, name="niah")
    write_plots([plot("ruler_a.png")], tmp_path, name="ruler")
    write_plots([plot("niah_b.png")], tmp_path, name="niah")

    assert names(tmp_path) == ["niah.json", "niah_b.png", "ruler.json", "ruler_a.png"]


def test_a_list_cannot_point_out_of_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "figures"
    write_plots([plot("a.png")], folder)
    (tmp_path / "mine.png").write_bytes(b"PNG")
    told = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    told[0]["file"] = "../mine.png"
    (folder / "report.json").write_text(json.dumps(told), encoding="utf-8")
    write_plots([], folder)

    assert (tmp_path / "mine.png").exists()


@pytest.mark.parametrize("text", ["{", "7", '{"Time": []}', '[{"file": "a.png"}]'])
def test_a_list_that_cannot_be_read_is_one_clear_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "report.json").write_text(text, encoding="utf-8")

    with pytest.raises(LoadError, match="no list of plots"):
        write_plots([plot("a.png")], tmp_path)
