"""What can go wrong in a request beside the library's own errors, each a kind that an interface translates."""

from __future__ import annotations

from retrivex.errors import RetrivexError


class LimitError(RetrivexError):
    """A request asks for more than the service gives: hits, windows, characters, items of a batch."""


class AccessError(RetrivexError):
    """A request names a scope that its key does not carry, or wants to write where nothing may be written."""


class NotFoundError(RetrivexError):
    """There is no such index or document, or none that the key may see."""


class ConflictError(RetrivexError):
    """What is to be written belongs to somebody else already."""


class BusyError(RetrivexError):
    """The service has no room for a request now; asking again helps.

    Parameters
    ----------
    message : what is full
    retry_after_s : seconds to wait before it is asked again
    """

    def __init__(self, message: str, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class RateError(BusyError):
    """A key asks too often, or has too many requests under way."""
