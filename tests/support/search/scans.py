"""All records of an index, written anew, and those that frameworks wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.examples import run_example
from support.search.kit import OnServer
from support.search.server import SearchServer

from retrivex.adapters.base.backfill import backfill
from retrivex.adapters.base.collection import ByWindows, Scan
from retrivex.adapters.base.fields import FieldMap, colon_id
from retrivex.errors import StoreError
from retrivex.model.window import Window
from retrivex.testing import contract_chunks

RECORDS = json.loads((Path(__file__).parent / "records.json").read_text(encoding="utf-8"))
"""What the integration packages of the frameworks wrote into an index, and how they mapped it."""


class RecordCases(OnServer):
    """Records as they are kept."""

    # ---- all records, and writing

    def test_a_scan_gives_every_record_once_and_goes_on_where_it_stopped(
        self, client: Any, server: SearchServer
    ) -> None:
        chunks = contract_chunks(3, 7)
        collection = self.kit.collection(client, self.kit.fill(client, chunks, make_id=colon_id))
        seen: list[str] = []
        after = None
        while True:
            page = collection.ask(Scan(after, 5))
            assert page.records == collection.ask(Scan(after, 5)).records or after is None
            seen += [record.id for record in page.records]
            after = json.loads(json.dumps(page.after))
            if after is None:
                break
        assert sorted(seen) == sorted(colon_id(*chunk.key) for chunk in chunks)
        assert len(seen) == len(set(seen))

    def test_fields_are_written_beside_those_that_are_there(self, client: Any) -> None:
        index = self.kit.fill(client, [], properties={"text": {"type": "text"}})
        record = {"text": "Bees sleep.", "metadata": {"source": "bees.md", "author": "Ann"}}
        self.kit.put(client, index, {"a": record})
        fields = FieldMap(doc_id="source", root="metadata")
        collection = self.kit.collection(client, index, fields=fields)
        collection.write({"a": {"metadata.chunk_id": 3, "metadata.chunk_count": 9}})
        collection.write({})
        assert collection.ask(ByWindows((Window("bees.md", 3, 4),), frozenset({None}))).records[0].id == "a"
        (chunk,) = self.kit.store(client, index, fields=fields).fetch([Window("bees.md", 0, 9)])
        assert (chunk.key, chunk.metadata.chunk_count) == (("bees.md", 3), 9)
        assert chunk.metadata.custom_metadata["author"] == "Ann"

    def test_a_record_that_cannot_be_written_is_an_error(self, client: Any) -> None:
        index = self.kit.fill(client, contract_chunks(1, 1), make_id=colon_id)
        collection = self.kit.collection(client, index)
        with pytest.raises(StoreError, match=r"1 of 2 records were not written, the first of them 'nobody': .*missing"):
            collection.write({"nobody": {"chunk_id": 3}, "doc-0:0": {"chunk_count": 7}})
        (chunk,) = self.kit.store(client, index).fetch([Window("doc-0", 0, 1)])
        assert chunk.metadata.chunk_count == 7

    # ---- what frameworks wrote

    @pytest.mark.parametrize("framework", ["langchain", "llamaindex", "haystack"])
    def test_records_of_frameworks_are_read_and_found(self, client: Any, framework: str) -> None:
        written = RECORDS[self.kit.flavour][framework]
        index = f"retrivex-test-{framework}"
        self.kit.create(client, index, written["mapping"])
        self.kit.put(client, index, written["records"])
        store = self.kit.store(client, index, fields=framework)
        assert store.warnings == ()
        found = {chunk.key: chunk for chunk in store.fetch([Window("bees.md", 0, 9)])}
        assert sorted(found) == [("bees.md", n) for n in range(3)]
        assert found["bees.md", 1].text == "A hive has one queen."
        assert (found["bees.md", 1].metadata.char_start, found["bees.md", 1].metadata.char_end) == (32, 53)
        question = written["records"][next(iter(written["records"]))]
        vector = next(question[key] for key in ("vector", "vector_field", "embedding") if key in question)
        (hit,) = self.kit.retriever(client, index, lambda question: vector, fields=framework).retrieve("which?", k=1)
        assert hit.key in found

    def test_the_example_runs(self, server: SearchServer, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(f"{self.kit.flavour.upper()}_URL", server.url)
        printed = run_example(self.kit.example)
        assert printed.count("In spring she lays up to 2,000 eggs a day. Drones are driven out in autumn.") == 2
        assert "stand-in" not in printed
        assert (len(server.log) > 0, server.indices) == (True, {})

    def test_the_example_brings_a_server_where_there_is_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv(f"{self.kit.flavour.upper()}_URL", raising=False)
        printed = run_example(self.kit.example)
        assert printed.startswith(f"No {self.kit.flavour.upper()}_URL in the environment: a stand-in of the tests")
        assert printed.count("In spring she lays up to 2,000 eggs a day. Drones are driven out in autumn.") == 2

    @pytest.mark.parametrize("framework", ["langchain", "llamaindex"])
    def test_records_without_numbers_get_them(self, client: Any, framework: str) -> None:
        written = json.loads(json.dumps(RECORDS[self.kit.flavour][framework]))
        written["mapping"]["properties"]["metadata"]["properties"].pop("chunk_index")
        for record in written["records"].values():
            record["metadata"].pop("chunk_index")
        index = f"retrivex-test-{framework}"
        self.kit.create(client, index, written["mapping"])
        self.kit.put(client, index, written["records"])
        collection = self.kit.collection(client, index, fields=framework)
        done = backfill(collection, write=True, batch=2)
        assert (done.records, done.written) == (3, 3)
        store = self.kit.store(client, index, fields=framework)
        assert store.warnings == ()
        found = store.fetch([Window("bees.md", 1, 3)])
        assert sorted((*chunk.key, chunk.metadata.chunk_count) for chunk in found) == [
            ("bees.md", 1, 3),
            ("bees.md", 2, 3),
        ]
