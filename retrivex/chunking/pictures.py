"""The pictures of a document, as chunks have them."""

from __future__ import annotations

import re
from urllib.parse import unquote

from retrivex.chunking.links import resolve_target
from retrivex.model.document import Document
from retrivex.model.media import MAX_URI, MEDIA, Media, media_type_of, read_media

# code is matched to be passed over
_PICTURE_OR_CODE = re.compile(
    r"""
    ^[ \t>]*(?P<fence>`{3,}|~{3,}).*?(?:^[ \t>]*(?P=fence)|\Z)
    | (?P<ticks>`+)(?!`)[^\n]{0,500}?(?<!`)(?P=ticks)(?!`)
    | !\[(?P<alt>[^\]\n]{0,500})\]\([ \t]*(?:<(?P<quoted>[^<>\n]+)>|(?P<target>[^\s<>()]+))
    """,
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)


def has_pictures(document: Document) -> bool:
    """Whether `document_media` may find any in a document."""
    return bool(read_media(document.metadata)) or (document.format == "markdown" and "![" in document.text)


def document_media(document: Document) -> list[Media]:
    """Return the media that a loader saw, or else the pictures of a Markdown document, ascending by their place.

    Examples
    --------
    >>> document_media(Document("docs/bees.md", "See ![a hive](hive.png).", format="markdown"))
    [Media(uri='docs/hive.png', media_type='image/png', alt='a hive', at=4, page=None)]
    """
    if MEDIA in document.metadata:  # a value of somebody's own stays as it is
        found = read_media(document.metadata)
    elif has_pictures(document):
        found = tuple(
            Media(target, None, match["alt"].strip(), match.start())
            for match in _PICTURE_OR_CODE.finditer(document.text)
            if (target := match["quoted"] or match["target"])
        )
    else:
        return []
    return [_placed(one, document) for one in found if len(one.uri) <= MAX_URI and not one.uri.startswith("data:")]


def _placed(one: Media, document: Document) -> Media:
    """Return media with a path from the folder that was indexed, its type and its page."""
    uri = resolve_target(one.uri, document.doc_id) or unquote(one.uri)
    page = document.page_at(one.at) if one.page is None and one.at is not None else one.page
    return Media(uri, one.media_type or media_type_of(one.uri), one.alt, one.at, page)
