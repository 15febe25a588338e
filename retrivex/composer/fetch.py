"""Requests chunks and parents from the stores, and reconciles the replies with the hits."""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from retrivex.composer.call import Call, Steps
from retrivex.errors import HitError
from retrivex.expansion.seeds import Seed
from retrivex.merging.intervals import merge_windows
from retrivex.merging.parents import PlacedParent, place_parent, sibling_window, with_children
from retrivex.model.chunk import Chunk, ChunkKey
from retrivex.model.run import Run
from retrivex.model.window import Window
from retrivex.stores.access import ChunkReply, ChunkRequest, ParentReply, ParentRequest

MAX_NAMED = 5
"""Keys that a warning names at most."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What the chunk store knows of the planned windows.

    Parameters
    ----------
    found : chunks by key; hits stand in for what the store does not have
    out_of_scope : chunks that the store holds but the caller may not see
    ends : places where the store says that there is nothing and nothing is missing
    complete : whether the store answered without a failure
    """

    found: dict[ChunkKey, Chunk]
    out_of_scope: list[ChunkKey] = field(default_factory=list)
    ends: Collection[ChunkKey] = ()
    complete: bool = True


def fetch_windows(
    call: Call, seeds: Sequence[Seed], planned: Sequence[Window], merged: Sequence[Window]
) -> Steps[Fetched]:
    """Fetch all planned windows, merged, in one request; seeds stand in for what the store does not have."""
    placed = [seed for seed in seeds if seed.unplaced is None]
    found: dict[ChunkKey, Chunk] = {}
    windows = merged
    if len(placed) < len(seeds):
        found = {seed.key: seed.chunk for seed in seeds if seed.unplaced is not None}
        _warn_without_position(call, seeds)
        windows = merge_windows([w for seed, w in zip(seeds, planned, strict=True) if seed.unplaced is None])
    if not placed:
        return Fetched(found)
    reply = yield from _fetch_chunks(call, windows, "fetch")
    if reply.conflicts:
        _report(call, sorted(reply.conflicts), "are in the chunk store with several texts; one of them is used")
    found |= reply.chunks
    hidden = set(reply.out_of_scope)
    unlike = [seed for seed in placed if found.get(seed.key) is not seed.chunk]  # most stores give what was hit
    absent = [seed.key for seed in unlike if seed.key not in hidden and not _reconcile(call, seed, found)]
    if absent and not reply.problem:
        _report(call, absent, "not in the chunk store; used as the retriever gave them")
    return Fetched(found, reply.out_of_scope, reply.ends, complete=not reply.problem)


def _fetch_chunks(call: Call, windows: Sequence[Window], step: str) -> Steps[ChunkReply]:
    reply = yield ChunkRequest(tuple(windows))
    if not isinstance(reply, ChunkReply):
        raise TypeError(f"a chunk request was answered by {type(reply).__name__}")
    call.log.requests += reply.requests
    call.log.mark(step, len(windows), len(reply.chunks))
    if reply.problem:
        call.log.warn(reply.problem)
    return reply


def _reconcile(call: Call, seed: Seed, found: dict[ChunkKey, Chunk]) -> bool:
    """Put the seed among the found chunks; return whether the store had it.

    The store's text wins where the two differ, because it is the one that its neighbours fit to.
    """
    stored = found.get(seed.key)
    if stored is None:
        found[seed.key] = seed.chunk
        return False
    if stored.text != seed.chunk.text:
        _report(call, [seed.key], "have another text in the chunk store than in the hit; the store's is used")
    elif stored.embedding is None and seed.chunk.embedding is not None:
        found[seed.key] = Chunk(stored.text, stored.metadata, seed.chunk.embedding)
    return True


def name_keys(keys: Sequence[ChunkKey]) -> str:
    """Return the first few keys as text, and how many more there are."""
    more = f" and {len(keys) - MAX_NAMED} more" if len(keys) > MAX_NAMED else ""
    return ", ".join(repr(key) for key in keys[:MAX_NAMED]) + more


def _report(call: Call, keys: Sequence[ChunkKey], what: str) -> None:
    """Report bad hits: one warning, or an error with `strict`."""
    if call.config.strict:
        raise HitError(f"hits {name_keys(keys)}: {what}; index them again, or leave strict off")
    call.log.warn(f"hits {name_keys(keys)}: {what}")


def _warn_without_position(call: Call, seeds: Sequence[Seed]) -> None:
    """Report hits without a position, by the reason: one warning each, or an error with `strict`."""
    for reason, count in Counter(seed.unplaced for seed in seeds if seed.unplaced is not None).items():
        problem = f"{count} of {len(seeds)} hits stay as they are: {reason}"
        if call.config.strict:
            raise HitError(problem)
        call.log.warn(problem)


# ---- parents


def fetch_parents(call: Call, seeds: Sequence[Seed], runs: Sequence[Run]) -> Steps[dict[str, PlacedParent]]:
    """Fetch all parents of all candidates in one request.

    A parent is shown where all of it is known to be allowed, see `with_children`. The parent of a hit without a
    position is left alone: the chunks around it, which would tell, cannot be asked for.
    """
    if not call.with_parents:
        return {}
    children = _children(seeds, runs)
    if not children:
        return {}
    reply = yield ParentRequest(tuple(children))
    if not isinstance(reply, ParentReply):
        raise TypeError(f"a parent request was answered by {type(reply).__name__}")
    call.log.requests += reply.requests
    if reply.problem:
        call.log.warn(reply.problem)
    call.log.mark("parents", len(children), len(reply.parents))
    placed = {name: place_parent(name, parent, children[name]) for name, parent in reply.parents.items()}
    texts = {name for name, parent in reply.parents.items() if isinstance(parent, str)}
    if call.config.return_parents == "never":
        return placed
    _warn_of_long_parents(call, placed)
    return (yield from _fetch_children(call, placed, children, texts))


def _warn_of_long_parents(call: Call, placed: Mapping[str, PlacedParent]) -> None:
    limit = call.config.max_parent_chars
    long = [(name, len(parent.text)) for name, parent in placed.items() if _is_long(call, parent)]
    if long:
        (name, length), parents = long[0], "1 parent is" if len(long) == 1 else f"{len(long)} parents are"
        call.log.warn(
            f"{parents} longer than max_parent_chars ({limit}), first {name!r} with {length} characters: spans are not "
            "replaced by them; raise max_parent_chars, or cut smaller parents"
        )


def _children(seeds: Sequence[Seed], runs: Sequence[Run]) -> dict[str, list[Chunk]]:
    """Candidates by the parent that they name."""
    without_position = {seed.key for seed in seeds if seed.unplaced is not None}
    children: dict[str, list[Chunk]] = {}
    for run in runs:
        for chunk in run.chunks:
            if chunk.metadata.parent_id is not None and chunk.key not in without_position:
                children.setdefault(chunk.metadata.parent_id, []).append(chunk)
    return children


def _fetch_children(
    call: Call, placed: Mapping[str, PlacedParent], children: Mapping[str, Sequence[Chunk]], texts: Collection[str]
) -> Steps[dict[str, PlacedParent]]:
    """Fetch the chunks around the known ones of each parent, in one request, before any of it is shown.

    They say what of it may be shown, and which chunks its span touches.
    """
    made = {name: parent for name, parent in placed.items() if name not in texts and _is_long(call, parent)}
    asked = {
        name: parent
        for name, parent in placed.items()
        if not _is_long(call, parent) and any(child.metadata.doc_id == parent.doc_id for child in children[name])
    }
    windows = {name: window for name, parent in asked.items() if (window := sibling_window(parent, children[name]))}
    reply = ChunkReply()
    if windows:
        reply = yield from _fetch_chunks(call, merge_windows(list(windows.values())), "siblings")
    untold = []
    for name, parent in asked.items():
        seen = ChainMap(reply.chunks, {child.key: child for child in children[name]})
        window = None if reply.problem else windows.get(name)
        found = with_children(parent, window, children[name], seen, is_text=name in texts)
        if found is None:
            untold.append(name)
        else:
            made[name] = found
    _warn_of_untold_parents(call, untold)
    return made


def _warn_of_untold_parents(call: Call, names: Sequence[str]) -> None:
    if names:
        parents = "1 parent is" if len(names) == 1 else f"{len(names)} parents are"
        call.log.warn(
            f"{parents} not shown, first {names[0]!r}: part of the text stands in no chunk that may be seen, so it may "
            "be of another scope; index all chunks of a parent, with their chunk_count"
        )


def _is_long(call: Call, parent: PlacedParent) -> bool:
    return len(parent.text) > call.config.max_parent_chars
