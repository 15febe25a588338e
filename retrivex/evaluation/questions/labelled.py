"""A user's own questions for tuning: JSON Lines of questions and evidence, as quotes or as offsets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from retrivex.errors import LoadError
from retrivex.evaluation.questions.evidence import Evidence
from retrivex.expansion.seeds import SeedHits
from retrivex.model.chunk import Embedding, Scope
from retrivex.stores.protocol import AnyChunkStore
from retrivex.text.quotes import find_quote, normalise_quote, strip_quote

FORMS = 'a quote as text, {"quote"}, {"doc_id", "quote"} or {"doc_id", "start", "end"}'
"""How a passage of evidence may be given."""


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question, its evidence, and the hits that a retriever found for it.

    Parameters
    ----------
    text : the question
    evidence : every passage that is needed; empty for a question that the documents do not answer
    hits, store : as for `SpanComposer.compose`
    query_embedding, scope : the same
    """

    text: str
    evidence: tuple[Evidence, ...]
    hits: SeedHits
    store: AnyChunkStore
    query_embedding: Embedding | None = None
    scope: Scope = None

    def arguments(self) -> dict[str, Any]:
        """Return what `SpanComposer.compose` and `value_units` are called with."""
        return {
            "seed_hits": self.hits,
            "chunk_store": self.store,
            "query": self.text,
            "query_embedding": self.query_embedding,
            "scope": self.scope,
        }


class EvidenceFinder:
    """Finds evidence in documents, and caches what it has read of them.

    Parameters
    ----------
    documents : doc_id -> text

    Examples
    --------
    >>> EvidenceFinder({"bees": "Bees live in hives. They sleep at night."}).find({"quote": "they  sleep"})
    Evidence(doc_id='bees', start=20, end=30)
    """

    def __init__(self, documents: Mapping[str, str]) -> None:
        self._documents = documents
        self._flat: dict[str, str] = {}

    def find(self, claim: Any) -> Evidence:
        """Return where a passage of evidence stands.

        Parameters
        ----------
        claim : one of `FORMS`; quotes are found whatever their case and white space

        Raises
        ------
        LoadError
            If it is none of them, or stands nowhere, or at several places.
        """
        if isinstance(claim, str):
            return self._of_quote(None, claim)
        if not isinstance(claim, Mapping):
            raise LoadError(f"evidence is {claim!r}: it must be one of {FORMS}")
        doc_id, quote = claim.get("doc_id"), claim.get("quote")
        if doc_id is not None and (not isinstance(doc_id, str) or doc_id not in self._documents):
            raise LoadError(f"evidence names document {doc_id!r}, which is not there: check its doc_id")
        if isinstance(quote, str):
            return self._of_quote(doc_id, quote)
        if quote is not None or doc_id is None:
            raise LoadError(f"evidence is {dict(claim)!r}: it must be one of {FORMS}")
        return self._of_offsets(doc_id, claim.get("start"), claim.get("end"))

    def _of_offsets(self, doc_id: str, start: Any, end: Any) -> Evidence:
        length = len(self._documents[doc_id])
        if type(start) is not int or type(end) is not int or not 0 <= start < end <= length:
            raise LoadError(
                f"evidence in {doc_id!r} is {start!r} to {end!r}: start and end must be whole numbers with "
                f"0 <= start < end <= {length}, the characters of the document"
            )
        return Evidence(doc_id, start, end)

    def _of_quote(self, doc_id: str | None, quote: str) -> Evidence:
        wanted = strip_quote(quote)
        if not wanted:
            raise LoadError(f"evidence has the quote {quote!r}: it must hold words")
        names: Iterable[str] = self._documents if doc_id is None else (doc_id,)
        places = [
            Evidence(name, start, end)
            for name in names
            if wanted in self._flatten(name)
            for start, end in find_quote(self._documents[name], quote)
        ]
        if not places:
            where = "any document" if doc_id is None else f"document {doc_id!r}"
            raise LoadError(f"quote {_shortened(quote)} is not in {where}: quote the text as it is, without omissions")
        if len(places) > 1:
            raise LoadError(
                f"quote {_shortened(quote)} stands at {len(places)} places: give more of it, or doc_id, start and end"
            )
        return places[0]

    def _flatten(self, doc_id: str) -> str:
        if doc_id not in self._flat:
            self._flat[doc_id] = normalise_quote(self._documents[doc_id])
        return self._flat[doc_id]


def _shortened(quote: str) -> str:
    return repr(quote if len(quote) <= 60 else f"{quote[:57]}...")
