"""Inputs and compositions of `tests/golden/presets.json`, and how they are recorded.

The documents are clean prose in chunks of whole sentences. `python -m support.preset_cases`, run in `tests/`, records
the compositions anew: only where a preset is meant to change.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

from support.strategies import count_words, make_chunk, make_store

from retrivex import Chunk, Composition, RetrievalConfig, SeedHit, SpanComposer
from retrivex.model.chunk import ChunkKey

GOLDEN = Path(__file__).parents[1] / "golden" / "presets.json"
_DIMENSIONS = 24


def load_golden() -> dict[str, Any]:
    """Return `documents`, chunk texts by document, and `cases`, each with what was `composed`."""
    golden: dict[str, Any] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return golden


def embed(text: str) -> list[float]:
    """Return a toy embedding of unit length: words counted by the sum of their letters."""
    counts = [0] * _DIMENSIONS
    for word in re.findall(r"\w+", text.lower()):
        counts[sum(map(ord, word)) % _DIMENSIONS] += 1
    length = math.sqrt(sum(count * count for count in counts)) or 1.0
    return [count / length for count in counts]


def make_documents(documents: dict[str, list[str]], *, embedded: bool) -> dict[ChunkKey, Chunk]:
    """Return a store of documents whose chunks follow each other without gap."""
    chunks = []
    for doc_id, texts in documents.items():
        start = 0
        for at, text in enumerate(texts):
            known = {"embedding": embed(text)} if embedded else {}
            chunks.append(make_chunk(doc_id, at, text, start, chunk_count=len(texts), **known))
            start += len(text)
    return make_store(*chunks)


def compose_case(case: dict[str, Any], documents: dict[str, list[str]]) -> Composition:
    """Compose an input with its preset, its options and a count of words."""
    embedded, question = case["embedded"], case["question"]
    store = make_documents(documents, embedded=embedded)
    hits = [SeedHit(store[doc_id, chunk_id], score) for doc_id, chunk_id, score in case["hits"]]
    config = RetrievalConfig.preset(case["preset"], **case["options"])
    vector = embed(question) if embedded and question is not None else None
    return SpanComposer(config, tokenizer=count_words).compose(hits, store, query=question, query_embedding=vector)


def summarize(made: Composition) -> dict[str, Any]:
    """Return what must stay: text, tokens, where the spans stand, and their values to 6 digits."""
    return {
        "text": made.text,
        "tokens": made.tokens,
        "spans": [f"{span.doc_id} {span.char_start}-{span.char_end}" for span in made.spans],
        "scores": [round(span.score, 6) for span in made.spans],
        "values": [round(span.value, 6) for span in made.spans],
        "confidence": None if made.confidence is None else round(made.confidence, 6),
    }


def record() -> None:
    """Compose every input and write what came out."""
    golden = load_golden()
    for case in golden["cases"]:
        case["composed"] = summarize(compose_case(case, golden["documents"]))
    GOLDEN.write_text(json.dumps(golden, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    record()
