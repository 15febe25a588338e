"""Milvus Lite behind a server of our own: it counts requests, and can take filter templates as Milvus itself does."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
from milvus_lite.adapter.grpc.servicer import MilvusServicer
from milvus_lite.db import MilvusLite
from pymilvus.grpc_gen import milvus_pb2, milvus_pb2_grpc

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


class LiteServicer(MilvusServicer):  # type: ignore[misc]
    """Milvus Lite as it is; `asked` are its queries and searches. It takes 1.5 s for collections named slow."""

    def __init__(self, db: MilvusLite) -> None:
        super().__init__(db)
        self.asked: list[str] = []

    def Query(self, request: Any, context: Any) -> Any:  # noqa: N802
        self.asked.append(request.expr)
        if request.collection_name.startswith("slow"):
            time.sleep(1.5)
        return super().Query(request, context)

    def Search(self, request: Any, context: Any) -> Any:  # noqa: N802
        self.asked.append(request.dsl)
        return super().Search(request, context)


class TemplateServicer(LiteServicer):
    """What Milvus 2.5 and later do with templates: a filter without any value in it, and the values beside it.

    Everything after that is Milvus Lite, so what differs between the two is not tested here.
    """

    def GetVersion(self, request: Any, context: Any) -> Any:  # noqa: N802
        found = super().GetVersion(request, context)
        return milvus_pb2.GetVersionResponse(status=found.status, version="2.6.1")

    def Query(self, request: Any, context: Any) -> Any:  # noqa: N802
        request.expr = _filled(request.expr, request.expr_template_values)
        return super().Query(request, context)

    def Search(self, request: Any, context: Any) -> Any:  # noqa: N802
        request.dsl = _filled(request.dsl, request.expr_template_values)
        return super().Search(request, context)

    def HybridSearch(self, request: Any, context: Any) -> Any:  # noqa: N802
        for part in request.requests:
            part.dsl = _filled(part.dsl, part.expr_template_values)
        return super().HybridSearch(request, context)


def _filled(written: str, values: Any) -> str:
    """Put values in: `x in {v}` of paths into JSON becomes a chain, which is all that Lite understands."""
    bare = re.sub(r'\["[^"]*"\]', "", written)  # keys of JSON
    assert not re.search(r"[\"']|\b\d", bare), f"a value stands in the filter: {written}"
    assert set(_PLACEHOLDER.findall(written)) == set(values), (written, set(values))

    def put(found: re.Match[str]) -> str:
        name, listed, alone = found.groups()
        value = _native(values[listed or alone])
        if alone:
            return _literal(value)
        if "[" not in name:
            return f"{name} in {_literal(value)}"
        return "(" + " or ".join(f"{name} == {_literal(one)}" for one in value) + ")"

    return re.sub(r'([\w$]+(?:\["[^"]*"\])*) in \{(\w+)\}|\{(\w+)\}', put, written)


def _native(value: Any) -> Any:
    kind = value.WhichOneof("val")
    if kind != "array_val":
        return getattr(value, kind)
    inner = value.array_val.WhichOneof("data")
    return list(getattr(value.array_val, inner).data)


def _literal(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ",".join(map(_literal, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, (int, float)) else '"' + "".join(_ESCAPES.get(c, c) for c in value) + '"'


@contextmanager
def milvus_server(folder: Path, servicer: type[LiteServicer]) -> Iterator[tuple[str, LiteServicer]]:
    """Start a server on a free port of this machine; yields its address and its servicer."""
    db = MilvusLite(str(folder))
    made = servicer(db)
    server = grpc.server(futures.ThreadPoolExecutor(10))
    milvus_pb2_grpc.add_MilvusServiceServicer_to_server(made, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"http://127.0.0.1:{port}", made
    finally:
        server.stop(grace=0).wait()
        db.close()
