"""Runs the published retrivexlib 0.1.0 for `evidence_retrivexlib.py`, in an environment of its own.

It imports as `retrivex` too, so that it cannot live beside the library of this repository. Reads lines of JSON, answers
each with one. `{"chunks": [[doc_id, chunk_id, start, end, text, embedding], ...]}` adds chunks to the store and
`"hits": [[doc_id, chunk_id, similarity], ...]` with `"config"` asks for spans: `{"spans": [[doc_id, start, end], ...],
"ms": ...}`, the best first.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from retrivex import Chunk, ChunkMetadata, RetrievalConfig, SeedHit, SpanComposer


def answer(request: dict[str, Any], store: dict[tuple[str, int], Chunk]) -> dict[str, Any]:
    """Return the spans of one question."""
    for doc_id, chunk_id, start, end, text, embedding in request["chunks"]:
        store[doc_id, chunk_id] = Chunk(text, ChunkMetadata(doc_id, chunk_id, start, end), embedding)
    started = time.thread_time()
    hits = [SeedHit(store[doc_id, chunk_id], score) for doc_id, chunk_id, score in request["hits"]]
    spans = SpanComposer(RetrievalConfig(**request["config"])).retrieve(hits, store)
    ms = 1e3 * (time.thread_time() - started)
    spans = sorted(spans, key=lambda span: -span.score)
    ranges = [
        (
            span.doc_id,
            min(chunk.metadata.char_start for chunk in span.chunks),
            max(chunk.metadata.char_end for chunk in span.chunks),
        )
        for span in spans
    ]
    return {"spans": ranges, "ms": ms}


def main() -> None:
    """Answer until there is nothing more to read."""
    store: dict[tuple[str, int], Chunk] = {}
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(json.loads(line), store)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
