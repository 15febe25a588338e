"""Documents of LangChain as a chunk store, and other chunk stores under the LangChain retriever."""

import random
import uuid
from typing import Any

import numpy as np
import pytest

from retrivex import Chunk, ChunkMetadata, RetrievalConfig

pytest.importorskip("langchain_core")

from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import MarkdownHeaderTextSplitter, RecursiveCharacterTextSplitter
from support.langchain_world import BEES, CONFIG, QUESTION, ROOMY, SMALL, Bags, Fixed, cut

from retrivex.adapters.base.logs import log_once
from retrivex.adapters.langchain import FieldMap, RetriVexRetriever, chunk_store_from_documents
from retrivex.errors import ChunkError, RetrivexError, StoreError
from retrivex.stores.memory import InMemoryChunkStore

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("kind", ["dict", "store", "documents"])
def test_every_kind_of_chunk_store(kind: str) -> None:
    chunks = [
        Chunk(d.page_content, ChunkMetadata("bees", n, custom_metadata={"title": "Bees"})) for n, d in enumerate(BEES)
    ]
    stores = {"dict": {c.key: c for c in chunks}, "store": InMemoryChunkStore(chunks), "documents": iter(BEES)}
    made = RetriVexRetriever(Fixed(documents=BEES[2:3]), CONFIG, chunk_store=stores[kind]).invoke("eggs")
    assert [document.metadata["chunk_ids"] for document in made] == [[1, 2, 3]]
    assert made[0].page_content == "A hive has one queen. She lays all eggs. Drones do not work."


def test_what_is_no_store_is_refused() -> None:
    for wrong in (7, "bees.db", [1, 2], ["bees"], InMemoryVectorStore(Bags()), InMemoryChunkStore):
        with pytest.raises(RetrivexError, match=r"^chunk_store is .*; give the split Documents .*, or VectorStoreC"):
            RetriVexRetriever(Fixed(documents=BEES), CONFIG, chunk_store=wrong)


def test_store_that_fails_costs_neighbours_only() -> None:
    class Broken:
        def fetch(self, windows: Any, scope: Any = None) -> Any:
            raise OSError("gone fishing")

    made = RetriVexRetriever(Fixed(documents=BEES[1:2]), CONFIG, chunk_store=Broken()).invoke("queen")
    assert made[0].page_content == "A hive has one queen."
    assert any("gone fishing" in warning for warning in made[0].metadata["warnings"])


def test_one_request_per_question() -> None:
    class Counting(InMemoryChunkStore):
        calls = 0

        def fetch(self, windows: Any, scope: Any = None) -> Any:
            Counting.calls += 1
            return super().fetch(windows, scope)

    chunks = [Chunk(d.page_content, ChunkMetadata("bees", n)) for n, d in enumerate(BEES)]
    RetriVexRetriever(Fixed(documents=BEES), CONFIG, chunk_store=Counting(chunks)).invoke("queen")
    assert Counting.calls == 1


def test_hits_without_numbers_are_found_in_the_store(pieces: list[Document], text: str) -> None:
    hits = [Document(piece.page_content, metadata={"source": "wiki.md"}) for piece in pieces[5:6]]
    made = RetriVexRetriever(Fixed(documents=hits), ROOMY, chunk_store=pieces).invoke(QUESTION)
    assert made[0].metadata["chunk_ids"] == [4, 5, 6]
    assert made[0].page_content in text


def test_repeated_texts_are_told_apart_by_their_metadata() -> None:
    texts = ["Yes.", "Who came?", "Yes.", "Who went?"]
    pieces = [Document(text, metadata={"source": "talk", "start_index": 10 * n}) for n, text in enumerate(texts)]
    made = RetriVexRetriever(Fixed(documents=pieces[2:3]), RetrievalConfig(window=0), chunk_store=pieces).invoke("?")
    assert made[0].metadata["hits"][0]["chunk_id"] == 2


def test_pieces_are_numbered_per_source_in_their_order() -> None:
    mixed = [Document(t, metadata={"source": s}) for s, t in [("a", "a0"), ("b", "b0"), ("a", "a1"), ("b", "b1")]]
    store = chunk_store_from_documents(mixed)
    assert {key: chunk.text for key, chunk in store.items()} == {
        ("a", 0): "a0", ("a", 1): "a1", ("b", 0): "b0", ("b", 1): "b1",
    }  # fmt: skip
    assert store["a", 0].metadata.chunk_count == 2


def test_offsets_that_start_again_at_every_page_are_not_used() -> None:
    pages = [("One. ", 1, 0), ("Two. ", 1, 5), ("Three. ", 2, 0), ("Four.", 2, 7)]
    pieces = [Document(t, metadata={"source": "a.pdf", "page": p, "start_index": s}) for t, p, s in pages]
    made = RetriVexRetriever(Fixed(documents=pieces[1:2]), CONFIG, chunk_store=pieces).invoke("two")
    assert [made[0].metadata[key] for key in ("chunk_ids", "pages", "exact")] == [[0, 1, 2], [1, 2], False]
    assert " ".join(made[0].page_content.split()) == "One. Two. Three."


def test_headings_of_the_markdown_splitter_guard() -> None:
    guide = "# Bees\nThey hum.\n# Cars\nEngines burn petrol.\n"
    pieces = MarkdownHeaderTextSplitter([("#", "Header 1")]).split_text(guide)
    for piece in pieces:
        piece.metadata["source"] = "guide.md"
    made = RetriVexRetriever(Fixed(documents=pieces[:1]), CONFIG, chunk_store=pieces).invoke("hum")
    assert made[0].page_content == "They hum."
    assert made[0].metadata["heading_path"] == ["Bees"]


GUIDE = """# Kettle

## Warranty

The warranty covers parts and labour. It lasts five years from the day of sale.

## Care

Descale it every month.

Rinse it twice, and boil it once with clear water."""


def test_pieces_of_a_splitter_that_keeps_no_source_are_one_document_with_one_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log_once.cache_clear()
    markdown = MarkdownHeaderTextSplitter([("#", "Header 1"), ("##", "Header 2")]).split_text(GUIDE)
    pieces = RecursiveCharacterTextSplitter(chunk_size=60, chunk_overlap=0).split_documents(markdown)
    base = InMemoryVectorStore.from_documents(pieces, Bags()).as_retriever()
    retriever = RetriVexRetriever(base, ROOMY, chunk_store=pieces, fetch_k=1)
    (found,) = retriever.invoke("How long is the warranty?")
    assert found.page_content == "The warranty covers parts and labour. It lasts five years from the day of sale."
    assert found.metadata["heading_path"] == ["Kettle", "Warranty"]  # at whose end the passage ends
    assert not {"doc_id", "source"} & found.metadata.keys()
    (warning,) = found.metadata["warnings"]
    assert warning.startswith("none of 4 pieces names its document, under doc_id, document_id, source, file_path: all")
    assert caplog.messages == [warning]


def test_texts_alone_are_one_document() -> None:
    pieces = RecursiveCharacterTextSplitter(chunk_size=40, chunk_overlap=0).create_documents([SMALL])
    (found,) = RetriVexRetriever(Fixed(documents=pieces[7:8]), ROOMY, chunk_store=pieces).invoke("bees")
    assert pieces[7].page_content in found.page_content
    assert found.page_content in SMALL


@pytest.mark.parametrize("name", [uuid.UUID(int=7), 7.5, ["bees.md"]])
def test_names_that_are_neither_text_nor_numbers_are_told_of(name: Any) -> None:
    foreign = Document("Owls hunt.", metadata={"source": name, "chunk_id": 3})
    told = f"source is of the type {type(name).__name__}: a document's name must be text that is not empty, or a whole"
    with pytest.raises(ChunkError, match=f"^'Owls hunt.' names no document: {told}"):
        chunk_store_from_documents([foreign])
    made = RetriVexRetriever(Fixed(documents=[foreign]), CONFIG, chunk_store=BEES).invoke("owls")
    (warning,) = made[0].metadata["warnings"]
    assert warning.startswith(f"1 of 1 hits stay as they are: {told}")


def test_a_store_needs_names_and_whole_numbering() -> None:
    with pytest.raises(ChunkError, match=r"names no document.*FieldMap"):
        chunk_store_from_documents([Document("Bees sleep."), *BEES])
    with pytest.raises(ChunkError, match="nothing under doc_id, document_id, source, file_path"):
        chunk_store_from_documents([*BEES, Document("Bees sleep.", metadata={"source": None})])
    with pytest.raises(ChunkError, match="1 of 2 pieces of 'bees' have a chunk number"):
        chunk_store_from_documents([BEES[0], Document("More.", metadata={"doc_id": "bees"})])
    with pytest.raises(StoreError, match="not the text"):
        chunk_store_from_documents([BEES[0], *cut("bees", "Other words.")])


def test_own_field_names() -> None:
    fields = FieldMap(doc_id="file", chunk_id=("part",), scope=())
    pieces = [
        Document(d.page_content, metadata={"file": "b", "part": str(n), "scope": "x"}) for n, d in enumerate(BEES)
    ]
    made = RetriVexRetriever(Fixed(documents=pieces[2:3]), CONFIG, chunk_store=pieces, fields=fields).invoke("eggs")
    assert made[0].metadata["chunk_ids"] == [1, 2, 3]
    assert "part" not in made[0].metadata


def test_numbers_that_became_floats_or_text_count() -> None:
    for number in (2.0, "2", np.int64(2)):
        hit = Document("She lays all eggs.", metadata={"doc_id": "bees", "chunk_index": number})
        made = RetriVexRetriever(Fixed(documents=[hit]), CONFIG, chunk_store=BEES).invoke("eggs")
        assert made[0].metadata["chunk_ids"] == [1, 2, 3]


# ---- pieces that are not in the order of the text


def _pieces(*, add_start_index: bool) -> tuple[str, list[Document]]:
    text = " ".join(f"Sentence {n} of the essay says that {n * 7919 % 1000} bees left hive {n}." for n in range(120))
    splitter = RecursiveCharacterTextSplitter(chunk_size=300, chunk_overlap=90, add_start_index=add_start_index)
    return text, splitter.split_documents([Document(text, metadata={"source": "bees.txt"})])


def test_pieces_between_those_of_other_documents_without_overlaps_are_warned_of() -> None:
    pieces = [
        Document(f"Hive {n} holds {n * 7919 % 1000} bees.", metadata={"source": f"garden{doc}.md"})
        for doc in range(8)
        for n in range(12)
    ]
    assert chunk_store_from_documents(pieces).warnings == ()
    shuffled = random.Random(7).sample(pieces, len(pieces))
    (warning,) = chunk_store_from_documents(shuffled).warnings
    assert warning.startswith("pieces of 8 of 8 documents")
    assert "stand between those of others and have no numbers: they are joined as given" in warning
    assert warning.endswith("give them in order, or with a chunk_id or start_index in their metadata")
    numbered = [Document(p.page_content, metadata={**p.metadata, "chunk_id": n}) for n, p in enumerate(pieces)]
    assert chunk_store_from_documents(random.Random(7).sample(numbered, len(numbered))).warnings == ()


def test_pieces_in_order_are_joined_without_a_word() -> None:
    _, pieces = _pieces(add_start_index=False)
    store = chunk_store_from_documents(pieces)
    assert store.warnings == ()
    assert [store["bees.txt", n].text for n in range(len(pieces))] == [piece.page_content for piece in pieces]


def test_pieces_with_offsets_are_put_in_order() -> None:
    _, pieces = _pieces(add_start_index=True)
    shuffled = random.Random(7).sample(pieces, len(pieces))
    store = chunk_store_from_documents(shuffled)
    assert store.warnings == ()
    assert [store["bees.txt", n].text for n in range(len(pieces))] == [piece.page_content for piece in pieces]
    assert all(chunk.metadata.char_start is not None for chunk in store.values())


def test_a_refrain_is_no_wrong_order() -> None:
    verses = [f"Verse {n} is about bee number {n}, and so on. Sing with us of honey and of hives!" for n in range(30)]
    refrain = "Sing with us of honey and of hives! And now verse 31 follows."
    store = chunk_store_from_documents([Document(v, metadata={"source": "song"}) for v in [*verses, refrain]])
    assert store.warnings == ()


def test_separators_that_a_splitter_keeps_do_not_begin_a_passage() -> None:
    text = "# Bees\n\nBees live in hives.\n\n## Queens\n\nA hive has one queen.\n\n## Drones\n\nThey rest."
    splitter = RecursiveCharacterTextSplitter(
        chunk_size=30, chunk_overlap=0, add_start_index=True, strip_whitespace=False
    )
    pieces = splitter.create_documents([text], [{"source": "bees.md"}])
    assert any(piece.page_content.startswith("\n") for piece in pieces)
    for piece in pieces:
        for store in (None, pieces):
            for made in RetriVexRetriever(Fixed(documents=[piece]), CONFIG, chunk_store=store).invoke(QUESTION):
                assert not made.page_content.startswith("\n")
                assert text[made.metadata["char_start"] : made.metadata["char_end"]] == made.page_content
                assert made.metadata["exact"]
