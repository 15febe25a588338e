"""Files that an earlier version wrote: brought up to date once, when they are opened to be written."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stores.sqlite.test_vector_table import found, names, put
from support.early_files import with_early_words, with_vectors_beside, with_vectors_inside

from retrivex import Chunk, ChunkMetadata
from retrivex.errors import StoreError
from retrivex.model.document import Document
from retrivex.stores import SQLiteStore
from retrivex.stores.sqlite import migration
from retrivex.stores.sqlite.schema import SCHEMA_VERSION

TEXTS = {
    "street": "Die Werkstatt liegt in der Lindenstraße.",
    "cut": "All about the war-\nranty is here.",
    "greek": "Η βιβλιοθήκη ανοίγει.",
    "kana": "ﾃﾞｰﾀ と 图书馆",
    "english": "Bees sleep in winter.",
}
WANTED = {
    "Lindenstraße": "street",
    "lindenstrasse": "street",
    "warranty": "cut",
    "βιβλιοθηκη": "greek",
    "图书馆": "kana",
    "Do bees sleep?": "english",
    "ΕΠΙΠΛΑ": "heading",
    "tables": "heading",
}


def answers(store: SQLiteStore) -> list[Any]:
    return [found(store), found(store, scope="acme"), found(store, where={"page": 2}), found(store, k=3)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def fill(path: Path) -> list[Any]:
    with SQLiteStore(path) as store:
        for number in range(3):
            put(store, f"d{number}", 4, number, scope="acme" if number == 1 else None)
        return answers(store)


@pytest.mark.parametrize("make_early", [with_vectors_inside, with_vectors_beside])
def test_vectors_are_taken_over(path: Path, make_early: Callable[[Path], Path]) -> None:
    expected = fill(path)
    make_early(path)
    with pytest.raises(StoreError, match=r"earlier RetriVex: open it once for writing, as `retrivex inspect --check`"):
        SQLiteStore(path, read_only=True)
    for _ in range(2):
        with SQLiteStore(path) as store:
            assert answers(store) == expected
            assert store.check() == []
            assert store.info().schema_version == SCHEMA_VERSION
        assert names(path) == ["store.db"]
    with SQLiteStore(path) as store:
        put(store, "new", 1, 9)
        assert [hit for hit in found(store) if hit[0][0] != "new"] == expected[0]
        assert store.check() == []


def cut(file: Path) -> None:
    os.truncate(file, file.stat().st_size - 1)


def scribble(file: Path) -> None:
    file.write_bytes(b"dear diary, " * 100)


def exchange(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[:8] + bytes(16) + content[24:])


def pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


@pytest.mark.parametrize("damage", [Path.unlink, cut, scribble, exchange, pipe])
def test_a_damaged_file_of_vectors_is_one_clear_error_and_nothing_is_lost(
    path: Path, damage: Callable[[Path], None]
) -> None:
    expected = fill(path)
    with_vectors_beside(path)
    file = Path(f"{path}-vectors-2")
    shutil.copy(file, path.parent / "copy")
    damage(file)
    with pytest.raises(
        StoreError, match=r"vectors-2, which holds the vectors of .*store.db, is missing or damaged \(.*put"
    ):
        SQLiteStore(path)
    file.unlink(missing_ok=True)
    (path.parent / "copy").rename(file)
    with SQLiteStore(path) as store:
        assert answers(store) == expected


def test_what_fails_leaves_the_file_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(path)
    with_vectors_beside(path)

    def full(*_: object) -> None:
        raise OSError("disk full")

    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(migration, "count_change", full)
        with pytest.raises(OSError, match="disk full"):
            SQLiteStore(path)
    assert path.read_bytes() == before
    assert names(path) == ["store.db", "store.db-lists-3", "store.db-vectors-2"]


def test_words_are_read_anew(path: Path) -> None:
    with SQLiteStore(path) as store:
        for doc_id, text in TEXTS.items():
            store.put(Document(doc_id, text), [Chunk(text, ChunkMetadata(doc_id, 0, 0, len(text)))])
        above = ChunkMetadata("heading", 0, heading_path=("Έπιπλα",), prefix="Tables")
        store.put(Document("heading", "Chairs."), [Chunk("Chairs.", above)])
    with_early_words(path)
    with SQLiteStore(path) as store:
        hits = {question: [hit.key[0] for hit in store.search_text(question)] for question in WANTED}
        assert hits == {question: [doc_id] for question, doc_id in WANTED.items()}
        assert store.check() == []
        for doc_id in TEXTS:
            store.delete(doc_id)
        assert store.check() == []
