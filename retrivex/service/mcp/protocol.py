"""A server of the protocol: what it offers, each request handed to the engine, each error to whoever asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, TypeVar

from retrivex.errors import install_hint, quoted
from retrivex.service.access import Access
from retrivex.service.bodies import DEFAULT_INDEX
from retrivex.service.engine import Engine
from retrivex.service.logs import LOGGER
from retrivex.service.mcp import tools
from retrivex.service.mcp.citations import write_uri
from retrivex.service.problems import problem_of
from retrivex.version import __version__

try:
    from mcp import types
    from mcp.server import Server
    from mcp.server.context import ServerRequestContext
    from mcp.shared.exceptions import MCPError
except ImportError as error:
    raise ImportError(f"the Model Context Protocol needs packages of its own: {install_hint('serve')}") from error

T = TypeVar("T")
Context: TypeAlias = "ServerRequestContext[Any, Any]"
Run: TypeAlias = Callable[[Context, Callable[[Access], Any]], Awaitable[Any]]
"""Does a job in a thread, with what its request may see: how a transport knows is its own business."""

_PAGE = 100  # documents of one page of a list
_READS = types.ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
_TEXT = "text/plain"


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
        on_list_resources=offers.list_resources,
        on_read_resource=offers.read_resource,
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
            made = await self._run(context, lambda access: tool.call(self._engine, given, access))
        except Exception as error:  # noqa: BLE001 - of a tool every error goes to the model, which can ask better
            return types.CallToolResult(content=[types.TextContent(text=_explain(error))], is_error=True)
        meta = {f"retrivex/{name}": value for name, value in made.meta.items()}
        return types.CallToolResult(content=[types.TextContent(text=made.text)], _meta=meta)

    async def list_resources(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        cursor = params.cursor if params is not None else None
        return await self._ask(context, lambda access: self._list_page(cursor, access))

    def _list_page(self, after: str | None, access: Access) -> types.ListResourcesResult:
        # without keys, documents of tenants are not shown: nothing here could open them
        scope: list[str | None] | None = [None] if access.scopes is None else None
        found = []
        if self._engine.index().keeps_documents:
            found = self._engine.list_documents(access, scope=scope, after=after or "", most=_PAGE)
        resources = [
            types.Resource(
                uri=write_uri(DEFAULT_INDEX, info.doc_id), name=info.doc_id, title=info.title, mime_type=_TEXT
            )
            for info in found
        ]
        following = found[-1].doc_id if len(found) == _PAGE else None
        return types.ListResourcesResult(resources=resources, next_cursor=following)

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        text = await self._ask(context, lambda access: tools.read_resource(self._engine, uri, access))
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=_TEXT, text=text)])

    async def _ask(self, context: Context, job: Callable[[Access], T]) -> T:
        """Return what a job returns; what goes wrong becomes an error of the protocol."""
        try:
            made: T = await self._run(context, job)
        except Exception as error:  # noqa: BLE001 - the last catch: everything becomes one error of the protocol
            problem = problem_of(error)
            code = types.INTERNAL_ERROR if problem.status >= 500 else types.INVALID_PARAMS
            raise MCPError(code, _explain(error), problem.to_dict()) from None
        return made


def _explain(error: Exception) -> str:
    """Return what is said of an error: value, rule, way out, and when to ask again; of an unforeseen one nothing."""
    problem = problem_of(error)
    if problem.status == 500:
        LOGGER.error("failed", exc_info=error)
    wait = problem.headers.get("Retry-After")
    return problem.detail if wait is None else f"{problem.detail} (ask again in {wait} s)"
