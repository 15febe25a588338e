"""The sections of a report, each from the rows of a run; a section without rows is empty."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from retrivex.evaluation.compare.comparison import Comparison, compare
from retrivex.evaluation.questions.evidence import Factor
from retrivex.evaluation.report.depths import depth_differences, depth_sensitivity
from retrivex.evaluation.report.grouping import (
    BASELINE,
    HITS,
    OF_HITS,
    baseline_of,
    family_of,
    group_equal_measures,
    grouped,
    hits_of,
    interval_of,
    mean_of,
    plain,
    values_of,
    with_hits,
    with_several_hits,
    with_several_orders,
)
from retrivex.evaluation.report.markdown import cell, column_if, equal, figure, table, with_interval, words
from retrivex.evaluation.run.measure_words import explain_measures, write_measure
from retrivex.evaluation.run.results import Row, Way, measures_of

HEADLINES = ("evidence_recall", "complete", "answer_in_context")
ANSWERS = ("score", "judged", "f1", "em", "faithfulness", "answerable")
_COSTS = ("tokens", "spans", "evidence_tokens_per_1000", "broken_sentences", "reciprocal_rank", "rescued_by_neighbours")
_FACTORS = ("task", "language", "shares_words", "gold_at")
_SWEPT = ("depth", "depths", "tokens", "needle", "documents", "keys")  # of grids, which have tables of their own
_FEW = 20  # values of a factor that a table can show
_DIFFERENCE = (
    "set", "budget", "hits", "composer", "measure", "difference", "95 % interval", "wins : losses", "verdict"
)  # fmt: skip
_OF_DIFFERENCES = (
    "*Difference*: the composer's mean less the baseline's, question by question, with its 95 % interval (paired "
    "bootstrap); an interval that holds 0 may be chance. *Wins : losses*: questions in which the composer is above and "
    "below the baseline."
)
_FIFTHS = ("first", "second", "third", "fourth", "last")
_EDGE = 0.1  # share of the context at each end


def contexts(rows: Sequence[Row]) -> str:
    """Return what reaches the context, for each set, retriever and budget: a line for each composer."""
    parts = []
    for (name, retriever, hits), found in grouped(
        plain(rows), lambda row: (family_of(row), row.way.retriever, row.way.hits)
    ).items():
        there = measures_of(found)
        measures = [measure for measure in (*HEADLINES, *_COSTS) if measure in there]
        lines = [
            [
                f"{budget:,}",
                composer,
                *[_write_mean(of, measure) for measure in measures],
                f"{len({(row.set_name, row.question_id) for row in of})}",
            ]
            for (budget, composer), of in sorted(
                grouped(found, lambda row: (row.way.budget, row.way.composer)).items(), key=lambda item: item[0][0]
            )
        ]
        header = ["budget", "composer", *map(words, measures), "questions"]
        parts.append(f"### {cell(name)}, {hits} {retriever} hits\n\n{table(header, lines)}")
    brackets = "In brackets: the 95 % interval of the mean, by the bootstrap over questions."
    explanations = explained(measures_of(rows), (*HEADLINES, *_COSTS))
    return "\n\n".join([*parts, brackets, *explanations]) if parts else ""


def explained(known: Collection[str], measures: Iterable[str]) -> list[str]:
    """Return a list of what those of some measures are that are known; none where there is nothing to explain."""
    lines = [f"- *{label}*: {said}" for label, said in explain_measures(name for name in measures if name in known)]
    return ["\n".join(lines)] if lines else []


def _write_mean(rows: Sequence[Row], measure: str) -> str:
    if measure in HEADLINES:
        return with_interval(interval_of(rows, measure))
    return write_measure(measure, mean_of(rows, measure))


def differences(rows: Sequence[Row]) -> list[tuple[str, Comparison]]:
    """Return every composer against the baseline, for each family, retriever, number of hits and budget.

    Measures that are the same number for every question, as all are for a single needle, are compared once, under the
    names of all.
    """
    found = []
    for there in grouped(plain(rows), _cell).values():
        composers = values_of(there, "composer")
        baseline = baseline_of(composers)
        theirs = [row for row in there if row.way.composer == baseline]
        for composer in composers:
            if composer != baseline:
                ours = [row for row in there if row.way.composer == composer]
                names = {same[0]: equal(same) for same in group_equal_measures([*ours, *theirs], HEADLINES)}
                known = [name for name in names if _list_questions(ours, name) & _list_questions(theirs, name)]
                made = compare(ours, theirs, known, resamples=2_000) if known else []
                found += [(names[one.measure], one) for one in made]
    return found


def _cell(row: Row) -> tuple[str, str, int, int]:
    return (row.set_name, row.way.retriever, row.way.hits, row.way.budget)


def _list_questions(rows: Sequence[Row], measure: str) -> set[str]:
    return {row.question_id for row in rows if measure in row.measures}


def against_baseline(found: Sequence[tuple[str, Comparison]]) -> str:
    """Return the differences to the baseline with their intervals."""
    lines = [_difference_line(name, one) for name, one in found if one.wins or one.losses]
    level = len(found) - len(lines)
    counted = "1 comparison" if level == 1 else f"{level:,} comparisons"
    said = f"Not listed: {counted} in which every question is level.\n\n" if level else ""
    return f"{_OF_DIFFERENCES}\n\n{said}{table(_DIFFERENCE, lines)}" if lines else said.strip()


def losses(found: Sequence[tuple[str, Comparison]]) -> str:
    """Return where a composer is surely below the baseline."""
    below = [(name, one) for name, one in found if one.verdict == "theirs is better"]
    if not below:
        return "In no set and at no budget is a composer surely below the baseline."
    return table(_DIFFERENCE, [_difference_line(name, one) for name, one in below])


def _difference_line(measure: str, found: Comparison) -> list[str]:
    ours, theirs = found.pairs[0].our_row.way, found.pairs[0].their_row.way
    verdict = {"ours is better": "better", "theirs is better": f"{theirs.composer} is better"}
    return [
        found.set_name,
        f"{ours.budget:,}",
        hits_of(found.pairs[0].our_row),
        ours.composer,
        measure,
        f"{found.difference.mean:+.3f}",
        f"{found.difference.low:+.3f} to {found.difference.high:+.3f}",
        f"{found.wins} : {found.losses}",
        verdict.get(found.verdict, found.verdict),
    ]


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
    known = _answers(rows)
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


def _answers(rows: Sequence[Row]) -> list[str]:
    return [measure for measure in ANSWERS if measure in measures_of(rows)]


def answers(rows: Sequence[Row]) -> str:
    """Return what a model made of the contexts; says so where none was asked."""
    known = _answers(rows)
    if not known:
        return (
            "Answers were not generated: no model endpoint was given. What follows from a context is not measured here."
        )
    several = with_several_hits(rows)
    lines = [
        [name, *column_if(several, hits), f"{budget:,}", composer, order,
         *[with_interval(interval_of(found, measure)) for measure in known]]
        for (name, hits, budget, composer, order), found in grouped(
            rows, lambda row: (row.set_name, hits_of(row), row.way.budget, row.way.composer, row.way.order)
        ).items()
    ]  # fmt: skip
    header = ["set", *column_if(several, "hits"), "budget", "composer", "order", *map(words, known)]
    return "\n\n".join([table(header, lines), *explained(known, known)])


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
