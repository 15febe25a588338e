"""Queues on paper say what a simulation of questions that wait for a core does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.speed.scale import on_a_line
from benchmarks.speed.scale_queue import Queue, check_queue, erlang_c, machines_needed


@given(st.floats(0.01, 0.99))
def test_one_core_makes_wait_whom_it_is_busy_for(use: float) -> None:
    assert erlang_c(1, use) == pytest.approx(use)


def test_more_cores_wait_less_at_the_same_use() -> None:
    waiting = [erlang_c(cores, 0.7 * cores) for cores in (1, 2, 4, 16)]
    assert waiting == sorted(waiting, reverse=True)
    assert waiting[1] == pytest.approx(0.5765, abs=1e-4)  # 2 use^2 / (1 + use), by hand


def test_exponential_times_on_one_core_wait_as_in_the_textbook() -> None:
    times = np.random.default_rng(2).exponential(0.01, 200_000)
    paper = Queue(70.0, 1, times).mean_wait()
    assert paper == pytest.approx(0.7 * 0.01 / 0.3, rel=0.02)


def test_equal_times_on_one_core_wait_half_as_long() -> None:
    one = Queue(70.0, 1, np.array([0.01]))
    assert one.mean_wait() == pytest.approx(0.5 * 0.7 * 0.01 / 0.3)
    waits, both = one.simulate(100_000)
    assert waits.mean() == pytest.approx(one.mean_wait(), rel=0.05)
    assert np.allclose(both - waits, 0.01)


def test_paper_and_simulation_agree_for_times_with_a_tail() -> None:
    times = np.array([0.017] * 95 + [0.080] * 5)
    found = check_queue(times, 1_000.0, 2, 0.7, questions=60_000)
    assert found["use"] <= 0.7
    for name, said in found["paper_ms"].items():
        assert said == pytest.approx(found["simulated_ms"][name], rel=0.15)


@given(st.floats(1, 1e4), st.integers(1, 64), st.floats(1e-4, 0.1), st.floats(0.1, 0.95))
def test_machines_are_as_few_as_the_use_allows(rate: float, cores: int, mean_s: float, use: float) -> None:
    count = machines_needed(rate, cores, mean_s, use)
    assert rate * mean_s / (count * cores) <= use + 1e-6
    assert count == 1 or rate * mean_s / ((count - 1) * cores) >= use


def test_a_line_goes_through_both_sizes_and_beyond() -> None:
    assert [on_a_line((10, 20), (1.0, 3.0), count) for count in (10, 20, 40)] == [1.0, 3.0, 7.0]
