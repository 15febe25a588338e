"""The part of the query language of Elasticsearch and OpenSearch that the adapters use, over records in memory.

Written after the documentation of both: fields behave as they are mapped (a text is asked by its words, a keyword
letter by letter, an unmapped field matches nothing), and a clause that is not documented so is an error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

id_of = id  # `id` is a record's here
WORDS = re.compile(r"\w+")
NUMBERS = {"long", "integer", "short", "float", "double"}
_WIDTHS = {"byte": 7, "short": 15, "integer": 31, "long": 63}
MOST_CLAUSES = 1024
MOST_TERMS = 65_536


class BadQueryError(Exception):
    """What the server answers with a 400."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind


@dataclass
class Index:
    """Records and how their fields are mapped."""

    mapping: dict[str, Any]
    records: dict[str, dict[str, Any]] = field(default_factory=dict)

    def fields(self) -> dict[str, dict[str, Any]]:
        return dict(_flat(self.mapping))

    def put(self, id: str, source: dict[str, Any]) -> None:
        if not id or len(id.encode()) > 512:
            raise BadQueryError("illegal_argument_exception", f"id [{id[:20]}] must be 1 to 512 bytes long")
        self.learn(source, self.mapping, self.mapping.get("dynamic_templates", []))
        self.records[id] = source

    def learn(self, source: Mapping[str, Any], mapping: dict[str, Any], templates: list[Any]) -> None:
        """Map fields that are new, as dynamic mapping does, and check the others."""
        properties = mapping.setdefault("properties", {})
        for name, value in source.items():
            first = next(iter(value), None) if isinstance(value, list) else value
            if first is None:
                continue
            known = properties.get(name)
            if known is None:
                known = properties[name] = _dynamic(first, templates)
            if isinstance(first, Mapping):
                self.learn(first, known, templates)
            elif known.get("type") in NUMBERS and not _is_number(first):
                raise BadQueryError("document_parsing_exception", f"failed to parse field [{name}] of type [long]")
            elif known.get("type") in ("dense_vector", "knn_vector"):
                known.setdefault("dims" if known["type"] == "dense_vector" else "dimension", len(value))
                if len(value) != known.get("dims", known.get("dimension")):
                    raise BadQueryError("document_parsing_exception", f"[{name}] has {len(value)} dimensions")


def _dynamic(value: Any, templates: list[Any]) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return {"properties": {}}
    if isinstance(value, bool):
        return {"type": "boolean"}
    if isinstance(value, (int, float)):
        return {"type": "long" if isinstance(value, int) else "float"}
    for template in templates:
        if next(iter(template.values())).get("match_mapping_type") == "string":
            return dict(next(iter(template.values()))["mapping"])
    return {"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": 256}}}


def _flat(mapping: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    for name, known in mapping.get("properties", {}).items():
        if "properties" in known:
            yield from _flat(known, f"{above}{name}.")
        else:
            yield above + name, known
            for inner, beside in known.get("fields", {}).items():
                yield f"{above}{name}.{inner}", {**beside, "of": above + name}


def values_at(source: Any, path: str) -> list[Any]:
    """Return the values of a field; paths may lie in nested objects or have dots in their names."""
    if isinstance(source, list):
        return [value for inner in source for value in values_at(inner, path)]
    if not isinstance(source, Mapping):
        return []
    found = source.get(path)
    if found is not None:
        return [one for one in found if one is not None] if isinstance(found, list) else [found]
    first, dot, rest = path.partition(".")
    return values_at(source.get(first), rest) if dot else []


# ---- queries

_DOCUMENTED: dict[str, set[str]] = {
    "match_all": set(),
    "match_none": set(),
    "ids": {"values"},
    "exists": {"field"},
    "bool": {"must", "filter", "should", "must_not", "minimum_should_match"},
}
_OF_A_FIELD: dict[str, set[str] | None] = {
    "terms": None,
    "term": None,
    "range": {"gte", "gt", "lte", "lt"},
    "match": {"query"},
    "prefix": {"value"},
    "wildcard": {"value"},
    "knn": {"vector", "k", "filter"},
}


class Query:
    """One query over one index; `score` gives None where a record does not match."""

    def __init__(self, index: Index, flavour: str, query: Any) -> None:
        self.index = index
        self.flavour = flavour
        self.query = query
        self.fields = index.fields()
        self._values: dict[tuple[str, str], set[Any]] = {}
        self._near: dict[int, dict[str, tuple[Any, Any]]] = {}
        if (count := self._check(query)) > MOST_CLAUSES:
            raise BadQueryError("too_many_nested_clauses", f"{count} clauses: maxClauseCount is set to {MOST_CLAUSES}")

    def scores(self) -> dict[str, float]:
        return {id: score for id in self.index.records if (score := self.score(self.query, id)) is not None}

    def _check(self, query: Any) -> int:
        """Count the clauses, and refuse what is not documented wherever it stands."""
        kind, body = _only(query, "query")
        if kind in _DOCUMENTED:
            keys(body, kind, _DOCUMENTED[kind])
        elif kind in _OF_A_FIELD and (kind != "knn" or self.flavour == "opensearch"):
            _, asked = _only(body, kind)
            allowed = _OF_A_FIELD[kind]
            if allowed is not None:
                keys(asked, kind, allowed)
            if kind == "terms" and (not isinstance(asked, list) or len(asked) > MOST_TERMS):
                raise BadQueryError("parsing_exception", f"[terms] must be an array of at most {MOST_TERMS} values")
            if kind == "knn" and "filter" in asked:
                return 1 + self._check(asked["filter"])
        else:
            raise BadQueryError("parsing_exception", f"unknown query [{kind}]")
        if kind == "ids" and not all(isinstance(value, str) for value in body["values"]):
            raise BadQueryError("parsing_exception", "[ids] values must be strings")
        if kind != "bool":
            return 1
        return sum(self._check(c) for part in ("must", "filter", "should", "must_not") for c in listed(body.get(part)))

    def score(self, query: Any, id: str) -> float | None:
        kind, body = _only(query, "query")
        found: float | None = getattr(self, f"_{kind}")(body, id)
        return found

    def _match_all(self, body: Any, id: str) -> float | None:
        return 1.0

    def _match_none(self, body: Any, id: str) -> float | None:
        return None

    def _ids(self, body: Any, id: str) -> float | None:
        return 1.0 if id in body["values"] else None

    def _exists(self, body: Any, id: str) -> float | None:
        path = body["field"]
        mapped = any(known == path or known.startswith(f"{path}.") for known in self.fields)
        kept = self._kept(path, id) if "of" in self.fields.get(path, {}) else values_at(self.index.records[id], path)
        return 1.0 if mapped and kept else None

    def _prefix(self, body: Any, id: str) -> float | None:
        path, asked = _only(body, "prefix")
        return 1.0 if any(str(value).startswith(asked["value"]) for value in self._kept(path, id)) else None

    def _wildcard(self, body: Any, id: str) -> float | None:
        path, asked = _only(body, "wildcard")
        parts = re.findall(r"\\.|[*?]|[^\\*?]+", asked["value"], re.S)
        shapes = {"*": ".*", "?": "."}
        shape = "".join(shapes.get(one) or re.escape(one[1:] if one[0] == "\\" else one) for one in parts)
        return 1.0 if any(re.fullmatch(shape, str(value), re.S) for value in self._kept(path, id)) else None

    def _term(self, body: Any, id: str) -> float | None:
        path, value = _only(body, "term")
        value = value["value"] if isinstance(value, Mapping) else value
        return self._terms({path: [value]}, id)

    def _terms(self, body: Any, id: str) -> float | None:
        path, wanted = _only(body, "terms")
        has = self._kept(path, id)
        if not has:
            return None
        if path in self.fields and self.fields[path]["type"] in NUMBERS:
            try:
                return 1.0 if has & {self._number(path, value) for value in wanted} else None
            except ValueError as error:
                raise BadQueryError("query_shard_exception", f"failed to create query: {error}") from error
        if path in self.fields and self.fields[path]["type"] == "boolean":
            if not all(value in (True, False, "true", "false") for value in wanted):
                raise BadQueryError("query_shard_exception", "Can't parse boolean value, expected [true] or [false]")
            return 1.0 if has & {str(value).lower() for value in wanted} else None
        return 1.0 if any(self._folded(path, value) in has for value in wanted) else None

    def _kept(self, path: str, id: str) -> set[Any]:
        """Return what the index keeps of a field: words of a text, numbers, or texts that are not too long."""
        if (path, id) not in self._values:
            self._values[path, id] = self._indexed(path, id)
        return self._values[path, id]

    def _indexed(self, path: str, id: str) -> set[Any]:
        if path == "_ignored":
            return {
                name
                for name, known in self.fields.items()
                for value in values_at(self.index.records[id], known.get("of", name))
                if len(str(value)) > known.get("ignore_above", 2**31)
            }
        known = self.fields.get(path)
        if known is None:
            return set()
        has = values_at(self.index.records[id], known.get("of", path))
        if known["type"] == "text":
            return {word for value in has for word in WORDS.findall(str(value).lower())}
        if known["type"] in NUMBERS:
            return {self._number(path, value) for value in has}
        if known["type"] == "boolean":
            return {str(value).lower() for value in has}
        return {self._folded(path, value) for value in has if len(str(value)) <= known.get("ignore_above", 2**31)}

    def _folded(self, path: str, value: Any) -> str:
        text = str(value).lower() if isinstance(value, bool) else str(value)
        return text.lower() if "normalizer" in self.fields.get(path, {}) else text

    def _number(self, path: str, value: Any) -> Any:
        """Return a number as the field keeps it: whole ones exactly, floats of 32 bits and doubles rounded."""
        kind = self.fields[path]["type"]
        if kind == "float":
            return float(np.float32(value))
        if kind in _WIDTHS and not -(2 ** _WIDTHS[kind]) <= float(value) < 2 ** _WIDTHS[kind]:
            raise BadQueryError("query_shard_exception", f"Value [{value}] is out of range for {kind}")
        return int(value) if kind in _WIDTHS and float(value).is_integer() else float(value)

    def _range(self, body: Any, id: str) -> float | None:
        path, limits = _only(body, "range")
        kept = self._kept(path, id)
        if not kept:
            return None
        number = self.fields[path]["type"] in NUMBERS
        bounds = {
            name: self._number(path, value) if number else self._folded(path, value) for name, value in limits.items()
        }
        tests: dict[str, Any] = {
            "gte": lambda a, b: a >= b, "gt": lambda a, b: a > b, "lte": lambda a, b: a <= b, "lt": lambda a, b: a < b
        }  # fmt: skip
        return 1.0 if any(all(tests[name](v, bound) for name, bound in bounds.items()) for v in kept) else None

    def _bool(self, body: Any, id: str) -> float | None:
        parts = {name: listed(body.get(name)) for name in ("must", "filter", "should", "must_not")}
        if any(self.score(clause, id) is not None for clause in parts["must_not"]):
            return None
        needed = [self.score(clause, id) for clause in parts["must"]]
        if None in needed or any(self.score(clause, id) is None for clause in parts["filter"]):
            return None
        liked = [score for clause in parts["should"] if (score := self.score(clause, id)) is not None]
        least = body.get("minimum_should_match", 0 if parts["must"] or parts["filter"] or not parts["should"] else 1)
        return None if len(liked) < least else sum(score for score in [*needed, *liked] if score is not None)

    def _match(self, body: Any, id: str) -> float | None:
        path, asked = _only(body, "match")
        if self.fields.get(path, {}).get("type") != "text":
            return None
        texts = {
            other: WORDS.findall(" ".join(map(str, values_at(source, path))).lower())
            for other, source in self.index.records.items()
        }
        return _bm25(WORDS.findall(asked["query"].lower()), id, texts)

    def _knn(self, body: Any, id: str) -> float | None:
        """Find the neighbours as OpenSearch has it: a query among others, scored by the space of the field."""
        path, asked = _only(body, "knn")
        known = self.fields.get(path, {})
        if known.get("type") != "knn_vector":
            raise BadQueryError("query_shard_exception", f"Field '{path}' is not knn_vector type.")
        method = known.get("method", {})
        if "filter" in asked and method.get("engine", "nmslib") == "nmslib":
            raise BadQueryError("illegal_argument_exception", "Engine [NMSLIB] does not support filters")
        if id_of(asked) not in self._near:
            where, dims = asked.get("filter"), known["dimension"]
            self._near[id_of(asked)] = self.nearest(path, asked["vector"], asked["k"], where, dims)
        best = self._near[id_of(asked)]
        if id not in best:
            return None
        return _score(method.get("space_type", "l2"), *best[id])

    def nearest(self, path: str, vector: Any, k: Any, where: Any, dims: int) -> dict[str, tuple[Any, Any]]:
        if not isinstance(k, int) or not 1 <= k <= 10_000:
            raise BadQueryError("illegal_argument_exception", f"[k] must be 1 to 10000, got [{k}]")
        if len(vector) != dims:
            raise BadQueryError("illegal_argument_exception", f"query vector has {len(vector)} dimensions, not {dims}")
        asked = np.asarray(vector, dtype=np.float64)
        scored = []
        for id, source in self.index.records.items():
            kept = values_at(source, path)
            if kept and all(self.score(clause, id) is not None for clause in listed(where)):
                scored.append((_rank(asked, np.asarray(kept, dtype=np.float64)), id, np.asarray(kept)))
        scored.sort(key=lambda entry: entry[:2])
        return {id: (asked, kept) for _, id, kept in scored[:k]}


def _rank(a: Any, b: Any) -> float:
    return float(np.sum((a / np.linalg.norm(a) - b / np.linalg.norm(b)) ** 2))  # test vectors have unit length


def knn_score(similarity: str, a: Any, b: Any) -> float:
    """Score as Elasticsearch does: see `similarity` of `dense_vector`."""
    dot, squared = float(a @ b), float(np.sum((a - b) ** 2))
    cosine = dot / float(np.linalg.norm(a) * np.linalg.norm(b))
    inner = dot + 1 if dot >= 0 else 1 / (1 - dot)
    return {
        "cosine": (1 + cosine) / 2,
        "dot_product": (1 + dot) / 2,
        "l2_norm": 1 / (1 + squared),
        "max_inner_product": inner,
    }[similarity]


def _score(space: str, a: Any, b: Any) -> float:
    names = {"cosinesimil": "cosine", "l2": "l2_norm", "innerproduct": "max_inner_product"}
    if space in names:
        return knn_score(names[space], a, b)
    return 1 / (1 + float(np.sum(np.abs(a - b)) if space == "l1" else np.max(np.abs(a - b))))


def _bm25(words: list[str], id: str, texts: Mapping[str, list[str]]) -> float | None:
    mean = sum(map(len, texts.values())) / len(texts)
    total = 0.0
    for word in set(words):
        found = texts[id].count(word)
        holding = sum(word in text for text in texts.values())
        if found:
            weight = math.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
            total += weight * found * 2.2 / (found + 1.2 * (0.25 + 0.75 * len(texts[id]) / mean))
    return total or None


def _only(body: Any, what: str) -> tuple[str, Any]:
    if not isinstance(body, Mapping) or len(body) != 1:
        raise BadQueryError("parsing_exception", f"[{what}] malformed, expected one field: {str(body)[:80]}")
    return next(iter(body.items()))


def keys(body: Any, what: str, allowed: set[str]) -> None:
    if not isinstance(body, Mapping) or not set(body) <= allowed:
        raise BadQueryError("parsing_exception", f"[{what}] does not support {sorted(body)}: {sorted(allowed)}")


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
