"""The protocol over streamable HTTP, a route of the service: its keys, scopes, limits and logs hold here as well."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from retrivex.errors import install_hint
from retrivex.service.access import Access
from retrivex.service.mcp.protocol import Context, make_server
from retrivex.service.routes import Service

try:
    from fastapi import Request, Response
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
except ImportError as error:
    raise ImportError(f"the service needs packages of its own: {install_hint('serve')}") from error

HEADERS = ("Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Session-Id")
"""Headers of the protocol, for pages of other origins that may ask."""


class Door:
    """Where requests of the protocol come in.

    Parameters
    ----------
    service : whose keys and limits hold
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        # Without sessions: the next request may go to another worker, and a client that is killed leaves nothing
        # behind. The gate of the service has looked at host and origin.
        self._manager = StreamableHTTPSessionManager(
            make_server(service.engine, self._do),
            json_response=True,
            stateless=True,
            max_request_body_size=service.settings.max_body_bytes,
        )

    def run(self) -> AbstractAsyncContextManager[None]:
        """Return what must be open while requests come."""
        running: AbstractAsyncContextManager[None] = self._manager.run()
        return running

    async def enter(self, request: Request) -> Response:
        """Look at the key of a request, and hand it over.

        Raises
        ------
        RetrivexError
            If it brings no key where one is needed.
        """
        request.state.access = self._service.authorize(request)
        return _HandedOver(self._manager)

    async def _do(self, context: Context, job: Callable[[Access], Any]) -> Any:
        assert context.request is not None  # over HTTP, each message has its request
        access: Access = context.request.state.access
        with self._service.quotas.admit(access.key):
            return await self._service.work.do(job, access)


class _HandedOver(Response):
    """An answer that the manager writes."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        super().__init__()
        self._manager = manager

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._manager.handle_request(scope, receive, send)
