"""The plan of a run: all its options, checked once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from retrivex.config import RetrievalConfig
from retrivex.errors import RetrivexError
from retrivex.evaluation.run.context import SHUFFLE, Order
from retrivex.evaluation.run.index import VECTORS, RetrieverName
from retrivex.evaluation.run.results import Way
from retrivex.evaluation.run.systems import System, load_system
from retrivex.model.options import Options
from retrivex.tokens.tokenizer import Tokenizer


def _as_tuple(value: Any) -> Any:
    once = (value,) if isinstance(value, str | int) else tuple(value) if isinstance(value, list | tuple) else value
    return tuple(dict.fromkeys(once)) if isinstance(once, tuple) else once


Names = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
Counts = Annotated[tuple[Annotated[int, Field(ge=1)], ...], BeforeValidator(_as_tuple), Field(min_length=1)]


class Plan(Options):
    """Sets x retrievers x hits x systems x orders x budgets x seeds; frozen, a single value stands for a list of one.

    Raises
    ------
    ConfigError
        A `ValueError` naming the option, the value given and the rule it breaks.

    Examples
    --------
    >>> plan = Plan(composers=["knn", "balanced"], budgets=1000)
    >>> plan.retrievers, plan.budgets
    (('bm25',), (1000,))
    """

    sets: Names = Field(default=(), description="sets of questions by name, see `benchmarks.suites.datasets`")
    data: Path | None = Field(default=None, description="folder that holds the sets in their published layouts")
    questions: int | None = Field(default=None, ge=1, description="most questions of a set, a seeded sample; None: all")
    unanswerable: bool = Field(
        default=False, description="ask also what has neither evidence nor answers, for models that should abstain"
    )
    chunker: Literal["sentence_packed", "auto", "token", "markdown", "adaptive"] = Field(
        default="sentence_packed", description="how documents are cut; sentence_packed: whole sentences, no overlap"
    )
    chunk_tokens: int = Field(default=200, ge=1, description="tokens of a chunk at most")
    encoder: str | None = Field(default=None, description="model of the vectors, as `load_encoder` takes it")
    retrievers: Annotated[tuple[RetrieverName, ...], BeforeValidator(_as_tuple)] = Field(
        default=(), description="bm25, dense, fused or given; left out: dense with an encoder, bm25 without"
    )
    hits: Counts = Field(default=(20,), description="hits that composers are given")
    composers: Names = Field(
        default=("knn", "knn±1", "balanced"),
        description="knn, knn±1, knn±2, presets, files of options, keys of configs",
    )
    configs: Mapping[str, RetrievalConfig] = Field(default={}, description="configurations by name, all of them run")
    orders: Names = Field(default=(), description="orders of the passages; left out: each composer's own")
    budgets: Counts = Field(default=(2000,), description="tokens of a context at most, markers and all")
    seeds: Annotated[tuple[int, ...], BeforeValidator(_as_tuple), Field(min_length=1)] = Field(
        default=(0,), description="of the order shuffle; other orders are the same for all of them"
    )
    tokenizer: str = Field(default="auto", description="whose tokens chunks and budgets count")
    keep_contexts: bool = Field(default=False, description="whether results hold the text of each context")

    @model_validator(mode="before")
    @classmethod
    def _fill_retrievers(cls, given: Any) -> Any:
        if isinstance(given, dict) and not given.get("retrievers"):
            return {**given, "retrievers": ("dense",) if given.get("encoder") else ("bm25",)}
        return given

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        if self.encoder is None and set(self.retrievers) & set(VECTORS):
            raise RetrivexError(
                f"retrievers are {', '.join(self.retrievers)} and there is no encoder: give one ('hashing' needs no "
                "download), or take bm25"
            )
        for order in self.orders:
            Order(order)
        return self

    def composed_by(self, tokenizer: Tokenizer) -> list[System]:
        """Return the composers.

        Raises
        ------
        RetrivexError
            If one is unknown, or two have the same name.
        """
        made: dict[str, System] = {}
        specs = dict.fromkeys([*self.composers, *self.configs])
        for composer in (load_system(spec, self.configs, tokenizer) for spec in specs):
            if composer.name in made:
                raise RetrivexError(f"two composers are called {composer.name!r}: rename one of the two")
            made[composer.name] = composer
        if not made:
            raise RetrivexError("composers are empty: give at least one, as 'knn' or 'balanced'")
        return list(made.values())

    def orders_of(self, composer: System) -> list[Order]:
        """Return the orders that a composer's passages are shown in."""
        names = self.orders or (composer.own_order,)
        return [Order(name, seed) for name in names for seed in (self.seeds if name == SHUFFLE else (0,))]

    def ways(self, composers: list[System]) -> Iterator[Way]:
        """Yield every way of answering a question, in the order of the results."""
        for retriever in self.retrievers:
            for hits in self.hits:
                for composer in composers:
                    for budget in self.budgets:
                        for order in self.orders_of(composer):
                            yield Way(retriever, hits, composer.name, order.name, budget, order.seed)
