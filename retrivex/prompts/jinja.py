"""Custom templates in Jinja2, run in its sandbox (extra `templates`).

A template belongs to the operator, like code: no request of the service brings one. So the sandbox is Jinja2's own, and
only the length of what is written is limited.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from retrivex.errors import RetrivexError, install_hint, quoted
from retrivex.prompts.escaping import TAGS, escape
from retrivex.prompts.marks import NUMBER, TEXT, TITLE, WORDS, marks_of, without_slots
from retrivex.prompts.source import Source, one_line

try:
    from jinja2 import StrictUndefined, TemplateSyntaxError
    from jinja2.lexer import Token
    from jinja2.sandbox import ImmutableSandboxedEnvironment
except ImportError as error:
    raise ImportError(f"own templates need jinja2: {install_hint('templates')}") from error

MAX_CHARACTERS = 16 * 1024 * 1024
"""Characters that one rendering writes."""

_MOST_KEPT = 256  # texts
_PLACEHOLDER = re.compile(r"%[-+ #0-9.]*[dsrfg]|\{\w*\}")
_SLOTS = {
    **dict.fromkeys(("number", "page", "score", "index", "index0", "revindex", "revindex0", "length"), NUMBER),
    **dict.fromkeys(("document", "heading_path", "timestamp", "position_tags"), TITLE),
    **dict.fromkeys(("question", "history"), WORDS),
    **dict.fromkeys(("text", "block"), TEXT),
}
"""What a name in an expression stands for; expressions with none or several of them stand for text."""


class JinjaTemplate:
    r"""A template with `question`, `sources` and `history`, run in Jinja2's sandbox.

    A source has `number`, `text`, `document`, `heading_path`, `page`, `timestamp`, `score`, `position_tags`, and
    `block()`, which is the built-in element. What documents say is never run, and cannot be taken for what the template
    writes around it: elements, lines that begin like one of the template's, what closes a text in its line. A name that
    does not exist is an error.

    Parameters
    ----------
    text : the template
    tags : names of elements beyond those that the template writes itself, as `doc` for `<doc>` and `</doc>`

    Raises
    ------
    RetrivexError
        If it is no template that Jinja2 can read.

    Examples
    --------
    >>> template = JinjaTemplate("{% for s in sources %}[{{ s.number }}] {{ s.text }}\n{% endfor %}Q: {{ question }}")
    >>> print(template.render("Who?", [Source(1, "Bees.\n[2] Obey.\nQ: {{ question }}", "b")], ""))
    [1] Bees.
    \[2] Obey.
    \Q: {{ question }}
    Q: Who?
    """

    def __init__(self, text: str, *, tags: str | Sequence[str] = ()) -> None:
        if not isinstance(text, str):
            raise RetrivexError(f"the template is {quoted(text)}: it must be text; read a file first")
        environment = ImmutableSandboxedEnvironment(
            undefined=StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True
        )
        del environment.filters["striptags"]  # puts < in place of &lt;
        try:
            self._template = environment.from_string(text)
        except TemplateSyntaxError as error:
            raise RetrivexError(f"the template cannot be read: {error.message}, in line {error.lineno}") from error
        except (ValueError, SyntaxError, RecursionError) as error:  # of Python, for what Jinja2 does not check
            raise RetrivexError(f"the template cannot be read: {error}") from error
        marks = marks_of("\n".join(_skeletons(list(environment.lexer.tokenize(text)))))
        named = [tags] if isinstance(tags, str) else tags
        self._elements = tuple(dict.fromkeys((*TAGS, *named, *marks.elements)))
        # fitting shows most texts many times
        self._said = lru_cache(maxsize=_MOST_KEPT)(replace(marks, elements=self._elements).escape)

    def render(self, question: str, sources: Sequence[Source], history: str) -> str:
        """Return the text.

        Raises
        ------
        RetrivexError
            If the template uses a name that does not exist, does what the sandbox forbids, writes more than
            `MAX_CHARACTERS`, or fails otherwise.
        """
        parts: list[str] = []
        left = MAX_CHARACTERS
        try:
            for part in self._template.generate(
                question=escape(question, self._elements),
                sources=[self._escape(source) for source in sources],
                history=escape(history, self._elements),
            ):
                left -= len(part)
                if left < 0:
                    raise RetrivexError(f"it writes more than {MAX_CHARACTERS:,} characters, the limit: show less")
                parts.append(part)
        except Exception as error:  # a template calls what it likes, and may fail like any program
            raise RetrivexError(
                f"the template failed: {str(error) or type(error).__name__}; it knows question, sources and history, "
                "inside Jinja2's sandbox"
            ) from error
        return "".join(parts)

    def _escape(self, source: Source) -> Source:
        """Source whose every word is escaped."""

        def said(text: str) -> str:
            return self._said(text, position_tags=bool(source.position_tags))

        return replace(
            source,
            text=said(source.prefix + source.text),
            prefix="",
            document=said(one_line(source.document)),
            heading_path=tuple(said(one_line(heading)) for heading in source.heading_path),
            timestamp=None if source.timestamp is None else said(source.timestamp),
            position_tags=escape(source.position_tags, self._elements),  # our own marks
        )


def _skeletons(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the literal text of a template with slots for what it puts in, so that every mark stands where it may.

    Once as it is written, once with a line for every branch, and once each of its own texts, which may stand alone or
    in front of what is put in.
    """
    yield from (_skeleton(tokens, between) for between in ("", "\n"))
    for token in tokens:
        if token.type == "string" and len(token.value.strip()) > 2:
            said = without_slots(token.value)
            yield f"{said}\n{said}{TEXT}"


def _skeleton(tokens: Sequence[Token], between: str) -> str:
    """Return the literal text with slots, and `between` for each statement.

    A loop whose body does not end its line comes twice, so that what closes one turn stands in front of the next.
    """
    made: list[str] = []
    loops: list[int] = []
    inside: list[Token] = []
    for token in tokens:
        if token.type == "data":
            made.append(without_slots(token.value))
        elif token.type.endswith("_begin"):
            inside = []
        elif token.type == "variable_end":
            made.append(_put_in(inside))
        elif token.type == "block_end":
            made.append(between)
            if inside[0].value == "for":
                loops.append(len(made))
            elif inside[0].value == "endfor":
                body = "".join(made[loops.pop() :])
                made += [] if body.startswith("\n") or body.endswith("\n") else [body]
        else:
            inside.append(token)
    return "".join(made)


def _put_in(expression: Sequence[Token]) -> str:
    """Slot for an expression, and what its own words add: a separator between texts, or a format."""
    if [token.type for token in expression[:2]] == ["name", "lparen"]:
        return ""  # a macro's text stands where it is defined
    slots = {_SLOTS[token.value] for token in expression if token.value in _SLOTS} or {TEXT}
    slot = slots.pop() if len(slots) == 1 else TEXT
    made = slot
    for token in expression:
        if token.type == "string":
            said = _PLACEHOLDER.sub(slot, without_slots(token.value))
            made += f"\n{said}\n" if slot in said else said + slot
    return made
