"""Hits on derived texts, such as summaries and questions, that show what these were made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from retrivex.errors import ChunkError
from retrivex.expansion.seeds import SeedHits, as_hit_lists
from retrivex.merging.intervals import merge_windows
from retrivex.model.chunk import MAX_CHUNK_ID, Chunk, ChunkKey, ChunkMetadata, Scope
from retrivex.model.document import Document
from retrivex.model.hit import DroppedHit, SeedHit
from retrivex.model.numbers import parse_whole_number
from retrivex.model.window import Window
from retrivex.stores.access import ChunkReply, ChunkRequest, StoreAccess
from retrivex.stores.protocol import AnyChunkStore
from retrivex.tokens.cache import TokenCache
from retrivex.tokens.stored import Believed, CandidateCounts
from retrivex.tokens.tokenizer import get_tokenizer

ORIGINAL_KEYS = ("original_doc_id", "original_chunk_id")
"""Keys of a derived chunk's custom metadata that name what it was made of."""

ScoreKind = Literal["similarity", "distance"]


def derived_document(doc_id: str, texts: Iterable[tuple[Chunk, str]]) -> tuple[Document, list[Chunk]]:
    """Return summaries or questions as a document, whose chunks name their originals; for `SQLiteStore.put`.

    Parameters
    ----------
    doc_id : of the new document
    texts : each with the chunk that it was made of; all of one scope

    Raises
    ------
    ChunkError
        If there are none, or the originals are of several scopes.

    Examples
    --------
    >>> bees = Chunk("They form a cluster.", ChunkMetadata("bees", 4))
    >>> document, chunks = derived_document("questions", [(bees, "How do bees live through the winter?")])
    >>> chunks[0].metadata.custom_metadata
    {'original_doc_id': 'bees', 'original_chunk_id': 4}
    """
    pairs = [(original, text.strip()) for original, text in texts]
    scopes = {original.metadata.scope for original, _ in pairs}
    if len(scopes) != 1:
        raise ChunkError(f"{doc_id!r} would be of {len(scopes)} scopes: give texts of one scope, at least one text")
    scope, start, chunks = scopes.pop(), 0, []
    for number, (original, text) in enumerate(pairs):
        custom = dict(zip(ORIGINAL_KEYS, original.key, strict=True))
        place = ChunkMetadata(doc_id, number, start, start + len(text), custom_metadata=custom, scope=scope)
        chunks.append(Chunk(text, place))
        start += len(text) + 1
    return Document(doc_id, "\n".join(text for _, text in pairs), scope=scope), chunks


def original_of(chunk: Chunk) -> ChunkKey | None:
    """Return what a derived chunk was made of, `(doc_id, chunk_id)`; None for one that names no other chunk."""
    doc_id, number = _reference(chunk)
    is_whole = isinstance(number, float) and number.is_integer()  # some stores keep every number as a float
    chunk_id = int(number) if is_whole else parse_whole_number(number)
    if not isinstance(doc_id, str) or type(chunk_id) is not int or not 0 <= chunk_id <= MAX_CHUNK_ID:
        return None
    return None if (doc_id, chunk_id) == chunk.key else (doc_id, chunk_id)


def _reference(chunk: Chunk) -> tuple[Any, ...]:
    return tuple(chunk.metadata.custom_metadata.get(key) for key in ORIGINAL_KEYS)


class Originals:
    """Puts originals in the place of derived hits, by one request to their store.

    Several hits of one original count once, with the best score, and so does a hit on the original itself.

    Parameters
    ----------
    store : where originals are
    scope : what the caller may see: it is asked of the original
    score_kind : whether larger scores are better, or smaller ones
    timeout_s : seconds to wait for the store; None waits

    Examples
    --------
    >>> bees = Chunk("They form a cluster.", ChunkMetadata("bees", 4))
    >>> _, questions = derived_document("questions", [(bees, "How do bees survive?"), (bees, "What is a cluster?")])
    >>> hits, dropped = Originals({bees.key: bees}).show([SeedHit(questions[0], 0.4), SeedHit(questions[1], 0.7)])
    >>> [(hit.key, hit.similarity_score) for hit in hits], dropped
    ([(('bees', 4), 0.7)], [])
    """

    def __init__(
        self,
        store: AnyChunkStore,
        scope: Scope = None,
        *,
        score_kind: ScoreKind = "similarity",
        timeout_s: float | None = 10.0,
    ) -> None:
        counts = CandidateCounts(TokenCache(get_tokenizer("estimate")), Believed(1))
        self._access = StoreAccess(store, None, scope, timeout_s, True, counts)
        self._sign = -1 if score_kind == "distance" else 1
        self.warnings: tuple[str, ...] = ()
        """What is wrong with the hits that were shown last, beside those that are left out."""

    def show(self, seed_hits: SeedHits) -> tuple[SeedHits, list[DroppedHit]]:
        """Return hits on originals in the place of derived ones, others as they are, and what is left out.

        A derived hit whose original the store does not have, or not for this caller, is left out with the reason
        `no_text`: of several with the same original, the best. One that names no place of a chunk stays, and `warnings`
        says so.

        Raises
        ------
        HitError
            If something is no hit.
        StoreError
            If the store fails.
        """
        lists = as_hit_lists(seed_hits)
        request = self._request(lists)
        return (seed_hits, []) if request is None else self._swap(seed_hits, lists, self._access.run(request))

    async def ashow(self, seed_hits: SeedHits) -> tuple[SeedHits, list[DroppedHit]]:
        """Do the same, awaiting the store."""
        lists = as_hit_lists(seed_hits)
        request = self._request(lists)
        return (seed_hits, []) if request is None else self._swap(seed_hits, lists, await self._access.arun(request))

    def _swap(
        self, given: SeedHits, lists: Sequence[Sequence[SeedHit]], reply: object
    ) -> tuple[SeedHits, list[DroppedHit]]:
        assert isinstance(reply, ChunkReply)
        dropped: dict[ChunkKey, DroppedHit] = {}
        made = [self._swap_list(hits, reply.chunks, dropped) for hits in lists]
        if isinstance(given, Mapping):  # lists by their questions
            return dict(zip(given, made, strict=True)), [*dropped.values()]
        return (made[0] if len(made) == 1 else made), [*dropped.values()]

    def _swap_list(
        self, hits: Sequence[SeedHit], known: Mapping[ChunkKey, Chunk], dropped: dict[ChunkKey, DroppedHit]
    ) -> list[SeedHit]:
        named = [original_of(hit.chunk) for hit in hits]
        derived = {*named} - {None}
        best: dict[ChunkKey | int, SeedHit] = {}
        for at, (hit, original) in enumerate(zip(hits, named, strict=True)):
            score = hit.similarity_score
            if original is not None and original not in known:
                where = f"what it was made of, {original!r}, is not in the store, or not for this caller"
                other = dropped.get(original)
                if other is None or self._sign * score > self._sign * other.similarity_score:
                    dropped[original] = DroppedHit(*hit.key, score, "no_text", where)
                continue
            key = original or hit.key
            made = hit if original is None else SeedHit(known[original], score)
            place = key if key in derived else at
            former = best.get(place)
            if former is None or self._sign * score > self._sign * former.similarity_score:
                best[place] = made
        return [*best.values()]

    def _request(self, lists: Sequence[Sequence[SeedHit]]) -> ChunkRequest | None:
        """Return the request for the originals that hits name; None where none does."""
        derived = [hit.chunk for hits in lists for hit in hits if _reference(hit.chunk)[0] is not None]
        odd = {one.key: _reference(one) for one in derived if original_of(one) is None and _reference(one) != one.key}
        self.warnings = ()
        if odd:
            (key, given), *_ = odd.items()
            self.warnings = (
                f"{len(odd)} hits stay as they are, first {key!r}: what it was made of, {given!r}, is no name of a "
                f"document and number of a chunk, under {' and '.join(ORIGINAL_KEYS)}",
            )
        named = {original for chunk in derived if (original := original_of(chunk)) is not None}
        windows = merge_windows(Window(doc_id, n, n + 1) for doc_id, n in sorted(named))
        return ChunkRequest(tuple(windows)) if named else None
