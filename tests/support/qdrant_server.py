"""A Qdrant server for tests: the documented REST requests over HTTP, answered by Qdrant's own engine (qdrant-edge).

Requests are translated field by field. What is not known here is refused, so that a request that a server would not
understand fails.
"""

from __future__ import annotations

import json
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import qdrant_edge as edge

_DISTANCES = {"Cosine": edge.Distance.Cosine, "Dot": edge.Distance.Dot, "Euclid": edge.Distance.Euclid}
_SCHEMAS = {"keyword": edge.PayloadSchemaType.Keyword, "integer": edge.PayloadSchemaType.Integer}


class QdrantServer:
    """Serves on 127.0.0.1 until it is closed.

    Parameters
    ----------
    requests : method and path of every request
    hangs_s : how long it waits before it answers
    status : what it answers instead of doing what it is asked, if not None
    is_strict : whether it refuses filters on fields without an index of their type, as strict mode does
    """

    def __init__(self) -> None:
        self.requests: list[tuple[str, str]] = []
        self.hangs_s = 0.0
        self.status: int | None = None
        self.is_strict = False
        self._folder = tempfile.TemporaryDirectory()
        self._shards: dict[str, tuple[edge.EdgeShard, dict[str, Any]]] = {}
        self._indexes: dict[str, dict[str, Any]] = {}
        self._one_at_a_time = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        for shard, _ in self._shards.values():
            shard.close()
        self._folder.cleanup()

    def answer(self, method: str, path: str, body: dict[str, Any]) -> Any:
        _, _, name, *rest = path.split("/")
        with self._one_at_a_time:
            return self._actions()[method, "/".join(rest)](name, body)

    def _actions(self) -> dict[tuple[str, str], Callable[[str, dict[str, Any]], Any]]:
        return {
            ("PUT", ""): self._create,
            ("GET", ""): self._info,
            ("PUT", "index"): self._index,
            ("PUT", "points"): self._upsert,
            ("POST", "points/scroll"): self._scroll,
            ("POST", "points/query"): self._query,
            ("POST", "points/batch"): self._batch,
        }

    def _create(self, name: str, body: dict[str, Any]) -> bool:
        given = body["vectors"]
        vectors = _vectors(given) if "size" in given else {key: _vectors(one) for key, one in given.items()}
        folder = Path(self._folder.name) / str(len(self._shards))
        config = edge.EdgeConfig(vectors=vectors, wal_enabled=False)  # nothing is kept: no need to wait for the disk
        self._shards[name] = (edge.EdgeShard.create(str(folder), config), given)
        self._indexes[name] = {}
        return True

    def _info(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        _, vectors = self._shards[name]
        hnsw = {"m": 16, "ef_construct": 100, "full_scan_threshold": 10000}
        optimizers = {
            "deleted_threshold": 0.2,
            "vacuum_min_vector_number": 1000,
            "default_segment_number": 0,
            "flush_interval_sec": 5,
        }
        wal = {"wal_capacity_mb": 32, "wal_segments_ahead": 0}
        return {
            "status": "green",
            "optimizer_status": "ok",
            "segments_count": 1,
            "config": {
                "params": {"vectors": vectors},
                "hnsw_config": hnsw,
                "optimizer_config": optimizers,
                "wal_config": wal,
            },
            "payload_schema": self._indexes[name],
        }

    def _index(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        field, schema = body["field_name"], body["field_schema"]
        self._shards[name][0].update(edge.UpdateOperation.create_field_index(field, _SCHEMAS[schema]))
        self._indexes[name][field] = {"data_type": schema, "points": 0}
        return _DONE

    def _upsert(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        points = [edge.Point(point["id"], point["vector"], point.get("payload")) for point in body["points"]]
        self._shards[name][0].update(edge.UpdateOperation.upsert_points(points))
        return _DONE

    def _scroll(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        _only(body, {"filter", "limit", "offset", "with_payload", "with_vector"})
        if self.is_strict:
            _check_indexes(body.get("filter") or {}, self._indexes[name])
        request = edge.ScrollRequest(
            offset=body.get("offset"),
            limit=body["limit"],
            filter=_filter(body["filter"]) if body.get("filter") else None,
            with_payload=body["with_payload"],
            with_vector=body["with_vector"],
        )
        points, after = self._shards[name][0].scroll(request)
        return {"points": [_point(point) for point in points], "next_page_offset": _id(after)}

    def _query(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        _only(body, {"query", "using", "filter", "limit", "with_payload", "with_vector"})
        request = edge.QueryRequest(
            limit=body["limit"],
            query=edge.Query.Nearest(body["query"]["nearest"], body.get("using")),
            filter=_filter(_by_truths(body["filter"], self._shards[name][0])),
            with_payload=body["with_payload"],
            with_vector=body["with_vector"],
        )
        found = self._shards[name][0].query(request)
        return {"points": [{**_point(point), "version": 0, "score": point.score} for point in found]}

    def _batch(self, name: str, body: dict[str, Any]) -> list[dict[str, Any]]:
        for operation in body["operations"]:
            _only(operation, {"set_payload"})
            change = operation["set_payload"]
            self._shards[name][0].update(
                edge.UpdateOperation.set_payload(change["points"], change["payload"], change.get("key"))
            )
        return [_DONE] * len(body["operations"])


_DONE = {"operation_id": 0, "status": "completed"}


def _handler(server: QdrantServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            path = unquote(self.path.partition("?")[0])
            server.requests.append((self.command, path))
            time.sleep(server.hangs_s)
            if server.status is not None:
                self._send(server.status, {"status": {"error": "so the test wants"}, "time": 0.0})
                return
            try:
                result = server.answer(self.command, path, json.loads(body or b"{}"))
            except Exception as error:  # noqa: BLE001 - as the server does: what it cannot do is the caller's mistake
                self._send(400, {"status": {"error": f"{type(error).__name__}: {error}"}, "time": 0.0})
                return
            self._send(200, {"result": result, "status": "ok", "time": 0.0})

        do_GET = do_PUT = do_POST = _serve  # noqa: N815

        def _send(self, status: int, body: dict[str, Any]) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            with suppress(ConnectionError):  # of a client that gave up waiting
                self.end_headers()
                self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    return Handler


# ---- REST -> engine


def _vectors(given: dict[str, Any]) -> edge.EdgeVectorParams:
    return edge.EdgeVectorParams(size=given["size"], distance=_DISTANCES[given["distance"]])


def _by_truths(given: Any, shard: edge.EdgeShard) -> Any:
    """Name the points of which a filter wants a truth value: the engine's Python package takes it for a number."""
    if isinstance(given, list):
        return [_by_truths(one, shard) for one in given]
    if not isinstance(given, dict) or not isinstance(given.get("match", {}).get("value"), bool):
        return {key: _by_truths(one, shard) for key, one in given.items()} if isinstance(given, dict) else given
    _only(given, {"key", "match"})
    points, _ = shard.scroll(edge.ScrollRequest(limit=10_000, with_payload=True))
    wanted = given["match"]["value"]
    return {"has_id": [_id(point.id) for point in points if (point.payload or {}).get(given["key"]) is wanted]}


def _filter(given: dict[str, Any]) -> edge.Filter:
    _only(given, {"must", "should", "must_not"})
    parts = {name: [_condition(one) for one in given[name]] for name in given if given[name] is not None}
    return edge.Filter(**parts)


def _condition(given: dict[str, Any]) -> Any:
    match given:
        case {"has_id": list(ids), **rest} if not rest:
            return edge.HasIdCondition(set(ids))
        case {"is_empty": {"key": str(key)}, **rest} if not rest:
            return edge.IsEmptyCondition(key)
        case {"key": str(key), "match": {"any": list(values)}, **rest} if not rest:
            return edge.FieldCondition(key, match=edge.MatchAny(values))
        case {"is_null": {"key": str(key)}, **rest} if not rest:
            return edge.IsNullCondition(key)
        case {"key": str(key), "range": dict(limits), **rest} if not rest:
            return edge.FieldCondition(key, range=edge.RangeFloat(**limits))
    return _filter(given)


def _check_indexes(given: Any, indexes: dict[str, dict[str, Any]]) -> None:
    """Refuse a filter that needs an index which is not there: of texts or numbers, as it compares."""
    if isinstance(given, list):
        for one in given:
            _check_indexes(one, indexes)
    elif isinstance(given, dict) and "any" in given.get("match", {}):
        wanted = {"keyword" if isinstance(value, str) else "integer" for value in given["match"]["any"]}
        if indexes.get(given["key"], {}).get("data_type") not in wanted:
            raise ValueError(f"Index required but not found for {given['key']!r}")
    elif isinstance(given, dict):
        for one in given.values():
            _check_indexes(one, indexes)


def _only(given: dict[str, Any], known: set[str]) -> None:
    odd = set(given) - known
    if odd:
        raise ValueError(f"unknown fields {sorted(odd)}")


# ---- engine -> REST


def _point(point: Any) -> dict[str, Any]:
    return {"id": _id(point.id), "payload": point.payload, "vector": point.vector}


def _id(given: Any) -> Any:
    return given if given is None or isinstance(given, int) else str(given)
