"""The measures of rankings give what ir-measures gives."""

from __future__ import annotations

import random

import pytest

from retrivex.evaluation.metrics import ndcg, recall_at_k

ir_measures = pytest.importorskip("ir_measures")

pytestmark = pytest.mark.integration


def drawn(seed: int) -> tuple[list[str], dict[str, int]]:
    """A ranking, and how relevant some passages are, ranked or not."""
    draws = random.Random(seed)
    names = [f"d{i}" for i in range(12)]
    ranking = draws.sample(names, draws.randint(1, 12))
    return ranking, {name: draws.randint(0, 3) for name in draws.sample(names, draws.randint(1, 12))}


@pytest.mark.parametrize("k", [None, 1, 3, 10])
def test_the_same_as_ir_measures(k: int | None) -> None:
    nDCG, R = ir_measures.nDCG, ir_measures.R  # noqa: N806 - as published
    compared = 0
    for seed in range(200):
        ranking, gains = drawn(seed)
        relevant = {name for name, gain in gains.items() if gain > 0}
        if not relevant:
            continue
        qrels = [ir_measures.Qrel("q", name, gain) for name, gain in gains.items()]
        run = [ir_measures.ScoredDoc("q", name, -rank) for rank, name in enumerate(ranking)]
        at = k or 12
        found = ir_measures.calc_aggregate([nDCG @ at, R @ at], qrels, run)
        shown = [gains.get(name, 0) for name in ranking]
        assert ndcg(shown, k, ideal=list(gains.values())) == pytest.approx(found[nDCG @ at])
        assert recall_at_k(ranking, relevant, k) == pytest.approx(found[R @ at])
        compared += 1
    assert compared > 150
