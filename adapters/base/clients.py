"""The clients of a store: sync, async, or one of each."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from retrivex.errors import StoreError, install_hint
from retrivex.text.addresses import find_fault, without_credentials


@contextmanager
def needs_client(adapter: str, client: str) -> Iterator[None]:
    """Name the extra of an adapter where an import fails; one of RetriVex' own that fails keeps its own error.

    Parameters
    ----------
    adapter : its name, which is that of the extra
    client : what the extra installs

    Raises
    ------
    ImportError
        If an import fails.
    """
    try:
        yield
    except ImportError as error:
        if (error.name or "").startswith("retrivex") or "retrivex-rag[" in str(error):
            raise
        raise ImportError(f"retrivex.adapters.{adapter} needs {client}: {install_hint(adapter)}") from error


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
    kinds: tuple[Sequence[str], Sequence[str]],
    give: tuple[str, str],
    called: tuple[str, str] = ("client", "async_client"),
) -> tuple[Any, Any]:
    """Return the sync and the async client, of which the first may be either; None for one that is not given.

    Parameters
    ----------
    client, async_client : as they were given; an async one beside a sync one, or None
    kinds : names of the classes of sync and of async clients: not every version of a package has all of them
    give : what a sync and an async client are, for errors
    called : the names of the two arguments

    Raises
    ------
    StoreError
        If there is neither, the first is neither, or the second is not an async one beside a sync one.
    """
    if async_client is not None and not _is_one_of(async_client, kinds[1]):
        raise StoreError(f"{called[1]} is {_describe(async_client)}: give {give[1]}, or None")
    if client is None and async_client is not None:
        return None, async_client
    if _is_one_of(client, kinds[1]):
        if async_client is not None:
            raise StoreError(
                f"{called[1]} is {_describe(async_client)} beside another async one: give {give[0]} as {called[0]}, "
                f"or no {called[1]}"
            )
        return None, client
    if not _is_one_of(client, kinds[0]):
        raise StoreError(f"{called[0]} is {_describe(client)}: give {give[0]} or {give[1]}")
    return client, async_client


def check_timeout(timeout_s: Any) -> float:
    """Return a time-out in seconds.

    Raises
    ------
    StoreError
        If it is no positive number.
    """
    if isinstance(timeout_s, bool) or not isinstance(timeout_s, (int, float)) or not 0 < timeout_s <= 1e6:
        raise StoreError(f"timeout_s is {timeout_s!r}: it must be a number of seconds above 0")
    return timeout_s


def check_limit(name: str, limit: int | None) -> None:
    """Refuse a number of hits or spans that is none.

    Raises
    ------
    StoreError
        If it is no whole number of at least 1, and not None.
    """
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise StoreError(f"{name} is {limit!r}: it must be a whole number of at least 1, or None")


def _is_one_of(client: Any, names: Sequence[str]) -> bool:
    return any(kind.__name__ in names for kind in type(client).__mro__)


def _describe(client: Any) -> str:
    return "a coroutine that nobody awaited" if inspect.iscoroutine(client) else type(client).__name__
