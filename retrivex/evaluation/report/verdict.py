"""The first screen of a report: a verdict in one sentence, the main table, and which questions failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from retrivex.evaluation.compare.comparison import Comparison, compare
from retrivex.evaluation.metrics.evidence import COMPLETE
from retrivex.evaluation.report.grouping import (
    BASELINES,
    HITS,
    RESAMPLES,
    baseline_of,
    family_of,
    group_equal_measures,
    grouped,
    held_share,
    hits_of,
    mean_of,
    plain,
    values_of,
    with_several_hits,
)
from retrivex.evaluation.report.markdown import cell, column_if, equal, figure, table
from retrivex.evaluation.run.measure_words import explain_measure
from retrivex.evaluation.run.results import Excerpt, Row

MOST_FAILED = 30
"""Questions that a report lists; the worst come first."""

_MORE = {
    "evidence_recall": "shows more of the evidence",
    "complete": "shows all of the evidence more often",
    "answer_in_context": "shows the answer more often",
}
_SYSTEMS = {
    "knn": "the best hits alone.",
    "knn±1": "each hit with its two neighbours.",
    "knn±2": "each hit with its four neighbours.",
    f"({HITS})": "the same share of what the retriever found, before a composer chooses among it.",
}
_HEADLINES = tuple(_MORE)


def headline(rows: Sequence[Row]) -> list[str]:
    """Return the first headline measure that the rows have, with those that are the same number; empty for none."""
    return next(iter(group_equal_measures(plain(rows), _HEADLINES)), [])


def verdict(rows: Sequence[Row]) -> str:
    """Return in a sentence which composer shows more, and in another what no composer shows.

    RetriVex is compared with kNN wherever it was run; kNN with neighbours only where nothing else was.
    """
    shown, measures = plain(rows), headline(rows)
    if not measures:
        return "**No question has evidence or answers that a context could be measured by.**"
    measure, name = measures[0], equal(measures)
    compared = list(_against_baseline(shown, measure))
    if not compared:
        first = values_of(shown, "composer")[0]
        said = f"**{cell(first)}: {name} {figure(mean_of(shown, measure))}**, {_average(shown)}."
    else:
        ours = [found for found in compared if found.pairs[0].our_row.way.composer not in BASELINES]
        best = max(ours or compared, key=lambda found: found.difference.mean)
        said = _sentence(best, name, _average(shown))
    return " ".join([said, *_not_shown(shown)])


def _against_baseline(rows: Sequence[Row], measure: str) -> Iterator[Comparison]:
    """Yield each other composer against the baseline, over the hits and budgets that both were run with."""
    composers = grouped((row for row in rows if measure in row.measures), lambda row: row.way.composer)
    theirs = composers.pop(baseline_of(list(composers)))
    for ours in composers.values():
        both = {_place(row) for row in ours} & {_place(row) for row in theirs}
        sides = [[row for row in side if _place(row) in both] for side in (ours, theirs)]
        if both:
            yield compare(sides[0], sides[1], [measure], resamples=RESAMPLES)[-1]


def _place(row: Row) -> tuple[str, str, str, int, int, int]:
    return (row.set_name, row.question_id, row.way.retriever, row.way.hits, row.way.budget, row.way.seed)


def _sentence(found: Comparison, name: str, average: str) -> str:
    ours, theirs = (cell(row.way.composer) for row in (found.pairs[0].our_row, found.pairs[0].their_row))
    said = {
        "ours is better": f"{ours} {_MORE[found.measure]} than {theirs}",
        "theirs is better": f"{theirs} {_MORE[found.measure]} than {ours}",
        "too few questions": f"Too few questions to tell {ours} from {theirs}",
    }.get(found.verdict, f"No difference between {ours} and {theirs} is more than chance")
    difference = found.difference
    return (
        f"**{said}**: {name} {found.ours:.3f} against {found.theirs:.3f} ({difference.mean:+.3f}, 95 % interval "
        f"{difference.low:+.3f} to {difference.high:+.3f}), {average}."
    )


def _average(rows: Sequence[Row]) -> str:
    questions = len({(row.set_name, row.question_id) for row in rows})
    settings = len({(row.way.retriever, row.way.hits, row.way.budget) for row in rows})
    asked = "1 question" if questions == 1 else f"{questions:,} questions"
    return asked if settings == 1 else f"the mean of {settings} settings (hits and budgets) over {asked}"


def _not_shown(rows: Sequence[Row]) -> Iterator[str]:
    """Yield how many questions have all of their evidence in no context, and whether their hits held it."""
    asked = grouped((row for row in rows if "complete" in row.measures), _question)
    never = [found for found in asked.values() if not any(row.measures["complete"] for row in found)]
    if asked and not never:
        yield "Every question has all of its evidence in at least one context."
    elif never:
        held = sum(any((held_share(row) or 0) >= COMPLETE for row in found) for found in never)
        found = "the retriever had found it all"
        hits = f", though {found}" if held == len(never) else f"; for {held:,} of them {found}"
        missing = f"For {len(never):,} of {len(asked):,} questions no context shows all of the evidence"
        yield f"{missing}{hits if held else ', and the retriever had not found it all'}."


def _question(row: Row) -> tuple[str, str]:
    return (row.set_name, row.question_id)


def main_table(rows: Sequence[Row]) -> str:
    """Return the first headline measure: a line for each composer and kind of hits, a column for each budget."""
    shown, measures = plain(rows), headline(rows)
    if not measures:
        return ""
    measure = measures[0]
    budgets = values_of(shown, "budget")
    families = len({family_of(row) for row in shown}) > 1
    several = with_several_hits(shown)
    lines = []
    for (family, hits), found in grouped(shown, lambda row: (family_of(row), hits_of(row))).items():
        place = [*column_if(families, family), *column_if(several, f"{hits} hits")]
        lines += [
            [composer, *place, *[_mean(of, measure, budget) for budget in budgets], f"{len(set(map(_question, of)))}"]
            for composer, of in grouped(found, lambda row: row.way.composer).items()
        ]
        held = {_question(row): share for row in found if (share := held_share(row)) is not None}
        if measure == "evidence_recall" and held:
            mean = figure(sum(held.values()) / len(held))
            lines.append([f"({HITS})", *place, *[mean] * len(budgets), f"{len(held)}"])
    header = ["composer", *column_if(families, "set"), *column_if(several, "hits")]
    header += [*(f"{budget:,} tokens" for budget in budgets), "questions"]
    return f"{table(header, lines)}\n\n{_caption(measures, lines)}"


def _mean(rows: Sequence[Row], measure: str, budget: int) -> str:
    return figure(mean_of((row for row in rows if row.way.budget == budget), measure))


def _caption(measures: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    meaning = "; ".join(filter(None, map(explain_measure, measures)))
    named = [f"*{cell(name)}*: {said}" for name, said in _SYSTEMS.items() if any(name == line[0] for line in lines)]
    return " ".join([f"*{equal(measures)}*, at each budget: {meaning}; higher is better.", *named])


def small_budgets(budgets: Sequence[int], composers: Sequence[str], chunk_tokens: int) -> str:
    """Return what budgets mean that a whole chunk may not fit; empty where there are none, or nothing to compare.

    Parameters
    ----------
    budgets, composers : of a run
    chunk_tokens : of its chunks, at most
    """
    small = [f"{budget:,}" for budget in sorted(set(budgets)) if budget < chunk_tokens]
    if not small or not set(composers) & set(BASELINES):
        return ""
    return (
        f"At {' and '.join(small)} tokens a whole chunk, of up to {chunk_tokens:,}, may not fit: baselines then cut "
        "the best chunk or pass it over, and the comparison says more about that than about what was found. Take a "
        f"budget of {2 * chunk_tokens:,} tokens or more, or smaller chunks."
    )


def failed_questions(rows: Sequence[Row]) -> str:
    """Return the questions whose evidence is missing from some context, those first that most contexts fail.

    For each: in how many contexts all of it stands, whether the hits held it, what was looked for, and what the context
    that shows most of it shows instead. Those that only a baseline fails are counted.
    """
    asked = list(grouped((row for row in plain(rows) if "complete" in row.measures), _question).values())
    composers = {row.way.composer for found in asked for row in found}
    mine = composers - set(BASELINES) or composers
    sides = [([row for row in found if row.way.composer in mine], found) for found in asked]
    failed = [own for own, _ in sides if _lacking(own)]
    others = sum(1 for own, found in sides if not _lacking(own) and _lacking(found))
    parts = [_failed_table(failed, len(asked))] if failed else []
    parts += [f"Only baselines lack evidence of {others:,} of {len(asked):,} questions."] if others else []
    return "\n\n".join(parts)


def _lacking(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if not row.measures["complete"]]


def _failed_table(failed: list[list[Row]], asked: int) -> str:
    """Return the table of the questions that some context fails; each has its rows."""
    failed = sorted(failed, key=lambda rows: -len(_lacking(rows)) / len(rows))
    lines = [_failed_line(rows) for rows in failed[:MOST_FAILED]]
    header = ["question", "set", "whole in", "the hits held", "looked for", "shown instead"]
    lack = "question lacks" if asked == 1 else "questions lack"
    more = f"; the {MOST_FAILED} that most contexts fail are listed" if len(failed) > MOST_FAILED else ""
    return (
        f"{len(failed):,} of {asked:,} {lack} evidence in at least one context{more}. *Whole in*: contexts with all of "
        "the evidence, over all hits and budgets. *Shown instead*: the best passages of the context that comes "
        f"closest.\n\n{table(header, lines)}"
    )


def _failed_line(rows: Sequence[Row]) -> list[str]:
    lacking = _lacking(rows)
    closest = max(lacking, key=lambda row: (row.measures.get("evidence_recall", 0.0), row.way.budget))
    return [
        rows[0].question or rows[0].question_id,
        rows[0].set_name,
        f"{len(rows) - len(lacking)} of {len(rows)}",
        _held(rows),
        _listed(closest.missing) or "–",
        _instead(closest),
    ]


def _held(rows: Sequence[Row]) -> str:
    """Return how much of the evidence the hits held: for each kind of hits where they differ."""
    kinds = {hits_of(row): held_share(row) for row in rows}
    said = {hits: _share(share) for hits, share in kinds.items()}
    if len(set(said.values())) == 1:
        return next(iter(said.values()), "")
    return ", ".join(f"{hits}: {share}" for hits, share in said.items())


def _share(share: float | None) -> str:
    if share is None:
        return "–"
    return "all of it" if share >= COMPLETE else f"{share:.0%} of it" if share >= 0.005 else "none of it"


def _instead(row: Row) -> str:
    place = f"({row.way.composer}, {hits_of(row)} hits, {row.way.budget:,} tokens)"
    return f"{_listed(row.shown)} {place}" if row.shown else f"nothing {place}" if row.missing else "–"


def _listed(excerpts: Sequence[Excerpt]) -> str:
    return " · ".join(f"{one.doc_id}: “{one.text}”" for one in excerpts)
