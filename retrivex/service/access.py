"""Who asks, and what they may see: a request narrows the scopes of its key, and never widens them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from retrivex.errors import quoted
from retrivex.model.chunk import Scope, allowed_scopes
from retrivex.service.errors import AccessError, ScopeNeededError


@dataclass(frozen=True, slots=True)
class Access:
    """What a key may see.

    Parameters
    ----------
    key : id of the key; None where nobody needs one
    scopes : scopes that it carries, None among them for what has no scope; None in place of all: every scope, as its
        requests name them

    Examples
    --------
    >>> acme = Access("k1", frozenset({"acme", None}))
    >>> acme.narrow("acme") == {"acme"}, acme.narrow(None) == {"acme", None}
    (True, True)
    >>> acme.narrow("wayne")
    Traceback (most recent call last):
    retrivex.service.errors.AccessError: scope 'wayne' is none of this key: ...
    """

    key: str | None = None
    scopes: frozenset[str | None] | None = None

    def narrow(self, asked: str | Collection[str | None] | None) -> Scope:
        """Return the scope of a request: what it asks for, or all of the key where it asks for nothing.

        Raises
        ------
        AccessError
            If it asks for a scope that the key does not carry.
        """
        if self.scopes is None:
            return allowed_scopes(asked)
        if asked is None:
            return self.scopes
        wanted = allowed_scopes(asked)
        beyond = sorted(quoted(scope) for scope in wanted - self.scopes)
        if beyond:
            raise AccessError(f"scope {beyond[0]} is none of this key: leave it out, or name one that the key carries")
        return wanted

    def owner(self, asked: str | None) -> str | None:
        """Return the one scope that a new document gets.

        Raises
        ------
        AccessError
            If the key does not carry it, or carries several and none is named.
        """
        if asked is not None:
            self.narrow(asked)
            return asked
        if self.scopes is None or None in self.scopes:
            return None
        if len(self.scopes) > 1:
            raise ScopeNeededError(
                f"this key carries {len(self.scopes)} scopes: say which one the document gets, as scope"
            )
        (only,) = self.scopes
        return only
