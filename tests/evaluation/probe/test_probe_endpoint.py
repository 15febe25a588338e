"""The position probe and answers over HTTP, against a server with a position bias that is known."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support.model_server import ModelServer, biased, prompt_of, serving
from typer.testing import CliRunner

from retrivex.cli import app
from retrivex.evaluation.answers import answer_rows
from retrivex.evaluation.probe import probe
from retrivex.evaluation.questions.evidence import Evidence, Question
from retrivex.evaluation.run.results import Row, Way
from retrivex.ordering import PositionProfile, profile

endpoint_module = pytest.importorskip("retrivex.evaluation.answers.endpoint", exc_type=ImportError)
Endpoint = endpoint_module.Endpoint

pytestmark = pytest.mark.integration

run = CliRunner().invoke

SMALL = ["--lengths", "300,600", "--depths", "7", "--needles", "12"]


def valley(place: float) -> float:
    return 0.2 + 0.8 * (2 * place - 1) ** 2


def command(server: ModelServer, out: Path, *more: str) -> list[str]:
    return ["probe", "--model-url", server.url, "--model", "m", "--out", str(out), *SMALL, *more]


@pytest.mark.parametrize("model", ["valley", "recency"])
def test_the_sweep_recovers_a_known_bias(model: str) -> None:
    known = valley if model == "valley" else (lambda place: 0.2 + 0.7 * place)
    with serving(biased(known)) as server, Endpoint(server.url, "m") as endpoint:
        # the server tells places by words, and so does the probe
        found = probe(endpoint, (300, 600), 7, 40, name="m", tokenizer=lambda text: len(text.split()))
    fit = found.fit
    assert fit.matters
    inside = [low <= known(at) <= high for at, low, high in zip(fit.positions, fit.low, fit.high, strict=True)]
    assert sum(inside) >= 6
    assert "reordering can pay" in found.verdict
    ordered = profile([0.9, 0.5, 0.1], score=float, profile=found.profile)
    assert ordered[1] == 0.1 if model == "valley" else ordered == [0.1, 0.5, 0.9]


def test_a_level_server_gives_no_effect_seen() -> None:
    with serving(biased(lambda place: 0.6)) as server, Endpoint(server.url, "m") as endpoint:
        found = probe(endpoint, (300, 600), 7, 40, name="m")
    assert found.verdict.startswith("no effect seen")
    assert len(set(found.profile.attention)) == 1


def test_the_command_writes_a_profile_and_says_what_it_means(tmp_path: Path) -> None:
    out = tmp_path / "m.json"
    with serving(biased(valley)) as server:
        done = run(app, command(server, out))
    assert done.exit_code == 0, done.output
    assert "reordering can pay: accuracy differs by" in done.stdout
    assert "168 questions, at most about" in done.stderr
    assert f"written: {out}" in done.stdout
    assert PositionProfile.load(out).name == "probe of m"
    lines = [line for line in done.stdout.splitlines() if line[:2] in ("0.", "1.")]
    assert len(lines) == 7


def test_the_key_comes_out_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OWN_KEY", "secret")
    with serving(biased(valley)) as server:
        done = run(app, command(server, tmp_path / "m.json", "--api-key-env", "OWN_KEY", "--json"))
        assert set(server.keys) == {"Bearer secret"}
    assert done.exit_code == 0
    written = json.loads(done.stdout)
    assert written["measurement"]["usage"]["answered"] == 168
    assert "secret" not in done.output + (tmp_path / "m.json").read_text()


def test_the_cap_stops_the_probe_and_a_higher_one_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "m.json"
    with serving(biased(valley)) as server:
        first = run(app, command(server, out, "--spend-cap", "60000"))
        asked = len(server.asked)
        assert first.exit_code == 1, first.output
        assert "spend cap of 60,000 tokens is reached" in first.stderr
        measured = json.loads(out.read_text())["measurement"]
        assert 0 < measured["rows"] < 24
        assert measured["usage"]["prompt_tokens"] + measured["usage"]["answer_tokens"] <= 60_000

        second = run(app, command(server, out))
        assert second.exit_code == 0, second.output
        assert len(server.asked) == 168
        assert json.loads(out.read_text())["measurement"]["usage"]["cached"] == asked


def test_a_probe_that_was_killed_goes_on_to_the_same_profile(tmp_path: Path) -> None:
    with serving(biased(valley)) as server:
        assert run(app, command(server, tmp_path / "whole.json")).exit_code == 0
        server.asked.clear()
        line = [sys.executable, "-W", "ignore", "-m", "retrivex", *command(server, tmp_path / "m.json")]
        process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ)
        while len(server.asked) < 60 and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not (tmp_path / "m.json").exists()

        again = run(app, command(server, tmp_path / "m.json"))
        assert again.exit_code == 0, again.output
        prompts = [prompt_of(body) for body in server.asked]
        assert len(set(prompts)) == 168
        assert len(prompts) <= 168 + 4  # those that were under way
    whole, resumed = (json.loads((tmp_path / name).read_text()) for name in ("whole.json", "m.json"))
    for made in (whole, resumed):
        made["measurement"].pop("usage")
    assert resumed == whole


def test_faults_on_the_way_change_nothing(tmp_path: Path) -> None:
    profiles = []
    for faulty in (False, True):
        with serving(biased(valley)) as server:
            if faulty:
                server.faults = [(429, "{}", {"Retry-After": "0"}), (500, "oops", {})]
            with Endpoint(server.url, "m") as endpoint:
                found = probe(endpoint, (300,), 5, 6)
            assert found.warnings == ()
            profiles.append(found.profile)
    assert profiles[0] == profiles[1]


@pytest.mark.parametrize(("status", "said"), [(401, "API key is right"), (404, "ends in /v1")])
def test_a_refusal_is_one_line(tmp_path: Path, status: int, said: str) -> None:
    with serving(biased(valley)) as server:
        server.faults = [(status, {"error": {"message": "no"}}, {})] * 9
        done = run(app, command(server, tmp_path / "m.json"))
        assert len(server.asked) <= 4
    assert done.exit_code == 3
    assert done.stderr.splitlines()[-1].startswith("retrivex: ")
    assert said in done.stderr.splitlines()[-1]
    assert not (tmp_path / "m.json").exists()


def test_a_folder_that_is_not_there_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    with serving(biased(valley)) as server:
        done = run(app, command(server, tmp_path / "none" / "m.json"))
        assert server.asked == []
    assert done.exit_code == 3
    assert "does not exist" in done.stderr


def test_rows_are_answered_over_http() -> None:
    def answer(body: dict[str, Any]) -> str:
        return "in hives" if "hives" in prompt_of(body) else "unanswerable"

    asked = [Question(name, "Where do bees live?", (Evidence("d", 0, 9),), answers=("in hives",)) for name in "12"]
    way = Way("bm25", 20, "knn", "document", 500)
    rows = [Row("own", "1", way, {}, context="Bees live in hives."), Row("own", "2", way, {}, context="Ants do not.")]
    with serving(answer) as server, Endpoint(server.url, "m") as endpoint:
        made = answer_rows(rows, asked, endpoint)
    assert [found.answer for found in made.rows] == ["in hives", "unanswerable"]
    assert [found.measures["score"] for found in made.rows] == [1.0, 0.0]
    assert made.usage is not None
    assert made.usage.answered == 2
