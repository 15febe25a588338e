"""`retrivex around`: shows what stands around a citation."""

from __future__ import annotations

from typing import Annotated

import typer

from retrivex.cli import options
from retrivex.cli.terminal import numbered, one_line, write_json, write_text
from retrivex.composition.headings import cite_headings
from retrivex.errors import StoreError, quoted
from retrivex.model.chunk import MAX_CHUNK_ID, Scope
from retrivex.model.serialization import chunk_to_dict
from retrivex.model.window import Window
from retrivex.pipeline import RetriVex
from retrivex.service.index import known_chunks
from retrivex.service.mcp.citations import read_citation, write_citation
from retrivex.stores import SQLiteStore

_FORMS = "DOCUMENT#START-END (characters) or DOCUMENT#chunk-N."


def around(
    *,
    citation: Annotated[str, typer.Argument(metavar="CITATION", help=_FORMS, show_default=False)],
    before: Annotated[int, typer.Option("--before", "-B", min=0, metavar="N", help="Chunks to show before it.")] = 1,
    after: Annotated[int, typer.Option("--after", "-A", min=0, metavar="N", help="Chunks to show after it.")] = 1,
    db: options.Database = options.DEFAULT_DATABASE,
    scope: options.Scopes = None,
    as_json: options.AsJson = False,
) -> None:
    """Show what stands around a citation in its document, as one passage.

    \b
    Examples:
      retrivex around guide/install.md#120-480
      retrivex around guide/install.md#chunk-3 --before 2 --after 2
      retrivex around guide/install.md#120-480 --json | jq -r .text
    """
    visible = options.make_scope(scope)
    with SQLiteStore(db, read_only=True, with_embeddings=False) as store:
        doc_id, first, last = _find(store, citation, visible)
        found = RetriVex(store).around((doc_id, first), before, after + last - first, scope=visible)
    if found is None:
        raise StoreError(f"{db} lost {doc_id!r} while it was read: ask again")
    place = write_citation(doc_id, found.char_start, found.char_end, found.chunk_ids[0])
    heading = cite_headings(chunk.metadata.heading_path or () for chunk in found.chunks)
    if as_json:
        chunks = [chunk_to_dict(chunk, embedding=False) for chunk in found.chunks]
        write_json({"citation": place, "heading": heading, "text": found.text, "chunks": chunks})
        return
    said = [place, numbered("chunk", *found.span_range), heading]
    write_text(f"{found.text}\n\n{one_line(', '.join(part for part in said if part))}")


def _find(store: SQLiteStore, citation: str, scope: Scope) -> tuple[str, int, int]:
    """Return the document and the first and last chunk that a citation points to."""
    place = read_citation(citation)
    doc_id, number, start = place["doc_id"], place.get("chunk_id"), place.get("char_start")
    window = Window(doc_id, 0, MAX_CHUNK_ID) if number is None else Window(doc_id, number, number + 1)
    chunks = [chunk.metadata for chunk in store.fetch([window], scope)]
    if start is not None:  # what has no offsets is cited by its chunk
        ends = start, max(place["char_end"], start + 1)
        chunks = [one for one in chunks if (one.char_start or 0) < ends[1] and ends[0] < (one.char_end or 0)]
    ids = [one.chunk_id for one in chunks]
    if not ids:
        raise StoreError(
            f"{store.path} has nothing at {quoted(citation)} that this call may see; of {doc_id!r} it has "
            f"{known_chunks(store, doc_id, scope)}: `retrivex inspect --document ID` lists the chunks of a document"
        )
    return doc_id, min(ids), max(ids)
