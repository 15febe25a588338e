"""The confidence: what it reads of a question, and for which hits there is one."""

from __future__ import annotations

import numpy as np
import pytest
from support.strategies import compose, hits_of, tile

from retrivex import RetrievalConfig, SeedHit, SpanComposer
from retrivex.expansion.seeds import Seed
from retrivex.scoring.calibrated import shipped_coefficients
from retrivex.scoring.confidence import CONFIDENCE_FEATURES, MAX_DROP, describe_question, kind_of_hits
from retrivex.scoring.features import NAMES, UnitTable

TEXTS = [
    "A hive has one queen. She lays many eggs a day. ",
    "Bees form a cluster in winter. They live on honey until spring. ",
    "Drones leave the hive in summer. They do not return. ",
    "Wasps build with paper. Their nests hang under roofs. ",
    "Ants carry leaves home. They grow a fungus on them. ",
    "Moths fly by night. Some of them never eat. ",
]
FOUND = {0: 3.0, 1: 9.0, 2: 2.0, 3: 1.9, 4: 1.8, 5: 1.7}


def seeds(*scores: float) -> list[Seed]:
    store = tile("d", ["Bees sleep. "] * len(scores))
    return [Seed(("d", at), store["d", at], score, 1.0, {0: 1.0}) for at, score in enumerate(scores)]


def table(shares: list[float], coverage: float = 0.5) -> UnitTable:
    values = np.zeros((len(shares), len(NAMES)))
    values[:, NAMES.index("share of words")] = shares
    return UnitTable([], values, coverage)


def test_a_question_is_described_by_its_words_and_the_drop_of_scores() -> None:
    shares = [0.9, 0.1, 0.5, 0.3, 0.2, 0.0]
    described = describe_question(table(shares), seeds(8.0, *[6.0] * 8, 4.0, 1.0))
    np.testing.assert_allclose(described, [0.5, 0.9, 0.4, np.log(2)])
    assert len(described) == len(CONFIDENCE_FEATURES) - 1


@pytest.mark.parametrize("scores", [(), (0.3,), (0.0, 0.0), (-1.0, -2.0), (0.1, 0.9)])
def test_scores_without_a_drop(scores: tuple[float, ...]) -> None:
    assert describe_question(table([]), seeds(*scores))[-1] == 0.0


def test_a_drop_has_a_limit() -> None:
    assert describe_question(table([]), seeds(1e9, 1e-9))[-1] == MAX_DROP


def test_kinds_of_hits() -> None:
    assert kind_of_hits(seeds(0.9), embedded=True) == "embeddings"
    assert kind_of_hits(seeds(12.0, 3.0), embedded=False) == "words"
    assert kind_of_hits(seeds(0.9), embedded=False) == "other"
    assert kind_of_hits([], embedded=False) == "other"


def test_hits_of_unknown_scores_have_no_confidence() -> None:
    store = tile("d", TEXTS)
    question = "What do bees live on in winter?"
    known = compose(hits_of(store, FOUND), store, query=question, window=0)
    unknown = compose([SeedHit(store["d", at], 0.5) for at in range(3)], store, query=question, window=0)
    assert known.confidence is not None
    assert (unknown.confidence, unknown.expected_recall) == (None, None)


def test_a_question_that_nothing_answers_has_less_confidence() -> None:
    store = tile("d", TEXTS)
    hits = hits_of(store, FOUND)
    answered, nonsense = (
        compose(hits, store, query=query, window=0).confidence
        for query in ("What do bees live on in winter?", "Who is the king of Norway?")
    )
    assert answered is not None
    assert nonsense is not None
    assert nonsense < 0.5 < answered


@pytest.mark.parametrize("embedded", [True, False])
def test_fewer_hits_than_it_was_fitted_on_have_no_confidence(embedded: bool) -> None:
    fewest = shipped_coefficients().fewest_hits
    assert fewest == len(FOUND)
    store = tile("d", TEXTS, **({"embedding": np.array([1.0, 0.5])} if embedded else {}))
    vector = np.array([1.0, 0.0]) if embedded else None
    hits = hits_of(store, FOUND)
    all_of_them, fewer = (
        compose(some, store, query="What do bees live on in winter?", query_embedding=vector, window=0)
        for some in (hits, hits[: fewest - 1])
    )

    assert all_of_them.confidence is not None
    assert (fewer.confidence, fewer.expected_recall) == (None, None)


def test_coefficients_that_do_not_say_how_many_hits_they_need_take_any() -> None:
    assert shipped_coefficients("0.2").fewest_hits == 1
    store = tile("d", TEXTS)
    made = SpanComposer(RetrievalConfig.preset("0.2"), tokenizer=len).compose(
        hits_of(store, {1: 9.0, 0: 3.0}), store, query="What do bees eat?"
    )
    assert made.confidence is not None
