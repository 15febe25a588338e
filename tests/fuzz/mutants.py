"""Bugs planted on purpose: each is something a change could break, and none may go unnoticed by the fuzzer."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from retrivex.composer import answer, expand, layout, pinned, select
from retrivex.composer import explain as reporting
from retrivex.composer import order as span_order
from retrivex.composer import spans as assembly
from retrivex.expansion import seeds as seeding
from retrivex.expansion import windows as expansion
from retrivex.merging import cutter, exclusions, parents, units
from retrivex.model import run as stitching
from retrivex.model.span import Span
from retrivex.ordering.strategy import OrderingStrategy
from retrivex.rendering import trimming
from retrivex.rendering.render import SEPARATOR
from retrivex.scoring import diversity, scorer
from retrivex.stores import access as fetching
from retrivex.tokens.cache import TokenCache


@dataclass(frozen=True)
class Mutant:
    """A bug: where it is planted, and what stands there instead, made from the original.

    Parameters
    ----------
    name : what is wrong
    owner, attribute : what is replaced
    make : returns what takes its place
    slow : whether it takes many seconds to be caught, and is not planted in CI
    """

    name: str
    owner: Any
    attribute: str
    make: Callable[[Any], Any]
    slow: bool = False

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Plant it for a while."""
        with ExitStack() as stack:
            stack.enter_context(
                patch.object(self.owner, self.attribute, self.make(getattr(self.owner, self.attribute)))
            )
            yield


def _uncounted_separators(original: Any) -> Any:
    return lambda self, text: max(0, original(self, text) - 2 * text.count(SEPARATOR))


def _guards_off(_: Any) -> Any:
    return lambda *_args: None


def _step_over(original: Any) -> Any:
    """Walk on after a refusal."""

    def walk(self: Any, seed: Any, step: int, reach: int) -> int:
        here: int = original(self, seed, step, reach)
        beyond = (seed[0], here + step)
        return here + step if abs(here - seed[1]) < reach and beyond in self.found else here

    return walk


def _doubled_overlap(original: Any) -> Any:
    return lambda self, chunk, source, at, *, exact: original(self, chunk, source, self.length, exact=exact)


def _no_mark(_: Any) -> Any:
    return lambda self, following, gap: None


def _all_scopes(_: Any) -> Any:
    return lambda scope: frozenset([None, "acme", "zeta"])


def _hit_lost(original: Any) -> Any:
    return lambda self: original(self)[1:]


def _unstable(original: Any) -> Any:
    """Equal scores in the order they came in."""

    def usable(self: Any, hits: Any) -> Any:
        kept = original(self, hits)
        places = {hit.key: at for at, hit in reversed(list(enumerate(hits)))}
        return dict(sorted(kept.items(), key=lambda item: (-item[1].similarity_score, places[item[0]])))

    return usable


def _random_ties(_: Any) -> Any:
    return lambda spans: sorted(spans, key=lambda span: (-round(span.score, 1), random.random()))


def _cut_too_late(original: Any) -> Any:
    def longest(start: int, stops: Any, fits: Any) -> Any:
        found = original(start, stops, fits)
        later = [stop for stop in stops if found is not None and stop > found]
        return later[0] if later else found

    return longest


def _shifted_citations(original: Any) -> Any:
    return lambda spans, rendered: tuple(
        replace(cited, char_start=cited.char_start and cited.char_start + 1) for cited in original(spans, rendered)
    )


def _nothing_excluded(_: Any) -> Any:
    return lambda self, runs: [[] for _ in runs]


def _parity(original: Any) -> Any:
    def order(spans: Any, config: Any, strategy: OrderingStrategy) -> Any:
        if strategy is not OrderingStrategy.EDGE_BALANCED:
            return original(spans, config, strategy)
        best = list(spans)
        return best[0::2] + best[1::2][::-1] if len(best) % 2 else best[1::2] + best[0::2][::-1]

    return order


def _request_each(original: Any) -> Any:
    return lambda windows, limit: [(window,) for window in windows]


def _off_by_one_span(original: Any) -> Any:
    return lambda pick, run, tokenizer: replace(span := original(pick, run, tokenizer), text=span.text[:-1] or "?")


def _embeds(original: Any) -> Any:
    def grow(seeds: Any, planned: Any, found: Any, *rest: Any) -> Any:
        for seed in seeds[:1]:
            seed.chunk.embedding = [1.0]
        return original(seeds, planned, found, *rest)

    return grow


def _best_alone(original: Any) -> Any:
    """Take one candidate beside what is kept, and no other."""
    return lambda problem, limits, kept=(), *more: original(problem, limits, kept, *more)[: max(len(kept), 1)]


def _no_caps(original: Any) -> Any:
    return lambda *args: replace(original(*args), per_document=None)


def _overlaps_again(_: Any) -> Any:
    return lambda spans, *_: list(spans)


def _torn_twice(original: Any) -> Any:
    """Make a sentence that goes on in the next chunk a unit of both."""

    def units(self: Any, *args: Any) -> Any:
        made = original(self, *args)
        return _some(made, np.arange(len(made)).repeat(1 + (made.first < made.last)))

    return units


def _last_lost(original: Any) -> Any:
    """Lose the last unit."""

    def units(self: Any, *args: Any) -> Any:
        made = original(self, *args)
        return _some(made, np.arange(len(made))[:-1])

    return units


def _some(made: units.Units, numbers: NDArray[np.int64]) -> units.Units:
    fields = (made.run, made.first, made.last, made.start, made.end, made.tokens)
    return units.Units(made.axis, *[field[numbers] for field in fields])


def _foreign_counts(original: Any) -> Any:
    """Keep the counts of pinned spans as they come."""

    def pinned_span(item: Any, *rest: Any) -> Any:
        made = original(item, *rest)
        return replace(made, token_count=item.token_count) if isinstance(item, Span) else made

    return pinned_span


def _long_runs_fail(original: Any) -> Any:
    """Fail where no cut is allowed over the length of a window."""

    def units(self: Any, axis: Any, *rest: Any) -> Any:
        if any(re.search(r"([\u0300-\u036f\u200d\ufe0f])\1{99}", run.text) for run in axis.runs):
            raise ValueError("operands could not be broadcast together")
        return original(self, axis, *rest)

    return units


def _inexact_forgotten(original: Any) -> Any:
    """Know of excluded spans that are not exact nothing but their text."""

    def add(self: Any, item: Any) -> None:
        if isinstance(item, Span) and not item.exact:
            self.texts.add(item.text)
        else:
            original(self, item)

    return add


def _floats_alone(_: Any) -> Any:
    """Fail for numbers that no float can hold."""

    def as_matrix(rows: Any) -> Any:
        try:
            matrix = np.asarray(rows, dtype=np.float64)
        except (TypeError, ValueError):
            return None
        return matrix if matrix.ndim == 2 else None

    return as_matrix


def _unasked_parents(original: Any) -> Any:
    """Take in all parents that a store gives."""

    def parents(self: Any, request: Any) -> Any:
        store = self.parent_store
        if store is None or isinstance(store, Mapping):
            return original(self, request)
        answer = store.fetch_parents(request.parent_ids, self.scope)
        asked = replace(request, parent_ids=tuple(answer)) if isinstance(answer, Mapping) else request
        return original(self, asked)

    return parents


def _places_and_long_texts(original: Any) -> Any:
    """Compare parents as a whole alone."""

    def touch_parents(self: Any, some: Any) -> Any:
        return self.touch([(parent.doc_id, parent.char_start, parent.text) for parent in some])

    return touch_parents


MUTANTS = (
    Mutant("separators not counted in the budget", TokenCache, "count_joined", _uncounted_separators),
    Mutant("guards never refuse", expansion, "refusal", _guards_off),
    Mutant("refused neighbour stepped over", expansion._Walker, "walk", _step_over),
    Mutant("overlap shown twice", stitching._Stitcher, "_append", _doubled_overlap),
    Mutant("overlap of two spans shown twice", layout, "once_only", _overlaps_again),
    Mutant("gap closed without a mark", stitching._Stitcher, "_join", _no_mark),
    Mutant("scope leaked by a store", fetching, "allowed_scopes", _all_scopes),
    Mutant("dropped hit not listed", reporting.Explainer, "dropped", _hit_lost),
    Mutant("order of equal hits as they came", seeding._Sorter, "usable", _unstable),
    Mutant("order of equal spans random", layout, "best_first", _random_ties),
    Mutant("trimmed one word too late", trimming, "_longest", _cut_too_late),
    Mutant("citations one character off", answer, "citations_of", _shifted_citations),
    Mutant("excluded passages shown", exclusions.Exclusions, "cuts", _nothing_excluded),
    Mutant("order flips with the number of spans", span_order, "_apply_order", _parity),
    Mutant("one request for each window", fetching, "split_windows", _request_each),
    Mutant("span one character short", layout, "span_of", _off_by_one_span),
    Mutant("caller's chunk changed", expand, "grow", _embeds),
    Mutant("rest of the budget left unused", select, "choose", _best_alone),
    Mutant("score factors outside [0, 1]", assembly, "span_factors", lambda original: lambda *args: replace(
        made := original(*args), adjacency=made.adjacency * 3)),
    Mutant("unit lost", cutter.UnitCutter, "cut", _last_lost),
    Mutant("torn sentence a unit twice", cutter.UnitCutter, "cut", _torn_twice),
    Mutant("cap of a document ignored", select, "limits_of", _no_caps),
    Mutant("pinned spans keep the counts of other tokenizers", pinned, "pinned_span", _foreign_counts),
    Mutant("long runs of marks fail", cutter.UnitCutter, "cut", _long_runs_fail),
    Mutant("inexact spans excluded by their text alone", exclusions.Exclusions, "add", _inexact_forgotten),
    Mutant("parents that nobody asked for are taken in", fetching.StoreAccess, "_ask_parents", _unasked_parents),
    Mutant("probabilities above 1", scorer, "probabilities", lambda original: lambda odds: 2 * original(odds)),
)  # fmt: skip

TRAPS = (
    Mutant("embeddings beyond floats fail under diversity", diversity, "as_matrix", _floats_alone),
    Mutant("parents show chunks that a store keeps back", parents._Row, "_miss", _guards_off),
    Mutant("parents show short passages again", exclusions.Exclusions, "touch_parents", _places_and_long_texts),
)
"""For `fuzz.traps`: random calls seldom meet them."""
