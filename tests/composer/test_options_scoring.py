"""Options of the score of a span."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from support.option_builders import made
from support.strategies import bare, compose, hits_of

from retrivex import Composition, RetrivexError, SeedHit
from retrivex.scoring.calibrated import shipped_coefficients


def factors(**options: Any) -> Any:
    return made({5: 1.0}, window=1, run_cost=0.0, **options).spans[0]


HONEY = bare("d", ["Wasps build with paper.", "Bees live on honey in winter.", "Ants carry leaves home."])


def asked(**options: Any) -> Composition:
    """Compose equal hits on three sentences for a question."""
    hits = hits_of(HONEY, dict.fromkeys(range(3), 5.0))
    return compose(hits, HONEY, query="What do bees live on?", window=0, **options)


def test_scoring() -> None:
    assert asked(scoring="auto").trace.units[0].beginning == "Bees live on honey in winter."
    assert asked(scoring="calibrated").trace.scorer == "calibrated"
    assert asked(scoring="weighted").trace.scorer == "weighted"


def test_coefficients() -> None:
    model = shipped_coefficients().to_dict()
    for feature in model["features"].values():
        feature["weight"] = 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        path.write_text(json.dumps({**model, "intercept": -30.0}), encoding="utf-8")
        made = asked(coefficients=path)
    assert made.trace.units[0].probability < 1e-9 < asked().trace.units[0].probability
    with pytest.raises(RetrivexError, match="cannot be read"):
        asked(coefficients=path)


def test_boosts() -> None:
    best = asked(boosts=lambda chunk: 20.0 if chunk.metadata.chunk_id == 2 else 0.0).trace.units[0]
    assert best.beginning == "Ants carry leaves home."


def test_hedge() -> None:
    texts = ["Pawn moves.", "Rook waits.", "Queen takes it.", "Queen moves on.", "Knight jumps.", "Bishop sleeps."]
    store = {key: chunk for at, text in enumerate(texts) for key, chunk in bare(f"d{at}", [text]).items()}
    hits = [SeedHit(chunk, 0.9 - at / 10) for at, chunk in enumerate(store.values())]
    near = {h: compose(hits, store, query="lady of black or white squares", hedge=h) for h in (0.0, 1.0)}
    hedged = {h: [unit.beginning for unit in made.trace.units if unit.hedged] for h, made in near.items()}
    assert hedged[0.0] == []
    assert "Rook waits." in hedged[1.0]


def test_weights() -> None:
    span = factors()
    assert factors(weights={"similarity": 2.0}).score == pytest.approx(span.score + 1.0)
    assert factors(weights={"adjacency": 1.6}).score == pytest.approx(span.score + span.adjacency_score)
    lone = made({5: 1.0}, window=0, weights={"continuity": 1.2}).spans[0]
    assert lone.score == pytest.approx(1.0 + 0.6 + 1.2 * 0.5)
    store = bare("d", ["A whole parent."], parent_id="p")
    parent = compose(hits_of(store, {0: 1.0}), store, {"p": "A whole parent."}, weights={"parent": 3.0}).spans[0]
    assert parent.score == pytest.approx(1.0 + 0.6 + 0.1 + 3.0)
    assert factors(weights={"decay": 0.0}).adjacency_score == 1.0
    assert factors(weights={"decay": 5.0}).adjacency_score < factors().adjacency_score
