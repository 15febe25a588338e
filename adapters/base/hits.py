"""Converts the results of a framework's retriever to seed hits for the composer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

from retrivex.config import RetrievalConfig
from retrivex.errors import HitError, RetrivexError
from retrivex.model.chunk import Chunk, ChunkKey, Scope, allowed_scopes
from retrivex.model.hit import SeedHit
from retrivex.model.numbers import real
from retrivex.model.window import Window
from retrivex.stores.access import cannot_hang
from retrivex.stores.memory import fetch_from_mapping
from retrivex.stores.protocol import AnyChunkStore

from .clients import check_limit
from .documents import NumberedChunks, Passage, agree, explain_missing_position, linked_chains

Direction: TypeAlias = Literal["as configured", "by order", "similarity"]
"""How to know whether larger scores are better: see `place`."""

T = TypeVar("T")

_DOUBLED = (
    "they have the chunk number of another hit and another text; number the chunks of a document through, or name the "
    "field with fields=FieldMap(chunk_id=...)"
)
_NO_GROWTH: Mapping[str, Any] = {"window": 0, "grow_until": None, "follow_links": 0}


@dataclass(frozen=True, slots=True)
class Placed:
    """Hits with known positions, ready for the composer.

    Parameters
    ----------
    hits : in the order given
    store : where their neighbours are
    alone : whether they were to grow and there is no place for neighbours
    overrides : options that the hits decide
    real_names : document names made up for hits whose number is unknown, and the real ones
    ranked : whether ranks stand in for scores
    score_kind : `similarity` where larger scores of hits are better, `distance` where smaller ones are
    ids : of hits, as their retriever gave them, by place and scope
    warnings : what went otherwise than hoped
    """

    hits: list[SeedHit]
    store: AnyChunkStore
    alone: bool
    overrides: dict[str, Any]
    real_names: dict[str, str | None]
    ranked: bool
    score_kind: Literal["similarity", "distance"]
    ids: dict[tuple[ChunkKey, str | None], str]
    warnings: list[str]


def place(
    passages: Sequence[Passage],
    store: AnyChunkStore | None,
    config: RetrievalConfig,
    *,
    neighbours: Sequence[Passage] = (),
    direction: Direction = "as configured",
) -> Placed:
    """Make seed hits of what a retriever returned.

    Parameters
    ----------
    passages : best first
    store : where neighbours are; None leaves hits as they are, but for `neighbours`
    config : `max_gap_chars`, `score_kind`, `strict` and the window
    neighbours : what was found by following links from the hits
    direction : whether larger scores are better: by `score_kind`; by their order, as the best hit comes first; or yes

    Returns
    -------
    Placed
        Scores are used where every hit has one. Otherwise the hit at rank r counts `1 / r`; so it does where none has
        a score that is a finite number.

    Raises
    ------
    HitError
        With `strict`, at the first hit whose score is no finite number.
    """
    warnings: list[str] = []
    usable = [passage for passage in passages if passage.text]
    if len(usable) < len(passages):
        warnings.append(f"{len(passages) - len(usable)} of {len(passages)} hits left out: they have no text")
    places = _Places(config.max_gap_chars, store, config.strict)
    places.add([*usable, *(passage for passage in neighbours if passage.text)])
    ranked = any(passage.score is None for passage in usable)
    if usable and not ranked and not config.strict and not any(_is_score(passage.score) for passage in usable):
        # unreadable scores do not discard the hits
        ranked = True
        warnings.append(f"no hit has a score that is a finite number ({usable[0].score!r}): their order counts")
    hits = []
    for rank, passage in enumerate(usable, start=1):
        try:
            unplaced = None if store is None else places.explain_missing_position(passage)
            hits.append(SeedHit(places.found[_identity(passage)], 1 / rank if ranked else passage.score, unplaced))
        except HitError as error:
            if config.strict:
                raise
            warnings.append(f"hit left out: {error}")
    overrides: dict[str, Any] = {}
    kind = _kind([hit.similarity_score for hit in hits], "similarity" if ranked else direction)
    if kind is not None:
        overrides["score_kind"] = kind
    nowhere = store is None and not neighbours
    if nowhere:
        overrides |= _NO_GROWTH
    doubled = sum(_identity(passage) in places.doubled for passage in usable)
    if doubled and store is None:  # else the composer says it
        warnings.append(f"{doubled} of {len(usable)} hits stay as they are: {_DOUBLED}")
    if isinstance(store, NumberedChunks):
        warnings += store.warnings
    return Placed(
        hits=hits,
        store=places.gathered if store is None else store,
        alone=nowhere and max(config.reach) > 0,
        overrides=overrides,
        real_names=places.real_names,
        ranked=ranked,
        score_kind=kind or config.score_kind,
        ids=places.ids(usable),
        warnings=warnings,
    )


def hits_to_ask(fetch_k: int | None, spans: int | None) -> int | None:
    """Return how many hits to ask a base retriever for; None leaves it as it is.

    Parameters
    ----------
    fetch_k : hits; None leaves the base as it is
    spans : most spans to return: they cannot come out of fewer hits

    Raises
    ------
    StoreError
        If `fetch_k` is no whole number of at least 1, and not None.
    """
    check_limit("fetch_k", fetch_k)
    return fetch_k if fetch_k is None or spans is None else max(fetch_k, spans)


def check_retriever(name: str, given: T, method: str, way_out: str) -> T:
    """Return `given` if it can be asked for hits.

    Parameters
    ----------
    name : of the argument
    given : what was passed under that name
    method : what a retriever of the framework is asked by
    way_out : what to give in place of a store or an index

    Raises
    ------
    RetrivexError
        If it has no such method, or is a class.
    """
    if isinstance(given, type):
        raise RetrivexError(f"{name} is the class {given.__name__}: make a retriever of it, {given.__name__}(...)")
    if not callable(getattr(given, method, None)):
        raise RetrivexError(f"{name} is {type(given).__name__}: it must be a retriever, with {method}; give {way_out}")
    return given


def _is_score(score: Any) -> bool:
    try:
        return math.isfinite(real(score))
    except (TypeError, ValueError, OverflowError):
        return False


def _identity(passage: Passage) -> tuple[Any, ...]:
    """Tell one passage from another: a retriever over several queries returns some twice."""
    if passage.id is not None:
        return (passage.id, passage.text)
    return (passage.doc_id, passage.chunk_id, passage.char_start, passage.text)


def _kind(scores: Sequence[float], direction: Direction) -> Literal["similarity", "distance"] | None:
    if direction == "similarity":
        return "similarity"
    if direction == "as configured" or not scores or scores[0] == scores[-1]:
        return None
    if all(a <= b for a, b in pairwise(scores)):
        return "distance"
    return "similarity" if all(a >= b for a, b in pairwise(scores)) else None


@dataclass(frozen=True, slots=True)
class _Gathered:
    """The results of a retriever as a chunk store; several tenants may have a chunk at the same position."""

    by_scope: dict[str | None, dict[ChunkKey, Chunk]]
    in_process: ClassVar[bool] = True

    def add(self, chunk: Chunk) -> None:
        self.by_scope.setdefault(chunk.metadata.scope, {}).setdefault(chunk.key, chunk)

    def fetch(self, windows: Sequence[Window], scope: Scope = None) -> list[Chunk]:
        allowed = allowed_scopes(scope)
        own = [chunks for name, chunks in self.by_scope.items() if name in allowed]
        return [chunk for chunks in own for chunk in fetch_from_mapping(chunks, windows)]


@dataclass(slots=True)
class _Places:
    """Assigns every passage a chunk: by its own number, by the number in the store, or by a temporary one."""

    max_gap: int
    store: AnyChunkStore | None
    strict: bool
    real_names: dict[str, str | None] = field(default_factory=dict)
    gathered: _Gathered = field(default_factory=lambda: _Gathered({}))
    texts: dict[tuple[ChunkKey, str | None], str] = field(default_factory=dict)
    doubled: set[tuple[Any, ...]] = field(default_factory=set)
    found: dict[tuple[Any, ...], Chunk] = field(default_factory=dict)

    def add(self, passages: Sequence[Passage]) -> None:
        once: dict[tuple[Any, ...], Passage] = {}
        for passage in passages:
            once.setdefault(_identity(passage), passage)
        linked: dict[str | None, list[Passage]] = {}
        placed: dict[tuple[str | None, str], list[Passage]] = {}
        targets = {link for passage in once.values() for link in (passage.before, passage.after)} - {None}
        for passage in once.values():
            chunk = self._locate_known(passage)
            if chunk is not None and self._is_another(chunk):
                self.doubled.add(_identity(passage))
                chunk = None
            if chunk is not None:
                self._keep(passage, chunk)
            elif passage.before or passage.after or passage.id in targets:
                linked.setdefault(passage.doc_id, []).append(passage)
            else:
                # offsets may count from the top of every page, so only those of one page are compared
                page = str(passage.fields.read(passage.metadata, "page"))
                placed.setdefault((passage.doc_id, page), []).append(passage)
        for doc_id, group in linked.items():
            self._number(doc_id, _split_by_links(group))
        for (doc_id, _), group in placed.items():
            self._number(doc_id, _split_by_offsets(group, self.max_gap))

    def explain_missing_position(self, passage: Passage) -> str | None:
        """Return why the position of a hit in the store is unknown; None where it is known."""
        if _identity(passage) in self.doubled:
            return _DOUBLED
        if self.found[_identity(passage)].metadata.doc_id not in self.real_names:
            return None
        return explain_missing_position(passage, among_pieces=isinstance(self.store, NumberedChunks))

    def ids(self, passages: Sequence[Passage]) -> dict[tuple[ChunkKey, str | None], str]:
        """Return the ids of hits that have one, by place and scope."""
        known = {}
        for passage in passages:
            if passage.id is not None:
                chunk = self.found[_identity(passage)]
                known[chunk.key, chunk.metadata.scope] = passage.id
        return known

    def _is_another(self, chunk: Chunk) -> bool:
        """Whether its place is that of a chunk with another text; the same place of another tenant is its own."""
        text = self.texts.setdefault((chunk.key, chunk.metadata.scope), chunk.text)
        return text != chunk.text and not self.strict  # with strict, the composer refuses it

    def _locate_known(self, passage: Passage) -> Chunk | None:
        key = None if passage.doc_id is None or passage.chunk_id is None else (passage.doc_id, passage.chunk_id)
        # a mapping that may hang is asked once, by the composer, in time
        store = self.store if isinstance(self.store, Mapping) and cannot_hang(self.store) else {}
        stored = None if key is None else store.get(key)
        if stored is not None and stored.text == passage.text:
            return stored
        locate = getattr(self.store, "locate", None)
        located = None if locate is None else locate(passage)
        return passage.to_chunk(*key) if located is None and key is not None else located

    def _keep(self, passage: Passage, chunk: Chunk) -> None:
        self.found[_identity(passage)] = chunk
        self.gathered.add(chunk)

    def _number(self, doc_id: str | None, chains: Sequence[Sequence[Passage]]) -> None:
        """File each chain under a document of its own: under the real name its numbers would mean other chunks."""
        for chain in chains:
            name = f"{doc_id or 'passage'} (unnumbered {len(self.real_names) + 1})"
            self.real_names[name] = doc_id
            for number, passage in enumerate(chain):
                self._keep(passage, passage.to_chunk(name, number))


def _split_by_links(group: Sequence[Passage]) -> list[list[Passage]]:
    ids = {passage.id for passage in group}
    if any(ids & ({passage.before, passage.after} - {None}) for passage in group):
        return linked_chains(group)
    return [[passage] for passage in group]  # nothing says that any two of them are neighbours


def _split_by_offsets(group: Sequence[Passage], max_gap: int) -> list[list[Passage]]:
    """Split pieces of one document into those that touch or overlap by their offsets, and agree on the text."""
    chains: list[list[Passage]] = []
    end = 0
    for passage in sorted(group, key=lambda p: (p.char_start is None, p.char_start or 0, p.char_end or 0)):
        start = passage.char_start
        last = chains[-1][-1] if chains else None
        if last is None or start is None or start > end + max_gap or not agree(last, passage):
            chains.append([])
        chains[-1].append(passage)
        end = max(passage.char_end or 0, end if len(chains[-1]) > 1 else 0)
    return chains
