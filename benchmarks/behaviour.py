"""The fingerprint of behaviour: a short name for what each level of effort composes of fixed public questions.

A refactoring keeps it, and a change of what is shown breaks it. Every result of what is shown carries the fingerprint
that it was measured with, and no page is printed from one whose fingerprint is not today's (`load`).

Run: `make fingerprint`, which compares today's with that in `results/behaviour.json`; `python -m benchmarks.behaviour
--write` puts it there, and then everything has to be measured again. The data lie in RETRIVEX_DATA (`../shared/data`).
Today's is kept in RETRIVEX_CACHE (~/.cache/retrivex) under a digest of the code, so that only one result waits for it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.code import ROOT, digest
from benchmarks.suites.datasets import load_set
from retrivex import Composition, RetrievalConfig, SeedHit, SpanComposer
from retrivex.encoders.encoder import HashingEncoder
from retrivex.evaluation.run import Index
from retrivex.evaluation.run.index import sentence_packed
from retrivex.evaluation.run.sets import draw
from retrivex.evaluation.run.vector_cache import cache_folder

DATA = Path(os.environ.get("RETRIVEX_DATA", ROOT.parent / "shared" / "data"))
KEPT = Path(__file__).parent / "results" / "behaviour.json"
FIELD = "behaviour"
"""Field of a result that holds its fingerprint."""

SETS = ("chunking_evaluation", "contextual_embeddings", "covid_qa", "evidence_inference", "hotpotqa", "qmsum", "squad")
QUESTIONS = 43  # of a set, some 300 in all
SIZE, HITS = 200, 50
BUDGETS = (500, 1000, 2000, 4000, 8000)
EFFORTS = ("standard", "lean", "full")
RETRIEVERS = ("bm25", "fused", "dense")


class StaleResultError(Exception):
    """A result was measured with another behaviour than today's."""


def compositions() -> Iterator[Composition]:
    """Yield what is composed of the documents of each question; retrievers and budgets take turns."""
    encoder = HashingEncoder()
    composers = [SpanComposer(RetrievalConfig(effort=effort, tokenizer="cl100k_base")) for effort in EFFORTS]
    for name in SETS:
        found = load_set(name, DATA)
        places = draw([at for at, question in enumerate(found.questions) if question.evidence], QUESTIONS)
        asked = [replace(found.questions[at], within=()) for at in places]
        answering = dict.fromkeys(part.doc_id for question in asked for part in question.evidence)
        documents = {doc_id: found.documents[doc_id] for doc_id in answering}
        chunks = sentence_packed(documents, SIZE)
        index = Index(documents, chunks=chunks, vectors=encoder.encode([chunk.text for chunk in chunks]))
        vectors = encoder.encode([question.text for question in asked])
        for at, question in enumerate(asked):
            retriever = RETRIEVERS[at % len(RETRIEVERS)]
            store = index.store_for(retriever)
            (hits,) = index.hits([question], retriever, HITS, vectors[at : at + 1])
            for composer in composers:
                yield composer.compose(
                    [SeedHit(store[hit.key], hit.similarity_score) for hit in hits],
                    store,
                    query=question.text,
                    query_embedding=None if retriever == "bm25" else vectors[at],
                    token_budget=BUDGETS[at % len(BUDGETS)],
                )


def measured() -> str:
    """Return a digest of the spans, the text and the promises of each composition, in order."""
    made = hashlib.sha256()
    for found in compositions():
        spans = [(span.doc_id, span.char_start, span.char_end, span.prefix, span.text) for span in found.spans]
        promised = [None if one is None else round(one, 4) for one in (found.confidence, found.expected_recall)]
        made.update(json.dumps([found.text, found.tokens, spans, promised]).encode("utf-8", "surrogatepass"))
    return made.hexdigest()[:16]


def _code() -> str:
    """Return a digest of what the fingerprint depends on, as it lies there now."""
    package, here = ROOT / "retrivex", Path(__file__).parent
    files = [*package.rglob("*.py"), *package.rglob("*.json"), *here.glob("*.py"), *here.glob("suites/**/*.py")]
    versions = [f"{name} {version(name)}" for name in ("numpy", "tiktoken")]
    return "-".join([digest(files), hashlib.sha256(f"{sys.version} {versions}".encode()).hexdigest()[:8]])


_AT_START = _code()


@cache
def today() -> str:
    """Return the fingerprint of today's code; measured once for each state of it.

    Raises
    ------
    StaleResultError
        If the code is another one than when this process began: its results are of neither.
    """
    if _code() != _AT_START:
        raise StaleResultError("the code changed while this was measured: measure it again")
    path = cache_folder() / "behaviour" / _AT_START
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}")
        draft.write_text(measured(), encoding="utf-8")
        draft.replace(path)
    return path.read_text(encoding="utf-8")


def of_new_process() -> str:
    """Return today's fingerprint, also where this process has changed the code: fitting writes coefficients."""
    made = subprocess.run([sys.executable, "-m", "benchmarks.behaviour", "--bare"], cwd=ROOT, check=True,
                          capture_output=True, text=True)  # fmt: skip
    return made.stdout.strip()


def kept() -> str:
    """Return the fingerprint that the committed results must have."""
    return str(json.loads(KEPT.read_text(encoding="utf-8"))[FIELD])


def check(path: Path, found: dict[str, Any]) -> None:
    """Refuse a result that was measured with another behaviour.

    Raises
    ------
    StaleResultError
        If its fingerprint is not the one kept.
    """
    if found.get(FIELD) != kept():
        said = f"{path.name} was measured with the behaviour {found.get(FIELD)}, and today's is {kept()}"
        raise StaleResultError(f"{said}: measure it again, see benchmarks/README.md for the command")


def load(path: Path) -> dict[str, Any]:
    """Read a result of what is shown.

    Raises
    ------
    StaleResultError
        If it was measured with another behaviour than the one kept.
    """
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    check(path, found)
    return found


def main() -> int:
    """Print the fingerprint; write it, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help=f"to {KEPT.relative_to(ROOT)}")
    parser.add_argument("--bare", action="store_true", help="print nothing else, and compare nothing")
    asked = parser.parse_args()
    found = today()
    if asked.bare:
        print(found)
        return 0
    if asked.write:
        KEPT.write_text(json.dumps({FIELD: found}) + "\n", encoding="utf-8")
    print(f"behaviour {found}, {'kept' if found == kept() else f'and kept is {kept()}: the results are of another'}")
    return int(found != kept())


if __name__ == "__main__":
    sys.exit(main())
