from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from retrivex.errors import RetrivexError
from retrivex.evaluation.compare.monitor import ReorderMonitor


def named(names: str) -> list[dict[str, Any]]:
    return [{"id": name} for name in names]


def test_where_a_passage_stood_and_where_it_went() -> None:
    monitor = ReorderMonitor()
    monitor.record(named("abcde"), named("aedbc"), known=["c", "b"])
    report = monitor.report()
    assert [(m.passage, m.before, m.after, m.weight_before, m.weight_after) for m in report.moves] == [
        ("c", 2, 4, 0.0, 1.0), ("b", 1, 3, 0.25, 0.25),
    ]  # fmt: skip
    assert [move.at_edge for move in report.moves] == [True, False]
    assert (report.mean_before, report.mean_after) == (0.375, 0.875)
    assert (report.at_edge_before, report.at_edge_after, report.left_out) == (0, 0.5, 0)
    assert report.weight.mean == 0.5


def test_a_passage_that_is_left_out_counts_nothing_after() -> None:
    monitor = ReorderMonitor()
    monitor.record(named("abc"), named("bc"), known=["a"])
    report = monitor.report()
    assert (report.moves[0].after, report.moves[0].at_edge, report.left_out) == (None, False, 1)
    assert report.mean_after is None
    assert report.weight.mean == -1


def test_many_questions_make_a_sure_difference() -> None:
    monitor = ReorderMonitor()
    for _ in range(30):
        monitor.record(named("abcde"), named("cabde"), known=["c"])
    assert monitor.report().weight.significant


def test_a_known_passage_that_was_not_found_is_no_concern_of_an_order() -> None:
    monitor = ReorderMonitor()
    monitor.record(named("ab"), named("ba"), known=["x", "a", "a"])
    assert [move.passage for move in monitor.report().moves] == ["a"]


def test_names_objects_and_functions() -> None:
    passages = [SimpleNamespace(key=name) for name in "abc"]
    for name in ("key", lambda passage: passage.key):
        monitor = ReorderMonitor(name)
        monitor.record(passages, passages[::-1], known=["a"])
        assert monitor.report().moves[0].after == 2
    plain = ReorderMonitor()
    plain.record(["a", "b"], ["b", "a"], known=["b"])
    assert plain.report().moves[0].after == 0


def test_one_passage_alone() -> None:
    monitor = ReorderMonitor()
    monitor.record(named("a"), named("a"), known=["a"])
    report = monitor.report()
    assert (report.mean_before, report.mean_after, report.at_edge_after, report.weight.mean) == (0, 0, 1, 0)


def test_bad_input() -> None:
    monitor = ReorderMonitor()
    with pytest.raises(RetrivexError, match="no known passage was recorded"):
        monitor.report()
    with pytest.raises(RetrivexError, match="give a list"):
        monitor.record(named("ab"), named("ab"), known="a")
    with pytest.raises(RetrivexError, match="passage 1 has no name"):
        monitor.record([{"id": "a"}, {}], [], known=["a"])
