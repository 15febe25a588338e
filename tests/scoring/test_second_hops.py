"""Second hops: a document that the best passages of another one name is shown, and the trace says so."""

from __future__ import annotations

import json
from typing import Any

from support.strategies import compose, make_chunk, make_store

from retrivex import Composition, SeedHit

FIRST = "Creature Comforts is an animation comedy. It was made by Nick Park at a studio in Bristol. "
SECOND = "He was born in Preston and went to school there. "
QUESTION = "Where was the maker of the animation comedy Creature Comforts born?"
OTHERS = [f"Report {number} lists boats, tides and harbours of the year {1900 + number}. " * 4 for number in range(30)]


def asked(name: str = "Nick Park", question: str = QUESTION, **options: Any) -> Composition:
    chunks = [
        make_chunk("Creature Comforts", 0, FIRST, 0),
        make_chunk(name, 0, SECOND, 0),
        *[make_chunk(f"Harbours {at}", 0, text, 0) for at, text in enumerate(OTHERS)],
    ]
    hits = [SeedHit(chunk, 0.9 if at == 0 else 0.2 - at / 1000) for at, chunk in enumerate(chunks)]
    said = {"window": 0, "token_budget": 60, "numbered": False, **options}
    return compose(hits, make_store(*chunks), query=question, **said)


def test_the_document_that_the_best_passage_names_is_shown_second() -> None:
    made = asked()
    assert SECOND.strip() in made.text
    assert made.trace.document["named"] == {"Nick Park": ["Creature Comforts"]}
    by_value = sorted(made.trace.units, key=lambda note: -note.value)
    assert [note.doc_id for note in by_value[:2]] == ["Creature Comforts", "Nick Park"]


def test_a_name_counts_without_ending_folder_and_what_stands_in_brackets() -> None:
    for name in ("people/Nick Park.txt", "Nick Park (animator)", "nick park.md"):
        assert asked(name).trace.document["named"] == {name: ["Creature Comforts"]}, name


def test_part_of_a_name_a_short_one_and_one_that_the_question_says_lift_nothing() -> None:
    assert "named" not in asked("Nick Parker").trace.document
    assert "named" not in asked("Park").trace.document  # four letters
    assert "named" not in asked(question=f"{QUESTION} Is it where Nick Park was?").trace.document


def test_a_title_and_the_only_top_heading_name_a_document_too() -> None:
    chunks = [
        make_chunk("a", 0, FIRST, 0),
        make_chunk("b", 0, SECOND, 0, custom_metadata={"title": "Nick Park"}),
        make_chunk("c", 0, SECOND + "So it is said.", 0, heading_path=["Nick Park", "Youth"]),
    ]
    made = compose(
        [SeedHit(chunk, 0.9 - at / 4) for at, chunk in enumerate(chunks)], make_store(*chunks), query=QUESTION
    )
    assert set(made.trace.document["named"]) <= {"b", "c"}
    assert made.trace.document["named"]


def test_it_is_written_and_read_with_the_trace() -> None:
    made = asked()
    read = Composition.from_dict(json.loads(json.dumps(made.to_dict(trace=True))))
    assert read.trace.document == made.trace.document
