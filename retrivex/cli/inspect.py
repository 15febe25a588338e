"""`retrivex inspect`: shows the contents of a database."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from retrivex.cli.options import DEFAULT_DATABASE, AsJson, Database
from retrivex.cli.terminal import console, one_line, say, write_json, write_text
from retrivex.errors import StoreError
from retrivex.model.chunk import MAX_CHUNK_ID, Chunk
from retrivex.model.serialization import chunk_to_dict
from retrivex.model.window import Window
from retrivex.retrieval.indexing import CHUNKER_KEY
from retrivex.stores import DocumentInfo, SQLiteStore

SAMPLE = 10
"""Documents that are listed by default."""

MAX_SUMMED = 100_000
"""Chunks up to which their tokens are added up; more would take seconds."""


def inspect(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="The database, in place of --db.", show_default=False)
    ] = None,
    db: Database = DEFAULT_DATABASE,
    document: Annotated[str | None, typer.Option("--document", "-d", metavar="ID", help="Show its chunks.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, metavar="N", help="Documents to list.")] = SAMPLE,
    check: Annotated[bool, typer.Option("--check", help="Read all and say if it is whole.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what a database holds: documents, chunks, tokens, vectors, and how they were made.

    \b
    Examples:
      retrivex inspect
      retrivex inspect --db retrivex.db --document guide/install.md
      retrivex inspect --db retrivex.db --json | jq .chunks
    """
    path = db if file is None else file
    with SQLiteStore(path, read_only=not check, with_embeddings=False) as store:
        if document is not None:
            _show_document(store, document, as_json=as_json)
            return
        facts = _facts(store, limit)
        if check:
            facts["problems"] = store.check()
    if as_json:
        write_json(facts)
    else:
        _show(facts)
    if facts.get("problems"):
        raise StoreError(f"{path} is damaged: {facts['problems'][0]}; index again into a new file")


def _facts(store: SQLiteStore, limit: int) -> dict[str, Any]:
    """Return what there is to say about a database as plain JSON types, with a sample of `limit` documents."""
    info = store.info()
    first = next(store.documents(), None)
    return {
        **asdict(info),
        "path": str(info.path),
        "tokens": _sum_tokens(store) if info.chunks <= MAX_SUMMED else None,
        "chunker": None if first is None else _chunker(store, first),
        "sample": [_document_facts(item) for item in islice(store.documents(), limit)],
    }


def _sum_tokens(store: SQLiteStore) -> int | None:
    """Return the stored token counts' sum; None where some chunk was not counted."""
    counts = [tokens for item in store.documents() for _, tokens in _chunks(store, item)]
    return None if None in counts else sum(filter(None, counts))


def _chunks(store: SQLiteStore, item: DocumentInfo) -> list[tuple[Chunk, int | None]]:
    """Return the chunks of a document with their stored token counts."""
    window = Window(item.doc_id, 0, MAX_CHUNK_ID)
    stored = store.fetch_counted([window], [item.scope], tokenizer=item.tokenizer or "")
    return [(chunk, None if count is None else count.tokens) for chunk, count in stored]


def _chunker(store: SQLiteStore, item: DocumentInfo) -> str | None:
    document = store.get_document(item.doc_id, item.scope)
    name = None if document is None else document.metadata.get(CHUNKER_KEY)
    return name if isinstance(name, str) else None


def _document_facts(item: DocumentInfo) -> dict[str, Any]:
    return {
        "doc_id": item.doc_id,
        "title": item.title,
        "source": item.source,
        "format": item.format,
        "scope": item.scope,
        "chunks": item.chunk_count,
        "vectors": item.vector_count,
        "characters": item.characters,
    }


def _show(facts: dict[str, Any]) -> None:
    write_text(one_line(facts["path"]))
    for name, value in _lines(facts):
        say(f"{name:<11} {value}", indent=2, whole=True)
    for item in facts["sample"]:
        name = " ".join(one_line(part) for part in (item["doc_id"], item["title"] and f"({item['title']})") if part)
        say(f"{name}: {item['chunks']:,} chunks, {item['characters']:,} characters", whole=True)
    rest = facts["documents"] - len(facts["sample"])
    if rest > 0:
        write_text(f"and {rest:,} more documents (--limit N lists more)")


def _lines(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "documents", f"{facts['documents']:,} ({facts['characters']:,} characters)"
    yield "chunks", f"{facts['chunks']:,}" + (f", and {facts['parents']:,} parents" if facts["parents"] else "")
    tokens = facts["tokens"]
    counted = ", ".join(facts["tokenizers"]) or "not counted"
    yield "tokens", f"{tokens:,} ({counted})" if tokens is not None else f"not added up ({counted})"
    if facts["chunker"]:
        yield "chunker", one_line(facts["chunker"])
    if facts["vector_model"]:
        yield "vectors", f"{facts['vectors']:,} by {facts['vector_model']}, {facts['vector_dimension']} dimensions"
    else:
        yield "vectors", "none"
    scopes = [scope for scope in facts["scopes"] if scope is not None]
    if scopes:
        yield "scopes", one_line(", ".join(scopes))
    yield "file", f"{facts['size_bytes']:,} bytes, schema version {facts['schema_version']}"
    if "problems" in facts:
        yield "check", "; ".join(facts["problems"]) or "whole"


def _show_document(store: SQLiteStore, doc_id: str, *, as_json: bool) -> None:
    item = next((item for item in store.documents() if item.doc_id == doc_id), None)
    if item is None:
        raise StoreError(f"{store.path} holds no document {doc_id!r}: its documents are listed without --document")
    counted = _chunks(store, item)
    if as_json:
        chunks = [{**chunk_to_dict(chunk, embedding=False), "tokens": tokens} for chunk, tokens in counted]
        write_json({**_document_facts(item), "chunker": _chunker(store, item), "chunk_list": chunks})
        return
    write_text(f"{one_line(item.title or doc_id)}: {item.chunk_count:,} chunks, {item.characters:,} characters")
    for chunk, tokens in counted:
        console().print(_chunk_line(chunk, tokens), soft_wrap=True)


def _chunk_line(chunk: Chunk, tokens: int | None) -> Text:
    place = chunk.metadata
    where = [
        "" if place.page is None else f"page {place.page}",
        "" if place.char_start is None else f"{place.char_start:,}-{place.char_end:,}",
        "" if tokens is None else f"{tokens:,} tokens",
        one_line(" > ".join(place.heading_path or ())),
    ]
    text = one_line(chunk.text)
    return Text.assemble(
        (f"{place.chunk_id:>5}  ", "bold"),
        (", ".join(part for part in where if part), "cyan"),
        f"\n       {text[:100]}{'…' if len(text) > 100 else ''}",
    )
