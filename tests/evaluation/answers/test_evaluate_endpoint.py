"""`retrivex evaluate` with a model: every context is answered, answers are measured, nothing is asked twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.json_server import serving_echoes
from support.model_server import prompt_of, serving
from typer.testing import CliRunner

from retrivex.cli import app
from retrivex.evaluation.run.results import read_manifest, read_rows

pytest.importorskip("retrivex.evaluation.answers.endpoint", exc_type=ImportError)
pytestmark = pytest.mark.integration

run = CliRunner().invoke


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the client ask again at once."""
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write two documents and two questions."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "bees.md").write_text("Bees live in hives. They sleep at night.")
    (tmp_path / "docs" / "ants.md").write_text("Ants live in nests. They work all day.")
    lines = [
        {"question": "Where do bees live?", "answers": ["hives"]},
        {"question": "Where do ants live?", "answers": ["nests"]},
    ]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return tmp_path


def says(body: dict[str, Any]) -> str:
    """Answer about bees alone, and find every answer right."""
    prompt = prompt_of(body)
    if "Grade the answer." in prompt:
        return "It is.\nVerdict: correct"
    return "hives" if "Where do bees live?" in prompt else "I do not know"


def command(folder: Path, url: str, *more: str) -> list[str]:
    questions = [str(folder / "q.jsonl"), "--documents", str(folder / "docs"), "--out", str(folder / "out")]
    ways = ["--composer", "knn", "--composer", "balanced", "--cache", str(folder / "cache"), "--processes", "1"]
    return ["evaluate", *questions, *ways, "--model-url", url, "--model", "m", *more]


def test_answers_are_measured_and_written(folder: Path) -> None:
    with serving(says) as server:
        found = run(app, command(folder, server.url, "--json"))
        assert found.exit_code == 0, found.output
        asked = len(server.asked)
        again = run(app, command(folder, server.url, "--json"))
    rows = read_rows(folder / "out")

    assert {(row.question, row.answer, row.measures["em"]) for row in rows} == {
        ("Where do bees live?", "hives", 1.0),
        ("Where do ants live?", "I do not know", 0.0),
    }
    assert all(row.context is None for row in rows)
    assert [line["measures"]["em"] for line in json.loads(found.stdout)["summary"]] == [0.5, 0.5]
    assert read_manifest(folder / "out")["answers"]["model"] == "m"
    assert "Answers were not generated" not in (folder / "out" / "report.md").read_text(encoding="utf-8")
    assert asked == len({(row.question_id, row.way.composer) for row in rows}) == 4
    assert again.exit_code == 0
    assert len(server.asked) == asked  # the second run found every answer beside the results


def test_missing_answers_are_told(folder: Path) -> None:
    with serving(says) as server:
        found = run(app, command(folder, server.url, "--spend-cap", "0"))

    assert found.exit_code == 1
    assert "0 answers for 0 tokens" in found.stdout
    assert "of 4 answers" in found.stderr
    assert all(row.answer is None for row in read_rows(folder / "out"))


def test_model_and_address_belong_together(folder: Path) -> None:
    found = run(app, [*command(folder, "http://127.0.0.1:9/v1")[:-2]])

    assert found.exit_code == 2
    assert "belong together" in found.stderr


SECRETS = ("s3cret-user", "s3cret-word", "s3cret-token", "s3cret-key")


@pytest.mark.parametrize("status", [400, 401, 500])
@pytest.mark.parametrize("query", ["", f"?token={SECRETS[2]}"])
def test_no_secret_is_written_anywhere(folder: Path, monkeypatch: pytest.MonkeyPatch, status: int, query: str) -> None:
    """An endpoint that fails and repeats all that it was sent: manifest, reports, rows and messages hide it."""
    user, word, _, key = SECRETS
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with serving(says) as server:
        echo = {"error": {"message": f"wrong key {key} or {user}:{word} or {query}"}}
        server.faults = [(status, echo, {"Retry-After": "0"})] * 500
        url = server.url.replace("http://", f"http://{user}:{word}@") + query
        done = run(app, command(folder, url))
    assert bool(server.keys) == (not query)  # a query comes out in front of the path, where the server has nothing
    assert server.url in done.output
    written = [path for path in folder.rglob("*") if path.is_file()]
    for secret in SECRETS:
        assert secret not in done.output
        assert secret not in repr(done.exception)
        assert [path for path in written if secret.encode() in path.read_bytes()] == []


@pytest.mark.parametrize("length", [12, 86, 6_000])
def test_no_piece_of_a_secret_is_written_where_what_was_said_is_cut(
    folder: Path, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    """A port that sends back all that it is sent, which clients quote and cut."""
    secret = "".join(f"s{number:04d}" for number in range(1_200))[:length]
    monkeypatch.setenv("OPENAI_API_KEY", secret[:300])
    with serving_echoes() as address:
        done = run(app, command(folder, f"{address}/v1?sig={secret}", "--json"))
    assert "cannot be reached" in done.output
    written = [path for path in folder.rglob("*") if path.is_file()]
    for piece in (secret[at : at + 8] for at in range(0, len(secret) - 7, 40)):
        assert piece not in done.output
        assert [path for path in written if piece.encode() in path.read_bytes()] == []
