"""The benchmark of what checks cost asks for what each of them looks at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.speed.checks import CASES, CHECKS, Calls, find_places


def counting(says: str, original: Callable[..., Any], counts: Counter[str]) -> Callable[..., Any]:
    def counted(*said: Any, **more: Any) -> Any:
        counts[says] += 1
        return original(*said, **more)

    return counted


def test_its_requests_call_every_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Calls(tmp_path)
    counts: Counter[str] = Counter()
    for check in CHECKS:
        counted = counting(check.says, getattr(check.owner, check.name), counts)
        for owner, name in list(find_places(check)):
            monkeypatch.setattr(owner, name, counted)
    for case in CASES:
        calls.compose(case)
    calls.database.close()
    assert len(CHECKS) == 14
    missed = [check.says for check in CHECKS if not counts[check.says]]
    assert not missed, missed
