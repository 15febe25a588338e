"""The sections of a report, each from the rows of a run; a section without rows is empty."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from retrivex.evaluation.compare.comparison import Comparison, compare
from retrivex.evaluation.report.grouping import (
    baseline_of,
    family_of,
    group_equal_measures,
    grouped,
    hits_of,
    interval_of,
    mean_of,
    plain,
    values_of,
    with_several_hits,
)
from retrivex.evaluation.report.markdown import cell, column_if, equal, figure, table, with_interval, words
from retrivex.evaluation.run.measure_words import explain_measures, write_measure
from retrivex.evaluation.run.results import Row, measures_of

HEADLINES = ("evidence_recall", "complete", "answer_in_context")
ANSWERS = ("score", "judged", "f1", "em", "faithfulness", "answerable")
_COSTS = ("tokens", "spans", "evidence_tokens_per_1000", "broken_sentences", "reciprocal_rank", "rescued_by_neighbours")
_FEW = 20  # values of a factor that a table can show
DIFFERENCE = (
    "set", "budget", "hits", "composer", "measure", "difference", "95 % interval", "wins : losses", "verdict"
)  # fmt: skip
_OF_DIFFERENCES = (
    "*Difference*: the composer's mean less the baseline's, question by question, with its 95 % interval (paired "
    "bootstrap); an interval that holds 0 may be chance. *Wins : losses*: questions in which the composer is above and "
    "below the baseline."
)


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
    lines = [difference_line(name, one) for name, one in found if one.wins or one.losses]
    level = len(found) - len(lines)
    counted = "1 comparison" if level == 1 else f"{level:,} comparisons"
    said = f"Not listed: {counted} in which every question is level.\n\n" if level else ""
    return f"{_OF_DIFFERENCES}\n\n{said}{table(DIFFERENCE, lines)}" if lines else said.strip()


def difference_line(measure: str, found: Comparison) -> list[str]:
    """Return a difference as the cells of a line."""
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


def answers(rows: Sequence[Row]) -> str:
    """Return what a model made of the contexts; says so where none was asked."""
    known = answer_measures_of(rows)
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


def answer_measures_of(rows: Sequence[Row]) -> list[str]:
    """Return the measures of a model's answers that the rows have."""
    return [measure for measure in ANSWERS if measure in measures_of(rows)]


def factors(rows: Sequence[Row], name: str) -> str:
    """Return the headline measures for each value of a factor that questions have, such as their kind."""
    there = [row for row in plain(rows) if name in row.factors]
    known = [measure for measure in HEADLINES if measure in measures_of(there)]
    several = with_several_hits(there)
    lines = [
        [family, str(value), *column_if(several, hits), f"{budget:,}", composer,
         *[figure(mean_of(found, measure)) for measure in known]]
        for (family, value, hits, budget, composer), found in grouped(
            there, lambda row: (family_of(row), row.factors[name], hits_of(row), row.way.budget, row.way.composer)
        ).items()
    ]  # fmt: skip
    header = ["set", words(name), *column_if(several, "hits"), "budget", "composer", *map(words, known)]
    return table(header, lines) if known else ""


def _factors_with_few_values(rows: Sequence[Row]) -> list[str]:
    values: dict[str, set[object]] = {}
    for row in rows:
        for name, value in row.factors.items():
            values.setdefault(name, set()).add(value)
    return [name for name, found in values.items() if len(found) <= _FEW]


def sections(rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """Yield title and text of every section that the rows say something about."""
    yield "What reaches the context", contexts(rows)
    yield "Against the baseline", against_baseline(differences(rows))
    for name in _factors_with_few_values(rows):
        yield f"By {cell(words(name))}", factors(rows, name)
    yield "Answers", answers(rows)
