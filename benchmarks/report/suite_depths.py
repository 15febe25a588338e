"""How much each system depends on the depth of the evidence, and where it is worse than plain kNN."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.report.position_sensitivity import position_sensitivity
from benchmarks.report.suite_grouping import OF_HITS, by_depth, with_hits
from retrivex.evaluation.compare.bootstrap import Difference, paired_bootstrap
from retrivex.evaluation.compare.comparison import FEWEST
from retrivex.evaluation.report.grouping import (
    BASELINE,
    HITS,
    RESAMPLES,
    family_of,
    group_equal_measures,
    grouped,
    hits_of,
    per_question,
    plain,
    with_several_hits,
)
from retrivex.evaluation.report.markdown import cell, column_if, equal, table
from retrivex.evaluation.run.results import Row

_MEASURES = ("complete", "answer_in_context")
_MOST = 20  # depths that a table has room for
_BELOW = "below"
_BY_CHANCE = 40  # of so many intervals of 95 % one lies wholly below the difference if that is 0


def depth_sensitivity(rows: Sequence[Row], measures: Sequence[str] = _MEASURES) -> str:
    """Return how much each composer depends on the depth at which a needle stands, beside the hits it was given."""
    several = with_several_hits(rows)
    lines = [
        [name, *column_if(several, hits), "–" if composer == HITS else f"{budget:,}", composer, *figures]
        for (name, hits, budget, composer), found in grouped(with_hits(plain(rows)), _way).items()
        for same in group_equal_measures(found, measures)
        if (figures := _sensitivity(found, same))
    ]
    header = ["set", *column_if(several, "hits"), "budget", "composer", "measure", "best depth", "worst depth",
              "sensitivity", "by chance", "p", ""]  # fmt: skip
    said = (
        f"\n\n{OF_HITS}: how much that depends on depth is the retriever's doing."
        if any(HITS in line for line in lines)
        else ""
    )
    return f"{table(header, lines)}{said}" if lines else ""


def _way(row: Row) -> tuple[str, str, int, str]:
    return (family_of(row), hits_of(row), row.way.budget, row.way.composer)


def _sensitivity(rows: Sequence[Row], same: Sequence[str]) -> list[str]:
    """Return the cells of a line about measures that are the same number; none where there are no depths to compare."""
    figures = by_depth(rows, same[0])
    if len(figures) < 2:
        return []
    seen = position_sensitivity(figures)
    means = {depth: sum(of) / len(of) for depth, of in figures.items()}
    return [
        equal(same),
        f"{means[seen.best]:.3f} at {seen.best:g} %",
        f"{means[seen.worst]:.3f} at {seen.worst:g} %",
        f"{seen.spread:.3f}",
        f"{seen.by_chance:.3f}",
        p_value(seen.p),
        "depends on depth" if seen.seen else "within noise",
    ]


@dataclass(frozen=True, slots=True)
class _Against:
    """A system against kNN in a family of sets, with the same hits and budget.

    Parameters
    ----------
    family, hits, budget, composer : which
    measure : as it is called
    at : depth -> the difference over the questions there; depths without a question of both are not there
    overall : the difference over the questions of all depths
    """

    family: str
    hits: str
    budget: int
    composer: str
    measure: str
    at: Mapping[float, Difference]
    overall: Difference


def depth_differences(rows: Sequence[Row]) -> str:
    """Return how far every other composer is above or below kNN at each depth, with paired intervals over questions.

    Of measures that differ the first counts, `complete`. Empty where kNN was not run, there are no two depths at which
    the same questions were asked, or more depths than a table has room for.
    """
    found = list(_against_baseline(plain(rows)))
    if not found:
        return ""
    places = sorted({depth for line in found for depth in line.at})
    several = with_several_hits(rows)
    lines = [
        [line.family, *column_if(several, line.hits), f"{line.budget:,}", line.composer, line.measure,
         *[_mark(line.at.get(depth)) for depth in places], _mark(line.overall)]
        for line in found
    ]  # fmt: skip
    header = ["set", *column_if(several, "hits"), "budget", "composer", "measure",
              *[f"{depth:g} %" for depth in places], "all depths"]  # fmt: skip
    said = f"Points above {BASELINE} (+) or below it (-), with 95 % intervals over the questions that both were asked."
    return f"{said}\n\n{table(header, lines)}\n\n{_explain_marks(found)}"


def _against_baseline(rows: Sequence[Row]) -> Iterator[_Against]:
    for (family, hits, budget), there in grouped(rows, lambda row: _way(row)[:3]).items():
        composers = grouped(there, lambda row: row.way.composer)
        theirs = composers.pop(BASELINE, [])
        for composer, ours in composers.items():
            for same in group_equal_measures([*ours, *theirs], _MEASURES)[:1]:
                at = _at_depths(ours, theirs, same[0])
                if at:
                    every = [pair for pairs in at.values() for pair in pairs]
                    differences = {depth: _difference(pairs) for depth, pairs in at.items()}
                    yield _Against(family, hits, budget, composer, equal(same), differences, _difference(every))


def _at_depths(ours: Sequence[Row], theirs: Sequence[Row], measure: str) -> dict[float, list[tuple[float, float]]]:
    """Return for each depth our and their figure of every question that both were asked."""
    swept = by_depth(ours, measure)
    if not 2 <= len(swept) <= _MOST:
        return {}
    mine, other = per_question(ours, measure), per_question(theirs, measure)
    depths = {(row.set_name, row.question_id): row.factors.get("depth") for row in ours}
    found: dict[float, list[tuple[float, float]]] = {}
    for asked in mine:
        depth = depths[asked]
        if asked in other and isinstance(depth, (int, float)):
            found.setdefault(float(depth), []).append((mine[asked], other[asked]))
    return found


def _difference(pairs: Sequence[tuple[float, float]]) -> Difference:
    ours, theirs = zip(*pairs, strict=True)
    return paired_bootstrap(ours, theirs, resamples=RESAMPLES)


def _is_below(found: Difference) -> bool:
    return found.high < 0 and found.questions >= FEWEST


def _mark(found: Difference | None) -> str:
    if found is None:
        return "–"
    return in_points(found.mean, found.low, found.high) + (f" {_BELOW}" if _is_below(found) else "")


def _explain_marks(found: Sequence[_Against]) -> str:
    cells: dict[str, list[bool]] = {}
    for line in found:
        cells.setdefault(line.composer, []).extend(map(_is_below, line.at.values()))
    counts = ", ".join(f"{cell(composer)} ({sum(marks):,} of {len(marks):,})" for composer, marks in cells.items())
    number = sum(map(len, cells.values()))
    return (
        f"*{_BELOW}* marks an interval that lies wholly below 0, over {FEWEST} questions or more; at single depths it "
        f"marks {counts}; by chance alone, if nothing differed, it would mark about 1 in {_BY_CHANCE} independent "
        f"cells, {number / _BY_CHANCE:.1f} of {number:,}."
    )


def p_value(p: float) -> str:
    """Return a p, which is never 0.

    Examples
    --------
    >>> p_value(0.0312), p_value(1 / 2001)
    ('0.031', '< 0.001')
    """
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def in_points(mean: float, low: float, high: float) -> str:
    """Return a difference of shares with its interval, in points.

    Examples
    --------
    >>> in_points(-0.125, -0.2, 0.01)
    '-12.5 [-20.0, +1.0]'
    """
    return f"{100 * mean:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"
