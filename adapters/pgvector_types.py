"""Types of PostgreSQL's columns: which values they can hold, and how they write them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from uuid import UUID

UNREADABLE = frozenset({"bytea", "tsvector", "vector", "halfvec", "sparsevec", "bit"})
"""Types of columns that are no metadata."""

_LARGEST = {"smallint": 2**15 - 1, "integer": 2**31 - 1, "bigint": 2**63 - 1}
_DECIMALS = frozenset({"numeric", "real", "double precision"})
_TEXTS = frozenset({"text", "character varying", "bpchar", "citext"})

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,18}")  # 007 is a text
_DECIMAL = re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,30})?")


@dataclass(frozen=True, slots=True)
class Column:
    """A column: `type` as PostgreSQL writes it, `kind` its bare name, `schema` where the type lives.

    A domain counts as the type that it is made of. `labels` are those of an enumeration.
    """

    type: str
    kind: str
    schema: str
    labels: frozenset[str] = frozenset()

    @property
    def compared(self) -> str:
        """The type that values are compared in, so that an index is of use; text where any value might be an error."""
        known = self.type in _LARGEST or self.type in _DECIMALS or self.type in _TEXTS or self.type == "uuid"
        return self.type if known or self.labels else "text"

    def holds(self, value: str) -> bool:
        """Whether there can be such a value at all: asking for one that cannot is an error in PostgreSQL."""
        if self.labels:
            return value in self.labels
        if self.type == "uuid":
            return _uuid(value) is not None
        if self.type in _LARGEST:
            return _WHOLE.fullmatch(value) is not None and -_LARGEST[self.type] <= int(value) <= _LARGEST[self.type]
        if self.type in _DECIMALS:
            return _DECIMAL.fullmatch(value) is not None
        return "\0" not in value and _is_unicode(value)

    def written(self, value: str) -> str:
        """Return a value as PostgreSQL writes it: UUIDs in lower case with hyphens, `char(n)` without its blanks.

        Examples
        --------
        >>> Column("uuid", "uuid", "pg_catalog").written("DEEECC42-0126-56BF-BB32-3183C996D907")
        'deeecc42-0126-56bf-bb32-3183c996d907'
        """
        if self.type == "uuid":
            return str(_uuid(value) or value)
        return value.rstrip(" ") if self.type == "bpchar" else value


def _uuid(value: str) -> UUID | None:
    try:
        return UUID(value)
    except ValueError:
        return None


def _is_unicode(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:  # half a surrogate pair
        return False
    return True
