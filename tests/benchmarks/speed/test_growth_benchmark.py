"""No step of the pipeline is quadratic in the length of a text, whatever the text repeats.

Lines of Python are counted; the time of compiled code is measured by the benchmark alone, a short run of which is an
integration test.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.operations import growth

from benchmarks.speed import growth as benchmark
from benchmarks.speed.growth import LARGEST, MOST, STEPS, UNITS, Account, Row, is_done, main, make_text, measure

COUNTED = ("sentences", "structure", "lead-ins", "shapes")
COMPILED = ("shapes", "overlaps", "types of questions", "errors", "count tokens")
"""Steps whose time is spent inside of single lines, in regular expressions and the like."""
SHORT = 2_000  # characters, more than what is kept or read at once


@pytest.mark.parametrize("kind", UNITS)
def test_work_grows_with_the_length(kind: str) -> None:
    grown = {step: growth(lambda length, step=step: STEPS[step](make_text(kind, length)), SHORT) for step in COUNTED}
    assert {step: times for step, times in grown.items() if times > 5} == {}


@pytest.mark.integration
@pytest.mark.parametrize("step", COMPILED)
def test_time_grows_with_the_length(
    step: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["growth", "--steps", step, "--largest", "40000"])
    assert main() == 0, capsys.readouterr().out


@pytest.mark.parametrize("step", STEPS)
def test_every_step_reads_every_kind(step: str) -> None:
    for kind in UNITS:
        STEPS[step](make_text(kind, 300))


# ---- the benchmark itself, with times that are made up


@pytest.fixture
def take(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[int], float]], list[int]]:
    """Return what makes a text of a length take the seconds that a function says; it lists what is read."""
    read: list[int] = []

    def put(say: Callable[[int], float]) -> list[int]:
        def seconds(_: object, text: str) -> float:
            read.append(len(text))
            return say(len(text))

        monkeypatch.setattr(benchmark, "seconds", seconds)
        return read

    return put


def measured(longest: float = 0.5, known: dict[int, float] | None = None) -> tuple[list[int], float | None]:
    found = measure(len, "dots", LARGEST, longest, known or {})
    return list(found), benchmark.growth(found)


def test_no_longer_text_is_read_behind_one_that_takes_too_long(take: Callable[..., list[int]]) -> None:
    read = take(lambda length: length * 1e-5)
    assert measured() == ([2500, 10_000, 40_000, 160_000], pytest.approx(1.0))
    assert read == [2500, 10_000, 40_000, 160_000]


def test_a_quick_step_is_measured_up_to_the_largest_text(take: Callable[..., list[int]]) -> None:
    take(lambda length: length * 1e-8)
    assert measured()[0][-1] == LARGEST


def test_more_seconds_go_on_to_longer_texts(take: Callable[..., list[int]]) -> None:
    read = take(lambda length: length * 1e-5)
    assert measured(2.0, {2500: 0.025, 10_000: 0.1, 40_000: 0.4, 160_000: 1.6})[0][-1] == 640_000
    assert read == [640_000]


def test_a_step_is_no_growth(take: Callable[..., list[int]]) -> None:
    take(lambda length: length * (1e-7 if length < 20_000 else 1e-5 if length < 80_000 else 2e-5))
    lengths, exponent = measured()
    assert exponent == pytest.approx(1.0)
    assert lengths[-1] == 640_000


def test_a_high_step_is_no_growth(take: Callable[..., list[int]]) -> None:
    take(lambda length: length * (1e-7 if length < 20_000 else 1.2e-5))
    assert measured() == ([2500, 10_000, 40_000, 160_000], pytest.approx(1.0))


def test_a_square_stays_one_and_ends_in_time(take: Callable[..., list[int]]) -> None:
    read = take(lambda length: (length * 1e-5) ** 2)
    assert measured()[1] == pytest.approx(2.0)
    assert max(read) * 1e-5 < benchmark.STEP_SECONDS**0.5


def test_what_a_busy_machine_delays_once_is_no_growth(take: Callable[..., list[int]]) -> None:
    delays = iter([1.0, 1.0, 1.0, 3.0])
    take(lambda length: length * 1e-5 * next(delays, 1.0))
    assert measured()[1] == pytest.approx(1.0)


def test_times_too_short_to_tell_have_no_exponent(take: Callable[..., list[int]]) -> None:
    take(lambda length: length**2 * 1e-17)
    assert measured()[1] is None


STEP = next(iter(STEPS))


def run(monkeypatch: pytest.MonkeyPatch, path: Path, *options: str) -> int:
    monkeypatch.setattr("sys.argv", ["growth", "--steps", STEP, *options])
    monkeypatch.setattr(Account.__init__, "__defaults__", (path,))
    return main()


def row_of(kind: str, exponent: float, code: str) -> Row:
    return Row(step=STEP, kind=kind, seconds={"2500": 0.1, "10000": 0.9}, exponent=exponent, code=code)


def test_a_run_goes_on_where_the_last_one_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "growth.json"
    monkeypatch.setattr(benchmark, "measure_row", None)  # cannot be called: nothing is left
    Account(path).enter(row_of("dots", 1.1, benchmark.code_digest()))
    Account(path).enter(row_of("tabs", 1.2, benchmark.code_digest()))
    assert run(monkeypatch, path, "--kinds", "dots", "tabs") == 0
    assert [row["kind"] for row in json.loads(path.read_text())["rows"]] == ["tabs", "dots"]  # as in UNITS
    Account(path).enter(row_of("dots", MOST + 0.01, benchmark.code_digest()))
    assert run(monkeypatch, path, "--kinds", "dots", "tabs") == 1


def test_what_was_measured_of_other_code_is_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "growth.json"
    Account(path).enter(row_of("dots", 1.1, "other"))
    monkeypatch.setitem(STEPS, STEP, len)
    assert run(monkeypatch, path, "--kinds", "dots") == 0
    (row,) = json.loads(path.read_text())["rows"]
    assert row["code"] == benchmark.code_digest()
    assert str(LARGEST) in row["seconds"]
    assert is_done(row, 60.0)


def test_rows_of_another_benchmark_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "growth.json"
    Account(path).enter(row_of("dots", 1.1, benchmark.code_digest()))
    path.write_text(path.read_text().replace('"drawn_by": "', '"drawn_by": "not-'))
    assert Account(path).rows == {}
