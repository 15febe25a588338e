"""Reads EPUB books: the chapters in their order, as Markdown."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree as ET

from retrivex.errors import LoadError
from retrivex.loading.html import load_html
from retrivex.loading.limits import Allowance
from retrivex.loading.markdown import make_loaded
from retrivex.loading.package import check_entities, open_package
from retrivex.loading.report import Loaded
from retrivex.model.document import Document
from retrivex.model.media import Media, media_metadata, read_media

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_FONT_SCRAMBLING = re.compile(rb"http://(?:www\.idpf\.org/2008/embedding|ns\.adobe\.com/pdf/enc#RC)")
_ALGORITHM = re.compile(rb"Algorithm\s*=")
# browsers read `<title/>` of XHTML as a title without end, which takes in the page
_CLOSED_AT_ONCE = re.compile(rb"<(title|script|style|textarea|iframe)\b([^<>]*)/>", re.IGNORECASE)
_HEADING = re.compile(r"^#{1,6} ", re.MULTILINE)


def load_epub(raw: bytes, doc_id: str, source: str | None = None) -> Loaded:
    """Read an EPUB book as Markdown; offsets count in that Markdown.

    The chapters follow the book's reading order. A chapter without a heading of its own gets its page's title as one.
    The table of contents is left out, and so are chapters without text: a note says how many. Title, author, language
    and date go to the metadata.

    Raises
    ------
    LoadError
        If it is broken, protected, unpacks to too much, declares XML entities, or no chapter has text.
    """
    notes: list[str] = []
    texts: list[str] = []
    media: list[Media] = []
    allowance = Allowance(len(raw))
    with open_package(raw, "EPUB book") as package:
        if _is_protected(package):
            raise LoadError("its text is encrypted (DRM): it can be read only by the shop's own program; leave it out")
        chapters, metadata = _read_book(package)
        for name in chapters:
            try:
                # a chapter is checked by what it unpacks to, the book by its size
                chapter = load_html(_CLOSED_AT_ONCE.sub(rb"<\1\2></\1>", package.read(name)), name)
            except (KeyError, LoadError) as error:
                reason = "the book does not hold it" if isinstance(error, KeyError) else str(error).partition(";")[0]
                notes.append(f"{posixpath.basename(name)} left out: {reason}")
                continue
            notes.extend(f"{posixpath.basename(name)}: {note}" for note in chapter.notes)
            texts.append(_headed(chapter.document))
            begins = sum(map(len, texts)) + len(texts) - 1 - len(chapter.document.text)
            for one in read_media(chapter.document.metadata):
                inside = posixpath.join(posixpath.basename(doc_id), posixpath.dirname(name), unquote(one.uri))
                uri = one.uri if "://" in one.uri else posixpath.normpath(inside)
                media.append(replace(one, uri=uri, at=begins + (one.at or 0)))
            allowance.take(len(texts[-1]))
    if not texts:
        raise LoadError("none of its chapters has text: it is probably a book of pictures; leave it out")
    title = metadata.pop("title", None)
    known = {**metadata, **media_metadata(media)}
    return make_loaded(doc_id, "\n".join(texts), source, title=title, metadata=known, notes=notes)


def _is_protected(package: zipfile.ZipFile) -> bool:
    """Whether more than fonts is encrypted; fonts are scrambled in many free books, too."""
    if _ENCRYPTION not in package.namelist():
        return False
    declared = package.read(_ENCRYPTION)
    return len(_ALGORITHM.findall(declared)) > len(_FONT_SCRAMBLING.findall(declared))


def _read_book(package: zipfile.ZipFile) -> tuple[list[str], dict[str, str]]:
    """Return the names of the chapters in the package, in reading order, and the metadata."""
    container = _parse(package, _CONTAINER)
    root = next((item.get("full-path") for item in _named(container, "rootfile") if item.get("full-path")), None)
    if root is None:
        raise LoadError(f"its {_CONTAINER} names no package document: it is no sound EPUB book; save it anew")
    declared = _parse(package, root)
    items = {item.get("id"): item for item in _named(declared, "item")}
    chapters = []
    for reference in _named(declared, "itemref"):
        item = items.get(reference.get("idref"))
        # `nav` is the table of contents
        if item is not None and "nav" not in (item.get("properties") or "").split():
            path = unquote(item.get("href") or "").partition("#")[0]
            chapters.append(posixpath.normpath(posixpath.join(posixpath.dirname(root), path)))
    known = {"title": "title", "creator": "author", "language": "language", "date": "date", "publisher": "publisher"}
    metadata: dict[str, str] = {}
    for element in declared.iter():
        name = known.get(_local(element))
        if name and (text := " ".join("".join(element.itertext()).split())):
            metadata[name] = f"{metadata[name]}, {text}" if name == "author" and name in metadata else text
    return list(dict.fromkeys(chapters)), metadata


def _parse(package: zipfile.ZipFile, name: str) -> Any:
    xml = package.read(name)
    check_entities(name, xml, doctype=True)
    return ET.fromstring(xml)


def _named(root: Any, name: str) -> Iterator[Any]:
    return (element for element in root.iter() if _local(element) == name)


def _local(element: Any) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _headed(chapter: Document) -> str:
    if _HEADING.search(chapter.text) or not chapter.title:
        return chapter.text
    return f"# {chapter.title}\n\n{chapter.text}"
