"""A stand-in for a Weaviate server: checks what the real client sends, and answers out of memory.

HTTP: /v1/meta, /v1/schema and /v1/objects as far as the client needs them. gRPC: Search and BatchObjects, by the
protocol buffers that ship with the client. Whatever it does not know is an error, and so is what Weaviate documents as
one: a property that is not in the schema, a value of the wrong type, a filter on what has no index, more than 10,000
results.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, TypeAlias

import grpc
import numpy as np
from weaviate.proto.v1 import base_pb2, batch_pb2, search_get_pb2, weaviate_pb2_grpc

_OP = base_pb2.Filters.Operator
_HNSW = {
    "cleanupIntervalSeconds": 300, "distance": "cosine", "dynamicEfMin": 100, "dynamicEfMax": 500, "dynamicEfFactor": 8,
    "ef": -1, "efConstruction": 128, "flatSearchCutoff": 40000, "maxConnections": 32, "skip": False,
    "vectorCacheMaxObjects": 1_000_000_000_000,
}  # fmt: skip
_INVERTED = {
    "bm25": {"b": 0.75, "k1": 1.2},
    "cleanupIntervalSeconds": 60,
    "stopwords": {"preset": "en", "additions": None, "removals": None},
}
_SHARDS = {
    "virtualPerPhysical": 128, "desiredCount": 1, "actualCount": 1, "desiredVirtualCount": 128,
    "actualVirtualCount": 128, "key": "_id", "strategy": "hash", "function": "murmur3",
}  # fmt: skip
_STOPWORDS = frozenset({"a", "and", "is", "it", "no", "not", "or", "the", "to"})  # some of Weaviate's
_ASKED = {  # fields of a search that are known here
    "collection", "tenant", "metadata", "limit", "after", "filters", "near_vector", "properties",
    "bm25_search", "hybrid_search", "uses_123_api", "uses_125_api", "uses_127_api",
}  # fmt: skip

Condition: TypeAlias = Callable[[str, dict[str, Any]], bool]


class Refused(Exception):  # noqa: N818 - said to the client
    """What the server answers to a request that it does not take."""


class Kept:
    """A collection: its schema, and objects by tenant and id."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema = schema
        self.objects: dict[str, dict[str, tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]]] = {}

    def property(self, name: str) -> dict[str, Any]:
        for known in self.schema["properties"]:
            if known["name"] == name:
                found: dict[str, Any] = known
                return found
        raise Refused(f"no such prop with name '{name}' found in class '{self.schema['class']}' in the schema")

    def of(self, tenant: str) -> dict[str, Any]:
        enabled = self.schema.get("multiTenancyConfig", {}).get("enabled", False)
        if enabled != bool(tenant):
            raise Refused(
                "class has multi-tenancy enabled, but request was without tenant" if enabled else "no tenants"
            )
        return self.objects.setdefault(tenant, {})


class WeaviateDouble(weaviate_pb2_grpc.WeaviateServicer):  # type: ignore[misc]
    """What the server knows; `searches` are the requests it was sent, `failures` what it answers to the next ones.

    It takes 1.5 s for collections named Slow.
    """

    def __init__(self) -> None:
        self.kept: dict[str, Kept] = {}
        self.searches: list[Any] = []
        self.failures: list[grpc.StatusCode] = []

    # ---- gRPC

    def Search(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        self.searches.append(request)
        if self.failures:
            context.abort(self.failures.pop(0), "as the test has it")
        if request.collection.startswith("Slow"):
            time.sleep(1.5)
        try:
            return search_get_pb2.SearchReply(results=self._found(request))
        except Refused as error:
            context.abort(grpc.StatusCode.UNKNOWN, str(error))

    def _found(self, request: Any) -> list[Any]:
        unknown = {field.name for field, _ in request.ListFields()} - _ASKED
        if unknown or not request.uses_125_api:
            raise Refused(f"not known here: {unknown}")
        kept = self._kept(request.collection)
        limit = request.limit or 10  # QUERY_DEFAULTS_LIMIT
        if limit > 10_000:
            raise Refused("query maximum results exceeded")
        if request.after and (request.HasField("filters") or request.HasField("near_vector")):
            raise Refused("cursor api: invalid 'after' parameter: where filter can not be set with after")
        objects = sorted(kept.of(request.tenant).items())
        if request.after:
            objects = [pair for pair in objects if pair[0] > str(uuid.UUID(request.after))]
        if request.HasField("filters"):
            fits = condition(request.filters, kept)
            objects = [(id_, own) for id_, own in objects if fits(id_, own[0])]
        near = nearest(request.near_vector, objects, kept) if request.HasField("near_vector") else None
        if request.HasField("bm25_search") or request.HasField("hybrid_search"):
            return [_result(request.metadata, *found) for found in _scored(request, objects, kept)[:limit]]
        ranked = [(id_, kept_, None) for id_, kept_ in objects] if near is None else near
        return [_result(request.metadata, *found) for found in ranked[:limit]]

    def _kept(self, name: str) -> Kept:
        if name not in self.kept:
            raise Refused(f"could not find class {name} in schema")
        return self.kept[name]

    def BatchObjects(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        errors = []
        for at, given in enumerate(request.objects):
            try:
                self._put(given)
            except Refused as error:
                errors.append(batch_pb2.BatchObjectsReply.BatchError(index=at, error=str(error)))
        return batch_pb2.BatchObjectsReply(errors=errors)

    def _put(self, given: Any) -> None:
        kept = self._kept(given.collection)
        properties = {name: _typed(value, kept, name) for name, value in given.properties.non_ref_properties.items()}
        properties |= {found.prop_name: list(found.values) for found in given.properties.text_array_properties}
        vectors = {vector.name: _floats(vector.vector_bytes) for vector in given.vectors}
        if given.vector_bytes:
            vectors["default"] = _floats(given.vector_bytes)
        kept.of(given.tenant)[str(uuid.UUID(given.uuid))] = (properties, vectors)

    # ---- HTTP

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        """Return the status and the body for a request."""
        match method, path.removeprefix("/v1/").split("?")[0].split("/"):
            case "GET", ["meta"]:
                return 200, {"hostname": "http://[::]:8080", "modules": {}, "version": "1.32.4"}
            case "GET", [".well-known", "openid-configuration"]:
                return 404, None
            case "GET", [".well-known", "ready"]:
                return 200, None
            case "POST", ["schema"]:
                return 200, self._create(body)
            case "GET", ["schema", name] if name in self.kept:
                return 200, self.kept[name].schema
            case "DELETE", ["schema", name] if name in self.kept:
                del self.kept[name]
                return 200, None
            case "POST", ["schema", name, "properties"] if name in self.kept:
                made = _property(body)
                self.kept[name].schema["properties"].append(made)
                return 200, made
            case "POST", ["schema", name, "tenants"] if name in self.kept:
                return 200, body
            case "PATCH", ["objects", name, id_] if name in self.kept and body["class"] == name:
                return self._merge(self.kept[name], body.get("tenant", ""), id_, body["properties"])
        return 404, {"error": [{"message": f"{method} {path} is not known here"}]}

    def _create(self, given: dict[str, Any]) -> dict[str, Any]:
        schema = {
            "vectorizer": "none", "vectorIndexType": "hnsw", "moduleConfig": {}, "replicationConfig": {"factor": 1},
            "shardingConfig": _SHARDS, **given,
        }  # fmt: skip
        schema["properties"] = [_property(known) for known in given.get("properties", [])]
        schema["invertedIndexConfig"] = _over(_INVERTED, given.get("invertedIndexConfig", {}))
        if "vectorConfig" in given:
            for named in schema["vectorConfig"].values():
                named["vectorIndexConfig"] = _over(_HNSW, named.get("vectorIndexConfig", {}))
                named.setdefault("vectorIndexType", "hnsw")
            del schema["vectorizer"], schema["vectorIndexType"]
            schema.pop("vectorIndexConfig", None)
        else:
            schema["vectorIndexConfig"] = _over(_HNSW, given.get("vectorIndexConfig", {}))
        self.kept[schema["class"]] = Kept(schema)
        return schema

    def _merge(self, kept: Kept, tenant: str, id_: str, properties: dict[str, Any]) -> tuple[int, Any]:
        objects = kept.of(tenant)
        if id_ not in objects:
            return 404, {"error": [{"message": f"no object with id {id_}"}]}
        before, vectors = objects[id_]
        changed = {name: _typed(value, kept, name) for name, value in properties.items()}
        objects[id_] = ({**before, **changed}, vectors)
        return 204, None


def _over(defaults: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Put what was given over what a server fills in, also within."""
    inner = {name: _over(old, given.get(name) or {}) for name, old in defaults.items() if isinstance(old, dict)}
    return {**defaults, **{name: value for name, value in given.items() if value is not None}, **inner}


def _property(given: dict[str, Any]) -> dict[str, Any]:
    text = given["dataType"][0].startswith("text")
    made = {"indexFilterable": True, "indexSearchable": text, "indexRangeFilters": False, **given}
    if text and not made.get("tokenization"):
        made["tokenization"] = "word"
    return {name: value for name, value in made.items() if value is not None}


class Dated(str):
    """A date, as the wire has it."""


def _typed(value: Any, kept: Kept, name: str) -> Any:
    """Return a value as the type of its property has it: numbers come as floats."""
    type_ = kept.property(name)["dataType"][0]
    if type_ == "int" and float(value).is_integer():
        return int(value)
    if type_ == "date":
        return Dated(value)
    wanted = {"text": str, "number": (int, float), "boolean": bool, "text[]": list}.get(type_)
    if wanted is None or not isinstance(value, wanted):
        raise Refused(f"invalid {type_} property '{name}' on class '{kept.schema['class']}': {value!r}")
    return value


# ---- filters


def condition(given: Any, kept: Kept) -> Condition:
    """Return what a filter asks of the id and the properties of an object."""
    if given.operator in (_OP.OPERATOR_AND, _OP.OPERATOR_OR):
        if not given.filters or given.HasField("target"):
            raise Refused("and, or: need operands, and nothing else")
        inner = [condition(one, kept) for one in given.filters]
        joined = all if given.operator == _OP.OPERATOR_AND else any
        return lambda id_, properties: joined(one(id_, properties) for one in inner)
    if given.target.WhichOneof("target") != "property" or given.on:
        raise Refused("only properties of the collection itself are known here")
    name = given.target.property
    if name == "_id":
        ids = {str(uuid.UUID(one)) for one in _values(given, "value_text")}
        return lambda id_, properties: id_ in ids
    known = kept.property(name)
    if given.operator == _OP.OPERATOR_IS_NULL:
        if not kept.schema["invertedIndexConfig"].get("indexNullState"):
            raise Refused("Nullstate must be indexed to be filterable!")
        return lambda id_, properties: (name not in properties) == given.value_boolean
    if not known["indexFilterable"] and not known["indexRangeFilters"]:
        raise Refused(f"Filtering by property '{name}' requires inverted index.")
    return _compared(given, name, known)


def _compared(given: Any, name: str, known: dict[str, Any]) -> Condition:
    type_ = known["dataType"][0]
    if type_ == "text":
        cut = known["tokenization"]
        wanted = [_terms(one, cut) for one in _values(given, "value_text")]
        return lambda id_, properties: (
            name in properties
            and any(set(_terms(properties[name], cut, stored=True)).issuperset(terms) for terms in wanted)
        )
    if type_ not in ("int", "number", "boolean"):
        raise Refused(f"no filters by {type_} here")
    compare, values = _COMPARE[given.operator], _values(given, f"value_{type_}")
    return lambda id_, properties: name in properties and any(compare(properties[name], one) for one in values)


_COMPARE = {
    _OP.OPERATOR_EQUAL: lambda own, asked: own == asked,
    _OP.OPERATOR_CONTAINS_ANY: lambda own, asked: own == asked,
    _OP.OPERATOR_GREATER_THAN_EQUAL: lambda own, asked: own >= asked,
    _OP.OPERATOR_LESS_THAN: lambda own, asked: own < asked,
    _OP.OPERATOR_LESS_THAN_EQUAL: lambda own, asked: own <= asked,
    _OP.OPERATOR_GREATER_THAN: lambda own, asked: own > asked,
}


def _values(given: Any, field: str) -> list[Any]:
    """Return what a filter compares with, which must be of the type of the property."""
    kind = given.WhichOneof("test_value")
    if given.operator not in _COMPARE:
        raise Refused(f"operator {given.operator} is not known here")
    wanted = field + "_array" if given.operator == _OP.OPERATOR_CONTAINS_ANY else field
    if kind != wanted:
        raise Refused(f"data type filter cannot use {kind}, use {wanted}")
    return list(getattr(given, kind).values) if kind.endswith("_array") else [getattr(given, kind)]


def _terms(text: str, tokenization: str, *, stored: bool = False) -> list[str]:
    """Cut a text as the index does; a search for nothing but stopwords is an error, whatever the tokenization."""
    if tokenization == "field":
        if text.strip() in _STOPWORDS and not stored:
            raise Refused("invalid search term, only stopwords provided. Stopwords can be configured")
        return [text.strip()]
    terms = [term for term in re.split(r"[^\w]+|_", text.lower()) if term]
    kept = terms if stored else [term for term in terms if term not in _STOPWORDS]
    if not kept and not stored:
        raise Refused("invalid search term, only stopwords provided. Stopwords can be configured")
    return kept


# ---- vectors


def nearest(given: Any, objects: list[Any], kept: Kept) -> list[tuple[str, Any, float]]:
    """Return objects by their distance to a vector."""
    asked = _floats(given.vector_bytes or _only(given))  # older clients send the bytes alone
    targets = list(given.targets.target_vectors)
    named = kept.schema.get("vectorConfig")
    if named is not None and not targets and len(named) > 1:
        raise Refused("class has multiple vectors, but no target vectors were provided")
    target = targets[0] if targets else next(iter(named)) if named else "default"
    index = kept.schema["vectorIndexConfig"] if named is None else named[target]["vectorIndexConfig"]
    found = [
        (id_, own, _distance(index["distance"], own[1][target], asked)) for id_, own in objects if target in own[1]
    ]
    return sorted(found, key=lambda one: one[2])


def _scored(request: Any, objects: list[Any], kept: Kept) -> list[tuple[str, Any, None, float]]:
    """Return objects by words, or by words and a vector together, with their score."""
    asked = request.bm25_search if request.HasField("bm25_search") else request.hybrid_search
    if not asked.properties:
        raise Refused("no properties provided to search by words")
    words = set(_terms(asked.query, "word", stored=True))
    found = {}
    for id_, own in objects:
        has = [_terms(own[0].get(name, ""), "word", stored=True) for name in asked.properties]
        score = float(sum(text.count(word) / len(text) for text in has if text for word in words))
        if score:
            found[id_] = score
    by_id = dict(objects)
    if request.HasField("hybrid_search"):
        near = nearest(asked, objects, kept)
        best = max(found.values(), default=1.0)
        vectors = {id_: 1 / rank for rank, (id_, _, _) in enumerate(near, 1)}
        alpha = asked.alpha_param if asked.use_alpha_param else asked.alpha
        found = {
            id_: (1 - alpha) * found.get(id_, 0.0) / best + alpha * vectors.get(id_, 0.0) for id_ in {*found, *vectors}
        }
    return [(id_, by_id[id_], None, found[id_]) for id_ in sorted(found, key=lambda id_: -found[id_])]


def _only(given: Any) -> bytes:
    if len(given.vectors) != 1 or given.vectors[0].type != base_pb2.Vectors.VECTOR_TYPE_SINGLE_FP32:
        raise Refused("near vector: one vector of 32-bit floats is known here")
    found: bytes = given.vectors[0].vector_bytes
    return found


def _distance(metric: str, own: np.ndarray[Any, Any], asked: np.ndarray[Any, Any]) -> float:
    if len(own) != len(asked):
        raise Refused("vector lengths don't match")
    match metric:
        case "cosine":
            return float(1 - own @ asked / (np.linalg.norm(own) * np.linalg.norm(asked)))
        case "dot":
            return float(-(own @ asked))
        case "l2-squared":
            return float(((own - asked) ** 2).sum())
    raise Refused(f"unrecognized distance metric {metric}")


def _floats(given: bytes) -> np.ndarray[Any, Any]:
    return np.frombuffer(given, dtype="<f4")


# ---- answers


def _result(wanted: Any, id_: str, kept: Any, distance: float | None, score: float | None = None) -> Any:
    properties, vectors = kept
    made = search_get_pb2.SearchResult()
    if wanted.score and score is not None:
        made.metadata.score, made.metadata.score_present = score, True
    if wanted.uuid:
        made.metadata.id = id_
        made.metadata.id_as_bytes = uuid.UUID(id_).bytes
    if wanted.distance and distance is not None:
        made.metadata.distance, made.metadata.distance_present = distance, True
    if wanted.vector and "default" in vectors:
        made.metadata.vector_bytes = vectors["default"].tobytes()
    names = [name for name in vectors if name != "default"] if wanted.vector else wanted.vectors
    for name in names:
        made.metadata.vectors.add(
            name=name, vector_bytes=vectors[name].tobytes(), type=base_pb2.Vectors.VECTOR_TYPE_SINGLE_FP32
        )
    for name, value in properties.items():
        _write(made.properties.non_ref_props.fields[name], value)
    return made


def _write(field: Any, value: Any) -> None:
    if isinstance(value, bool):
        field.bool_value = value
    elif isinstance(value, int):
        field.int_value = value
    elif isinstance(value, float):
        field.number_value = value
    elif isinstance(value, Dated):
        field.date_value = value
    elif isinstance(value, str):
        field.text_value = value
    else:
        field.list_value.text_values.values.extend(value)


# ---- the servers


def _handler(double: WeaviateDouble) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            status, answer = double.answer(self.command, self.path, body)
            written = b"" if answer is None else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            if status != 204:
                self.send_header("Content-Length", str(len(written)))
            self.end_headers()
            self.wfile.write(written)

        do_GET = do_POST = do_PATCH = do_DELETE = answer  # noqa: N815

        def log_message(self, *args: Any) -> None:
            """Say nothing."""

    return Handler


@contextmanager
def weaviate_server() -> Iterator[tuple[WeaviateDouble, int, int]]:
    """Start both servers on free ports of this machine; yields what they know and the ports of HTTP and gRPC."""
    double = WeaviateDouble()
    http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(double))
    http.daemon_threads = True
    thread = Thread(target=http.serve_forever, daemon=True)
    thread.start()
    server = grpc.server(futures.ThreadPoolExecutor(16))
    weaviate_pb2_grpc.add_WeaviateServicer_to_server(double, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield double, http.server_address[1], port
    finally:
        server.stop(grace=0).wait()
        http.shutdown()
        http.server_close()
        thread.join()
