from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support.operations import growth

from retrivex.chunking import SemanticChunker
from retrivex.chunking.semantic_chunker import neighbour_distances
from retrivex.errors import EncoderError
from retrivex.model.document import Document


def words(text: str) -> int:
    return len(text.split())


class Topics:
    """One axis a topic: a text about bees and one about ants have distance 1."""

    name = "topics"

    def __init__(self) -> None:
        self.calls = 0

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.calls += 1
        return np.array([[text.count("bee"), text.count("ant"), 0.1] for text in texts])


TEXT = "A bee flies. The bee sleeps. An ant works. The ant rests. One bee hums."


def cut(text: str, **settings) -> list[str]:
    chunker = SemanticChunker(Topics(), tokenizer=words, **settings)
    return [chunk.text for chunk in chunker.chunk(Document("d", text))]


def test_chunks_end_where_the_subject_changes() -> None:
    assert cut(TEXT, breakpoint="threshold", value=0.5, min_size=0) == [
        "A bee flies. The bee sleeps. ",
        "An ant works. The ant rests. ",
        "One bee hums.",
    ]


def test_a_percentile_is_taken_of_the_document_itself() -> None:
    assert len(cut(TEXT, value=40, min_size=0)) == 3
    assert len(cut(TEXT, value=100, min_size=0)) == 1


def test_small_chunks_join_the_nearer_neighbour() -> None:
    assert cut(TEXT, breakpoint="threshold", min_size=4) == [
        "A bee flies. The bee sleeps. ",
        "An ant works. The ant rests. One bee hums.",
    ]


def test_a_chunk_over_max_size_is_cut_where_it_parts_most() -> None:
    chunks = cut("A bee flies. The bee sleeps. A bee and an ant meet.", value=100, min_size=0, max_size=8)
    assert chunks == ["A bee flies. The bee sleeps. ", "A bee and an ant meet."]


def test_a_document_is_embedded_in_one_call() -> None:
    encoder = Topics()
    SemanticChunker(encoder, tokenizer=words).chunk(Document("d", TEXT * 20))
    assert encoder.calls == 1


def test_one_sentence_is_one_chunk() -> None:
    assert cut("A bee flies.") == ["A bee flies."]


@pytest.mark.parametrize(
    "vectors", [np.zeros((1, 3)), np.zeros(5), np.full((5, 2), np.nan), np.full((5, 2), np.inf), np.zeros((6, 2))]
)
def test_bad_vectors_are_refused(vectors: np.ndarray) -> None:
    class Bad:
        name = "bad-model"

        def encode(self, texts: Sequence[str]) -> np.ndarray:
            return vectors

    with pytest.raises(EncoderError, match=r"'bad-model' gave an array of shape .* for 5 sentences"):
        SemanticChunker(Bad(), tokenizer=words).chunk(Document("d", TEXT))


@given(arrays(np.float32, st.tuples(st.integers(0, 6), st.integers(1, 4)), elements=st.floats(-1e3, 1e3, width=32)))
def test_distances_are_those_of_cosines(vectors: np.ndarray) -> None:
    distances = neighbour_distances(vectors)
    assert distances.shape == (max(len(vectors) - 1, 0),)
    assert np.all((distances >= 0) & (distances <= 2))
    for distance, a, b in zip(distances, vectors.astype(np.float64), vectors[1:].astype(np.float64), strict=False):
        lengths = np.linalg.norm(a) * np.linalg.norm(b)
        if lengths > 1e-6:
            assert distance == pytest.approx(1 - a @ b / lengths, abs=1e-6)


def test_work_grows_with_the_length_where_all_sentences_are_alike() -> None:
    unit = "A bee flies at night. "
    chunker = SemanticChunker(Topics(), tokenizer=words)
    assert growth(lambda units: chunker.chunk(Document("d", unit * units)), 200) < 5
