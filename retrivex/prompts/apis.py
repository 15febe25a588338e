"""Converts the messages of a prompt to the formats of model APIs.

Shapes by the documentation of the providers: OpenAI's guide to citation formatting and its Responses and Chat
Completions APIs, Anthropic's guide to citations and its Messages API.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, Literal, TypeAlias

from retrivex.prompts.citations import CITE_DELIMITER, CITE_START, CITE_STOP, marker
from retrivex.prompts.escaping import TAGS, escape
from retrivex.prompts.pictures import PictureReader
from retrivex.prompts.source import Provenance, Source, one_line

Api: TypeAlias = Literal["plain", "openai", "openai_chat", "anthropic"]
"""`plain`: text with numbered sources, for any model; the others: one block a source, made to be cited."""

APIS: tuple[Api, ...] = ("plain", "openai", "openai_chat", "anthropic")

Message: TypeAlias = dict[str, Any]

_MAX_TITLE = 200  # characters; Anthropic limits titles, the whole name stands in the context as well
_NO_MARKS = str.maketrans(dict.fromkeys(CITE_START + CITE_STOP + CITE_DELIMITER, "\ufffd"))


def user_message(
    api: Api,
    sources: Sequence[Source],
    shown: Provenance,
    before: str | None,
    after: str | None,
    reader: PictureReader | None = None,
) -> Message:
    """Return the message that holds the sources, with the question in front of them, behind them, or both.

    With a reader, the pictures of a source stand behind it, each under a line that says whose it is.
    """
    content: Any
    if api == "plain":
        question = [None if asked is None else escape(asked, TAGS) for asked in (before, after)]
        parts = [question[0], *(source.block(shown) for source in sources), question[1]]
        content = "\n\n".join(part for part in parts if part is not None)
    elif api == "anthropic":
        asked = [[] if text is None else [{"type": "text", "text": text}] for text in (before, after)]
        pictures = _pictures("anthropic", "text", sources, reader)
        blocks = [[_document(source, shown), *pictures[source.number]] for source in sources]
        content = [*asked[0], *chain.from_iterable(blocks), *asked[1]]
    else:
        kind = "input_text" if api == "openai" else "text"
        pictures = _pictures(api, kind, sources, reader)
        content = [] if before is None else [{"type": kind, "text": before}]
        for source in sources:
            content += [{"type": kind, "text": _make_citable(source, shown)}, *pictures[source.number]]
        content += [] if after is None else [{"type": kind, "text": after}]
    return {"role": "user", "content": content}


def _pictures(api: str, kind: str, sources: Sequence[Source], reader: PictureReader | None) -> dict[int, list[Message]]:
    """Return the blocks of the pictures of each source, by its number."""
    made: dict[int, list[Message]] = {source.number: [] for source in sources}
    left = 0 if reader is None else reader.allowed.max_pictures
    for source in sources if reader is not None else ():
        for media in source.media:
            assert reader is not None
            block = reader.block(api, media) if left else None
            if block is not None:
                left -= 1
                words = one_line(f"Picture of source {source.number}: {media.alt}".rstrip(": "))
                made[source.number] += [{"type": kind, "text": _remove_marks(source, words)}, block]
    return made


def is_picture(block: Message) -> bool:
    """Whether a block of a message is a picture."""
    return block["type"] in ("image", "image_url", "input_image")


def _make_citable(source: Source, shown: Provenance) -> str:
    """Source under its citation marker; the marks themselves are taken out of what documents say."""
    known = {"Title" if name == "document" else name.capitalize(): v for name, v in source.provenance(shown).items()}
    lines = [f"{name}: {_remove_marks(source, value)}" for name, value in known.items()]
    tags = f"{source.position_tags} " if source.position_tags else ""
    text = tags + _remove_marks(source, source.prefix + source.text)
    return "\n".join([f"Citation Marker: {marker(source.number)}", *lines, "", text])


def _remove_marks(source: Source, text: str) -> str:
    """Return what a document says, without any mark that is ours."""
    return escape(text, (), position_tags=bool(source.position_tags)).translate(_NO_MARKS)


def _document(source: Source, shown: Provenance) -> Message:
    """Plain-text document that citations point into; what is said about it cannot be cited."""
    known = source.provenance(shown)
    tagged = bool(source.position_tags)
    said = [*(f"{name}: {value}" for name, value in known.items()), source.prefix.strip()]
    context = "\n".join(
        part for part in (source.position_tags, *(escape(text, (), position_tags=tagged) for text in said)) if part
    )
    block: Message = {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": source.text},
        "citations": {"enabled": True},
    }
    if known:
        block["title"] = known["document"][:_MAX_TITLE]
    if context:
        block["context"] = context
    return block


def mark_block(content: str | Sequence[Message], at: int = -1) -> list[Message]:
    """Return the blocks of a message, text as one, with the mark at which Anthropic's cache ends on one of them."""
    blocks: list[Message] = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    blocks[at] = {**blocks[at], "cache_control": {"type": "ephemeral"}}
    return blocks


def texts_of(messages: Sequence[Message]) -> list[str]:
    """Return every text in messages that a model gets to read."""
    found: list[str] = []
    for message in messages:
        content = message["content"]
        parts: list[Message] = [{"text": content}] if isinstance(content, str) else content
        for part in parts:
            data = None if part.get("type") == "image" else part.get("source", {}).get("data")
            words = (part.get("text"), part.get("title"), part.get("context"), data)
            found += [text for text in words if text]
    return found
