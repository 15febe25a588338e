"""The plan of a run: all its options, checked once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from retrivex.config import RetrievalConfig
from retrivex.errors import RetrivexError
from retrivex.evaluation.run.context import ORDERS, SHUFFLE, Order
from retrivex.evaluation.run.index import CHUNKERS, RETRIEVERS, VECTORS, RetrieverName
from retrivex.evaluation.run.results import Way
from retrivex.evaluation.run.systems import COMPOSERS, System, load_system
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

    sets: Names = Field(default=(), description="a public set, as 'squad'")
    data: Path | None = Field(default=None, description="where the public sets lie")
    questions: int | None = Field(default=None, ge=1, description="most questions of a set, a seeded sample")
    unanswerable: bool = Field(default=False, description="ask also what has neither evidence nor answers")
    chunker: Literal["sentence_packed", "auto", "token", "markdown", "adaptive"] = Field(
        default="sentence_packed", description=f"how documents are cut: {', '.join(CHUNKERS)}"
    )
    chunk_tokens: int = Field(default=200, ge=1, description="most tokens of a chunk")
    encoder: str | None = Field(
        default=None,
        description="'hashing' (no download), or the folder or name of a sentence-transformers model; left out, "
        "hits are found by words",
    )
    retrievers: Annotated[tuple[RetrieverName, ...], BeforeValidator(_as_tuple)] = Field(
        default=(), description=f"hits by {', '.join(RETRIEVERS)}; left out, dense with an encoder, bm25 without"
    )
    hits: Counts = Field(default=(20,), description="hits to start from, usually 20")
    composers: Names = Field(
        default=("knn", "knn±1", "balanced"),
        description=f"one of {', '.join(COMPOSERS)}, or a .toml or .json of options; usually knn, knn±1, balanced",
    )
    configs: Mapping[str, RetrievalConfig] = Field(default={}, description="configurations by name, all of them run")
    orders: Names = Field(
        default=(), description=f"order of the passages: {', '.join(ORDERS)}; left out, each composer's own"
    )
    budgets: Counts = Field(default=(2000,), description="most tokens of context, usually 2000")
    seeds: Annotated[tuple[int, ...], BeforeValidator(_as_tuple), Field(min_length=1)] = Field(
        default=(0,), description="of the order shuffle"
    )
    tokenizer: str = Field(default="auto", description="whose tokens are counted")
    keep_contexts: bool = Field(default=False, description="write the text of each context into the results")

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
        for retriever, hits, composer, budget in product(self.retrievers, self.hits, composers, self.budgets):
            for order in self.orders_of(composer):
                yield Way(retriever, hits, composer.name, order.name, budget, order.seed)
