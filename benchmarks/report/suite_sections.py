"""The sections of a suite's page: those of a report, and what only suites have (depths, gold places, times)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from benchmarks.report.suite_depths import depth_differences, depth_sensitivity
from benchmarks.report.suite_grouping import OF_HITS, with_hits, with_several_orders
from retrivex.evaluation.compare.comparison import Comparison
from retrivex.evaluation.questions.evidence import Factor
from retrivex.evaluation.report.grouping import (
    BASELINE,
    HITS,
    family_of,
    grouped,
    hits_of,
    interval_of,
    mean_of,
    plain,
    values_of,
    with_several_hits,
)
from retrivex.evaluation.report.markdown import cell, column_if, figure, table, with_interval, words
from retrivex.evaluation.report.sections import (
    DIFFERENCE,
    HEADLINES,
    against_baseline,
    answer_measures_of,
    answers,
    contexts,
    difference_line,
    differences,
    explained,
)
from retrivex.evaluation.run.measure_words import write_measure
from retrivex.evaluation.run.results import Row, Way, measures_of

_FACTORS = ("task", "language", "shares_words", "gold_at")
_SWEPT = ("depth", "depths", "tokens", "needle", "documents", "keys")  # of grids, which have tables of their own
_FEW = 20  # values of a factor that a table can show
_FIFTHS = ("first", "second", "third", "fourth", "last")
_EDGE = 0.1  # share of the context at each end


def losses(found: Sequence[tuple[str, Comparison]]) -> str:
    """Return where a composer is surely below the baseline."""
    below = [(name, one) for name, one in found if one.verdict == "theirs is better"]
    if not below:
        return "In no set and at no budget is a composer surely below the baseline."
    return table(DIFFERENCE, [difference_line(name, one) for name, one in below])


def factors(rows: Sequence[Row], name: str, measures: Sequence[str] = HEADLINES) -> str:
    """Return the headline measures for each value of a factor, such as the task or the language, beside the hits."""
    there = [row for row in plain(rows) if name in row.factors]
    known = [measure for measure in measures if measure in measures_of(there)]
    several = with_several_hits(there)
    values = grouped(there, lambda row: (family_of(row), row.factors[name])).values()
    lines = [
        [family, str(value), *column_if(several, hits), "–" if composer == HITS else f"{budget:,}", composer,
         *[figure(mean_of(found, measure)) for measure in known]]
        for (family, value, hits, budget, composer), found in grouped(
            [row for of in values for row in (with_hits(of) if "complete" in known else of)],
            lambda row: (family_of(row), row.factors[name], hits_of(row), row.way.budget, row.way.composer),
        ).items()
    ]  # fmt: skip
    header = ["set", words(name), *column_if(several, "hits"), "budget", "composer", *map(words, known)]
    said = f"\n\n{OF_HITS}." if any(HITS in line for line in lines) else ""
    return f"{table(header, lines)}{said}" if lines else ""


def _differing_factors(rows: Sequence[Row]) -> list[str]:
    """Return the factors of few values, which have a table: those of public sets first, then a user's own."""
    values: dict[str, set[Factor]] = {name: set() for name in _FACTORS}
    for row in rows:
        for name, value in row.factors.items():
            values.setdefault(name, set()).add(value)
    return [name for name in values if name not in _SWEPT and len(values[name]) <= _FEW]


def orders(rows: Sequence[Row]) -> str:
    """Return where the evidence stands under each order, at equal budgets."""
    there = [row for row in with_several_orders(rows) if "evidence_position" in row.measures]
    known = answer_measures_of(rows)
    lines = []
    given = _make_namer(there)
    for (name, (_, gold), retriever, budget, composer, order), found in grouped(
        sorted(there, key=lambda row: given(row)[0]), lambda row: (family_of(row), given(row), *_order_cell(row.way))
    ).items():
        places = [row.measures["evidence_position"] for row in found]
        edges = sum(place <= _EDGE or place >= 1 - _EDGE for place in places) / len(places)
        middle = sum(1 / 3 <= place <= 2 / 3 for place in places) / len(places)
        seeds = len(values_of(found, "seed"))
        lines.append(
            [name, gold, retriever, f"{budget:,}", composer, order + (f" ({seeds} seeds)" if seeds > 1 else ""),
             with_interval(interval_of(found, "evidence_position")), f"{edges:.2f}", f"{middle:.2f}",
             *[figure(mean_of(found, measure)) for measure in known]]
        )  # fmt: skip
    header = ["set", "given at", "hits", "budget", "composer", "order", "place of the evidence (0 first, 1 last)",
              "in the outer tenths", "in the middle third", *map(words, known)]  # fmt: skip
    explanation = explained(known, known)
    return "\n\n".join([table(header, lines), *explanation]) if lines else ""


def _order_cell(way: Way) -> tuple[str, int, str, str]:
    return (way.retriever, way.budget, way.composer, way.order)


def _make_namer(rows: Sequence[Row]) -> Callable[[Row], tuple[int, str]]:
    """Return what names the place at which a set says that evidence is given: where places are many, the fifth.

    Before the name stands the number of the fifth, by which lines are put in order, or 0.
    """
    places = {family: {row.factors.get("gold_at") for row in of} for family, of in grouped(rows, family_of).items()}

    def named(row: Row) -> tuple[int, str]:
        place = row.factors.get("gold_at")
        among = row.factors.get("documents", row.factors.get("keys", "?"))
        if place is None:
            return (0, "")
        if len(places[family_of(row)]) <= _FEW or not isinstance(place, int) or not isinstance(among, int):
            return (0, f"{place} of {among}")
        fifth = min(4, max(0, 5 * place // max(1, among)))
        return (fifth + 1, f"{_FIFTHS[fifth]} fifth of {among}")

    return named


def latency(rows: Sequence[Row]) -> str:
    """Return the median milliseconds of making a context."""
    lines = [
        [composer, f"{hits} {retriever}", f"{budget:,}", write_measure("ms", mean_of(found, "ms"))]
        for (composer, hits, retriever, budget), found in sorted(
            grouped(
                plain(rows), lambda row: (row.way.composer, row.way.hits, row.way.retriever, row.way.budget)
            ).items()
        )
    ]
    header = ["composer", "hits", "budget", "median ms"]
    return "\n\n".join([table(header, lines), *explained(["ms"], ["ms"])]) if "ms" in measures_of(rows) else ""


def sections(rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """Yield title and text of every section that the rows say something about."""
    compared = differences(rows)
    yield "What reaches the context", contexts(rows)
    yield "Against the baseline", against_baseline(compared)
    yield "Where it loses", losses(compared) if len(values_of(rows, "composer")) > 1 else ""
    yield "Depth of the evidence", depth_sensitivity(rows)
    yield f"Against {BASELINE} at each depth", depth_differences(rows)
    for name in _differing_factors(rows):
        yield f"By {cell(words(name))}", factors(rows, name)
    yield "Orders", orders(rows)
    yield "Answers", answers(rows)
    yield "Time", latency(rows)
