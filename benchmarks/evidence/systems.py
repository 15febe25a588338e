"""The systems that need nothing but RetriVex: nearest chunks, blind windows, the reference, RetriVex itself."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

import retrivex
from benchmarks.evidence.reference import prepare, reference
from retrivex import RetrievalConfig, SeedHit, SpanComposer
from retrivex.evaluation.metrics import Range
from retrivex.evaluation.run import Case, RangeSystem
from retrivex.evaluation.run.measures import ranges_of
from retrivex.scoring.calibrated import load_coefficients

DEFAULT, LEAN, FULL = "RetriVex default", "RetriVex lean", "RetriVex full"
CALIBRATION = Path(__file__).parents[1] / "results" / "calibration"

# RetriVex as text with blank lines between its spans, so that it pays for no more marks than the others
PLAIN: dict[str, Any] = {"numbered": False, "gap_markers": False, "tokenizer": "cl100k_base"}


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


class RetriVex:
    """RetriVex over the hits: one composer, as it would be kept in a program.

    Parameters
    ----------
    window : L; None takes 1, and 2 where there are fewer than 20 hits; "default" leaves it, and with it `pool_factor`,
        as `RetrievalConfig` has it
    embeddings : whether the chunks and the question bring theirs; without, only the hits' scores are known
    store : whether there is one; without, the hits are all there is
    options : of `RetrievalConfig`
    """

    def __init__(
        self,
        window: int | Literal["default"] | None = None,
        *,
        embeddings: bool = True,
        store: bool = True,
        **options: Any,
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
        fixed = self.window if self.window is not None else 1 if len(case.hits) >= 20 else 2
        width = {} if fixed == "default" else {"window": fixed}
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


def retrivex_systems(set_name: str) -> list[RangeSystem]:
    """Return RetriVex with each of its scorers; the calibrated one as fitted without the set that is asked.

    All but the default and lean effort fill the budget, as the others do.
    """
    fitted: dict[str, Any] = {"scoring": "calibrated", "effort": "full", "coefficients": coefficients(set_name)}
    version = code_and_model(set_name)
    return [
        RangeSystem("RetriVex weighted", RetriVex(scoring="weighted"), code(), _warm),
        RangeSystem("RetriVex calibrated", RetriVex(**fitted), version, _warm),
        RangeSystem("RetriVex calibrated, no embeddings", RetriVex(embeddings=False, **fitted), version, _warm_bare),
        *levels_of_effort(set_name),
    ]


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
        RangeSystem(f"{name}{given}", RetriVex("default", effort=effort, coefficients=model, **lacks), version, warm)
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
        *[RangeSystem(f"reference {kind}", reference(kind), "1", prepare) for kind in "fkj"],
        *retrivex_systems(set_name),
    ]
