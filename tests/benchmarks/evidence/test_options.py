"""The benchmark of options, on questions by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from benchmarks.evidence import options
from benchmarks.evidence.index import Asked
from benchmarks.evidence.options import CHANGES, Change, measure, row
from retrivex import RetrievalConfig, SpanComposer
from retrivex.encoders.encoder import HashingEncoder
from retrivex.evaluation.questions.evidence import Evidence, Question
from retrivex.evaluation.run import Index

BEES = "Bees dance to tell where flowers are. The queen lays eggs in cells of wax. Drones leave in summer."
DOCUMENTS = {"bees": BEES, "ants": BEES.replace("Bees", "Ants"), "wasps": "Wasps sting. Wasps build nests of paper."}
OFFLINE = [change for change in CHANGES if change.value != "o200k_base"]  # its vocabulary may not be at hand


def questions(config: RetrievalConfig | None = None) -> Iterator[options.Question]:
    encoder = HashingEncoder(64)
    index = Index(DOCUMENTS, size=12, tokenizer="estimate")
    index = Index(
        DOCUMENTS, tokenizer="estimate", chunks=index.chunks, vectors=encoder.encode([c.text for c in index.chunks])
    )
    composer = SpanComposer(config or RetrievalConfig(tokenizer="estimate"))
    for number, (text, doc_id, end) in enumerate([("Where do bees dance?", "bees", 37), ("What stings?", "wasps", 12)]):
        asked = Question(str(number), text, (Evidence(doc_id, 0, end),))
        yield options.asked_of(index, composer, [Asked("toy", asked, encoder.encode([text])[0])])[0]


def test_every_change_can_be_composed_and_twice_the_same() -> None:
    made = measure(questions(), OFFLINE)
    assert [(one["option"], one["budget"]) for one in made] == [
        (change.option, budget) for change in OFFLINE for budget in change.budgets
    ]
    assert made == measure(questions(), OFFLINE)
    assert all(one["base"]["evidence"] == 100 for one in made)


def test_a_change_is_compared_with_what_is_set_beside_it() -> None:
    tight = replace(CHANGES[0], option="max_spans", value=1, beside={"window": 0, "effort": "full"}, budgets=(12, 2000))
    narrow, wide = measure(questions(), [tight])
    assert narrow["base"]["tokens"] <= 12
    assert (narrow["changed"], wide["changed"]) == (0.0, 100.0)
    assert wide["beside"] == {"window": "0", "effort": "full"}
    assert wide["tokens"][0] < 0
    assert wide["tokens"][1] <= wide["tokens"][0] <= wide["tokens"][2]


def test_what_was_excluded_does_not_come_back() -> None:
    (found,) = measure(questions(), [Change("exclude", said="the context of the same question", budgets=(2000,))])
    assert found["evidence"] == [-100.0, -100.0, -100.0]
    assert found["value"] == "the context of the same question"


def test_a_row_is_points_percent_and_share() -> None:
    shown = [options.Shown(100.0, 80, "a"), options.Shown(50.0, 120, "b")]
    after = [options.Shown(100.0, 80, "a"), options.Shown(0.0, 70, "c")]
    made = row(Change("window", 0), 2000, list(zip(shown, after, strict=True)))
    assert made["evidence"][0] == -25.0
    assert made["tokens"][0] == pytest.approx(-25.0)
    assert made["changed"] == 50.0
    assert made["base"] == {"evidence": 75.0, "tokens": 100}
    assert made["value"] == "`0`"
