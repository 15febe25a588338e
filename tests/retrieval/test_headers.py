"""Headers: chunks are found by them, and their texts and offsets stay what they are."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex import Chunk, ChunkMetadata, Document, SeedHit, SpanComposer
from retrivex.chunking import get_chunker
from retrivex.encoders.encoder import HashingEncoder
from retrivex.errors import ChunkError
from retrivex.model.asking import ModelReply, ModelRequest, Usage
from retrivex.retrieval.headers import Headers, ModelHeaders, TemplateHeaders, indexed_text, put_headers
from retrivex.retrieval.indexing import Indexer
from retrivex.retrieval.local import LocalRetriever
from retrivex.stores import SQLiteStore
from retrivex.tokens.tokenizer import EstimateTokenizer

PAGE = "# Bees\n\n## Night\n\nThey hold each other's feet.\n\n## Winter\n\nThey form a cluster.\n"


class Writer:
    """A model that answers from a list, or with the first words of the passage, and keeps what it was asked."""

    def __init__(self, *replies: ModelReply) -> None:
        self.asked: list[ModelRequest] = []
        self._replies = list(replies)

    def ask(self, requests: Sequence[ModelRequest]) -> list[ModelReply]:
        self.asked += requests
        return [
            self._replies.pop(0) if self._replies else ModelReply(f"On\napiaries: {self.passage(request)[:12]}")
            for request in requests
        ]

    @property
    def usage(self) -> Usage:
        return Usage(sent=len(self.asked))

    def passage(self, request: ModelRequest) -> str:
        return str(json.loads(request.prompt)["passage"])


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    with SQLiteStore(tmp_path / "store.db") as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "docs"
    made.mkdir()
    (made / "bees.md").write_text(PAGE)
    return made


def indexer(store: SQLiteStore, headers: Headers | None, **more: Any) -> Indexer:
    return Indexer(store, get_chunker("markdown"), EstimateTokenizer(), headers=headers, **more)


def chunks_of(store: SQLiteStore) -> list[Chunk]:
    return [hit.chunk for hit in LocalRetriever(store).retrieve("they feet cluster bees", k=9)]


def test_a_chunk_is_found_by_its_header_and_its_text_stays(store: SQLiteStore, folder: Path) -> None:
    indexer(store, None).index([folder])
    assert not store.search_text("apiaries", 5)
    before = {chunk.key: chunk for chunk in chunks_of(store)}
    assert indexer(store, ModelHeaders(Writer(), "m")).index([folder]).updated == 1
    assert len(store.search_text("apiaries", 5)) == len(before)
    after = {chunk.key: chunk for chunk in chunks_of(store)}
    for key, chunk in after.items():
        header = chunk.metadata.custom_metadata["chunk_header"]
        assert header == f"On apiaries: {' '.join(chunk.text[:12].split())}"
        assert chunk.text == before[key].text == PAGE[chunk.metadata.char_start : chunk.metadata.char_end]
        assert chunk.metadata.char_start == before[key].metadata.char_start


def test_headers_are_embedded_with_their_chunks(store: SQLiteStore, folder: Path) -> None:
    encoder = HashingEncoder()
    indexer(store, TemplateHeaders("About {path}"), encoder=encoder).index([folder])
    (hit,) = LocalRetriever(store, encoder).retrieve("feet", k=1)
    expected = encoder.encode([f"About Bees > Night\n{hit.chunk.text}"])[0]
    assert hit.chunk.embedding is not None
    assert list(hit.chunk.embedding) == pytest.approx(expected / (expected @ expected) ** 0.5, abs=1e-6)


def test_other_headers_index_anew_and_the_same_do_not(store: SQLiteStore, folder: Path) -> None:
    assert indexer(store, None).index([folder]).added == 1
    assert indexer(store, TemplateHeaders()).index([folder]).updated == 1
    assert indexer(store, TemplateHeaders()).index([folder]).unchanged == 1
    assert indexer(store, TemplateHeaders("{title}")).index([folder]).updated == 1
    assert indexer(store, None).index([folder]).updated == 1
    assert "chunk_header" not in chunks_of(store)[0].metadata.custom_metadata


def test_a_header_is_shown_where_it_is_wanted_and_counted() -> None:
    document = Document("bees.md", PAGE, format="markdown", title="Bees")
    chunks = put_headers(document, get_chunker("markdown").chunk(document), TemplateHeaders("From {path}"))
    hits, store = [SeedHit(chunks[0], 1.0)], {chunk.key: chunk for chunk in chunks}
    composer = SpanComposer()
    plain = composer.compose(hits, store, query="feet")
    shown = composer.compose(hits, store, query="feet", span_header="chunk")
    assert "From Bees" not in plain.text
    assert shown.text.startswith("[1] From Bees")
    assert shown.tokens > plain.tokens
    for citation in shown.citations:
        assert shown.text[citation.start : citation.end] == PAGE[citation.char_start : citation.char_end]


def test_an_unchanged_chunk_is_never_paid_for_twice(store: SQLiteStore, folder: Path, tmp_path: Path) -> None:
    first, second = Writer(), Writer()
    for writer, text in ((first, PAGE), (second, PAGE.replace("a cluster", "one warm cluster"))):
        (folder / "bees.md").write_text(text)
        headers = ModelHeaders(writer, "m", cache=tmp_path / "headers.db")
        indexer(store, headers).index([folder])
        headers.close()
    assert len(first.asked) > 1
    assert [second.passage(request) for request in second.asked] == ["## Winter\n\nThey form one warm cluster."]


def test_a_chunk_without_a_header_is_a_problem_of_its_document_alone(
    store: SQLiteStore, folder: Path, tmp_path: Path
) -> None:
    (folder / "wasps.txt").write_text("Wasps do not survive the winter.")
    writer = Writer(ModelReply("On sleep."), ModelReply(None, "not asked: the spend cap of 9 tokens is reached"))
    report = indexer(store, ModelHeaders(writer, "m", cache=tmp_path / "headers.db")).index([folder])
    assert [Path(problem.path).name for problem in report.problems] == ["bees.md"]
    assert "1 of its 2 chunks got no header: not asked: the spend cap" in report.problems[0].reason
    assert report.added == 1
    again = Writer()
    report = indexer(store, ModelHeaders(again, "m", cache=tmp_path / "headers.db")).index([folder])
    assert (report.added, report.unchanged, len(again.asked)) == (1, 1, 1)


def test_the_model_reads_what_stands_around_a_chunk() -> None:
    text = "".join(f"Sentence number {n:04}. " for n in range(1000))
    document = Document("d", text, title="Numbers")
    chunk = Chunk(text[10_000:10_100], ChunkMetadata("d", 0, 10_000, 10_100))
    for at in (chunk, replace_at(chunk, text, 0), replace_at(chunk, text, len(text) - 100)):
        writer = Writer()
        ModelHeaders(writer, "m", around=600).write(document, [at])
        asked = json.loads(writer.asked[0].prompt)
        assert asked["passage"] in asked["document"]
        assert (len(asked["document"]), asked["title"]) == (700, "Numbers")


def replace_at(chunk: Chunk, text: str, start: int) -> Chunk:
    return Chunk(text[start : start + 100], replace(chunk.metadata, char_start=start, char_end=start + 100))


@given(st.text(max_size=3000), st.one_of(st.none(), st.text(max_size=9)))
def test_a_header_is_one_line_of_some_length_in_front_of_what_is_indexed(line: str, prefix: str | None) -> None:
    class Given:
        name = "given"

        def write(self, document: Document, chunks: Sequence[Chunk]) -> list[str]:
            return [line]

    chunk = Chunk("Bees sleep.", ChunkMetadata("d", 0, prefix=prefix, custom_metadata={"own": 1}))
    (made,) = put_headers(Document("d", "Bees sleep."), [chunk], Given())
    header = made.metadata.custom_metadata.get("chunk_header", "")
    assert header == " ".join(line.split())[:1000]
    assert indexed_text(made) == (f"{header}\n" if header else "") + (prefix or "") + chunk.text
    assert (made.text, made.metadata.prefix, made.metadata.custom_metadata["own"]) == (chunk.text, prefix, 1)


@pytest.mark.parametrize("template", ["", "no field", "{author}", "{title.__class__}", "{}", "{title"])
def test_a_template_that_cannot_be_filled_is_refused(template: str) -> None:
    with pytest.raises(ChunkError, match="template"):
        TemplateHeaders(template)
