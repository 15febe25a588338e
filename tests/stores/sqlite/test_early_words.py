"""Files whose words an earlier version indexed: read as they are, and brought up to date with the next change."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.early_files import with_early_words

from retrivex import Chunk, ChunkMetadata
from retrivex.model.document import Document
from retrivex.retrieval.local import LocalRetriever
from retrivex.stores import SQLiteStore

TEXTS = {
    "street": "Die Werkstatt liegt in der Lindenstraße.",
    "cut": "All about the war-\nranty is here.",
    "greek": "Η βιβλιοθήκη ανοίγει.",
    "kana": "ﾃﾞｰﾀ と 图书馆",
    "english": "Bees sleep in winter.",
}
AS_WRITTEN = {"Lindenstraße": "street", "βιβλιοθήκη": "greek", "图书馆": "kana", "Do bees sleep?": "english"}
OTHERWISE = {"lindenstrasse": "street", "warranty": "cut", "βιβλιοθηκη": "greek", "ΕΠΙΠΛΑ": "heading"}


def put(store: SQLiteStore, doc_id: str, text: str, **metadata: object) -> None:
    store.put(Document(doc_id, text), [Chunk(text, ChunkMetadata(doc_id, 0, 0, len(text), **metadata))])  # type: ignore[arg-type]


@pytest.fixture
def early(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    with SQLiteStore(path) as store:
        for doc_id, text in TEXTS.items():
            put(store, doc_id, text)
        put(store, "heading", "Chairs.", heading_path=("Έπιπλα",), prefix="Tables")
    return with_early_words(path)


def found(store: SQLiteStore, question: str) -> list[str]:
    return [hit.chunk.metadata.doc_id for hit in store.search_text(question)]


@pytest.mark.parametrize("read_only", [True, False])
def test_words_are_found_as_they_are_written_and_the_retriever_says_that_others_are_not(
    early: Path, read_only: bool
) -> None:
    with SQLiteStore(early, read_only=read_only) as store:
        assert {question: found(store, question) for question in AS_WRITTEN} == {q: [d] for q, d in AS_WRITTEN.items()}
        assert found(store, "warranty") == []
        (warning,) = LocalRetriever(store).warnings
        assert "index any document, and all words are read anew" in warning


def test_the_next_change_brings_all_words_up_to_date(early: Path) -> None:
    with SQLiteStore(early) as store:
        put(store, "new", "Ants work.")
        wanted = AS_WRITTEN | OTHERWISE
        assert {question: found(store, question) for question in wanted} == {q: [d] for q, d in wanted.items()}
        assert found(store, "tables") == ["heading"]
        assert LocalRetriever(store).warnings == ()
        assert store.check() == []
        for doc_id in TEXTS:
            store.delete(doc_id)
        assert store.check() == []
    with SQLiteStore(early, read_only=True) as store:
        assert found(store, "ΕΠΙΠΛΑ") == ["heading"]


def test_a_change_that_fails_leaves_the_words_as_they_were(early: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("retrivex.stores.sqlite.store.write", full)
    with SQLiteStore(early) as store:
        with pytest.raises(OSError, match="disk full"):
            put(store, "new", "Ants work.")
        assert found(store, "lindenstraße") == ["street"]
        assert found(store, "lindenstrasse") == []
        assert store.check() == []
