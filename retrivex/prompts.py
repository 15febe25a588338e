"""Prompts: question, context, history and room for the answer inside a model's window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from retrivex.errors import BudgetError, RetrivexError
from retrivex.rendering import Style, render
from retrivex.span import Span, cut_span
from retrivex.tokens import Tokenizer
from retrivex.trimming import trim

DEFAULT_TEMPLATE = """\
Answer the question from the sources below, and from nothing else. Cite them by number, like [1]. If they do not \
hold the answer, say so.

Sources:

{context}

{history}Question: {question}
Answer:"""


def fill_template(template: str, context: str, question: str, history: str) -> str:
    """Put the parts into `template`, braces in them untouched.

    Raises
    ------
    RetrivexError
        If the template has no `{context}` or no `{question}`.
    """
    for name in ("{context}", "{question}"):
        if name not in template:
            raise RetrivexError(f"the template has no {name}: put {name} where it belongs; text was {template[:80]!r}")
    parts = {"{context}": context, "{question}": question, "{history}": f"{history}\n\n" if history else ""}
    made: list[str] = []
    rest = template
    while rest:
        at, name = min(((rest.find(n), n) for n in parts if n in rest), default=(-1, ""))
        if at < 0:
            made.append(rest)
            break
        made += [rest[:at], parts[name]]
        rest = rest[at + len(name) :]
    return "".join(made)


def fit_prompt(
    spans: Sequence[Span],
    style: Style,
    tokenizer: Tokenizer,
    question: str,
    *,
    template: str,
    history: str,
    max_tokens: int | None,
    answer_reserve: int,
) -> str:
    """Return a prompt of at most `max_tokens - answer_reserve` tokens, weakest spans left out first.

    Pinned spans go last; the last one that is left is trimmed around its best sentence.

    Raises
    ------
    BudgetError
        If the template, question and history alone are too long.
    """

    # spans keep their numbers when others are left out, so that what the model cites can be resolved
    def build(kept: Sequence[tuple[int, Span]]) -> str:
        context = render([span for _, span in kept], style, [number for number, _ in kept]).text
        return fill_template(template, context, question, history)

    kept = list(enumerate(spans, start=1))
    made = build(kept)
    if max_tokens is None:
        return made
    room = max_tokens - answer_reserve
    while tokenizer.count(made) > room:
        if not kept:
            raise BudgetError(
                f"the prompt takes {tokenizer.count(made)} tokens without any context and only {room} are left "
                f"(max_tokens={max_tokens} less answer_reserve={answer_reserve}): raise max_tokens, or shorten the "
                "template, the question or the history"
            )
        number, weakest = min(kept, key=lambda entry: (entry[1].pinned, entry[1].score))
        kept = [entry for entry in kept if entry[0] != number]
        if not kept:
            # a shortened span does not fit twice: if this still is too long, the next round gives up
            fits = partial(_fits, number, build, tokenizer, room)
            kept = [(number, span) for span in _shortened(weakest, fits, question)]
        made = build(kept)
    return made


def _fits(
    number: int, build: Callable[[Sequence[tuple[int, Span]]], str], tokenizer: Tokenizer, room: int, span: Span
) -> bool:
    return tokenizer.count(build([(number, span)])) <= room


def _shortened(span: Span, fits: Callable[[Span], bool], question: str) -> list[Span]:
    part = trim(span.text, lambda start, end: fits(cut_span(span, start, end, 0)), question)
    if part is None:
        return []
    return [cut_span(span, *part, span.token_count)]
