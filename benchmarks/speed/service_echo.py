"""An application that answers each request with the answer that the service would give: what HTTP alone takes.

Served like the service itself (uvicorn with its settings, a FastAPI route, one process). `/echo` reads the body and
sends the answer; `/echo_json` also reads the one as JSON and writes the other, as a service that speaks JSON has to.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import uvicorn
from fastapi import FastAPI, Request, Response

ANSWERS = "ECHO_ANSWERS"
"""Variable that names a JSON file: the answers in turns."""


def create_app() -> FastAPI:
    """Return the application."""
    values = json.loads(Path(os.environ[ANSWERS]).read_text(encoding="utf-8"))
    encoded = [_write(value) for value in values]
    app = FastAPI(openapi_url=None)

    @app.post("/echo/{number}")
    async def echo(number: int, request: Request) -> Response:
        await request.body()
        return Response(encoded[number], media_type="application/json")

    @app.post("/echo_json/{number}")
    async def echo_json(number: int, request: Request) -> Response:
        json.loads(await request.body())
        return Response(_write(values[number]), media_type="application/json")

    return app


def _write(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


if __name__ == "__main__":
    uvicorn.run(
        "benchmarks.speed.service_echo:create_app",
        factory=True,
        port=int(os.environ["ECHO_PORT"]),
        access_log=False,
        log_level="warning",
        server_header=False,
    )
