"""Prompts as chat messages: instructions, history, sources and question, inside a model's context window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, SkipValidation

from retrivex.errors import RetrivexError, quoted
from retrivex.model.options import Options
from retrivex.model.span import Span
from retrivex.prompts.apis import APIS, Api, Message, texts_of, user_message
from retrivex.prompts.arguments import check_arguments, list_of, numbered_sources
from retrivex.prompts.citations import Place, cited_places, marked_places
from retrivex.prompts.fitting import SourceTemplate, fit, write_own
from retrivex.prompts.source import Provenance, Source, tag_positions
from retrivex.prompts.wording import Language, Wording, wording
from retrivex.tokens.tokenizer import TokenizerSpec, get_tokenizer

QuestionPlace: TypeAlias = Literal["first", "last", "both"]
"""Whether the question stands in front of the sources, behind them, or both."""

MESSAGE_TOKENS = 4
"""Counted for every message beside its texts, for what APIs put around it."""


class ChatStyle(Options):
    """The style of a chat prompt: where sources stand, and how they are written.

    Parameters
    ----------
    language : `en`, `zh`, or `auto` for that of the question
    question_at : in front of the sources, behind them, or both
    provenance : what is said of where a source comes from: `none`, its `document`, or `full`
    calibrated : whether the model is asked to read all sources with the same care and not to skip the middle
    position_scales : tags in front of each source for these scales: `(1, 2)` gives `[S1:P0] [S2:P0]`; empty for none
    instructions : in place of the built-in ones
    template : of the user's message, in place of the built-in one; then there are no built-in instructions either.
        Only for `plain` messages

    Raises
    ------
    ConfigError
        If one of them breaks its rule.
    """

    language: Language = "auto"
    question_at: QuestionPlace = "last"
    provenance: Provenance = "full"
    calibrated: bool = False
    position_scales: tuple[Annotated[int, Field(ge=1)], ...] = ()
    instructions: str | None = None
    template: Annotated[SourceTemplate | None, SkipValidation] = None


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages of a prompt, and the sources that they contain.

    Parameters
    ----------
    messages : to be sent as `messages`, or as `input` to OpenAI's Responses API
    system : to be sent as `system` to Anthropic's API; None for the others, where it is the first message
    sources : that are shown, in their order
    left_out : numbers of those that did not fit
    tokens : of everything, at most `max_tokens - answer_reserve`; None where there was no limit
    """

    messages: list[Message]
    system: str | None
    sources: tuple[Source, ...]
    left_out: tuple[int, ...] = ()
    tokens: int | None = None

    def places(self, answer: Any) -> list[Place]:
        """Return what the citations in an answer refer to; `Composition.resolve` finds each in its document.

        Parameters
        ----------
        answer : text with the markers of OpenAI's API, or the message or its content from Anthropic's. Numbers like
            `[2]` in a plain answer are resolved by `Composition.resolve` itself
        """
        if isinstance(answer, str):
            return marked_places(answer, self.sources)
        return cited_places(answer, self.sources)


def write_chat(
    spans: Sequence[Span | Source],
    question: str,
    counter: TokenizerSpec,
    *,
    api: Api = "plain",
    style: ChatStyle | None = None,
    history: Sequence[Mapping[str, str]] = (),
    max_tokens: int | None = None,
    answer_reserve: int = 0,
) -> Prompt:
    """Return a prompt of at most `max_tokens - answer_reserve` tokens, weakest spans left out first.

    Parameters
    ----------
    spans : in their order, numbered from 1; or `Source`s, which bring their numbers, for passages from elsewhere
    question : what is asked
    counter : counts tokens: a name or a function, as `tokenizer` in `docs/configuration.md`
    api : whose shape the messages have
    style : how they are put
    history : earlier turns, `{"role": "user" or "assistant", "content": text}`
    max_tokens : the model's window; None does not limit
    answer_reserve : tokens kept free for the answer, and for what an API adds by itself

    Raises
    ------
    RetrivexError
        If an argument breaks its rule.
    BudgetError
        If instructions, question and history alone are too long.
    """
    check_arguments(question, max_tokens, answer_reserve)
    put = ChatStyle.model_validate(style or ChatStyle())
    tokenizer = get_tokenizer(counter)
    if api not in APIS:
        raise RetrivexError(f"api is {api!r}: choose one of {', '.join(APIS)}")
    if put.template is not None and api != "plain":
        raise RetrivexError(f"a template writes text: with api={api!r} leave it out, or take api='plain'")
    turns = [_turn(turn) for turn in list_of(history, "history", "a list of turns; leave it out where there are none")]
    said = wording(put.language, question)
    everything = numbered_sources(spans)

    def build(kept: Sequence[tuple[int, Source]]) -> Prompt:
        sources = tag_positions([source for _, source in kept], put.position_scales)
        return _assemble(sources, question, turns, api, put, said)

    count_text = lru_cache(maxsize=len(turns) + 2)(tokenizer.count)  # turns are the same in every round of fitting

    def count(prompt: Prompt) -> int:
        texts = texts_of(prompt.messages) + ([prompt.system] if prompt.system else [])
        messages = len(prompt.messages) + (prompt.system is not None)
        return sum(map(count_text, texts)) + MESSAGE_TOKENS * messages

    made = fit(everything, build, count, Source.cut, question, max_tokens, answer_reserve)
    shown = {source.number for source in made.sources}
    left_out = tuple(source.number for source in everything if source.number not in shown)
    tokens = None if max_tokens is None else count(made)
    return Prompt(made.messages, made.system, made.sources, left_out, tokens)


def _assemble(
    sources: Sequence[Source], question: str, turns: list[Message], api: Api, put: ChatStyle, said: Wording
) -> Prompt:
    if put.template is not None:
        system = put.instructions
        user: Message = {"role": "user", "content": write_own(put.template, question, sources, "")}
    else:
        system = put.instructions if put.instructions is not None else _instructions(api, put, said)
        asked = said.question + question
        before = asked if put.question_at in ("first", "both") else None
        after = asked if put.question_at in ("last", "both") else None
        user = user_message(api, sources, put.provenance, before, after)
    if api == "anthropic":
        return Prompt([*turns, user], system, tuple(sources))
    first = [] if system is None else [{"role": "system", "content": system}]
    return Prompt([*first, *turns, user], None, tuple(sources))


def _instructions(api: Api, put: ChatStyle, said: Wording) -> str:
    cite = {"plain": said.cite_numbers, "anthropic": said.cite_natively}.get(api, said.cite_markers)
    sentences = [said.task, said.blocks if api == "plain" else "", cite, said.unknown]
    sentences += [said.calibration if put.calibrated else "", said.positions if put.position_scales else ""]
    return said.between.join(sentence for sentence in sentences if sentence)


def _turn(turn: Any) -> Message:
    role, content = (turn.get("role"), turn.get("content")) if isinstance(turn, Mapping) else (None, None)
    if role not in ("user", "assistant") or not isinstance(content, str):
        raise RetrivexError(
            f'history holds {quoted(turn, 120)}: every turn is {{"role": "user" or "assistant", "content": text}}; '
            "other roles belong into ChatStyle(instructions=...)"
        )
    return {"role": role, "content": content}
