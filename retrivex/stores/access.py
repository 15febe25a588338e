"""Store access: one request, sync or async, with a time limit; a failing store never loses the hits."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from time import monotonic
from typing import Any, TypeAlias

from retrivex.errors import StoreError, describe_cause, quoted
from retrivex.model.canonical import canonical_form
from retrivex.model.chunk import Chunk, ChunkKey, Scope, allowed_scopes
from retrivex.model.window import Window
from retrivex.stores.memory import fetch_from_mapping
from retrivex.stores.protocol import AnyChunkStore, AnyParentStore, ChunkStore, ParentStore
from retrivex.text.addresses import without_credentials
from retrivex.timeouts import await_in_time, call_in_time, in_thread
from retrivex.tokens.stored import CandidateCounts

_SPARE = 10_000
"""Items that a store may give beyond twice the chunks it was asked for."""

_PLAIN_MAPPINGS = (dict, OrderedDict, defaultdict)


@dataclass(frozen=True, slots=True)
class ChunkRequest:
    """A request for the chunks of windows, which do not overlap."""

    windows: tuple[Window, ...]


@dataclass(frozen=True, slots=True)
class ParentRequest:
    """A request for parents."""

    parent_ids: tuple[str, ...]


_Part: TypeAlias = tuple[Window, ...] | ParentRequest
"""What one call asks for."""


@dataclass(slots=True)
class ChunkReply:
    """The answer of a chunk store.

    Parameters
    ----------
    chunks : by key; only what was asked for and may be seen
    out_of_scope : what the store returned although the caller may not see it
    conflicts : chunks that the store returned with several texts
    problem : why there is nothing, or less than there should be
    requests : calls that were made
    ends : places where the store says that there is nothing and nothing is missing
    """

    chunks: dict[ChunkKey, Chunk] = field(default_factory=dict)
    out_of_scope: list[ChunkKey] = field(default_factory=list)
    conflicts: list[ChunkKey] = field(default_factory=list)
    problem: str | None = None
    requests: int = 0
    ends: Collection[ChunkKey] = ()


@dataclass(slots=True)
class ParentReply:
    """The answer of a parent store; fields as in `ChunkReply`."""

    parents: dict[str, Chunk | str] = field(default_factory=dict)
    problem: str | None = None
    requests: int = 0


def check_store(store: Any, way_out: str = "of a list of Chunks make InMemoryChunkStore(chunks)") -> AnyChunkStore:
    """Return `store` if it is a mapping or has `fetch`.

    Parameters
    ----------
    store : what was given as a chunk store
    way_out : what to give in its place

    Raises
    ------
    StoreError
        If it is neither.
    """
    if isinstance(store, (Mapping, ChunkStore)) and not isinstance(store, type):
        return store
    kind = f"the class {store.__name__}" if isinstance(store, type) else type(store).__name__
    raise StoreError(
        f"chunk_store is {kind}: it must be a dict {{(doc_id, chunk_id): Chunk}} or have fetch(windows, scope); "
        f"{way_out}"
    )


def check_parent_store(store: Any) -> AnyParentStore | None:
    """Return `store` if it is None, a mapping or has `fetch_parents`.

    Raises
    ------
    StoreError
        If it is neither.
    """
    if store is None or isinstance(store, (Mapping, ParentStore)):
        return store
    raise StoreError(
        f"parent_store is {type(store).__name__}: it must be a dict {{parent_id: text or Chunk}} "
        "or have fetch_parents(parent_ids, scope)"
    )


def cannot_hang(store: object) -> bool:
    """Whether looking something up is a matter of memory alone: a plain dictionary, or a store that says so.

    A class of its own, even one derived from `dict`, may read from anywhere.

    Examples
    --------
    >>> cannot_hang({}), cannot_hang(type("Remote", (dict,), {})())
    (True, False)
    """
    return type(store) in _PLAIN_MAPPINGS or bool(getattr(store, "in_process", False))


def split_windows(windows: Sequence[Window], limit: int | None) -> list[tuple[Window, ...]]:
    """Cut windows into batches of at most `limit` chunks: ceil(n / limit) requests for n chunks.

    Examples
    --------
    >>> [[len(w) for w in batch] for batch in split_windows([Window("d", 0, 5), Window("e", 0, 2)], 3)]
    [[3], [2, 1], [1]]
    """
    if limit is None:
        return [tuple(windows)]
    if limit < 1:
        raise StoreError(f"batch_limit of the store is {limit}: it must be at least 1; leave it out for no limit")
    batches: list[tuple[Window, ...]] = []
    batch: list[Window] = []
    room = limit
    for window in windows:
        start = window.start
        while start < window.end:
            end = min(window.end, start + room)
            batch.append(Window(window.doc_id, start, end))
            room -= end - start
            start = end
            if room == 0:
                batches.append(tuple(batch))
                batch, room = [], limit
    return [*batches, tuple(batch)] if batch else batches


@dataclass(slots=True)
class StoreAccess:
    """The stores of one call, its scope and its time limit.

    A store is somebody else's code: whatever it raises is reported in `problem` and the query goes on without it,
    unless `strict` asks for the error.
    """

    store: AnyChunkStore
    parent_store: AnyParentStore | None
    scope: Scope
    timeout_s: float | None
    strict: bool
    counts: CandidateCounts
    allowed: Collection[str | None] = field(init=False)

    def __post_init__(self) -> None:
        check_store(self.store)
        check_parent_store(self.parent_store)
        self.allowed = allowed_scopes(self.scope)

    def run(self, request: ChunkRequest | ParentRequest) -> ChunkReply | ParentReply:
        """Answer a request."""
        answers: list[Any] = []
        store = self.store if isinstance(request, ChunkRequest) else self.parent_store
        # a store that cannot hang needs no thread
        deadline = _deadline(None if cannot_hang(store) else self.timeout_s)
        try:
            for part in self._parts(request):
                answers.append(())
                answers[-1] = call_in_time(partial(self._ask, part), _compute_time_left(deadline), self.timeout_s)
            return self._reply(request, answers)
        except Exception as error:  # noqa: BLE001 - see the class
            return self._reply(request, answers, error)

    async def arun(self, request: ChunkRequest | ParentRequest) -> ChunkReply | ParentReply:
        """Answer a request without blocking the event loop."""
        answers: list[Any] = []
        deadline = _deadline(self.timeout_s)
        try:
            for part in self._parts(request):
                answers.append(())
                answers[-1] = await await_in_time(
                    partial(self._aask, part), _compute_time_left(deadline), self.timeout_s
                )
            return self._reply(request, answers)
        except Exception as error:  # noqa: BLE001 - see the class
            return self._reply(request, answers, error)

    def _parts(self, request: ChunkRequest | ParentRequest) -> Sequence[_Part]:
        """Return what is asked for in one call each."""
        if isinstance(request, ParentRequest):
            return [request]
        limit = None if isinstance(self.store, Mapping) else getattr(self.store, "batch_limit", None)
        return split_windows(request.windows, limit)

    def _ask(self, part: _Part) -> Any:
        if isinstance(part, ParentRequest):
            return self._ask_parents(part)
        if isinstance(self.store, Mapping):
            return fetch_from_mapping(self.store, part)
        asked = sum(map(len, part))
        counted = getattr(self.store, "fetch_counted", None)
        if counted is None:
            return _check_answer(_read(self.store.fetch(part, self.scope), asked))
        return _take_counts(_read(counted(part, self.scope, tokenizer=self.counts.cache.name), asked), self.counts)

    async def _aask(self, part: _Part) -> Any:
        if isinstance(self.store, Mapping) or isinstance(part, ParentRequest):
            is_at_hand = isinstance(part, tuple) and cannot_hang(self.store)
            return self._ask(part) if is_at_hand else await in_thread(partial(self._ask, part))
        asked = sum(map(len, part))
        counted, afetch = getattr(self.store, "afetch_counted", None), getattr(self.store, "afetch", None)
        if counted is not None:
            answer = await counted(part, self.scope, tokenizer=self.counts.cache.name)
            return _take_counts(await _drain(answer, asked), self.counts)
        if afetch is not None and not hasattr(self.store, "fetch_counted"):
            return _check_answer(await _drain(await afetch(part, self.scope), asked))
        return await in_thread(partial(self._ask, part))

    def _ask_parents(self, request: ParentRequest) -> dict[str, Chunk | str]:
        """Return the parents that were asked for and may be seen."""
        store = self.parent_store
        answer: Any = {} if store is None else store
        if store is not None and not isinstance(store, Mapping):
            answer = store.fetch_parents(request.parent_ids, self.scope)
        if not isinstance(answer, Mapping):
            raise StoreError(f"fetch_parents returned {type(answer).__name__}: it gives a dict {{parent_id: text}}")
        asked_for = [(name, answer[name]) for name in request.parent_ids if name in answer]
        for name, parent in asked_for:
            if not isinstance(parent, (str, Chunk)):
                raise StoreError(f"parent {name!r} is {type(parent).__name__}: parents are texts or Chunk objects")
        return {
            name: parent
            for name, parent in asked_for
            if isinstance(parent, str) or parent.metadata.scope in self.allowed
        }

    def _reply(
        self, request: ChunkRequest | ParentRequest, answers: Sequence[Any], error: Exception | None = None
    ) -> ChunkReply | ParentReply:
        """Return what came, also before a store failed."""
        if isinstance(request, ParentRequest):
            what = "parents: spans stay as they are"
            problem = None if error is None else self._problem(error, "parent", what)
            return ParentReply(dict(answers[0]), problem, len(answers))
        reply = self._chunks(request, chain.from_iterable(answers))
        reply.requests = len(answers)
        if error is None:
            reply.ends = self._row_ends()
        else:
            what = "more neighbours: spans end there" if reply.chunks else "neighbours: seeds are used alone"
            reply.problem = self._problem(error, "chunk", what)
        return reply

    def _row_ends(self) -> Collection[ChunkKey]:
        ends: Any = getattr(self.store, "row_ends", frozenset())
        if not isinstance(ends, Set):
            raise StoreError(f"row_ends of the store is {quoted(ends)}: it must be a set of (doc_id, chunk_id)")
        return ends

    def _chunks(self, request: ChunkRequest, chunks: Iterable[Chunk]) -> ChunkReply:
        """Keep the chunks that were asked for and may be seen."""
        reply = ChunkReply()
        # a mapping was asked for each chunk by its key
        asked_for = None if isinstance(self.store, Mapping) else _membership(request.windows)
        allowed, kept = self.allowed, reply.chunks
        for chunk in chunks:
            metadata = chunk.metadata
            key = (metadata.doc_id, metadata.chunk_id)
            if metadata.scope not in allowed:
                reply.out_of_scope.append(key)
            elif asked_for is None:
                kept[key] = chunk
            elif asked_for(key):
                known = kept.setdefault(key, chunk)
                if known is not chunk:
                    # whichever came first must not decide: a store may answer in any order
                    kept[key] = min(known, chunk, key=lambda c: (c.text, *canonical_form(c)))
                    if known.text != chunk.text:
                        reply.conflicts.append(key)
        reply.conflicts = sorted(set(reply.conflicts))
        return reply

    def _problem(self, error: Exception, kind: str, what: str) -> str:
        if self.strict:
            if isinstance(error, StoreError):
                raise error
            raise StoreError(f"the store failed: {without_credentials(repr(error))}") from error
        return f"the {kind} store gave no {what} ({describe_cause(error)})"


def _deadline(seconds: float | None) -> float | None:
    """When a time limit ends; all batches of a request share it."""
    return None if seconds is None else monotonic() + seconds


def _compute_time_left(deadline: float | None) -> float | None:
    """Seconds until a deadline; a moment where it is past, so that waiting fails in the usual way."""
    return None if deadline is None else max(deadline - monotonic(), 1e-3)


def _read(answer: Any, asked: int) -> Any:
    """Return the items of an answer, which may have no end.

    Raises
    ------
    StoreError
        If there are more than twice those that were asked for, and some: a whole document may be among them.
    """
    if type(answer) in (list, tuple):
        return answer  # it is there already
    most = 2 * asked + _SPARE
    items = list(islice(answer, most + 1))
    if len(items) > most:
        raise StoreError(f"fetch gave more than {most} items where {asked} chunks were asked for: give each chunk once")
    return items


async def _drain(answer: Any, asked: int) -> Any:
    """Do the same with what was awaited: a generator may wait, and is read where the event loop goes on."""
    return answer if type(answer) in (list, tuple) else await in_thread(partial(_read, answer, asked))


def _check_answer(answer: Sequence[Any]) -> list[Chunk]:
    chunks = list(answer)
    for chunk in chunks:
        if not isinstance(chunk, Chunk):
            raise StoreError(f"fetch returned {type(chunk).__name__}: a chunk store gives Chunk objects, nothing else")
    return chunks


def _take_counts(answer: Sequence[tuple[Chunk, Any]], counts: CandidateCounts) -> list[Chunk]:
    for chunk, count in answer:
        counts.add(chunk.text, count)
    return [chunk for chunk, _ in answer]


def _membership(windows: Sequence[Window]) -> Callable[[ChunkKey], bool]:
    """Return a test whether a chunk is in one of `windows`."""
    by_document: dict[str, list[Window]] = {}
    for window in windows:
        by_document.setdefault(window.doc_id, []).append(window)

    def asked_for(key: ChunkKey) -> bool:
        return any(window.start <= key[1] < window.end for window in by_document.get(key[0], ()))

    return asked_for
