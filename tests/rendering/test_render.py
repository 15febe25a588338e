"""The text a model reads: formats, numbers, headers, gap markers; source text is never altered."""

from __future__ import annotations

from typing import Any

import pytest
from fuzz.compositions import Bench
from hypothesis import given
from support.properties import try_examples
from support.strategies import cases, compose, hits_of, make_chunk, make_store

from retrivex import Composition, SeedHit

A = make_chunk("bees", 0, "Bees sleep.", 0, heading_path=("Night", "Sleep"), custom_metadata={"title": "On Bees"})
B = make_chunk("bees", 5, "Ants & <wasps> do too.", 200, heading_path=("Night",))
STORE = make_store(A, B)
HITS = hits_of(STORE, {0: 0.9, 5: 0.5}, "bees")


def text_of(**said: Any) -> str:
    return compose(HITS, STORE, window=0, ordering_strategy="score_desc", **said).text


def test_plain_text() -> None:
    assert text_of() == "[1] Bees sleep.\n\n[... 189 characters omitted ...]\n\n[2] Ants & <wasps> do too."
    assert text_of(gap_markers=False) == "[1] Bees sleep.\n\n[2] Ants & <wasps> do too."
    assert text_of(gap_markers=False, numbered=False) == "Bees sleep.\n\nAnts & <wasps> do too."


def test_markdown() -> None:
    assert text_of(context_format="markdown", gap_markers=False) == (
        "**[1]**\n\nBees sleep.\n\n**[2]**\n\nAnts & <wasps> do too."
    )


def test_xml_does_not_escape_source_text() -> None:
    assert text_of(context_format="xml", gap_markers=False) == (
        '<source id="1" document="bees">\nBees sleep.\n</source>\n\n'
        '<source id="2" document="bees">\nAnts & <wasps> do too.\n</source>'
    )


def test_xml_attributes_are_escaped() -> None:
    chunk = make_chunk('a "b" <c> & d', 0, "text")
    made = compose([SeedHit(chunk, 1.0)], {}, window=0, context_format="xml")
    assert made.text.startswith('<source id="1" document=\'a "b" &lt;c&gt; &amp; d\'>\n')


@pytest.mark.parametrize(
    ("header", "first", "second"),
    [
        ("none", "[1] Bees", "[2] Ants"),
        ("heading", "[1] Night > Sleep\nBees", "[2] Night\nAnts"),
        ("document", "[1] On Bees\nBees", "[2] bees\nAnts"),
        ("full", "[1] On Bees > Night > Sleep\nBees", "[2] bees > Night\nAnts"),
    ],
)
def test_headers(header: str, first: str, second: str) -> None:
    made = text_of(span_header=header)
    assert made.startswith(first)
    assert second in made


def test_gap_markers_stand_only_between_spans_of_one_document_in_their_order() -> None:
    backwards = compose(HITS, STORE, window=0, ordering_strategy="back_first").text
    assert "omitted" not in backwards
    other = make_chunk("ants", 9, "Ants dig.", 900)
    mixed = compose([*HITS[:1], SeedHit(other, 0.5)], {}, window=0, ordering_strategy="score_desc").text
    assert "omitted" not in mixed


def test_without_offsets_chunks_are_counted() -> None:
    store = make_store(make_chunk("d", 0, "One."), make_chunk("d", 4, "Five."))
    made = compose(hits_of(store, {0: 0.9, 4: 0.5}), store, window=0, ordering_strategy="document")
    assert "[... 3 chunks omitted ...]" in made.text


def test_markers_are_never_part_of_a_span() -> None:
    made = compose(HITS, STORE, window=0)
    assert not any("omitted" in span.text for span in made.spans)


def test_a_prefix_stands_outside_the_span_and_its_citations() -> None:
    chunk = make_chunk("t", 3, "| 1 | 2 |", 300, prefix="| a | b |\n")
    made = compose(hits_of(make_store(chunk), {3: 1.0}, "t"), {}, window=0)
    assert made.text == "[1] | a | b |\n| 1 | 2 |"
    assert made.spans[0].text == "| 1 | 2 |"
    (cited,) = made.citations
    assert made.text[cited.start : cited.end] == "| 1 | 2 |"


def test_everything_around_the_text_counts() -> None:
    for said in ({}, {"context_format": "xml"}, {"context_format": "markdown", "span_header": "full"}):
        made = compose(HITS, STORE, window=0, token_budget=14, **said)
        assert made.tokens == len(made.text.split()) <= 14


def furniture(made: Composition) -> str:
    """A context less what its spans hold."""
    rest, at = "", 0
    for span in made.spans:
        start = made.text.index(span.text, at)
        rest, at = rest + made.text[at:start], start + len(span.text)
    return rest + made.text[at:]


@try_examples(300)
@given(cases())
def test_citations_and_joiners_are_all_of_a_span(case: Any) -> None:
    composer, _ = Bench()(case.tokenizer)
    made = composer.compose(
        case.hits, case.store, case.parent_store, query=case.query, scope=case.scope, **case.options
    )
    shown = sum(len(span.text) for span in made.spans)
    assert len(furniture(made)) + shown == len(made.text)
    for cited in made.citations:
        span = made.spans[cited.number - 1]
        assert made.text[cited.start : cited.end] in span.text


def test_a_span_does_not_end_in_white_space() -> None:
    store = make_store(make_chunk("d", 0, "Bees sleep.  \n\n", 0), make_chunk("d", 1, "   ", 15))
    (span,) = compose(hits_of(store, {0: 1.0}), store, run_cost=0.0).spans
    assert (span.text, span.char_start, span.char_end, span.exact) == ("Bees sleep.", 0, 11, True)


def test_a_joiner_does_not_stay_at_an_end() -> None:
    store = make_store(make_chunk("d", 0, "Bees sleep.", 0), make_chunk("d", 1, "   ", 12))
    (span,) = compose(hits_of(store, {0: 1.0, 1: 0.9}), store).spans
    assert (span.text, span.exact) == ("Bees sleep.", True)
