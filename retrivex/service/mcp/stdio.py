"""The protocol over standard input and output: one client, whose end is the end of the server."""

from __future__ import annotations

import logging.config
import signal
from collections.abc import Callable
from typing import Any

from retrivex.errors import install_hint
from retrivex.service.access import Access
from retrivex.service.engine import Engine
from retrivex.service.logs import LOGGER, LOGGING
from retrivex.service.mcp.protocol import Context, make_server

try:
    import anyio
    from anyio.to_thread import run_sync
    from mcp.server.stdio import stdio_server
except ImportError as error:
    raise ImportError(f"the Model Context Protocol needs packages of its own: {install_hint('serve')}") from error


def serve_stdio(engine: Engine, access: Access) -> None:
    """Answer one client until it goes; nothing but the protocol is written to standard output.

    Parameters
    ----------
    engine : that answers
    access : what the client may see
    """
    logging.config.dictConfig(LOGGING)
    # the thread that reads standard input cannot be interrupted; nothing is written that could be lost
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        anyio.run(_serve, engine, access)
    except* BrokenPipeError:
        LOGGER.info("the client is gone")


async def _serve(engine: Engine, access: Access) -> None:
    async def do(_: Context, job: Callable[[Access], Any]) -> Any:
        return await run_sync(job, access, abandon_on_cancel=True)

    server = make_server(engine, do)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
