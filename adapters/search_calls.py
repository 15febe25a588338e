"""Requests to Elasticsearch and OpenSearch, before a client sends them, and what went wrong with them."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from .collection import Failure, Nearest, Records


@dataclass(frozen=True, slots=True)
class Matching(Nearest):
    """The `k` records whose words match a question best, by BM25; the vector counts for nothing.

    Parameters
    ----------
    question : as it was asked
    """

    question: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """One request to the server: what is asked of the client, and its arguments.

    Parameters
    ----------
    kind : `mapping`, `search`, `searches` (several in one request), `open` (a point in time), `write`
    body : as the server takes it
    """

    kind: Literal["mapping", "search", "searches", "open", "write"]
    body: Any = None


Steps: TypeAlias = Generator[Call, Any, Records]
"""Calls one after another, each answered before the next; in the end what they found."""


class PartFailedError(Exception):
    """A part of a request failed, although the request itself did not.

    Parameters
    ----------
    status : as HTTP has it
    reason : as the server says it
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(f"{reason} ({status})")
        self.status = status


def failure_of(status: int) -> Failure:
    """Say what an HTTP status means for asking again."""
    if status == 408:
        return "timeout"
    return "down" if status == 429 or status >= 502 else "refused"
