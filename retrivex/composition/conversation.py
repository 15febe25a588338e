"""A conversation: what earlier turns showed is not shown again, until it is asked for or forgotten."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from retrivex.composition.composition import _MARKERS, Citation, Composition, _numbers
from retrivex.errors import RetrivexError, quoted
from retrivex.model.question import takes_both_names
from retrivex.prompts import ChatStyle, Place, Prompt, Source, write_chat
from retrivex.prompts.apis import Api
from retrivex.tokens.tokenizer import TokenizerSpec

SCHEMA = "retrivex.conversation/1"
"""Name and version of what `Conversation.to_dict` writes."""


DEFAULT_TURNS = 20
"""Earlier turns that a conversation remembers where nothing else is said."""


class Composer(Protocol):
    """A `SpanComposer`, or anything that composes like one."""

    def compose(self, *given: Any, **said: Any) -> Composition:
        """Return the context."""

    async def acompose(self, *given: Any, **said: Any) -> Composition:
        """Return the context, for event loops."""


class Pipeline(Protocol):
    """A `RetriVex`, or anything that is asked like one."""

    def ask(self, query: str, **said: Any) -> Composition:
        """Return the context."""

    async def aask(self, query: str, **said: Any) -> Composition:
        """Return the context, for event loops."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A question, what was shown for it, and what was answered.

    Parameters
    ----------
    number : of the turn, from 1; it is never given twice
    first : number of its first source: sources are numbered through all turns
    composition : what was shown
    answer : of the model; None until `Conversation.answered`
    """

    number: int
    first: int
    composition: Composition
    answer: str | None = None

    @property
    def sources(self) -> list[Source]:
        """What was shown, numbered through all turns."""
        return [Source.of(span, self.first + at) for at, span in enumerate(self.composition.spans)]


class Conversation:
    """Turns that do not repeat each other's passages.

    A passage comes back where the caller says `again=True`, or where every turn that showed it is forgotten: by
    `forget`, or because more than `keep_turns` later ones came. Not safe to be used by several threads at once.

    Parameters
    ----------
    keep_turns : how many earlier turns are remembered beside the last; None for all. It ends by default, as history,
        memory and the time of each turn grow with it

    Raises
    ------
    RetrivexError
        If `keep_turns` is no whole number of at least 1.

    Examples
    --------
    >>> from retrivex import Chunk, ChunkMetadata, SeedHit, SpanComposer
    >>> chunk = Chunk("Bees sleep at night.", ChunkMetadata("bees", 0))
    >>> given = SpanComposer(tokenizer=len), [SeedHit(chunk, 0.9)], {chunk.key: chunk}
    >>> talk = Conversation()
    >>> [len(talk.compose(*given, query="When?", again=again).spans) for again in (False, False, True)]
    [1, 0, 1]
    """

    def __init__(self, *, keep_turns: int | None = DEFAULT_TURNS) -> None:
        if keep_turns is not None and (
            isinstance(keep_turns, bool) or not isinstance(keep_turns, int) or keep_turns < 1
        ):
            raise RetrivexError(
                f"keep_turns is {quoted(keep_turns)}: it must be a whole number from 1 on, None for all"
            )
        self.keep_turns = keep_turns
        self.turns: tuple[Turn, ...] = ()
        self._next = (1, 1)  # numbers of the next turn and of its first source

    def compose(self, composer: Composer, *given: Any, again: bool = False, **said: Any) -> Composition:
        """Compose a turn without what earlier turns showed.

        Parameters
        ----------
        composer : a `SpanComposer`, any other for any turn
        *given, **said : what its `compose` takes; `exclude` is left out as well
        again : whether to show what earlier turns showed, too
        """
        return self._add(composer.compose(*given, **self._said(composer, again, said)))

    async def acompose(self, composer: Composer, *given: Any, again: bool = False, **said: Any) -> Composition:
        """`compose` for event loops; one turn at a time."""
        return self._add(await composer.acompose(*given, **self._said(composer, again, said)))

    @takes_both_names
    def ask(self, pipeline: Pipeline, query: str, *, again: bool = False, **said: Any) -> Composition:
        """Ask a turn's question, without what earlier turns showed.

        Parameters
        ----------
        pipeline : a `RetriVex`, any other for any turn
        query : the question of this turn, in words that can be searched for: the history is not read
        again : whether to show what earlier turns showed, too
        **said : what its `ask` takes; `exclude` is left out as well
        """
        return self._add(pipeline.ask(query, **self._said(getattr(pipeline, "composer", None), again, said)))

    @takes_both_names
    async def aask(self, pipeline: Pipeline, query: str, *, again: bool = False, **said: Any) -> Composition:
        """`ask` for event loops; one turn at a time."""
        return self._add(await pipeline.aask(query, **self._said(getattr(pipeline, "composer", None), again, said)))

    def _said(self, composer: Any, again: bool, said: Mapping[str, Any]) -> dict[str, Any]:
        if again or not self.turns:
            return dict(said)
        own = said.get("exclude", getattr(getattr(composer, "config", None), "exclude", ()))
        match own:  # the forms that `exclude` has
            case str() as doc_id, int(), int():
                items: tuple[Any, ...] = ((doc_id, *own[1:]),)
            case list() | tuple():
                items = tuple(own)
            case _:
                items = (own,)
        return {**said, "exclude": (*items, *(turn.composition for turn in self._remembered()))}

    def _remembered(self) -> tuple[Turn, ...]:
        """Return the turns that stay when another one comes."""
        return self.turns if self.keep_turns is None else self.turns[-self.keep_turns :]

    def _add(self, made: Composition) -> Composition:
        number, first = self._next
        self._next = number + 1, first + len(made.spans)
        self.turns = (*self._remembered(), Turn(number, first, made))
        return made

    def answered(self, answer: str) -> None:
        """Keep the answer to the last question, for the history.

        Raises
        ------
        RetrivexError
            If it is no text, or nothing was asked.
        """
        if not isinstance(answer, str) or not self.turns:
            raise RetrivexError(f"answer is {quoted(answer)} after {len(self.turns)} turns: give text after a compose")
        self.turns = (*self.turns[:-1], replace(self.turns[-1], answer=answer))

    def forget(self, number: int) -> None:
        """Drop a turn: out of the history, and what it alone showed may be shown again.

        Raises
        ------
        RetrivexError
            If no turn has this number.
        """
        kept = tuple(turn for turn in self.turns if turn.number != number)
        if len(kept) == len(self.turns):
            raise RetrivexError(f"turn {quoted(number)} is not here: {[turn.number for turn in self.turns]} are")
        self.turns = kept

    def history(self) -> list[dict[str, str]]:
        """Return the turns before the last one as messages: each question with its sources, and the answer to it."""
        said: list[dict[str, str]] = []
        for turn in self.turns[:-1]:
            asked = write_chat(turn.sources, turn.composition.question or "", "estimate").messages[-1]["content"]
            said.append({"role": "user", "content": asked})
            if turn.answer is not None:
                said.append({"role": "assistant", "content": turn.answer})
        return said

    def chat(
        self,
        *,
        api: Api = "plain",
        style: ChatStyle | None = None,
        max_tokens: int | None = None,
        answer_reserve: int = 0,
        tokenizer: TokenizerSpec = None,
    ) -> Prompt:
        """Return the prompt of the last turn behind its history, sources numbered through all turns.

        Arguments and errors as in `Composition.chat`. Without any turn it is a RetrivexError.
        """
        if not self.turns:
            raise RetrivexError("the conversation has no turns: compose one first")
        made = self.turns[-1].composition
        if made.question is None:
            raise RetrivexError(
                "question is None: the last turn was composed without one; pass compose(..., query=...)"
            )
        return write_chat(
            self.turns[-1].sources, made.question, made._counter(tokenizer, max_tokens),
            api=api, style=style, history=self.history(), max_tokens=max_tokens, answer_reserve=answer_reserve,
        )  # fmt: skip

    def resolve(self, reference: str | int | Place) -> list[Citation]:
        """Return where a reference in any answer comes from, as `Composition.resolve`, with the numbers of `chat`.

        What only forgotten turns showed is not found.
        """
        if isinstance(reference, str) and _MARKERS.fullmatch(reference):
            known = [source.number for turn in self.turns for source in turn.sources]
            return [citation for number in _numbers(reference, known) for citation in self.resolve(number)]
        found = []
        for turn in self.turns:
            before, own = turn.first - 1, reference
            if isinstance(own, int):
                own -= before
            elif isinstance(own, Place):
                own = replace(own, number=own.number - before)
            found += [replace(cited, number=cited.number + before) for cited in turn.composition.resolve(own)]
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the conversation as plain JSON types; embeddings and traces are left out.

        Raises
        ------
        RetrivexError
            If the custom metadata of a shown chunk holds something that JSON cannot.
        """
        turns = [
            {"number": t.number, "first": t.first, "answer": t.answer, "composition": t.composition.to_dict()}
            for t in self.turns
        ]
        return {"schema": SCHEMA, "keep_turns": self.keep_turns, "next": list(self._next), "turns": turns}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Conversation:
        """Read what `to_dict` wrote.

        Raises
        ------
        RetrivexError
            If it is of another schema, lacks a part or has one of another type.
        """
        schema = data.get("schema") if isinstance(data, Mapping) else quoted(data)
        if schema != SCHEMA:
            raise RetrivexError(f"schema is {schema!r}: this version reads {SCHEMA!r}; pass what to_dict returned")
        try:
            made = cls(keep_turns=data["keep_turns"])
            number, first = map(_whole, data["next"])
            made._next = number, first
            made.turns = tuple(_turn(turn) for turn in data["turns"])
        except RetrivexError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise RetrivexError(f"the conversation cannot be read ({error!r}): pass what to_dict returned") from error
        return made


def _turn(data: Mapping[str, Any]) -> Turn:
    answer = data["answer"]
    if answer is not None and not isinstance(answer, str):
        raise TypeError(f"answer is {quoted(answer)}")
    return Turn(_whole(data["number"]), _whole(data["first"]), Composition.from_dict(data["composition"]), answer)


def _whole(number: Any) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise TypeError(f"{quoted(number)} is no whole number from 1 on")
    return number
