"""A plan follows from the results: each figure from the factor that it stands on."""

from __future__ import annotations

import copy
import json
from dataclasses import asdict
from typing import Any

import pytest

from benchmarks.report.scale_plan import RESULTS, main, make_plan, plan_table
from benchmarks.report.scale_tables import off

SCALE: dict[str, Any] = json.loads((RESULTS / "scale.json").read_text(encoding="utf-8"))


def changed(path: tuple[str, ...], factor: float) -> set[str]:
    """Return which figures change when a number of the results does."""
    before = asdict(make_plan(SCALE, 200.0, 1e9, 1e3, 64))
    other = copy.deepcopy(SCALE)
    place = other
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] *= factor
    after = asdict(make_plan(other, 200.0, 1e9, 1e3, 64))
    return {name for name in before if before[name] != after[name]}


@pytest.mark.parametrize(
    ("path", "figures"),
    [
        (("growth", "1000000", "text_bytes"), {"text_gb"}),
        (("growth", "1000000", "vector_bytes"), {"vectors_gb"}),
        (("growth", "1000000", "ingest_cpu_us"), {"ingest_hours"}),
        (("growth", "1000000", "ms", "words_frequent"), {"words_cores"}),
        (("growth", "1000000", "ms", "vectors_exact"), {"vectors_cores"}),
        (("growth", "tenant_alone_ms"), {"tenant_cores"}),
        (("queue", "context", "service_mean_ms"), {"composing_machines"}),
        (("shards", "files-10000000", "document", "cpu_p50_ms"), {"neighbours_cores"}),
        (("shards", "placed", "sets", "size_cv"), {"fullest"}),
        (("shards", "placed", "sets", "documents_of_hits"), {"asked", "neighbours_cores", "requests_per_shard"}),
    ],
)
def test_a_figure_stands_on_its_factor(path: tuple[str, ...], figures: set[str]) -> None:
    assert changed(path, 2.0) == figures


def test_twice_the_questions_need_twice_the_cores_and_no_more_disk() -> None:
    once, twice = (make_plan(SCALE, 200.0, 1e8, rate, 16) for rate in (1e3, 2e3))
    assert twice.neighbours_cores == pytest.approx(2 * once.neighbours_cores)
    assert twice.words_cores == pytest.approx(2 * once.words_cores)
    assert 2 * once.composing_machines - 1 <= twice.composing_machines <= 2 * once.composing_machines
    assert (twice.text_gb, twice.fullest, twice.asked) == (once.text_gb, once.fullest, once.asked)


def test_twice_the_chunks_need_twice_the_disk_and_no_more_machines_that_compose() -> None:
    once, twice = (make_plan(SCALE, 200.0, chunks, 1e3, 16) for chunks in (1e8, 2e8))
    assert twice.text_gb == pytest.approx(2 * once.text_gb)
    assert twice.composing_machines == once.composing_machines
    assert once.neighbours_cores < twice.neighbours_cores < 1.2 * once.neighbours_cores


@pytest.mark.parametrize("chunks", [1.0, 1e6, 1e9, 1e12])
def test_the_words_that_take_longest_make_the_upper_bound(chunks: float) -> None:
    rare = copy.deepcopy(SCALE)
    for size in rare["growth"].values():
        if isinstance(size, dict):
            size["ms"]["words_frequent"] = size["ms"]["words_rare"]
    cores = [make_plan(made, 200.0, chunks, 1e3, 1).words_cores for made in (rare, SCALE)]
    assert cores == sorted(cores)


@pytest.mark.parametrize(
    ("numbers", "name"),
    [
        ((0, 1e3, 4), "chunks is 0"),
        ((1e6, -1, 4), "questions is -1"),
        ((1e6, 1e3, 0), "shards is 0"),
        ((float("inf"), 1e3, 4), "chunks is inf"),
        ((1e6, float("nan"), 4), "questions is nan"),
        ((1e6, 1e3, 10**400), "shards is 10000000000000000000"),
    ],
)
def test_a_number_that_cannot_be_counted_with_is_refused(numbers: tuple[float, float, int], name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}: it must be above 0 and at most 1e\\+15"):
        make_plan(SCALE, 200.0, *numbers)


@pytest.mark.parametrize("value", ["1e400", "nan", "-inf", "1e300"])
@pytest.mark.parametrize("option", ["--chunks", "--questions"])
def test_the_command_says_in_one_line_what_is_wrong(
    option: str, value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["scale_plan", f"{option}={value}"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.splitlines()[-1].endswith("it must be above 0 and at most 1e+15")


@pytest.mark.parametrize("numbers", [(1e-300, 1e-300, 1), (1e15, 1e15, 10**15), (1e-9, 1e15, 10**15)])
def test_a_plan_is_made_for_the_least_and_the_most(numbers: tuple[float, float, int]) -> None:
    assert plan_table(make_plan(SCALE, 200.0, *numbers), numbers[2])


def test_the_table_says_the_machines_and_the_fullest_shard() -> None:
    plan = make_plan(SCALE, 200.0, 1e9, 1e3, 64)
    shown = plan_table(plan, 64)
    assert f"{plan.composing_machines} machines of 2 cores, 400 MB each" in shown
    assert f"{plan.text_gb / 64 * plan.fullest:.1f} GB" in shown


def test_an_error_is_of_the_paper_against_what_was_found() -> None:
    assert (off(110, 100), off(95, 100)) == ("+10 %", "-5 %")
