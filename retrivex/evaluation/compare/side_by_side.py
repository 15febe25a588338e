"""A page with the contexts of two systems side by side, question by question."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from retrivex.evaluation.compare.comparison import Comparison, Pair
from retrivex.evaluation.run.results import Way

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 100rem; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: 1rem 0; } th, td { padding: .2rem .8rem; text-align: right; }
th:first-child, td:first-child, th:nth-child(2), td:nth-child(2), td:last-child { text-align: left; }
tr + tr { border-top: 1px solid #ddd; } h2 { margin-top: 3rem; } h3 { margin: 2rem 0 .2rem; }
.both { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; } .both h4 { margin: .5rem 0; color: #555; }
.context { white-space: pre-wrap; overflow-wrap: anywhere; background: #f6f6f4; padding: .8rem; max-height: 40rem;
  overflow: auto; font: 13px/1.5 ui-monospace, monospace; }
"""


def page(comparisons: Sequence[Comparison], read: str, *, ours: str, theirs: str, number: int = 10) -> str:
    """Return an HTML page: every comparison in a table, and the questions that one measure wins and loses most on.

    Parameters
    ----------
    comparisons : of `compare`
    read : the measure whose questions are shown
    ours, theirs : what the two sides are called
    number : questions shown for each set, of wins and of losses
    """
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f"<title>{escape(ours)} and {escape(theirs)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{escape(ours)} against {escape(theirs)}</h1>",
        _table(comparisons, ours, theirs),
    ]
    for found in comparisons:
        if found.measure == read and len({pair.asked[0] for pair in found.pairs}) == 1:
            for title, pairs in (("wins", found.best(number)), ("losses", found.worst(number))):
                parts += _questions(f"{found.set_name}: {title} on {read}", pairs, ours, theirs)
    return "\n".join([*parts, "</body></html>\n"])


def _table(comparisons: Sequence[Comparison], ours: str, theirs: str) -> str:
    head = (
        "set",
        "measure",
        ours,
        theirs,
        "difference",
        "95 % interval",
        "effect size",
        "wins",
        "losses",
        "",
        "verdict",
    )
    rows = [head, *map(cells, comparisons)]
    tags = ["th", *["td"] * len(comparisons)]
    lines = [
        "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) + "</tr>"
        for tag, row in zip(tags, rows, strict=True)
    ]
    return "<table>" + "\n".join(lines) + "</table>"


def head(ours: str, theirs: str) -> tuple[str, ...]:
    """Return the names of the columns of `cells`."""
    columns = ("difference", "95 % interval", "effect size", "wins", "losses", "", "verdict")
    return ("set", "measure", ours, theirs, *columns)


def cells(found: Comparison) -> tuple[str, ...]:
    """Return a comparison as the cells of a table: set, measure, means, difference, interval, d_z, counts, verdict."""
    difference = found.difference
    return (
        found.set_name,
        found.measure,
        f"{found.ours:.3f}",
        f"{found.theirs:.3f}",
        f"{difference.mean:+.3f}",
        f"{difference.low:+.3f} to {difference.high:+.3f}",
        "–" if found.effect_size is None else f"{found.effect_size:+.2f}",
        str(found.wins),
        str(found.losses),
        f"{found.ties} level",
        found.verdict,
    )


def _questions(title: str, pairs: Sequence[Pair], ours: str, theirs: str) -> list[str]:
    parts = [f"<h2>{escape(title)}</h2>"] if pairs else []
    for pair in pairs:
        row = pair.our_row
        parts += [
            f"<h3>{escape(row.question or row.question_id)}</h3>",
            f"<p>{escape(row.set_name)}, {escape(row.question_id)}: {pair.ours:.3f} against {pair.theirs:.3f}</p>",
            '<div class="both">',
            *[
                f"<div><h4>{escape(name)}: {escape(described(side.way))}</h4>"
                f'<div class="context">{escape(side.context or "(no context was kept)")}</div></div>'
                for name, side in ((ours, row), (theirs, pair.their_row))
            ],
            "</div>",
        ]
    return parts


def described(way: Way) -> str:
    """Return a way in words.

    Examples
    --------
    >>> described(Way("dense", 50, "balanced", "edge_balanced", 2000))
    'balanced, 50 dense hits, edge_balanced, 2,000 tokens'
    """
    return f"{way.composer}, {way.hits} {way.retriever} hits, {way.order}, {way.budget:,} tokens"
