"""Pages: no chunk reaches across one, so that what a chunk says stands on the page that it names."""

from pathlib import Path

import pytest
from fpdf import FPDF

from retrivex.chunking import MarkdownChunker, SentenceChunker, TokenChunker, get_chunker
from retrivex.encoders.encoder import HashingEncoder
from retrivex.model.document import Document
from retrivex.retrieval.indexing import Indexer
from retrivex.stores import SQLiteStore
from retrivex.tokens.tokenizer import EstimateTokenizer


def words(text: str) -> int:
    return len(text.split())


PAGES = ["Bees sleep at night. They wake early", "and fly out. Ants do not sleep.\n\n", "They work."]
STARTS = (0, len(PAGES[0]), len(PAGES[0] + PAGES[1]))
DOCUMENT = Document("d", "".join(PAGES), page_starts=STARTS)


def test_short_pages_are_chunks_of_their_own() -> None:
    chunks = TokenChunker(100, tokenizer=words).chunk(DOCUMENT)
    assert [(chunk.text, chunk.metadata.page) for chunk in chunks] == list(zip(PAGES, (1, 2, 3), strict=True))


def test_overlap_begins_anew_on_every_page() -> None:
    chunks = SentenceChunker(2, 1).chunk(DOCUMENT)
    assert [(chunk.text, chunk.metadata.page) for chunk in chunks] == list(zip(PAGES, (1, 2, 3), strict=True))


TABLE = "| a | b |\n|---|---|\n" + "".join(f"| {n} | x |\n" for n in range(6))


@pytest.mark.parametrize("name", ["markdown", "adaptive", "parent-child"])
@pytest.mark.parametrize(("at", "head"), [("| 0", True), ("| 3", True), ("0 |", True), ("|---|---|\n", False)])
def test_a_table_goes_on_with_its_header_on_the_next_page(name: str, at: str, head: bool) -> None:
    document = Document("d", TABLE, format="markdown", page_starts=(0, TABLE.index(at)))
    first, second = get_chunker(name, size=100, tokenizer=words).chunk(document)
    assert first.text + second.text == TABLE.rstrip()
    assert (first.metadata.prefix, second.metadata.prefix) == (None, TABLE[:20] if head else None)


def test_headings_of_the_page_before_still_stand_above() -> None:
    text = "# Bees\n\nThey sleep. They wake.\n\n## Food\n\nNectar."
    document = Document("d", text, format="markdown", page_starts=(0, text.index("They wake")))
    chunks = MarkdownChunker(100, tokenizer=words).chunk(document)
    assert [(chunk.metadata.page, chunk.metadata.heading_path) for chunk in chunks] == [
        (1, ("Bees",)),
        (2, ("Bees",)),
        (2, ("Bees", "Food")),
    ]


@pytest.mark.parametrize("name", ["auto", "sentence", "adaptive", "parent-child"])
def test_a_page_of_a_pdf_is_found_by_its_number(name: str, tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    pdf = FPDF()
    pdf.set_font("Helvetica", size=12)
    for subject in ("Bees", "Wasps", "Ants"):
        pdf.add_page()
        pdf.multi_cell(0, text=f"{subject} are insects. {subject} live together in large numbers. " * 3)
    (tmp_path / "insects.pdf").write_bytes(bytes(pdf.output()))
    with SQLiteStore(tmp_path / "store.db") as store:
        Indexer(store, get_chunker(name), EstimateTokenizer(), HashingEncoder(64)).index([tmp_path / "insects.pdf"])
        hits = store.search_text("insects", 9, where={"page": 2})
    assert hits
    assert all("Wasps" in hit.chunk.text and "Ants" not in hit.chunk.text for hit in hits)
