"""Compositions of known documents, as JSON: what must be the same on every machine, and fractions.

`python -m support.whole_compositions`, run with `tests/` on the path, prints them; `.ci/determinism.py` runs it in
other environments and compares.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from support.preset_cases import embed, load_golden, make_documents
from support.strategies import count_words

from retrivex import Composition, RetrievalConfig, SeedHit, SpanComposer, Window
from retrivex.chunking import get_chunker
from retrivex.loading import load_file
from retrivex.model.chunk import ChunkKey
from retrivex.stores import InMemoryChunkStore

HANDBOOK = Path(__file__).parents[1] / "golden" / "handbook"
PRESETS = ("balanced", "speed", "quality", "0.2", "published")
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"ordering_strategy": "auto", "context_format": "xml"},
    {"diversity": 0.4, "near_duplicate_threshold": 0.8, "token_budget": 90},
    {"run_cost": 0.5, "span_header": "full", "token_budget": 60},
    {"scoring": "weighted", "window": 3, "keep_top": 2},
)


def compose_all() -> Iterator[tuple[str, Composition]]:
    """Yield every composition with its name: golden documents with vectors and without, the handbook with words."""
    golden = load_golden()
    questions = sorted({case["question"] for case in golden["cases"] if case["question"]})
    for embedded in (True, False):
        store = make_documents(golden["documents"], embedded=embedded)
        for (at, question), preset, options in product(enumerate(questions), PRESETS, OPTIONS):
            hits = _rank(store, question)
            vector = embed(question) if embedded else None
            config = RetrievalConfig.preset(preset, **options)
            made = SpanComposer(config, tokenizer=count_words).compose(
                hits, store, query=question, query_embedding=vector
            )
            yield f"golden {at} {embedded} {preset} {options}", made
    yield from _of_handbook()


def _rank(store: dict[ChunkKey, Any], question: str) -> list[SeedHit]:
    wanted = np.array(embed(question))
    scored = sorted(((float(wanted @ embed(chunk.text)), key) for key, chunk in store.items()), reverse=True)
    return [SeedHit(store[key], round(score, 6)) for score, key in scored[:6]]


def _of_handbook() -> Iterator[tuple[str, Composition]]:
    chunker = get_chunker("auto", size=60, tokenizer=count_words)
    texts = [path for path in sorted((HANDBOOK / "documents").iterdir()) if path.suffix in (".md", ".txt")]
    chunks = [chunk for path in texts for document in load_file(path) for chunk in chunker.chunk(document)]
    store = InMemoryChunkStore(chunks)
    lines = (HANDBOOK / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    for at, line in enumerate(lines):
        question = json.loads(line)["question"]
        words = set(question.lower().split())
        best = sorted(chunks, key=lambda c: (-len(words & set(c.text.lower().split())), c.key))[:5]
        hits = [SeedHit(chunk, 1.0 / (rank + 1)) for rank, chunk in enumerate(best)]
        assert store.fetch([Window(best[0].metadata.doc_id, 0, 1)])
        for preset in ("balanced", "quality"):
            composer = SpanComposer(RetrievalConfig.preset(preset, token_budget=300), tokenizer=count_words)
            yield f"handbook {at} {preset}", composer.compose(hits, store, query=question)


def split(made: Composition) -> tuple[Any, list[float]]:
    """Return what a composition says without its fractions, and these in order."""
    numbers: list[float] = []

    def walk(value: Any) -> Any:
        if isinstance(value, float):
            numbers.append(value)
            return None
        if isinstance(value, dict):
            return {name: walk(item) for name, item in value.items()}
        return [walk(item) for item in value] if isinstance(value, (list, tuple)) else value

    return walk(made.to_dict()), numbers


def main() -> None:
    compositions = {name: split(made) for name, made in compose_all()}
    versions = {"python": platform.python_version(), "numpy": np.__version__}
    json.dump({"versions": versions, "compositions": compositions}, sys.stdout)


if __name__ == "__main__":
    main()
