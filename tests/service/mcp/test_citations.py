"""Citations come back as they were written, whatever a document is called."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from retrivex import Citation
from retrivex.composer.requests import RequestError
from retrivex.service.mcp.citations import list_sources, read_citation, write_citation

NAMES = st.text(st.characters(exclude_categories=("Cs",)), min_size=1)
OFFSETS = st.integers(0, 10**15 - 1)


@given(NAMES, OFFSETS, OFFSETS)
@example("two\nlines %41#1-2.md", 0, 1)
@example(" ", 0, 0)
@example("\u3000 \n% name ", 0, 0)
def test_a_citation_with_offsets_comes_back(doc_id: str, start: int, end: int) -> None:
    start, end = sorted((start, end))
    written = write_citation(doc_id, start, end, 3)
    assert len(written.splitlines()) == 1
    # white space around a citation is no part of it
    assert read_citation(f" {written}\n") == {"doc_id": doc_id, "char_start": start, "char_end": end}


@given(NAMES, OFFSETS)
def test_a_citation_of_a_chunk_comes_back(doc_id: str, chunk_id: int) -> None:
    assert read_citation(write_citation(doc_id, None, None, chunk_id)) == {"doc_id": doc_id, "chunk_id": chunk_id}


@pytest.mark.parametrize(
    "text", ["", "leave.md", "leave.md#", "leave.md#1", "#1-2", "a#1-x", "a#chunk-", "a#-1-2", "[1]"]
)
def test_what_is_no_citation_is_told_what_one_is(text: str) -> None:
    with pytest.raises(RequestError, match=r"citation is .*such as leave\.md#10-20; copy one from an answer"):
        read_citation(text)


def test_a_citation_does_not_end_before_it_starts() -> None:
    with pytest.raises(RequestError, match="characters 10-5 end before they start: give the smaller first, 5-10"):
        read_citation("a.md#10-5")


def test_the_chunks_of_a_passage_are_one_source() -> None:
    assert list_sources([]) == []
    citations = (
        Citation(1, 4, 24, "a.md", 2, 40, 60, 7, ("A",)),
        Citation(1, 24, 44, "a.md", 3, 60, 80, 8, ("A", "B")),
        Citation(2, 50, 60, "b.md", 5, None, None),
    )
    first, second = list_sources(citations)
    assert first == Citation(1, 4, 24, "a.md", 2, 40, 80, 7, ("A",))
    assert second == citations[2]
