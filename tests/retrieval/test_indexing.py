from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from retrivex import Document, Window
from retrivex.chunking import SentenceChunker, get_chunker
from retrivex.encoders.encoder import HashingEncoder
from retrivex.errors import StoreError
from retrivex.retrieval.indexing import CHUNKER_KEY, Indexer
from retrivex.stores import SQLiteStore
from retrivex.tokens.tokenizer import EstimateTokenizer


class CountingChunker(SentenceChunker):
    """A chunker that keeps count of what it was given."""

    cut = 0

    def chunk(self, document: Document) -> list:  # type: ignore[type-arg]
        self.cut += 1
        return super().chunk(document)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    with SQLiteStore(tmp_path / "store.db") as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "docs"
    (made / "sub").mkdir(parents=True)
    for name in ("a.txt", "b.txt", "sub/c.txt"):
        (made / name).write_text(f"This is {name}. It has two sentences.")
    return made


def indexer(store: SQLiteStore, **more: object) -> Indexer:
    return Indexer(store, CountingChunker(1, 0), EstimateTokenizer(), **more)  # type: ignore[arg-type]


def test_unchanged_documents_are_skipped_before_they_are_cut(store: SQLiteStore, folder: Path) -> None:
    first = indexer(store)
    assert first.index([folder]).added == 3
    again = indexer(store)
    assert again.index([folder]).unchanged == 3
    assert (first.chunker.cut, again.chunker.cut) == (3, 0)  # type: ignore[attr-defined]


def test_another_chunker_encoder_or_tokenizer_cuts_again(store: SQLiteStore, folder: Path) -> None:
    indexer(store).index([folder])
    other = Indexer(store, SentenceChunker(2, 0), EstimateTokenizer())
    assert other.index([folder]).updated == 3
    assert Indexer(store, SentenceChunker(2, 0), EstimateTokenizer(), HashingEncoder(8)).index([folder]).updated == 3


def test_counts_vectors_and_chunker_are_stored(store: SQLiteStore, folder: Path) -> None:
    report = indexer(store, encoder=HashingEncoder(8)).index([folder])
    found = store.fetch_counted([Window("a.txt", 0, 9)], tokenizer="estimate")
    assert [chunk.text for chunk, _ in found] == ["This is a.txt. ", "It has two sentences."]
    assert [stored.tokens for _, stored in found if stored] == EstimateTokenizer().count_many(
        [c.text for c, _ in found]
    )
    assert (report.chunks, store.info().vectors, store.vector_model) == (6, 6, "hashing-8")
    document = store.get_document("a.txt")
    assert document is not None
    assert document.metadata == {CHUNKER_KEY: "sentence(size=1, overlap=0, language=en)"}
    assert found[0][0].metadata.custom_metadata == {}


def test_only_what_lies_under_the_given_paths_is_removed(store: SQLiteStore, folder: Path) -> None:
    indexer(store).index([folder])
    (folder / "a.txt").unlink()
    (folder / "sub" / "c.txt").unlink()
    assert indexer(store).index([folder / "sub"]).removed == ["sub/c.txt"]
    assert indexer(store).index([folder]).removed == ["a.txt"]


def test_a_root_that_is_gone_removes_nothing(store: SQLiteStore, folder: Path) -> None:
    indexer(store).index([folder])
    folder.rename(folder.with_name("elsewhere"))
    report = indexer(store).index([folder])
    assert report.removed == []
    assert len(report.problems) == 1
    assert store.info().documents == 3


def test_lines_that_left_a_jsonl_file_leave_the_store(store: SQLiteStore, tmp_path: Path) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"id": "x", "text": "One."}\n{"id": "y", "text": "Two."}\n')
    indexer(store).index([lines])
    lines.write_text('{"id": "x", "text": "One."}\n')
    assert indexer(store).index([lines]).removed == ["y"]
    # a line that cannot be read may be the one that is missing
    lines.write_text('{"id": "z", "text": "Three."}\n{"id": "x"')
    assert indexer(store).index([lines]).removed == []


def test_the_scope_is_for_documents_that_name_none(store: SQLiteStore, tmp_path: Path) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"id": "x", "text": "One."}\n{"id": "y", "text": "Two.", "scope": "own"}\n')
    indexer(store).index([lines], scope="acme")
    assert {info.doc_id: info.scope for info in store.documents()} == {"x": "acme", "y": "own"}


def test_a_document_the_store_refuses_is_a_problem_of_its_own(store: SQLiteStore, tmp_path: Path) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"id": "nul\\u0000", "text": "One."}\n{"id": "y", "text": "Two."}\n')
    report = indexer(store).index([lines])
    assert report.added == 1
    assert "NUL" in report.problems[0].reason


def test_a_store_that_cannot_be_written_stops_the_run(
    store: SQLiteStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def put(*args: object, **kwargs: object) -> None:
        raise StoreError("the disk is full") from sqlite3.OperationalError("full")

    monkeypatch.setattr(SQLiteStore, "put", put)
    with pytest.raises(StoreError, match="disk is full"):
        indexer(store).index([folder])


def test_progress_names_the_file_and_counts_bytes_from_none_to_all(store: SQLiteStore, folder: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    indexer(store).index([folder], on_progress=lambda *args: seen.append(args))
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    sizes = [file.stat().st_size for file in files]
    starts = [(str(file), sum(sizes[:number]), sum(sizes)) for number, file in enumerate(files)]
    assert seen == [*starts, ("", sum(sizes), sum(sizes))]


def test_progress_goes_on_while_a_file_is_encoded(store: SQLiteStore, tmp_path: Path) -> None:
    page = tmp_path / "long.txt"
    page.write_text("Bees sleep at night. " * 400)
    seen: list[int] = []
    made = indexer(store, encoder=HashingEncoder(8))
    made.index([page], on_progress=lambda _, done, total: seen.append(done))
    assert len(seen) > 4
    assert seen == sorted(seen)
    assert seen[-1] == page.stat().st_size


def test_the_progress_of_many_documents_in_a_file_stays_within_it(store: SQLiteStore, tmp_path: Path) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text("".join(json.dumps({"id": str(n), "text": "Bees sleep. " * 9}) + "\n" for n in range(5)))
    seen: list[int] = []
    indexer(store, encoder=HashingEncoder(8)).index([lines], on_progress=lambda _, done, total: seen.append(done))
    assert len(set(seen)) == 6
    assert seen == sorted(seen)
    assert seen[-1] == lines.stat().st_size


def test_the_rows_of_a_cut_table_are_encoded_with_its_header(store: SQLiteStore, tmp_path: Path) -> None:
    class Recorder(HashingEncoder):
        texts: list[str]

        def encode(self, texts: Sequence[str]):  # type: ignore[no-untyped-def]
            self.texts = list(texts)
            return super().encode(texts)

    page = tmp_path / "table.md"
    rows = "\n".join(f"| row {i} | value {i} |" for i in range(40))
    page.write_text(f"| name | value |\n|---|---|\n{rows}\n")
    encoder = Recorder(8)
    Indexer(store, get_chunker("markdown", size=60), EstimateTokenizer(), encoder).index([page])
    assert len(encoder.texts) > 1
    assert all(text.startswith("| name | value |") for text in encoder.texts)
