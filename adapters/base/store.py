"""Chunk store and retriever over an existing collection in any vector store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retrivex.encoders.encoder import Encoder
from retrivex.encoders.queries import encode_question
from retrivex.errors import ChunkError, EncoderError, StoreError
from retrivex.expansion.fusion import reciprocal_rank_fusion
from retrivex.merging.intervals import merge_windows
from retrivex.model.chunk import Chunk, ChunkKey, Scope, allowed_scopes
from retrivex.model.hit import SeedHit
from retrivex.model.question import takes_both_names
from retrivex.model.window import Window
from retrivex.stores.access import split_windows
from retrivex.stores.sqlite.filters import Where
from retrivex.timeouts import in_thread
from retrivex.tokens.stored import StoredCount

from .clients import check_limit
from .collection import ByIds, ByWindows, Collection, Nearest, Record, Records, Scopes, Search
from .documents import Passage, misnamed, read_passage
from .fields import MakeId
from .logs import logger
from .retries import RetryingCollection
from .where import fits, read_where

Embed: TypeAlias = Callable[[str], ArrayLike]
"""Turns a question into a vector, shape (d,); such as `embed_query` of LangChain's embeddings."""

_NO_POSITION = (
    "they have no document or no chunk number; name the fields with fields=FieldMap(...), or write them with `retrivex "
    "backfill STORE ADDRESS COLLECTION --write`"
)
MOST_CHUNKS = 100_000
"""Chunks that one `fetch` may ask for: more is a mistake in a window, not a neighbourhood."""

MOST_HITS = 10_000
"""Of one search, where hits have to be left out that do not fit: more is what many servers refuse."""

FUSION_DEPTH = 100
"""Hits of each ranking that are fused at least."""

_MORE_HITS = 4  # times as many are asked for then


class _Asking:
    """Asks a collection, and keeps what is wrong with it."""

    def __init__(self, collection: Collection, retries: int) -> None:
        self.collection = collection
        self._retrying = RetryingCollection(collection, retries)
        self._warnings: dict[str, None] = {}

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is wrong with the collection, as far as it has shown."""
        return tuple(self._warnings)

    def _warn(self, warning: str | None) -> None:
        if warning is not None and warning not in self._warnings:
            self._warnings[warning] = None
            logger.warning("%s", warning)


class VectorChunkStore(_Asking):
    """Fetches neighbours from a collection: by ids where document and number determine them, otherwise by a filter.

    Parameters
    ----------
    collection : what to ask
    make_id : `(doc_id, n) -> id` where the collection's ids were made so (`colon_id`, `uuid5_id` or your own): the
        fastest way, and the only one that needs no index. None asks with a filter on the document and the chunk number.
    retries : new attempts where the store is down
    batch_limit : most chunks one request asks for; None takes the collection's own limit

    Raises
    ------
    StoreError
        If an argument breaks its rule.

    Notes
    -----
    What is wrong with the collection is said in `warnings`, and logged once: records that cannot be read, records of
    another scope. Such records are left out.
    """

    in_process = False

    def __init__(
        self, collection: Collection, *, make_id: MakeId | None = None, retries: int = 2, batch_limit: int | None = None
    ) -> None:
        super().__init__(collection, retries)
        check_limit("batch_limit", batch_limit)
        if make_id is None and (collection.fields.path("doc_id") is None or collection.fields.path("chunk_id") is None):
            raise StoreError(
                f"{collection.name} has no field for the document or the chunk number: name them with "
                "fields=FieldMap(doc_id=..., chunk_id=...), or say how ids are made with make_id=..."
            )
        self.batch_limit = min(batch_limit or collection.batch_limit, collection.batch_limit)
        self._make_id = make_id

    def fetch(self, windows: Sequence[Window], scope: Scope = None) -> list[Chunk]:
        """Return the chunks of `windows` that exist and `scope` may see: one request for every `batch_limit` chunks.

        Raises
        ------
        StoreTimeoutError
            If the store does not answer in time.
        StoreError
            If it is down, refuses, or more than 100,000 chunks are asked for.
        """
        return [chunk for chunk, _ in self._fetch(windows, scope)]

    async def afetch(self, windows: Sequence[Window], scope: Scope = None) -> list[Chunk]:
        """Do the same as `fetch`, without blocking the event loop."""
        return [chunk for chunk, _ in await self._afetch(windows, scope)]

    def fetch_counted(
        self, windows: Sequence[Window], scope: Scope = None, *, tokenizer: str
    ) -> list[tuple[Chunk, StoredCount | None]]:
        """Do the same as `fetch`, with the counts by this tokenizer that `retrivex backfill --counts` has written."""
        return self._with_counts(self._fetch(windows, scope), tokenizer)

    async def afetch_counted(
        self, windows: Sequence[Window], scope: Scope = None, *, tokenizer: str
    ) -> list[tuple[Chunk, StoredCount | None]]:
        """Do the same as `fetch_counted`, without blocking the event loop."""
        return self._with_counts(await self._afetch(windows, scope), tokenizer)

    def _fetch(self, windows: Sequence[Window], scope: Scope) -> list[tuple[Chunk, Passage]]:
        scopes = allowed_scopes(scope)
        return [
            pair
            for batch in self._batches(windows)
            for pair in self._chunks(self._retrying.ask(self._request(batch, scopes)), batch, scopes)
        ]

    async def _afetch(self, windows: Sequence[Window], scope: Scope) -> list[tuple[Chunk, Passage]]:
        scopes = allowed_scopes(scope)
        return [
            pair
            for batch in self._batches(windows)
            for pair in self._chunks(await self._retrying.aask(self._request(batch, scopes)), batch, scopes)
        ]

    def _with_counts(
        self, found: Sequence[tuple[Chunk, Passage]], tokenizer: str
    ) -> list[tuple[Chunk, StoredCount | None]]:
        return [
            (chunk, StoredCount.from_field(passage.fields.read(passage.metadata, "counts"), tokenizer))
            for chunk, passage in found
        ]

    def retriever(self, embed: Encoder | Embed | None = None, search: Search = "vectors") -> VectorRetriever:
        """Return a retriever over the same collection; `embed` and `search` as of `VectorRetriever`."""
        return VectorRetriever(self.collection, embed, search=search)

    def _batches(self, windows: Sequence[Window]) -> list[tuple[Window, ...]]:
        merged = merge_windows(windows)
        asked = sum(len(window) for window in merged)
        if asked > MOST_CHUNKS:
            raise StoreError(f"windows ask for {asked} chunks: at most {MOST_CHUNKS} in one call; ask for less")
        return split_windows(merged, self.batch_limit)

    def _request(self, batch: tuple[Window, ...], scopes: Scopes) -> ByIds | ByWindows:
        if self._make_id is None:
            return ByWindows(batch, scopes)
        return ByIds(tuple(self._ids(batch)), scopes)

    def _ids(self, batch: Iterable[Window]) -> dict[str, ChunkKey]:
        assert self._make_id is not None
        make_id = self._make_id
        return {make_id(w.doc_id, n): (w.doc_id, n) for w in batch for n in range(w.start, w.end)}

    def _chunks(self, answer: Records, batch: tuple[Window, ...], scopes: Scopes) -> list[tuple[Chunk, Passage]]:
        places = {} if self._make_id is None else self._ids(batch)
        chunks, unread, foreign = [], 0, 0
        for warning in answer.warnings:
            self._warn(warning)
        for record in answer.records:
            passage = read_record(record, self.collection)
            chunk = _chunk(passage, places.get(record.id))
            if chunk is None:
                unread += 1
            elif chunk.metadata.scope not in scopes:
                foreign += 1
            else:
                chunks.append((chunk, passage))
        if unread:
            self._warn(f"{self.collection.name}: records left out that have no text, document or chunk number")
        if foreign:
            self._warn(f"{self.collection.name} returned records of another scope: left out")
        return chunks


class ClientChunkStore(VectorChunkStore):
    """A chunk store made of a client and the name of a collection; subclasses say of which kind.

    Parameters
    ----------
    client, collection, options : as of the collection's class
    make_id, retries, batch_limit : as of `VectorChunkStore`
    """

    kind: ClassVar[type[Any]]

    def __init__(
        self,
        client: Any,
        collection: str,
        *,
        make_id: MakeId | None = None,
        retries: int = 2,
        batch_limit: int | None = None,
        **options: Any,
    ) -> None:
        asked = self.kind(client, collection, **options)
        super().__init__(asked, make_id=make_id, retries=retries, batch_limit=batch_limit)


def _chunk(passage: Passage, place: ChunkKey | None) -> Chunk | None:
    """Return a record as a chunk; `place` is known where its id was made of it."""
    doc_id, chunk_id = place or (passage.doc_id, passage.chunk_id)
    if doc_id is None or chunk_id is None or not passage.text:
        return None
    if (
        place is not None
        and (passage.doc_id or doc_id, passage.chunk_id if passage.chunk_id is not None else chunk_id) != place
    ):
        return None  # the record says that it is another one
    return _make_chunk_at(passage, doc_id, chunk_id)


def _make_chunk_at(passage: Passage, doc_id: str, chunk_id: int, chunk_count: int | None = None) -> Chunk | None:
    try:
        return passage.to_chunk(doc_id, chunk_id, chunk_count)
    except ChunkError:
        return None


def read_record(record: Record, collection: Collection) -> Passage:
    """Return a record without its store; what `root` holds are its metadata."""
    if record.passage is not None:
        return record.passage
    names = collection.fields
    text = names.read(record.payload, "text")
    inner = names.inside(record.payload)
    if inner is None:
        text = None  # without its metadata nobody knows who may see it
    metadata = dict(inner or {})
    if names.root is None:
        own = {*names.text, *names.embedding}
        metadata = {key: value for key, value in metadata.items() if key not in own}
    known = {name: _text_or_none(names.read(metadata, name)) for name in ("before", "after")}
    return read_passage(
        text if isinstance(text, str) else "",
        metadata,
        names,
        id=record.id,
        score=record.score,
        embedding=record.vector,
        **known,
    )


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


class VectorRetriever(_Asking):
    """Finds hits for a question in a collection, best first: by vectors, by words or by both.

    Parameters
    ----------
    collection : what to ask
    embed : the model the collection's vectors come from: an `Encoder`, or a function from a text to its vector; not
        needed for words
    search : `vectors`, `words` (the store's own full-text search) or `hybrid`: in one request where the store fuses
        both by itself, otherwise in two whose hits are fused by reciprocal rank
    retries : new attempts where the store is down

    Raises
    ------
    StoreError
        If an argument breaks its rule, or the store has no search by words.

    Notes
    -----
    Scores are larger for nearer vectors: cosines and inner products as they are, distances with a minus. Those of words
    are the store's own, mostly BM25; those of a hybrid say no more than the order. A record
    without document or number becomes a hit that is not grown: `warnings` says so.
    """

    def __init__(
        self, collection: Collection, embed: Encoder | Embed | None = None, *, search: Search = "vectors",
        retries: int = 2,
    ) -> None:  # fmt: skip
        if search not in get_args(Search):
            raise StoreError(f"search is {search!r}: it must be one of {', '.join(get_args(Search))}")
        if embed is None and search != "words":
            raise StoreError("embed is missing: give the model of the collection's vectors, or search='words'")
        if embed is not None and not isinstance(embed, Encoder) and not callable(embed):
            raise StoreError(
                f"embed is {type(embed).__name__}: give an Encoder, or a function from a text to its vector"
            )
        super().__init__(collection, retries)
        if search != "vectors" and "words" not in collection.searches:
            raise StoreError(
                f"search is {search!r}: {collection.name} has no search by words; take search='vectors', and fuse its "
                "hits with those of another retriever, such as LocalRetriever over a SQLiteStore"
            )
        self._embed: Any = embed
        self._search = search

    @takes_both_names
    def retrieve(self, question: str, k: int = 50, scope: Scope = None, where: Where | None = None) -> list[SeedHit]:
        """Return the best `k` hits that `scope` may see, best first; an empty question finds nothing.

        Parameters
        ----------
        question : any text
        k : at most so many hits
        scope : what the caller may see, whatever `where` says
        where : what hits must hold, see `retrivex.stores.Where`; `source` is a field of the record. What the store
            cannot be asked is checked here: with more requests, for up to 10,000 hits, until `k` of them fit

        Raises
        ------
        StoreTimeoutError, StoreError
            If the store does not answer in time, is down or refuses; if `k` is less than 1, `question` no text, or
            `where` cannot be read.
        EncoderError
            If `embed` does not give one finite vector.
        """
        rankings: list[list[SeedHit]] = []
        for first in self._requests(question, k, scope, where):
            request: Nearest | None = first
            while request is not None:
                hits, request = self._hits(self._retrying.ask(request), request, first.k)
            rankings.append(hits)
        return rankings[0] if len(rankings) == 1 else reciprocal_rank_fusion(rankings)[:k]

    @takes_both_names
    async def aretrieve(
        self, question: str, k: int = 50, scope: Scope = None, where: Where | None = None
    ) -> list[SeedHit]:
        """Do the same as `retrieve`; the question is embedded in a thread."""
        rankings: list[list[SeedHit]] = []
        for first in await in_thread(lambda: self._requests(question, k, scope, where)):
            request: Nearest | None = first
            while request is not None:
                hits, request = self._hits(await self._retrying.aask(request), request, first.k)
            rankings.append(hits)
        return rankings[0] if len(rankings) == 1 else reciprocal_rank_fusion(rankings)[:k]

    def _requests(self, question: str, k: int, scope: Scope, where: Where | None) -> list[Nearest]:
        condition = read_where(where)
        if not isinstance(question, str):
            raise StoreError(f"question is {type(question).__name__}: it must be the question as text")
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise StoreError(f"k is {k!r}: it must be a whole number of at least 1")
        if not question.strip():
            return []
        vector = np.zeros(0, np.float32) if self._search == "words" else self._vector(question)
        request = Nearest(vector, k, allowed_scopes(scope), condition, question, self._search)
        if self._search != "hybrid" or "hybrid" in self.collection.searches:
            return [request]
        deep = replace(request, k=max(k, FUSION_DEPTH))
        return [replace(deep, search="words"), replace(deep, search="vectors")]

    def _vector(self, question: str) -> NDArray[np.float32]:
        given = encode_question(self._embed, question) if isinstance(self._embed, Encoder) else self._embed(question)
        vector = np.asarray(given, dtype=np.float32)
        vector = vector[0] if vector.ndim == 2 and len(vector) == 1 else vector
        if vector.ndim != 1 or not len(vector) or not np.isfinite(vector).all():
            raise EncoderError(f"embed gave the shape {vector.shape} for a question: it must be one finite vector")
        return vector

    def _hits(self, answer: Records, request: Nearest, k: int) -> tuple[list[SeedHit], Nearest | None]:
        """Return the hits of an answer, and what to ask next where too few of its records fit."""
        best: dict[ChunkKey, SeedHit] = {}
        doubled: ChunkKey | None = None
        reasons: list[str] = []
        foreign = unread = 0
        for warning in answer.warnings:
            self._warn(warning)
        for at, record in enumerate(answer.records):
            passage = read_record(record, self.collection)
            chunk = _chunk(passage, None)
            unplaced = None
            if chunk is None and passage.text:
                unplaced = misnamed(passage) or _NO_POSITION
                reasons.append(unplaced)
                # a document of this one chunk: under the real name its number would mean another chunk; by its id, as
                # another question finds it at another rank, and other records at this one
                name = f"{passage.doc_id or self.collection.name} (unnumbered {record.id})"
                chunk = _make_chunk_at(passage, name, 0, 1)
            if chunk is not None and request.where is not None and not fits(request.where, passage, chunk):
                continue
            if chunk is not None and chunk.metadata.scope in request.scopes:
                hit = SeedHit(chunk, record.score if record.score is not None else 1 / (at + 1), unplaced)
                if best.setdefault(chunk.key, hit) is not hit:
                    doubled = doubled or chunk.key
            elif chunk is not None:
                foreign += 1
            else:
                unread += 1
        hits = [*best.values()]
        if doubled:
            self._warn(f"{self.collection.name} has chunks several times, such as {doubled!r}: the best record counts")
        if foreign:
            self._warn(f"{self.collection.name} returned hits of another scope: left out")
        if foreign and len(hits) < request.k <= len(answer.records):
            self._warn(
                f"{self.collection.name}: hits of other scopes took the place of some that may be seen, so that fewer "
                f"than k={request.k} came back; index the scope, or keep each scope in a collection of its own"
            )
        if unread:
            self._warn(
                f"{self.collection.name}: hits left out that have no text, or metadata that cannot be read; name the "
                "fields with fields=FieldMap(text=..., root=...)"
            )
        for reason in reasons:
            self._warn(f"{self.collection.name}: hits stay as they are: {reason}")
        is_all = request.where is None and not doubled
        if is_all or len(hits) >= k or len(answer.records) < request.k:
            return hits[:k], None
        if request.k < MOST_HITS:
            return hits, replace(request, k=min(MOST_HITS, _MORE_HITS * request.k))
        if request.where is not None:
            self._warn(
                f"{self.collection.name}: of the best {request.k} records only {len(hits)} fit where, so that fewer "
                f"hits than k={k} came back: the store cannot be asked for all of it"
            )
        return hits, None


class ClientRetriever(VectorRetriever):
    """A retriever made of a client and the name of a collection; subclasses say of which kind.

    Parameters
    ----------
    client, collection, options : as of the collection's class
    embed, search, retries : as of `VectorRetriever`
    """

    kind: ClassVar[type[Any]]

    def __init__(
        self, client: Any, collection: str, embed: Encoder | Embed | None = None, *, search: Search = "vectors",
        retries: int = 2, **options: Any,
    ) -> None:  # fmt: skip
        super().__init__(self.kind(client, collection, **options), embed, search=search, retries=retries)
