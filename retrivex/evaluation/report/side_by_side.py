"""Two systems side by side: a verdict, a table and single questions, in words.

The first system is called A, the second B, as the options of `retrivex compare` call them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from retrivex.evaluation.compare.comparison import LOWER_IS_BETTER, NEITHER_IS_BETTER, Comparison, Pair
from retrivex.evaluation.run.measure_words import explain_measure, label_measure, write_measure
from retrivex.evaluation.run.results import Row, Way

RESULTS = (
    "evidence_recall", "complete", "answer_in_context", "reciprocal_rank", "score", "f1", "em",
    "faithfulness", "answerable",
)  # fmt: skip
COSTS = ("tokens", "spans", "broken_sentences", "ms")
"""What a context costs and looks like: no results, so they stand apart."""

FIGURES = ("A", "B", "difference", "A : B : level")
"""Columns of figures."""

MORE = "More measures"
NO_CONTEXT = "(no context was kept: run `retrivex evaluate` with --keep-contexts)"
INTERVAL = (
    "difference: A less B, with its 95 % interval (paired bootstrap over questions); where it holds 0, it may be "
    "chance. A : B : level: questions in which A is ahead, in which B is, and in which they are level"
)


def verdict(comparisons: Sequence[Comparison], read: str, ours: str, theirs: str) -> str:
    """Return in a sentence what one measure says of the two, over all sets."""
    found = [one for one in comparisons if one.measure == read][-1]
    said = {
        "A is better": f"{ours} (A) is better than {theirs} (B)",
        "B is better": f"{theirs} (B) is better than {ours} (A)",
        "too few questions": f"Too few questions to tell {ours} (A) from {theirs} (B)",
        "no effect seen": f"No difference between {ours} (A) and {theirs} (B) is more than chance",
    }.get(by_letter(found), f"{ours} (A) and {theirs} (B) differ")
    questions = "1 question" if len(found.pairs) == 1 else f"{len(found.pairs):,} questions"
    return f"{said}: {label_measure(read)} {_against(read, found.ours, found.theirs)}, {questions}."


def _against(measure: str, ours: float, theirs: float) -> str:
    return f"{write_measure(measure, ours)} against {write_measure(measure, theirs)}"


def by_letter(found: Comparison) -> str:
    """Return a verdict with A for ours and B for theirs."""
    return found.verdict.replace("ours", "A").replace("theirs", "B")


def groups(comparisons: Sequence[Comparison]) -> dict[str, list[Comparison]]:
    """Return the comparisons under the titles of their tables: results first, what they cost, then all else.

    Measures that RetriVex does not know are results.
    """
    made: dict[str, list[Comparison]] = {"What the contexts hold": [], "What they cost": [], MORE: []}
    results, costs, more = made.values()
    for found in comparisons:
        known = found.measure in RESULTS or not explain_measure(found.measure)
        (results if known else costs if found.measure in COSTS else more).append(found)
    return {title: rows for title, rows in made.items() if rows}


def explanations(comparisons: Sequence[Comparison]) -> list[str]:
    """Return a line on each measure of some comparisons, and one on their intervals."""
    lines = []
    for name in dict.fromkeys(found.measure for found in comparisons):
        better = (
            "lower is better" if name in LOWER_IS_BETTER else "" if name in NEITHER_IS_BETTER else "higher is better"
        )
        lines.append(f"{label_measure(name)}: {'; '.join(filter(None, (explain_measure(name), better)))}")
    return lines


def head(comparisons: Sequence[Comparison]) -> tuple[str, ...]:
    """Return the names of the columns of `cells`."""
    sets = ["set"] if len({found.set_name for found in comparisons}) > 1 else []
    return (*sets, "measure", *FIGURES, "verdict")


def cells(found: Comparison, *, with_set: bool) -> tuple[str, ...]:
    """Return a comparison as the cells of a table: means, difference, interval, questions won by each, verdict."""
    difference, name = found.difference, found.measure
    mean, low, high = (write_measure(name, value, "+") for value in (difference.mean, difference.low, difference.high))
    return (
        *((found.set_name,) if with_set else ()),
        label_measure(name),
        write_measure(name, found.ours),
        write_measure(name, found.theirs),
        f"{mean} [{low}, {high}]",
        f"{found.wins} : {found.losses} : {found.ties}",
        by_letter(found),
    )


def standing(pair: Pair, measure: str) -> str:
    """Return the figures of a question: of what is shown, and of all settings where there are several."""
    here = _against(measure, pair.our_row.measures[measure], pair.their_row.measures[measure])
    over = f"; {_against(measure, pair.ours, pair.theirs)} over {pair.settings} settings" if pair.settings > 1 else ""
    return f"{label_measure(measure)}: {here} in the contexts below{over}"


def marked(row: Row) -> Iterator[tuple[str, bool]]:
    """Yield a row's context piece by piece, each with whether it is evidence."""
    text, end = row.context or NO_CONTEXT, 0
    for start, stop in row.evidence if row.context else ():
        yield text[end:start], False
        yield text[start:stop], True
        end = stop
    yield text[end:], False


def described(way: Way) -> str:
    """Return a way in words.

    Examples
    --------
    >>> described(Way("dense", 50, "balanced", "edge_balanced", 2000))
    'balanced, 50 dense hits, edge_balanced, 2,000 tokens'
    """
    return f"{way.composer}, {way.hits} {way.retriever} hits, {way.order}, {way.budget:,} tokens"
