"""Directions of embeddings, whatever the size of their numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from retrivex import Chunk, ChunkMetadata, RetrievalConfig, SeedHit, SpanComposer
from retrivex.similarity.vectors import with_norms

SIZES = st.integers(-300, 300).map(lambda power: 10.0**power)


def _cosines(rows):
    scaled, norms = with_norms(rows)
    return scaled[:-1] @ scaled[-1] / (norms[:-1] * norms[-1])


@given(arrays(np.float64, (4, 3), elements=st.floats(0.1, 10)), st.lists(SIZES, min_size=4, max_size=4))
def test_a_cosine_does_not_depend_on_how_large_the_numbers_are(rows, sizes):
    assert _cosines(rows * np.array(sizes)[:, None]) == pytest.approx(_cosines(rows), abs=1e-9)


@pytest.mark.parametrize("row", [[0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0], [-np.inf, np.inf]])
def test_a_row_without_a_direction_has_length_zero_and_spoils_no_other(row):
    rows, norms = with_norms(np.array([[3.0, 4.0], row]))
    assert norms.tolist() == [5.0, 0.0]
    assert np.isfinite(rows).all()


@pytest.mark.parametrize("size", [5.9e-134, 1e-170, 1e-300, 1.0, 1e170, 1e300])
def test_neighbours_of_tiny_or_huge_embeddings_are_as_continuous_as_others(size):
    # refused once: the product of two squared lengths of 1e-134 is 0
    chunks = [
        Chunk(word, ChunkMetadata("a", i, heading_path=(word,)), embedding=[0.0, size])
        for i, word in enumerate(["bird", "song"])
    ]
    composer = SpanComposer(RetrievalConfig(min_continuity=0.9, window=1), tokenizer=lambda text: len(text.split()))
    made = composer.compose(
        [SeedHit(chunks[0], 0.5)], {chunk.key: chunk for chunk in chunks}, query_embedding=[0, size]
    )
    assert [span.chunk_ids for span in made.spans] == [[0, 1]]
