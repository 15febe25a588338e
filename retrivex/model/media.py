"""Pictures and other media beside a text: references in the metadata of documents and chunks."""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from retrivex.model.chunk import Chunk

MEDIA = "media"
"""Key of metadata: a list of objects, the fields of `Media` that are known."""

MAX_URI = 2000
"""Characters of an address or path that loaders keep."""


@dataclass(frozen=True, slots=True)
class Media:
    """A picture or another file beside a text.

    Parameters
    ----------
    uri : an address, a path from the folder that was indexed, or a `data:` URI
    media_type : such as `image/png`; None where it is not known
    alt : what stands for it in words
    at : its place, an offset in the document's text
    page : page number as printed, from 1
    """

    uri: str
    media_type: str | None = None
    alt: str = ""
    at: int | None = None
    page: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that are known, as metadata have them."""
        return {name: value for name, value in asdict(self).items() if value not in (None, "")}


_KINDS: Mapping[str, type] = {"uri": str, "media_type": str, "alt": str, "at": int, "page": int}


def read_media(metadata: Mapping[str, Any]) -> tuple[Media, ...]:
    """Return the media that metadata name, also as JSON text; none where they hold something else under that key.

    Examples
    --------
    >>> read_media({"media": [{"uri": "hive.png", "alt": "A hive"}]})
    (Media(uri='hive.png', media_type=None, alt='A hive', at=None, page=None),)
    >>> read_media({"media": ["press", "radio"]})
    ()
    """
    given = metadata.get(MEDIA)
    if isinstance(given, str) and given.startswith("[{"):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return ()
    return tuple(Media(**one) for one in given) if isinstance(given, list) and all(map(_is_media, given)) else ()


def _is_media(one: Any) -> bool:
    return isinstance(one, Mapping) and bool(one.get("uri")) and all(type(one[k]) is _KINDS.get(k) for k in one)


def media_type_of(uri: str) -> str | None:
    """Return the type that a path or address says it has."""
    return mimetypes.guess_type(uri.partition("?")[0].partition("#")[0])[0]


def media_between(chunks: Sequence[Chunk], start: int | None, end: int | None) -> tuple[Media, ...]:
    """Return the media of chunks that stand between two offsets of the document, each once; all where it is unknown."""
    found = [one for chunk in chunks for one in read_media(chunk.metadata.custom_metadata)]
    return media_within(found, start, end) if found else ()


def media_within(found: Iterable[Media], start: int | None, end: int | None) -> tuple[Media, ...]:
    """Return those that stand between two offsets, each once; all where an offset is unknown."""
    if start is not None and end is not None:
        found = (one for one in found if one.at is None or start <= one.at < end)
    return tuple(dict.fromkeys(found))


def without_media(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the metadata of a document without its media, of which each chunk has its own."""
    return {k: v for k, v in metadata.items() if k != MEDIA} if read_media(metadata) else metadata


def media_metadata(found: Iterable[Media]) -> dict[str, Any]:
    """Return media as metadata; empty without any."""
    made = [one.to_dict() for one in found]
    return {MEDIA: made} if made else {}
