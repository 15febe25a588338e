"""What both search engines know of an index by its mapping."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.search.kit import EXACT, OnServer
from support.search.server import SearchServer

from retrivex import Chunk, ChunkMetadata
from retrivex.adapters.base.fields import FieldMap, colon_id
from retrivex.errors import StoreError
from retrivex.model.window import Window
from retrivex.testing import contract_chunks


class MappingCases(OnServer):
    """Mappings that are as wished for, and others."""

    def test_a_text_is_asked_by_the_keyword_beside_it(self, client: Any, server: SearchServer) -> None:
        names = ["Bees.md", "bees", "the bees"]
        chunks = [Chunk(f"{name} {n}", ChunkMetadata(name, n, scope="Acme Ltd")) for name in names for n in range(3)]
        index = self.kit.fill(client, chunks, properties={})  # dynamic mapping: a text with a keyword beside it
        store = self.kit.store(client, index)
        for name in names:
            assert {c.key for c in store.fetch([Window(name, 1, 3)], "Acme Ltd")} == {(name, 1), (name, 2)}
            assert store.fetch([Window(name, 0, 3)], "Acme") == []
        assert '"doc_id.keyword"' in json.dumps(server.log[-1][2])

    def test_a_text_alone_is_told_of_and_refused(self, client: Any) -> None:
        index = self.kit.fill(client, contract_chunks(1, 3), properties={**EXACT, "doc_id": {"type": "text"}})
        store = self.kit.store(client, index)
        with pytest.raises(StoreError, match="cannot be matched letter by letter: put a keyword field beside it"):
            store.fetch([Window("doc-0", 0, 3)])
        better = {**EXACT, "doc_id": {"type": "text", "fields": {"keyword": {"type": "keyword"}}}}
        index = self.kit.fill(client, contract_chunks(1, 3), properties=better)
        assert len(self.kit.store(client, index).fetch([Window("doc-0", 0, 3)])) == 3

    def test_numbers_kept_as_texts_are_listed_one_by_one(self, client: Any) -> None:
        properties = {**EXACT, "chunk_id": {"type": "keyword"}}
        index = self.kit.fill(client, [], properties=properties)
        records = {f"r{n}": {"text": f"text {n}", "doc_id": "d", "chunk_id": str(n)} for n in range(120)}
        self.kit.put(client, index, records)
        found = self.kit.store(client, index).fetch([Window("d", 8, 12), Window("d", 99, 101)])
        assert sorted(chunk.metadata.chunk_id for chunk in found) == [8, 9, 10, 11, 99, 100]

    def test_keys_with_dots_are_those_of_objects(self, client: Any) -> None:
        records = {
            "r0": {"text": "one", "metadata.source": "d", "metadata.chunk_id": 0, "metadata.scope": "acme"},
            "r1": {"text": "two", "metadata": {"source": "d", "chunk_id": 1, "scope": "acme", "v1.page": 7}},
        }
        properties = {f"metadata.{name}": EXACT[known] for name, known in
                      (("source", "doc_id"), ("chunk_id", "chunk_id"), ("scope", "scope"))}  # fmt: skip
        index = self.kit.fill(client, [], properties=properties)
        self.kit.put(client, index, records)
        fields = FieldMap(doc_id="source", root="metadata", page="v1.page")
        store = self.kit.store(client, index, fields=fields)
        found = {chunk.key: chunk.metadata.page for chunk in store.fetch([Window("d", 0, 2)], "acme")}
        assert found == {("d", 0): None, ("d", 1): 7}
        assert store.fetch([Window("d", 0, 2)]) == []

    def test_a_scope_that_is_a_text_alone_is_refused(self, client: Any) -> None:
        index = self.kit.fill(client, contract_chunks(1, 3), properties={**EXACT, "scope": {"type": "text"}})
        store = self.kit.store(client, index, make_id=colon_id)
        with pytest.raises(StoreError, match="scope cannot be matched letter by letter"):
            store.fetch([Window("doc-0", 0, 3)], "acme")

    def test_a_mapping_is_read_later_where_the_server_is_down_at_first(self, client: Any, server: SearchServer) -> None:
        index = self.kit.fill(client, contract_chunks(1, 3))
        server.failing = [429, 429, 429]
        store = self.kit.store(client, index)
        assert len(store.fetch([Window("doc-0", 0, 3)])) == 3
        assert server.failing == []

    def test_an_index_that_is_not_there_is_an_error_at_once(self, client: Any) -> None:
        with pytest.raises(StoreError, match=r"index 'nowhere' cannot be read .*no such index"):
            self.kit.store(client, "nowhere")
