"""What the selection reckons with is what the text takes: by a counter of words nothing has to be chosen again."""

from __future__ import annotations

from typing import Any

from support.strategies import compose, make_chunk, make_store

from retrivex import Composition, SeedHit

APART: dict[str, Any] = {"window": 0, "scoring": "weighted", "run_cost": 0.0, "gap_markers": False}


def words(name: str, first: int, end: int) -> str:
    return " ".join(f"{name}{number}" for number in range(first, end))


def chosen_at_once(hits: list[SeedHit], **said: Any) -> Composition:
    """Compose, and check that the first choice was the last."""
    made = compose(hits, make_store(*(hit.chunk for hit in hits)), **APART, **said)
    assert [step.name for step in made.trace.steps].count("select") == 1
    return made


def test_separators_are_counted_before_choosing() -> None:
    lengths, scores = {"a": 5, "b": 2, "c": 2, "d": 3, "e": 3}, {"a": 0.9, "b": 0.8, "c": 0.9, "d": 0.9, "e": 0.5}
    hits = [SeedHit(make_chunk(name, 0, words(name, 0, lengths[name])), scores[name]) for name in scores]
    made = chosen_at_once(hits, token_budget=12, numbered=True)  # a number is a word
    assert {span.doc_id for span in made.spans} == {"a", "d"}
    assert made.tokens == 10  # without its number and separator, another would fit


def test_an_overlap_is_paid_for_where_the_chunk_before_is_not_shown() -> None:
    text = words("w", 0, 14)
    first, second = " ".join(text.split()[:10]), " ".join(text.split()[4:])
    hits = [
        SeedHit(make_chunk("d", 0, first, 0), 0.5),
        SeedHit(make_chunk("d", 1, second, text.index(second)), 0.9),
        SeedHit(make_chunk("e", 0, words("e", 0, 8)), 0.8),
        SeedHit(make_chunk("f", 0, words("f", 0, 2)), 1.0),
        SeedHit(make_chunk("g", 0, words("g", 0, 6)), 0.4),
    ]
    made = chosen_at_once(hits, token_budget=17, numbered=False)
    assert {span.doc_id for span in made.spans} == {"e", "f", "g"}
    both = chosen_at_once(hits, token_budget=24, numbered=False)
    assert [(span.chunk_ids, span.token_count) for span in both.spans if span.doc_id == "d"] == [([0, 1], 14)]
