import pytest

from retrivex.chunking import CHUNKER_NAMES, get_chunker
from retrivex.encoders.encoder import HashingEncoder
from retrivex.model.document import Document


def links_of(text: str, doc_id: str = "docs/bees.md") -> list[tuple[str, int]]:
    chunks = get_chunker("markdown").chunk(Document(doc_id, text, format="markdown"))
    return [link for chunk in chunks for link in chunk.metadata.links]


@pytest.mark.parametrize(
    ("link", "doc_id"),
    [
        ("[food](food.md)", "docs/food.md"),
        ("[food](./plants/food.md#nectar)", "docs/plants/food.md"),
        ("[home](../index.html?page=2 'Home')", "index.html"),
        ("[home](/index.md)", "index.md"),
        ("[a b](<a b.md>), [a b](a%20b.md)", "docs/a b.md"),
        ("[food][1]\n\n[1]: food.md", "docs/food.md"),
        ("[x](https://example.org/food.md)", None),
        ("[x](//example.org), [x](mailto:a@b), [x](#top), [x](bees.md#top), [x](../../out.md), [x]()", None),
        ("`[food](food.md)`", None),
        ("```\n[food](food.md)\n```", None),
        ("- a\n\n  ~~~\n  [food](food.md)\n  ~~~", None),
    ],
)
def test_links_to_documents_beside_it(link: str, doc_id: str | None) -> None:
    assert links_of(f"See {link}" if "```" not in link else link) == ([] if doc_id is None else [(doc_id, 0)])


@pytest.mark.parametrize(
    ("target", "doc_id"),
    [
        ("food", "https://example.org/docs/food"),
        ("/index.html#top", "https://example.org/index.html"),
        ("https://bees.example/a", "https://bees.example/a"),
        ("#top", None),
        ("mailto:a@b", None),
        ("https://[broken", None),
    ],
)
def test_documents_that_are_named_by_their_address(target: str, doc_id: str | None) -> None:
    found = links_of(f"See [x]({target}).", "https://example.org/docs/bees")
    assert found == ([] if doc_id is None else [(doc_id, 0)])


def test_a_chunk_has_the_links_of_its_own_text() -> None:
    text = "# Food\n\n[A](a.md), [A again](a.md), [B](b.md).\n\n# Sleep\n\nNone.\n\n# Work\n\n[C](c.md)."
    chunks = get_chunker("markdown").chunk(Document("x.md", text, format="markdown"))
    assert [chunk.metadata.links for chunk in chunks] == [(("a.md", 0), ("b.md", 0)), (), (("c.md", 0),)]


@pytest.mark.parametrize("name", CHUNKER_NAMES)
def test_every_chunker_keeps_them(name: str) -> None:
    document = Document("x.md", "See [A](a.md). It is long.", format="markdown")
    (chunk,) = get_chunker(name, encoder=HashingEncoder(8)).chunk(document)
    assert chunk.metadata.links == (("a.md", 0),)


def test_plain_text_has_none() -> None:
    (chunk,) = get_chunker("auto").chunk(Document("x.txt", "See [A](a.md)."))
    assert chunk.metadata.links == ()
