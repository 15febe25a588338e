"""The Reorderer: takes flat passages and returns them in a better order, within a budget."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Self, TypeVar, overload

import numpy as np

from retrivex.errors import RetrivexError, quoted
from retrivex.model.question import takes_both_names
from retrivex.reorder.call import Call
from retrivex.reorder.diagnostics import ReorderResult
from retrivex.reorder.options import ReorderOptions
from retrivex.reorder.presets import PRESETS, PresetName
from retrivex.reorder.streaming import awindows, windows

T = TypeVar("T")


class Reorderer:
    """Orders passages that a retriever found, filters them and fits them into a budget.

    Passages are dictionaries or objects with an id, a text, a score and metadata. What comes back is the caller's own
    objects, unchanged. Safe to share between threads.

    Parameters
    ----------
    options : all options at once
    changes : or some of them, on top

    Raises
    ------
    ConfigError
        A `ValueError` naming the option, the value given and the rule it breaks.

    Examples
    --------
    >>> passages = [{"id": i, "text": f"Passage {i}", "score": s} for i, s in enumerate([0.2, 0.9, 0.5, 0.7])]
    >>> [passage["id"] for passage in Reorderer(strategy="edge_balanced").reorder(passages)]
    [1, 2, 0, 3]
    >>> [passage["id"] for passage in Reorderer().reorder(passages, strategy="score_desc", top_k=2)]
    [1, 3]
    """

    def __init__(self, options: ReorderOptions | None = None, **changes: Any) -> None:
        if options is not None and not isinstance(options, ReorderOptions):
            raise RetrivexError(
                f"options is {type(options).__name__}: give ReorderOptions, or options by name, as strategy='document'"
            )
        self.options = ReorderOptions(**changes) if options is None else options.override(**changes)

    @classmethod
    def preset(cls, name: PresetName, **changes: Any) -> Self:
        """Return a reorderer for a common case, with `changes` on top.

        `standard`: best at the edges, at least four passages. `narrative`: as the documents go. `temporal`: oldest
        first. `diverse`: no repetition among the best. `auto`: by the question. `docs_qa`, `chat_history` and `logs`:
        see `reorder_for_docs_qa` and the other two.

        Raises
        ------
        RetrivexError
            If there is no such preset.
        """
        if not isinstance(name, str) or name not in PRESETS:
            raise RetrivexError(f"preset {quoted(name)} does not exist: choose one of {', '.join(PRESETS)}")
        return cls(ReorderOptions(**PRESETS[name]), **changes)

    def __repr__(self) -> str:
        defaults = type(self.options).model_fields
        changed = {name: value for name, value in self.options if value != defaults[name].default}
        return f"Reorderer({', '.join(f'{name}={value!r}' for name, value in sorted(changed.items()))})"

    @takes_both_names
    def reorder(self, passages: Iterable[T], query: str | None = None, **overrides: Any) -> list[T]:
        """Return the passages that stay, in their order.

        Parameters
        ----------
        passages : dictionaries or objects; none, and their order, are changed
        query : the question; `auto` and rerankers read it. `question=` means the same
        overrides : options for this call

        Raises
        ------
        PassageError
            With `validation="strict"`, if a passage has a fault, or there are more than `max_input`.
        ConfigError
            If an override breaks its rule.
        """
        return self._call(passages, query, overrides).passages()

    @takes_both_names
    def reorder_with_diagnostics(
        self, passages: Iterable[T], query: str | None = None, **overrides: Any
    ) -> ReorderResult[T]:
        """Return the passages, why each stands where it does, and what was done; otherwise as `reorder`."""
        return self._call(passages, query, overrides).finish()

    @takes_both_names
    async def areorder(self, passages: Iterable[T], query: str | None = None, **overrides: Any) -> list[T]:
        """Do what `reorder` does without blocking the event loop while a reranker works."""
        return (await self._acall(passages, query, overrides)).passages()

    @takes_both_names
    async def areorder_with_diagnostics(
        self, passages: Iterable[T], query: str | None = None, **overrides: Any
    ) -> ReorderResult[T]:
        """Do what `reorder_with_diagnostics` does without blocking the event loop while a reranker works."""
        return (await self._acall(passages, query, overrides)).finish()

    def _call(self, passages: Iterable[T], query: str | None, overrides: dict[str, Any]) -> Call[T]:
        call = Call(passages, _question(query), self.options.override(**overrides))
        request = call.request()
        if request is not None and call.options.reranker is not None:
            with call.log.step("rerank"):
                reply = call.options.reranker.run(request)
            call.rescore(reply)
        return call

    async def _acall(self, passages: Iterable[T], query: str | None, overrides: dict[str, Any]) -> Call[T]:
        call = Call(passages, _question(query), self.options.override(**overrides))
        request = call.request()
        if request is not None and call.options.reranker is not None:
            with call.log.step("rerank"):
                reply = await call.options.reranker.arun(request)
            call.rescore(reply)
        return call

    @overload
    def reorder_stream(self, passages: Iterable[T], query: str | None = None, **overrides: Any) -> Iterator[T]: ...

    @overload
    def reorder_stream(
        self, passages: AsyncIterable[T], query: str | None = None, **overrides: Any
    ) -> AsyncIterator[T]: ...

    @takes_both_names
    def reorder_stream(
        self, passages: Iterable[T] | AsyncIterable[T], query: str | None = None, **overrides: Any
    ) -> Iterator[T] | AsyncIterator[T]:
        """Yield passages in order, `window_size` at a time, before the input has come to its end.

        A list or another sequence is ordered as a whole. Of anything else each window is an input of its own: limits
        hold for the window, and duplicates are found inside it. An async iterable gives an async iterator.

        Raises
        ------
        ConfigError
            If an override breaks its rule; at once, not with the first passage.
        """
        options = self.options.override(**overrides)
        if isinstance(passages, AsyncIterable):
            return self.areorder_stream(passages, query, **overrides)
        return _stream(Reorderer(options), passages, query)

    @takes_both_names
    def areorder_stream(
        self, passages: Iterable[T] | AsyncIterable[T], query: str | None = None, **overrides: Any
    ) -> AsyncIterator[T]:
        """Yield what `reorder_stream` yields, of sync and async iterables, without blocking the event loop.

        A sync iterable is read in one thread of its own, from its `iter` on, so that a generator may read a cursor that
        it opens; a generator is closed there where the consumer stops early. Rerankers are awaited, and putting a
        window in order is done in the event loop.
        """
        return _astream(Reorderer(self.options.override(**overrides)), passages, query)


def _stream(reorderer: Reorderer, passages: Iterable[T], query: str | None) -> Iterator[T]:
    if _is_whole(passages):
        yield from reorderer.reorder(passages, query)
        return
    for window in windows(passages, reorderer.options.window_size):
        yield from reorderer.reorder(window, query)


async def _astream(
    reorderer: Reorderer, passages: Iterable[T] | AsyncIterable[T], query: str | None
) -> AsyncIterator[T]:
    if not isinstance(passages, AsyncIterable) and _is_whole(passages):
        for passage in await reorderer.areorder(passages, query):
            yield passage
        return
    async with aclosing(awindows(passages, reorderer.options.window_size)) as incoming:
        async for window in incoming:
            for passage in await reorderer.areorder(window, query):
                yield passage


def _is_whole(passages: object) -> bool:
    """Whether passages are there all at once; what are no passages at all counts too, and is refused as a whole."""
    return isinstance(passages, (Sequence, Mapping, np.ndarray)) or not isinstance(passages, Iterable)


def _question(query: Any) -> str | None:
    if query is not None and not isinstance(query, str):
        raise RetrivexError(f"query is a {type(query).__name__}: give the question as a string, or None")
    return query


@takes_both_names
def reorder_for_docs_qa(passages: Iterable[T], query: str | None = None, **changes: Any) -> list[T]:
    """Order passages for a question to documents: by its type, near-duplicates left out, bad values mended.

    Parameters
    ----------
    passages, query : as in `Reorderer.reorder`
    changes : any of `ReorderOptions`, on top of preset `docs_qa`

    Examples
    --------
    >>> texts = ["Bees sleep in winter.", "A hive has one queen."]
    >>> passages = [{"id": i, "text": text, "score": 0.5 + i / 10} for i, text in enumerate(texts)]
    >>> [passage["id"] for passage in reorder_for_docs_qa(passages, "Who rules a hive?")]
    [1, 0]
    """
    return Reorderer.preset("docs_qa", **changes).reorder(passages, query)


@takes_both_names
def reorder_for_chat_history(passages: Iterable[T], query: str | None = None, **changes: Any) -> list[T]:
    """Order turns or memories of a conversation: the most relevant at the edges, bad values mended.

    Parameters
    ----------
    passages, query : as in `Reorderer.reorder`
    changes : any of `ReorderOptions`, on top of preset `chat_history`
    """
    return Reorderer.preset("chat_history", **changes).reorder(passages, query)


@takes_both_names
def reorder_for_logs(passages: Iterable[T], query: str | None = None, **changes: Any) -> list[T]:
    """Order events: newest first, bad values mended.

    Parameters
    ----------
    passages, query : as in `Reorderer.reorder`
    changes : any of `ReorderOptions`, on top of preset `logs`
    """
    return Reorderer.preset("logs", **changes).reorder(passages, query)
