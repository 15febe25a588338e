"""`retrivex around`: what stands around a citation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from retrivex import Chunk, ChunkMetadata, Document
from retrivex.cli import app
from retrivex.stores import SQLiteStore

run = CliRunner().invoke
TEXTS = ["Bees live in hives.", "A hive has one queen.", "She lays all the eggs.", "Drones do not work.", "End."]
TEXT = " ".join(TEXTS)
STARTS = [TEXT.index(text) for text in TEXTS]


@pytest.fixture
def db(tmp_path: Path) -> str:
    path = tmp_path / "store.db"
    with SQLiteStore(path) as store:
        for name, scope in (("bees.md", None), ("secret.md", "acme")):
            chunks = [
                Chunk(text, ChunkMetadata(name, n, start, start + len(text), heading_path=["Bees"], scope=scope))
                for n, (text, start) in enumerate(zip(TEXTS, STARTS, strict=True))
            ]
            store.put(Document(name, TEXT, scope=scope), chunks)
        bare = [Chunk(text, ChunkMetadata("bare.md", n)) for n, text in enumerate(TEXTS)]
        store.put(Document("bare.md", TEXT), bare)
    return str(path)


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        (["bees.md#20-41"], (0, 2)),
        (["bees.md#25-26"], (0, 2)),
        (["bees.md#chunk-1", "--before", "0", "--after", "2"], (1, 3)),
        (["bees.md#chunk-4", "-B", "0", "-A", "0"], (4, 4)),
        (["bees.md#chunk-2", "-B", "9", "-A", "9"], (0, 4)),
        ([f"bees.md#{STARTS[1]}-{STARTS[2] + 3}"], (0, 3)),  # it reaches into the third chunk
        ([f"bees.md#{STARTS[2]}-{STARTS[2]}"], (1, 3)),
        (["bare.md#chunk-1"], (0, 2)),
        (["secret.md#chunk-0", "--scope", "acme"], (0, 1)),
    ],
)
def test_it_shows_what_stands_around_a_citation(db: str, asked: list[str], shown: tuple[int, int]) -> None:
    first, last = shown
    done = run(app, ["around", *asked, "--db", db])
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith(" ".join(TEXTS[first : last + 1]) + "\n")
    facts = json.loads(run(app, ["around", *asked, "--db", db, "--json"]).stdout)
    assert [chunk["chunk_id"] for chunk in facts["chunks"]] == list(range(first, last + 1))
    assert facts["text"] == " ".join(TEXTS[first : last + 1])
    assert facts["citation"] in done.stdout.splitlines()[-1]


def test_what_it_shows_can_be_asked_for_again(db: str) -> None:
    facts = json.loads(run(app, ["around", "bees.md#20-41", "--db", db, "--json"]).stdout)
    assert facts["citation"] == f"bees.md#0-{STARTS[3] - 1}"
    again = run(app, ["around", facts["citation"], "-B", "0", "-A", "0", "--db", db, "--json"])
    assert json.loads(again.stdout) == facts


@pytest.mark.parametrize(
    ("asked", "code", "message"),
    [
        ("bees.md", 3, "citation is 'bees.md': it must name a document and characters, such as leave.md#10-20"),
        (
            "bees.md#chunk-9",
            3,
            "store.db has nothing at 'bees.md#chunk-9' that this call may see; of 'bees.md' it has chunks 0 to 4: "
            "`retrivex inspect --document ID` lists the chunks of a document",
        ),
        ("bees.md#chunk-999999999999999", 3, "of 'bees.md' it has chunks 0 to 4"),
        ("bees.md#10-5", 3, "characters 10-5 end before they start: give the smaller first, 5-10"),
        ("bees.md#9000-9010", 3, "has nothing at 'bees.md#9000-9010'"),
        ("none.md#1-2", 3, "has nothing at 'none.md#1-2'"),
        ("secret.md#chunk-0", 3, "that this call may see; of 'secret.md' it has no chunks"),
        ("bare.md#1-2", 3, "has nothing at 'bare.md#1-2'"),
    ],
)
def test_what_is_not_there_or_not_for_this_call_is_an_error(db: str, asked: str, code: int, message: str) -> None:
    done = run(app, ["around", asked, "--db", db])
    assert done.exit_code == code
    assert message in " ".join(done.stderr.split())
    assert done.stdout == ""
    assert message in json.loads(run(app, ["around", asked, "--db", db, "--json"]).stderr)["error"]["message"]
