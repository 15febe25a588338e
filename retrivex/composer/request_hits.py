"""Reads the hits and chunks of a request: JSON in, hits out, with an account of those that cannot be used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from retrivex.errors import ChunkError, HitError
from retrivex.model.chunk import Chunk, ChunkKey, Scope
from retrivex.model.hit import DroppedHit, SeedHit
from retrivex.model.numbers import number_of, parse_whole_number
from retrivex.model.options import closest_name
from retrivex.model.serialization import check_metadata, chunk_from_dict, is_finite, mapping
from retrivex.model.window import Window
from retrivex.stores import fetch_from_mapping

_HIT_KEYS = ("doc_id", "chunk_id", "score")
_NO_POSITION = "their chunk_id is no whole number; number the chunks of a document 0, 1, 2, ... and hits can grow"


@dataclass(frozen=True, slots=True)
class LayeredStore:
    """The chunks of one line, in front of those that all lines share.

    Parameters
    ----------
    own, shared : chunks by key; `own` wins
    """

    own: Mapping[ChunkKey, Chunk]
    shared: Mapping[ChunkKey, Chunk]

    in_process = True

    def get(self, key: ChunkKey) -> Chunk | None:
        """Return the chunk of that key; None where there is none."""
        return self.own.get(key) or self.shared.get(key)

    def fetch(self, windows: Sequence[Window], scope: Scope = None) -> Iterable[Chunk]:
        """Return the chunks of `windows`; the composer checks scopes itself."""
        found = {chunk.key: chunk for chunk in fetch_from_mapping(self.shared, windows)}
        found.update((chunk.key, chunk) for chunk in fetch_from_mapping(self.own, windows))
        return found.values()


def shorten(value: Any) -> str:
    """Return a value as an error shows it."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def read_chunk(chunk: Any) -> Chunk:
    """Return the chunk of a JSON object.

    Raises
    ------
    ChunkError
        If it is none, or breaks a rule.
    """
    if not isinstance(chunk, dict):
        raise ChunkError(f"a chunk is {shorten(chunk)}: it must be an object with doc_id, chunk_id and text")
    return chunk_from_dict(chunk)


def read_hits(
    hits: Sequence[Any], store: LayeredStore, problems: list[str], lost: list[DroppedHit], *, strict: bool
) -> list[SeedHit]:
    """Return the hits of a list that can be used; others are added to `problems` or, named but without text, to `lost`.

    Raises
    ------
    ChunkError, HitError
        With `strict`, for the first hit that cannot be used.
    """
    made = []
    for hit in hits:
        try:
            read = _read_hit(hit, store)
        except (HitError, ChunkError) as error:
            if strict:
                raise
            problems.append(str(error))
            continue
        if isinstance(read, SeedHit):
            made.append(read)
        elif strict:
            raise HitError(read.detail)
        else:
            lost.append(read)
    return made


def _read_hit(hit: Any, store: LayeredStore) -> SeedHit | DroppedHit:
    """Return a hit; one without text whose chunk nobody has given as dropped."""
    if not isinstance(hit, dict):
        raise HitError(f"a hit is {shorten(hit)}: it must be an object with doc_id, chunk_id and score")
    missing = [key for key in _HIT_KEYS if hit.get(key) is None]
    if missing:
        raise HitError(f"hit {shorten(hit)} lacks {missing[0]!r}: {_suggest(missing[0], hit)}")
    doc_id, chunk_id, score = hit["doc_id"], parse_whole_number(hit["chunk_id"]), _read_score(hit)
    if hit.get("text") is not None:
        return _read_own_hit(hit, chunk_id, score)
    if not isinstance(doc_id, str) or type(chunk_id) is not int:
        raise HitError(
            f"({shorten(doc_id)}, {shorten(chunk_id)}) names no chunk and brings no text: doc_id must be a string "
            "and chunk_id the chunk's position in its document, 0, 1, 2, ...; or give the hit's text"
        )
    known = store.get((doc_id, chunk_id))
    if known is None:
        problem = f"({doc_id!r}, {chunk_id!r}) is not among the chunks and brings no text: give it one of them"
        return DroppedHit(doc_id, chunk_id, score, "no_text", problem)
    return SeedHit(known, score)


def _suggest(missing: str, hit: Mapping[str, Any]) -> str:
    similar = closest_name(missing, [key for key in hit if key not in _HIT_KEYS])
    needed = "doc_id, chunk_id and score are needed"
    return needed if similar is None else f"rename {similar!r}; {needed}"


def _read_score(hit: Mapping[str, Any]) -> float:
    given = hit["score"]
    score = None if isinstance(given, bool) else number_of(given)
    if score is None or not is_finite(score):
        name = f"({shorten(hit['doc_id'])}, {shorten(hit['chunk_id'])})"
        raise HitError(f"score of {name} is {shorten(given)}: it must be a finite number")
    return float(score)


def _read_own_hit(hit: Mapping[str, Any], chunk_id: Any, score: float) -> SeedHit:
    """Return a hit that brings its text; one whose `chunk_id` is a name and no position is unplaced."""
    fields = {key: value for key, value in hit.items() if key != "score"}
    named = isinstance(chunk_id, str) and bool(chunk_id) and isinstance(hit["doc_id"], str)
    if named:
        metadata = {"id": chunk_id, **mapping(fields, "metadata", ChunkError)}
        fields |= {"doc_id": f"{hit['doc_id']} (unnumbered {chunk_id})", "chunk_id": 0, "metadata": metadata}
    chunk = chunk_from_dict(fields)
    check_metadata(chunk)  # NaN, which Python reads, is no JSON to write
    return SeedHit(chunk, score, _NO_POSITION if named else None)
