"""Clients that are given as what they are not."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from retrivex.adapters.base.clients import check_clients, either_client, is_url, split_url
from retrivex.errors import StoreError


class Client:
    pass


class AsyncClient:
    pass


GIVE = "a Client", "an AsyncClient"
one, other = Client(), AsyncClient()


def kind(client: Any) -> Literal["sync", "async"] | None:
    return "sync" if isinstance(client, Client) else "async" if isinstance(client, AsyncClient) else None


def test_the_first_may_be_either() -> None:
    assert either_client(one, None, kind, GIVE) == (one, None)
    assert either_client(one, other, kind, GIVE) == (one, other)
    assert either_client(other, None, kind, GIVE) == (None, other)


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
        either_client(client, async_client, kind, GIVE, ("from", "beside"))


@pytest.mark.parametrize(
    ("client", "async_client", "said"),
    [
        (None, None, "client is None: give a Client, or an AsyncClient as async_client=..."),
        (other, None, "client is AsyncClient: give a Client, or None and the async one as async_client=..."),
        (other, other, "client is AsyncClient: give a Client, or None and the async one as async_client=..."),
        ("url", None, "client is str: give a Client, or None beside async_client=..."),
        (None, one, "async_client is Client: give an AsyncClient, or None"),
        (one, one, "async_client is Client: give an AsyncClient, or None"),
    ],
)
def test_a_sync_client_an_async_one_or_both(client: Any, async_client: Any, said: str) -> None:
    with pytest.raises(StoreError) as raised:
        check_clients(client, async_client, kind, GIVE)
    assert str(raised.value) == said
    for pair in ((one, None), (None, other), (one, other)):
        check_clients(*pair, kind, GIVE)


def test_a_client_that_nobody_awaited_is_named_as_such() -> None:
    async def connect() -> AsyncClient:
        return other

    coming = connect()
    with pytest.raises(StoreError, match="client is a coroutine that nobody awaited: give a Client or an AsyncClient"):
        either_client(coming, None, kind, GIVE)
    coming.close()


@pytest.mark.parametrize("read", [is_url, split_url])
def test_an_address_with_what_no_address_has_is_refused_and_not_repeated(read: Any) -> None:
    with pytest.raises(StoreError, match=r"the address has white space, quotes, .* is not repeated here") as told:
        read("http://u:S3 CRET@h")
    assert "CRET" not in str(told.value)
