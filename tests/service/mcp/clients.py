"""Clients of the protocol's own SDK, over both transports."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from retrivex.service.app import create_app
from retrivex.service.settings import Settings

ADDRESS = "http://localhost"


def options(folder: Path) -> Path:
    """Return a file of options that need no tokenizer of somebody else."""
    path = folder / "options.toml"
    path.write_text('tokenizer = "estimate"\n', encoding="utf-8")
    return path


def environment() -> dict[str, str]:
    """Return the environment of this process: the SDK gives a server little more than PATH."""
    return {name: value for name, value in os.environ.items() if not name.startswith("RETRIVEX_")}


@asynccontextmanager
async def over_stdio(folder: Path, *arguments: str, mode: str = "auto") -> AsyncIterator[Client]:
    """Start `retrivex mcp`, which logs to `log.txt`."""
    command = ["-m", "retrivex", "mcp", *arguments, "--config", str(options(folder))]
    server = StdioServerParameters(command=sys.executable, args=command, env=environment(), cwd=folder)
    with (folder / "log.txt").open("a", encoding="utf-8") as log:
        async with Client(stdio_client(server, errlog=log), mode=mode) as client:
            yield client


@asynccontextmanager
async def serving(folder: Path, **settings: Any) -> AsyncIterator[Any]:
    """Run the application of the service over the index of a folder."""
    given = {"db": folder / "index.db", "keys": folder / "keys.db", "config": options(folder), **settings}
    app = create_app(Settings(**given))
    async with app.router.lifespan_context(app):
        yield app


@asynccontextmanager
async def over_http(app: Any, secret: str | None = None, mode: str = "auto") -> AsyncIterator[Client]:
    """Ask an application, with a key."""
    async with requests(app, secret) as http, over_requests(http, ADDRESS, mode) as client:
        yield client


def requests(app: Any, secret: str | None = None) -> httpx2.AsyncClient:
    """Return a client for plain requests to an application."""
    transport = httpx2.ASGITransport(app=app)
    headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
    return httpx2.AsyncClient(transport=transport, base_url=ADDRESS, headers=headers)


@asynccontextmanager
async def over_requests(http: httpx2.AsyncClient, address: str, mode: str = "auto") -> AsyncIterator[Client]:
    """Ask a service through a client for plain requests."""
    async with Client(streamable_http_client(f"{address}/mcp", http_client=http), mode=mode) as client:
        yield client


def text_of(answer: Any) -> str:
    """Return what a model reads of the answer of a tool."""
    [part] = answer.content
    return str(part.text)
