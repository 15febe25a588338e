"""Spans of one document that show the same text."""

from __future__ import annotations

from typing import Any

import pytest
from support.strategies import make_chunk

from retrivex import Chunk, ChunkMetadata, RetrievalConfig, SeedHit, SpanComposer
from retrivex.model.run import Segment
from retrivex.model.span import Span
from retrivex.selection.duplicates import once_only
from retrivex.tokens.cache import TokenCache
from retrivex.tokens.tokenizer import get_tokenizer

DOCUMENT = "Bees sleep at night. They dance by day. Ants do neither."


def counter() -> TokenCache:
    return TokenCache(get_tokenizer(lambda text: len(text.split())))


def span(*places: tuple[int, int], doc_id: str = "d") -> Span:
    """A span of pieces of the document, in the order given, each a chunk."""
    texts = [DOCUMENT[low:high] for low, high in places]
    starts = [sum(map(len, texts[:at])) for at in range(len(texts))]
    ids = list(range(len(places)))
    pieces = zip(ids, starts, texts, places, strict=True)
    segments = tuple(Segment(at, at + len(text), number, low) for number, at, text, (low, _) in pieces)
    chunks = [make_chunk(doc_id, number, text) for number, text in zip(ids, texts, strict=True)]
    return Span(doc_id, ids, chunks, 1.0, places[0][0], places[-1][1], 0, text="".join(texts), segments=segments)


def shown(*spans: Span) -> list[str]:
    return [made.text.strip() for made in once_only(spans, counter())]


def test_what_a_longer_span_shows_is_cut() -> None:
    assert shown(span((0, 39)), span((21, 56))) == ["Bees sleep at night. They dance by day.", "Ants do neither."]
    assert shown(span((21, 39)), span((0, 39))) == ["Bees sleep at night. They dance by day."]


def test_other_documents_and_other_places_are_left_alone() -> None:
    assert len(shown(span((0, 39)), span((21, 56), doc_id="e"))) == 2
    apart = shown(span((39, 56)), span((0, 20)), span((20, 39)))
    assert apart == ["Ants do neither.", "Bees sleep at night.", "They dance by day."]


@pytest.mark.parametrize("order", [((40, 56), (0, 20)), ((0, 20), (40, 56))])
def test_the_pieces_of_a_span_may_stand_in_any_order(order: tuple[tuple[int, int], ...]) -> None:
    longer = span(*order)
    assert shown(longer, span((21, 56))) == [longer.text, "They dance by day."]
    assert shown(longer, span((0, 30))) == [longer.text, "They danc"]


@pytest.mark.parametrize("lead", ["\n", "\n\n", " \n\t\r\n"])
@pytest.mark.parametrize("indent", ["", "    "])
@pytest.mark.parametrize("scoring", ["weighted", "calibrated"])
def test_a_passage_begins_with_its_text_and_not_with_empty_lines(lead: str, indent: str, scoring: Any) -> None:
    """Splitters that keep separators put them in front of the next piece."""
    texts = ["Bees sleep at night.", f"{lead}{indent}A hive has one queen.", "\n\nShe lays all the eggs."]
    source = "".join(texts)
    starts = [0, len(texts[0]), len(texts[0]) + len(texts[1])]
    chunks = [
        Chunk(text, ChunkMetadata("bees", n, start, start + len(text)))
        for n, (text, start) in enumerate(zip(texts, starts, strict=True))
    ]
    store = {chunk.key: chunk for chunk in chunks}
    for chosen in ([1], [1, 2], [0, 1, 2]):
        hits = [SeedHit(chunks[n], 0.9) for n in chosen]
        made = SpanComposer(RetrievalConfig(window=0, scoring=scoring)).compose(hits, store, query="What has a hive?")
        (span,) = made.spans
        begin = starts[chosen[0]] + (len(lead) if chosen[0] == 1 else 0)
        assert (span.char_start, span.char_end) == (begin, starts[chosen[-1]] + len(texts[chosen[-1]]))
        assert span.text == source[span.char_start : span.char_end]
        assert span.exact
        assert all(source[c.char_start : c.char_end] == made.text[c.start : c.end] for c in made.citations)
        assert made.tokens <= RetrievalConfig().token_budget


def test_a_passage_does_not_begin_with_a_joiner_of_empty_lines() -> None:
    source = "\n\n A hive has one queen."
    chunks = [Chunk("\n", ChunkMetadata("bees", 0, 0, 1)), Chunk(source[3:], ChunkMetadata("bees", 1, 3, len(source)))]
    hits = [SeedHit(chunk, 0.9) for chunk in chunks]
    (span,) = SpanComposer().compose(hits, {c.key: c for c in chunks}, window=1, keep_top=2).spans
    assert (span.text, span.char_start, span.exact) == (source[3:], 3, True)
