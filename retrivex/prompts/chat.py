"""Prompts as chat messages: instructions, history, sources and question, inside a model's context window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, SkipValidation

from retrivex.errors import RetrivexError, quoted
from retrivex.model.options import Options
from retrivex.model.span import Span
from retrivex.prompts.apis import APIS, Api, Message, is_picture, mark_block, texts_of, user_message
from retrivex.prompts.arguments import check_arguments, list_of, numbered_sources
from retrivex.prompts.citations import Place, cited_places, marked_places
from retrivex.prompts.fitting import SourceTemplate, fit, write_own
from retrivex.prompts.pictures import PictureReader, Pictures
from retrivex.prompts.source import Provenance, Source, tag_positions
from retrivex.prompts.wording import Language, Wording, wording
from retrivex.tokens.tokenizer import TokenizerSpec, get_tokenizer

QuestionPlace: TypeAlias = Literal["first", "last", "both"]
"""Whether the question stands in front of the sources, behind them, or both."""

CacheUntil: TypeAlias = Literal["none", "instructions", "history", "sources"]
"""The last part of a prompt that later prompts repeat: what stands up to its end, an API may keep in its cache."""

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
    cache_until : the part up to which later prompts are the same. With `sources`, these stand in front of the history.
        For Anthropic, the last block of it bears `cache_control`; the caches of others need the order alone
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
    cache_until: CacheUntil = "none"
    instructions: str | None = None
    template: Annotated[SourceTemplate | None, SkipValidation] = None


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages of a prompt, and the sources that they contain.

    Parameters
    ----------
    messages : to be sent as `messages`, or as `input` to OpenAI's Responses API
    system : to be sent as `system` to Anthropic's API, a block where the cache ends with it; None for the others, where
        it is the first message
    sources : that are shown, in their order
    left_out : numbers of those that did not fit
    tokens : of everything, at most `max_tokens - answer_reserve`; None where there was no limit
    warnings : what of the pictures is not shown, and that they are not counted
    """

    messages: list[Message]
    system: str | list[Message] | None
    sources: tuple[Source, ...]
    left_out: tuple[int, ...] = ()
    tokens: int | None = None
    warnings: tuple[str, ...] = ()

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
    pictures: Pictures | None = None,
) -> Prompt:
    """Return a prompt of at most `max_tokens - answer_reserve` tokens, weakest spans left out first.

    Parameters
    ----------
    spans : in their order, numbered from 1; or `Source`s, which bring their numbers, for passages from elsewhere
    question : what is asked
    counter : counts tokens: a name or a function, as `tokenizer` in `docs/reference/configuration.md`
    api : whose shape the messages have
    style : how they are put
    history : earlier turns, `{"role": "user" or "assistant", "content": text}`
    max_tokens : the model's window; None does not limit
    answer_reserve : tokens kept free for the answer, and for what an API adds by itself
    pictures : which pictures of the sources are shown behind them; None shows none. Not for `plain` messages

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
    if pictures is not None and api == "plain":
        raise RetrivexError("plain messages are text: with pictures, choose another api, as in api='anthropic'")
    reader = None if pictures is None else PictureReader(pictures)
    each = (pictures.tokens_each or 0) if pictures is not None else 0
    _check_cache(put)
    turns = [_turn(turn) for turn in list_of(history, "history", "a list of turns; leave it out where there are none")]
    said = wording(put.language, question)
    everything = numbered_sources(spans)

    def build(kept: Sequence[tuple[int, Source]]) -> Prompt:
        sources = tag_positions([source for _, source in kept], put.position_scales)
        return _assemble(sources, question, turns, api, put, said, reader)

    count_text = lru_cache(maxsize=len(turns) + 2)(tokenizer.count)  # turns are the same in every round of fitting

    def count(prompt: Prompt) -> int:
        texts = texts_of([*prompt.messages, {"content": prompt.system or ""}])
        messages = len(prompt.messages) + (prompt.system is not None)
        return sum(map(count_text, texts)) + MESSAGE_TOKENS * messages + each * _count_pictures(prompt)

    made = fit(everything, build, count, Source.cut, question, max_tokens, answer_reserve)
    shown = {source.number for source in made.sources}
    left_out = tuple(source.number for source in everything if source.number not in shown)
    tokens = None if max_tokens is None else count(made)
    warnings = () if reader is None else _warnings(made, reader)
    return Prompt(made.messages, made.system, made.sources, left_out, tokens, warnings)


def _count_pictures(prompt: Prompt) -> int:
    contents = [message["content"] for message in prompt.messages if not isinstance(message["content"], str)]
    return sum(is_picture(block) for content in contents for block in content)


def _warnings(prompt: Prompt, reader: PictureReader) -> tuple[str, ...]:
    shown, media = _count_pictures(prompt), [one for source in prompt.sources for one in source.media]
    said = [refusal for one in media if (refusal := reader.refusal(one)) is not None]
    beyond = len(media) - len(said) - shown
    if beyond:
        said.append(f"{beyond} pictures are not shown: max_pictures={reader.allowed.max_pictures} come first")
    if shown and reader.allowed.tokens_each is None:
        said.append(f"the tokens of {shown} pictures are not counted: give Pictures(tokens_each=...) of your model")
    return tuple(dict.fromkeys(said))


def _assemble(
    sources: Sequence[Source],
    question: str,
    turns: list[Message],
    api: Api,
    put: ChatStyle,
    said: Wording,
    reader: PictureReader | None,
) -> Prompt:
    if put.template is not None:
        system = put.instructions
        asked: Message = {"role": "user", "content": write_own(put.template, question, sources, "")}
        messages = [*turns, asked]
    else:
        system = put.instructions if put.instructions is not None else _instructions(api, put, said)
        text = said.question + question
        before = text if put.question_at in ("first", "both") else None
        after = text if put.question_at in ("last", "both") else None
        if put.cache_until == "sources" and turns and sources:  # a later question has another history
            shown = user_message(api, sources, put.provenance, None, None, reader)
            messages = [shown, *turns, user_message(api, (), put.provenance, None, after)]
        else:
            messages = [*turns, user_message(api, sources, put.provenance, before, after, reader)]
    if api == "anthropic":
        return _mark_cache(Prompt(messages, system, tuple(sources)), put.cache_until, len(turns))
    first = [] if system is None else [{"role": "system", "content": system}]
    return Prompt([*first, *messages], None, tuple(sources))


def _check_cache(put: ChatStyle) -> None:
    if put.cache_until == "sources" and (put.question_at != "last" or put.template is not None):
        found = "a template" if put.template is not None else f"question_at={put.question_at!r}"
        raise RetrivexError(
            f"cache_until is 'sources' with {found}: the question has to stand behind the sources; leave {found} out, "
            "or take cache_until='history'"
        )


def _mark_cache(prompt: Prompt, until: CacheUntil, turns: int) -> Prompt:
    """Mark the end of what is stable: of the sources, else of the history, else of the instructions, as far as there.

    By Anthropic's guide to prompt caching: instructions, then messages, and a mark caches all in front of it.
    """
    if until == "sources" and prompt.sources:
        shown = prompt.messages[0]
        # with a history, it has the sources alone; else the question stands behind them
        content = mark_block(shown["content"], -1 if turns else -2)
        return replace(prompt, messages=[{**shown, "content": content}, *prompt.messages[1:]])
    if until in ("history", "sources") and turns:
        last = prompt.messages[turns - 1]
        marked = {**last, "content": mark_block(last["content"])}
        return replace(prompt, messages=[*prompt.messages[: turns - 1], marked, *prompt.messages[turns:]])
    if until != "none" and prompt.system:
        return replace(prompt, system=mark_block(prompt.system))
    return prompt


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
