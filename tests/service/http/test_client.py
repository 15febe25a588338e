"""Every operation of the client against a service that runs, for threads and for event loops."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.client_calls import KINDS, call_operation
from support.service_process import ServiceProcess
from support.service_world import make_index

from retrivex import Composition
from retrivex.errors import RetrivexError
from retrivex.service.answers import ListedIndex
from retrivex.service.keys import Keys

pytestmark = pytest.mark.integration

Ask = Callable[[Callable[[Any], Any]], Any]
QUESTION = "Who lays eggs?"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Return the address of a service, and a key of it that carries no scope."""
    folder = tmp_path_factory.mktemp("served")
    path = make_index(folder / "index.db")
    _, key = Keys(folder / "keys.db").create("tests")
    with ServiceProcess(folder, str(path)) as service:
        yield service.address, key


@pytest.fixture(params=KINDS)
def ask(request: pytest.FixtureRequest, served: tuple[str, str]) -> Ask:
    """Return a function that calls one operation, with one client and with the other."""
    url, key = served
    return lambda use: call_operation(request.param, {"url": url, "key": key}, use)


# ---- contexts


def test_a_question_gives_a_composition_whose_citations_resolve(ask: Ask) -> None:
    made = ask(lambda client: client.query(QUESTION, config={"token_budget": 50}, trace=True))
    assert isinstance(made, Composition)
    assert (made.token_budget, made.question) == (50, QUESTION)
    assert made.trace.steps
    for citation in made.resolve("[1]"):
        found = ask(lambda client, citation=citation: client.resolve(citation, around=5))
        assert found.text == made.text[citation.start : citation.end]
        assert found.doc_id == "bees.md"


def test_sub_questions_and_short_documents(ask: Ask) -> None:
    made = ask(lambda client: client.query("Tell me.", sub_questions=[QUESTION], whole_documents=100, trace=True))
    assert (made.questions, made.trace.selection["whole_documents"]) == ((QUESTION,), ["bees.md"])


# ---- documents


def test_documents_are_added_listed_and_deleted(ask: Ask, tmp_path: Path) -> None:
    path = tmp_path / "wasps.md"
    path.write_text("# Wasps\n\nWasps build nests of paper.", encoding="utf-8")
    [added] = ask(lambda client: client.add_document(path))
    assert (added.doc_id, added.result) == ("wasps.md", "added")
    [again] = ask(lambda client: client.add_document(path.read_bytes(), name="wasps.md"))
    assert again.result == "unchanged"
    first = ask(lambda client: client.list_documents(limit=1))
    assert ([document.doc_id for document in first.documents], first.next) == (["bees.md"], "bees.md")
    assert ask(lambda client: client.list_indexes()) == (ListedIndex("default", True, False),)
    page = ask(lambda client: client.list_documents(after="bees.md", scope=[None]))
    assert ([document.title for document in page.documents], page.next) == (["Wasps"], None)
    ask(lambda client: client.delete_document("wasps.md"))
    with pytest.raises(RetrivexError, match=r"there is no document 'wasps\.md'") as caught:
        ask(lambda client: client.delete_document("wasps.md"))
    assert (caught.value.status, caught.value.kind) == (404, "not-found")  # type: ignore[attr-defined]


# ---- many at once


def test_an_error_of_a_batch_belongs_to_its_item(ask: Ask) -> None:
    requests = [
        QUESTION,
        {"question": QUESTION, "index": "other"},
        {"question": QUESTION, "config": {"token_budget": 9}},
    ]
    first, second, third = ask(lambda client: client.query_batch(requests))
    assert "eggs" in first.unwrap().text
    assert (second.answer, second.error.status) == (None, 404)
    with pytest.raises(RetrivexError, match="there is no index 'other'"):
        second.unwrap()
    assert third.unwrap().token_budget == 9


def test_citations_are_looked_up_many_at_once(ask: Ask) -> None:
    made = ask(lambda client: client.query(QUESTION))
    [found] = ask(lambda client: client.resolve_batch({"citation": one, "around": 0} for one in made.citations))
    assert found.unwrap().text in made.text


# ---- operation


def test_it_is_ready_and_says_which_key_is_wrong(ask: Ask, served: tuple[str, str]) -> None:
    ask(lambda client: client.check_ready())
    wrong = f"{served[1][:-3]}abc"
    for kind in KINDS:
        with pytest.raises(RetrivexError, match="Authorization: Bearer KEY") as caught:
            call_operation(kind, {"url": served[0], "key": wrong}, lambda client: client.query(QUESTION))
        assert wrong not in str(caught.value)


def test_many_threads_and_tasks_share_a_client(served: tuple[str, str]) -> None:
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    from retrivex.service.client import AsyncClient, Client  # noqa: PLC0415

    url, key = served
    with Client(url, key=key) as client, ThreadPoolExecutor(4) as pool:
        texts = {made.text for made in pool.map(client.query, [QUESTION] * 8)}

    async def gather() -> set[str]:
        async with AsyncClient(url, key=key) as client:
            return {made.text for made in await asyncio.gather(*(client.query(QUESTION) for _ in range(8)))}

    assert asyncio.run(gather()) == texts
    assert len(texts) == 1


def test_an_application_in_the_same_process(make_client: Any) -> None:
    import httpx2  # noqa: PLC0415

    from retrivex.service.client import AsyncClient  # noqa: PLC0415

    transport = httpx2.ASGITransport(make_client().app)

    async def run() -> Composition:
        async with AsyncClient("http://localhost", transport=transport) as client:
            await client.check_ready()
            return await client.query(QUESTION)

    assert "eggs" in asyncio.run(run()).text


def test_the_client_has_every_operation_on_indexes(client: Any) -> None:
    from retrivex.service.client import AsyncClient, Client  # noqa: PLC0415

    document = client.get("/openapi.json").json()
    own = re.compile(r"/v1/(query|resolve|indexes|documents)(/batch)?")
    names = {
        operation["operationId"]
        for path, methods in document["paths"].items() if own.fullmatch(path)
        for operation in methods.values()
    }  # fmt: skip
    assert len(names) == 8
    for kind in (Client, AsyncClient):
        assert names | {"check_ready"} <= set(dir(kind))
