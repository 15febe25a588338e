"""The systems that need nothing but RetriVex: nearest chunks, blind windows, the reference, RetriVex itself."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import retrivex
from benchmarks.code import digest
from benchmarks.evidence.ranges import RangeSystem
from benchmarks.evidence.reference import prepare, reference
from retrivex import RetrievalConfig, SeedHit, SpanComposer
from retrivex.evaluation.metrics import Range
from retrivex.evaluation.run import Case
from retrivex.evaluation.run.measures import ranges_of
from retrivex.scoring.calibrated import load_coefficients

DEFAULT, LEAN, FULL = "RetriVex default", "RetriVex lean", "RetriVex full"
WEIGHTED = "RetriVex weighted"
REFERENCE = "reference k"
LONGEST_TOKEN = 8  # characters, on the mean over a document: a longer one is not counted
SMALL = 4_000
"""Tokens: several servers show a document whole that has no more."""

CALIBRATION = Path(__file__).parents[1] / "results" / "calibration"

# RetriVex as text with blank lines between its spans, so that it pays for no more marks than the others
PLAIN: dict[str, Any] = {"numbered": False, "gap_markers": False, "tokenizer": "cl100k_base"}


def similarities(case: Case) -> list[float]:
    """Return scores in [0, 1] for methods that ask for such: cosines as they are, others as a share of the best."""
    scores = [hit.similarity_score for hit in case.hits]
    best = 1.0 if case.retriever == "dense" else max(scores, default=1.0)
    return [min(1.0, max(0.0, score / best)) for score in scores]


def nearest(case: Case) -> list[Range]:
    """Return the hits, best first: plain kNN."""
    return case.hit_ranges()


def in_document_order(case: Case) -> list[Range]:
    """Return the hits that fit, in document order (DOS): the evidence of kNN, in another order."""
    return sorted(map(case.index.range_of, fitting_places(case)))


def fitting_places(case: Case) -> list[int]:
    """Return the places of the hits that fit, best first; of the best hit where none does."""
    left, kept = case.budget, []
    for place in case.places:
        tokens = case.index.count(case.index.range_of(place))
        if tokens <= left:
            kept.append(place)
            left -= tokens
    return kept or list(case.places[:1])


def widened(reach: int) -> Callable[[Case], Sequence[Range]]:
    """Return kNN with `reach` neighbours on each side of every hit."""

    def spans(case: Case) -> list[Range]:
        return [case.index.range_between(case.index.neighbours(place, reach)) for place in case.places]

    return spans


def whole_if_small(case: Case) -> Iterator[Range]:
    """Yield the document of each hit where it has at most `SMALL` tokens, and the hit where that does not fit."""
    for hit in case.hit_ranges():
        document = (hit[0], 0, len(case.index.documents[hit[0]]))
        if document[2] <= LONGEST_TOKEN * SMALL and case.index.count(document) <= SMALL:
            yield document
        yield hit


class RetriVex:
    """RetriVex over the hits: one composer, as it would be kept in a program.

    Parameters
    ----------
    window : L; None leaves it, and with it `pool_factor`, as `RetrievalConfig` has it
    embeddings : whether the chunks and the question bring theirs; without, only the hits' scores are known
    store : whether there is one; without, the hits are all there is
    options : of `RetrievalConfig`
    """

    def __init__(
        self, window: int | None = None, *, embeddings: bool = True, store: bool = True, **options: Any
    ) -> None:
        self.window = window if store else 0
        self.embeddings = embeddings
        self.store = store
        self.options = {**PLAIN, **options}

    @cached_property
    def _composer(self) -> SpanComposer:
        return SpanComposer(RetrievalConfig(**self.options))

    def __call__(self, case: Case) -> list[Range]:
        """Return the spans of the composition, best first."""
        width = {} if self.window is None else {"window": self.window}
        store = case.index.vector_store if self.embeddings else case.index.store
        composition = self._composer.compose(
            [SeedHit(store[hit.key], hit.similarity_score) for hit in case.hits],
            store if self.store else {},
            query=case.question,
            query_embedding=case.embedding if self.embeddings else None,
            token_budget=case.budget,
            **width,
        )
        return [part for span in sorted(composition.spans, key=lambda span: -span.score) for part in ranges_of(span)]


def coefficients(set_name: str) -> Path:
    """Return the file of the model that was fitted without a set.

    Raises
    ------
    ValueError
        If the file says that the model was fitted on the set.
    """
    path = CALIBRATION / f"{set_name}.json"
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there: `make calibrate` writes the models fitted without a set")
    fitted_on = load_coefficients(path).fitted["sets"]
    if set_name in fitted_on:
        raise ValueError(
            f"{path} was fitted on {', '.join(fitted_on)}: {set_name} is measured by a model fitted without it, which "
            "`make calibrate` writes"
        )
    return path


APART = ("chunking", "cli", "encoders", "evaluation", "loading", "prompts", "reorder", "retrieval", "testing")
"""Folders of the package that have no part in making a context of hits."""


def making_context() -> list[Path]:
    """Return the files of the package that make a context of hits."""
    package = Path(retrivex.__file__).parent
    found = [*package.rglob("*.py"), *package.rglob("*.json")]
    return [path for path in found if path.relative_to(package).parts[0] not in APART]


@cache
def code() -> str:
    """Return a digest of the code that makes a context, so that results of other code are not taken for this one's."""
    return digest(making_context())


def code_and_model(set_name: str) -> str:
    """Return a digest of the code and of the coefficients used for a set."""
    return f"{code()} {hashlib.sha256(coefficients(set_name).read_bytes()).hexdigest()[:16]}"


def retrivex_systems(set_name: str) -> list[RangeSystem]:
    """Return RetriVex at its levels of effort, as fitted without the set that is asked, and with the other scorer."""
    return [*levels_of_effort(set_name), RangeSystem(WEIGHTED, RetriVex(scoring="weighted"), code(), _warm)]


LEVELS: Mapping[str, str] = {DEFAULT: "standard", LEAN: "lean", FULL: "full"}
GIVEN: Mapping[str, Mapping[str, bool]] = {
    "": {},
    ", no vectors": {"embeddings": False},
    ", no store": {"store": False},
}
"""What a caller may lack, and what the name of a system says of it."""


def levels_of_effort(set_name: str, given: str = "") -> list[RangeSystem]:
    """Return RetriVex as it comes, with less effort and with full effort, fitted without the set.

    Parameters
    ----------
    set_name : the set that is asked
    given : of `GIVEN`
    """
    model, version, lacks = coefficients(set_name), code_and_model(set_name), GIVEN[given]
    warm = _warm if lacks.get("embeddings", True) else _warm_bare
    return [
        RangeSystem(f"{name}{given}", RetriVex(effort=effort, coefficients=model, **lacks), version, warm)
        for name, effort in LEVELS.items()
    ]


def _warm(case: Case) -> object:
    return case.index.vector_store


def _warm_bare(case: Case) -> object:
    return case.index.store


KNN = RangeSystem("kNN", nearest, "1")


def own_systems(set_name: str) -> list[RangeSystem]:
    """Return every system of this module."""
    return [
        KNN,
        RangeSystem("DOS", in_document_order, "1"),
        RangeSystem("kNN±1", widened(1), "1"),
        RangeSystem("kNN±2", widened(2), "1"),
        RangeSystem("whole document if small", lambda case: [*whole_if_small(case)], "1"),
        RangeSystem(REFERENCE, reference("k"), "1", prepare),
        *retrivex_systems(set_name),
    ]
