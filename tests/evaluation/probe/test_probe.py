"""The position probe against models whose position bias is known; the endpoint's side is in test_probe_endpoint.py."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.model_server import biased

from retrivex import RetrievalConfig
from retrivex.errors import EndpointError, OrderingError, RetrivexError
from retrivex.evaluation.answers import ModelReply, ModelRequest, Usage
from retrivex.evaluation.probe import fit_positions, probe
from retrivex.evaluation.probe.needles import fill, hide, make_needles, plain_sentences
from retrivex.evaluation.probe.probe import tokens_of_probe
from retrivex.ordering import PositionProfile, profile
from retrivex.ordering.builtin_profiles import PROFILES
from retrivex.tokens.tokenizer import get_tokenizer

WORDS = get_tokenizer(lambda text: len(text.split()))


class Biased:
    """A model that answers rightly with a probability by the place of the needle; fails where `fails` says so."""

    def __init__(self, right_at: Callable[[float], float], fails: Callable[[int], bool] = lambda number: False) -> None:
        self._answer = biased(right_at)
        self._fails = fails
        self.asked: list[ModelRequest] = []

    def ask(self, requests: Sequence[ModelRequest]) -> list[ModelReply]:
        return [self._reply(request) for request in requests]

    def _reply(self, request: ModelRequest) -> ModelReply:
        self.asked.append(request)
        if self._fails(len(self.asked)):
            return ModelReply(None, "no more")
        return ModelReply(self._answer({"messages": [{"content": request.prompt}]}))

    @property
    def usage(self) -> Usage:
        return Usage(sent=len(self.asked))


def valley(place: float) -> float:
    return 0.25 + 0.7 * (2 * place - 1) ** 2


def sweep(model: Biased, **said: object) -> object:
    given = {"lengths": (200, 400), "depths": 5, "needles": 40, "tokenizer": WORDS, "name": "m", **said}
    return probe(model, **given)  # type: ignore[arg-type]


# ---- the whole


def test_a_known_bias_is_recovered() -> None:
    found = probe(Biased(valley), (200, 400), 9, 60, tokenizer=WORDS, name="m")
    fit = found.fit
    assert fit.matters
    inside = [low <= valley(at) <= high for at, low, high in zip(fit.positions, fit.low, fit.high, strict=True)]
    assert sum(inside) >= 8
    assert fit.best in (0, 8)
    assert fit.worst in (3, 4, 5)
    assert "reordering can pay" in found.verdict
    # the profile puts the best passages where the model reads best
    assert profile([0.9, 0.8, 0.1], score=float, profile=found.profile)[1] == 0.1


@pytest.mark.parametrize("level", [0.3, 0.8])
def test_no_bias_is_no_effect_and_a_level_profile(level: float) -> None:
    found = probe(Biased(lambda place: level), (200, 400), 9, 60, tokenizer=WORDS, name="m")
    assert not found.fit.matters
    assert found.verdict.startswith("no effect seen: accuracy differs by")
    assert len(set(found.profile.attention)) == 1
    assert found.profile.attention[0] == pytest.approx(level, abs=0.06)
    assert found.fit.spread > 0  # which alone would have moved passages


@pytest.mark.parametrize(("level", "said"), [(1.0, "every answer was right"), (0.0, "no answer was right at any")])
def test_all_right_and_all_wrong_are_said_as_such(level: float, said: str) -> None:
    found = sweep(Biased(lambda place: level), needles=5)
    assert said in found.verdict
    assert not found.fit.matters
    assert found.fit.high[0] - found.fit.low[0] > 0.3  # five needles prove little


def test_lengths_are_differing_factors() -> None:
    found = sweep(Biased(lambda place: 1.0 if place < 0.5 else 0.0), needles=5)
    assert set(found.by_length) == {200, 400}
    assert found.by_length[200] == found.fit.accuracy
    assert found.fit.accuracy[0] == 1.0
    assert found.fit.accuracy[-1] == 0.0


def test_the_file_is_what_the_order_profile_reads(tmp_path: Path) -> None:
    found = sweep(Biased(valley))
    path = tmp_path / "m.json"
    found.save(path)
    assert PositionProfile.load(path) == found.profile
    assert RetrievalConfig(ordering_strategy="profile", position_profile=str(path)).position_profile is not None
    written = json.loads(path.read_text())["measurement"]
    assert written["low"] == list(found.fit.low)
    assert written["verdict"] == found.verdict
    with pytest.raises(OrderingError, match="cannot be written"):
        found.save(tmp_path / "none" / "m.json")


def test_rows_that_were_not_answered_as_a_whole_are_left_out_and_said() -> None:
    found = sweep(Biased(valley, fails=lambda number: number == 3))
    assert found.fit.rows == 79
    assert found.warnings == (
        "1 of 400 questions: no more",
        "79 of 80 rows of depths were answered as a whole; the others are left out",
    )


def test_a_sweep_that_ends_early_keeps_what_is_done() -> None:
    model = Biased(valley, fails=lambda number: number > 105)
    found = sweep(model)
    assert (found.fit.needles, found.fit.rows) == (11, 21)
    assert len(model.asked) == 120  # a needle that nobody answers for is the last one


def test_nothing_measured_is_an_error_that_says_why() -> None:
    with pytest.raises(EndpointError, match=r"nothing was measured.*: no more"):
        sweep(Biased(valley, fails=lambda number: True))


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    sweep(Biased(valley), needles=3, report=lambda *done: told.append(done))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_the_same_seed_asks_the_same_and_another_asks_something_else() -> None:
    asked = []
    for seed in (0, 0, 1):
        model = Biased(valley)
        sweep(model, needles=2, seed=seed)
        asked.append([request.prompt for request in model.asked])
    assert asked[0] == asked[1]
    assert not set(asked[0]) & set(asked[2])


def test_what_a_probe_costs_is_known_before() -> None:
    model = Biased(valley)
    sweep(model, needles=3)
    spent = sum(WORDS.count(request.prompt) + request.max_tokens for request in model.asked)
    assert spent <= tokens_of_probe((200, 400), 5, 3) <= 1.3 * spent


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"lengths": ()}, r"lengths are \(\)"),
        ({"lengths": (50,)}, "whole numbers of tokens from 100"),
        ({"depths": 1}, "depths is 1"),
        ({"needles": 0}, "0 needles: there are from 1 to 400"),
        ({"needles": 401}, "401 needles"),
    ],
)
def test_settings_out_of_range_are_one_clear_error(said: dict[str, object], message: str) -> None:
    with pytest.raises(RetrivexError, match=message):
        sweep(Biased(valley), **said)


# ---- answers


@pytest.mark.parametrize(
    ("answer", "right"),
    [("{}", True), ("It is {}.", True), ("**{commas}**", True), ("{}0", False), ("1{}", False), ("", False)],
)
def test_a_number_is_right_as_a_whole(answer: str, right: bool) -> None:
    class Says(Biased):
        def _reply(self, request: ModelRequest) -> ModelReply:
            value = next(needle.value for needle in make_needles(1, 0))
            return ModelReply(answer.replace("{commas}", f"{int(value):,}").replace("{}", value))

    found = sweep(Says(valley), needles=1)
    assert set(found.fit.accuracy) == {float(right)}


def test_answers_that_were_cut_are_said() -> None:
    class Cut(Biased):
        def _reply(self, request: ModelRequest) -> ModelReply:
            return ModelReply("Let me think", cut=True)

    assert "30 answers were cut at 32 tokens" in sweep(Cut(valley), needles=3).warnings[-1]


# ---- needles


@given(st.floats(0, 1), st.lists(st.integers(1, 30), min_size=1, max_size=40))
def test_a_needle_stands_as_near_to_its_depth_as_sentences_allow(depth: float, sizes: list[int]) -> None:
    filler = [" ".join(["word"] * (size - 1) + ["end."]) for size in sizes]
    needle = make_needles(1, 0)[0]
    found = hide(needle, filler, sizes, depth, WORDS)
    before = WORDS.count(found.text[: found.text.index(needle.sentence)])
    assert found.tokens == WORDS.count(found.text)
    assert found.position == pytest.approx((before + WORDS.count(needle.sentence) / 2) / found.tokens)
    borders = np.cumsum([0, *sizes])
    assert abs(before - depth * sum(sizes)) == pytest.approx(min(abs(borders - depth * sum(sizes))))
    assert found.text.replace(needle.sentence, "").split() == " ".join(filler).split()


def test_needles_are_different_and_no_filler_answers_for_them() -> None:
    needles = make_needles(400, 3)
    for values in zip(*((needle.sentence, needle.question, needle.value) for needle in needles), strict=True):
        assert len(set(values)) == 400
    sentences = plain_sentences(random.Random(0))
    text = " ".join(next(sentences) for _ in range(5000))
    assert not any(character.isdigit() for character in text)


@given(st.integers(1, 300))
def test_texts_are_filled_up_to_their_length(tokens: int) -> None:
    taken, costs = fill(plain_sentences(random.Random(0)), tokens, WORDS)
    assert costs == [WORDS.count(sentence) for sentence in taken]
    assert len(taken) == 1 or sum(costs) <= tokens
    assert sum(costs) > tokens - 20


# ---- statistics


@given(st.integers(1, 12), st.integers(2, 6), st.integers(0, 99))
def test_fits_are_what_they_say(rows: int, depths: int, seed: int) -> None:
    right = np.random.default_rng(seed).integers(0, 2, (rows, depths))
    fit = fit_positions(right, np.linspace(0, 1, depths), resamples=200)
    assert fit.accuracy == pytest.approx(right.mean(axis=0))
    assert all(low <= at <= high for low, at, high in zip(fit.low, fit.accuracy, fit.high, strict=True))
    between = max(fit.accuracy) - min(fit.accuracy)
    assert fit.spread == pytest.approx(between) if depths < 5 else 0 <= fit.spread <= between + 1e-9
    assert 0 < fit.p_value <= 1
    assert fit.matters == (fit.p_value <= 0.05)
    assert fit.profile().positions == fit.positions


def test_a_level_model_is_rarely_taken_for_a_biased_one() -> None:
    draws = np.random.default_rng(5)
    found = [
        fit_positions(draws.random((20, 11)) < 0.7, np.linspace(0, 1, 11), resamples=500, seed=at).matters
        for at in range(200)
    ]
    assert sum(found) <= 20  # 5 % of 200 are 10, and 20 are too many by three standard deviations


def test_a_clear_valley_is_found_with_twenty_needles() -> None:
    draws = np.random.default_rng(6)
    places = np.linspace(0, 1, 11)
    chance = np.array([valley(place) for place in places])
    assert all(
        fit_positions(draws.random((20, 11)) < chance, places, resamples=500, seed=at).matters for at in range(40)
    )


def test_the_published_curve_is_seen_more_often_than_not() -> None:
    draws = np.random.default_rng(8)
    places = np.linspace(0, 1, 11)
    chance = PROFILES["lost_in_the_middle"].at(places) / 100
    seen = [fit_positions(draws.random((40, 11)) < chance, places, resamples=500, seed=at).matters for at in range(100)]
    assert sum(seen) > 50  # by single depths it would be about 31


def test_bands_are_over_needles() -> None:
    # ten needles at four lengths each: the same results four times over say no more than once
    once = np.random.default_rng(7).integers(0, 2, (10, 3))
    places = [0.1, 0.5, 0.9]
    fit = fit_positions(once, places)
    four = fit_positions(np.repeat(once, 4, axis=0), places, np.repeat(np.arange(10), 4))
    assert (four.low, four.high) == (fit.low, fit.high)
    assert (four.needles, four.rows) == (10, 40)


@pytest.mark.parametrize(
    ("right", "positions", "message"),
    [
        ([1, 0], [0, 1], "one row a needle"),
        ([[1], [0]], [0], "at two depths or more"),
        ([[1, 2]], [0, 1], r"not in \[0, 1\]"),
        ([[1, np.nan]], [0, 1], "answered at every depth"),
        ([[1, 0]], [0, 0.5, 1], "give as many"),
    ],
)
def test_what_cannot_be_fitted_is_one_clear_error(right: object, positions: object, message: str) -> None:
    with pytest.raises(RetrivexError, match=message):
        fit_positions(right, positions)  # type: ignore[arg-type]
