"""What an error of a client means, by what clients have in common: statuses of HTTP and gRPC, and names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

Failure: TypeAlias = Literal["timeout", "down", "refused"]
"""`timeout`: no answer in time; `down`: asking again may help; `refused`: it will not."""

_DOWN = ("connect", "transport", "unavailable", "ratelimit", "exhausted")
"""In names of errors that may pass."""

_CODES: dict[str, Failure] = {
    "DEADLINE_EXCEEDED": "timeout",
    "UNAVAILABLE": "down",
    "RESOURCE_EXHAUSTED": "down",
    "INTERNAL": "down",
}


def failure_of(error: BaseException) -> Failure:
    """Say what an error means, by itself or by what it comes from.

    Examples
    --------
    >>> failure_of(ConnectionRefusedError()), failure_of(TimeoutError()), failure_of(ValueError("no such field"))
    ('down', 'timeout', 'refused')
    """
    return next((found for one in _causes(error) if (found := _failure(one)) is not None), "refused")


def _causes(error: BaseException) -> Iterator[BaseException]:
    here: Any = error
    while isinstance(here, BaseException):
        yield here
        here = getattr(here, "source", None) or here.__cause__ or here.__context__


def _failure(error: Any) -> Failure | None:
    code = getattr(error, "code", None)
    status: Any = code() if callable(code) else getattr(error, "status_code", None)
    if hasattr(status, "name") and not isinstance(status, int):  # of gRPC
        return _CODES.get(status.name, "refused")
    status = getattr(getattr(error, "response", None), "status_code", None) if status is None else status
    if isinstance(status, int):
        return "timeout" if status in (408, 504) else "down" if status == 429 or status >= 500 else "refused"
    kinds = [kind.__name__.lower() for kind in type(error).__mro__]
    if any("timeout" in kind for kind in kinds):
        return "timeout"
    return "down" if isinstance(error, OSError) or any(word in kind for kind in kinds for word in _DOWN) else None
