"""Arguments that are read only once, when an object is created."""

from __future__ import annotations

from typing import Any, ClassVar

from retrivex.errors import RetrivexError


class FixedArguments:
    """Refuses to change an argument after creation, when it would have no effect."""

    _fixed: ClassVar[frozenset[str]]

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._fixed:
            kind = type(self).__name__
            raise RetrivexError(f"{name} of a {kind} cannot be set later: make a new one, {kind}({name}=...)")
        super().__setattr__(name, value)
