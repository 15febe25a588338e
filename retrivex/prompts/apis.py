"""Converts the messages of a prompt to the formats of model APIs.

Shapes by the documentation of the providers: OpenAI's guide to citation formatting and its Responses and Chat
Completions APIs, Anthropic's guide to citations and its Messages API.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from retrivex.prompts.citations import CITE_DELIMITER, CITE_START, CITE_STOP, marker
from retrivex.prompts.escaping import TAGS, escape
from retrivex.prompts.source import Provenance, Source

Api: TypeAlias = Literal["plain", "openai", "openai_chat", "anthropic"]
"""`plain`: text with numbered sources, for any model; the others: one block a source, made to be cited."""

APIS: tuple[Api, ...] = ("plain", "openai", "openai_chat", "anthropic")

Message: TypeAlias = dict[str, Any]

_MAX_TITLE = 200  # characters; Anthropic limits titles, the whole name stands in the context as well
_NO_MARKS = str.maketrans(dict.fromkeys(CITE_START + CITE_STOP + CITE_DELIMITER, "\ufffd"))


def user_message(
    api: Api, sources: Sequence[Source], shown: Provenance, before: str | None, after: str | None
) -> Message:
    """Return the message that holds the sources, with the question in front of them, behind them, or both."""
    content: Any
    if api == "plain":
        question = [None if asked is None else escape(asked, TAGS) for asked in (before, after)]
        parts = [question[0], *(source.block(shown) for source in sources), question[1]]
        content = "\n\n".join(part for part in parts if part is not None)
    elif api == "anthropic":
        asked = [[] if text is None else [{"type": "text", "text": text}] for text in (before, after)]
        content = [*asked[0], *(_document(source, shown) for source in sources), *asked[1]]
    else:
        kind = "input_text" if api == "openai" else "text"
        texts = [before, *(_make_citable(source, shown) for source in sources), after]
        content = [{"type": kind, "text": text} for text in texts if text is not None]
    return {"role": "user", "content": content}


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
            words = (part.get("text"), part.get("title"), part.get("context"), part.get("source", {}).get("data"))
            found += [text for text in words if text]
    return found
