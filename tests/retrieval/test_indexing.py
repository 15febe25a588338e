from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from retrivex import Chunk, ChunkMetadata, Document, Window
from retrivex.chunking import SentenceChunker, get_chunker
from retrivex.encoders.encoder import HashingEncoder
from retrivex.errors import ChunkError, RetrivexError, StoreError
from retrivex.retrieval.indexing import CHUNKER_KEY, Indexer, cut_document
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


def test_documents_that_move_to_another_scope_are_counted(store: SQLiteStore, folder: Path) -> None:
    assert not indexer(store).index([folder], scope="acme").moved
    (folder / "b.txt").write_text("Another text. In two sentences.")
    report = indexer(store).index([folder], scope="other")
    assert (report.updated, report.moved) == (3, {("acme", "other"): 3})
    assert {info.scope for info in store.documents()} == {"other"}
    assert indexer(store).index([folder / "b.txt"]).moved == {("other", None): 1}
    assert not indexer(store).index([folder / "b.txt"]).moved
    # lines may name their own
    lines = folder / "lines.jsonl"
    for scopes, moved in [("xy", {}), ("xz", {("y", "z"): 1}), ("zx", {("x", "z"): 1, ("z", "x"): 1})]:
        said = [{"id": str(at), "text": f"Line {at}.", "scope": scope} for at, scope in enumerate(scopes)]
        lines.write_text("".join(json.dumps(line) + "\n" for line in said))
        assert indexer(store).index([lines]).moved == moved


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


def test_a_line_that_names_another_scope_than_the_run_is_a_problem(store: SQLiteStore, tmp_path: Path) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"id": "x", "text": "One."}\n{"id": "y", "text": "Two.", "scope": "own"}\n')
    report = indexer(store).index([lines], scope="acme")
    assert {info.doc_id: info.scope for info in store.documents()} == {"x": "acme"}
    assert "'y' names scope 'own', the file is indexed for 'acme'" in report.problems[0].reason
    indexer(store).index([lines])
    assert {info.doc_id: info.scope for info in store.documents()} == {"x": None, "y": "own"}


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    made = tmp_path / "acme" / "readme.txt"
    made.parent.mkdir()
    made.write_text("The vault code is 4711.")
    return made


def write_line(path: Path, **record: object) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"doc_id": "readme.txt", "text": "The vault code is 0000.", **record}))
    return path


@pytest.mark.parametrize("scope", [None, "globex", "acme"])
def test_a_line_cannot_name_the_source_of_another_document(store: SQLiteStore, secret: Path, scope: str | None) -> None:
    indexer(store).index([secret.parent], scope="acme")
    said = {} if scope is None else {"scope": scope}
    lines = write_line(secret.parent.parent / "globex" / "x.jsonl", source=str(secret), **said)
    for given in (None, "globex"):
        report = indexer(store).index([lines.parent], scope=given)
        assert (report.documents, len(report.problems), report.removed) == (0, 1, [])
    kept = store.get_document("readme.txt", "acme")
    assert kept is not None
    assert kept.text == "The vault code is 4711."


def test_the_source_that_a_line_names_is_kept_as_metadata(store: SQLiteStore, tmp_path: Path) -> None:
    lines = write_line(tmp_path / "x.jsonl", source="https://example.org/readme")
    indexer(store).index([lines])
    document = store.get_document("readme.txt")
    assert document is not None
    assert (document.source, document.metadata["source"]) == (str(lines), "https://example.org/readme")
    write_line(lines, doc_id="other")
    assert indexer(store).index([lines]).removed == ["readme.txt"]


def test_a_line_cannot_take_the_name_of_a_file_beside_it(store: SQLiteStore, secret: Path) -> None:
    write_line(secret.parent / "a.jsonl")
    report = indexer(store).index([secret.parent])
    assert [Path(problem.path).name for problem in report.problems] == ["a.jsonl"]
    document = store.get_document("readme.txt")
    assert document is not None
    assert document.text == "The vault code is 4711."


def test_a_document_of_another_scope_is_not_replaced(store: SQLiteStore, tmp_path: Path) -> None:
    kept = Document("readme.txt", "The vault code is 4711.", scope="acme")
    chunk = Chunk(kept.text, ChunkMetadata("readme.txt", 0, scope="acme"))
    store.put(kept, [chunk])  # by a program: it has no file
    report = indexer(store).index([write_line(tmp_path / "x.jsonl")])
    assert "belongs to a document of another scope" in report.problems[0].reason
    assert store.fetch([Window("readme.txt", 0, 9)], "acme") == [chunk]


def test_a_document_the_store_refuses_is_a_problem_of_its_own(store: SQLiteStore, tmp_path: Path) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"id": "nul\\u0000", "text": "One."}\n{"id": "y", "text": "Two."}\n')
    report = indexer(store).index([lines])
    assert report.added == 1
    assert "NUL" in report.problems[0].reason


@pytest.mark.parametrize(
    "text",
    [
        "# " + "a " * 3_000 + "\n" + "## b\n" * 200,
        "|" + "a " * 3_000 + "|\n|-|\n" + "|x|\n" * 3_000,
        "---\na: " + "b " * 3_000 + "\n---\n" + "# a\n" * 200,
    ],
    ids=["headings", "head of a table", "metadata"],
)
@pytest.mark.parametrize("chunker", ["auto", "parent-child"])
def test_a_small_file_whose_chunks_repeat_its_long_parts_is_refused(
    store: SQLiteStore, tmp_path: Path, text: str, chunker: str
) -> None:
    (tmp_path / "long.md").write_text(text)
    (tmp_path / "sound.md").write_text("# Bees\n\nThey sleep.")
    tokenizer = EstimateTokenizer()
    cutter = get_chunker(chunker, size=20, tokenizer=tokenizer)
    report = Indexer(store, cutter, tokenizer).index([tmp_path / "long.md", tmp_path / "sound.md"])
    assert report.added == 1
    assert [Path(problem.path).name for problem in report.problems] == ["long.md"]
    assert "characters of headings, heads of tables and metadata: the limit" in report.problems[0].reason
    assert [info.doc_id for info in store.documents()] == ["sound.md"]


def test_documents_may_carry_much_metadata_or_long_headings(store: SQLiteStore, tmp_path: Path) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text(json.dumps({"id": "x", "text": "One. " * 20, "metadata": {"raw": "a" * 300_000}}))
    (tmp_path / "a.md").write_text("# " + "a " * 250 + "\n\n" + "## b\n\nBees sleep.\n\n" * 200)
    report = indexer(store).index([lines, tmp_path / "a.md"])
    assert (report.added, report.problems) == (2, [])


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


class _Mute:
    def __str__(self) -> str:
        raise RuntimeError("nothing to say")

    __repr__ = __str__


def _nested(depth: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for _ in range(depth):
        made = {"a": made}
    return made


_ITSELF: dict[str, Any] = {}
_ITSELF["a"] = _ITSELF


@pytest.mark.parametrize(
    "metadata",
    [{(1, 2): 3}, {b"a": 1}, {"a": 10**5000}, {"a": _Mute()}, _nested(5000), _ITSELF],
    ids=["tuple", "bytes", "digits", "mute", "nested", "itself"],
)
def test_metadata_that_are_not_json_are_one_clear_error(store: SQLiteStore, metadata: dict[Any, Any]) -> None:
    document = Document("d", "Bees sleep.", metadata=metadata)
    with pytest.raises(RetrivexError, match=r"metadata .*; keep strings, numbers, lists and dicts"):
        indexer(store).add(document)
    with pytest.raises(RetrivexError, match=r"metadata .*; keep strings, numbers, lists and dicts"):
        store.put(document, [])
    with pytest.raises(ChunkError, match=r"metadata .* of 'd' is not JSON"):
        cut_document(document, SentenceChunker(1, 0), EstimateTokenizer())
    indexer(store).add(Document("d", "Bees sleep."))
    assert store.info().documents == 1
