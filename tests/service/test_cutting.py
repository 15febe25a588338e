"""Uploads are read and cut in a process of its own, within limits, and come back as they are cut here."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.service_world import make_engine, make_index

from retrivex.chunking import get_chunker
from retrivex.errors import LoadError
from retrivex.loading import LoadLimits, sandbox
from retrivex.model.window import Window
from retrivex.retrieval.indexing import Indexer
from retrivex.service import cutting
from retrivex.service.bounds import Bounds
from retrivex.service.cutting import Cut, read_and_cut
from retrivex.service.errors import LimitError
from retrivex.stores import SQLiteStore
from retrivex.tokens.tokenizer import get_tokenizer

TOKENIZER = get_tokenizer("estimate")
TABLE = "| a | b |\n|---|---|\n" + "| é | \U0001f41d |\n" * 600
MARKDOWN = f"---\ntitle: Bees\n---\n# Bees\n\nThey sleep.\n\n## Food\n\n{TABLE}"
LINES = [
    {"doc_id": "a", "text": "# Ants\n\nThey march. " * 600, "format": "markdown", "metadata": {"year": [1, None, "é"]}},
    {"id": "b", "text": "Wasps sting.", "title": "Wasps", "timestamp": 1.5, "page_starts": [0, 6]},
]
FILES = {
    "bees.md": MARKDOWN.encode(),
    "bees.txt": ("Bees sleep at night. They dance. \n\n" * 400).encode("utf-16"),
    "bees.csv": b"name,age\n" + b"Ada,36\n" * 2_000,
    "bees.jsonl": b"".join(json.dumps(line).encode() + b"\n" for line in LINES),
    "bees.html": b"<title>Bees</title><h1>Sleep</h1><p>At night.</p>",
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the files that went to the other process."""
    names = []

    def ask(program: str, job: dict[str, Any], raw: bytes, limits: LoadLimits) -> dict[str, Any]:
        names.append(job["name"])
        return sandbox.ask_worker(program, job, raw, limits)

    monkeypatch.setattr(cutting, "ask_worker", ask)
    return names


def cut(raw: bytes, name: str, **bounds: Any) -> list[Cut]:
    return read_and_cut(raw, name, TOKENIZER, "estimate", Bounds(**bounds))


@pytest.mark.parametrize("name", FILES)
def test_every_kind_of_file_is_cut_in_the_other_process_as_here(
    name: str, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    there = cut(FILES[name], name)
    assert asked == [name]
    monkeypatch.setattr(cutting, "is_available", lambda: False)
    assert cut(FILES[name], name) == there
    assert asked == [name]


def test_a_small_text_is_cut_here(asked: list[str]) -> None:
    cut(b"Bees sleep.", "bees.md")
    cut(b"x" * cutting.SMALL_BYTES, "bees.txt")
    assert not asked
    cut(b"x" * (cutting.SMALL_BYTES + 1), "bees.txt")
    assert asked == ["bees.txt"]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    with SQLiteStore(make_index(tmp_path / "other.db")) as made:
        yield made


def test_chunks_are_written_as_an_index_of_the_folder_has_them(tmp_path: Path, store: SQLiteStore) -> None:
    [made] = cut(MARKDOWN.encode(), "bees.md")
    engine = make_engine(make_index(tmp_path / "index.db"))
    [added] = engine.add_file(MARKDOWN.encode(), "bees.md")
    assert added.chunks == len(made.pieces)
    engine.close()
    Indexer(store, get_chunker("auto", tokenizer=TOKENIZER), TOKENIZER).add(made.document)
    with SQLiteStore(tmp_path / "index.db") as written:
        assert _read(written) == _read(store)


def _read(store: SQLiteStore) -> Any:
    counted = store.fetch_counted([Window("bees.md", 0, 999)], tokenizer=TOKENIZER.name)
    return store.get_document("bees.md"), counted


def test_a_text_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    engine = make_engine(make_index(tmp_path / "index.db"), bounds=Bounds(load=LoadLimits(timeout_s=0.5)))
    with pytest.raises(LoadError, match=r"^h\.md: reading it took longer than 0\.5 s"):
        engine.add_file(b"# a\n" * 500_000, "h.md")
    assert engine.add_file(b"Wasps sting.", "wasps.md")[0].result == "added"
    engine.close()


def test_a_text_that_needs_too_much_memory_is_refused() -> None:
    with pytest.raises(LoadError, match="more than 16 MiB of memory"):
        cut(b"# a\n" * 100_000, "h.md", load=LoadLimits(memory_bytes=16 * 1024**2))
    assert len(cut(MARKDOWN.encode(), "bees.md")) == 1


@pytest.mark.parametrize("name", ["h.md", "small.md"])
def test_a_file_of_which_too_many_chunks_come_is_refused(tmp_path: Path, name: str) -> None:
    engine = make_engine(make_index(tmp_path / "index.db"), bounds=Bounds(chunks=100))
    before = engine.list_documents()
    times = 101 if name == "small.md" else 5_000
    with pytest.raises(LimitError, match=rf"{times:,} chunks come of the file: the limit is 100; split it"):
        engine.add_file(b"# a\n" * times, name)
    line = {"text": "# a\n# b", "format": "markdown"}
    lines = "\n".join(json.dumps({"id": str(number), **line}) for number in range(60))
    with pytest.raises(LimitError, match="102 chunks"):  # of all its lines together
        engine.add_file(lines.encode(), "x.jsonl")
    assert engine.list_documents() == before
    engine.close()


def test_the_documents_of_a_file_together_repeat_no_more_than_the_limit() -> None:
    line = {"text": "# a\n" * 12, "format": "markdown", "metadata": {"note": "b" * 20_000}}
    lines = [json.dumps({"id": str(number), **line}).encode() for number in range(70)]
    assert len(cut(b"\n".join(lines[:60]), "x.jsonl")) == 60
    with pytest.raises(LimitError, match=r"would repeat 16,[0-9,]+ characters .* the limit is 16,000,000; shorten"):
        cut(b"\n".join(lines), "x.jsonl")


@pytest.mark.parametrize(
    "raw",
    [
        b"# " + b"a " * 50_000 + b"\n" + b"## b\n" * 1_000,
        b"|" + b"a " * 50_000 + b"|\n|-|\n" + b"|x|\n" * 20_000,
        b"---\na: " + b"b " * 30_000 + b"\n---\n" + b"# a\n" * 1_000,
    ],
    ids=["headings", "head of a table", "metadata"],
)
def test_a_file_whose_chunks_repeat_too_much_is_refused(raw: bytes) -> None:
    with pytest.raises(LimitError, match=r"would repeat [\d,]+ characters of headings, heads of tables and metadata"):
        cut(raw, "h.md", load=LoadLimits(timeout_s=120))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ({"doc_id": "x" * 1_001, "text": "Bees."}, "a name has 1,001 characters: the limit is 1,000; shorten it"),
        ({"id": "x", "text": "Bees.", "metadata": {"a": "b" * 70_000}}, r"would carry 70,\d+ characters of headings"),
        ({"id": "x", "text": "Bees.", "title": "t" * 70_000}, "a title has 70,000 characters: the limit is 65,536"),
    ],
    ids=["name", "metadata", "title"],
)
def test_what_an_answer_repeats_has_a_bound(line: dict[str, Any], problem: str) -> None:
    with pytest.raises(LimitError, match=problem):
        cut(json.dumps(line).encode(), "x.jsonl")


def test_json_that_is_nested_deeply_is_one_clear_error() -> None:
    line = b'{"id": "a", "text": "' + b"Bees. " * 2_000 + b'", "metadata": {"a": ' + b"[" * 900 + b"]" * 900 + b"}}"
    with pytest.raises(LoadError, match=r"nested too deeply|cannot be read|is not JSON"):
        cut(line, "x.jsonl")
    assert len(cut(MARKDOWN.encode(), "bees.md")) == 1
