"""Pictures beside the passages of a prompt: blocks of the APIs, read only from where the caller allows."""

from __future__ import annotations

import base64
import binascii
import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from retrivex.errors import quoted
from retrivex.model.media import Media, media_type_of
from retrivex.model.options import Options

IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""What both OpenAI's and Anthropic's APIs take, by their guides to images."""

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+:|//")
_DATA = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,", re.IGNORECASE)
_COMMON = {"image/jpg": "image/jpeg"}


class Pictures(Options):
    """Which pictures of the sources a prompt shows, and from where. Nothing is fetched from the web here.

    Parameters
    ----------
    root : folder that files may be read from; None reads none. A path that leads out of it is refused
    urls : whether addresses of the web are handed on to the API, which fetches them
    max_bytes : most bytes of one picture
    max_pictures : most pictures of a prompt, the first ones
    tokens_each : counted for a picture towards `max_tokens`; None counts none, and the prompt warns of it

    Raises
    ------
    ConfigError
        If one of them breaks its rule.
    """

    root: Path | None = None
    urls: bool = False
    max_bytes: Annotated[int, Field(ge=1)] = 4_000_000
    max_pictures: Annotated[int, Field(ge=1)] = 20
    tokens_each: Annotated[int, Field(ge=0)] | None = None


class PictureReader:
    """Reads pictures, each once, and keeps why others are not shown.

    Parameters
    ----------
    allowed : what may be read
    """

    def __init__(self, allowed: Pictures) -> None:
        self.allowed = allowed
        self._read: dict[str, tuple[str, str] | str] = {}

    def block(self, api: str, media: Media) -> dict[str, Any] | None:
        """Return a picture as a block of an API; None where it is not shown, see `refusal`."""
        if media.uri not in self._read:
            self._read[media.uri] = self._find(media)
        found = self._read[media.uri]
        if isinstance(found, str):
            return None
        kind, data = found
        address = data if kind == "url" else f"data:{kind};base64,{data}"
        if api == "openai":
            return {"type": "input_image", "detail": "auto", "image_url": address}
        if api == "openai_chat":
            return {"type": "image_url", "image_url": {"url": address}}
        by_url = {"type": "url", "url": data}
        source = by_url if kind == "url" else {"type": "base64", "media_type": kind, "data": data}
        return {"type": "image", "source": source}

    def refusal(self, media: Media) -> str | None:
        """Return why a picture is not shown."""
        found = self._read.get(media.uri)
        return f"picture {quoted(media.uri, 100)} is not shown: {found}" if isinstance(found, str) else None

    def _find(self, media: Media) -> tuple[str, str] | str:
        """Return type and base64 data, or `url` and the address; or why neither is to be had."""
        data = _DATA.match(media.uri)
        kind = data[1].lower() if data else media.media_type or media_type_of(media.uri) or "unknown"
        kind = _COMMON.get(kind, kind)
        if media.uri.lower().startswith(("http://", "https://")):
            if not self.allowed.urls:
                return "addresses of the web are handed on with Pictures(urls=True) alone"
            return ("url", media.uri) if kind in (*IMAGE_TYPES, "unknown") else _wrong(kind)
        if kind not in IMAGE_TYPES:
            return _wrong(kind)
        if data:
            return self._decoded(kind, media.uri[data.end() :])
        return self._from_file(kind, media.uri)

    def _decoded(self, kind: str, data: str) -> tuple[str, str] | str:
        if len(data) > 4 * (self.allowed.max_bytes // 3 + 1):
            return self._too_large()
        try:
            content = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            return "its data are no base64"
        return self._checked(kind, content)

    def _from_file(self, kind: str, uri: str) -> tuple[str, str] | str:
        if self.allowed.root is None or _SCHEME.match(uri):
            return "files are read from the folder of Pictures(root=...) alone"
        try:
            root = self.allowed.root.resolve(strict=True)
            path = (root / uri).resolve(strict=True)
            if not path.is_relative_to(root) or not path.is_file():
                return "its path leads out of the folder, or to no file"
            with path.open("rb") as file:
                content = file.read(self.allowed.max_bytes + 1)
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            return f"it cannot be read ({type(error).__name__})"
        return self._checked(kind, content)

    def _checked(self, kind: str, content: bytes) -> tuple[str, str] | str:
        if len(content) > self.allowed.max_bytes:
            return self._too_large()
        if not _BEGINNINGS[kind].match(content):  # the type is said by metadata, and any file could be sent by it
            return f"its content is no {kind}"
        return (kind, base64.b64encode(content).decode())

    def _too_large(self) -> str:
        return f"it has more than max_bytes={self.allowed.max_bytes:,}"


_BEGINNINGS = {
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF....WEBP", re.DOTALL),
}


def _wrong(kind: str) -> str:
    return f"it is of the type {quoted(kind)}; APIs take {', '.join(IMAGE_TYPES)}"
