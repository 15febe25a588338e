"""What a client of the protocol sees, over standard input and output and over HTTP alike."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from support.service_world import BEES, make_index

from retrivex.stores import SQLiteStore

pytest.importorskip("mcp")

import anyio
from mcp import MCPError

from .clients import over_http, over_stdio, serving, text_of

pytestmark = pytest.mark.integration

Connect: TypeAlias = Callable[..., AbstractAsyncContextManager[Any]]
EGGS = "Who lays eggs?"


@pytest.fixture(params=["stdio", "http"])
def connect(request: pytest.FixtureRequest, tmp_path: Path) -> Connect:
    """Return what connects a client with the index of the test."""

    @asynccontextmanager
    async def made(mode: str = "auto") -> AsyncIterator[Any]:
        if request.param == "stdio":
            async with over_stdio(tmp_path, str(tmp_path / "index.db"), mode=mode) as client:
                yield client
        else:
            async with serving(tmp_path) as app, over_http(app, mode=mode) as client:
                yield client

    return made


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_search_then_open(connect: Connect, tmp_path: Path, mode: str) -> None:
    make_index(tmp_path / "index.db")

    async def ask() -> None:
        async with connect(mode) as client:
            offered = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert set(offered) == {"search", "open"}
            assert all(tool.annotations.read_only_hint for tool in offered.values())
            assert set(offered["search"].input_schema["properties"]) == {"question", "budget", "sub_questions"}
            found = await client.call_tool("search", {"question": EGGS, "budget": 100})
            assert not found.is_error
            assert text_of(found).startswith(f"[1] {BEES}\n")
            assert "\n[1] bees.md#" in text_of(found)
            renamed = await client.call_tool("search", {"query": EGGS, "budget": 100})
            assert text_of(renamed) == text_of(found)
            opened = await client.call_tool("open", {"citation": "bees.md#20-41", "around": 10})
            assert text_of(opened) == f"bees.md#10-51, of {len(BEES)} characters:\n\n{BEES[10:51]}"

    anyio.run(ask)


def test_what_is_wrong_is_told_to_the_model_and_the_next_call_works(connect: Connect, tmp_path: Path) -> None:
    make_index(tmp_path / "index.db")
    wrong: list[tuple[str, dict[str, Any], str]] = [
        ("search", {}, "'question' is missing: it must be given"),
        ("search", {"question": ""}, "question is ''"),
        ("search", {"question": 5}, "question is 5: it should be a valid string"),
        ("search", {"question": EGGS, "budget": 0}, "budget is 0: it should be greater than or equal to 1"),
        ("search", {"question": EGGS, "budget": "many"}, "budget is 'many': it should be a valid integer"),
        ("search", {"question": EGGS, "budget": 10**9}, "the limit of this service is 200,000 tokens"),
        (
            "search",
            {"question": EGGS, "scope": "acme"},
            "the key 'scope' is unknown: known are question, budget, sub_questions, index",
        ),
        ("search", {"question": EGGS, "index": "other"}, "there is no index 'other': this service has default"),
        ("search", {"question": "x" * 1_000_001}, "a text has 1,000,001 characters: the limit is 1,000,000"),
        ("open", {"citation": "[1]"}, "it must name a document and characters, such as leave.md#10-20"),
        ("open", {"citation": "bees.md#0-9999"}, "characters 0-9,999 are outside 'bees.md', which has"),
        ("open", {"citation": "bees.md#20-10"}, "characters 20-10 end before they start"),
        ("open", {"citation": "bees.md#chunk-99"}, "document 'bees.md' has no chunk 99, it has chunks 0 to"),
        ("open", {"citation": "wasps.md#0-5"}, "there is no document 'wasps.md'"),
        ("open", {"citation": "acme:plan.md#0-5"}, "there is no document 'acme:plan.md'"),
        ("open", {"citation": "bees.md#0-5", "around": 10**6}, "around is 1000000: it should be less than"),
    ]
    broken: list[tuple[str, tuple[Any, ...], str]] = [
        ("call_tool", ("destroy", {}), "there is no tool 'destroy': call search or open")
    ]

    async def ask() -> None:
        async with connect() as client:
            for tool, arguments, words in wrong:
                answer = await client.call_tool(tool, arguments)
                assert answer.is_error, (tool, arguments)
                assert words in text_of(answer)
            for method, given, words in broken:
                with pytest.raises(MCPError) as error:
                    await getattr(client, method)(*given)
                assert words in error.value.message
            assert "eggs" in text_of(await client.call_tool("search", {"question": EGGS}))

    anyio.run(ask)


def test_an_empty_index_finds_nothing_and_says_so(connect: Connect, tmp_path: Path) -> None:
    SQLiteStore(tmp_path / "index.db").close()

    async def ask() -> None:
        async with connect() as client:
            found = await client.call_tool("search", {"question": EGGS})
            assert not found.is_error
            assert text_of(found).startswith(
                "No passage was found.\nnothing found: no chunk has a word of the question"
            )
            assert (await client.call_tool("open", {"citation": "bees.md#0-5"})).is_error

    anyio.run(ask)
