from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from retrivex import RetrivexError
from retrivex.encoders.encoder import HashingEncoder
from retrivex.evaluation.questions.evidence import Question
from retrivex.evaluation.run import Index
from retrivex.evaluation.run.index import cut
from retrivex.evaluation.run.vector_cache import VectorCache

DOCUMENTS = {
    "bees.md": "# Bees\n\nBees live in hives. A hive has one queen.\n\n# Sleep\n\nBees sleep at night.",
    "ants": "Ants work all day. Ants keep aphids.",
    "wasps": "Wasps sting. Wasps sleep at night too.",
}


class Counting:
    """Notes what it is asked to encode."""

    name = "counting"

    def __init__(self) -> None:
        self.seen: list[str] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.seen += texts
        return HashingEncoder(32).encode(texts)


def asked(text: str, *within: str) -> Question:
    return Question("q", text, (), within=within)


@pytest.mark.parametrize("retriever", ["bm25", "dense", "fused"])
def test_hits_come_only_out_of_the_documents_asked(retriever: str, tmp_path: Path) -> None:
    index = Index(DOCUMENTS, size=8, encoder=VectorCache(HashingEncoder(64), tmp_path))
    questions = [asked("Who sleeps at night?"), asked("Who sleeps at night?", "ants", "wasps")]
    everywhere, inside = index.hits(questions, retriever, 10)
    assert {hit.key[0] for hit in everywhere} >= {"bees.md", "wasps"}
    assert {hit.key[0] for hit in inside} <= {"ants", "wasps"}
    assert inside[0].chunk.text.startswith("Wasps sleep")


@pytest.mark.parametrize("retriever", ["bm25", "dense", "fused"])
def test_a_restricted_index_is_an_index_of_those_documents(retriever: str, tmp_path: Path) -> None:
    vectors = VectorCache(HashingEncoder(64), tmp_path)
    some = {name: DOCUMENTS[name] for name in ("ants", "wasps")}
    question = asked("Do ants sleep at night?", "wasps", "ants")
    whole = Index(DOCUMENTS, size=8, encoder=vectors).hits([question], retriever, 5)[0]
    alone = Index(some, size=8, encoder=vectors).hits([question], retriever, 5)[0]
    assert [hit.key for hit in whole] == [hit.key for hit in alone]
    assert [hit.similarity_score for hit in whole] == pytest.approx([hit.similarity_score for hit in alone])


def test_words_alone_give_no_vectors(tmp_path: Path) -> None:
    index = Index(DOCUMENTS, encoder=VectorCache(HashingEncoder(64), tmp_path))
    hits = {name: index.hits([asked("bees")], name, 3)[0] for name in ("bm25", "dense", "fused")}
    assert all(hit.chunk.embedding is None for hit in hits["bm25"])
    assert all(hit.chunk.embedding is not None for name in ("dense", "fused") for hit in hits[name])
    assert all(chunk.embedding is None for chunk in index.store_for("bm25").values())
    assert all(chunk.embedding is not None for chunk in index.store_for("fused").values())


def test_nothing_is_encoded_twice(tmp_path: Path) -> None:
    first, second = Counting(), Counting()
    Index(DOCUMENTS, size=8, encoder=VectorCache(first, tmp_path))
    assert len(first.seen) == len(set(first.seen)) > 3
    with_one_more = {**DOCUMENTS, "copy": DOCUMENTS["ants"], "new": "Termites eat wood."}
    index = Index(with_one_more, size=8, encoder=VectorCache(second, tmp_path))
    assert second.seen == ["Termites eat wood."]
    fresh = Index(with_one_more, size=8, encoder=VectorCache(Counting(), tmp_path / "other"))
    assert index.vectors is not None
    assert fresh.vectors is not None
    assert index.vectors.tobytes() == fresh.vectors.tobytes()


def test_an_encoder_that_changed_under_its_name_is_told(tmp_path: Path) -> None:
    VectorCache(Counting(), tmp_path).encode(["bees"])

    class Other(Counting):
        def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
            return HashingEncoder(16).encode(texts)

    with pytest.raises(RetrivexError, match="the encoder has changed under its name"):
        VectorCache(Other(), tmp_path).encode(["bees", "ants"])


def test_documents_can_be_taken_in_the_order_given() -> None:
    index = Index(DOCUMENTS, size=8)
    hits = index.hits([asked("Who sleeps?", "wasps", "ants")], "given", 3)[0]
    assert [hit.key for hit in hits] == [("wasps", 0), ("wasps", 1), ("ants", 0)]
    scores = [hit.similarity_score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    with pytest.raises(RetrivexError, match="question 'q' names no documents"):
        index.hits([asked("Who sleeps?")], "given", 3)


def test_what_is_no_retriever_or_needs_an_encoder_is_refused() -> None:
    index = Index(DOCUMENTS)
    with pytest.raises(RetrivexError, match="retriever is 'splade': it must be one of bm25, dense, fused, given"):
        index.hits([asked("bees")], "splade", 3)
    with pytest.raises(RetrivexError, match="or search with the retriever 'bm25'"):
        index.hits([asked("bees")], "dense", 3)
    with pytest.raises(RetrivexError, match="chunker is 'nix'"):
        Index(DOCUMENTS, chunker="nix")


def test_chunkers_that_read_headings_see_markdown() -> None:
    chunks = cut(DOCUMENTS, "auto", 12)
    headed = {chunk.metadata.heading_path for chunk in chunks if chunk.metadata.doc_id == "bees.md"}
    assert headed == {("Bees",), ("Sleep",)}
    assert not any(chunk.metadata.heading_path for chunk in chunks if chunk.metadata.doc_id == "ants")


@given(st.dictionaries(st.text("abc", min_size=1), st.text(max_size=60), max_size=4), st.integers(1, 9))
def test_chunks_hold_their_documents_text(documents: dict[str, str], size: int) -> None:
    for chunk in cut(documents, "sentence_packed", size):
        assert documents[chunk.metadata.doc_id][chunk.metadata.char_start : chunk.metadata.char_end] == chunk.text
