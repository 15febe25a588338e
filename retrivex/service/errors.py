"""What can go wrong in a request beside the library's own errors, each a kind of problem by RFC 9457."""

from __future__ import annotations

from retrivex.errors import RetrivexError


class RefusedError(RetrivexError):
    """A request that is refused.

    Attributes
    ----------
    status : of HTTP
    kind : in the `type` of the problem, `urn:retrivex:problem:KIND`
    title : of every problem of the kind
    """

    status = 422
    kind = "request"
    title = "The request breaks a rule"


class SyntaxProblemError(RefusedError):
    """A body is not UTF-8, not JSON, or no form."""

    status, kind, title = 400, "syntax", "The body cannot be read"


class TooLargeError(RefusedError):
    """A body has more bytes than the service reads."""

    status, kind, title = 413, "too-large", "The body is too large"


class MediaTypeError(RefusedError):
    """A body is of a type that is not read."""

    status, kind, title = 415, "media-type", "The body is of another type"


class LimitError(RefusedError):
    """A request asks for more than the service gives: hits, windows, characters, items of a batch."""

    status, kind, title = 422, "limit", "The request asks for too much"


class UnauthorizedError(RefusedError):
    """A request brings no key, or none that is known."""

    status, kind, title = 401, "unauthorized", "A key is needed"


class KeysError(RefusedError):
    """The file of keys is gone or cannot be read: whose keys are good cannot be said."""

    status, kind, title = 503, "keys", "Keys cannot be checked"


class AccessError(RefusedError):
    """A request names a scope that its key does not carry, or wants to write where nothing may be written."""

    status, kind, title = 403, "access", "The key does not allow this"


class ScopeNeededError(AccessError):
    """A document does not say which of the scopes of its key it gets."""

    kind, title = "scope", "The document needs a scope"


class OriginError(RefusedError):
    """A browser sent a request for a page of somebody else, or asked for a host that this is not."""

    status, kind, title = 403, "origin", "The request comes from elsewhere"


class NotFoundError(RefusedError):
    """There is no such index or document, or none that the key may see."""

    status, kind, title = 404, "not-found", "There is no such thing"


class CollectionError(RefusedError):
    """The vector store behind an index does not answer, or refuses."""

    status, kind, title = 503, "store", "The index does not answer"


class ConflictError(RefusedError):
    """What is to be written belongs to somebody else already."""

    status, kind, title = 409, "conflict", "The name is taken"


class BusyError(RefusedError):
    """The service has no room for a request now; asking again helps.

    Parameters
    ----------
    message : what is full
    retry_after_s : seconds to wait before it is asked again
    """

    status, kind, title = 503, "busy", "The service is busy"

    def __init__(self, message: str, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class RateError(BusyError):
    """A key asks too often, or has too many requests under way."""

    status, kind, title = 429, "rate", "Too many requests"
