"""What can go wrong in a request beside the library's own errors, each a kind that an interface translates."""

from __future__ import annotations

from retrivex.errors import RetrivexError


class SyntaxProblemError(RetrivexError):
    """A body is not UTF-8, not JSON, or no form."""


class SlowBodyError(RetrivexError):
    """A body does not come in time."""


class TooLargeError(RetrivexError):
    """A body has more bytes than the service reads."""


class MediaTypeError(RetrivexError):
    """A body is of a type that is not read."""


class LimitError(RetrivexError):
    """A request asks for more than the service gives: hits, windows, characters, items of a batch."""


class UnauthorizedError(RetrivexError):
    """A request brings no key, or none that is known."""


class KeysError(RetrivexError):
    """The file of keys is gone: whose keys are good cannot be said."""


class AccessError(RetrivexError):
    """A request names a scope that its key does not carry, or wants to write where nothing may be written."""


class ScopeNeededError(AccessError):
    """A document does not say which of the scopes of its key it gets."""


class OriginError(RetrivexError):
    """A browser sent a request for a page of somebody else, or asked for a host that this is not."""


class NotFoundError(RetrivexError):
    """There is no such index or document, or none that the key may see."""


class CollectionError(RetrivexError):
    """The vector store behind an index does not answer, or refuses."""


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


class DrainingError(BusyError):
    """The service ends: what it has begun it finishes, and takes nothing new."""
