"""The local retriever: full-text, dense or hybrid search in the embedded store."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

from retrivex.encoders.encoder import Encoder
from retrivex.encoders.queries import encode_question
from retrivex.errors import StoreError
from retrivex.expansion.fusion import reciprocal_rank_fusion, relative_score_fusion
from retrivex.model.chunk import Scope
from retrivex.model.hit import SeedHit
from retrivex.model.question import takes_both_names
from retrivex.stores.sqlite.filters import Where
from retrivex.stores.sqlite.store import SQLiteStore

RetrievalMode: TypeAlias = Literal["auto", "bm25", "dense", "hybrid"]

_FUSION_DEPTH = 100
"""Hits each ranking gives to the fusion at least: a chunk that is 80th in both may well be 20th together."""

_DENSE_WEIGHT = 0.5
"""Weight of the vectors in the fusion, the words' is the rest: chosen by `make bench-fusion` on six public sets."""


class LocalRetriever:
    """Finds the chunks of a `SQLiteStore` that fit a question.

    Parameters
    ----------
    store : what to search
    encoder : the model the store's vectors come from; needed for `dense` and `hybrid`
    mode : `bm25` goes by words, `dense` by vectors, `hybrid` fuses both by their relative scores; `auto` is `hybrid`
        where there are an encoder and vectors, and `bm25` otherwise (`mode` and `warnings` say which, and why)
    rrf_k : fuses by reciprocal rank with this constant instead, as version 0.2 did with 60

    Raises
    ------
    StoreError
        If `store` is no SQLiteStore; if `mode` is unknown, or needs an encoder and there is none.

    Examples
    --------
    >>> import tempfile
    >>> from retrivex.model.chunk import Chunk, ChunkMetadata
    >>> from retrivex.model.document import Document
    >>> with tempfile.TemporaryDirectory() as folder, SQLiteStore(f"{folder}/store.db") as store:
    ...     for name, text in [("bees", "Bees sleep."), ("wasps", "Wasps do not.")]:
    ...         written = store.put(Document(name, text), [Chunk(text, ChunkMetadata(name, 0, 0, len(text)))])
    ...     retriever = LocalRetriever(store)
    ...     retriever.mode, [hit.key for hit in retriever.retrieve("Does a bee sleep?")]
    ('bm25', [('bees', 0)])
    """

    def __init__(
        self, store: SQLiteStore, encoder: Encoder | None = None, mode: RetrievalMode = "auto", rrf_k: int | None = None
    ) -> None:
        if not isinstance(store, SQLiteStore):
            raise StoreError(
                f"store is {type(store).__name__}: it must be a SQLiteStore, as in SQLiteStore('retrivex.db')"
            )
        if mode not in get_args(RetrievalMode):
            raise StoreError(f"mode is {mode!r}: choose one of {', '.join(get_args(RetrievalMode))}")
        if mode in ("dense", "hybrid") and encoder is None:
            raise StoreError(f"mode {mode!r} needs an encoder to read the question: pass encoder=..., or use 'bm25'")
        self._store = store
        self._encoder = encoder
        self._asked = mode
        self._rrf_k = rrf_k

    @property
    def mode(self) -> RetrievalMode:
        """What `retrieve` uses now: `bm25`, `dense` or `hybrid`; follows the store as it is filled."""
        if self._asked != "auto":
            return self._asked
        return "hybrid" if self._encoder is not None and self._store.vector_model is not None else "bm25"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why hits may be missing that could be found; empty where nothing is amiss."""
        if self._asked != "auto" or self.mode == "hybrid":
            return ()
        if self._encoder is not None:
            return (f"the store holds no vectors, so only words are searched: index with {self._encoder.name!r}",)
        model = self._store.vector_model
        if model is not None:
            return (f"the store holds vectors of {model!r}, but no encoder was given, so only words are searched",)
        return ()

    @takes_both_names
    def retrieve(self, question: str, k: int = 50, scope: Scope = None, where: Where | None = None) -> list[SeedHit]:
        """Return the best `k` chunks, best first, ties by document and chunk id.

        Larger scores are better: BM25 (unbounded), cosines, or fused scores in [0, 1], as `mode` says. `hybrid` adds
        half of the place of a chunk's BM25 between the lowest and the highest that were found, and half of that of its
        cosine. A list that is empty or lacks the chunk adds nothing; see `relative_score_fusion`.

        Parameters
        ----------
        question : any text; one without words finds nothing by BM25, an empty one nothing at all
        k : at most so many hits
        scope : what the caller may see
        where : see `retrivex.stores.Where`

        Raises
        ------
        StoreError
            If the store has no vectors, or those of another model, and `mode` needs them; if `question` is no text
            or `where` no mapping.
        EncoderError
            If the encoder does not give one vector.
        """
        if not isinstance(question, str):
            raise StoreError(f"question is {type(question).__name__}: it must be the question as text")
        if where is not None and not isinstance(where, Mapping):
            raise StoreError(f"where is {where!r}: it must be a mapping of fields to values, like {{'doc_id': 'bees'}}")
        mode = self.mode
        if not question.strip():
            return []
        if mode == "bm25":
            return self._store.search_text(question, k, scope, where)
        if mode == "dense":
            return self._dense(question, k, scope, where)
        depth = max(k, _FUSION_DEPTH) if k else 0
        rankings = [self._store.search_text(question, depth, scope, where), self._dense(question, depth, scope, where)]
        if self._rrf_k is not None:
            return reciprocal_rank_fusion(rankings, self._rrf_k)[:k]
        return relative_score_fusion(rankings, (1 - _DENSE_WEIGHT, _DENSE_WEIGHT))[:k]

    @takes_both_names
    async def aretrieve(
        self, question: str, k: int = 50, scope: Scope = None, where: Where | None = None
    ) -> list[SeedHit]:
        """Do the same as `retrieve` in a thread."""
        return await asyncio.to_thread(self.retrieve, question, k, scope, where)

    def _dense(self, question: str, k: int, scope: Scope, where: Where | None) -> list[SeedHit]:
        assert self._encoder is not None  # checked when the retriever was built, and by `mode`
        vector = encode_question(self._encoder, question)
        return self._store.search_vector(vector, k, scope, where, encoder=self._encoder.name)
