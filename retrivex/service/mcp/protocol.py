"""A server of the protocol: what it offers, each request handed to the engine, each error to whoever asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from retrivex.errors import install_hint, quoted
from retrivex.service.access import Access
from retrivex.service.engine import Engine
from retrivex.service.logs import LOGGER
from retrivex.service.mcp import tools
from retrivex.service.problems import problem_of
from retrivex.version import __version__

try:
    from mcp import types
    from mcp.server import Server
    from mcp.server.context import ServerRequestContext
    from mcp.shared.exceptions import MCPError
except ImportError as error:
    raise ImportError(f"the Model Context Protocol needs packages of its own: {install_hint('serve')}") from error

Context: TypeAlias = "ServerRequestContext[Any, Any]"
Run: TypeAlias = Callable[[Context, Callable[[Access], Any]], Awaitable[Any]]
"""Does a job in a thread, with what its request may see: how a transport knows is its own business."""

_READS = types.ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)


def make_server(engine: Engine, run: Run) -> Server[Any]:
    """Return a server over an engine.

    Parameters
    ----------
    engine : that answers
    run : does a job of a request
    """
    offers = _Offers(engine, run)
    server: Server[Any] = Server(
        "retrivex",
        version=__version__,
        title="RetriVex",
        instructions=tools.INSTRUCTIONS,
        on_list_tools=offers.list_tools,
        on_call_tool=offers.call_tool,
    )
    # its tracing puts names that clients send, and messages of errors, into spans; the composer's spans have no text
    server.middleware.clear()
    return server


class _Offers:
    """The handlers of a server."""

    def __init__(self, engine: Engine, run: Run) -> None:
        self._engine = engine
        self._run = run

    async def list_tools(self, _: Context, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=name,
                    title=tool.title,
                    description=tool.description,
                    input_schema=tools.input_schema(tool.arguments, self._engine),
                    annotations=_READS,
                )
                for name, tool in tools.TOOLS.items()
            ]
        )

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = tools.TOOLS.get(params.name)
        if tool is None:
            raise MCPError(
                types.INVALID_PARAMS, f"there is no tool {quoted(params.name)}: call {' or '.join(tools.TOOLS)}"
            )
        given = params.arguments or {}
        try:
            text = await self._run(context, lambda access: tool.call(self._engine, given, access))
        except Exception as error:  # noqa: BLE001 - of a tool every error goes to the model, which can ask better
            return types.CallToolResult(content=[types.TextContent(text=_explain(error))], is_error=True)
        return types.CallToolResult(content=[types.TextContent(text=text)])


def _explain(error: Exception) -> str:
    """Return what is said of an error: value, rule, way out, and when to ask again; of an unforeseen one nothing."""
    problem = problem_of(error)
    if problem.status == 500:
        LOGGER.error("failed", exc_info=error)
    wait = problem.headers.get("Retry-After")
    return problem.detail if wait is None else f"{problem.detail} (ask again in {wait} s)"
