"""Hits of both search engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.search.kit import OnServer
from support.search.server import SearchServer

from retrivex import Chunk, ChunkMetadata, RetrievalConfig, SpanComposer
from retrivex.adapters.base.fields import FieldMap
from retrivex.errors import StoreError
from retrivex.model.window import Window
from retrivex.testing import contract_chunks, vector_of


class HitCases(OnServer):
    """Hits, by vectors and by words."""

    def test_hits_come_best_first_with_their_cosine(self, client: Any) -> None:
        chunks = contract_chunks()
        index = self.kit.fill(client, chunks)
        asked = vector_of("question")
        retriever = self.kit.retriever(client, index, lambda question: asked)
        hits = retriever.retrieve("which?", k=5)
        cosines = sorted((float(np.asarray(chunk.embedding) @ asked) for chunk in chunks), reverse=True)
        assert [hit.similarity_score for hit in hits] == pytest.approx(cosines[:5], abs=1e-5)
        made = SpanComposer(RetrievalConfig(window=1)).compose(hits[:1], self.kit.store(client, index), query="which?")
        assert len(made.spans[0].chunk_ids) > 1

    def test_scores_are_similarities_or_distances_with_a_minus(self, client: Any) -> None:
        chunks = contract_chunks(1, 8)
        asked = vector_of("question")
        for metric, of in self.kit.metrics.items():
            index = self.kit.fill(client, chunks, metric=metric)
            hits = self.kit.retriever(client, index, lambda question: asked).retrieve("which?", k=8)
            vectors = {chunk.key: np.asarray(chunk.embedding, dtype=float) for chunk in chunks}
            expected = [of(asked.astype(float), vectors[hit.key]) for hit in hits]
            assert [hit.similarity_score for hit in hits] == pytest.approx(expected, abs=1e-4), metric
            assert expected == sorted(expected, reverse=True)

    def test_the_nearest_are_looked_for_inside_the_scope(self, client: Any) -> None:
        chunks = [*contract_chunks(4, 12), *contract_chunks(1, 5, "acme", "acme")]
        index = self.kit.fill(client, chunks)
        retriever = self.kit.retriever(client, index, lambda question: chunks[0].embedding)
        assert {hit.chunk.metadata.scope for hit in retriever.retrieve("x", k=5, scope="acme")} == {"acme"}
        assert len(retriever.retrieve("x", k=5, scope="acme")) == 5
        assert {hit.chunk.metadata.scope for hit in retriever.retrieve("x", k=60)} == {None}
        assert len(retriever.retrieve("x", k=60, scope=["acme", None])) == 53
        assert retriever.retrieve("x", k=5, scope="nobody") == []

    def test_hits_by_words_need_no_model(self, client: Any, server: SearchServer) -> None:
        texts = ["The queen lays eggs in spring.", "A hive has one queen.", "Drones leave in autumn."]
        chunks = [Chunk(text, ChunkMetadata("bees", n)) for n, text in enumerate(texts)]
        chunks.append(Chunk("Eggs, eggs, eggs.", ChunkMetadata("secret", 0, scope="acme")))
        index = self.kit.fill(client, chunks)
        retriever = self.kit.retriever(client, index, search="bm25")
        hits = retriever.retrieve('how many "eggs" in spring?', k=2)
        assert [hit.chunk.text for hit in hits] == [texts[0], texts[2]]
        assert hits[0].similarity_score > hits[1].similarity_score > 0
        assert server.log[-1][2]["query"]["bool"]["must"] == [
            {"match": {"text": {"query": 'how many "eggs" in spring?'}}}
        ]
        assert retriever.retrieve("  ") == []

    def test_hits_without_a_place_stay_as_they_are_with_a_warning(self, client: Any) -> None:
        index = self.kit.fill(client, [], properties={"text": {"type": "text"}})
        self.kit.put(client, index, {"a": {"text": "one", "embedding": vector_of("a").tolist()}})
        retriever = self.kit.retriever(client, index, lambda question: vector_of("a"))
        hits = retriever.retrieve("which?")
        assert [hit.chunk.text for hit in hits] == ["one"]
        assert "stay as they are" in retriever.warnings[0]
        store = self.kit.store(client, index)
        made = SpanComposer().compose(hits, store, query="which?")
        assert [span.text for span in made.spans] == ["one"]

    def test_vectors_are_not_sent_back(self, client: Any, server: SearchServer) -> None:
        chunks = contract_chunks(1, 3)
        index = self.kit.fill(client, chunks)
        for chunk in self.kit.store(client, index).fetch([Window("doc-0", 0, 3)]):
            assert "embedding" not in chunk.metadata.custom_metadata
        assert "embedding" in server.log[-1][2]["_source"]["excludes"]

    def test_vectors_come_where_they_are_wanted(self, client: Any) -> None:
        chunks = contract_chunks(1, 3)
        index = self.kit.fill(client, chunks)
        asked = vector_of("question")
        retriever = self.kit.retriever(client, index, lambda question: asked, with_vectors=True)
        found = [
            *self.kit.store(client, index, with_vectors=True).fetch([Window("doc-0", 0, 3)]),
            *(hit.chunk for hit in retriever.retrieve("which?")),
        ]
        expected = {chunk.key: chunk.embedding for chunk in chunks}
        assert len(found) == 6
        for chunk in found:
            assert np.asarray(chunk.embedding) == pytest.approx(np.asarray(expected[chunk.key]), abs=1e-6)
            assert "embedding" not in chunk.metadata.custom_metadata

    def test_what_is_written_after_the_store_was_made_is_found(self, client: Any, server: SearchServer) -> None:
        index = self.kit.fill(client, [], properties={})
        store = self.kit.store(client, index)
        with pytest.raises(StoreError, match=r"no record has doc_id or chunk_id.*`retrivex backfill`"):
            store.fetch([Window("doc-0", 0, 3)])
        words = self.kit.retriever(client, index, search="bm25")
        with pytest.raises(StoreError, match="has no text in 'text'"):
            words.retrieve("sentence")
        chunks = contract_chunks(1, 3, "acme")
        payloads = [FieldMap().payload(chunk) for chunk in chunks]
        self.kit.put(client, index, {str(at): payload for at, payload in enumerate(payloads)})
        assert len(store.fetch([Window("doc-0", 0, 3)], "acme")) == 3
        assert len(words.retrieve("sentence", scope="acme")) == 3
        before = len(server.log)
        assert len(words.retrieve("sentence", scope="acme")) == 3
        assert len(server.log) == before + 1

    def test_a_field_without_vectors_is_named_with_those_that_have_some(
        self, client: Any, server: SearchServer
    ) -> None:
        index = self.kit.fill(client, contract_chunks(1, 2))
        retriever = self.kit.retriever(client, index, lambda question: vector_of("a"), vector_name="vektor")
        with pytest.raises(StoreError, match=r"no vectors in 'vektor'.*its vector fields: embedding"):
            retriever.retrieve("which?")
        blind = FieldMap(embedding=(), text=())
        with pytest.raises(StoreError, match="no vectors in None"):
            self.kit.retriever(client, index, lambda question: vector_of("a"), fields=blind).retrieve("which?")
        with pytest.raises(StoreError, match="no text in None"):
            self.kit.retriever(client, index, search="bm25", fields=blind).retrieve("which?")
