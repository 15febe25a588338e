"""Writes names and numbers as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

_SPECIAL = str.maketrans(
    {"\\": "\\\\", "|": "\\|", "\n": " ", "\r": " ", "<": "&lt;", "&": "&amp;", "`": "\\`", "*": "\\*"}
)


def cell(text: str) -> str:
    """Return a text as it can stand in a table: on one line, nothing in it read as markup.

    Examples
    --------
    >>> cell("a|b\\n<script>")
    'a\\\\|b &lt;script>'
    """
    # links and images: brackets are escaped only there, as intervals have them, too
    return text.translate(_SPECIAL).replace("](", "]\\(")


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table, its first column to the left and the others to the right.

    Examples
    --------
    >>> print(table(["set", "questions"], [["squad", "250"]]))
    | set | questions |
    | --- | ---: |
    | squad | 250 |
    """
    lines = [[cell(text) for text in header], ["---", *["---:"] * (len(header) - 1)]]
    lines += [[cell(text) for text in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def figure(value: float | None, digits: int = 3) -> str:
    """Return a number, or a dash where there is none."""
    return "–" if value is None else f"{value:,.{digits}f}"


def with_interval(found: tuple[float, float, float] | None) -> str:
    """Return a mean with its interval.

    Examples
    --------
    >>> with_interval((0.5, 0.41, 0.6))
    '0.500 [0.410, 0.600]'
    """
    return "–" if found is None else f"{found[0]:.3f} [{found[1]:.3f}, {found[2]:.3f}]"


def words(name: str) -> str:
    """Return a name, as of a measure, in words: "evidence recall" of "evidence_recall"."""
    return name.replace("_", " ")


def equal(measures: Sequence[str]) -> str:
    """Return the names of measures that are the same number.

    Examples
    --------
    >>> equal(["evidence_recall", "complete"])
    'evidence recall = complete'
    """
    return " = ".join(map(words, measures))


def column_if(shown: bool, text: str) -> list[str]:
    """Return the cell of a column that a table may go without: none where it does."""
    return [text] if shown else []
