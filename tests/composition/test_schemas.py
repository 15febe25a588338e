"""Schemas: each has a name with a version, is documented, and says what is written."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support.strategies import bare, compose, count_words, hits_of, sentences

from retrivex import SpanComposer
from retrivex.composition.conversation import Conversation
from retrivex.evaluation.probe import fit_positions
from retrivex.evaluation.probe.probe import ProbeResult
from retrivex.model.asking import Usage
from retrivex.ordering import PositionProfile

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "schemas.md"
FILES = {
    path.name.removesuffix(".json"): json.loads(path.read_text(encoding="utf-8"))
    for path in files("retrivex.composition.schemas").iterdir()
    if path.name.endswith(".json")
}
STORE = bare("d", sentences("d", 6))


def _validate(made: Any, name: str) -> None:
    jsonschema.Draft202012Validator(FILES[name]).validate(json.loads(json.dumps(made)))


def _conversation() -> dict[str, Any]:
    talk = Conversation(keep_turns=3)
    for at in (0, 2, 4):
        talk.compose(SpanComposer(tokenizer=count_words), hits_of(STORE, {at: 0.9}), STORE, query="Why?", window=0)
    talk.answered("Because [1].")
    return talk.to_dict()


@pytest.mark.parametrize("name", FILES)
def test_a_file_bears_its_name_and_version_and_is_strict(name: str) -> None:
    kind, _, version = name.rpartition("-")
    schema = FILES[name]
    assert schema["title"] == f"retrivex.{kind}/{version}"
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["additionalProperties"] is False
    assert schema["description"]


def test_a_conversation_is_what_its_schema_says() -> None:
    made = _conversation()
    _validate(made, "conversation-1")
    for turn in made["turns"]:
        _validate(turn["composition"], "composition-1")
    for broken in ({**made, "colour": 1}, {**made, "schema": "retrivex.conversation/2"}, {"turns": []}):
        with pytest.raises(jsonschema.ValidationError):
            _validate(broken, "conversation-1")


def test_a_composition_is_what_its_schema_says() -> None:
    made = compose(hits_of(STORE, {1: 0.9, 4: 0.2}), STORE, query="Why?")
    _validate(made.to_dict(), "composition-1")
    _validate(made.to_dict(trace=True), "composition-1")


def test_a_position_profile_is_what_its_schema_says(tmp_path: Path) -> None:
    made = PositionProfile.from_measurements({1: 0.8, 5: 0.7}, count=5, name="mine").to_dict()
    _validate(made, "position_profile-1")
    fit = fit_positions([[1, 0, 1], [1, 1, 0]], [0.0, 0.5, 1.0], resamples=100)
    ProbeResult("m", (600,), "estimate", fit, {600: fit.accuracy}, (), Usage()).save(tmp_path / "probe.json")
    _validate(json.loads((tmp_path / "probe.json").read_text(encoding="utf-8")), "position_profile-1")
    for broken in ({**made, "positions": [2.0, 3.0]}, {**made, "colour": 1}, {**made, "attention": ["high"]}):
        with pytest.raises(jsonschema.ValidationError):
            _validate(broken, "position_profile-1")


@pytest.mark.skipif(not PAGE.exists(), reason="no documentation here, as in an unpacked wheel")
def test_every_schema_of_the_package_is_on_its_page_and_no_other() -> None:
    named = re.compile(r"\bretrivex\.[a-z_.-]+/\d+\b")
    code = [*(ROOT / "retrivex").rglob("*.py"), *(ROOT / "retrivex" / "composition" / "schemas").glob("*.json")]
    written = {name for path in code for name in named.findall(path.read_text(encoding="utf-8"))}
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert {name for row in rows for name in named.findall(row)} == written
    assert {f"{name}.json" for name in FILES} == set(re.findall(r"`([\w-]+\.json)`", "".join(rows)))
