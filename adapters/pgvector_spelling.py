"""Ids, documents and scopes as they were asked for: PostgreSQL writes some in its own way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .pgvector_table import Field


@dataclass(frozen=True, slots=True)
class Spelling:
    """What values are called by whoever asked, such as UUIDs in upper case.

    Parameters
    ----------
    ids : by what PostgreSQL writes
    columns : the same for the values of columns
    """

    ids: Mapping[str, str]
    columns: Mapping[str, Mapping[str, str]]

    def id(self, written: str) -> str:
        """Return an id as it was asked for."""
        return self.ids.get(written, written)

    def row(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return a row in which values of columns are as they were asked for."""
        for column, known in self.columns.items():
            values[column] = known.get(str(values.get(column)), values.get(column))
        return values


def respelled(field: Field | None, asked: Iterable[str]) -> dict[str, str]:
    """Return those of the values asked for that PostgreSQL writes otherwise, by how it does; JSON stays as it is."""
    if field is None or field.inside:
        return {}
    written = {field.column.written(value): value for value in asked}
    return {key: value for key, value in written.items() if key != value}
