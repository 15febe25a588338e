"""Orders the selected passages and renders them as the text that a model would read."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from retrivex.composer.order import order_spans
from retrivex.composer.sources import citations_of
from retrivex.composition.composition import Citation
from retrivex.config import RetrievalConfig
from retrivex.errors import RetrivexError
from retrivex.evaluation.metrics import Range
from retrivex.evaluation.run.index import Index
from retrivex.model.chunk import Chunk, ChunkKey, Embedding
from retrivex.model.hit import SeedHit
from retrivex.model.span import Span
from retrivex.ordering import shuffle
from retrivex.ordering.strategy import OrderingStrategy
from retrivex.rendering.render import Style, render

ORDERS = tuple(name.value for name in OrderingStrategy if name is not OrderingStrategy.CUSTOM)
"""Orders by name; "custom" needs a callable and is none of them."""

SHUFFLE = OrderingStrategy.SHUFFLE.value


@dataclass(frozen=True, slots=True)
class Case:
    """The input of a system for one question.

    Parameters
    ----------
    question : its text
    hits : best first
    index : what was searched
    budget : tokens of the context at most
    retriever : where the hits come from, one of `RETRIEVERS`
    embedding : of the question, shape (d,); None without an encoder
    places : of the hits in the index, best first; it follows from the hits

    Examples
    --------
    >>> from retrivex.evaluation.questions.evidence import Question
    >>> index = Index({"bees": "Bees sleep.", "ants": "Ants work."})
    >>> asked = Question("1", "What do ants do?", ())
    >>> case = Case(asked.text, index.hits([asked], "bm25", 5)[0], index, budget=100)
    >>> [hit.key for hit in case.hits], case.places
    ([('ants', 0)], [1])
    """

    question: str
    hits: Sequence[SeedHit]
    index: Index
    budget: int
    retriever: str = "bm25"
    embedding: Embedding | None = None
    places: Sequence[int] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "places", [self.index.positions[hit.key] for hit in self.hits])

    @property
    def store(self) -> Mapping[ChunkKey, Chunk]:
        """Where a composer reads chunks and their neighbours."""
        return self.index.store_for(self.retriever)

    def hit_ranges(self) -> list[Range]:
        """Return where the hits stand, best first."""
        return [self.index.range_of(place) for place in self.places]


@dataclass(frozen=True, slots=True, order=True)
class Order:
    """The order of the passages in the context.

    Parameters
    ----------
    name : one of `ORDERS`
    seed : of the shuffle; no other order reads it

    Raises
    ------
    RetrivexError
        If there is no such order.
    """

    name: str
    seed: int = 0

    def __post_init__(self) -> None:
        if self.name not in ORDERS:
            raise RetrivexError(f"order is {self.name!r}: it must be one of {', '.join(ORDERS)}")


@dataclass(frozen=True, slots=True)
class Selection:
    """The passages that a system selected.

    Parameters
    ----------
    spans : the passages, best first
    config : what of orders and style is fixed beforehand
    ms : milliseconds of processor time that the choice took
    order : the order that `ms` includes; None where nothing was ordered and written yet
    """

    spans: Sequence[Span]
    config: RetrievalConfig
    ms: float
    order: Order | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """The text that a model would read.

    Parameters
    ----------
    text : all of it
    spans : best first, whatever their order in the text
    citations : every stretch of the documents in the text, in order
    ms : milliseconds of processor time that it took to choose, order and write it
    """

    text: str
    spans: Sequence[Span]
    citations: Sequence[Citation]
    ms: float


def arrange(selection: Selection, order: Order, question: str) -> Context:
    """Return a selection's context in an order; the selection stays what it is."""
    config = selection.config.override(ordering_strategy=order.name)
    started = time.thread_time()
    if order.name == SHUFFLE:
        spans = shuffle(selection.spans, seed=order.seed)
    else:
        spans, _ = order_spans(selection.spans, config, question)
    rendered = render(spans, Style.of(config))
    ms = 1e3 * (time.thread_time() - started) if order != selection.order else 0.0
    return Context(rendered.text, selection.spans, citations_of(spans, rendered), selection.ms + ms)
