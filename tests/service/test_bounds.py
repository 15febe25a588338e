"""What a small request may make much of: what chunks carry, and how often an answer repeats it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.service_world import CHUNKS, COMPOSE, make_engine, make_index

from retrivex.service.bounds import Bounds
from retrivex.service.engine import Engine
from retrivex.service.errors import LimitError

LONG = "h" * 1_001
SMALL = Bounds(carried=2_000)
HIT = {**COMPOSE["hits"][0], "text": "Bees sleep in winter."}
SENTENCES = "".join(
    f"The bees of hive {number} sleep in the cold winter months of year {1_000 + number}. "
    + f"Unrelated filler number {number} about trade and law and music and roads. " * 3
    for number in range(60)
)
TORN: dict[str, Any] = {
    "question": "When do bees sleep in winter?",
    "hits": [{"doc_id": "bees", "chunk_id": 0, "score": 1.0, "text": SENTENCES}],
    "config": {"token_budget": 2_000, "min_value": 0.8},
}
"""Of one chunk, many passages."""


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = make_engine(make_index(tmp_path / "index.db"), bounds=SMALL)
    yield made
    made.close()


def test_what_a_chunk_of_an_upload_may_carry_comes_back_as_a_request(tmp_path: Path) -> None:
    engine = make_engine(make_index(tmp_path / "index.db"))
    line = {"id": "long", "text": "Bees sleep in winter.", "metadata": {"note": "é" * 10_000}}
    engine.add_file(json.dumps(line).encode(), "x.jsonl")
    made = engine.query({"question": "When do bees sleep in winter?"})
    assert "long" in {span.doc_id for span in made.spans}
    assert engine.prompt({"composition": made.to_dict()})[1] == made
    engine.close()


def test_names_have_a_bound(engine: Engine) -> None:
    for body in (
        {**COMPOSE, "hits": [{**HIT, "doc_id": LONG}]},
        {**COMPOSE, "hits": [{**HIT, "chunk_id": LONG}]},
        {**COMPOSE, "chunks": [{**CHUNKS[0], "doc_id": LONG}, *CHUNKS[1:]]},
    ):
        with pytest.raises(LimitError, match="a name has 1,001 characters: the limit is 1,000; shorten it"):
            engine.compose(body)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"sub_questions": [f"{n}?" for n in range(101)], "k": 1}, "101 sub-questions: a request may have 100"),
        ({"sub_questions": ["Why?", "Who?"], "k": 501}, "1,002 hits: a request may have 1,000"),
        ({"sub_questions": ["?" * 1_000_001]}, "a text has 1,000,001 characters"),
        ({"whole_documents": 200_001}, "whole_documents is 200001: the limit of this service is 200,000 tokens"),
    ],
)
def test_sub_questions_and_whole_documents_have_bounds(engine: Engine, more: dict[str, Any], message: str) -> None:
    with pytest.raises(LimitError, match=message):
        engine.query({"question": "Who lays eggs?", **more})
    if "k" not in more:
        given = {"hits": {one: [HIT] for one in more["sub_questions"]}} if "sub_questions" in more else more
        with pytest.raises(LimitError, match=message):
            engine.compose({**COMPOSE, **given})


def test_headings_that_a_prompt_does_not_show_do_not_count(tmp_path: Path) -> None:
    path = ["h" * 60_000]
    chunks = [
        {"doc_id": "d", "chunk_id": at, "text": f"Bees sleep in hive {at}.", "heading_path": path} for at in range(30)
    ]
    hits = [{"doc_id": "d", "chunk_id": 15, "score": 1.0}]
    config = {"window": 20, "scoring": "weighted", "run_cost": 0.0, "token_budget": 1000}
    with closing(make_engine(make_index(tmp_path / "index.db"))) as engine:
        made = engine.prompt({"question": "Where?", "compose": {"hits": hits, "chunks": chunks, "config": config}})
    assert "Bees sleep in hive 29." in str(made)


def test_passages_repeat_their_chunks_no_more_than_an_answer_may_have(tmp_path: Path) -> None:
    path = make_index(tmp_path / "index.db")
    engine = make_engine(path)
    engine.add_file(f"# {'h' * 10_000}\n\n{SENTENCES}".encode(), "torn.md")
    asked = {"question": TORN["question"], "config": TORN["config"]}
    passages = len(engine.compose(TORN).spans)
    assert passages > 3
    engine.close()
    bounds = Bounds(answer=passages * len(SENTENCES) - 1)
    engine = make_engine(path, bounds=bounds)
    small = {**TORN, "config": {**TORN["config"], "token_budget": 100}}
    assert engine.compose(small).spans
    with pytest.raises(LimitError, match=rf"would repeat .* is {bounds.answer:,}; ask for a sm"):
        engine.compose(TORN)
    engine.close()
    engine = make_engine(path, bounds=Bounds(answer=50_000))
    for call in (engine.query, lambda body: engine.prompt({"query": body})):
        with pytest.raises(LimitError, match="passages of the answer would repeat"):
            call(asked)
    with pytest.raises(LimitError, match="passages of the answer would repeat"):
        engine.view({"question": asked["question"], "settings": {"token_budget": 2_000}})
    engine.close()


def test_headings_of_passages_count_for_what_a_prompt_may_show(tmp_path: Path) -> None:
    engine = make_engine(make_index(tmp_path / "index.db"), bounds=Bounds(characters=20_000))
    [hit] = TORN["hits"]
    assert engine.prompt({"compose": {**TORN, "hits": [{**hit, "heading_path": ["h" * 10]}]}})
    with pytest.raises(LimitError, match=r"passages of the composition has [\d,]+ characters: the limit is 20,000"):
        engine.prompt({"compose": {**TORN, "hits": [{**hit, "heading_path": ["h" * 1_000]}]}, "max_tokens": 500})
    engine.close()
