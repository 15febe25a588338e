"""Requests to Elasticsearch and OpenSearch, and the contents of their answers."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from retrivex.adapters.base.collection import Failure, Nearest, Records


@dataclass(frozen=True, slots=True)
class Matching(Nearest):
    """Request for the `k` records whose words match a question best, by BM25; the vector is ignored.

    Parameters
    ----------
    question : as it was asked
    """

    question: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """One request to the server: the client's method and its arguments.

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
    """A part of a request failed, although the request as a whole succeeded.

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


# ---- answers


def whole(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an answer that is part of another.

    Raises
    ------
    PartFailedError
        If it is an error.
    """
    if "error" not in part:
        return part
    error = part["error"]
    raise PartFailedError(int(part.get("status", 500)), str(error.get("reason", error)))


def as_vector(values: Any) -> NDArray[np.float32] | None:
    """Return a vector of shape (d,), also one that came in a list of one; None where there is none."""
    made = np.asarray([] if values is None else values, dtype=np.float32)
    made = made[0] if made.ndim == 2 and len(made) == 1 else made
    return made if made.ndim == 1 and len(made) else None


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return `{path: value}` as an object whose paths these are."""
    made: dict[str, Any] = {}
    for path, value in values.items():
        *above, name = path.split(".")
        inner = made
        for part in above:
            inner = inner.setdefault(part, {})
        inner[name] = value
    return made


def refusal(answer: Mapping[str, Any]) -> str | None:
    """Say which records of a bulk request were not written, and why; None where all of them were."""
    refused = [item["update"] for item in answer["items"] if "error" in item["update"]]
    if not refused:
        return None
    first = refused[0]
    return (
        f"{len(refused)} of {len(answer['items'])} records were not written, the first of them "
        f"{first['_id']!r}: {first['error'].get('reason', first['error'])}"
    )
