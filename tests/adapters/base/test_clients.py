"""Clients that are given as what they are not."""

from __future__ import annotations

from typing import Any

import pytest

from retrivex.adapters.base.clients import either_client, is_url, needs_client, split_url
from retrivex.errors import StoreError


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ImportError("No module named 'psycopg'", name="psycopg"), "retrivex.adapters.pgvector needs psycopg 3: pip"),
        (ImportError("no pq wrapper available"), "retrivex.adapters.pgvector needs psycopg 3: pip"),
        (
            ImportError("cannot import name 'x' from 'psycopg' (/home/me/retrivex/.venv/x.py)", name="psycopg"),
            r"needs psycopg 3: .*retrivex-rag\[pgvector\]",
        ),
        # what is broken here, or has an extra of its own, says so itself
        (ImportError("cannot import name 'T'", name="retrivex.adapters.pgvector.table"), "^cannot import name 'T'$"),
        (ImportError("caching needs cachetools: pip install 'retrivex-rag[cache]'"), "^caching needs cachetools"),
    ],
)
def test_an_import_that_fails_names_what_is_missing(error: ImportError, said: str) -> None:
    with pytest.raises(ImportError, match=said), needs_client("pgvector", "psycopg 3"):
        raise error


class Client:
    pass


class AsyncClient:
    pass


GIVE = "a Client", "an AsyncClient"
one, other = Client(), AsyncClient()


KINDS = ("Client",), ("AsyncClient",)


def test_the_first_may_be_either() -> None:
    assert either_client(one, None, KINDS, GIVE) == (one, None)
    assert either_client(one, other, KINDS, GIVE) == (one, other)
    assert either_client(other, None, KINDS, GIVE) == (None, other)
    assert either_client(None, other, KINDS, GIVE) == (None, other)


@pytest.mark.parametrize(
    ("client", "async_client", "said"),
    [
        (None, None, "from is NoneType: give a Client or an AsyncClient"),
        ("url", other, "from is str: give a Client or an AsyncClient"),
        (one, one, "beside is Client: give an AsyncClient, or None"),
        (other, one, "beside is Client: give an AsyncClient, or None"),
        (other, other, "beside is AsyncClient beside another async one: give a Client as from, or no beside"),
    ],
)
def test_either_but_not_anything(client: Any, async_client: Any, said: str) -> None:
    with pytest.raises(StoreError, match=f"^{said}$"):
        either_client(client, async_client, KINDS, GIVE, ("from", "beside"))


def test_a_client_that_nobody_awaited_is_named_as_such() -> None:
    async def connect() -> AsyncClient:
        return other

    coming = connect()
    with pytest.raises(StoreError, match="client is a coroutine that nobody awaited: give a Client or an AsyncClient"):
        either_client(coming, None, KINDS, GIVE)
    coming.close()


@pytest.mark.parametrize("read", [is_url, split_url])
def test_an_address_with_what_no_address_has_is_refused_and_not_repeated(read: Any) -> None:
    with pytest.raises(StoreError, match=r"the address has white space, quotes, .* is not repeated here") as told:
        read("http://u:S3 CRET@h")
    assert "CRET" not in str(told.value)
