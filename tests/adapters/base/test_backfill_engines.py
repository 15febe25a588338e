"""`retrivex backfill` on real collections: Qdrant in a folder, LanceDB on disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

pytest.importorskip("qdrant_client")
pytest.importorskip("lancedb")

import lancedb
import pyarrow as pa
import qdrant_client

from retrivex.adapters.base.fields import LAYOUTS
from retrivex.adapters.lancedb import LanceDBChunkStore
from retrivex.adapters.qdrant import QdrantChunkStore
from retrivex.cli import app
from retrivex.model.window import Window
from retrivex.testing import vector_of

pytestmark = pytest.mark.integration

run = CliRunner().invoke


def nodes(count: int = 7) -> list[tuple[str, dict[str, object]]]:
    """What LlamaIndex writes: nodes as JSON, with links and offsets, under UUIDs, in no order."""
    ids = [f"00000000-0000-0000-0000-{n:012d}" for n in range(count)]
    made = []
    for n, id in enumerate(ids):
        links = {"2": ids[n - 1] if n else None, "3": ids[n + 1] if n + 1 < count else None}
        content = {
            "text": f"Sentence {n}.",
            "start_char_idx": 12 * n,
            "end_char_idx": 12 * n + 11,
            "relationships": {name: {"node_id": other} for name, other in links.items() if other},
        }
        made.append((id, {"ref_doc_id": "bees.md", "_node_content": json.dumps(content)}))
    return made[::2] + made[1::2]


@pytest.fixture
def qdrant(tmp_path: Path) -> Path:
    client = qdrant_client.QdrantClient(path=str(tmp_path / "qdrant"))
    models = qdrant_client.models
    client.create_collection("docs", vectors_config=models.VectorParams(size=8, distance=models.Distance.COSINE))
    points = [models.PointStruct(id=id, vector=vector_of(id).tolist(), payload=payload) for id, payload in nodes()]
    client.upsert("docs", points)
    client.close()
    return tmp_path / "qdrant"


def test_a_llamaindex_collection_in_qdrant_gets_its_numbers(qdrant: Path) -> None:
    said = ["backfill", "qdrant", str(qdrant), "docs", "--layout", "llamaindex", "--json"]
    for write, how, written in (([], "links", 0), (["--write"], "links", 7), (["--write"], "numbers", 7)):
        result = run(app, [*said, *write])
        assert result.exit_code == 0, result.output
        made = json.loads(result.stdout)
        assert (made["records"], made["documents"], made["written"]) == (7, {how: 1}, written)
    client = qdrant_client.QdrantClient(path=str(qdrant))
    try:
        found = QdrantChunkStore(client, "docs", fields="llamaindex").fetch([Window("bees.md", 2, 5)])
        assert sorted((c.metadata.chunk_id, c.text) for c in found) == [(n, f"Sentence {n}.") for n in (2, 3, 4)]
    finally:
        client.close()


def test_a_table_in_lancedb_with_fields_of_its_own(tmp_path: Path) -> None:
    table = lancedb.connect(str(tmp_path / "lance"))
    rows = [
        {"id": f"r{at}", "text": f"Sentence {at}.", "file": "bees.md", "offset": 10 * at, "chunk_id": None,
         "chunk_count": None, "vector": vector_of(str(at)).tolist()}
        for at in (3, 0, 2, 1)
    ]  # fmt: skip
    schema = pa.schema([
        ("id", pa.string()), ("text", pa.string()), ("file", pa.string()), ("offset", pa.int64()),
        ("chunk_id", pa.int64()), ("chunk_count", pa.int64()),
        ("vector", pa.list_(pa.float32(), 8)),
    ])  # fmt: skip
    table.create_table("notes", rows, schema=schema)
    said = [
        "backfill",
        "lancedb",
        str(tmp_path / "lance"),
        "notes",
        "--field",
        "doc_id=file",
        "--field",
        "char_start=offset",
    ]
    result = run(app, [*said, "--write"])
    assert result.exit_code == 0, result.output
    assert "4 records; documents numbered: 1 by offsets" in result.stdout
    fields = LAYOUTS["retrivex"]
    store = LanceDBChunkStore(
        lancedb.connect(str(tmp_path / "lance")), "notes", fields=type(fields)(doc_id=("file",), char_start=("offset",))
    )
    found = store.fetch([Window("bees.md", 1, 3)])
    assert sorted((c.metadata.chunk_id, c.text, c.metadata.chunk_count) for c in found) == [
        (1, "Sentence 1.", 4),
        (2, "Sentence 2.", 4),
    ]


def test_what_cannot_be_numbered_has_its_own_exit_code(qdrant: Path) -> None:
    said = ["backfill", "qdrant", str(qdrant), "docs", "--field", "doc_id=ref_doc_id", "--field", "text=_node_content"]
    result = run(app, [*said])
    assert result.exit_code == 1
    assert "without numbers, links or offsets" in result.stderr


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["qdrant", "QDRANT", "nowhere"], 3, "nowhere"),
        (["qdrant", "QDRANT", "docs", "--layout", "mine"], 3, "give a FieldMap, or one of"),
        (["qdrant", "QDRANT", "docs", "--field", "colour=red"], 2, "there is no such field"),
        (["rocks", "QDRANT", "docs"], 2, "rocks"),
        (["pgvector", "postgresql://127.0.0.1:1/none?connect_timeout=2", "docs"], 3, "cannot be opened"),
    ],
)
def test_errors_are_one_line_and_a_code(options: list[str], code: int, message: str, qdrant: Path) -> None:
    given = [str(qdrant) if option == "QDRANT" else option for option in options]
    result = run(app, ["backfill", *given])
    assert (result.exit_code, message in result.stderr) == (code, True), result.output


def test_rows_of_one_collection_are_only_named_for_postgresql(qdrant: Path) -> None:
    said = ["backfill", "qdrant", str(qdrant), "docs", "--only", "collection_id=x"]
    result = run(app, said)
    assert result.exit_code == 3
    assert "only a table of pgvector holds several collections" in result.stderr
