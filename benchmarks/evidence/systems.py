"""The systems that need nothing but RetriVex: nearest chunks, blind windows, the reference, RetriVex itself."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import retrivex
from benchmarks.evidence.protocol import Case, System
from benchmarks.evidence.reference import prepare, reference
from retrivex import RetrievalConfig, SeedHit, Span, SpanComposer
from retrivex.evaluation.metrics import Range

CALIBRATION = Path(__file__).parents[1] / "results" / "calibration"

# RetriVex as text with blank lines between its spans, so that it pays for no more marks than the others
PLAIN: dict[str, Any] = {"numbered": False, "gap_markers": False, "tokenizer": "cl100k_base"}


def nearest(case: Case) -> list[Range]:
    """Return the hits, best first: plain kNN."""
    return case.hit_ranges()


def in_document_order(case: Case) -> list[Range]:
    """Return the hits that fit, in document order (DOS): the evidence of kNN, in another order."""
    return sorted(_fitting(case))


def _fitting(case: Case) -> list[Range]:
    left, kept = case.budget, []
    for place, _ in case.hits:
        tokens = int(case.index.chunk_tokens[place])
        if tokens <= left:
            kept.append(case.index.range_of(place))
            left -= tokens
    return kept or case.hit_ranges()[:1]


def widened(reach: int) -> Callable[[Case], Sequence[Range]]:
    """Return kNN with `reach` neighbours on each side of every hit."""

    def spans(case: Case) -> list[Range]:
        return [case.index.range_between(case.index.neighbours(place, reach)) for place, _ in case.hits]

    return spans


class RetriVex:
    """RetriVex over the hits: a composer for each set of options, as it would be kept in a program.

    Parameters
    ----------
    window : L; None takes 1, and 2 where there are fewer than 20 hits; "default" leaves it, and with it `pool_factor`,
        as `RetrievalConfig` has it
    per_set : take the coefficients fitted without the set that is asked
    embeddings : whether the chunks and the question bring theirs; without, only the hits' scores are known
    options : of `RetrievalConfig`
    """

    def __init__(
        self,
        window: int | Literal["default"] | None = None,
        *,
        per_set: bool = False,
        embeddings: bool = True,
        **options: Any,
    ) -> None:
        self.window = window
        self.embeddings = embeddings
        self.per_set = per_set
        self.options = {**PLAIN, **options}
        self._composers: dict[str, SpanComposer] = {}

    def _composer(self, set_name: str) -> SpanComposer:
        if set_name not in self._composers:
            own = {"coefficients": coefficients(set_name)} if self.per_set else {}
            self._composers[set_name] = SpanComposer(RetrievalConfig(**self.options, **own))
        return self._composers[set_name]

    def __call__(self, case: Case) -> list[Range]:
        """Return the spans of the composition, best first."""
        fixed = self.window if self.window is not None else 1 if len(case.hits) >= 20 else 2
        width = {} if fixed == "default" else {"window": fixed}
        store = case.index.store if self.embeddings else case.index.bare_store
        composition = self._composer(case.asked.set_name).compose(
            [SeedHit(store[case.index.chunks[place].key], score) for place, score in case.hits],
            store,
            query=case.asked.question.text,
            query_embedding=case.asked.embedding if self.embeddings else None,
            token_budget=case.budget,
            **width,
        )
        return [part for span in sorted(composition.spans, key=lambda span: -span.score) for part in ranges_of(span)]


def ranges_of(span: Span) -> list[Range]:
    """Return where a span's text stands, piece by piece where its source has gaps."""
    parts: list[Range] = []
    for segment in span.segments:
        start = segment.char_start or 0
        end = start + segment.end - segment.start
        if parts and parts[-1][2] == start:
            parts[-1] = (span.doc_id, parts[-1][1], end)
        else:
            parts.append((span.doc_id, start, end))
    return parts


def coefficients(set_name: str) -> Path:
    """Return the file of the model that was fitted without a set."""
    path = CALIBRATION / f"{set_name}.json"
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there: `make calibrate` writes the models fitted without a set")
    return path


APART = ("chunking", "cli", "encoders", "evaluation", "loading", "prompts", "reorder", "retrieval", "testing")
"""Folders of the package that have no part in making a context of hits."""


@cache
def code() -> str:
    """Return a digest of the code that makes a context, so that results of other code are not taken for this one's."""
    package = Path(retrivex.__file__).parent
    digest = hashlib.sha256()
    for path in sorted([*package.rglob("*.py"), *package.rglob("*.json")]):
        if path.relative_to(package).parts[0] not in APART:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def code_and_model(set_name: str) -> str:
    """Return a digest of the code and of the coefficients used for a set."""
    return f"{code()} {hashlib.sha256(coefficients(set_name).read_bytes()).hexdigest()[:16]}"


def retrivex_systems() -> list[System]:
    """Return RetriVex with each of its scorers; the calibrated one as fitted without the set that is asked."""
    calibrated = RetriVex(per_set=True, scoring="calibrated")
    widening = RetriVex("default", per_set=True, scoring="calibrated")
    bare = RetriVex(per_set=True, scoring="calibrated", embeddings=False)
    return [
        System("RetriVex weighted", RetriVex(scoring="weighted"), lambda _: code(), _warm),
        System("RetriVex calibrated", calibrated, code_and_model, _warm),
        System("RetriVex calibrated, no embeddings", bare, code_and_model, _warm_bare),
        System("RetriVex calibrated, default windows", widening, code_and_model, _warm),
    ]


def _warm(case: Case) -> object:
    return case.index.store


def _warm_bare(case: Case) -> object:
    return case.index.bare_store


def own_systems() -> list[System]:
    """Return every system of this module."""
    return [
        System("kNN", nearest),
        System("DOS", in_document_order),
        System("kNN±1", widened(1)),
        System("kNN±2", widened(2)),
        *[System(f"reference {kind}", reference(kind), prepare=prepare, reads_hits=False) for kind in "fkj"],
        *retrivex_systems(),
    ]
