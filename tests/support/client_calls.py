"""One operation of the service's client, called with the client for threads or with the one for event loops."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

Kind: TypeAlias = Literal["threads", "event loop"]
KINDS: tuple[Kind, ...] = ("threads", "event loop")


def call_operation(
    kind: Kind, options: dict[str, Any], use: Callable[[Any], Any], transport: Callable[..., Any] | None = None
) -> Any:
    """Return what an operation returns; of a stream a list of what it yields.

    Parameters
    ----------
    kind : of client
    options : of the client
    use : calls the operation of a client
    transport : answers in place of a service
    """
    import httpx2  # noqa: PLC0415 - of an extra

    from retrivex.service.client import AsyncClient, Client  # noqa: PLC0415

    given = {**options, "transport": None if transport is None else httpx2.MockTransport(transport)}
    if kind == "threads":
        with Client(**given) as client:
            made = use(client)
            return list(made) if inspect.isgenerator(made) else made

    async def run() -> Any:
        async with AsyncClient(**given) as client:
            made = use(client)
            return [one async for one in made] if inspect.isasyncgen(made) else await made

    return asyncio.run(run())
