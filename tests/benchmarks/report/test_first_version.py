"""What version 0.1.0 claimed beside what was measured, and the grid of times."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from benchmarks.report import first_version, tables
from benchmarks.speed import latency
from retrivex.evaluation.run.results import COMPRESSED, MANIFEST, Row, Way, write_rows


def write_run(folder: Path, rows: list[Row]) -> None:
    """Write results as the benchmarks keep them."""
    folder.mkdir(parents=True)
    write_rows(folder / COMPRESSED, rows)
    (folder / MANIFEST).write_text("{}", encoding="utf-8")


def row(set_name: str, at: int, measures: Mapping[str, float], factors: Mapping[str, str | int], **way: int) -> Row:
    """Make a row of plain nearest chunks."""
    return Row(set_name, f"q{at}", Way("bm25", 50, "knn", "score_desc", way.get("budget", 2000)), measures, factors)


def test_claims_of_the_first_version_stand_beside_what_was_measured(tmp_path: Path) -> None:
    depths = {0: 1.0, 50: 0.0, 100: 1.0}
    needles = [
        row(
            "niah/4096",
            at,
            {"complete": figure, "reciprocal_rank": 0.5},
            {"depth": depth, "tokens": 4096, "needle": at},
        )
        for at in range(10)
        for depth, figure in depths.items()
    ]
    needles = [Row(one.set_name, f"{one.question_id}@{one.factors['depth']}", one.way, one.measures, one.factors)
               for one in needles]  # fmt: skip
    write_run(tmp_path / "niah", needles)
    said = first_version.claims(tmp_path)

    # by hand: two depths of three, and none at the worst in every resample
    assert "| niah, knn, 50 bm25 hits | 0.667 [" in said
    assert "| 0.500 [0.500, 0.500] | -1.000 [-1.000, -1.000] |" in said
    assert "| < 0.001 | 30 |" in said
    assert "RULER" not in said

    tasks = [row(f"ruler/{task}/4096/25", at, {"answer_in_context": 1.0}, {"task": task})
             for task in ("vt", "cwe") for at in range(4)]  # fmt: skip
    write_run(tmp_path / "ruler", tasks)
    said = first_version.claims(tmp_path)

    assert "exact match of 12 to 64 %" in said
    assert "| vt | 1.000 [1.000, 1.000] | 4 |" in said
    assert "| cwe |" not in said


def test_needles_of_the_first_version_stand_beside_what_the_hits_hold(tmp_path: Path) -> None:
    rows = [
        Row(
            "niah/4096",
            f"{at}@{depth}",
            Way("bm25", 50, composer, "score_desc", budget),
            {"complete": 0.0, "reciprocal_rank": 0.0, "evidence_recall": 0.0, "rescued_by_neighbours": 0.0,
             "lost": float(depth != 50)},
            {"depth": depth, "needle": at},
        )
        for composer in ("knn", "balanced")
        for budget in (1000, 2000)
        for at in range(10)
        for depth in (0, 50, 100)
    ]  # fmt: skip
    write_run(tmp_path / "niah", rows)
    said = first_version.claims(tmp_path)
    hits = next(line for line in said.splitlines() if "the hits themselves" in line)

    # by hand: needles at two depths of three, each once, and no rank before anything is chosen
    assert hits.startswith("| niah, the hits themselves, 50 bm25 hits | 0.667 [")
    assert "] | – | -1.000 [-1.000, -1.000] |" in hits
    assert hits.endswith("| < 0.001 | 30 |")
    assert said.index("the hits themselves,") < said.index("| niah, knn, 50 bm25 hits | 0.000")


def test_longbench_has_the_questions_of_each_measure(tmp_path: Path) -> None:
    write_run(
        tmp_path / "longbench",
        [
            row("longbench/a", at, {"answer_in_context": 1.0, "ms": ms}, {}, budget=1000)
            for at, ms in enumerate((1.0, 2.0, 9.0))
        ]
        + [row("longbench/b", 0, {"answer_in_context": 0.0, "evidence_recall": 0.25, "ms": 2.0}, {}, budget=1000)],
    )
    said = first_version.claims(tmp_path)

    assert "| knn, 1,000 tokens | 0.250 [0.250, 0.250] | 1 | 0.750 [" in said
    assert "] | 4 | 2.00 [" in said


def test_grid_of_hits_and_windows_is_measured_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "latency.json"
    out.write_text(json.dumps({"rows": ["as it was"]}), encoding="utf-8")
    monkeypatch.setattr(latency, "GRID_HITS", (3,))
    monkeypatch.setattr(latency, "GRID_WINDOWS", (0, 1))
    monkeypatch.setattr(latency, "GRID_CHUNKS", 200)
    monkeypatch.setattr("sys.argv", ["latency.py", "--grid", "--quick", "--out", str(out)])
    latency.main()
    found = json.loads(out.read_text(encoding="utf-8"))
    monkeypatch.setattr(tables, "result", lambda name: found)
    table = tables.latency_grid().splitlines()

    assert found["rows"] == ["as it was"]
    assert table[0] == "| ms (floor) | L = 0 | L = 1 |"
    assert [line.split(" | ")[0] for line in table[2:]] == ["| weighted, 3 hits", "| calibrated, 3 hits"]
    assert all(row["us"] > 0 and row["tokens shown"] > 0 for row in found["grid"]["rows"])
    monkeypatch.setattr(tables, "result", lambda name: {"rows": []})
    assert tables.latency_grid() == ""
