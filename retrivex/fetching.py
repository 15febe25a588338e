"""Asking a store: one request, sync or async, in time or not at all; never at the price of the seeds."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from bisect import bisect_right
from collections import OrderedDict, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Any, TypeVar

from retrivex.chunk import Chunk, ChunkKey, Scope, allowed_scopes
from retrivex.errors import StoreError, StoreTimeoutError
from retrivex.intervals import Window
from retrivex.stores.protocol import AnyChunkStore, AnyParentStore, ChunkStore, ParentStore
from retrivex.tokens import TokenCache

T = TypeVar("T")

_PLAIN_MAPPINGS = (dict, OrderedDict, defaultdict)
_GRACE_S = 1.0  # for what was cancelled and has something to close


@dataclass(frozen=True, slots=True)
class ChunkRequest:
    """Chunks that are wanted; `windows` do not overlap."""

    windows: tuple[Window, ...]


@dataclass(frozen=True, slots=True)
class ParentRequest:
    """Parents that are wanted."""

    parent_ids: tuple[str, ...]


@dataclass(slots=True)
class ChunkReply:
    """What a store gave.

    Parameters
    ----------
    chunks : by key; only what was asked for and may be seen
    out_of_scope : what the store returned although the caller may not see it
    conflicts : chunks that the store returned with several texts
    problem : why there is nothing, or less than there should be
    requests : calls that were made
    """

    chunks: dict[ChunkKey, Chunk] = field(default_factory=dict)
    out_of_scope: list[ChunkKey] = field(default_factory=list)
    conflicts: list[ChunkKey] = field(default_factory=list)
    problem: str | None = None
    requests: int = 0


@dataclass(slots=True)
class ParentReply:
    """What a parent store gave; fields as in `ChunkReply`."""

    parents: dict[str, Chunk | str] = field(default_factory=dict)
    problem: str | None = None
    requests: int = 0


def check_store(store: Any) -> AnyChunkStore:
    """Return `store` if it is a mapping or has `fetch`.

    Raises
    ------
    StoreError
        If it is neither.
    """
    if isinstance(store, (Mapping, ChunkStore)):
        return store
    raise StoreError(
        f"chunk_store is {type(store).__name__}: it must be a dict {{(doc_id, chunk_id): Chunk}} "
        "or have fetch(windows, scope)"
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


def call_in_time(call: Callable[[], T], seconds: float | None, limit: float | None = None) -> T:
    """Run `call` in a thread of its own and give up on it after `seconds`; None runs it right here.

    `limit` is what the error names, where `seconds` is only what is left of it.

    Raises
    ------
    StoreTimeoutError
        If it takes longer. The thread is left behind: nothing can stop it, and it keeps no program from ending.
    """
    if seconds is None:
        return _failing_plainly(call)
    results: list[T] = []
    errors: list[BaseException] = []
    done = threading.Event()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            results.append(context.run(_failing_plainly, call))
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread below
            errors.append(error)
        finally:
            done.set()

    threading.Thread(target=work, name="retrivex-store", daemon=True).start()
    if not done.wait(min(seconds, threading.TIMEOUT_MAX)):
        raise StoreTimeoutError(_late(seconds if limit is None else limit))
    if errors:
        raise errors[0]
    return results[0]


def _late(seconds: float) -> str:
    return f"no answer within store_timeout_s={seconds:g}; raise it, or see what holds the store up"


def _failing_plainly(call: Callable[[], T]) -> T:
    """Run somebody else's code; its `CancelledError` is a failure of its own, and no cancellation of the caller."""
    try:
        return call()
    except asyncio.CancelledError as error:
        raise _plain(error) from error


def _plain(error: BaseException) -> RuntimeError:
    """Return an error that ends nobody's event loop, task or generator."""
    return RuntimeError(f"{type(error).__name__}: {error}")


async def await_in_time(call: Callable[[], Awaitable[T]], seconds: float | None, limit: float | None = None) -> T:
    """Do what `call_in_time` does in an event loop: await what `call` returns, at most for `seconds`.

    Raises
    ------
    StoreTimeoutError
        If it takes longer; it is cancelled then.
    """
    patience = asyncio.timeout(seconds)
    try:
        async with patience:
            return await in_own_task(call)
    except TimeoutError as error:
        if not patience.expired():
            raise  # the callee's own
        raise StoreTimeoutError(_late((seconds or 0.0) if limit is None else limit)) from error


async def in_own_task(call: Callable[[], Awaitable[T]]) -> T:
    """Await what `call` returns so that only the caller's own cancellation cancels the caller.

    A `CancelledError` of somebody else's code, or what it does to the task it runs in, is a failure like others. Where
    the caller is cancelled, the code is too; if that does not end it, it is left behind.
    """

    async def asked() -> T:
        return await call()

    task = asyncio.create_task(asked())
    task.add_done_callback(_seen)
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait([task], timeout=_GRACE_S)
        raise
    try:
        return task.result()
    except asyncio.CancelledError as error:
        raise _plain(error) from error


def _seen(task: asyncio.Task[Any]) -> None:
    """Take note of a task's failure, so that asyncio does not log it where nobody waits any more."""
    if not task.cancelled():
        task.exception()


class StoreAccess:
    """The stores of one call, its scope and its patience.

    A store is somebody else's code: whatever it raises is reported in `problem` and the query goes on without it,
    unless `strict` asks for the error.
    """

    def __init__(
        self,
        store: AnyChunkStore,
        parent_store: AnyParentStore | None,
        scope: Scope,
        timeout_s: float | None,
        strict: bool,
        cache: TokenCache,
    ) -> None:
        self.store = check_store(store)
        self.parent_store = check_parent_store(parent_store)
        self.scope = scope
        self.allowed = allowed_scopes(scope)
        self.timeout_s = timeout_s
        self.strict = strict
        self.cache = cache

    def run(self, request: ChunkRequest | ParentRequest) -> ChunkReply | ParentReply:
        """Answer a request."""
        if isinstance(request, ParentRequest):
            try:
                patience = self._patience(self.parent_store)
                return self._parents(call_in_time(partial(self._ask_parents, request), patience))
            except Exception as error:  # noqa: BLE001 - see the class
                return self._no_parents(error)
        found: list[Chunk] = []
        asked, deadline = 0, self._deadline()
        try:
            for batch in self._batches(request):
                asked += 1
                patience = None if self._patience(self.store) is None else _left(deadline)
                found += call_in_time(partial(self._fetch, batch), patience, self.timeout_s)
        except Exception as error:  # noqa: BLE001 - see the class
            return self._partial(request, found, asked, error)
        return self._chunks(request, found, asked)

    async def arun(self, request: ChunkRequest | ParentRequest) -> ChunkReply | ParentReply:
        """Answer a request without blocking the event loop."""
        if isinstance(request, ParentRequest):
            try:
                asked_parents = partial(in_thread, partial(self._ask_parents, request))
                return self._parents(await await_in_time(asked_parents, self.timeout_s))
            except Exception as error:  # noqa: BLE001 - see the class
                return self._no_parents(error)
        found: list[Chunk] = []
        asked, deadline = 0, self._deadline()
        try:
            for batch in self._batches(request):
                asked += 1
                found += await await_in_time(partial(self._afetch, batch), _left(deadline), self.timeout_s)
        except Exception as error:  # noqa: BLE001 - see the class
            return self._partial(request, found, asked, error)
        return self._chunks(request, found, asked)

    def _fetch(self, batch: tuple[Window, ...]) -> list[Chunk]:
        if isinstance(self.store, Mapping):
            return _look_up(self.store, batch)
        return _fetch_all(self.store, batch, self.scope, self.cache)

    async def _afetch(self, batch: tuple[Window, ...]) -> list[Chunk]:
        if isinstance(self.store, Mapping) and cannot_hang(self.store):
            return _look_up(self.store, batch)
        afetch = None if isinstance(self.store, Mapping) else getattr(self.store, "afetch", None)
        if afetch is not None and not hasattr(self.store, "fetch_counted"):
            return _checked(await afetch(batch, self.scope))
        return await in_thread(partial(self._fetch, batch))

    def _deadline(self) -> float | None:
        """When patience ends; all batches of a request share it."""
        return None if self.timeout_s is None else monotonic() + self.timeout_s

    def _patience(self, store: object) -> float | None:
        """Seconds to wait; None where a store cannot hang, so that no thread is needed."""
        return None if cannot_hang(store) else self.timeout_s

    def _batches(self, request: ChunkRequest) -> list[tuple[Window, ...]]:
        limit = None if isinstance(self.store, Mapping) else getattr(self.store, "batch_limit", None)
        return split_windows(request.windows, limit)

    def _ask_parents(self, request: ParentRequest) -> Mapping[str, Chunk | str]:
        store = self.parent_store
        if isinstance(store, Mapping):
            return {name: store[name] for name in request.parent_ids if name in store}
        return {} if store is None else store.fetch_parents(request.parent_ids, self.scope)

    def _parents(self, parents: Mapping[str, Chunk | str]) -> ParentReply:
        kept = {
            name: parent
            for name, parent in parents.items()
            if isinstance(parent, str) or parent.metadata.scope in self.allowed
        }
        return ParentReply(kept, None, 1)

    def _chunks(self, request: ChunkRequest, chunks: Iterable[Chunk], requests: int) -> ChunkReply:
        reply = ChunkReply(requests=requests)
        asked_for = _membership(request.windows)
        trusted = isinstance(self.store, Mapping)
        for chunk in chunks:
            metadata = chunk.metadata
            key = (metadata.doc_id, metadata.chunk_id)
            if metadata.scope not in self.allowed:
                reply.out_of_scope.append(key)
            elif trusted or asked_for(key):
                known = reply.chunks.setdefault(key, chunk)
                if known is not chunk and known.text != chunk.text:
                    # whichever came first must not decide: a store may answer in any order
                    reply.chunks[key] = min(known, chunk, key=lambda c: c.text)
                    reply.conflicts.append(key)
        return reply

    def _partial(self, request: ChunkRequest, found: Sequence[Chunk], asked: int, error: Exception) -> ChunkReply:
        """Return what came before a store failed."""
        reply = self._chunks(request, found, asked)
        what = "more neighbours: spans end there" if reply.chunks else "neighbours: seeds are used alone"
        reply.problem = self._problem(error, "chunk", what)
        return reply

    def _no_parents(self, error: Exception) -> ParentReply:
        return ParentReply(problem=self._problem(error, "parent", "parents: spans stay as they are"), requests=1)

    def _problem(self, error: Exception, kind: str, what: str) -> str:
        if self.strict:
            raise error if isinstance(error, StoreError) else StoreError(f"the store failed: {error!r}") from error
        return f"the {kind} store gave no {what} ({type(error).__name__}: {error})"


def _left(deadline: float | None) -> float | None:
    """Seconds until a deadline; a moment where it is past, so that waiting fails in the usual way."""
    return None if deadline is None else max(deadline - monotonic(), 1e-3)


async def in_thread(call: Callable[[], T]) -> T:
    """Run `call` in a daemon thread: unlike the event loop's own, nobody waits for it when the program ends."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: T | None, error: BaseException | None) -> None:
        if answer.done():
            return  # given up on
        if error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(result)  # type: ignore[arg-type]

    def work() -> None:
        result: T | None = None
        failure: BaseException | None = None
        try:
            result = context.run(call)
        except (StopIteration, asyncio.CancelledError) as error:
            # no future takes the one, and the other would pass for the caller being cancelled
            failure = _plain(error)
            failure.__cause__ = error
        except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
            failure = error
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, result, failure)

    threading.Thread(target=work, name="retrivex-store", daemon=True).start()
    return await answer


def _checked(answer: Iterable[Any]) -> list[Chunk]:
    chunks = list(answer)
    for chunk in chunks:
        if not isinstance(chunk, Chunk):
            raise StoreError(f"fetch returned {type(chunk).__name__}: a chunk store gives Chunk objects, nothing else")
    return chunks


def _fetch_all(store: Any, windows: Sequence[Window], scope: Scope, cache: TokenCache) -> list[Chunk]:
    """Fetch, and drain what may be a generator while the clock still runs; take over counts made at index time."""
    counted = getattr(store, "fetch_counted", None)
    if counted is None:
        return _checked(store.fetch(windows, scope))
    chunks: list[Chunk] = []
    for chunk, count in counted(windows, scope, tokenizer=cache.name):
        if count is not None:
            cache.seed(chunk.text, count)
        chunks.append(chunk)
    return chunks


def _membership(windows: Sequence[Window]) -> Callable[[ChunkKey], bool]:
    """Return a test whether a chunk is in one of `windows`, which do not overlap."""
    starts = sorted((window.doc_id, window.start) for window in windows)
    ends = {(window.doc_id, window.start): window.end for window in windows}

    def asked_for(key: ChunkKey) -> bool:
        at = bisect_right(starts, key) - 1
        return at >= 0 and starts[at][0] == key[0] and key[1] < ends[starts[at]]

    return asked_for


def _look_up(store: Mapping[ChunkKey, Chunk], windows: Sequence[Window]) -> list[Chunk]:
    """Chunks of a plain mapping; an entry that is filed under another chunk's key is left alone."""
    found: list[Chunk] = []
    for window in windows:
        doc_id = window.doc_id
        for chunk_id in range(window.start, window.end):
            chunk = store.get((doc_id, chunk_id))
            if chunk is not None and chunk.metadata.chunk_id == chunk_id and chunk.metadata.doc_id == doc_id:
                found.append(chunk)
    return found
