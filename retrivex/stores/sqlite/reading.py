"""SQL queries of a store file: one statement each, every value bound."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from retrivex.merging.intervals import merge_windows
from retrivex.model.chunk import MAX_CHUNK_ID, Chunk, ChunkKey, Scope, allowed_scopes
from retrivex.model.hit import SeedHit
from retrivex.model.window import Window
from retrivex.stores.sqlite.connection import DamagedRowError
from retrivex.stores.sqlite.filters import Where, compile_where
from retrivex.stores.sqlite.rows import FIELDS, decode_chunk, decode_text
from retrivex.stores.sqlite.text_ranking import MATCH_JOINS, promising
from retrivex.stores.sqlite.vector_table import Places, VectorCache, embeddings_of, vector_space
from retrivex.stores.sqlite.vectors import Floats, nearest
from retrivex.tokens.stored import StoredCount

Scored: TypeAlias = list[tuple[int, float]]
"""(row id of a chunk, score)."""

_GATHERED_SHARE = 0.25  # of all vectors, up to which copying those is quicker than multiplying all
_MAX_K = 2**31

_TIES = 1000
"""Rows that are looked at beyond the last one, so that those that tie with it need not be searched again."""

# + keeps SQLite from asking for each row by itself
_PROMISING = " AND +f.rowid IN (SELECT rowid FROM chunk_fts WHERE chunk_fts MATCH ?)"

_CHUNK = ", ".join(f"c.{field}" for field in FIELDS)
_PARENT = ", ".join(f"p.{field}" for field in FIELDS)

# The scopes a caller may see, as row ids; IS also matches the NULL of unscoped chunks.
_SCOPE_IDS = "SELECT a.id FROM json_each(?) allowed CROSS JOIN scopes a ON a.scope IS allowed.value"

# CROSS JOIN fixes the order of the loops: the planner knows nothing of json_each's size and might begin with a scan.
FETCH = f"""
SELECT d.doc_id, s.scope, c.id, d.tokenizer, c.tokens, c.tokens_checksum, c.unit_cuts, {_CHUNK}
FROM json_each(?) w
CROSS JOIN documents d ON d.doc_id = json_extract(w.value, '$[0]')
CROSS JOIN chunks c ON c.document = d.id
  AND c.chunk_id BETWEEN json_extract(w.value, '$[1]') AND json_extract(w.value, '$[2]')
CROSS JOIN scopes s ON s.id = c.scope
WHERE c.scope IN ({_SCOPE_IDS})
"""
"""The statement of `fetch`; a test reads its query plan."""

_HITS = f"""
SELECT d.doc_id, s.scope, c.id, {_CHUNK}
FROM json_each(?) w
CROSS JOIN chunks c ON c.id = w.value
CROSS JOIN documents d ON d.id = c.document
CROSS JOIN scopes s ON s.id = c.scope
"""

_PARENTS = f"""
SELECT p.name, d.doc_id, s.scope, {_PARENT}
FROM json_each(?) w
CROSS JOIN parents p ON p.name = w.value
CROSS JOIN documents d ON d.id = p.document
CROSS JOIN scopes s ON s.id = p.scope
WHERE p.scope IN ({_SCOPE_IDS})
"""


def fetch(
    connection: sqlite3.Connection,
    windows: Sequence[Window],
    scope: Scope,
    *,
    vectors: VectorCache | None,
    tokenizer: str | None = None,
) -> list[tuple[Chunk, StoredCount | None]]:
    """Return the chunks of `windows` that `scope` may see, with the token counts stored for `tokenizer`.

    Parameters
    ----------
    vectors : where the chunks' vectors are read; None for chunks without
    """
    rows = connection.execute(FETCH, (_windows_json(windows), _scopes_json(scope))).fetchall()
    counts = (
        StoredCount(*row[4:7]) if tokenizer is not None and row[3] == tokenizer and row[4] is not None else None
        for row in rows
    )
    chunks = [decode_chunk(row[0], row[1], row[7:]) for row in rows]
    _add_embeddings(connection, vectors, chunks, [row[2] for row in rows])
    return list(zip(chunks, counts, strict=True))


def fetch_parents(connection: sqlite3.Connection, parent_ids: Sequence[str], scope: Scope) -> dict[str, Chunk | str]:
    """Return the parents that exist and `scope` may see."""
    found: dict[str, Chunk | str] = {}
    for name, doc_id, parent_scope, *row in connection.execute(
        _PARENTS, (json.dumps([name for name in parent_ids if "\0" not in name]), _scopes_json(scope))
    ):
        # a parent given as plain text has no chunk_id
        found[name] = decode_text(row[-1]) if row[0] is None else decode_chunk(doc_id, parent_scope, row)
    return found


def rank_text(
    connection: sqlite3.Connection, terms: Sequence[str], k: int, scope: Scope, where: Where | None
) -> Scored:
    """Return the best `k` rows by BM25, higher is better, inside the caller's snapshot."""
    k = min(k, _MAX_K)
    restriction, values = _restriction(connection, scope, where)
    chosen = promising(connection, terms, k, restriction, values)
    if chosen is not None:
        restriction, values = f"{restriction}{_PROMISING}", [*values, chosen]
    expression = " OR ".join(terms)
    statement = (
        "SELECT f.rowid, -f.rank AS score FROM chunk_fts f {} "
        f"WHERE f.chunk_fts MATCH ?{restriction} ORDER BY {{}} LIMIT ?"
    )
    # ordered by `rank` itself, FTS5 would score what the restriction leaves out, too
    best_first = "score DESC" if restriction else "f.rank"
    found = connection.execute(
        statement.format("" if restriction in ("", _PROMISING) else MATCH_JOINS, best_first),
        (expression, *values, k + _TIES),
    ).fetchall()
    if len(found) <= k or found[k][1] < found[k - 1][1]:
        return found[:k]
    # Which of the rows that tie for the last places come in must not depend on the order of indexing.
    last = found[k - 1][1]
    if len(found) < k + _TIES or found[-1][1] < last:
        tied = [row for row in found if row[1] == last]
        keys = _keys(connection, [row_id for row_id, _ in tied])
        # a damaged file may have words of chunks that are gone
        known = [row for row in tied if row[0] in keys]
        return [*(row for row in found if row[1] > last), *sorted(known, key=lambda row: keys[row[0]])][:k]
    return connection.execute(
        statement.format(MATCH_JOINS, "score DESC, d.doc_id, c.chunk_id"), (expression, *values, k)
    ).fetchall()


def rank_nearest(
    connection: sqlite3.Connection, vectors: VectorCache, query: Floats, k: int, scope: Scope, where: Where | None
) -> Scored:
    """Return the `k` rows nearest to the unit vector `query` by cosine, inside the caller's snapshot."""
    space = vector_space(connection)
    if space is None or k == 0:
        return []
    matrix = vectors.read(connection, space)
    restriction, values = _restriction(connection, scope, where)
    if restriction:
        sql = f"SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document WHERE 1{restriction}"
        places = matrix.find([row[0] for row in connection.execute(sql, values)])
        places = places[places >= 0]
    else:
        places = np.arange(len(matrix.rows))
    best, scores = _nearest(matrix.rows, places, query, min(k, _MAX_K))
    chunks = matrix.chunks[best].tolist()
    keys = _keys(connection, chunks)
    if len(keys) < len(chunks):
        raise DamagedRowError("vectors belong to no chunk")
    ranked = sorted((-score, keys[chunk], chunk) for chunk, score in zip(chunks, scores.tolist(), strict=True))
    return [(chunk, -score) for score, _, chunk in ranked[:k]]


def _nearest(rows: Floats, places: Places, query: Floats, k: int) -> tuple[Places, Floats]:
    """Return the best `k` of `places`, and what ties with the last of them, with their cosines."""
    few = len(places) <= _GATHERED_SHARE * len(rows)
    cosines = rows[places] @ query if few else (rows @ query)[places]
    exact = query.astype(np.float64)
    best, scores = nearest(cosines, k, lambda at: rows[places[at]].astype(np.float64) @ exact)
    return places[best], scores


def load_hits(connection: sqlite3.Connection, ranked: Scored, *, vectors: VectorCache | None) -> list[SeedHit]:
    """Return the chunks of `ranked` with their scores, best first, ties by document and chunk id."""
    scores = dict(ranked)
    rows = connection.execute(_HITS, (json.dumps(list(scores)),)).fetchall()
    chunks = [decode_chunk(row[0], row[1], row[3:]) for row in rows]
    _add_embeddings(connection, vectors, chunks, [row[2] for row in rows])
    hits = [SeedHit(chunk, scores[row[2]]) for chunk, row in zip(chunks, rows, strict=True)]
    return sorted(hits, key=lambda hit: (-hit.similarity_score, hit.key))


def _add_embeddings(
    connection: sqlite3.Connection, vectors: VectorCache | None, chunks: Sequence[Chunk], ids: Sequence[int]
) -> None:
    space = None if vectors is None or not chunks else vector_space(connection)
    if vectors is not None and space is not None:
        for chunk, vector in zip(chunks, embeddings_of(vectors.read(connection, space), ids), strict=True):
            chunk.embedding = vector


def _keys(connection: sqlite3.Connection, ids: Sequence[int]) -> dict[int, ChunkKey]:
    rows = connection.execute(
        "SELECT c.id, d.doc_id, c.chunk_id FROM json_each(?) w CROSS JOIN chunks c ON c.id = w.value "
        "CROSS JOIN documents d ON d.id = c.document",
        (json.dumps(ids),),
    )
    return {row_id: (doc_id, chunk_id) for row_id, doc_id, chunk_id in rows}


def _restriction(connection: sqlite3.Connection, scope: Scope, where: Where | None) -> tuple[str, list[Any]]:
    """Return the conditions on chunks (c) and documents (d); empty where every chunk of the file qualifies.

    Looking up the scope of each of a million matches costs more than the search, so it is done only where the file
    holds a scope that the caller may not see. Both statements run in one snapshot: no new scope slips in between.
    """
    sql, values = compile_where(where)
    allowed = _scopes_json(scope)
    hidden = connection.execute(f"SELECT 1 FROM scopes WHERE id NOT IN ({_SCOPE_IDS}) LIMIT 1", (allowed,)).fetchone()
    if hidden:
        return f"{sql} AND c.scope IN ({_SCOPE_IDS})", [*values, allowed]
    return sql, values


def _windows_json(windows: Iterable[Window]) -> str:
    """Return merged windows as [doc_id, first, last]; last is inclusive because 2**63 does not fit SQLite.

    Ids with NUL are left out: none is stored, and SQLite's JSON functions would cut them at the NUL.
    """
    return json.dumps(
        [
            (window.doc_id, max(int(window.start), 0), min(int(window.end) - 1, MAX_CHUNK_ID))
            for window in merge_windows(windows)
            if "\0" not in window.doc_id and window.start <= MAX_CHUNK_ID
        ]
    )


def _scopes_json(scope: Scope) -> str:
    return json.dumps([name for name in allowed_scopes(scope) if name is None or "\0" not in name])
