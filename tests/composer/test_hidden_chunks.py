"""A chunk that the caller may not see is not there: nothing in an answer tells it from one that does not exist."""

from __future__ import annotations

from typing import Any

from fuzz.checks import without_times
from hypothesis import given
from hypothesis import strategies as st
from support.properties import try_examples
from support.strategies import compose, count_words, make_chunk, make_store

from retrivex import Chunk, SeedHit

COUNT = 8


@st.composite
def documents(draw: Any) -> tuple[list[Chunk], set[int]]:
    """Chunks of one document, with links and parents, and which of them are of another scope."""
    hidden = draw(st.sets(st.integers(1, COUNT - 1), min_size=1))
    counted, with_offsets = draw(st.booleans()), draw(st.booleans())
    chunks, start = [], 0
    for at in range(COUNT):
        text = f"Hive {at} holds {at * 7} bees near the old mill. "
        links = [("d", target) for target in draw(st.sets(st.integers(0, COUNT - 1), max_size=2))]
        said = {"parent_id": f"p{at // 4}", "chunk_count": COUNT if counted else None, "links": links}
        scope = "other" if at in hidden else "acme"
        chunks.append(make_chunk("d", at, text, start if with_offsets else None, scope=scope, **said))
        start += len(text)
    return chunks, hidden


@try_examples(300)
@given(documents(), st.sets(st.integers(0, COUNT - 1), min_size=1), st.booleans(), st.data())
def test_a_hidden_chunk_is_as_one_that_is_not_there(
    document: tuple[list[Chunk], set[int]], found: set[int], as_text: bool, data: Any
) -> None:
    chunks, hidden = document
    visible = make_store(*(chunk for chunk in chunks if chunk.metadata.chunk_id not in hidden))
    hits = [SeedHit(chunks[at], 1 - at / 10) for at in sorted(found - hidden)] or [SeedHit(chunks[0], 1.0)]
    options = {
        "window": data.draw(st.integers(0, 3)),
        "follow_links": data.draw(st.integers(0, 2)),
        "return_parents": data.draw(st.sampled_from(["auto", "never"])),
        "query": data.draw(st.sampled_from([None, "How many bees does hive 3 hold?"])),
        "token_budget": data.draw(st.sampled_from([20, 60, 1000])),
    }
    parents = (
        {f"p{n}": "".join(chunk.text for chunk in chunks[4 * n : 4 * n + 4]) for n in range(2)} if as_text else None
    )
    made = [compose(hits, store, parents, scope="acme", **options) for store in (make_store(*chunks), visible)]
    told, honest = (without_times(one) for one in made)
    assert told == honest
    assert count_words(made[0].text) <= options["token_budget"]
