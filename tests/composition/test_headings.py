"""How a passage that spans several headings is cited: in query output and in notebooks."""

from hypothesis import given
from hypothesis import strategies as st

from retrivex import Chunk, ChunkMetadata, Composition, RetrievalConfig, SeedHit, SpanComposer
from retrivex.cli.query import sources
from retrivex.composition.headings import cite_headings

paths = st.lists(st.lists(st.sampled_from("ABC"), max_size=3).map(tuple), max_size=6)


def spanning() -> Composition:
    """Compose one passage of four chunks under three headings."""
    texts = ["Guests are welcome.", "Dinner is at eight.", "Events are rare.", "Gifts are small."]
    headings = [("Guide", "Guests"), ("Guide", "Guests", "Dinner"), ("Guide", "Guests", "Events"), ("Guide", "Gifts")]
    starts = [sum(len(text) + 1 for text in texts[:at]) for at in range(4)]
    chunks = [
        Chunk(text, ChunkMetadata("house", at, char_start=start, char_end=start + len(text), heading_path=path))
        for at, (text, start, path) in enumerate(zip(texts, starts, headings, strict=True))
    ]
    config = RetrievalConfig(tokenizer="estimate", stop_on_heading_change=False, effort="full", scoring="weighted")
    hits = [SeedHit(chunk, 0.9) for chunk in chunks]
    return SpanComposer(config).compose(hits, {chunk.key: chunk for chunk in chunks})


def test_a_passage_under_several_headings_is_cited_from_the_first_to_the_last() -> None:
    made = spanning()
    (span,) = made.spans

    assert span.chunk_ids == [0, 1, 2, 3]
    assert list(sources(made)) == [(1, "house, characters 0-73, Guide > Guests … Gifts")]
    assert "<em>house &gt; Guide &gt; Guests … Gifts</em>" in made._repr_html_()
    # programs still read the path of every part
    assert made.citations[1].heading_path == ("Guide", "Guests", "Dinner")


def test_one_heading_is_cited_as_it_is_and_none_not_at_all() -> None:
    assert cite_headings([("Guide", "Winter"), ("Guide", "Winter")]) == "Guide > Winter"
    assert cite_headings([(), ("Guide",), ()]) == "Guide"
    assert cite_headings([(), ()]) == ""


def test_headings_without_a_common_one_are_cited_whole() -> None:
    assert cite_headings([("Trips", "Meals"), ("Trips", "Hotels"), ("Guests", "Gifts")]) == (
        "Trips > Meals … Guests > Gifts"
    )


@given(paths)
def test_a_citation_begins_with_the_first_heading_and_is_no_longer_than_two_paths(given: list[tuple[str, ...]]) -> None:
    cited = cite_headings(given)
    known = [path for path in given if path]

    assert cited.startswith(known[0][0] if known else "")
    assert len(cited.replace(" … ", " > ").split(" > ")) <= 2 * max(map(len, known), default=1)
    assert cited.count("…") <= 1
