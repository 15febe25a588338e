"""Converts the composer's spans to results of a framework: ids, plain metadata, logged warnings."""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from retrivex.composition.composition import Composition
from retrivex.model.chunk import Chunk
from retrivex.model.hit import SeedHit
from retrivex.model.span import Span

from .documents import ID_KEY, UNNAMED
from .fields import FieldMap
from .hits import Placed
from .logs import log_once


def no_store(argument: str) -> str:
    """Return the warning of a retriever without a place for neighbours; `argument` is the one to pass."""
    return (
        "no chunk store: hits cannot grow and are only merged where they touch, as none is found behind the retriever, "
        f"or it may keep neighbours out, as by a filter; pass {argument}"
    )


PLAIN_TEXT: Mapping[str, Any] = {
    "context_format": "text",
    "numbered": False,
    "span_header": "none",
    "gap_markers": False,
}
"""A framework puts the passages together itself, so the budget is kept for them joined by blank lines."""

_NAMESPACE = uuid.UUID("6d1a2c3e-30a5-5d5f-9a5e-5b6f1d0c7a11")  # made up once, so that ids never change


def log_warnings(made: Composition, placed: Placed, *more: str) -> list[str]:
    """Return everything there is to warn of, and log what was not said lately."""
    warnings = [*more, *placed.warnings, *made.warnings]
    for name, real in placed.real_names.items():
        warnings = [warning.replace(repr(name), repr(real)) for warning in warnings]
    for warning in warnings:
        log_once(warning)
    return warnings


def for_callers(made: Composition, placed: Placed, warnings: Sequence[str]) -> Composition:
    """Return a composition with everything there is to warn of; its citations and dropped hits have the real names."""
    real = {name: doc_id for name, doc_id in placed.real_names.items() if doc_id is not None}
    changed: dict[str, Any] = {"warnings": tuple(dict.fromkeys(warnings))}
    for part in ("citations", "dropped") if real else ():
        changed[part] = tuple(replace(one, doc_id=real.get(one.doc_id, one.doc_id)) for one in getattr(made, part))
    return replace(made, **changed)


def span_id(span: Span, placed: Placed) -> str:
    """Return a UUID that is the same whenever the same passage of the same document is returned."""
    made_up = span.doc_id in placed.real_names
    doc_id = placed.real_names.get(span.doc_id, span.doc_id)
    position = [span.char_start, span.char_end, None if made_up else list(span.chunk_ids)]
    return str(uuid.uuid5(_NAMESPACE, json.dumps([doc_id, *position, span.text])))


def span_metadata(span: Span, placed: Placed, names: FieldMap) -> dict[str, Any]:
    """Describe a span in plain JSON types: what its pieces have in common, then where it comes from.

    Returns
    -------
    dict
        `doc_id`, `chunk_ids`, `source_ids` (of the Documents or nodes in it that have one), `char_start`, `char_end`,
        `page`, `pages` (where it runs over several), `heading_path` and `prefix`, as far as known; always `exact`,
        `score`, `token_count`, `hits` (id, chunk number and score of the hits in it), and `score_source` and
        `score_kind` of these scores.
    """
    made_up = span.doc_id in placed.real_names
    doc_id = placed.real_names.get(span.doc_id, span.doc_id)
    # a place of another tenant may have the same name: its hits are not logged
    places = {(chunk.key, chunk.metadata.scope) for chunk in span.chunks}
    chunks = [chunk.metadata for chunk in span.chunks]
    pages = list(dict.fromkeys(chunk.page for chunk in chunks if chunk.page is not None))
    known: dict[str, Any] = {
        "doc_id": None if doc_id == UNNAMED else doc_id,
        "chunk_ids": None if made_up else list(span.chunk_ids),
        "source_ids": [id for chunk in span.chunks if (id := _id(chunk, placed)) is not None] or None,
        "char_start": span.char_start,
        "char_end": span.char_end,
        "page": pages[0] if pages else None,
        "pages": pages if len(pages) > 1 else None,
        "heading_path": [str(title) for title in chunks[0].heading_path or ()] or None,
        "prefix": span.prefix,
        "exact": span.exact,
        "score": float(span.score),
        "token_count": span.token_count,
        "hits": [_hit(hit, placed, made_up) for hit in placed.hits if (hit.key, hit.chunk.metadata.scope) in places],
        "score_source": "rank" if placed.ranked else "retriever",
        "score_kind": placed.score_kind,
    }
    common = _intersect([chunk.custom_metadata for chunk in chunks], names.of_one_piece | {ID_KEY})
    return common | {key: value for key, value in known.items() if value is not None}


def _id(chunk: Chunk, placed: Placed) -> str | None:
    """Return the id under which the retriever gave a chunk, or else that of the Document or node it was made of."""
    own = placed.ids.get((chunk.key, chunk.metadata.scope))
    return own if own is not None else chunk.metadata.custom_metadata.get(ID_KEY)


def _hit(hit: SeedHit, placed: Placed, made_up: bool) -> dict[str, Any]:
    known = {
        "id": _id(hit.chunk, placed),
        "chunk_id": None if made_up else hit.chunk.metadata.chunk_id,
        "score": hit.similarity_score,
    }
    return {key: value for key, value in known.items() if value is not None}


def _intersect(all_metadata: Sequence[Mapping[str, Any]], left_out: frozenset[str]) -> dict[str, Any]:
    first, *others = [
        {key: plain(value) for key, value in metadata.items() if key not in left_out} for metadata in all_metadata
    ]
    return {key: value for key, value in first.items() if all(key in o and o[key] == value for o in others)}


def plain(value: Any) -> Any:
    """Return `value` in JSON types: dates in ISO format, arrays as lists, what JSON does not know as text."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((plain(item) for item in value), key=str)
    if isinstance(value, date):
        return value.isoformat()
    return plain(value.tolist()) if hasattr(value, "tolist") else str(value)
