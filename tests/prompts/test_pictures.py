"""Pictures beside passages: kept with the text they stand in, shown only where the caller allows it."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import compose

from retrivex import Chunk, ChunkMetadata, Composition, Document, SeedHit
from retrivex.adapters.base.documents import read_passage
from retrivex.adapters.base.fields import FieldMap
from retrivex.chunking import get_chunker
from retrivex.errors import RetrivexError
from retrivex.loading.html import load_html
from retrivex.model.media import Media
from retrivex.model.span import cut_span
from retrivex.prompts import ChatStyle, Pictures
from retrivex.stores import SQLiteStore

PNG = b"\x89PNG\r\n\x1a\n pixels of a hive"
TEXT = (
    "# Hives\n\nA hive is a box. ![The box](img/box.png)\n\n# Queens\n\nA queen is marked. ![The mark](img/mark.png)\n"
)
PAGE = Document("docs/bees.md", TEXT, format="markdown")
BOX = Media("docs/img/box.png", "image/png", "The box", TEXT.index("![The box"))
MARK = Media("docs/img/mark.png", "image/png", "The mark", TEXT.index("![The mark"))
CHUNKS = get_chunker("markdown").chunk(PAGE)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "root"
    (made / "docs" / "img").mkdir(parents=True)
    (made / "docs" / "img" / "box.png").write_bytes(PNG)
    (tmp_path / "secret.png").write_bytes(b"secret")
    return made


def made(**options: Any) -> Composition:
    hits = [SeedHit(chunk, 1.0 - 0.1 * at) for at, chunk in enumerate(CHUNKS)]
    return compose(hits, {chunk.key: chunk for chunk in CHUNKS}, query="What is a hive?", window=0, **options)


def with_media(*media: dict[str, Any]) -> Composition:
    chunk = Chunk("Bees sleep.", ChunkMetadata("d", 0, 0, 11, custom_metadata={"media": [*media]}))
    return compose([SeedHit(chunk, 1.0)], {}, query="Do bees sleep?", window=0)


def pictures_of(prompt: Any) -> list[dict[str, Any]]:
    content = prompt.messages[-1]["content"]
    return [block for block in content if block["type"] in ("image", "image_url", "input_image")]


def test_a_span_and_a_citation_list_what_stands_in_what_they_show() -> None:
    composition = made()
    assert [one for span in composition.spans for one in span.media] == [BOX, MARK]
    assert composition.media("A hive is a box.") == ()
    assert composition.media("The box") == ()  # the picture begins two characters before
    shown = [composition.media(citation) for citation in composition.citations]
    assert [one for each in shown for one in each] == [BOX, MARK]
    assert composition.media("[1]") == composition.spans[0].media


def test_a_citation_carries_its_media_through_json() -> None:
    composition = made()
    assert [citation.media for citation in composition.citations if citation.media] == [(BOX,), (MARK,)]
    again = Composition.from_dict(json.loads(composition.to_json()))
    assert again.citations == composition.citations
    assert [one["media"][0]["uri"] for one in composition.to_dict()["citations"] if "media" in one] == [
        BOX.uri,
        MARK.uri,
    ]
    (place,) = composition.resolve("![The mark](img/mark.png)")
    assert place.media == (MARK,)
    assert composition.resolve("queen is marked")[0].media == ()
    broken = composition.to_dict()
    broken["citations"][0]["media"] = [{"uri": 5}]
    with pytest.raises(RetrivexError, match=r"media\[0\]\.uri is 5"):
        Composition.from_dict(broken)


@given(st.lists(st.integers(0, 59), max_size=6), st.integers(1, 3), st.integers(0, 3))
def test_each_picture_of_what_is_shown_is_in_one_citation(places: list[int], size: int, window: int) -> None:
    text = "".join(f"Bee {n:02}.   " for n in range(6))  # ten characters each
    document = Document("d", text, metadata={"media": [{"uri": f"{at}.png", "at": at} for at in sorted(set(places))]})
    chunks = get_chunker("sentence", size=size, overlap=size - 1).chunk(document)
    composition = compose([SeedHit(chunks[0], 1.0)], {c.key: c for c in chunks}, query="Bee 00?", window=window)
    cited = [one.at for citation in composition.citations for one in citation.media]
    assert sorted(cited) == sorted(one.at for span in composition.spans for one in span.media)
    for citation in composition.citations:
        assert all(citation.char_start <= one.at < citation.char_end for one in citation.media)


def test_a_span_that_shows_a_part_lists_the_pictures_of_that_part() -> None:
    chunk = Chunk(TEXT, ChunkMetadata("d", 0, 0, len(TEXT), custom_metadata={"media": [MARK.to_dict(), BOX.to_dict()]}))
    (span,) = compose([SeedHit(chunk, 1.0)], {}, query="Is a queen marked?", window=0, token_budget=500).spans
    assert span.media == (MARK, BOX)
    at = span.text.index("# Queens")
    assert cut_span(span, at, len(span.text), 9).media == (MARK,)
    assert cut_span(span, 0, at, 9).media == (BOX,)
    assert cut_span(span, 0, 9, 9).media == ()


def test_they_go_through_the_store_and_through_json(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "store.db") as store:
        store.put(PAGE, CHUNKS)
        hits = store.search_text("hive queen", 5)
        composition = compose(hits, store, query="hive queen")
    again = Composition.from_dict(json.loads(composition.to_json()))
    assert again == composition
    assert {one for span in again.spans for one in span.media} == {BOX, MARK}


def test_vector_stores_keep_them_as_text() -> None:
    names = FieldMap()
    payload = names.payload(CHUNKS[0])
    assert isinstance(payload["media"], str)
    passage = read_passage(payload["text"], {key: value for key, value in payload.items() if key != "text"}, names)
    again = passage.to_chunk(*CHUNKS[0].key)
    assert compose([SeedHit(again, 1.0)], {}, query="hive", window=0).spans[0].media == (BOX,)


@pytest.mark.parametrize("api", ["plain", "openai", "openai_chat", "anthropic"])
def test_nothing_is_shown_unasked(api: Any) -> None:
    prompt = made().chat(api=api)
    assert "image" not in json.dumps([message["content"] for message in prompt.messages]).replace("img/", "")
    assert prompt.warnings == ()


def test_a_file_of_the_root_stands_behind_its_passage(root: Path) -> None:
    prompt = made(ordering_strategy="document").chat(api="anthropic", pictures=Pictures(root=root))
    kinds = [block["type"] for block in prompt.messages[-1]["content"]]
    at = kinds.index("image")
    blocks = prompt.messages[-1]["content"]
    assert blocks[at]["source"] == {
        "type": "base64", "media_type": "image/png", "data": base64.b64encode(PNG).decode(),
    }  # fmt: skip
    assert blocks[at - 1]["text"] == "Picture of source 1: The box"
    assert "A hive is a box" in blocks[at - 2]["source"]["data"]
    assert any("'docs/img/mark.png' is not shown: it cannot be read" in warning for warning in prompt.warnings)
    assert any("tokens of 1 pictures are not counted" in warning for warning in prompt.warnings)


def test_openai_gets_data_addresses(root: Path) -> None:
    address = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    (block,) = pictures_of(made().chat(api="openai", pictures=Pictures(root=root)))
    assert block == {"type": "input_image", "detail": "auto", "image_url": address}
    (block,) = pictures_of(made().chat(api="openai_chat", pictures=Pictures(root=root)))
    assert block == {"type": "image_url", "image_url": {"url": address}}


@pytest.mark.parametrize(
    "uri",
    ["../secret.png", "docs/../../secret.png", "link.png", "{root}/../secret.png", "file:///etc/a.png", "docs/x.png",
     "dir.png", "\0.png", "//host/share/a.png"],
)  # fmt: skip
def test_nothing_outside_the_root_is_read(root: Path, uri: str) -> None:
    (root / "link.png").symlink_to(root.parent / "secret.png")
    (root / "dir.png").mkdir()
    prompt = with_media({"uri": uri.replace("{root}", str(root))}).chat(api="openai", pictures=Pictures(root=root))
    assert pictures_of(prompt) == []
    assert len([warning for warning in prompt.warnings if "is not shown" in warning]) == 1
    assert base64.b64encode(b"secret").decode() not in json.dumps(prompt.messages)


@pytest.mark.parametrize(
    ("media", "options", "why"),
    [
        ({"uri": "docs/img/box.png"}, {}, "root="),
        ({"uri": "https://x.org/a.png"}, {}, "urls=True"),
        ({"uri": "docs/img/box.png"}, {"max_bytes": 5}, "more than max_bytes=5"),
        ({"uri": "docs/plan.pdf"}, {}, "of the type 'application/pdf'"),
        ({"uri": "https://x.org/a.svg"}, {"urls": True}, "of the type 'image/svg+xml'"),
        ({"uri": "data:image/png;base64,&&"}, {}, "no base64"),
        ({"uri": "data:image/png;base64," + 40 * "AAAA"}, {"max_bytes": 9}, "more than max_bytes=9"),
        ({"uri": "data:image/png;base64,iVBORw0KGgo="}, {"max_bytes": 7}, "more than max_bytes=7"),
        ({"uri": "data:image/png;base64,"}, {}, "its content is no image/png"),
        ({"uri": "keys.env", "media_type": "image/png"}, {"max_bytes": 99}, "its content is no image/png"),
    ],
)
def test_what_is_not_shown_says_why(root: Path, media: dict[str, Any], options: dict[str, Any], why: str) -> None:
    (root / "keys.env").write_text("KEY=secret")
    allowed = {"root": root, **options} if "max_bytes" in options else options
    prompt = with_media(media).chat(api="anthropic", pictures=Pictures(**allowed))
    assert pictures_of(prompt) == []
    (warning,) = prompt.warnings
    assert why in warning


def test_addresses_and_data_are_handed_on() -> None:
    composition = with_media({"uri": "https://x.org/a"}, {"uri": "data:image/gif;base64,R0lGODlh"})
    allowed = Pictures(urls=True, tokens_each=100)
    first, second = pictures_of(composition.chat(api="anthropic", pictures=allowed))
    assert first["source"] == {"type": "url", "url": "https://x.org/a"}
    assert second["source"] == {"type": "base64", "media_type": "image/gif", "data": "R0lGODlh"}
    assert composition.chat(api="anthropic", pictures=allowed).warnings == ()


def test_tokens_of_pictures_count_where_they_are_known() -> None:
    composition = with_media({"uri": "data:image/png;base64,iVBORw0KGgoA" + 400 * "AAAA"})
    bare = composition.chat(api="anthropic", pictures=Pictures(), max_tokens=2000).tokens
    counted = composition.chat(api="anthropic", pictures=Pictures(tokens_each=900), max_tokens=2000).tokens
    assert bare is not None
    assert bare < 200  # their data are no text
    assert counted == bare + 900
    left = composition.chat(api="anthropic", pictures=Pictures(tokens_each=2000), max_tokens=2000)
    assert pictures_of(left) == []
    assert left.tokens is not None
    assert left.tokens <= 2000


def test_a_prompt_has_no_more_pictures_than_it_may() -> None:
    composition = with_media(*({"uri": f"https://x.org/{n}.png"} for n in range(5)))
    prompt = composition.chat(api="openai", pictures=Pictures(urls=True, max_pictures=2))
    assert [block["image_url"] for block in pictures_of(prompt)] == ["https://x.org/0.png", "https://x.org/1.png"]
    assert "3 pictures are not shown: max_pictures=2 come first" in prompt.warnings


def test_the_cache_ends_behind_the_last_source_and_its_pictures() -> None:
    composition = with_media({"uri": "https://x.org/a.png"})
    style = ChatStyle(cache_until="sources")
    for history in ([], [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]):
        prompt = composition.chat(api="anthropic", style=style, history=history, pictures=Pictures(urls=True))
        marked = [block for block in prompt.messages[0]["content"] if "cache_control" in block]
        assert [block["type"] for block in marked] == ["image"]


def test_plain_messages_have_none() -> None:
    with pytest.raises(RetrivexError, match="plain messages are text"):
        made().chat(pictures=Pictures())


def test_a_page_keeps_its_text_and_names_its_pictures() -> None:
    page = "<h1>Bees</h1><p>One.</p><p>See <img src='img/a.png' alt='A hive'>.</p><img src='data:image/png;base64,AA'>"
    document = load_html(page.encode(), "docs/bees.html").document
    assert document.text == "# Bees\n\nOne.\n\nSee A hive.\n"
    (one,) = [m for chunk in get_chunker("markdown").chunk(document) for m in chunk.metadata.custom_metadata["media"]]
    assert (one["uri"], one["media_type"], one["alt"]) == ("docs/img/a.png", "image/png", "A hive")
    assert document.text[one["at"] - 4 : one["at"] + 2].strip() in "A hive."


@given(st.lists(st.sampled_from(["word ", "\n\n", "![a](x.png) ", "`![b](y.png)` ", "## H\n\n", "![](<z 1.jpg>) "])))
def test_every_picture_is_of_the_one_chunk_that_holds_its_place(parts: list[str]) -> None:
    document = Document("d.md", "".join(parts), format="markdown")
    found = []
    for chunk in get_chunker("token", size=8, tokenizer="estimate").chunk(document):
        for one in chunk.metadata.custom_metadata.get("media", ()):
            assert chunk.metadata.char_start is not None
            assert chunk.metadata.char_start <= one["at"] < (chunk.metadata.char_end or 0)
            found.append(one["at"])
    assert all(document.text.startswith("![", at) for at in found)
    assert len(found) == len(set(found))


@pytest.mark.parametrize(
    "own", [["press"], "press", "[{", [{"uri": ""}], [{"uri": "a.png", "size": 3}], [{"alt": "x"}]]
)
def test_a_value_of_somebody_else_stays(own: Any) -> None:
    document = Document("d.md", "See ![a](b.png).", format="markdown", metadata={"media": own})
    (chunk,) = get_chunker("markdown").chunk(document)
    assert chunk.metadata.custom_metadata == {"media": own}
    composition = compose([SeedHit(chunk, 1.0)], {}, query="See", window=0)
    assert composition.spans[0].media == ()
