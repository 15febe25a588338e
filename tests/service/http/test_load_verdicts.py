"""What the load test judges: errors always, times only where the machine was its own."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.integration


def found_with(*, steady: dict[str, int], recovery: dict[str, int], of_others: float) -> dict[str, Any]:
    from benchmarks.speed.service import judge_load  # noqa: PLC0415 - of the environment serve alone

    made: dict[str, Any] = {
        "steady": {"statuses": steady, "memory": None, "cores_of_others": of_others},
        "overload": {"statuses": {"200": 9, "503": 9}, "p99_ratio": 1.5, "cores_of_others": of_others},
        "recovery": {"statuses": recovery, "recovered_after_s": 0.0},
        "alive": True,
    }
    return {**made, "met": judge_load(made)}


@pytest.mark.parametrize("of_others", [0.0, 1.5])
@pytest.mark.parametrize("status", ["500", "0"])
def test_a_failure_is_judged_however_busy_the_machine_is(status: str, of_others: float) -> None:
    from benchmarks.speed.service import find_missed  # noqa: PLC0415 - of the environment serve alone

    fine, bad = {"200": 9}, {"200": 9, status: 1}
    missed, _ = find_missed(found_with(steady=bad, recovery=fine, of_others=of_others), short=True)
    assert "steady: 200, 429 and 503 alone" in missed
    missed, _ = find_missed(found_with(steady=fine, recovery=bad, of_others=of_others), short=True)
    assert missed == ["recovery: 200, 429 and 503 alone"]


def test_a_refusal_is_judged_where_nobody_else_was_busy() -> None:
    from benchmarks.speed.service import find_missed  # noqa: PLC0415 - of the environment serve alone

    refused: dict[str, Any] = {"steady": {"200": 9, "503": 1}, "recovery": {"200": 9}}
    name = "steady: no error"
    assert find_missed(found_with(**refused, of_others=0.0), short=True) == ([name], [])
    assert find_missed(found_with(**refused, of_others=1.5), short=True) == ([], [name])
    assert find_missed(found_with(**refused, of_others=1.5), short=False) == ([name], [])
