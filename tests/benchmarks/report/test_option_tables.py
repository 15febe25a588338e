"""The reference of options: it says of each option what the config checks, and figures of today's behaviour alone."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks.behaviour import FIELD, StaleResultError, kept
from benchmarks.evidence.options import CHANGES, UNMEASURED, Change
from benchmarks.report import committed, option_tables, tables
from retrivex import RetrivexError
from retrivex.config import COMMON_OPTIONS, PRESETS, RetrievalConfig

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "configuration.md").read_text(encoding="utf-8")
FIELDS = RetrievalConfig.model_fields
SECTIONS = dict(part.split("`\n", 1) for part in re.split(r"^### `", PAGE, flags=re.MULTILINE)[1:])
LIMITED = re.compile(r"(above )?(−?[\d,.]+)(?: to ([\d,.]+)| or more|(?=$|;))")


def test_the_page_is_what_the_config_and_the_result_say() -> None:
    assert tables.filled(PAGE) == PAGE


def test_every_option_is_there_under_its_step_in_their_order() -> None:
    steps = dict(part.split("\n", 1) for part in PAGE.split("\n## ")[1:])
    for step, names in RetrievalConfig.option_groups().items():
        assert re.findall(r"^### `(\w+)`$", steps[step.capitalize()], re.MULTILINE) == list(names)
    common = next(text for heading, text in steps.items() if heading.startswith("The ten options"))
    assert re.findall(r"^\| \[`(\w+)`\]", common, re.MULTILINE) == list(COMMON_OPTIONS)
    assert all(f"| `{preset}` |" in PAGE for preset in PRESETS)


@pytest.mark.parametrize("name", FIELDS)
def test_every_option_has_meaning_default_values_and_effect(name: str) -> None:
    section = SECTIONS[name]
    assert section.startswith(f"\n{FIELDS[name].description}\n")
    found = dict(re.findall(r"^- \*\*(\w+):\*\*((?:.|\n    )+)$", section, re.MULTILINE))
    assert list(found) == ["Default", "Values", "Effect"]
    assert re.search(r"[−+ ]\d+\.\d points \[.+\]|the same evidence\. Tokens|no context changes\."
                     rf"|Not measured: {UNMEASURED.get(name, '-')}", found["Effect"])  # fmt: skip


def _takes(name: str, value: float) -> bool:
    given: Any = {
        "quotas": [value],
        "edge_counts": (value, value),
        "relevance_levels": (value, value),
        "weights": {"decay": value},
    }.get(name, value)
    try:
        RetrievalConfig(**{name: given})
    except RetrivexError:
        return False
    return True


NUMBERS = {
    name: said
    for name, field in FIELDS.items()
    if "number" in (said := option_tables.values(field.annotation, field.metadata))
}


@pytest.mark.parametrize("name", NUMBERS)
def test_the_limits_of_the_page_are_those_that_are_checked(name: str) -> None:
    found = LIMITED.search(NUMBERS[name])
    one, step = (int, 1) if "whole" in NUMBERS[name] else (float, 1e-6)
    if found is None:
        assert _takes(name, one(-1e6))
        assert _takes(name, one(1e6))
        return
    low, high = (float((said or "1e6").replace(",", "").replace("−", "-")) for said in found.group(2, 3))
    if name != "quotas":  # its shares may not all be 0
        assert _takes(name, one(low)) is not bool(found[1])
    assert _takes(name, one(low + step))
    assert not _takes(name, one(low - step))
    assert _takes(name, one(high))
    assert _takes(name, one(high + step)) is (found[3] is None)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (bool, "`true` or `false`"),
        (tuple[int, int] | None, "a pair, each a whole number; or none"),
        (RetrievalConfig, "`RetrievalConfig`, as described"),
        (Path | None, "a path, as described; or none"),
    ],
)
def test_values_of_types(kind: Any, said: str) -> None:
    assert option_tables.values(kind) == said


def test_every_option_is_measured_or_says_why_it_is_not() -> None:
    measured = [change.option for change in CHANGES]
    assert set(measured) | set(UNMEASURED) == set(FIELDS)
    assert not set(measured) & set(UNMEASURED)


def test_the_result_has_every_change_at_every_budget() -> None:
    def key(change: Change, budget: int) -> tuple[str, str, int]:
        return change.option, change.name, budget

    asked = [key(change, budget) for change in CHANGES for budget in change.budgets]
    assert [(row["option"], row["value"], row["budget"]) for row in committed.result("options")["cells"]] == asked


def _write(path: Path, fingerprint: str, **row: Any) -> None:
    plain = {"option": "window", "value": "`4`", "beside": {}, "given": "hits by vectors", "budget": 2000}
    figures = {"evidence": [0.3, -0.25, 0.84], "tokens": [-2.04, -3.0, -1.0], "changed": 12.5}
    rows = [{**plain, **figures, **row}, {**plain, **figures, **row, "budget": 1000}]
    (path / "options.json").write_text(json.dumps({FIELD: fingerprint, "cells": rows}), encoding="utf-8")


def test_an_effect_is_a_line_with_the_figures_of_each_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committed, "RESULTS", tmp_path)
    _write(tmp_path, kept(), beside={"grow_until": "table"})
    assert option_tables.effect("window") == (
        "\n    - `4`, with `grow_until=table`: +0.3 points [−0.2, +0.8] at 2,000 tokens, +0.3 points [−0.2, +0.8] at "
        "1,000 tokens. Tokens −2.0 %; 12 % of the contexts change."
    )
    _write(tmp_path, kept(), evidence=[0, 0, 0], given="parents")
    assert option_tables.effect("window").startswith("\n    - `4`, with parents: the same evidence. Tokens")
    _write(tmp_path, kept(), changed=0.0)
    assert option_tables.effect("window") == "\n    - `4`: no context changes."


def test_figures_of_another_behaviour_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committed, "RESULTS", tmp_path)
    _write(tmp_path, "another")
    with pytest.raises(StaleResultError, match=r"options\.json was measured with the behaviour another"):
        tables.filled(PAGE)
