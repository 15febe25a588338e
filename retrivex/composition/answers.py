"""One answer from many windows: `refine` carries the answer so far, `tree` makes one of several, round by round."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import Any, TypeAlias

from retrivex.composition.windows import Form, Mode, PromptWindow
from retrivex.errors import RetrivexError, quoted
from retrivex.model.question import takes_both_names
from retrivex.prompts.escaping import escape
from retrivex.prompts.templates import SUMMARY_TEMPLATE, fill_template

Steps: TypeAlias = Generator[tuple[str, ...], Sequence[str], str]
"""Yields prompts that may be asked at once, takes their answers, and returns the last one."""


@takes_both_names
def refine_steps(windows: Sequence[PromptWindow], *, question: str | None = None) -> Steps:
    """Yield one prompt at a time: the first window, then each next one with the answer so far."""
    _check_windows(windows, "refine")
    (answer,) = yield (windows[0].prompt(question),)
    for window in windows[1:]:
        (answer,) = yield (window.prompt(question, answer=answer),)
    return answer


@takes_both_names
def tree_steps(
    windows: Sequence[PromptWindow], *, question: str | None = None, k: int = 2, template: str = SUMMARY_TEMPLATE
) -> Steps:
    """Yield the prompts of all windows, then those that make one of up to `k` answers each, until one is left.

    An answer that is left over goes into the next round as it is.

    Parameters
    ----------
    windows : of `compose_windows(mode="tree")`
    question : in place of the one that the windows were made for
    k : answers that one prompt summarises, at least 2; fewer where they do not fit
    template : with `{context}`, where the answers stand, and `{question}`

    Raises
    ------
    RetrivexError
        If an argument breaks its rule.
    BudgetError
        If not even two answers fit into a window.
    """
    _check_windows(windows, "tree")
    if isinstance(k, bool) or not isinstance(k, int) or k < 2:
        raise RetrivexError(f"k is {quoted(k)}: one prompt must summarise at least 2 answers")
    form = windows[0].form
    asked = form.question if question is None else question
    answers = yield tuple(window.prompt(question) for window in windows)
    while len(answers) > 1:
        groups = _group(answers, form, k, asked, template)
        summed = list((yield tuple(_summary(group, asked, template) for group in groups if len(group) > 1)))
        answers = [summed.pop(0) if len(group) > 1 else group[0] for group in groups]
    return answers[0]


def _group(answers: Sequence[str], form: Form, k: int, question: str, template: str) -> list[list[str]]:
    groups: list[list[str]] = [[]]
    for answer in answers:
        more = [*groups[-1], answer]
        if len(more) > k or (len(more) > 1 and form.counter.count(_summary(more, question, template)) > form.room):
            groups.append([answer])
        else:
            groups[-1] = more
    if len(groups) == len(answers):
        advice = "ask for shorter answers, or raise window_tokens to more than two answers, template and question take"
        form.check(_summary(answers[:2], question, template), "the summary of two answers", advice)
    return groups


def _summary(answers: Sequence[str], question: str, template: str) -> str:
    blocks = [f"<answer>\n{escape(answer, ('answer',))}\n</answer>" for answer in answers]
    return fill_template(template, "\n\n".join(blocks), escape(question, ("answer",)), "")


def _check_windows(windows: Any, mode: Mode) -> None:
    known = isinstance(windows, Sequence) and all(isinstance(window, PromptWindow) for window in windows)
    if not (known and windows and all(window.form.mode == mode for window in windows)):
        raise RetrivexError(f"windows are {quoted(windows)}: give those of compose_windows(..., mode={mode!r})")


def _steps(windows: Sequence[PromptWindow], question: str | None, k: int) -> Steps:
    mode = (
        getattr(getattr(windows[0], "form", None), "mode", None) if isinstance(windows, Sequence) and windows else None
    )
    if mode == "compact":
        raise RetrivexError(
            "mode of the windows is 'compact', whose prompts stand by themselves: for one answer of them all, compose "
            "them with mode='refine' or mode='tree'"
        )
    if mode == "tree":
        return tree_steps(windows, question=question, k=k)
    return refine_steps(windows, question=question)


@takes_both_names
def answer_windows(
    windows: Sequence[PromptWindow], answer: Callable[[str], str], *, question: str | None = None, k: int = 2
) -> str:
    """Ask `answer` until one answer is left, the way that the mode of the windows says.

    Parameters
    ----------
    windows : of `compose_windows` with `mode="refine"` or `mode="tree"`
    answer : a model, from a prompt to its answer
    question : in place of the one that the windows were made for
    k : of `tree`, answers that one prompt summarises

    Raises
    ------
    RetrivexError
        If the windows are of another mode, or `answer` returns something else than text.
    BudgetError
        If an answer is too long for the prompt that has to carry it.
    """
    steps = _steps(windows, question, k)
    prompts = steps.send(None)  # type: ignore[arg-type]  # what starts a generator
    while True:
        said = [_text(answer(prompt)) for prompt in prompts]
        try:
            prompts = steps.send(said)
        except StopIteration as ended:
            return str(ended.value)


@takes_both_names
async def aanswer_windows(
    windows: Sequence[PromptWindow], answer: Callable[[str], Awaitable[str]], *, question: str | None = None, k: int = 2
) -> str:
    """`answer_windows` for event loops: the prompts of one round of `tree` are asked at once."""
    steps = _steps(windows, question, k)
    prompts = steps.send(None)  # type: ignore[arg-type]  # what starts a generator
    while True:
        said = [_text(text) for text in await asyncio.gather(*map(answer, prompts))]
        try:
            prompts = steps.send(said)
        except StopIteration as ended:
            return str(ended.value)


def _text(answer: Any) -> str:
    if not isinstance(answer, str):
        raise RetrivexError(f"answer() returned {quoted(answer)}: it must return the text of the model's answer")
    return answer
