"""The order under a position profile, against brute force, and the profiles themselves."""

from __future__ import annotations

import json
import math
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import try_examples

from retrivex.errors import OrderingError
from retrivex.ordering import PROFILES, PositionProfile, edge_balanced, place, profile, profile_of

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "orders.json").read_text(encoding="utf-8"))
CURVE = GOLDEN["lost_in_the_middle_curve"]

TWO_PEAKS = PositionProfile((0.0, 0.25, 0.5, 0.75, 1.0), (0.0, 2.0, 0.5, 1.0, 0.0))

Item = tuple[float, float]
"""Score and length."""


def worth(items: list[Item], curve: PositionProfile) -> float:
    """Sum of score x mean attention, by the definition."""
    total = sum(length for _, length in items)
    start, value = 0.0, 0.0
    for score, length in items:
        value += score * curve.mean(start / total, (start + length) / total)
        start += length
    return value


def brute_force(items: list[Item], curve: PositionProfile) -> float:
    """Worth of the best of all orders; every order is tried."""
    orders = np.array(list(permutations(range(len(items)))))
    scores, lengths = np.array(items).T[:, orders]
    ends = np.cumsum(lengths, axis=1)
    covered = np.diff(curve.area(ends / ends[:, -1:]), axis=1, prepend=0.0) * ends[:, -1:]
    return float((scores * covered / lengths).sum(axis=1).max())


def placed(items: list[Item], curve: PositionProfile) -> Any:
    return place(items, score=lambda i: i[0], tokens=lambda i: i[1], profile=curve)


def edges(items: list[Item]) -> list[Item]:
    return edge_balanced(items, score=lambda i: i[0])


curves = st.one_of(
    st.sampled_from(sorted(PROFILES)).map(PROFILES.__getitem__),
    st.lists(st.floats(-2, 2), min_size=1, max_size=6).map(
        lambda heights: PositionProfile(tuple(np.linspace(0, 1, len(heights) + 2)[1:-1]), tuple(heights))
    ),
)
lengths = st.one_of(st.just(100.0), st.integers(1, 400).map(float))


def items_of(most: int, least: int = 1) -> st.SearchStrategy[list[Item]]:
    equal = st.lists(st.tuples(st.floats(-1, 1), st.just(50.0)), min_size=least, max_size=most)
    return st.one_of(equal, st.lists(st.tuples(st.floats(-1, 1), lengths), min_size=least, max_size=most))


@try_examples(150)
@given(items_of(6), curves)
def test_few_items_stand_as_brute_force_puts_them(items: list[Item], curve: PositionProfile) -> None:
    made = placed(items, curve)
    assert made.value == pytest.approx(brute_force(items, curve), abs=1e-9)
    assert worth(made.items, curve) == pytest.approx(made.value, abs=1e-9)
    assert made.gap == 0.0


@try_examples(60)
@given(st.lists(st.floats(-1, 1), min_size=9, max_size=60), curves)
def test_items_of_equal_lengths_stand_as_the_rearrangement_inequality_says(
    scores: list[float], curve: PositionProfile
) -> None:
    made = place(scores, score=float, profile=curve)
    n = len(scores)
    slots = sorted(curve.mean(i / n, (i + 1) / n) for i in range(n))
    assert made.value == pytest.approx(sum(s * a for s, a in zip(sorted(scores), slots, strict=True)), abs=1e-9)
    assert made.gap == 0.0


@try_examples(150)
@given(items_of(60), curves)
def test_never_below_edge_balancing_never_above_the_bound(items: list[Item], curve: PositionProfile) -> None:
    made = placed(items, curve)
    assert sorted(made.items) == sorted(items)
    assert made.value >= worth(edges(items), curve) - 1e-9
    assert made.bound >= made.value
    assert worth(made.items, curve) == pytest.approx(made.value, abs=1e-9)


@pytest.mark.parametrize("count", [9, 11])
@pytest.mark.parametrize("name", PROFILES)
def test_on_a_valley_more_items_stand_as_well_as_the_best_order(count: int, name: str) -> None:
    rng = np.random.default_rng(count)
    for _ in range(3):
        items = list(zip(rng.random(count).tolist(), rng.integers(20, 600, count).tolist(), strict=True))
        assert placed(items, PROFILES[name]).value >= 0.999 * best_of_all(items, PROFILES[name])


def best_of_all(items: list[Item], curve: PositionProfile) -> float:
    """Worth of the best order, set by set."""
    ends = [sum(length for i, (_, length) in enumerate(items) if subset >> i & 1) for subset in range(1 << len(items))]
    areas = (curve.area(np.array(ends) / ends[-1]) * ends[-1]).tolist()
    best = [0.0] * len(ends)
    for subset in range(1, len(ends)):
        best[subset] = max(
            best[subset ^ (1 << i)] + score / length * (areas[subset] - areas[subset ^ (1 << i)])
            for i, (score, length) in enumerate(items)
            if subset >> i & 1
        )
    return best[-1]


@pytest.mark.parametrize("curve", [PROFILES["u_curve"], TWO_PEAKS], ids=["valley", "two peaks"])
def test_what_is_not_proven_to_be_the_best_order_does_not_claim_to_be(curve: PositionProfile) -> None:
    rng = np.random.default_rng(3)
    items = list(zip(rng.random(10).tolist(), rng.integers(20, 600, 10).tolist(), strict=True))
    made = placed(items, curve)
    assert made.gap > 0
    assert made.bound >= best_of_all(items, curve) >= made.value - 1e-9


@pytest.mark.parametrize(("count", "name", "gap"), [
    (20, "lost_in_the_middle", 0.005), (20, "u_curve", 0.02), (100, "u_curve", 0.001), (300, "u_curve", 0.001),
    (300, "recency", 1e-9), (2000, "lost_in_the_middle", 0.001),
])  # fmt: skip
def test_many_items_come_close_to_the_bound(count: int, name: str, gap: float) -> None:
    rng = np.random.default_rng(7)
    items = list(zip((rng.random(count) ** 3).tolist(), rng.integers(20, 600, count).tolist(), strict=True))
    assert 0 <= placed(items, PROFILES[name]).gap < gap


@pytest.mark.parametrize("count", [12, 24, 100])
def test_several_peaks_are_used_as_well(count: int) -> None:
    rng = np.random.default_rng(3)
    curve = PositionProfile((0.0, 0.2, 0.4, 0.6, 0.8, 1.0), (0.2, 1.0, 0.1, 0.9, 0.0, 0.5))
    items = list(zip(rng.random(count).tolist(), rng.integers(20, 600, count).tolist(), strict=True))
    made = placed(items, curve)
    assert made.gap < 0.06
    assert made.value > 1.05 * worth(edges(items), curve)


@pytest.mark.parametrize(("count", "gap"), [(25, 0.12), (40, 0.06), (100, 0.06), (1_000, 0.1)])
def test_several_peaks_are_used_by_lengths_that_differ_a_lot(count: int, gap: float) -> None:
    curve = PositionProfile((0.0, 0.2, 0.4, 0.6, 0.8, 1.0), (0.2, 1.0, 0.1, 0.9, 0.0, 0.5))
    rng = np.random.default_rng(3)
    for _ in range(5 if count < 1_000 else 1):
        items = list(zip(rng.random(count).tolist(), rng.choice([10.0, 100.0, 300.0, 5000.0], count), strict=True))
        made = placed(items, curve)
        assert made.gap < gap
        shuffled = [[items[at] for at in rng.permutation(count)] for _ in range(20)]
        assert made.value >= max(worth(order, curve) for order in shuffled)


@pytest.mark.parametrize("count", [20, 30, 50])
def test_on_the_measured_curve_edge_balancing_comes_close_to_the_best(count: int) -> None:
    low, high = CURVE["edge_balanced_reaches"]
    curve = PROFILES["lost_in_the_middle"]
    skewed = [(1 / rank, 1.0) for rank in range(1, count + 1)]
    assert low <= worth(edges(skewed), curve) / placed(skewed, curve).value <= high
    even = [(rank / count, 1.0) for rank in range(1, count + 1)]
    assert high < worth(edges(even), curve) / placed(even, curve).value < 1


@try_examples(100)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=14), st.data())
def test_no_finite_score_is_too_large_or_too_small(scores: list[float], data: st.DataObject) -> None:
    made = data.draw(st.lists(lengths, min_size=len(scores), max_size=len(scores)))
    tokens = dict(enumerate(made))
    ordered = profile(range(len(scores)), score=scores.__getitem__, tokens=tokens.__getitem__)
    assert sorted(ordered) == list(range(len(scores)))


UNIT_LENGTHS = [20, 50, 300, 10, 100, 70, 200, 30, 120, 100]
UNIT_SCORES = [0.9, 0.8, 0.75, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("unit", [1e-3, 1 / 3, 1e-12, 7.77, 1e12, 1e300, 1e-300])
def test_the_unit_of_tokens_does_not_matter(unit: float, name: str) -> None:
    items = list(zip(UNIT_SCORES, [float(length) for length in UNIT_LENGTHS], strict=True))
    scaled = [(score, length * unit) for score, length in items]
    assert placed(scaled, PROFILES[name]).value == pytest.approx(placed(items, PROFILES[name]).value, rel=1e-9)


@pytest.mark.parametrize("factor", [1e-320, 1e-300, 1e-13, 1e13, 1e300, 1.7e306])
@pytest.mark.parametrize("count", [3, 12])
@pytest.mark.parametrize("attention", [(0, 1), (3, 1, 2), (1, 3, 0, 2), (-1, -3)], ids=repr)
def test_the_unit_of_attention_does_not_matter(attention: tuple[float, ...], count: int, factor: float) -> None:
    positions = tuple(np.linspace(0, 1, len(attention)))
    items = [(1.0 / rank, float(length)) for rank, length in zip(range(1, count + 1), UNIT_LENGTHS * 2, strict=False)]
    plain = placed(items, PositionProfile(positions, attention))
    made = placed(items, PositionProfile(positions, tuple(a * factor for a in attention)))
    assert made.items == plain.items
    assert made.gap == pytest.approx(plain.gap, abs=1e-9)
    # below 1e-308 floats have only a few digits left
    assert made.value == pytest.approx(plain.value * factor, rel=1e-9 if factor > 1e-307 else 1e-3)
    assert made.bound >= made.value


def test_small_attentions_of_equal_lengths_are_told_apart() -> None:
    made = place([3.0, 2.0, 1.0], score=float, profile=PositionProfile((0, 1), (0, 1e-13)))
    assert (made.items, made.gap) == ([1.0, 2.0, 3.0], 0.0)


def test_lengths_of_all_sizes_are_placed() -> None:
    tokens = [5e-324, 1e308, 1e-300, 1.0, 1.7e308, *range(1, 8)]
    made = place(range(12), score=lambda i: 1.0 / (1 + i), tokens=tokens.__getitem__, profile="u_curve")
    assert sorted(made.items) == list(range(12))
    assert math.isfinite(made.value)
    assert made.bound >= made.value


def test_equally_good_orders_are_edge_balanced() -> None:
    assert profile([4, 3, 2, 1], score=float, profile="flat") == [4, 2, 1, 3]
    assert profile([1, 1, 1], score=float, tokens=float, profile="u_curve") == [1, 1, 1]


def test_nothing_is_ordered_as_nothing() -> None:
    made = place([], profile="flat")
    assert (made.items, made.value, made.bound, made.gap) == ([], 0.0, 0.0, 0.0)


@pytest.mark.parametrize("tokens", [0, -1, math.nan, math.inf, None, "7"], ids=repr)
def test_lengths_are_positive_numbers(tokens: Any) -> None:
    with pytest.raises(OrderingError, match="it must be a positive number"):
        profile([1.0, 2.0], score=float, tokens=lambda item: tokens)


# ---- the profiles


def test_the_measured_curve_is_the_published_one() -> None:
    curve = PROFILES["lost_in_the_middle"]
    for place_, accuracy in CURVE["places"].items():
        assert float(curve.at((int(place_) - 0.5) / 20)) == pytest.approx(accuracy)


@given(st.floats(0, 1))
def test_the_u_curve_is_what_tools_weight_positions_by(x: float) -> None:
    assert float(PROFILES["u_curve"].at(x)) == pytest.approx((2 * x - 1) ** 2, abs=7e-4)


@given(curves, st.floats(0, 1), st.floats(0, 1))
def test_the_mean_is_the_integral(curve: PositionProfile, a: float, b: float) -> None:
    start, end = min(a, b), max(a, b)
    grid = start + (end - start) * (np.arange(4000) + 0.5) / 4000
    assert curve.mean(start, end) == pytest.approx(float(curve.at(grid).mean()), abs=2e-3)


@try_examples(60)
@given(curves)
def test_descending_holds_the_same_attention(curve: PositionProfile) -> None:
    grid = (np.arange(4000) + 0.5) / 4000
    falling = curve.descending.at(grid)
    assert (np.diff(falling) <= 1e-9).all()
    assert np.abs(falling - np.sort(curve.at(grid))[::-1]).mean() < 5e-3
    assert curve.descending.mean(0, 1) == pytest.approx(curve.mean(0, 1), abs=1e-9)


def test_valleys() -> None:
    assert all(curve.is_valley for curve in PROFILES.values())
    assert PositionProfile((0.0, 0.3, 1.0), (2.0, 1.0, 1.0)).is_valley
    assert not PositionProfile((0.0, 0.5, 1.0), (0.0, 1.0, 0.0)).is_valley


def test_measurements_by_place_and_by_share() -> None:
    by_place = PositionProfile.from_measurements([(1, 0.8), (4, 0.7), (2, 0.4), (2, 0.6)], count=4)
    assert (by_place.positions, by_place.attention) == ((0.125, 0.375, 0.875), (0.8, 0.5, 0.7))
    by_share = PositionProfile.from_measurements({0.9: 1.0, 0.1: 2.0}, name="mine")
    assert (by_share.positions, by_share.attention, str(by_share)) == ((0.1, 0.9), (2.0, 1.0), "mine")


def test_saved_and_loaded(tmp_path: Path) -> None:
    mine = PositionProfile.from_measurements({1: 0.8, 9: 0.7}, count=9, name="meins", source="größere Messung")
    mine.save(tmp_path / "mine.json")
    assert PositionProfile.load(tmp_path / "mine.json") == mine
    assert profile_of(str(tmp_path / "mine.json")) == profile_of(mine.to_dict()) == profile_of(mine) == mine


@pytest.mark.parametrize(("positions", "attention", "message"), [
    ((), (), "at least one"), ((0.1,), (1.0, 2.0), "one attention for each"), ((0.5, 0.5), (1.0, 1.0), "must ascend"),
    ((0.0, 1.5), (1.0, 1.0), "must ascend"), ((math.nan,), (1.0,), "must ascend"), ((0.5,), (math.inf,), "finite"),
    (("a",), (1.0,), "must be numbers"), (None, None, "must be numbers"),
])  # fmt: skip
def test_a_profile_that_is_none_is_refused(positions: Any, attention: Any, message: str) -> None:
    with pytest.raises(OrderingError, match=message):
        PositionProfile(positions, attention)


@pytest.mark.parametrize(("content", "message"), [
    ("{", "cannot be read"), ("[1]", "not a position profile"), ("{}", "not a position profile"),
    ('{"schema": "retrivex.position_profile/1", "name": "x"}', "not a position profile"),
])  # fmt: skip
def test_a_file_that_holds_no_profile_is_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "p.json").write_text(content, encoding="utf-8")
    with pytest.raises(OrderingError, match=message):
        profile_of(tmp_path / "p.json")


@pytest.mark.parametrize("value", ["sideways", 5, None])
def test_an_unknown_profile_names_those_there_are(value: Any) -> None:
    with pytest.raises(OrderingError, match="choose one of u_curve, lost_in_the_middle, flat, recency"):
        profile_of(value)
    with pytest.raises(OrderingError, match="cannot be read"):
        profile_of("missing.json")
