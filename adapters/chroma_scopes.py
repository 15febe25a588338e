"""Whom records of a Chroma collection belong to: Chroma cannot ask for those without a scope."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .chroma_answers import METADATA
from .chroma_where import Where, has_not, has_scopes
from .collection import Record, Scopes
from .fields import FieldMap

_MOST_OTHERS = 1000


@dataclass(frozen=True, slots=True)
class ScopeFilter:
    """Says who may see a record, and remembers scopes that were in the way of a question.

    Parameters
    ----------
    fields : names in records; without one for the scope, everybody sees everything
    others : the scopes remembered, shared between filters of one collection
    """

    fields: FieldMap
    others: dict[Any, None]

    def is_partial(self, scopes: Scopes) -> bool:
        """Say whether Chroma cannot ask for all that `scopes` may see, and gives what belongs to others too."""
        return bool(self.fields.scope) and None in scopes

    def conditions(self, scopes: Scopes) -> list[Where]:
        """Return what Chroma can be asked for."""
        asks = bool(self.fields.scope) and not self.is_partial(scopes)
        return [has_scopes(self.fields.scope[0], scopes)] if asks else []

    def out_of_the_way(self, scopes: Scopes) -> list[Where]:
        """Return the conditions that leave out those others who are known, where Chroma cannot leave out all."""
        others = [scope for scope in list(self.others) if str(scope) not in scopes]
        return has_not(self.fields.scope[0], others) if self.is_partial(scopes) else []

    def visible(self, records: Iterable[Record], scopes: Scopes) -> list[Record]:
        """Return the records that the caller may see."""
        return [record for record in records if self._is_visible(record, scopes)]

    def learn(self, records: Iterable[Record], scopes: Scopes) -> bool:
        """Remember whose records were in the way; say whether there is anybody new, so that it pays to ask again."""
        known = len(self.others)
        for record in records:
            scope = self._scope(record)
            if not self._is_visible(record, scopes) and isinstance(scope, (str, int, float)) and known < _MOST_OTHERS:
                self.others[scope] = None
        return len(self.others) > known

    def _is_visible(self, record: Record, scopes: Scopes) -> bool:
        if not self.fields.scope:
            return True
        scope = self._scope(record)
        return (None if scope is None else str(scope)) in scopes

    def _scope(self, record: Record) -> Any:
        return self.fields.read(record.payload[METADATA], "scope")
