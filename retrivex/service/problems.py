"""Problem documents (RFC 9457): what an error is to who asked."""

from __future__ import annotations

import errno
import math
import os
import sqlite3
from dataclasses import dataclass, field
from typing import Any

from retrivex.errors import EncoderError, EndpointError, RerankError, RetrivexError, StoreError, StoreTimeoutError
from retrivex.service.errors import BusyError, RefusedError

MEDIA_TYPE = "application/problem+json"
MOST_DETAIL = 2000
"""Characters of a detail: an error may quote what was sent, which may be long."""

RETRY_S = 1.0
"""Seconds to wait where nothing better is known."""

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
"""Errors of the system that say that something is full: the disk, the table of open files, the memory."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem document.

    Parameters
    ----------
    status : of HTTP
    kind : in the `type`, `urn:retrivex:problem:KIND`
    title : of every problem of the kind
    detail : the value, the rule, the way out
    headers : that go with it
    """

    status: int
    kind: str
    title: str
    detail: str
    headers: dict[str, str] = field(default_factory=dict)

    def to_dict(self, request_id: str | None = None) -> dict[str, Any]:
        """Return it as plain JSON types."""
        made = {"type": f"urn:retrivex:problem:{self.kind}", "title": self.title, "status": self.status}
        detail = self.detail if len(self.detail) <= MOST_DETAIL else f"{self.detail[: MOST_DETAIL - 1]}…"
        return {**made, "detail": detail, **({} if request_id is None else {"request_id": request_id})}


def problem_of(error: Exception) -> Problem:
    """Return what an error is to who asked; of one that nobody foresaw, no more than that there was one.

    Examples
    --------
    >>> from retrivex.service.errors import LimitError
    >>> problem_of(LimitError("k is 5000: ...")).status, problem_of(KeyError("secret")).detail
    (422, 'something failed that should not have: the log of the service has it under the id of this request')
    """
    if isinstance(error, RefusedError):
        return Problem(error.status, error.kind, error.title, str(error), _headers(error))
    gone = isinstance(error.__cause__, sqlite3.Error) or "is closed" in str(error)
    if isinstance(error, StoreTimeoutError) or (isinstance(error, StoreError) and gone):
        # the file, not the request: its own words name the index, not where it lies
        return Problem(503, "store", "The index does not answer", str(error), _retry(RETRY_S))
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        # not its whole words, which name a file of the machine
        detail = f"the machine of the service says {os.strerror(error.errno)!r}: make room there, and send it again"
        return Problem(503, "full", "The machine of the service is full", detail, _retry(RETRY_S))
    if isinstance(error, EncoderError | EndpointError | RerankError):
        return Problem(503, "model", "A model does not answer", str(error), _retry(RETRY_S))
    if isinstance(error, RetrivexError | UnicodeEncodeError):
        return Problem(RefusedError.status, RefusedError.kind, RefusedError.title, str(error))
    detail = "something failed that should not have: the log of the service has it under the id of this request"
    return Problem(500, "internal", "The service failed", detail)


def _headers(error: RefusedError) -> dict[str, str]:
    if error.status == 401:
        return {"WWW-Authenticate": "Bearer"}
    if error.status in (429, 503):
        return _retry(error.retry_after_s if isinstance(error, BusyError) else RETRY_S)
    return {}


def _retry(seconds: float) -> dict[str, str]:
    return {"Retry-After": str(max(1, math.ceil(seconds)))}
