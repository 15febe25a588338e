from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner

from retrivex.cli import app
from retrivex.encoders.encoder import HashingEncoder
from retrivex.stores import SQLiteStore

run = CliRunner().invoke


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "docs"
    made.mkdir()
    (made / "bees.md").write_text("# Bees\n\nBees sleep at night.\n\n## Winter\n\nThey form a cluster.\n")
    (made / "wasps.txt").write_text("Wasps do not survive the winter.")
    return made


def index(*args: object) -> dict[str, object]:
    result = run(app, ["index", "--json", *map(str, args)])
    assert result.exit_code == 0, result.stderr
    report: dict[str, object] = json.loads(result.stdout)
    return report


def test_unchanged_documents_are_skipped_changed_ones_replaced_and_vanished_ones_removed(
    folder: Path, tmp_path: Path
) -> None:
    db = tmp_path / "store.db"
    assert index(folder, "--db", db)["added"] == 2
    again = index(folder, "--db", db)
    assert (again["unchanged"], again["chunks"]) == (2, 0)
    (folder / "bees.md").write_text("# Bees\n\nBees dance.\n")
    (folder / "wasps.txt").unlink()
    third = index(folder, "--db", db)
    assert (third["updated"], third["removed"]) == (1, ["wasps.txt"])


def test_it_says_in_a_line_what_it_did(folder: Path, tmp_path: Path) -> None:
    result = run(app, ["index", str(folder), "--db", str(tmp_path / "store.db")])
    assert "2 added (" in result.stdout
    assert "tokens)" in result.stdout
    assert "\x1b" not in result.output


def test_unreadable_files_are_reported_and_the_rest_goes_on(folder: Path, tmp_path: Path) -> None:
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 not really")
    report = index(folder, "--db", tmp_path / "store.db")
    problems = report["problems"]
    assert isinstance(problems, list)
    assert report["added"] == 2
    assert [Path(problem["path"]).name for problem in problems] == ["broken.pdf"]


def test_files_of_other_kinds_are_one_line_with_counts_and_no_failure(folder: Path, tmp_path: Path) -> None:
    for number in range(30):
        (folder / f"{number}.png").write_bytes(b"\x89PNG")
    (folder / "program.py").write_text("print()")
    result = run(app, ["index", str(folder), "--db", str(tmp_path / "store.db")])
    assert result.stderr == "note: 31 files of other kinds (30 .png, 1 .py) passed over\n"
    assert "could not be read" not in result.stdout
    report = index(folder, "--db", tmp_path / "store.db")
    assert (report["problems"], len(report["passed_over"])) == ([], 31)  # type: ignore[arg-type]
    assert index(folder, "--db", tmp_path / "store.db", "--include", "*.py")["added"] == 1


def test_files_with_one_reason_share_a_line_of_the_report(folder: Path, tmp_path: Path) -> None:
    for number in range(30):
        (folder / f"{number}.txt").write_bytes(b"")
    result = run(app, ["index", str(folder), "--db", str(tmp_path / "store.db")])
    named = result.stderr.removeprefix("skipped: ").partition(" and 27 more: it is empty")[0]
    assert [Path(name).name for name in named.split(", ")] == ["0.txt", "1.txt", "10.txt"]
    assert len(result.stderr.splitlines()) == 1


def test_names_are_shown_as_they_were_given(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "empty.txt").write_text("")
    (folder / "latin.txt").write_bytes("Bienen schlafen, weil es Nacht ist: früh.".encode("latin-1"))
    (folder / "picture.png").write_bytes(b"?")
    monkeypatch.chdir(tmp_path)
    shown = run(app, ["index", "docs", "--db", "store.db"])
    assert "skipped: docs/empty.txt: it is empty" in shown.stderr
    assert "note: docs/latin.txt: " in shown.stderr
    again = run(app, ["index", "docs", "--db", "store.db", "--json"])
    assert str(tmp_path) not in shown.output + again.output
    monkeypatch.chdir(folder)  # and it is the same folder from anywhere
    assert index(".", "--db", "../store.db")["unchanged"] == 3


def test_nothing_indexed_is_a_failure(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    result = run(app, ["index", str(empty), "--db", str(tmp_path / "store.db")])
    assert result.exit_code == 3
    assert "nothing was indexed" in result.stderr
    assert result.stdout == ""


def test_a_missing_path_is_an_error_and_makes_no_database(tmp_path: Path) -> None:
    result = run(app, ["index", str(tmp_path / "gone"), "--db", str(tmp_path / "store.db")])
    assert result.exit_code == 3
    assert "gone does not exist" in result.stderr
    assert not (tmp_path / "store.db").exists()


def test_the_database_in_the_folder_is_no_problem(folder: Path) -> None:
    db = folder / "retrivex.db"
    index(folder, "--db", db)
    assert index(folder, "--db", db)["problems"] == []


def test_patterns_choose_files_and_prune_removes_what_they_left_out(folder: Path, tmp_path: Path) -> None:
    db = tmp_path / "store.db"
    index(folder, "--db", db)
    kept = index(folder, "--db", db, "--include", "*.md")
    assert (kept["removed"], kept["unselected"]) == ([], ["wasps.txt"])
    result = run(app, ["index", str(folder), "--db", str(db), "--exclude", "*.txt"])
    assert "1 other documents from under these paths stay" in result.stderr
    assert index(folder, "--db", db, "--exclude", "*.txt", "--prune")["removed"] == ["wasps.txt"]


def test_chunker_and_size_decide_how_documents_are_cut(folder: Path, tmp_path: Path) -> None:
    def chunk_count(*options: str) -> int:
        db = tmp_path / f"{'-'.join(options)}.db"
        index(folder, "--db", db, "--chunker", *options)
        with SQLiteStore(db, read_only=True) as store:
            return store.info().chunks

    assert chunk_count("token", "--size", "4") > chunk_count("token", "--size", "200")
    (folder / "long.txt").write_text("one two three four five six seven eight nine ten " * 10)
    assert chunk_count("token", "--size", "20", "--overlap", "10") > chunk_count("token", "--size", "20")


def test_parents_are_stored(folder: Path, tmp_path: Path) -> None:
    db = tmp_path / "store.db"
    index(folder, "--db", db, "--chunker", "parent-child", "--size", "10")
    with SQLiteStore(db, read_only=True) as store:
        assert store.info().parents > 0


def test_token_counts_are_stored_by_the_default_tokenizer(folder: Path, tmp_path: Path) -> None:
    db = tmp_path / "store.db"
    index(folder, "--db", db, "--tokenizer", "estimate")
    with SQLiteStore(db, read_only=True) as store:
        assert store.info().tokenizers == ("estimate",)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--chunker", "blender"], "chunker is 'blender'"),
        (["--size", "0"], "size is 0"),
        (["--chunker", "semantic"], "no encoder"),
        (["--embed", "hashing", "--no-embed"], "exclude each other"),
    ],
)
def test_wrong_options_are_wrong_usage(folder: Path, tmp_path: Path, options: list[str], message: str) -> None:
    result = run(app, ["index", str(folder), "--db", str(tmp_path / "store.db"), *options])
    assert result.exit_code == 2
    assert message in result.stderr


def test_vectors_stay_of_one_model(folder: Path, tmp_path: Path) -> None:
    db = tmp_path / "store.db"
    index(folder, "--db", db, "--embed", "hashing-32")
    (folder / "new.txt").write_text("Hornets hunt bees.")
    assert index(folder, "--db", db)["added"] == 1
    with SQLiteStore(db, read_only=True) as store:
        assert store.info().vectors == store.info().chunks
    other = run(app, ["index", str(folder), "--db", str(db), "--embed", "hashing-64"])
    assert other.exit_code == 3
    assert "holds vectors of 'hashing-32', asked for is 'hashing-64'" in other.stderr
    index(folder, "--db", db, "--no-embed")
    with SQLiteStore(db, read_only=True) as store:
        assert store.info().vectors == 0


def test_with_many_vectors_it_names_engines_that_are_faster(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ["index", str(folder), "--db", str(tmp_path / "store.db"), "--embed", "hashing-32"]
    assert "pgvector" not in run(app, asked).stderr
    monkeypatch.setattr("retrivex.cli.index.EXACT_UP_TO", 1)
    said = " ".join(run(app, asked).stderr.split())
    assert "vectors, all of which a question is compared with: LanceDB, Qdrant, pgvector and Milvus" in said
    assert "retrivex batch index PATH -o FOLDER --store lancedb" in said


def test_two_folders_that_share_a_name_are_differing_factors(folder: Path, tmp_path: Path) -> None:
    other, db = tmp_path / "other", tmp_path / "store.db"
    other.mkdir()
    (other / "bees.md").write_text("# Other bees\n\nBumblebees.\n")
    (other / "only.md").write_text("Only here.\n")
    index(folder, "--db", db)
    second = index(other, "--db", db)
    assert "belongs to" in str(second["problems"])
    assert second["added"] == 1
    both = index(folder, other, "--db", db)
    assert (both["problems"], both["removed"]) == ([], ["bees.md"])
    with SQLiteStore(db, read_only=True) as store:
        assert [info.doc_id for info in store.documents()] == ["docs/bees.md", "only.md", "other/bees.md", "wasps.txt"]


def test_a_moved_folder_keeps_its_documents(folder: Path, tmp_path: Path) -> None:
    db = tmp_path / "store.db"
    index(folder, "--db", db)
    moved = folder.rename(tmp_path / "moved")
    report = index(moved, "--db", db)
    assert (report["updated"], report["problems"]) == (2, [])


def test_an_unreadable_version_leaves_the_older_one_in_place(folder: Path, tmp_path: Path) -> None:
    db = tmp_path / "store.db"
    index(folder, "--db", db)
    (folder / "wasps.txt").write_bytes(b"")
    report = index(folder, "--db", db)
    assert (report["removed"], len(report["problems"])) == ([], 1)  # type: ignore[arg-type]


def test_scoped_documents_are_for_their_scope_only(folder: Path, tmp_path: Path) -> None:
    db = tmp_path / "store.db"
    index(folder, "--db", db, "--scope", "acme")
    blind = run(app, ["query", "bees winter", "--db", str(db)])
    assert blind.stdout == ""
    assert "those that have are in a scope, which was not given; try" in blind.stderr
    assert "where" not in blind.stderr
    assert "cluster" in run(app, ["query", "bees winter", "--db", str(db), "--scope", "acme"]).stdout


def test_documents_that_move_to_another_scope_are_counted(folder: Path, tmp_path: Path) -> None:
    db = str(tmp_path / "store.db")
    run(app, ["index", str(folder), "--db", db, "--scope", "acme"])
    moved = run(app, ["index", str(folder), "--db", db, "--scope", "other"])
    assert "moved: 2 documents from scope 'acme' to scope 'other'\n" in moved.stderr
    assert "2 updated" in moved.stdout
    (folder / "wasps.txt").write_text("Wasps build nests.")
    changed = run(app, ["index", str(folder), "--db", db, "--scope", "other"])
    assert "moved" not in changed.stderr
    (folder / "wasps.txt").unlink()
    assert index(folder, "--db", db)["moved"] == [{"from_scope": "other", "to_scope": None, "documents": 1}]
    named = run(app, ["index", str(folder), "--db", db, "--scope", "a\x1b[31mb"])
    assert "moved: 1 document from no scope to scope 'a" in named.stderr
    assert "\x1b" not in named.stderr


def test_nothing_indexed_is_an_error_in_json_and_leaves_no_empty_database(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for db, stays in ((tmp_path / "new.db", False), (tmp_path / "old.db", True)):
        if stays:
            index(folder, "--db", db)
        result = run(app, ["index", str(tmp_path / "empty"), "--db", str(db), "--json"])
        assert result.exit_code == 3
        assert json.loads(result.stdout)["added"] == 0
        assert "nothing was indexed" in json.loads(result.stderr)["error"]["message"]
        assert [path.name for path in tmp_path.glob(f"{db.name}*")] == [db.name] * stays


class FolderModel(HashingEncoder):
    """A model of a folder: named by its weights, like those of sentence-transformers."""

    def __init__(self, folder: str) -> None:
        super().__init__(8)
        self.name = f"{Path(folder).name}@{(Path(folder) / 'weights').read_text()}"


def test_a_model_of_a_folder_is_remembered(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("retrivex.retrieval.stored_encoder.load_encoder", FolderModel)
    Path("minilm").mkdir()
    Path("minilm/weights").write_text("53aa")
    index("docs", "--embed", "minilm")
    monkeypatch.chdir(folder)
    db = str(tmp_path / "retrivex.db")
    asked = ["query", "Where do bees sleep?", "--db", db]
    assert run(app, [*asked, "--mode", "dense"]).exit_code == 0
    assert run(app, asked).stderr == ""
    assert index(tmp_path / "docs", "--db", db)["unchanged"] == 2

    (tmp_path / "minilm" / "weights").write_text("77ee")
    other = run(app, asked)
    assert "has vectors of 'minilm@53aa', but" in other.stderr
    assert "holds 'minilm@77ee'; name theirs with --embed MODEL" in other.stderr


@pytest.mark.parametrize("remembered", [True, False])
def test_a_model_that_is_not_there_is_told_at_once_in_a_line(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, remembered: bool
) -> None:
    model, db = tmp_path / "minilm", tmp_path / "store.db"
    model.mkdir()
    (model / "weights").write_text("53aa")
    with monkeypatch.context() as patched:
        patched.setattr("retrivex.retrieval.stored_encoder.load_encoder", FolderModel)
        index(folder, "--db", db, "--embed", model)
    model.rename(tmp_path / "elsewhere")
    if not remembered:  # as databases of older versions are
        with sqlite3.connect(db) as connection:
            connection.execute("DELETE FROM meta WHERE key = 'model_folder'")
    monkeypatch.setattr("retrivex.retrieval.stored_encoder.load_encoder", pytest.fail)
    result = run(app, ["query", "Where do bees sleep?", "--db", str(db)])
    assert result.exit_code == 0
    assert "Bees sleep at night." in result.stdout
    assert len(result.stderr.splitlines()) == 1
    assert "only words are searched" in result.stderr
    assert "is not on this machine; name it with --embed MODEL" in result.stderr
    assert run(app, ["query", "bees", "--db", str(db), "--mode", "dense"]).exit_code == 3


def test_a_model_without_vectors_is_forgotten(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrivex.retrieval.stored_encoder.load_encoder", FolderModel)
    db = tmp_path / "store.db"
    (tmp_path / "weights").write_text("53aa")
    index(folder, "--db", db, "--embed", tmp_path)
    index(folder, "--db", db, "--no-embed")
    with SQLiteStore(db, read_only=True) as store:
        assert store.model_folder is None


def test_headers_of_title_and_headings_are_searched(folder: Path, tmp_path: Path) -> None:
    db = tmp_path / "store.db"
    (folder / "bees.md").write_text("---\ntitle: Apiary\n---\n\n## Winter\n\nThey form a cluster.\n")
    assert index(folder, "--db", db)["added"] == 2
    with SQLiteStore(db) as store:
        assert not store.search_text("apiary", 3)
    assert index(folder, "--db", db, "--headers", "path")["updated"] == 2
    with SQLiteStore(db) as store:
        (hit,) = store.search_text("apiary", 3)
        assert hit.chunk.metadata.custom_metadata["chunk_header"] == "Apiary > Winter"
    assert index(folder, "--db", db, "--headers", "Notes on {title}")["updated"] == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--headers", "author"], "may name path"),
        (["--headers", "model"], "needs --model-url and --model"),
        (["--headers", "path", "--model", "qwen3"], "needs --model-url and --model"),
        (["--model-url", "http://localhost/v1"], "needs --model-url and --model"),
    ],
)
def test_wrong_headers_are_wrong_usage(folder: Path, tmp_path: Path, options: list[str], message: str) -> None:
    result = run(app, ["index", str(folder), "--db", str(tmp_path / "store.db"), *options])
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
