"""Pieces that nothing but the order in which they were given puts in order."""

import random

import pytest

from retrivex.adapters.base.documents import UNNAMED, Passage, number_passages
from retrivex.adapters.base.fields import FieldMap
from retrivex.errors import ChunkError

DOCUMENTS = 20
PIECES = 12
REPEATED = "and so the keeper said"


def _pieces() -> list[Passage]:
    """Pieces, one in each document of which repeats the end of the one before: most end with their paragraphs."""
    made = []
    for doc in range(DOCUMENTS):
        texts = [f"Garden {doc} has {n * 7919 % 1000} bees in hive {n}." for n in range(PIECES)]
        shared = f"{doc * 31 + 7} times, {REPEATED} {doc}."
        texts[4] += f" It was counted {shared}"
        texts[5] = f"{shared} {texts[5]}"
        made += [Passage(text, {}, FieldMap(), doc_id=f"garden{doc}") for text in texts]
    return made


def test_pieces_in_order_are_neighbours() -> None:
    pieces = _pieces()
    store = number_passages(pieces)
    assert store.warnings == ()
    assert [chunk.text for chunk in store.values()] == [piece.text for piece in pieces]


def test_pieces_none_of_which_names_a_document_are_one() -> None:
    pieces = [Passage(text, {}, FieldMap()) for text in ("Bees sleep.", "", "Owls hunt.")]
    store = number_passages(pieces)
    assert [(number, chunk.text) for (_, number), chunk in store.items()] == [(0, "Bees sleep."), (1, "Owls hunt.")]
    assert [warning[:42] for warning in store.warnings] == ["none of 3 pieces names its document, under"]
    assert store.locate(pieces[2]) == store[UNNAMED, 1]


@pytest.mark.parametrize(
    ("metadata", "problem"), [({}, "its metadata have nothing under doc_id,"), ({"source": ""}, "source is empty")]
)
def test_pieces_some_of_which_name_a_document_are_refused(metadata: dict[str, str], problem: str) -> None:
    """Whose the others are, nobody knows; a name that is none is a mistake, also where it stands alone."""
    others = [Passage("Bees sleep.", {}, FieldMap(), doc_id=None if metadata else "bees")]
    with pytest.raises(ChunkError, match=f"^'Owls hunt.' names no document: {problem}"):
        number_passages([*others, Passage("Owls hunt.", metadata, FieldMap())])


def test_a_shuffled_list_is_told_of() -> None:
    shuffled = random.Random(3).sample(_pieces(), DOCUMENTS * PIECES)
    assert any(f"of {DOCUMENTS} documents" in warning for warning in number_passages(shuffled).warnings)
