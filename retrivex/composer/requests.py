"""Reads a request of `retrivex compose`, of a batch or of the service: JSON in, what the composer takes out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from retrivex.composer.composer import SpanComposer
from retrivex.composition.composition import Composition
from retrivex.config import RetrievalConfig
from retrivex.errors import ChunkError, HitError, RetrivexError, quoted
from retrivex.model.chunk import Chunk, ChunkKey, Scope
from retrivex.model.hit import DroppedHit, SeedHit
from retrivex.model.numbers import number_of, parse_whole_number
from retrivex.model.options import closest_name
from retrivex.model.serialization import check_metadata, chunk_from_dict, is_finite, mapping
from retrivex.model.window import Window
from retrivex.ordering import PROFILES
from retrivex.scoring.calibrated import EARLIER
from retrivex.stores import fetch_from_mapping
from retrivex.stores.memory import index_chunks

_WORDS = {"list": "a list", "dict": "an object", "str": "a string"}

# options that are read from files or the network, and the values that are not
_SOURCES = {"coefficients": tuple(EARLIER), "position_profile": tuple(PROFILES), "tokenizer": ("estimate",)}

_HIT_KEYS = ("doc_id", "chunk_id", "score")
_NO_POSITION = "their chunk_id is no whole number; number the chunks of a document 0, 1, 2, ... and hits can grow"

KEYS = ("id", "question", "hits", "chunks", "parents", "query_embedding", "scope", "config")


class RequestError(RetrivexError):
    """A line is not a request that can be composed."""


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


@dataclass(frozen=True, slots=True)
class Request:
    """The request of one line.

    Parameters
    ----------
    hits : one list of hits, or several
    store : where their neighbours are
    parents : by parent id; None where the line gives none
    question, query_embedding, scope : as for `SpanComposer.compose`
    overrides : options
    problems : hits that cannot be read, one sentence each
    lost : hits whose chunk nobody has given
    """

    hits: list[SeedHit] | list[list[SeedHit]]
    store: LayeredStore
    parents: dict[str, Chunk | str] | None = None
    question: str | None = None
    query_embedding: list[float] | None = None
    scope: Scope = None
    overrides: dict[str, Any] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    lost: tuple[DroppedHit, ...] = ()


def parse_line(line: bytes) -> dict[str, Any]:
    """Return the JSON object that a line holds.

    Raises
    ------
    RequestError
        If it is not UTF-8, not JSON, or no object.
    """
    try:
        record = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise RequestError(f"the line is not UTF-8 (byte {error.start}): save the file as UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise RequestError(f"the line is not JSON ({error}): write one object a line") from error
    if not isinstance(record, dict):
        raise RequestError(f"the line holds a {type(record).__name__}: it must be an object with 'hits'")
    return record


def read_request(record: Mapping[str, Any], shared: Mapping[ChunkKey, Chunk], *, strict: bool) -> Request:
    """Check a line's object and bring it into the composer's types.

    Parameters
    ----------
    record : see `schemas/compose-request-1.json`; null counts as not given
    shared : chunks that all lines share
    strict : raise at the first hit that cannot be used

    Raises
    ------
    RequestError
        If a key is unknown, or a value of the wrong type.
    ChunkError, HitError
        If a chunk, or with `strict` a hit, breaks a rule.
    """
    given = {key: value for key, value in record.items() if value is not None}
    unknown = [key for key in given if key not in KEYS]
    if unknown:
        near = closest_name(unknown[0], KEYS)
        hint = "" if near is None else f"did you mean {near}? "
        if unknown[0] in RetrievalConfig.model_fields:
            hint = f'it is an option: write "config": {{{json.dumps(unknown[0])}: ...}}; '
        raise RequestError(f"the key {unknown[0]!r} is unknown: {hint}known are {', '.join(KEYS)}")
    if "hits" not in given:
        raise RequestError(f"'hits' is missing: give a list of hits; the line has {sorted(given)}")
    own = index_chunks(_read_chunk(chunk) for chunk in _read_typed(given, "chunks", list, []))
    problems: list[str] = []
    lists = _hit_lists(given["hits"])
    lost: list[DroppedHit] = []
    parsed = [_read_hits(hits, LayeredStore(own, shared), problems, lost, strict=strict) for hits in lists]
    if any(lists) and not any(parsed):
        raise RequestError(_describe_no_hit(problems, lost))
    for hits in parsed:
        for hit in hits:
            # a hit that brings its text is a chunk like any other
            if hit.key not in shared:
                own.setdefault(hit.key, hit.chunk)
    overrides = _read_typed(given, "config", dict, {})
    return Request(
        hits=parsed if _is_nested(given["hits"]) else parsed[0],
        store=LayeredStore(own, shared),
        parents=_parents(_read_typed(given, "parents", dict, None)),
        question=_read_typed(given, "question", str, None),
        query_embedding=_vector(_read_typed(given, "query_embedding", list, None)),
        scope=_scope(given.get("scope")),
        overrides=overrides,
        problems=tuple(f"a hit was left out: {problem}" for problem in problems),
        lost=tuple(lost),
    )


def compose_request(composer: SpanComposer, request: Request, scope: Scope) -> Composition:
    """Return the composition of a request that was read, with what could not be read of it among its warnings."""
    made = composer.compose(
        request.hits,
        request.store,
        request.parents,
        query=request.question,
        query_embedding=request.query_embedding,
        scope=scope,
        **request.overrides,
    )
    return add_losses(made, request)


def add_losses(made: Composition, request: Request) -> Composition:
    """Return the composition of a request, with what could not be read of the request among its drops and warnings."""
    return replace(made, dropped=(*made.dropped, *request.lost), warnings=(*request.problems, *made.warnings))


def compose_record(record: Mapping[str, Any], composer: SpanComposer, shared: Mapping[ChunkKey, Chunk]) -> Composition:
    """Return the composition of a line's object; parameters and errors as in `read_request` and `compose`."""
    request = read_checked(record, composer, shared)
    return compose_request(composer, request, request.scope)


def read_checked(record: Mapping[str, Any], composer: SpanComposer, shared: Mapping[ChunkKey, Chunk]) -> Request:
    """Read a line's object for a composer: `strict` is as the line or the composer says, and sources are refused.

    Raises
    ------
    RequestError
        As in `read_request`, and for an option that names a file of the machine or a download.
    ChunkError, HitError
        As in `read_request`.
    """
    overrides = record.get("config") or {}
    strict = overrides.get("strict", composer.config.strict) if isinstance(overrides, dict) else False
    request = read_request(record, shared, strict=strict is True)
    _check_sources(request.overrides, composer)
    return request


def _check_sources(options: Mapping[str, Any], composer: SpanComposer) -> None:
    """Refuse options of a line that name a file of the machine or a download: the command line says what is read."""
    for name, known in _SOURCES.items():
        value = options.get(name)
        if isinstance(value, str) and value not in known and value != str(getattr(composer.config, name)):
            raise RequestError(
                f"{name} is {quoted(value)}: a line may name {', '.join(known)} or what the command line names, and no "
                f"file or download of its own; use --set {name}=... for all lines"
            )


def _describe_no_hit(problems: Sequence[str], lost: Sequence[DroppedHit]) -> str:
    first = problems[0] if problems else lost[0].detail
    count = len(problems) + len(lost)
    return f"none of {count:,} hits can be used: {first}" if count > 1 else f"the only hit cannot be used: {first}"


class _NoTextError(HitError):
    """A hit names a chunk whose text is missing.

    Parameters
    ----------
    message : what is wrong
    key : of the chunk
    score : of the hit
    """

    def __init__(self, message: str, key: ChunkKey, score: float) -> None:
        super().__init__(message)
        self.key = key
        self.score = score


def _read_typed(given: Mapping[str, Any], key: str, kind: type, default: Any) -> Any:
    value = given.get(key, default)
    if value is not default and not isinstance(value, kind):
        raise RequestError(f"{key!r} is {_shorten(value)}: it must be {_WORDS[kind.__name__]}")
    return value


def _shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _is_nested(hits: Any) -> bool:
    return bool(hits) and all(isinstance(item, list) for item in hits)


def _hit_lists(hits: Any) -> list[list[Any]]:
    if not isinstance(hits, list):
        raise RequestError(f"'hits' is {_shorten(hits)}: it must be a list of hits, or a list of such lists")
    if _is_nested(hits):
        return hits
    if None in hits and _is_nested([item for item in hits if item is not None]):
        raise RequestError(
            f"'hits' holds {len(hits)} lists, of which number {hits.index(None) + 1} is null: each must be a list of "
            "hits; write [] for a search that found nothing"
        )
    return [hits]


def _read_chunk(chunk: Any) -> Chunk:
    if not isinstance(chunk, dict):
        raise ChunkError(f"a chunk is {_shorten(chunk)}: it must be an object with doc_id, chunk_id and text")
    return chunk_from_dict(chunk)


def _read_hits(
    hits: Sequence[Any], store: LayeredStore, problems: list[str], lost: list[DroppedHit], *, strict: bool
) -> list[SeedHit]:
    made = []
    for hit in hits:
        try:
            made.append(_read_hit(hit, store))
        except _NoTextError as error:
            if strict:
                raise
            lost.append(DroppedHit(*error.key, error.score, "no_text", str(error)))
        except (HitError, ChunkError) as error:
            if strict:
                raise
            problems.append(str(error))
    return made


def _read_hit(hit: Any, store: LayeredStore) -> SeedHit:
    if not isinstance(hit, dict):
        raise HitError(f"a hit is {_shorten(hit)}: it must be an object with doc_id, chunk_id and score")
    missing = [key for key in _HIT_KEYS if hit.get(key) is None]
    if missing:
        raise HitError(f"hit {_shorten(hit)} lacks {missing[0]!r}: {_suggest(missing[0], hit)}")
    doc_id, chunk_id, score = hit["doc_id"], parse_whole_number(hit["chunk_id"]), _read_score(hit)
    if hit.get("text") is not None:
        return _read_own_hit(hit, chunk_id, score)
    if not isinstance(doc_id, str) or type(chunk_id) is not int:
        raise HitError(
            f"({_shorten(doc_id)}, {_shorten(chunk_id)}) names no chunk and brings no text: doc_id must be a string "
            "and chunk_id the chunk's position in its document, 0, 1, 2, ...; or give the hit's text"
        )
    known = store.get((doc_id, chunk_id))
    if known is None:
        problem = f"({doc_id!r}, {chunk_id!r}) is not among the chunks and brings no text: give it one of them"
        raise _NoTextError(problem, (doc_id, chunk_id), score)
    return SeedHit(known, score)


def _suggest(missing: str, hit: Mapping[str, Any]) -> str:
    similar = closest_name(missing, [key for key in hit if key not in _HIT_KEYS])
    needed = "doc_id, chunk_id and score are needed"
    return needed if similar is None else f"rename {similar!r}; {needed}"


def _read_score(hit: Mapping[str, Any]) -> float:
    given = hit["score"]
    score = None if isinstance(given, bool) else number_of(given)
    if score is None or not is_finite(score):
        name = f"({_shorten(hit['doc_id'])}, {_shorten(hit['chunk_id'])})"
        raise HitError(f"score of {name} is {_shorten(given)}: it must be a finite number")
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


def _parents(parents: dict[str, Any] | None) -> dict[str, Chunk | str] | None:
    if parents is None:
        return None
    made: dict[str, Chunk | str] = {}
    for name, parent in parents.items():
        if isinstance(parent, dict):
            made[name] = chunk_from_dict(parent)
        elif isinstance(parent, str):
            made[name] = parent
        else:
            raise RequestError(f"parent {name!r} is {_shorten(parent)}: it must be its text, or a chunk object")
    return made


def _vector(values: list[Any] | None) -> list[float] | None:
    if values is not None and not all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
        raise RequestError("'query_embedding' holds something that is no number: give a list of numbers")
    return values


def _scope(scope: Any) -> Scope:
    if scope is None or isinstance(scope, str):
        return scope
    if isinstance(scope, list) and all(item is None or isinstance(item, str) for item in scope):
        return frozenset(scope)
    raise RequestError(f"'scope' is {_shorten(scope)}: it must be a name, or a list of names and null")
