"""Chunks that a store is tested with."""

from __future__ import annotations

import numpy as np

from retrivex.model.chunk import Chunk, ChunkMetadata

_DIMENSION = 8


def contract_chunks(documents: int = 6, chunks: int = 12, scope: str | None = None, prefix: str = "doc") -> list[Chunk]:
    """Return the chunks of a few documents, each with every field, and with a vector.

    Its own metadata are a text, a whole number, a fraction and a truth value: what every store can keep.

    Texts of a document are cut without gaps, and differ between documents and scopes. Vectors have shape (8,) and unit
    length, and are the same in every run.
    """
    made: list[Chunk] = []
    for d in range(documents):
        doc_id = f"{prefix}-{d}"
        at = 0
        for n in range(chunks):
            text = f"{doc_id} {scope or 'open'}: sentence {n} of {chunks}. "
            made.append(_chunk(text, doc_id, n, at, chunks, scope))
            at += len(text)
    return made


def odd_ids(*, nul: bool) -> list[str]:
    """Return document names that break stores which paste values into queries; with NUL where a store can hold it."""
    odd = [
        "it's", 'say "hi"', "100%", "under_score", "new\nline", "back\\slash", "semi;colon--", "{brace}", "$dollar",
        "a:b", "a/b", " ", "' OR '1'='1", '"}]}', "naïve 蜜蜂 🐝", "x" * 300, "*", "tab\there", "null", "0",
    ]  # fmt: skip
    return [*odd, "nul\0byte"] if nul else odd


def _chunk(text: str, doc_id: str, n: int, at: int, count: int, scope: str | None) -> Chunk:
    metadata = ChunkMetadata(
        doc_id,
        n,
        at,
        at + len(text),
        heading_path=("Guide", f"Part {n // 6}"),
        page=1 + n // 4,
        parent_id=f"{doc_id}#part-{n // 6}",
        custom_metadata={"author": "François Huber", "year": 1792, "weight": 0.25 + n, "draft": n % 2 == 0},
        timestamp=1_700_000_000.0 + n,
        chunk_count=count,
        scope=scope,
        links=[(f"{doc_id}'s sister, 2nd", n)] if n % 3 == 0 else (),
        prefix="| bee | hive |" if n % 3 == 1 else None,
    )
    return Chunk(text, metadata, vector_of(f"{doc_id}|{n}|{scope}"))


def vector_of(name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Return a vector of shape (8,) and unit length, the same for the same name."""
    drawn = np.random.default_rng(list(name.encode())).standard_normal(_DIMENSION).astype(np.float32)
    unit: np.ndarray[tuple[int, ...], np.dtype[np.float32]] = drawn / np.linalg.norm(drawn)
    return unit
