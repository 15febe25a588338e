"""The contract, for stores that give embeddings where they are made `with_vectors`, and keep what backfill writes."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.where_cases import HOSTILE, WHERES, WIDE, embedded, where_chunks, wheres

from retrivex import Chunk, ChunkMetadata, RetrievalConfig, RetriVex
from retrivex.adapters.base.backfill import backfill
from retrivex.adapters.base.collection import Nearest
from retrivex.adapters.base.where import read_where
from retrivex.errors import StoreError
from retrivex.model.window import Window
from retrivex.testing import ChunkStoreContract, StoreUnderTest, contract_chunks, vector_of
from retrivex.tokens.tokenizer import CallableTokenizer

WORDS = CallableTokenizer(lambda text: len(text.split()), name="words of a text")


class CountsContract(ChunkStoreContract):
    """Counts that are kept in records come back with them, and are no metadata of theirs."""

    def test_counts_that_backfill_wrote_come_back(self) -> None:
        chunks = contract_chunks(documents=2, chunks=5)
        windows = [Window("doc-0", 1, 4), Window("doc-1", 0, 2)]
        with closing(self.make(chunks)) as under_test:
            store: Any = under_test.store
            before = {chunk.key: chunk for chunk in store.fetch(windows)}
            assert [count for _, count in store.fetch_counted(windows, tokenizer=WORDS.name)] == [None] * 5
            made = backfill(store.collection, write=True, tokenizer=WORDS, batch=4)
            assert (made.written, made.counted) == (10, 10)
            counted = store.fetch_counted(windows, tokenizer=WORDS.name)
            assert {chunk.key for chunk, _ in counted} == before.keys()
            for chunk, count in counted:
                assert count.tokens == WORDS.count(chunk.text)
                assert count.holds(chunk.text, WORDS.name)
                assert count.cuts is not None
                assert chunk.text == before[chunk.key].text
                assert not any("counts" in name for name in chunk.metadata.custom_metadata)
            assert {count for _, count in store.fetch_counted(windows, tokenizer="another")} == {None}
            if store.collection.is_async:
                answer = asyncio.run(store.afetch_counted(windows, tokenizer=WORDS.name))
                assert {(chunk.key, count) for chunk, count in answer} == {
                    (chunk.key, count) for chunk, count in counted
                }


class WhereContract(ChunkStoreContract):
    """Filters with the question mean what they mean in the embedded store, and never let more be seen."""

    pushes: Sequence[dict[str, Any]] = (
        {"doc_id": "doc-1"},
        {"page": {"min": 2}},
        {"timestamp": {"below": 1_700_000_003}},
        {"metadata.author": ["François Huber", "it's"]},
        {"metadata.year": 1791, "metadata.draft": False},
        {"any": [{"metadata.weight": {"above": 3}}, {"doc_id": ["doc-0"]}]},
    )
    """What the server is asked for, so that nothing else comes from it."""
    holds_wide_numbers = True
    """Whether whole numbers beyond 2**53 come back as they were written."""

    def _chunks(self) -> list[Chunk]:
        return where_chunks(wide=self.holds_wide_numbers)

    @contextmanager
    def _asked(self) -> Iterator[tuple[Any, Callable[[Any, Any], None]]]:
        chunks = self._chunks()
        with closing(self.make(chunks)) as under_test, embedded(chunks) as right:
            store: Any = under_test.store
            vector = chunks[0].embedding
            retriever = store.retriever(lambda question: vector)

            def check(where: Any, scope: Any) -> None:
                expected = right.search_vector(vector, 100, scope, where)
                found = retriever.retrieve("x", 100, scope, where)
                assert sorted(hit.key for hit in found) == sorted(hit.key for hit in expected), (where, scope)

            yield retriever, check

    def test_where_means_what_it_means_in_the_embedded_store(self) -> None:
        with self._asked() as (_, check):
            for n, where in enumerate([*WHERES, *(WIDE if self.holds_wide_numbers else ())]):
                check(where, {"acme", None})
                check(where, (None, "acme", "nobody")[n % 3])

    def test_any_where_means_what_it_means_in_the_embedded_store(self) -> None:
        with self._asked() as (_, check):

            @settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
            @given(wheres, st.sampled_from([None, "acme", ("acme", None)]))
            def each(where: dict[str, Any], scope: Any) -> None:
                check(where, scope)

            each()

    def test_values_and_keys_of_where_are_never_part_of_a_text(self) -> None:
        with self._asked() as (_, check):
            for text in HOSTILE:
                check({"metadata.author": [text, "it's"], "not": {"doc_id": text}}, None)
                check({"any": [{"metadata.author": {"contains": text}}, {f"metadata.{text}": [text, None]}]}, None)
                check({"any": [{"doc_id": text}, {"heading": text}, {"doc_id": {"min": text}}]}, None)

    def test_what_where_asks_for_the_server_is_asked_for(self) -> None:
        with self._asked() as (retriever, _):
            chunks, collection = self._chunks(), retriever.collection
            for where in self.pushes:
                request = Nearest(np.asarray(chunks[0].embedding), 100, frozenset({None, "acme"}), read_where(where))
                keys = {hit.key for hit in retriever.retrieve("x", 100, {None, "acme"}, where)}
                assert keys
                assert len(collection.ask(request).records) == len(keys), where

    def test_where_never_widens_what_scope_allows(self) -> None:
        with self._asked() as (retriever, _):
            for where in ({"metadata.scope": "acme"}, {"doc_id": {"starts": "acme"}}, {"not": {"doc_id": "doc-0"}}):
                assert {hit.chunk.metadata.scope for hit in retriever.retrieve("x", 100, None, where)} <= {None}
                assert {hit.chunk.metadata.scope for hit in retriever.retrieve("x", 100, "acme", where)} <= {"acme"}
                wide = {"any": [where, {"metadata.scope": ["acme", None]}, {}]}
                assert {hit.chunk.metadata.scope for hit in retriever.retrieve("x", 100, None, wide)} == {None}

    def test_hits_that_fit_are_found_behind_those_that_do_not(self) -> None:
        with self._asked() as (retriever, check):
            where = {"not": {"metadata.author": {"contains": "François"}}, "heading": ["Guide", "Part 1"]}
            hits = retriever.retrieve("x", 2, {None, "acme"}, where)
            assert len(hits) == 2
            check(where, {None, "acme"})

    def test_where_that_cannot_be_read_is_the_same_error_everywhere(self) -> None:
        with self._asked() as (retriever, _):
            bad: list[Any] = [5, {"title": "x"}, {"page": {"gt": 3}}, {"metadata.x": float("nan")}, {"any": []}]
            for where in bad:
                with pytest.raises(StoreError, match="where"):
                    retriever.retrieve("x", where=where)

    def test_links_and_prefix_come_with_hits(self) -> None:
        with self._asked() as (retriever, _):
            found = {hit.key: hit.chunk.metadata for hit in retriever.retrieve("x", 100, {None, "acme"})}
            known = {chunk.key: chunk.metadata for chunk in self._chunks()}
            assert found.keys() == known.keys()
            for key, metadata in known.items():
                assert (tuple(found[key].links), found[key].prefix) == (tuple(metadata.links), metadata.prefix)

    def test_where_goes_through_one_call(self) -> None:
        chunks = self._chunks()
        with closing(self.make(chunks)) as under_test:
            store: Any = under_test.store
            asked = RetriVex(store, lambda question: chunks[2].embedding, RetrievalConfig(window=0))
            made = asked.ask("What?", k=3, where={"doc_id": "doc-1"})
            assert {span.doc_id for span in made.spans} == {"doc-1"}


class WordsContract(ChunkStoreContract):
    """Search by words and by both goes where a store has it, inside scope and filters; where not, one error says so."""

    has_words = True

    def make_for_words(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        """Make a store that can be searched by words."""
        return self.make(chunks)

    @contextmanager
    def _bees(self) -> Iterator[tuple[Any, list[Chunk]]]:
        texts = ["The queen lays eggs in spring.", "A hive has one queen.", "Drones leave in autumn.", "It rains."]
        chunks = [Chunk(text, ChunkMetadata("bees", n, page=n), vector_of(text)) for n, text in enumerate(texts)]
        hidden = ChunkMetadata("secret", 0, page=9, scope="acme")
        chunks.append(Chunk("Eggs, eggs, spring eggs.", hidden, vector_of("eggs")))
        with closing(self.make_for_words(chunks)) as under_test:
            yield under_test.store, chunks

    def test_words_are_searched_inside_scope_and_filters(self) -> None:
        if not self.has_words:
            pytest.skip("this store has no search by words")
        with self._bees() as (store, chunks):
            words = store.retriever(search="words")
            hits = words.retrieve("eggs in spring", k=2)
            assert hits[0].chunk.text == chunks[0].text
            assert [hit.similarity_score for hit in hits] == sorted((h.similarity_score for h in hits), reverse=True)
            assert {hit.key for hit in words.retrieve("queen")} == {("bees", 0), ("bees", 1)}
            assert [hit.key for hit in words.retrieve("queen", where={"page": 1})] == [("bees", 1)]
            assert [hit.key for hit in words.retrieve("eggs", scope="acme")] == [("secret", 0)]
            assert words.retrieve("eggs", where={"doc_id": "secret"}) == []
            assert words.retrieve("zebra") == []
            for hostile in ("queen & !(eggs", "queen' OR '1'='1", 'queen" AND (', "queen\\ : * ~2 {x}"):
                assert ("bees", 1) in {hit.key for hit in words.retrieve(hostile)}, hostile

    def test_hybrid_finds_what_words_find_and_what_vectors_find(self) -> None:
        if not self.has_words:
            pytest.skip("this store has no search by words")
        with self._bees() as (store, chunks):
            both = store.retriever(lambda question: chunks[2].embedding, search="hybrid")
            hits = both.retrieve("eggs")
            assert {hit.key for hit in hits[:2]} == {("bees", 0), ("bees", 2)}
            assert [hit.similarity_score for hit in hits] == sorted((h.similarity_score for h in hits), reverse=True)
            assert len(both.retrieve("eggs", k=1)) == 1
            assert {hit.key for hit in both.retrieve("eggs", where={"page": {"min": 1}})} == {
                ("bees", n) for n in (1, 2, 3)
            }
            assert {hit.chunk.metadata.scope for hit in both.retrieve("eggs", scope={"acme", None})} == {"acme", None}
            if store.collection.is_async:
                assert [hit.key for hit in asyncio.run(both.aretrieve("eggs"))] == [hit.key for hit in hits]

    def test_a_place_that_is_written_twice_comes_once(self) -> None:
        if not self.holds_duplicates:
            pytest.skip("this store keeps nothing twice")
        texts = ["The queen lays eggs.", "A queen is fed.", "Queens fly."]
        chunks = [Chunk(text, ChunkMetadata("bees", n), vector_of(text)) for n, text in enumerate(texts)]
        with closing(self.make_for_words([*chunks, *chunks[:2], *chunks[:2]])) as under_test:
            store: Any = under_test.store
            for search in ("vectors", "words", "hybrid") if self.has_words else ("vectors",):
                retriever = store.retriever(lambda question: chunks[0].embedding, search=search)
                hits = retriever.retrieve("queen eggs", k=3)
                keys = [hit.key for hit in hits]
                assert sorted(keys) == sorted({*keys}), search
                assert keys[0] == ("bees", 0), search
                assert len(keys) == 3 or search == "words", search
                assert [hit.similarity_score for hit in hits] == sorted(
                    (h.similarity_score for h in hits), reverse=True
                )

    def test_a_search_that_a_store_has_not_is_one_clear_error(self) -> None:
        with self._bees() as (store, _):
            with pytest.raises(StoreError, match="search is 'meaning': it must be one of vectors, words, hybrid"):
                store.retriever(search="meaning")
            with pytest.raises(StoreError, match="embed is missing"):
                store.retriever(search="hybrid")
            if not self.has_words:
                with pytest.raises(StoreError, match=r"search is 'words': .* has no search by words"):
                    store.retriever(search="words")


class VectorContract(CountsContract, WhereContract, WordsContract):
    def make(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        return self._made(chunks)

    def make_with_embeddings(self, chunks: Sequence[Chunk]) -> StoreUnderTest:
        return self._made(chunks, with_vectors=True)

    def test_one_call_leads_from_a_question_to_its_context(self) -> None:
        chunks = contract_chunks(documents=2, chunks=5)
        with closing(self.make_with_embeddings(chunks)) as under_test:
            store: Any = under_test.store
            asked = RetriVex(store, lambda question: chunks[2].embedding, RetrievalConfig(window=1))
            made = asyncio.run(asked.aask("What?", k=1)) if store.collection.is_async else asked.ask("What?", k=1)
            assert [(span.doc_id, span.chunk_ids) for span in made.spans] == [("doc-0", [1, 2, 3])]

    @abstractmethod
    def _made(self, chunks: Sequence[Chunk], **options: Any) -> StoreUnderTest:
        """Make a collection of chunks, and a store over it with these options."""
