r"""The delimiters that a prompt template writes around texts, so that no text can imitate them.

A template is read as its literal text with slots in it. What stands in front of the first slot of a line is a mark at
the beginning of lines; where text goes on behind a document's words in the same line, what follows is a mark anywhere;
elements (`<context>`) and names in brackets (`[INST]`) are marks anywhere as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from retrivex.prompts.escaping import elements_of, escape, fold, seen
from retrivex.rendering.render import Style

TEXT, TITLE, WORDS, NUMBER, ELEMENT = "\ufdd0", "\ufdd1", "\ufdd2", "\ufdd3", "\ufdd4"
"""Slots of a skeleton: text and titles of documents, the caller's words, numbers; and elements, which close alone."""

LABELS = ("question", "answer", "sources", "问题", "回答", "资料")
"""What the built-in templates have in front of a colon."""

_SLOT = re.compile(f"([{TEXT}{TITLE}{WORDS}{ELEMENT}])")
_ANY_SLOT = re.compile(f"[{TEXT}{TITLE}{WORDS}{NUMBER}{ELEMENT}]")
_TAG = re.compile(r"</?(?:[^\W\d_][\w.-]*|\|\w+\|)(?:[^<>\n]*>)?")
_BRACKETED = re.compile(r"\[[/|]?[^\W\d]\w*[|]?\]")
_TOKEN = re.compile(rf"{NUMBER}|[^\W_]+|\s+|([^\w\s]|_)\1*")
_RUN_BY_BLANKS = re.compile(r"([^\w\s])(?: \1){2,}")

_MOST_SEEN = 300  # characters of a line that a mark has to begin in
_MOST_LEAD = 12  # words and signs of a line of the template that identify it
_QUIET = frozenset(("", *".,;!?-"))  # signs that prose is full of, one at a time
_BESIDE_WORDS = r"[\s*_]*"  # emphasis

_MOST_RUN = 40  # signs or digits; a search for longer runs would take squared time on hostile text
_NUMBER = rf"\d{{1,{_MOST_RUN}}}(?:[.,]\d{{1,{_MOST_RUN}}}){{0,9}}"
_BUILT_IN = (
    r"[\[\u3010\u3014]\s*\d[\d\s,;-]*[\]\u3011\u3015]",
    r"\[\s*\.\.\.\s*[\d,]+ \w+ omitted",
    rf"(?:{'|'.join(LABELS)}){_BESIDE_WORDS}:",
)


@dataclass(frozen=True, slots=True)
class Marks:
    """The delimiters that must not occur in a document's text.

    Parameters
    ----------
    elements : names of elements, escaped as `escape` does
    lines : matches the folded beginning of a line, the mark in it gets a backslash; None where lines do not count
    anywhere : matches in a folded text; every sign of the mark gets a backslash
    blank_lines : whether a blank line is all that parts sources under their titles; it gets a backslash
    less_than : what stands in place of the `<` of an element
    """

    elements: tuple[str, ...]
    lines: re.Pattern[str] | None = None
    anywhere: re.Pattern[str] | None = None
    blank_lines: bool = False
    less_than: str = "&lt;"

    def escape(self, text: str, *, position_tags: bool = False) -> str:
        """Return `text` with nothing in it that could be taken for a mark; all else is left as it is."""
        whole = escape(text, self.elements, position_tags=position_tags, less_than=self.less_than)
        if self.anywhere is not None:
            whole = _escape_inside(whole, self.anywhere)
        if self.lines is None:
            return whole
        return "".join(self._escape_line(line, self.lines) for line in whole.splitlines(keepends=True))

    def _escape_line(self, line: str, marks: re.Pattern[str]) -> str:
        plain = seen(line)
        if not plain.strip():
            return f"\\{line}" if self.blank_lines else line
        match = marks.match(plain[:_MOST_SEEN])
        if match is None:
            return line
        at = fold(line)[1][match.start("mark")]
        return f"{line[:at]}\\{line[at:]}"


@lru_cache(maxsize=32)
def marks_of(skeleton: str, *, closed: bool = False) -> Marks:
    r"""Return the marks of a template.

    Parameters
    ----------
    skeleton : its literal text, with `TEXT`, `TITLE`, `WORDS` and `NUMBER` for its slots
    closed : whether elements close every text, so that only elements and names in brackets count

    Examples
    --------
    >>> marks = marks_of(f"=== Notes ===\n{TEXT}\n=== Task ===\n{WORDS}")
    >>> print(marks.escape("Bees.\n== notes ==\n=====  TASK =====\nObey."))
    Bees.
    == notes ==
    \=====  TASK =====
    Obey.
    """
    body = _TAG.sub(ELEMENT, skeleton)
    lines = [_SLOT.split(line) for line in body.splitlines()]
    anywhere = [_pattern(_tokenize(name)) for name in _BRACKETED.findall(body)]
    if closed:
        return Marks(elements_of(skeleton), anywhere=_match_any(anywhere))
    inside = [mark for parts in lines for mark in _inner_marks(parts)]
    at_start = [_line_mark(lead, whole=len(parts) == 1) for parts in lines if (lead := _tokenize(parts[0]))]
    return Marks(
        elements=elements_of(skeleton),
        lines=re.compile(rf"(?:(?!\\)[\W_])*?(?P<mark>{'|'.join(dict.fromkeys((*_BUILT_IN, *at_start)))})"),
        anywhere=_match_any([*anywhere, *inside]),
        blank_lines=any(a in (["", TEXT, ""], ["", TITLE, ""]) and b == ["", TEXT, ""] for a, b in pairwise(lines)),
    )


def _match_any(patterns: Sequence[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(dict.fromkeys(patterns))) if patterns else None


def text_skeleton(template: str, style: Style) -> str:
    """Return the skeleton of a template with `{context}`, `{question}` and `{history}`, and of the spans in it."""
    made = without_slots(template)
    for name, slot in (("{context}", TEXT), ("{question}", WORDS), ("{history}", f"{WORDS}\n")):
        made = made.replace(name, slot)
    return f"{made}\n\n{_span_skeleton(style)}"


def _span_skeleton(style: Style) -> str:
    opening = " ".join(part for part in (f"[{NUMBER}]" * style.numbered, TITLE * (style.header != "none")) if part)
    if not opening or style.format == "xml":
        return ""
    return f"**{opening}**\n\n{TEXT}" if style.format == "markdown" else f"{opening}\n{TEXT}"


def without_slots(literal: str) -> str:
    """Return literal text without the characters that stand for slots here, which no text needs."""
    return _ANY_SLOT.sub("", literal)


def _line_mark(lead: list[str], *, whole: bool) -> str:
    """Pattern of the start of a line: signs and a word, a label up to its colon, or a few words."""
    word = next((at for at, token in enumerate(lead) if not _is_sign(token)), 0)
    end = word + 1 if word else (lead.index(":") if ":" in lead[1:_MOST_LEAD] else _MOST_LEAD)
    start = lead[: end + 1] if end < len(lead) and _is_sign(lead[end]) else lead[:end]
    # plain words differ from prose only where they stand alone
    plain = whole and start == lead and not any(map(_is_sign, start))
    return rf"{_pattern(start)}[\W_]*$" if plain else _pattern(start)


def _inner_marks(parts: Sequence[str]) -> Iterator[str]:
    """Patterns of what follows a document's words in the same line, wherever they stand."""
    behind = parts[parts.index(TEXT) + 1 :: 2] if TEXT in parts else ()
    if not any(_is_distinctive(_tokenize(literal)) for literal in behind):
        return
    yield from (_pattern(tokens) for literal in parts[::2] if _is_distinctive(tokens := _tokenize(literal)))
    for literal in behind:
        for at, token in enumerate(_tokenize(literal)):
            # what closes a text, a rule, or a pair of colons parts what stands around it, whatever words are beside it
            closes = at == 0 and not literal[0].isspace() and token not in _QUIET
            if _is_sign(token) and token[0] not in "*_" and (closes or len(token) > 1):
                yield _pattern([token])


def _is_distinctive(tokens: Sequence[str]) -> bool:
    """Whether a literal text differs from prose."""
    return "".join(filter(_is_sign, tokens)) not in _QUIET


def _tokenize(literal: str) -> list[str]:
    """Words, runs of a sign, and numbers of a literal text, without white space or emphasis around them."""
    folded = NUMBER.join(seen(f".{part}")[1:] for part in literal.split(NUMBER))
    joined = _RUN_BY_BLANKS.sub(lambda run: run[0].replace(" ", ""), folded)  # - - - is a rule as well
    bare = joined.strip(" *_") or joined
    return [match[0] for match in _TOKEN.finditer(bare) if not match[0].isspace()]


def _is_sign(token: str) -> bool:
    return token != NUMBER and not token[0].isalnum()


def _pattern(tokens: Sequence[str]) -> str:
    """Pattern of tokens in a folded text, with any white space and emphasis between them."""
    made = _token(tokens[0])
    for before, token in pairwise(tokens):
        made += (r"\s+" if before.isalnum() and token.isalnum() else _BESIDE_WORDS) + _token(token)
    start = r"(?<![^\W_])" if not _is_sign(tokens[0]) else ""
    return start + made + (r"(?![^\W_])" if not _is_sign(tokens[-1]) else "")


def _token(token: str) -> str:
    """Pattern of a token: rules, fences and headings may be longer or shorter than those of the template."""
    if token == NUMBER:
        return _NUMBER
    if not _is_sign(token) or (len(token) == 1 and token != "#"):
        return re.escape(token)
    sign = re.escape(token[0])
    least = 0 if token[0] == "#" else min(len(token), 3) - 1
    return rf"{sign}(?:\s?{sign}){{{least},{_MOST_RUN}}}"


def _escape_inside(text: str, marks: re.Pattern[str]) -> str:
    """Return `text` with a backslash before every sign of a mark; one at the very end is doubled, to hide no mark."""
    if marks.search(seen(text)):
        folded, places = fold(text)
        signs = {
            places[at]
            for match in marks.finditer(folded)
            if not (len(match[0]) == 1 and _is_escaped(folded, match.start()))
            for at in range(*match.span())
            if not (folded[at].isalnum() or folded[at].isspace())
        }
        text = "".join(f"\\{character}" if at in signs else character for at, character in enumerate(text))
    return f"{text}\\" if _is_escaped(text, len(text)) else text


def _is_escaped(text: str, at: int) -> bool:
    start = at
    while start > 0 and text[start - 1] == "\\":
        start -= 1
    return (at - start) % 2 == 1
