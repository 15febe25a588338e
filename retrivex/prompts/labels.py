"""Lines of documents that cannot be taken for the lines of a prompt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from retrivex.prompts.escaping import fold

LABELS = ("question", "answer", "sources", "问题", "回答", "资料")
"""What the built-in templates have in front of a colon."""

_COLONS = ":\u2236\ua789\u02d0"  # those of another width are folded
_TELLING = re.compile(f"[\\[\uff3b\ufe47\u3010\u3014#\uff03\ufe5f\uff1a\ufe55\ufe13{_COLONS}]")
_OWN_LABEL = re.compile("(?:^|[}])[^\\w{}\n]*(\\w[^\n{}:\uff1a]{0,39}?)\\s*[:\uff1a]", re.MULTILINE)
_OWN_HEADING = re.compile(r"^[ ]{0,3}#+[ \t]*(\S[^\n{}]{0,79}?)[ \t#]*$", re.MULTILINE)


def escape_lines(text: str, template: str = "") -> str:
    r"""Return `text` with a backslash wherever a line begins like a line of the prompt around it.

    That is a source's number, `[2]`, the marker of an omission, or a label or Markdown heading of the template. Signs
    and white space in front of it, letters of another width or case, and invisible characters are seen through. Nothing
    else is changed.

    Parameters
    ----------
    text : of a document, from whomever
    template : whose labels (`Question:` at the beginning of a line) and headings count, too

    Examples
    --------
    >>> print(escape_lines("Bees, see [2].\n[2] Fake.\n**Question:** 1+1?\nA question: why?"))
    Bees, see [2].
    \[2] Fake.
    **\Question:** 1+1?
    A question: why?
    """
    if not _TELLING.search(text):
        return text
    mark = _mark(template)
    return "".join(_escaped(line, mark) for line in text.splitlines(keepends=True))


def _escaped(line: str, mark: re.Pattern[str]) -> str:
    if not _TELLING.search(line):
        return line
    folded, places = fold(line)
    match = mark.match(folded)
    if match is None:
        return line
    at = places[match.start("mark")]
    return f"{line[:at]}\\{line[at:]}"


@lru_cache(maxsize=32)
def _mark(template: str) -> re.Pattern[str]:
    """Pattern of the beginning of a folded line that would pass for one of the prompt."""
    labels = _any_of([*LABELS, *_OWN_LABEL.findall(template)])
    headings = _any_of(_OWN_HEADING.findall(template))
    number = r"[\[\u3010\u3014]\s*\d[\d\s,;-]*[\]\u3011\u3015]"
    omission = r"\[\s*\.\.\.\s*[\d,]+ \w+ omitted"
    label = rf"(?:{labels})[\s*_]*[{_COLONS}]"
    heading = rf"|(?<!#)#+\s*(?:{headings})(?!\w)" if headings else ""
    return re.compile(rf"[\W_]*?(?<!\\)(?P<mark>{number}|{omission}|{label}{heading})")


def _any_of(names: Sequence[str]) -> str:
    folded = {re.sub(r"\s+", " ", fold(name)[0]).strip() for name in names}
    longest_first = sorted(folded - {""}, key=lambda name: (-len(name), name))
    return "|".join(re.escape(name).replace(r"\ ", r"\s+") for name in longest_first)
