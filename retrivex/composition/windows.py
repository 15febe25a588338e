"""A composition over several prompts: whole spans packed into windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

from retrivex.composition.composition import Citation, Composition
from retrivex.errors import BudgetError, RetrivexError, quoted
from retrivex.model.question import takes_both_names
from retrivex.model.span import Span
from retrivex.prompts.arguments import check_arguments
from retrivex.prompts.fitting import SourceTemplate, fit_prompt
from retrivex.prompts.templates import DEFAULT_TEMPLATE, REFINE_TEMPLATE
from retrivex.rendering.render import Style, render
from retrivex.tokens.tokenizer import Tokenizer, TokenizerSpec

Mode: TypeAlias = Literal["compact", "refine", "tree"]
"""How a context is spread: `compact` keeps the order; `refine` takes the best first, and each prompt carries the answer
so far; `tree` keeps the order, and the answers are made one. The names are those of LlamaIndex's response synthesizers.
"""


@dataclass(frozen=True, slots=True)
class Form:
    """What the prompts of all windows have in common.

    Parameters
    ----------
    style, question, counter : of the composition, or what the caller gave in their place
    template, refine_template : of a prompt without an answer so far, and with one
    mode, window_tokens, answer_reserve : as given
    """

    style: Style
    question: str
    counter: Tokenizer
    template: str | SourceTemplate
    refine_template: str
    mode: Mode
    window_tokens: int
    answer_reserve: int

    @property
    def room(self) -> int:
        """Tokens of a prompt."""
        return self.window_tokens - self.answer_reserve

    def write(self, spans: Sequence[Span], numbers: Sequence[int], question: str, answer: str | None) -> str:
        """Return the whole prompt, whatever it takes."""
        template = self.template if answer is None else self.refine_template
        return fit_prompt(
            spans, self.style, self.counter, question, template=template, history="", numbers=numbers, answer=answer
        )

    def price(self, spans: Sequence[Span], numbers: Sequence[int]) -> int:
        """Tokens of the prompt; with `refine`, of the longer one, with room for an answer so far."""
        tokens = self.counter.count(self.write(spans, numbers, self.question, None))
        if self.mode != "refine":
            return tokens
        carried = self.counter.count(self.write(spans, numbers, self.question, ""))
        return max(tokens, carried + self.answer_reserve)

    def check(self, prompt: str, about: str, advice: str) -> str:
        """Return a prompt that fits, and refuse another."""
        if (tokens := self.counter.count(prompt)) > self.room:
            raise BudgetError(
                f"{about} takes {tokens:,} tokens and a window has {self.room:,} (window_tokens={self.window_tokens:,} "
                f"less answer_reserve={self.answer_reserve:,}): {advice}"
            )
        return prompt


@dataclass(frozen=True, slots=True)
class PromptWindow:
    """Whole spans that are shown in one prompt.

    Parameters
    ----------
    text : the context of this window
    spans : in the order of `text`
    numbers : of the spans, to cite them by: those of the composition, so that its `resolve` reads every answer
    citations : every stretch of source text, with offsets in `text`
    tokens : of the whole prompt, without room for answers
    """

    text: str
    spans: tuple[Span, ...]
    numbers: tuple[int, ...]
    citations: tuple[Citation, ...]
    tokens: int
    form: Form = field(repr=False, compare=False)

    @takes_both_names
    def prompt(self, question: str | None = None, *, answer: str | None = None) -> str:
        """Return the whole prompt.

        Parameters
        ----------
        question : in place of the one that the windows were made for
        answer : the answer so far; only with `refine`

        Raises
        ------
        RetrivexError
            If an answer is given to windows of another mode.
        BudgetError
            If the question is longer than the one that was packed for, or the answer than `answer_reserve`, so that
            the prompt no longer fits.
        """
        if answer is not None and (self.form.mode != "refine" or not isinstance(answer, str)):
            raise RetrivexError(
                f"answer is {quoted(answer)} and mode {self.form.mode!r}: only prompts of mode='refine' carry an "
                "answer so far, as text"
            )
        asked = self.form.question if question is None else question
        written = self.form.write(self.spans, self.numbers, asked, answer)
        advice = "shorten the question or the answer so far, or compose the windows with a larger answer_reserve"
        return self.form.check(written, "the prompt", advice)


@takes_both_names
def compose_windows(
    composition: Composition,
    *,
    window_tokens: int,
    mode: Mode = "compact",
    question: str | None = None,
    template: str | SourceTemplate = DEFAULT_TEMPLATE,
    refine_template: str = REFINE_TEMPLATE,
    answer_reserve: int = 0,
    tokenizer: TokenizerSpec = None,
) -> tuple[PromptWindow, ...]:
    """Spread a composition over prompts of at most `window_tokens - answer_reserve` tokens, each span whole in one.

    Windows are filled one after the other: as few as fit, in the order that the mode has. A composition without spans
    gives one window without any.

    Parameters
    ----------
    composition : with a `token_budget` that may well be larger than a window
    window_tokens : of a whole prompt: template, question and spans, and `answer_reserve` beside them
    mode : `compact` and `tree` keep the order of the spans; `refine` takes pinned and best ones first, and keeps
        `answer_reserve` tokens free for the answer so far as well
    question : defaults to the one the context was composed for
    template : with `{context}` and `{question}`; or a `JinjaTemplate`
    refine_template : with `{answer}` as well, for the answer so far; used from the second prompt of `refine` on
    answer_reserve : tokens kept free for an answer; needed by `refine` and `tree`, which read answers again
    tokenizer : counts; None takes the one that counted the context

    Raises
    ------
    RetrivexError
        If an argument breaks its rule.
    BudgetError
        If a span, or the template with its question, is larger than a window.

    Examples
    --------
    >>> from retrivex import Chunk, ChunkMetadata, SeedHit, SpanComposer
    >>> texts = ["Bees sleep at night.", "Ants nap.", "Owls sleep by day."]
    >>> store = {(text[:4], 0): Chunk(text, ChunkMetadata(text[:4], 0)) for text in texts}
    >>> hits = [SeedHit(chunk, 0.9) for chunk in store.values()]
    >>> made = SpanComposer(tokenizer=len).compose(hits, store, query="Who sleeps?", keep_top=3)
    >>> windows = compose_windows(made, window_tokens=60, template="{context} Q: {question}")
    >>> [len(window.spans) for window in windows], windows[1].numbers
    ([2, 1], (3,))
    """
    if not isinstance(composition, Composition):
        raise RetrivexError(f"composition is {quoted(composition)}: give what SpanComposer.compose returned")
    asked = composition._asked(question, "compose_windows")
    _check_mode(mode, window_tokens, answer_reserve, refine_template)
    check_arguments(asked, window_tokens, answer_reserve)
    counter = composition._counter(tokenizer, window_tokens)
    form = Form(
        composition.style, asked, counter, template, refine_template, mode, window_tokens, answer_reserve
    )  # fmt: skip
    stable = form.price((), ())
    if stable > form.room:
        raise BudgetError(
            f"the prompt takes {stable:,} tokens without any span and a window has {form.room:,} "
            f"(window_tokens={window_tokens:,} less answer_reserve={answer_reserve:,}): raise window_tokens, or "
            "shorten the template, the question or answer_reserve"
        )
    return tuple(_windows(composition, form, _pack(composition.spans, form)))


def _check_mode(mode: Any, window_tokens: Any, answer_reserve: int, refine_template: Any) -> None:
    if isinstance(window_tokens, bool) or not isinstance(window_tokens, int):
        raise RetrivexError(
            f"window_tokens is {quoted(window_tokens)}: give the most tokens of a prompt as a whole number, e.g. 8000"
        )
    if mode not in get_args(Mode):
        raise RetrivexError(f"mode is {quoted(mode)}: choose one of {', '.join(get_args(Mode))}")
    if mode != "compact" and not answer_reserve:
        raise RetrivexError(
            f"answer_reserve is 0: with mode={mode!r} answers stand in later prompts; give the most tokens of an answer"
        )
    if not isinstance(refine_template, str) or "{answer}" not in refine_template:
        raise RetrivexError(
            f"refine_template is {quoted(refine_template)}: it must be text with {{answer}}, where the answer so far "
            "belongs"
        )


def _pack(spans: Sequence[Span], form: Form) -> list[list[int]]:
    """Positions of the spans of each window, ascending: one that does not fit any more begins the next window."""
    order = list(range(len(spans)))
    if form.mode == "refine":
        order.sort(key=lambda at: (not spans[at].pinned, -spans[at].score))

    def price(inside: Sequence[int]) -> int:
        return form.price([spans[at] for at in inside], [at + 1 for at in inside])

    packed: list[list[int]] = [[]]
    for at in order:
        more = sorted([*packed[-1], at])
        if price(more) <= form.room:
            packed[-1] = more
            continue
        tokens = price([at])
        if tokens > form.room:
            raise BudgetError(
                f"the prompt of span {at + 1} ({spans[at].doc_id!r}) takes {tokens:,} tokens by itself, a window has "
                f"{form.room:,} (window_tokens={form.window_tokens:,} less answer_reserve={form.answer_reserve:,}); "
                "a span is never split: raise window_tokens, or compose with fewer neighbours (window=)"
            )
        packed.append([at])
    return packed


def _windows(composition: Composition, form: Form, packed: Sequence[Sequence[int]]) -> list[PromptWindow]:
    spans = composition.spans
    starts = render(spans, composition.style).starts
    made = []
    for inside in packed:
        shown, numbers = [spans[at] for at in inside], [at + 1 for at in inside]
        rendered = render(shown, composition.style, numbers)
        moved = {at + 1: start - starts[at] for at, start in zip(inside, rendered.starts, strict=True)}
        cited = (citation for citation in composition.citations if citation.number in moved)
        citations = [
            replace(c, start=c.start + moved[c.number], end=c.end + moved[c.number]) for c in cited
        ]  # fmt: skip
        tokens = form.counter.count(form.write(shown, numbers, form.question, None))
        made.append(PromptWindow(rendered.text, tuple(shown), tuple(numbers), tuple(citations), tokens, form))
    return made
