"""SQL statements for the requests to one PostgreSQL table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from psycopg.sql import SQL, Composable, Composed, Identifier
from psycopg.types.json import Jsonb

from retrivex.errors import StoreError
from retrivex.model.window import Window

from ..base.collection import ByIds, ByWindows, Nearest, Request, Scan, Scopes
from ..base.fields import FieldMap
from .filters import SqlDialect
from .table import Column, Field, Table, Values, name

Metric: TypeAlias = Literal["cosine", "inner_product", "l2", "l1"]

OPERATORS: Mapping[Metric, str] = {"cosine": "<=>", "inner_product": "<#>", "l2": "<->", "l1": "<+>"}

FLOATS = {"vector": ">f4", "halfvec": ">f2"}
"""How the numbers of a vector are sent, by its type."""

_SCANS = {"hnsw": "strict_order", "ivfflat": "relaxed_order"}


@dataclass(frozen=True, slots=True)
class TableQuery:
    """Builds the statements over one table.

    Parameters
    ----------
    table : what is known of it
    fields : names in it
    id_name : column of the ids
    vector_name, metric, with_vectors, only, words : see `PgvectorCollection`

    Raises
    ------
    StoreError
        If a column is needed that is not there.
    """

    table: Table
    fields: FieldMap
    id_name: str
    vector_name: str
    metric: Metric
    with_vectors: bool
    only: Mapping[str, str]
    words: str

    @property
    def id(self) -> Field:
        """Where ids are."""
        return self.table.require(self.id_name, "ids, which id_name names")

    @property
    def doc(self) -> Field:
        """Where documents are."""
        return self.table.require(self.fields.path("doc_id"), "the document")

    @property
    def number(self) -> Field:
        """Where chunk numbers are."""
        return self.table.require(self.fields.path("chunk_id"), "the chunk number")

    @property
    def vector(self) -> Column:
        """The column of the vectors."""
        column = self.table.columns.get(self.vector_name)
        if column is None or column.kind not in FLOATS:
            raise StoreError(
                f"the table has no column {self.vector_name!r} of type vector or halfvec: "
                "name the one it has with vector_name='...'"
            )
        return column

    def statement(self, request: Request) -> tuple[Composed, Values]:
        """Return the one statement for a request, and what it binds; rows are id, JSON, vector, distance."""
        if isinstance(request, ByIds):
            return self._select([self.id.among("ids", request.ids)], request.scopes)
        if isinstance(request, ByWindows):
            source, bound = self._places(request.windows)
            return self._select([], request.scopes, bound, source=source)
        if isinstance(request, Nearest) and request.search == "words":
            return self._by_words(request)
        if isinstance(request, Nearest):
            distance, bound = self._distance(request.vector)
            end = SQL(" ORDER BY {} LIMIT %(k)s").format(distance)
            conditions = [*self._wanted(request), *self._raise_search_limit()]
            return self._select(conditions, request.scopes, {**bound, "k": request.k}, distance=distance, end=end)
        return self._page(request)

    def _select(
        self,
        conditions: Sequence[tuple[Composable, Values]],
        scopes: Scopes | None,
        bound: Values | None = None,
        *,
        source: Composable | None = None,
        distance: Composable = SQL("NULL"),  # noqa: B008 - immutable
        end: Composable = SQL(""),  # noqa: B008
    ) -> tuple[Composed, Values]:
        allowed = [] if scopes is None else [self.table.visible(self.fields, scopes)]
        wanted: list[tuple[Composable, Values]] = [(SQL("TRUE"), {}), *self._part(), *allowed, *conditions]
        statement = SQL("SELECT {}::text, {}, {}, {} FROM {} AS t WHERE {}{}").format(
            self.id.expression,
            self.table.row(self.fields, self.id_name),
            self._select_vector(),
            distance,
            source or self.table.name,
            SQL(" AND ").join(condition for condition, _ in wanted),
            end,
        )
        values = {key: value for _, known in wanted for key, value in known.items()}
        return statement, values | (bound or {})

    def _part(self) -> list[tuple[Composed, Values]]:
        """Return the conditions of `only`."""
        fields = [(self.table.require(column, "only"), value) for column, value in self.only.items()]
        return [field.among(f"only_{i}", [value]) for i, (field, value) in enumerate(fields)]

    def _by_words(self, request: Nearest) -> tuple[Composed, Values]:
        """Return the rows that hold any word of the question, those first that rank best."""
        columns = self.table.columns.items()
        kept = [column for column, known in columns if known.kind == "tsvector"]
        words = SQL("t.{}").format(name(kept[0])) if len(kept) == 1 else None
        if words is None:
            paths = [path for path in self.fields.paths("text") if self.table.field(path)]
            text = self.table.require((*paths, self.fields.path("text"))[0], "the text")
            words = SQL("to_tsvector(%(words)s::regconfig, {})").format(text.expression)
        # as the text of a query, all of its words are joined by &, with blanks that no word has in it
        asked = SQL("replace(plainto_tsquery(%(words)s::regconfig, %(question)s)::text, ' & ', ' | ')::tsquery")
        matches: tuple[Composable, Values] = (SQL("{} @@ {}").format(words, asked), {})
        rank = SQL("ts_rank_cd({}, {})").format(words, asked)
        end = SQL(" ORDER BY {} DESC LIMIT %(k)s").format(rank)
        bound = {"k": request.k, "words": self.words, "question": request.question.replace("\0", " ")}
        return self._select([matches, *self._wanted(request)], request.scopes, bound, distance=rank, end=end)

    def _wanted(self, request: Nearest) -> list[tuple[Composable, Values]]:
        dialect = SqlDialect(self.table, self.fields)
        wanted = dialect.translate(request.where)
        return [] if wanted is None else [(wanted, dialect.values)]

    def _page(self, request: Scan) -> tuple[Composed, Values]:
        id = self.id
        after: list[tuple[Composed, Values]] = []
        if request.after is not None:
            condition = SQL("{} > %(after)s::text::{}").format(id.compared, SQL(id.type))
            after.append((condition, {"after": request.after}))
        end = SQL(" ORDER BY {} LIMIT %(limit)s").format(id.compared)
        return self._select(after, None, {"limit": request.limit}, end=end)

    def _places(self, windows: Sequence[Window]) -> tuple[Composed, Values]:
        """Return the rows at the places asked for, which are bound as arrays.

        `OFFSET 0` keeps other conditions out of the join: PostgreSQL knows nothing of how often a key of JSON is
        missing, takes such rows for rare, and would read the whole table for every place.
        """
        doc, number = self.doc, self.number
        places = [
            (w.doc_id, n) for w in windows if doc.holds(w.doc_id) for n in range(w.start, w.end) if number.holds(str(n))
        ]
        found = SQL(
            "(SELECT t.* FROM {} AS t JOIN unnest({}, {}) AS w(doc, number) ON {} = w.doc AND {} = w.number OFFSET 0)"
        )
        bound = {"docs": [d for d, _ in places], "numbers": [str(n) for _, n in places]}
        arrays = doc.array("docs"), number.array("numbers")
        return found.format(self.table.name, *arrays, doc.compared, number.compared), bound

    def _distance(self, vector: NDArray[np.float32]) -> tuple[Composed, Values]:
        column = self.vector
        distance = SQL("t.{} OPERATOR({}.{}) %(vector)s::text::{}").format(
            name(self.vector_name), Identifier(column.schema), SQL(OPERATORS[self.metric]), SQL(column.type)
        )
        return distance, {"vector": json.dumps(vector.tolist())}

    def _raise_search_limit(self) -> list[tuple[Composed, Values]]:
        """Let an approximate index go on until k rows pass the filter: by itself it stops after 40 (hnsw.ef_search).

        The settings end with the statement. A subquery that depends on no row is evaluated before the index is read.
        """
        present = SQL("t.{} IS NOT NULL").format(name(self.vector_name))
        conditions: list[tuple[Composed, Values]] = [(present, {})]
        if self.table.version is not None and self.table.version >= (0, 8):
            gate = SQL("(SELECT set_config({}, {}, true)) IS NOT NULL")
            conditions += [
                (gate.format(f"{m}.iterative_scan", _SCANS[m]), {}) for m in _SCANS if m in self.table.methods
            ]
        return conditions

    def _select_vector(self) -> Composable:
        if not self.with_vectors:
            return SQL("NULL")
        column = self.vector
        send = Identifier(column.schema, f"{column.kind}_send")
        return SQL("{}(t.{})").format(send, name(self.vector_name))


# ---- writing


Statement: TypeAlias = tuple[Composed, Sequence[Values]]
"""A statement, and what each of its rows binds."""


def _alike(rows: Iterable[Mapping[str, Any]]) -> Iterable[tuple[tuple[str, ...], list[Mapping[str, Any]]]]:
    """Return rows by the fields that they have: one statement does for all of the same."""
    alike: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        alike.setdefault(tuple(sorted(row)), []).append(row)
    return alike.items()


def _no_column(path: str) -> StoreError:
    return StoreError(
        f"the table has no column for {path!r}: ALTER TABLE ... ADD COLUMN it, or name a place that is there with "
        "fields=FieldMap(...)"
    )


def replacements(
    table: Table, doc_id: str, doc_ids: Sequence[str], rows: Sequence[Mapping[str, Any]]
) -> list[Statement]:
    """Return the statements that put rows in the place of all rows of some documents, with what each binds.

    Raises
    ------
    StoreError
        If the table has no column for a field.
    """
    delete = SQL("DELETE FROM {} AS t WHERE t.{} = %(doc_id)s").format(table.name, name(doc_id))
    statements: list[Statement] = [(delete, [{"doc_id": one} for one in doc_ids])]
    for columns, same in _alike(rows):
        missing = [column for column in columns if column not in table.columns]
        if missing:
            raise _no_column(missing[0])
        values = [
            SQL("%({})s::{}").format(SQL(f"value_{i}"), SQL(table.columns[column].type))
            for i, column in enumerate(columns)
        ]
        insert = SQL("INSERT INTO {} ({}) VALUES ({})").format(
            table.name, SQL(", ").join(map(name, columns)), SQL(", ").join(values)
        )
        statements.append((insert, [{f"value_{i}": row[column] for i, column in enumerate(columns)} for row in same]))
    return statements


def updates(table: Table, id: Field, changes: Mapping[str, Mapping[str, Any]]) -> list[Statement]:
    """Return one statement for all rows in which the same fields change, with what each row binds.

    Raises
    ------
    StoreError
        If the table has no column for a field.
    """
    statements = []
    for paths, _ in _alike(changes.values()):
        rows = [(row_id, fields) for row_id, fields in changes.items() if tuple(sorted(fields)) == paths]
        statements += [_update(table, id, paths, rows)] if paths else []
    return statements


def _update(table: Table, id: Field, paths: Sequence[str], rows: Sequence[tuple[str, Mapping[str, Any]]]) -> Statement:
    columns: dict[str, Composed] = {}
    inside: set[str] = set()
    for i, path in enumerate(paths):
        field = table.field(path)
        if field is None:
            raise _no_column(path)
        column = path if not field.inside else path.split(".")[0]
        if not field.inside:
            columns[column] = Composed([SQL("%({})s").format(SQL(f"value_{i}"))])
            continue
        inside.add(path)
        before = columns.get(column, SQL("coalesce(t.{}::jsonb, '{{}}')").format(name(column)))
        columns[column] = SQL("jsonb_set({}, {}, {})").format(
            before, SQL(f"%(path_{i})s::text[]"), SQL(f"%(value_{i})s")
        )
    assigned = [
        SQL("{} = {}::{}").format(name(column), value, SQL(table.columns[column].type))
        for column, value in columns.items()
    ]
    statement = SQL("UPDATE {} AS t SET {} WHERE {} = %(id)s::text::{}").format(
        table.name, SQL(", ").join(assigned), id.compared, SQL(id.type)
    )
    return statement, [_bind(paths, inside, row_id, fields) for row_id, fields in rows]


def _bind(paths: Sequence[str], inside: set[str], row_id: str, fields: Mapping[str, Any]) -> Values:
    bound: Values = {"id": row_id}
    for i, path in enumerate(paths):
        bound[f"value_{i}"] = Jsonb(fields[path]) if path in inside else fields[path]
        if path in inside:
            bound[f"path_{i}"] = path.split(".")[1:]
    return bound
