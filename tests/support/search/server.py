"""Elasticsearch or OpenSearch as far as the adapters ask it: on a port of this machine, strict about what it is sent.

Requests come from the real clients. What the documentation does not have is answered with a 400 or 404, as the servers
do: unknown parameters, clauses and paths, more hits than `index.max_result_window`, bodies of the wrong media type.
"""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from support.search.queries import BadQueryError, Index, Query, keys, knn_score, listed, values_at

MOST_HITS = 10_000
_SEARCH_KEYS = {"query", "size", "from", "_source", "sort", "track_total_hits", "search_after", "knn", "pit", "fields"}
_KNN_KEYS = {"field", "query_vector", "k", "num_candidates", "filter"}
_PARAMETERS = {"allow_partial_search_results", "keep_alive", "refresh", "ignore_unavailable"}


class NotThereError(Exception):
    """What the server answers with a 404."""


class SearchServer:
    """A server of one flavour, `elasticsearch` or `opensearch`.

    `log` has every request as (method, path, body). `hang_s` makes it slow, `failing` lists statuses that the next
    requests are answered with.
    """

    def __init__(self, flavour: str) -> None:
        self.flavour = flavour
        self.indices: dict[str, Index] = {}
        self.log: list[tuple[str, str, Any]] = []
        self.hang_s = 0.0
        self.failing: list[int] = []
        self.points: dict[str, tuple[str, dict[str, dict[str, Any]]]] = {}
        self.lock = threading.Lock()
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.server = self
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)

    def __enter__(self) -> SearchServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    # ---- what there is

    def answer(self, method: str, path: str, parameters: Mapping[str, str], body: Any) -> Any:
        unknown = set(parameters) - _PARAMETERS
        if unknown:
            raise BadQueryError("illegal_argument_exception", f"unrecognized parameter: {sorted(unknown)}")
        match method, *[unquote(part) for part in path.strip("/").split("/")]:
            case "GET", "":
                return {"name": "double", "version": {"number": "2.19.0" if self.flavour == "opensearch" else "8.19.0"}}
            case (("POST" | "PUT"), *_, "_bulk"):
                return self._bulk(body, path.strip("/").removesuffix("_bulk").strip("/") or None)
            case (("POST" | "PUT"), name, "_doc", id):
                self._index(name).put(id, body)
                return {"_index": name, "_id": id, "result": "created", "_shards": {"failed": 0}}
            case "PUT", name:
                self.indices[name] = Index(json.loads(json.dumps((body or {}).get("mappings", {}))))
                return {"acknowledged": True, "index": name}
            case (("GET" | "HEAD"), name):
                return {name: {"mappings": self._index(name).mapping}}
            case "DELETE", name:
                self._index(name)
                del self.indices[name]
                return {"acknowledged": True}
            case "GET", name, "_mapping":
                return {name: {"mappings": self._index(name).mapping}}
            case (("POST" | "GET"), name, "_refresh"):
                return {"_shards": {"failed": 0}}
            case (("POST" | "PUT"), *_, "_bulk"):
                return self._bulk(body, path.strip("/").removesuffix("_bulk").strip("/") or None)
            case "POST", name, "_pit" if self.flavour == "elasticsearch":
                return {"id": self._open(name, parameters["keep_alive"])}
            case "POST", "_search":
                return self._search(None, body)
            case "POST", name, "_search":
                return self._search(name, body)
        raise BadQueryError("illegal_argument_exception", f"no handler found for {method} [{path}]")

    def _index(self, name: str) -> Index:
        if name not in self.indices:
            raise NotThereError(f"no such index [{name}]")
        return self.indices[name]

    # ---- searching

    def _search(self, name: str | None, body: Any) -> dict[str, Any]:
        unknown = set(body) - _SEARCH_KEYS
        if unknown or (self.flavour == "opensearch" and {"knn", "fields"} & set(body)):
            raise BadQueryError("parsing_exception", f"unknown key {sorted(unknown) or 'knn or fields'} in the search")
        if "pit" in body and name is not None:
            raise BadQueryError("action_request_validation_exception", "[indices] cannot be used with point in time")
        size = body.get("size", 10)
        if size > MOST_HITS:
            raise BadQueryError(
                "illegal_argument_exception", f"Result window is too large: {size}, more than {MOST_HITS}"
            )
        index = self._index(name) if name is not None else self._at(body["pit"])
        scores = self._scores(index, body)
        hits = self._sorted(scores, index, body)
        return {
            "took": 1,
            "timed_out": False,
            **({"pit_id": body["pit"]["id"]} if "pit" in body else {}),
            "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0},
            "hits": {
                **({"total": {"value": len(scores), "relation": "eq"}} if body.get("track_total_hits", True) else {}),
                "hits": [_shown(hit, body, name) for hit in hits[:size]],
            },
        }

    def _scores(self, index: Index, body: Any) -> dict[str, float]:
        if "knn" not in body or "query" in body:
            return Query(index, self.flavour, body.get("query", {"match_all": {}})).scores()
        filters = {"bool": {"filter": listed(body["knn"].get("filter"))}}
        return self._near(Query(index, self.flavour, filters), index, body["knn"])

    def _near(self, query: Query, index: Index, asked: Any) -> dict[str, float]:
        keys(asked, "knn", _KNN_KEYS)
        known = query.fields.get(asked["field"], {})
        if known.get("type") != "dense_vector":
            raise BadQueryError("query_shard_exception", f"[knn] {asked['field']} is not a [dense_vector]")
        k, candidates = asked["k"], asked["num_candidates"]
        if not k <= candidates <= 10_000:
            raise BadQueryError("illegal_argument_exception", f"[num_candidates] {candidates} against [k] {k}")
        best = query.nearest(asked["field"], asked["query_vector"], k, asked.get("filter"), known["dims"])
        return {id: knn_score(known.get("similarity", "cosine"), *pair) for id, pair in best.items()}

    def _sorted(self, scores: Mapping[str, float], index: Index, body: Any) -> list[dict[str, Any]]:
        hits = [{"_id": id, "_score": scores[id], "_source": index.records[id]} for id in index.records if id in scores]
        by = [next(iter(key.items())) if isinstance(key, dict) else (key, "asc") for key in body.get("sort", [])]
        if not by:
            if "search_after" in body:
                raise BadQueryError("illegal_argument_exception", "[search_after] needs [sort]")
            return sorted(hits, key=lambda hit: -hit["_score"])
        allowed = {"_shard_doc"} if "pit" in body else {"_doc", *({"_id"} if self.flavour == "opensearch" else ())}
        if len(by) != 1 or by[0][0] not in allowed or by[0][1] != "asc":
            raise BadQueryError("illegal_argument_exception", f"cannot sort by {by}: allowed here {allowed}")
        places = {id: at for at, id in enumerate(index.records)}
        for hit in hits:
            hit["sort"] = [hit["_id"] if by[0][0] == "_id" else places[hit["_id"]]]
            hit["_score"] = None
        after = body.get("search_after")
        return sorted((hit for hit in hits if after is None or hit["sort"] > after), key=lambda hit: hit["sort"])

    # ---- points in time

    def _open(self, name: str, keep_alive: str) -> str:
        assert keep_alive.endswith("m")
        id = base64.b64encode(f"{name}|{len(self.points)}".encode()).decode()
        self.points[id] = (name, json.loads(json.dumps(self._index(name).records)))
        return id

    def _at(self, pit: Mapping[str, str]) -> Index:
        if set(pit) != {"id", "keep_alive"} or pit["id"] not in self.points:
            raise NotThereError(f"No search context found for {pit}")
        name, records = self.points[pit["id"]]
        return Index(self._index(name).mapping, records)

    # ---- writing

    def _bulk(self, lines: list[Any], named: str | None) -> dict[str, Any]:
        items, at = [], 0
        while at < len(lines):
            ((kind, where),) = lines[at].items()
            if kind not in ("index", "create", "update"):
                raise BadQueryError("illegal_argument_exception", f"Malformed action/metadata line, found [{kind}]")
            items.append({kind: self._written(kind, where, lines[at + 1], named)})
            at += 2
        return {"took": 1, "errors": any("error" in item for each in items for item in each.values()), "items": items}

    def _written(self, kind: str, where: Mapping[str, Any], line: Any, named: str | None) -> dict[str, Any]:
        index = self._index(where.get("_index", named))
        id = where.get("_id") or f"auto-{len(index.records)}"
        try:
            if kind == "update" and (set(line) != {"doc"} or id not in index.records):
                error = {"type": "document_missing_exception", "reason": f"[{id}]: document missing"}
                return {"_id": id, "status": 404, "error": error}
            index.put(id, _merged(index.records[id], line["doc"]) if kind == "update" else line)
        except BadQueryError as error:
            return {"_id": id, "status": 400, "error": {"type": error.kind, "reason": str(error)}}
        return {"_id": id, "status": 200 if kind == "update" else 201, "result": "updated"}


def _merged(source: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    made = dict(source)
    for key, value in change.items():
        kept = made.get(key)
        made[key] = _merged(kept, value) if isinstance(value, dict) and isinstance(kept, dict) else value
    return made


def _shown(hit: Mapping[str, Any], body: Mapping[str, Any], name: str | None) -> dict[str, Any]:
    left_out = body.get("_source", {}).get("excludes", [])
    kept = {key: value for key, value in hit["_source"].items() if key not in left_out}
    fields = {path: found for path in body.get("fields", []) if (found := values_at(hit["_source"], path))}
    return {"_index": name, **hit, "_source": kept, **({"fields": fields} if fields else {})}


# ---- over HTTP


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    server: SearchServer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def _handle(self) -> None:
        double = self.server.server
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        url = urlsplit(self.path)
        if double.hang_s:
            time.sleep(double.hang_s)
        try:
            body = self._body(raw)
            with double.lock:
                double.log.append((self.command, url.path, body))
                if double.failing:
                    return self._reply(double.failing.pop(0), _error("exception", "as the test wants it"))
                return self._reply(200, double.answer(self.command, url.path, dict(parse_qsl(url.query)), body))
        except BadQueryError as error:
            return self._reply(400, _error(error.kind, str(error)))
        except NotThereError as error:
            return self._reply(404, _error("index_not_found_exception", str(error)))

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _handle  # noqa: N815

    def _body(self, raw: bytes) -> Any:
        media = self.headers.get("Content-Type", "")
        if not raw:
            return None
        compatible = "vnd.elasticsearch+" in media
        if compatible and self.server.server.flavour == "opensearch":
            raise BadQueryError("media_type_header_exception", f"Content-Type header [{media}] is not supported")
        if "x-ndjson" in media or urlsplit(self.path).path.endswith("_bulk"):
            if not raw.endswith(b"\n"):
                raise BadQueryError("illegal_argument_exception", "the request must be terminated by a newline [\\n]")
            return [json.loads(line) for line in raw.split(b"\n") if line]
        if "json" not in media:
            raise BadQueryError("media_type_header_exception", f"Content-Type header [{media}] is not supported")
        return json.loads(raw)

    def _reply(self, status: int, answer: Any) -> None:
        raw = b"" if self.command == "HEAD" else json.dumps(answer).encode()
        self.send_response(status)
        if self.server.server.flavour == "elasticsearch":
            self.send_header("X-Elastic-Product", "Elasticsearch")
            accepted = self.headers.get("Accept", "application/json")
            self.send_header("Content-Type", accepted if "json" in accepted else "application/json")
        else:
            self.send_header("Content-Type", "application/json; charset=UTF-8")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        try:
            self.wfile.write(raw)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # a client that would not wait

    def log_message(self, format: str, *args: Any) -> None:
        """Stay silent: what was asked stands in `log`."""


def _error(kind: str, reason: str) -> dict[str, Any]:
    return {"error": {"type": kind, "reason": reason, "root_cause": [{"type": kind, "reason": reason}]}}
