"""Fits a context into a prompt: the weakest spans are dropped first, and the last one is trimmed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import count as count_up
from typing import Protocol, TypeVar

from retrivex.errors import BudgetError, RetrivexError, quoted
from retrivex.model.span import Span, cut_span
from retrivex.prompts.arguments import check_arguments
from retrivex.prompts.escaping import TAGS, escape
from retrivex.prompts.marks import Marks, marks_of, text_skeleton
from retrivex.prompts.source import Source, one_line
from retrivex.prompts.templates import fill_template
from retrivex.rendering.render import Style, render
from retrivex.rendering.trimming import trim
from retrivex.tokens.tokenizer import Tokenizer


class SourceTemplate(Protocol):
    """A custom template, such as a `JinjaTemplate`.

    It gets sources as they are: what it writes around their texts, only it knows; `Source.block` is safe.
    """

    def render(self, question: str, sources: Sequence[Source], history: str) -> str:
        """Return the text."""


def write_own(template: SourceTemplate, question: str, sources: Sequence[Source], history: str) -> str:
    """Return what an own template makes of its arguments.

    Raises
    ------
    RetrivexError
        If it fails, whatever it raises, or returns something else than text.
    """
    try:
        made = template.render(question, sources, history)
    except RetrivexError:
        raise
    except Exception as error:  # somebody else's code, which may fail like any program
        raise RetrivexError(
            f"the template {quoted(template, 40)} failed ({type(error).__name__}: {error}): it must have "
            "render(question, sources, history); give Jinja2 text as JinjaTemplate(text)"
        ) from error
    if not isinstance(made, str):
        raise RetrivexError(f"the template {quoted(template, 40)} returned {quoted(made)}: render() must return text")
    return made


Item = TypeVar("Item", Span, Source)
Made = TypeVar("Made")


def fit(
    items: Sequence[Item],
    build: Callable[[Sequence[tuple[int, Item]]], Made],
    count: Callable[[Made], int],
    cut: Callable[[Item, int, int], Item],
    question: str,
    max_tokens: int | None,
    answer_reserve: int,
    numbers: Sequence[int] | None = None,
) -> Made:
    """Return what `build` makes of as many `items` as fit into `max_tokens - answer_reserve`, weakest left out first.

    Pinned ones go last; the last one that is left is trimmed around its best sentence.

    Parameters
    ----------
    items : in their order; they are numbered from 1 and keep their numbers when others are left out, so that what the
        model cites can be resolved
    build : makes the prompt
    count : its tokens
    cut : returns the part of an item from one offset of its text to another
    question : what the best sentence is chosen by
    max_tokens : the model's window; None does not limit
    answer_reserve : tokens kept free for the answer
    numbers : of the items, in place of 1, 2, ...

    Raises
    ------
    BudgetError
        If it does not fit without any item.
    """
    numbered = list(enumerate(items, start=1) if numbers is None else zip(numbers, items, strict=True))
    made = build(numbered)
    if max_tokens is None:
        return made
    room = max_tokens - answer_reserve
    if count(made) <= room:
        return made
    weakest_first = sorted(numbered, key=lambda entry: (entry[1].pinned, entry[1].score))

    def without(weakest: int) -> list[tuple[int, Item]]:
        gone = {number for number, _ in weakest_first[:weakest]}
        return [entry for entry in numbered if entry[0] not in gone]

    def fits(kept: list[tuple[int, Item]]) -> bool:
        return count(build(kept)) <= room

    # every one that goes makes the prompt shorter, so how many have to is found by halving: of many, few may fit
    kept = without(bisect_left(range(len(items)), True, key=lambda weakest: fits(without(weakest))))
    if not kept and weakest_first:
        number, item = weakest_first[-1]
        part = trim(item.text, lambda start, end: fits([(number, cut(item, start, end))]), question)
        kept = [] if part is None else [(number, cut(item, *part))]
    made = build(kept)
    if not kept and (tokens := count(made)) > room:
        raise BudgetError(
            f"the prompt takes {tokens} tokens without any context and only {room} are left "
            f"(max_tokens={max_tokens} less answer_reserve={answer_reserve}): raise max_tokens, or shorten the "
            "template, the question or the history"
        )
    return made


def fit_prompt(
    spans: Sequence[Span],
    style: Style,
    tokenizer: Tokenizer,
    question: str,
    *,
    template: str | SourceTemplate,
    history: str,
    max_tokens: int | None = None,
    answer_reserve: int = 0,
    numbers: Sequence[int] | None = None,
    answer: str | None = None,
) -> str:
    """Return a prompt of at most `max_tokens - answer_reserve` tokens, weakest spans left out first.

    Spans are numbered 1, 2, ... or as `numbers` says; a text template may have `{answer}` where an answer is given.

    Raises
    ------
    RetrivexError
        If an argument breaks its rule, or an own template fails.
    BudgetError
        If the template, question and history alone are too long.
    """
    check_arguments(question, max_tokens, answer_reserve)
    if not isinstance(history, str):
        raise RetrivexError(f"history is {quoted(history)}: it must be text; leave it out where there is none")
    if not isinstance(template, str):
        own = template
        return fit(
            [Source.of(span, number) for number, span in zip(numbers or count_up(1), spans, strict=False)],
            lambda kept: write_own(own, question, [source for _, source in kept], history),
            tokenizer.count, Source.cut, question, max_tokens, answer_reserve, numbers,
        )  # fmt: skip
    filled = template
    marked = filled if answer is None else filled.replace("{answer}", "{question}")  # both are words of their own
    harmless = _Harmless(style, marks_of(text_skeleton(marked, style), closed=style.format == "xml"))
    asked, earlier = escape(question, harmless.elements), escape(history, harmless.elements)
    so_far = None if answer is None else escape(answer, harmless.elements)

    def build(kept: Sequence[tuple[int, Span]]) -> str:
        context = render([harmless.span(span) for _, span in kept], style, [number for number, _ in kept]).text
        return fill_template(filled, context, asked, earlier, so_far)

    def cut(span: Span, start: int, end: int) -> Span:
        return cut_span(span, start, end, span.token_count)

    return fit(spans, build, tokenizer.count, cut, question, max_tokens, answer_reserve, numbers)


class _Harmless:
    """Escapes spans so that they cannot be mistaken for a part of the prompt; the composition stays unchanged."""

    def __init__(self, style: Style, marks: Marks) -> None:
        self.style = style
        xml = style.format == "xml"
        in_text = replace(marks, elements=(*TAGS, *marks.elements)) if xml else marks
        # attributes are quoted afterwards, which sees < alone and no look-alike of it
        in_title = replace(in_text, less_than="<") if xml else in_text
        self.elements = in_text.elements
        # every round of fitting shows most texts again
        self.text = lru_cache(maxsize=None)(in_text.escape)
        self.title = lru_cache(maxsize=None)(in_title.escape)

    def span(self, span: Span) -> Span:
        """Return the span as it may be shown."""
        first, *others = span.chunks
        metadata = first.metadata
        title = str(metadata.custom_metadata.get("title") or metadata.doc_id)
        named = replace(
            metadata,
            custom_metadata={**metadata.custom_metadata, "title": self._escape_title(title)},
            heading_path=tuple(map(self._escape_title, metadata.heading_path or ())),
        )
        return replace(
            span,
            doc_id=self.title(span.doc_id) if self.style.format == "xml" else span.doc_id,
            # as one text: a mark may begin in the prefix and end behind it
            text=self.text((span.prefix or "") + span.text if self.style.prefixes else span.text),
            prefix=None,
            chunks=[replace(first, metadata=named), *others],
        )

    def _escape_title(self, title: str) -> str:
        # signs alone would make one with the signs around a title
        made = self.title(one_line(title))
        return made if any(map(str.isalnum, made)) or not made else f"\\{made}"
