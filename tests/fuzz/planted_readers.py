"""Bugs planted in what reads files, for the fuzzer to find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fuzz.mutants import Mutant

from retrivex.chunking.token_chunker import TokenChunker
from retrivex.loading import files, jsonl
from retrivex.loading.report import Loaded
from retrivex.retrieval import indexing

Loader = Callable[[bytes, str, str | None], Loaded]


def _loader(suffix: str, change: Callable[[Loader, bytes, str, str | None], Loaded]) -> Callable[[Any], Any]:
    """Put another loader in place of that of a type."""

    def planted(loaders: Any) -> Any:
        original = loaders[suffix]
        return {**loaders, suffix: lambda raw, doc_id, source=None: change(original, raw, doc_id, source)}

    return planted


def _nested(original: Loader, raw: bytes, doc_id: str, source: str | None) -> Loaded:
    if raw.count(b"<") > 500:
        raise RecursionError("maximum recursion depth exceeded")
    return original(raw, doc_id, source)


def _with_mark(original: Loader, raw: bytes, doc_id: str, source: str | None) -> Loaded:
    loaded = original(raw, doc_id, source)
    return replace(loaded, document=replace(loaded.document, text="\ufeff" + loaded.document.text))


def _endless(original: Loader, raw: bytes, doc_id: str, source: str | None) -> Loaded:
    while raw.count(b"|") > 100:
        pass
    return original(raw, doc_id, source)


def _only_objects(original: Any) -> Any:
    def parse(line: bytes, number: int, make: Any) -> Any:
        if line.strip() in (b"null", b"[]"):
            raise TypeError("'NoneType' object is not subscriptable")
        return original(line, number, make)

    return parse


def _one_off(original: Any) -> Any:
    def chunk(self: Any, document: Any) -> Any:
        for made in original(self, document):
            at = made.metadata
            yield replace(made, metadata=replace(at, char_start=at.char_start + 1, char_end=at.char_end + 1))

    return chunk


def _source_as_said(original: Any) -> Any:
    """Let a line say which file it was read from."""

    def place(self: Any, document: Any) -> Any:
        made = original(self, document)
        return replace(made, source=document.source or made.source)

    return place


def _scope_as_said(original: Any) -> Any:
    """Let a line say whose its document is, whatever the run says."""

    def take(self: Any, document: Any, scope: Any, *rest: Any) -> Any:
        return original(self, document, document.scope or scope, *rest)

    return take


PLANTED = (
    Mutant("deeply nested pages crash", files, "_LOADERS", _loader(".html", _nested)),
    Mutant("byte order marks stay in the text", files, "_LOADERS", _loader(".txt", _with_mark)),
    Mutant("many bars are read without end", files, "_LOADERS", _loader(".md", _endless), slow=True),
    Mutant("a line that is no object crashes", jsonl, "_parse_line", _only_objects),
    Mutant("a line names its file, and so another's document", indexing._Reading, "place", _source_as_said),
    Mutant("a line names its scope", indexing.Indexer, "_take", _scope_as_said),
    Mutant("chunks are one character off", TokenChunker, "chunk", _one_off),
)
