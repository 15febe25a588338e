"""Reads a request of `retrivex compose`, of a batch or of the service: JSON in, what the composer takes out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from retrivex.composer.composer import SpanComposer
from retrivex.composer.request_hits import LayeredStore, read_chunk, read_hits, shorten
from retrivex.composition.composition import Composition
from retrivex.config import RetrievalConfig
from retrivex.errors import RetrivexError, quoted
from retrivex.expansion.seeds import SeedHits
from retrivex.model.chunk import Chunk, ChunkKey, Scope
from retrivex.model.hit import DroppedHit, SeedHit
from retrivex.model.options import closest_name
from retrivex.model.question import name_question
from retrivex.model.serialization import chunk_from_dict
from retrivex.ordering import PROFILES
from retrivex.scoring.calibrated import EARLIER
from retrivex.stores.memory import index_chunks
from retrivex.stores.protocol import AnyChunkStore

_WORDS = {"list": "a list", "dict": "an object", "str": "a string"}

# options that are read from files or the network, and the values that are not
_SOURCES = {"coefficients": tuple(EARLIER), "position_profile": tuple(PROFILES), "tokenizer": ("estimate",)}

KEYS = ("id", "question", "hits", "chunks", "parents", "query_embedding", "scope", "whole_documents", "config")


class RequestError(RetrivexError):
    """A line is not a request that can be composed."""


@dataclass(frozen=True, slots=True)
class Request:
    """The request of one line.

    Parameters
    ----------
    hits : one list of hits, or several, or one for each sub-question
    store : where their neighbours are
    parents : by parent id; None where the line gives none
    question, query_embedding, scope, whole_documents : as for `SpanComposer.compose`
    overrides : options
    problems : hits that cannot be read, one sentence each
    lost : hits whose chunk nobody has given
    """

    hits: SeedHits
    store: LayeredStore
    parents: dict[str, Chunk | str] | None = None
    question: str | None = None
    query_embedding: list[float] | None = None
    scope: Scope = None
    whole_documents: Any = None
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
    given = {key: value for key, value in name_question(record, "question").items() if value is not None}
    unknown = [key for key in given if key not in KEYS]
    if unknown:
        near = closest_name(unknown[0], KEYS)
        hint = "" if near is None else f"did you mean {near}? "
        if unknown[0] in RetrievalConfig.model_fields:
            hint = f'it is an option: write "config": {{{json.dumps(unknown[0])}: ...}}; '
        raise RequestError(f"the key {unknown[0]!r} is unknown: {hint}known are {', '.join(KEYS)}")
    if "hits" not in given:
        raise RequestError(f"'hits' is missing: give a list of hits; the line has {sorted(given)}")
    own = index_chunks(read_chunk(chunk) for chunk in _read_typed(given, "chunks", list, []))
    problems: list[str] = []
    lists = _hit_lists(given["hits"])
    lost: list[DroppedHit] = []
    parsed = [read_hits(hits, LayeredStore(own, shared), problems, lost, strict=strict) for hits in lists]
    if any(lists) and not any(parsed):
        raise RequestError(_describe_no_hit(problems, lost))
    for hits in parsed:
        for hit in hits:
            # a hit that brings its text is a chunk like any other
            if hit.key not in shared:
                own.setdefault(hit.key, hit.chunk)
    overrides = _read_typed(given, "config", dict, {})
    return Request(
        hits=_as_given(given["hits"], parsed),
        store=LayeredStore(own, shared),
        parents=_parents(_read_typed(given, "parents", dict, None)),
        question=_read_typed(given, "question", str, None),
        query_embedding=_vector(_read_typed(given, "query_embedding", list, None)),
        scope=_scope(given.get("scope")),
        whole_documents=given.get("whole_documents"),
        overrides=overrides,
        problems=tuple(f"a hit was left out: {problem}" for problem in problems),
        lost=tuple(lost),
    )


def compose_request(
    composer: SpanComposer, request: Request, scope: Scope, store: AnyChunkStore | None = None
) -> Composition:
    """Return the composition of a request that was read, with what could not be read of it among its warnings.

    Parameters
    ----------
    composer, request : what composes, and what of
    scope : what may be seen
    store : takes the place of the request's own
    """
    made = composer.compose(
        request.hits,
        request.store if store is None else store,
        request.parents,
        query=request.question,
        query_embedding=request.query_embedding,
        scope=scope,
        **{"whole_documents": request.whole_documents, **request.overrides},
    )
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


def _read_typed(given: Mapping[str, Any], key: str, kind: type, default: Any) -> Any:
    value = given.get(key, default)
    if value is not default and not isinstance(value, kind):
        raise RequestError(f"{key!r} is {shorten(value)}: it must be {_WORDS[kind.__name__]}")
    return value


def _is_nested(hits: Any) -> bool:
    return bool(hits) and all(isinstance(item, list) for item in hits)


def _as_given(hits: Any, parsed: list[list[SeedHit]]) -> SeedHits:
    """Return hits that were read in the shape that they were given in."""
    if isinstance(hits, dict):
        return dict(zip(hits, parsed, strict=True))
    return parsed if _is_nested(hits) else parsed[0]


def _hit_lists(hits: Any) -> list[list[Any]]:
    if isinstance(hits, dict) and all(isinstance(one, list) for one in hits.values()):
        return [*hits.values()]
    if not isinstance(hits, list):
        raise RequestError(
            f"'hits' is {shorten(hits)}: it must be a list of hits, or a list or an object of such lists"
        )
    if _is_nested(hits):
        return hits
    if None in hits and _is_nested([item for item in hits if item is not None]):
        raise RequestError(
            f"'hits' holds {len(hits)} lists, of which number {hits.index(None) + 1} is null: each must be a list of "
            "hits; write [] for a search that found nothing"
        )
    return [hits]


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
            raise RequestError(f"parent {name!r} is {shorten(parent)}: it must be its text, or a chunk object")
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
    raise RequestError(f"'scope' is {shorten(scope)}: it must be a name, or a list of names and null")
