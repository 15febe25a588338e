"""The levels of effort at several budgets: what is asked, what is counted as lower, and what is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.evidence import effort
from benchmarks.evidence.effort import VARIATIONS, jobs, systems_of
from benchmarks.evidence.effort_summary import (
    BASE,
    DIFFERENCE,
    SYSTEMS,
    below,
    difference,
    holm,
    misses,
    packed,
    summary,
)
from benchmarks.evidence.index import ASKED_BY_NAME, SETS, SMALL_SETS
from benchmarks.evidence.run import Plan
from benchmarks.evidence.summary import FIGURES
from benchmarks.evidence.systems import DEFAULT, FULL, LEAN, RetriVex
from retrivex import Chunk, ChunkMetadata, SeedHit
from retrivex.evaluation.run import Case, Index
from retrivex.evaluation.run.results import Row, Way

CELL = VARIATIONS[BASE].cell(1000)
RECALLS = {"kNN": 0.5, DEFAULT: 0.7, LEAN: 0.4, FULL: 0.71}


def rows(set_name: str, recalls: dict[str, float], count: int = 40) -> list[Row]:
    """Rows whose mean is the given recall, one question a tenth above it and the next below."""
    rest = dict.fromkeys(FIGURES, 1.0)
    return [
        Row(set_name, str(number), Way("dense", 50, system, "score_desc", 1000),
            {**rest, "recall": recall + (-1) ** number * 0.1 * (system != "kNN"), "complete": 0.0, "tokens": 900.0})
        for system, recall in recalls.items()
        for number in range(count)
    ]  # fmt: skip


def cell(budget: int, **recalls: dict[str, float]) -> dict[str, Any]:
    found = [row for set_name, given in recalls.items() for row in rows(set_name, {**RECALLS, **given})]
    return {**summary(BASE, CELL, found, resamples=500), "budget": budget}


def test_means_and_differences() -> None:
    found = cell(1000, bees={}, wasps={"kNN": 0.9})
    assert found["means"]["bees"][DEFAULT]["recall"] == pytest.approx(0.7)
    assert found["questions"] == {"bees": 40, "wasps": 40}
    gain = difference(found, DEFAULT, "kNN", "recall")
    assert gain["mean"] == pytest.approx(0.0, abs=1e-9)
    assert gain["p"] is None
    assert difference(found, DEFAULT, "kNN", "recall", "bees")["mean"] == pytest.approx(0.2)
    assert difference(found, DEFAULT, FULL, "recall")["mean"] == pytest.approx(-0.01)
    assert difference(found, FULL, "kNN", "complete", "wasps")["p"] == 1.0
    written = packed(found)
    assert len(written["differences"][0]) == len(DIFFERENCE)
    assert written["means"]["bees"]["kNN"][FIGURES.index("recall")] == 0.5


def test_one_set_alone_is_its_own_mean() -> None:
    assert difference(cell(1000, bees={}), DEFAULT, "kNN", "recall")["mean"] == pytest.approx(0.2)


def test_lower_are_sets_and_budgets_that_are_significant_together() -> None:
    cells = [cell(1000, bees={}, wasps={"kNN": 0.9}), cell(2000, bees={}, wasps={})]
    assert below(cells, DEFAULT, "recall") == ([("wasps", 1000)], 4)
    assert below(cells, FULL, "recall", DEFAULT) == ([], 0)  # is not compared


def test_what_falls_short_is_told() -> None:
    assert list(misses([cell(1000, bees={}, wasps={})])) == []
    told = list(misses([cell(1000, bees={}, wasps={FULL: 0.9, "kNN": 0.9})]))
    assert [line.split(": ")[0] for line in told] == ["base, 1,000 tokens"] * 3
    assert told[0].endswith("against full effort")
    assert told[1].endswith("against kNN")
    assert told[2] == "base, 1,000 tokens: significantly below kNN in wasps"


def test_holm() -> None:
    assert holm([]) == []
    assert holm([0.04]) == [True]
    assert holm([0.03, 0.03]) == [False, False]
    assert holm([0.04, 0.02, 0.6]) == [False, False, False]
    assert holm([0.04, 0.01, 0.02]) == [True, True, True]


def test_every_variation_is_asked_of_every_system_and_of_the_sets_that_have_it(tmp_path: Path) -> None:
    plan = Plan({name: systems_of(name) for name in SETS}, 60, tmp_path)
    asked = list(jobs(plan, [(name, 500) for name in VARIATIONS]))
    assert len(asked) == len(SYSTEMS) * sum(len(variation.sets) for variation in VARIATIONS.values())
    assert set(VARIATIONS["documents named"].sets) == set(ASKED_BY_NAME)
    paths = {block.path for _, block in asked}
    # kNN needs neither vectors nor a store: MiniLM twice, the other encoder once
    repeated = 2 * len(SETS) + len(SMALL_SETS)
    assert len(paths) == len(asked) - repeated
    assert all(cell.budget == 500 for cell, _ in asked)


@pytest.fixture
def index() -> Index:
    chunks = [
        Chunk(text, ChunkMetadata("d", at, start, start + len(text)))
        for at, (start, text) in enumerate(((0, "Bees sleep. "), (12, "Bees work by day. "), (30, "Ants dig.")))
    ]
    return Index(
        {"d": "".join(chunk.text for chunk in chunks)}, size=5, tokenizer=lambda text: len(text.split()),
        terms=str.split, chunks=chunks, vectors=np.eye(3, dtype=np.float32),
    )  # fmt: skip


def test_without_a_store_the_hits_are_all_there_is(index: Index) -> None:
    case = Case("When do bees sleep?", [SeedHit(index.chunks[0], 0.9)], index, 50, "dense", np.eye(3)[0])
    shown = {store: RetriVex(store=store, effort="full")(case) for store in (True, False)}
    assert max(end for _, _, end in shown[True]) > 12
    assert max(end for _, _, end in shown[False]) <= 12


def test_a_run_prints_every_cell_and_writes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def finish(plan: Plan, asked: Any, **_: object) -> None:
        for _, block in asked:
            block.path.parent.mkdir(parents=True, exist_ok=True)
            lines = [json.dumps({"question": name, **dict.fromkeys(FIGURES, 0.5)}) for name in "abc"]
            block.path.write_text("\n".join(lines), encoding="utf-8")

    monkeypatch.setattr(effort, "run", finish)
    monkeypatch.setattr(effort, "measured_with", lambda sets, most: {"sets": sets, "most_questions": most})
    monkeypatch.setattr(effort, "Plan", lambda systems, most: Plan(systems, most, tmp_path / "cache"))
    given = ["--quick", "--variations", BASE, "no store", "--budgets", "1000", "--sets", "squad", "--out"]
    monkeypatch.setattr("sys.argv", ["effort", *given, str(tmp_path)])
    assert effort.main() == 0
    assert '"variation":"no store"' in (tmp_path / "effort.json").read_text(encoding="utf-8")
    said = capsys.readouterr().out
    assert "base: evidence / complete in tokens" in said
    assert "no store: evidence / complete in tokens" in said
