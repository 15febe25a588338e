"""The clients of a store: sync, async, or one of each."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from retrivex.errors import StoreError
from retrivex.text.addresses import find_fault, without_credentials

Kind: TypeAlias = Callable[[Any], Literal["sync", "async"] | None]
"""Says which of a store's two clients something is; None where it is neither."""


def is_url(address: str) -> bool:
    """Whether an address is that of a server, and not of a folder or file.

    Raises
    ------
    StoreError
        If it has in it what no address has.
    """
    served = address.startswith(("http://", "https://"))
    if served:
        _check_signs(address)
    return served


def split_url(address: str) -> tuple[str, int, bool]:
    """Return the host, the port (443 or 80 by default), and whether the connection is encrypted.

    Raises
    ------
    StoreError
        If there is no host in it, or what no address has.
    """
    _check_signs(address)
    parts = urlsplit(address)
    if not parts.hostname:
        raise StoreError(f"{without_credentials(address)!r} is no URL: give one like http://localhost:8000")
    secure = parts.scheme == "https"
    return parts.hostname, parts.port or (443 if secure else 80), secure


def _check_signs(address: str) -> None:
    if fault := find_fault(address):
        raise StoreError(f"the address {fault}")


def either_client(
    client: Any,
    async_client: Any,
    kind: Kind,
    give: tuple[str, str],
    called: tuple[str, str] = ("client", "async_client"),
) -> tuple[Any, Any]:
    """Return the sync and the async client, of which the first may be either; None for one that is not given.

    Parameters
    ----------
    client, async_client : as they were given; an async one beside a sync one, or None
    kind : which one something is
    give : what a sync and an async client are, for errors
    called : the names of the two arguments

    Raises
    ------
    StoreError
        If the first is neither, or the second is not an async one beside a sync one.
    """
    which = kind(client)
    if which is None:
        raise StoreError(f"{called[0]} is {_describe(client)}: give {give[0]} or {give[1]}")
    if async_client is None:
        return (client, None) if which == "sync" else (None, client)
    if kind(async_client) != "async":
        raise StoreError(f"{called[1]} is {_describe(async_client)}: give {give[1]}, or None")
    if which == "async":
        raise StoreError(
            f"{called[1]} is {_describe(async_client)} beside another async one: give {give[0]} as {called[0]}, or no "
            f"{called[1]}"
        )
    return client, async_client


def check_clients(client: Any, async_client: Any, kind: Kind, give: tuple[str, str]) -> None:
    """Check a sync client, an async one, or both.

    Raises
    ------
    StoreError
        If there is neither, or one is not what it should be.
    """
    if client is None and async_client is None:
        raise StoreError(f"client is None: give {give[0]}, or {give[1]} as async_client=...")
    if client is not None and kind(client) == "async":
        raise StoreError(
            f"client is {_describe(client)}: give {give[0]}, or None and the async one as async_client=..."
        )
    if client is not None and kind(client) is None:
        raise StoreError(f"client is {_describe(client)}: give {give[0]}, or None beside async_client=...")
    if async_client is not None and kind(async_client) != "async":
        raise StoreError(f"async_client is {_describe(async_client)}: give {give[1]}, or None")


def _describe(client: Any) -> str:
    return "a coroutine that nobody awaited" if inspect.iscoroutine(client) else type(client).__name__
